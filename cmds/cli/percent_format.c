/* percent_format.c - see percent_format.h */
#include "cmds/cli/percent_format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

/* Behind "%", a point and digits. */
static const char *behind_width(const char *percent)
{
	const char *s = percent + 1;

	s += *s == '.';
	return s + strspn(s, "0123456789");
}

bool percent_format_meant(const char *format, const struct slurm_name *known)
{
	while (known && known->name && known->name[1])
		known++;
	if (!known || !known->name)
		return false;
	for (const char *s = strchr(format, '%'); s; s = strchr(s + 1, '%'))
		if (isalpha((unsigned char)*behind_width(s)))
			return true;
	return false;
}

static int refuse(
        const char *percent, const char *end, const struct slurm_name *known, struct error *err)
{
	char shown[80], letters[64];
	size_t n = 0;

	text_escape(shown, sizeof(shown), percent, (size_t)(end - percent) + (*end != '\0'));
	for (; known->name && n < sizeof(letters) - 1; known++)
		if (!known->name[1])
			letters[n++] = known->name[0];
	letters[n] = '\0';
	error_set(err, ERR_USAGE, "'%s': expected one of the letters %s after %%", shown, letters);
	return error_hint(err, "or names of columns with commas between; --help lists them");
}

/* *s: from its "%" to behind its letter. */
static int parse_one(struct percent_column *out, const char **s, const struct slurm_name *known,
        struct error *err)
{
	const char *end = behind_width(*s);
	const struct slurm_name *l = known;

	out->right = (*s)[1] == '.';
	for (const char *c = *s + 1 + out->right; c < end; c++) {
		out->width = out->width * 10 + (unsigned)(*c - '0');
		if (out->width > PERCENT_FORMAT_WIDTH_MAX)
			return error_set(err, ERR_USAGE, "'%.*s...': expected a width of 1 to %d",
			        (int)(c - *s) + 1, *s, PERCENT_FORMAT_WIDTH_MAX);
	}
	while (l->name && (l->name[0] != *end || l->name[1]))
		l++;
	if (!l->name)
		return refuse(*s, end, known, err);
	out->column = l->column;
	*s = end + 1;
	return 0;
}

int percent_format_parse(struct percent_format *out, const char *format,
        const struct slurm_name *known, struct error *err)
{
	char *to = xcalloc(2 * strlen(format) + 2, 1);
	const char *s = format;

	*out = (struct percent_format){ .v = xcalloc(strlen(format), sizeof(*out->v)), .text = to };
	out->after = to;
	while (*s) {
		struct percent_column *column = &out->v[out->n];

		if (*s != '%' || s[1] == '%') {
			s += *s == '%';
			*to++ = *s++;
			continue;
		}
		column->before = out->after;
		if (parse_one(column, &s, known, err) < 0) {
			percent_format_clear(out);
			return -1;
		}
		out->n++;
		out->after = ++to; /* behind the NUL that ends what stood before */
	}
	return 0;
}

void percent_format_clear(struct percent_format *l)
{
	free(l->v);
	free(l->text);
	*l = (struct percent_format){ NULL, 0, NULL, NULL };
}
