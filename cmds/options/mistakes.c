/* mistakes.c - see mistakes.h */
#include "config.h"

#include "cmds/options/mistakes.h"

#include <string.h>

#include "common/base/text.h"

int mistakes_add(struct mistakes *m, const struct error *err)
{
	char shown[160];
	struct error *e;

	if (!m)
		return -1;
	if (m->n++ >= MISTAKES_MAX)
		return 0;
	e = &m->v[m->n - 1];
	*e = *err;
	if (!m->file)
		return 0;
	text_escape(shown, sizeof(shown), m->file, strlen(m->file));
	if (m->line)
		error_wrap(e, "%s:%u", shown, m->line);
	else
		error_wrap(e, "%s", shown);
	return 0;
}

void mistakes_join(const struct mistakes *m, struct error *out)
{
	out->code = ERR_NONE;
	for (size_t i = 0; i < m->n && i < MISTAKES_MAX; i++)
		error_also(out, &m->v[i]);
}
