/* cmd_values.c - see cmd.h: values of options, and how a row of a table sets its field */
#include "cmds/cli/cmd.h"

#include <stdlib.h>
#include <string.h>

#include "cmds/cli/parse_time.h"
#include "common/base/hostlist.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

/* --- lists of names --------------------------------------------------------------------------- */

static void append(struct cmd_list *list, const char *text, size_t len)
{
	list->v = xrealloc(list->v, list->n + 2, sizeof(*list->v));
	list->v[list->n++] = xstrndup(text, len);
	list->v[list->n] = NULL;
}

int cmd_list_add(struct cmd_list *list, const char *text, struct error *err)
{
	if (text_plain_prefix(text, strlen(text)) != strlen(text))
		return error_set(err, ERR_USAGE, "expected plain text in UTF-8");
	for (const char *s = text;;) {
		size_t len = strcspn(s, ",");

		if (!len)
			return error_set(
			        err, ERR_USAGE, "expected one or more names with commas between");
		if (len > CMD_NAME_MAX)
			return error_set(
			        err, ERR_USAGE, "a name has at most %d bytes", CMD_NAME_MAX);
		append(list, s, len);
		if (!s[len])
			return 0;
		s += len + 1;
	}
}

static int no_matter(const char *name, void *arg)
{
	(void)name, (void)arg;
	return 0;
}

int cmd_hosts_add(struct cmd_list *list, const char *text, struct error *err)
{
	if (hostlist_each(text, HOSTLIST_MAX, no_matter, NULL, err) < 0)
		return -1;
	append(list, text, strlen(text));
	return 0;
}

void cmd_list_clear(struct cmd_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->v[i]);
	free(list->v);
	*list = (struct cmd_list){ .n = 0 };
}

bool cmd_list_fits(const struct cmd_list *list, const char *text)
{
	return !list->n || text_among(text, (const char *const *)list->v, list->n);
}

bool cmd_list_fits_one_of(const struct cmd_list *list, char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cmd_list_fits(list, v[i]))
			return true;
	return !list->n;
}

/* --- fields of a command's input -------------------------------------------------------------- */

CMD_SETTER(cmd_set_reason)
{
	*(const char **)field = value;
	return text_check("--reason", value, CMD_REASON_MAX, err);
}

CMD_SETTER(cmd_set_list)
{
	return cmd_list_add(field, value, err);
}

CMD_SETTER(cmd_set_hosts)
{
	return cmd_hosts_add(field, value, err);
}

CMD_SETTER(cmd_set_past)
{
	return parse_time(value, parse_time_now(), field, err);
}
