/* directives.c - see directives.h */
#include "cmds/options/directives.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* How lines of one mark are read. */
struct dialect {
	const char *mark;
	bool sbatch;
};

static const struct dialect dialects[] = {
	[DIRECTIVES_GPUSCHED] = { "#GPUSCHED", false },
	[DIRECTIVES_SBATCH] = { "#SBATCH", true },
};

/* The words of one line: each is a piece of `text`. */
struct words {
	const struct dialect *dialect;
	char *text;
	char *v[DIRECTIVES_WORDS_MAX + 1];
	size_t n;
};

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Where the line that begins at `s` ends: its newline or the script's end. */
static const char *line_end(const char *s, const char *end)
{
	const char *nl = memchr(s, '\n', (size_t)(end - s));

	return nl ? nl : end;
}

/* Is there a command on the line: anything but white space and a comment? */
static bool is_command(const char *s, const char *end)
{
	while (s < end && (blank(*s) || *s == '\r' || *s == '\f' || *s == '\v'))
		s++;
	return s < end && *s != '#';
}

static bool has_mark(const char *s, const char *end, const char *mark, size_t mark_len)
{
	return (size_t)(end - s) >= mark_len && !memcmp(s, mark, mark_len);
}

/* Take one word from *s; its bytes go to *out, which is moved behind its NUL. */
static int take_word(const char **s, const char *end, bool sbatch, char **out, struct error *err)
{
	const char *p = *s;
	char quote = 0;

	for (; p < end && (quote || (!blank(*p) && !(sbatch && *p == '#'))); p++) {
		if (quote ? *p == quote : (*p == '\'' || *p == '"')) {
			quote = quote ? 0 : *p;
			continue;
		}
		if (*p == '\\' && (sbatch || quote != '\'')) {
			if (++p == end)
				return error_set(err, ERR_USAGE,
				        "a backslash at the end; a directive is one line");
		}
		*(*out)++ = *p;
	}
	if (quote)
		return error_set(err, ERR_USAGE, "the quote %c is not closed on this line", quote);
	*(*out)++ = '\0';
	*s = p;
	return 0;
}

static int split(const char *s, const char *end, struct words *w, struct error *err)
{
	char *out = w->text;

	w->n = 0;
	for (;;) {
		while (s < end && blank(*s))
			s++;
		if (s == end || *s == '#')
			break;
		if (w->n == DIRECTIVES_WORDS_MAX)
			return error_set(
			        err, ERR_USAGE, "more than %d words", DIRECTIVES_WORDS_MAX);
		w->v[w->n++] = out;
		if (take_word(&s, end, w->dialect->sbatch, &out, err) < 0)
			return -1;
	}
	w->v[w->n] = NULL;
	return 0;
}

/* A line with the mark: `s` is behind it. */
static int read_directive(const char *s, const char *end, struct words *w, struct error *err)
{
	const struct dialect *d = w->dialect;

	if ((size_t)(end - s) > DIRECTIVES_LINE_MAX)
		return error_set(
		        err, ERR_USAGE, "a directive of more than %d bytes", DIRECTIVES_LINE_MAX);
	if (memchr(s, '\0', (size_t)(end - s)))
		return error_set(err, ERR_USAGE, "a NUL byte in a directive");
	if (s < end && !blank(*s) && !(d->sbatch && *s == '-')) {
		error_set(err, ERR_USAGE, "'%s' needs a blank behind it", d->mark);
		return error_hint(err, "%s --gpus=1", d->mark);
	}
	/* Unquoting only shortens; each word gets a NUL in place of a blank, the last one extra. */
	w->text = xrealloc(w->text, (size_t)(end - s) + 1, 1);
	return split(s, end, w, err);
}

static unsigned find_late(
        const char *s, const char *end, unsigned line, const char *mark, size_t mark_len)
{
	for (; s < end; line++) {
		const char *e = line_end(s, end);

		if (has_mark(s, e, mark, mark_len) && (s + mark_len == e || blank(s[mark_len])))
			return line;
		s = e + 1;
	}
	return 0;
}

const char *directives_mark(enum directives_of of)
{
	return dialects[of].mark;
}

unsigned directives_first(const char *script, size_t len, const char *mark)
{
	const char *end = script + len;
	size_t mark_len = strlen(mark);
	unsigned line = 1;

	for (const char *s = script; s < end; line++) {
		const char *e = line_end(s, end);

		if (is_command(s, e))
			break;
		if (has_mark(s, e, mark, mark_len) && s + mark_len < e && blank(s[mark_len]))
			return line;
		s = e + 1;
	}
	return 0;
}

int directives_scan(const char *script, size_t len, enum directives_of of,
        directives_on_line *on_line, void *arg, unsigned *late, struct error *err)
{
	const char *s = script, *end = script + len, *mark = dialects[of].mark;
	size_t mark_len = strlen(mark);
	struct words *w = xcalloc(1, sizeof(*w));
	unsigned line = 1;
	int rc = 0;

	w->dialect = &dialects[of];
	for (; s < end && !rc; line++) {
		const char *e = line_end(s, end);

		if (is_command(s, e))
			break;
		if (e > s && e[-1] == '\r') {
			error_set(err, ERR_USAGE, "the line ends as in DOS (CR LF)");
			rc = error_hint(err, "sed -i 's/\\r$//' SCRIPT");
		} else if (has_mark(s, e, mark, mark_len)) {
			rc = read_directive(s + mark_len, e, w, err);
			if (!rc && w->n)
				rc = on_line(arg, line, w->n, w->v, err);
		}
		if (rc < 0)
			error_wrap(err, "%u", line);
		s = e < end ? e + 1 : end;
	}
	if (!rc && late)
		*late = s < end ? find_late(s, end, line, mark, mark_len) : 0;
	free(w->text);
	free(w);
	return rc;
}
