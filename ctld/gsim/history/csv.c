/* csv.c - see csv.h */
#include "ctld/gsim/history/csv.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define BUFFER      (256 * 1024)
#define MAX_SECONDS 3155760000LL /* a hundred years */

struct csv {
	const char *path;
	gzFile file;
	unsigned long line;
	size_t columns;                /* of the file */
	size_t wanted;                 /* of the caller */
	size_t place[CSV_MAX_COLUMNS]; /* of the file's column among the caller's; SIZE_MAX: none */
	char text[CSV_MAX_LINE];
};

int csv_blame(const struct csv *c, struct error *err)
{
	err->code = ERR_CONFIG;
	return error_wrap(err, "%s:%lu", c->path, c->line);
}

unsigned long csv_line(const struct csv *c)
{
	return c->line;
}

/* --- lines ----------------------------------------------------------------------------------- */

static enum csv_result failed(const struct csv *c, struct error *err)
{
	int code;
	const char *text = gzerror(c->file, &code);

	error_set(err, ERR_SYSTEM, "%s:%lu: %s", c->path, c->line + 1,
	        code == Z_ERRNO ? strerror(errno) : text);
	return CSV_FAILED;
}

/* The rest of a line that is too long is passed over. */
static enum csv_result too_long(struct csv *c, struct error *err)
{
	size_t n = strlen(c->text);

	while (n && c->text[n - 1] != '\n' && gzgets(c->file, c->text, sizeof(c->text)))
		n = strlen(c->text);
	error_set(err, ERR_USAGE, "more than %d bytes in a line", CSV_MAX_LINE - 2);
	csv_blame(c, err);
	return CSV_BAD;
}

/* The next line that is neither empty nor a comment, without its line end. */
static enum csv_result read_line(struct csv *c, struct error *err)
{
	int code;
	size_t n;

	for (;;) {
		if (!gzgets(c->file, c->text, sizeof(c->text))) {
			gzerror(c->file, &code);
			return code == Z_OK || code == Z_STREAM_END ? CSV_END : failed(c, err);
		}
		c->line++;
		n = strlen(c->text);
		if (n + 1 == sizeof(c->text) && c->text[n - 1] != '\n')
			return too_long(c, err);
		while (n && (c->text[n - 1] == '\n' || c->text[n - 1] == '\r'))
			c->text[--n] = '\0';
		if (n && c->text[0] != '#')
			return CSV_ROW;
	}
}

/* --- fields ---------------------------------------------------------------------------------- */

/* A field in quotes, in place. NULL: it does not end. */
static char *unquote(char *at)
{
	char *to = at;

	for (at++; *at; at++) {
		if (*at == '"' && at[1] != '"') {
			at++;
			*to = '\0';
			return at;
		}
		at += *at == '"';
		*to++ = *at;
	}
	return NULL;
}

/* Cut the line at its commas. -1: more than max, or a quote that does not end. */
static int cut(char *at, char **fields, size_t max)
{
	size_t n = 0;

	for (;;) {
		if (n == max)
			return -1;
		fields[n++] = at;
		if (*at == '"') {
			/* Without its quotes the text is shorter: it ends before `at`. */
			at = unquote(at);
			if (!at || (*at && *at != ','))
				return -1;
		} else {
			at += strcspn(at, ",");
		}
		if (!*at)
			return (int)n;
		*at++ = '\0';
	}
}

enum csv_result csv_next(struct csv *c, const char **fields, struct error *err)
{
	enum csv_result r = read_line(c, err);
	char *v[CSV_MAX_COLUMNS];
	size_t i;
	int n;

	if (r != CSV_ROW)
		return r;
	n = cut(c->text, v, CSV_MAX_COLUMNS);
	if (n < 0 || (size_t)n != c->columns) {
		if (n < 0)
			error_set(err, ERR_USAGE, "not fields with commas between");
		else
			error_set(err, ERR_USAGE, "%d fields, and %zu columns", n, c->columns);
		csv_blame(c, err);
		return CSV_BAD;
	}
	for (i = 0; i < c->wanted; i++)
		fields[i] = "";
	for (i = 0; i < c->columns; i++) {
		if (c->place[i] != SIZE_MAX)
			fields[c->place[i]] = v[i];
	}
	return CSV_ROW;
}

/* --- the head -------------------------------------------------------------------------------- */

static size_t find(const struct csv_column *columns, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!strcmp(columns[i].name, name))
			return i;
	}
	return SIZE_MAX;
}

static int read_head(struct csv *c, const struct csv_column *columns, size_t n, struct error *err)
{
	bool seen[CSV_MAX_COLUMNS] = { false };
	enum csv_result r = read_line(c, err);
	char *v[CSV_MAX_COLUMNS];
	int found = r == CSV_ROW ? cut(c->text, v, CSV_MAX_COLUMNS) : -1;
	size_t i;

	if (r == CSV_FAILED || r == CSV_BAD)
		return -1;
	if (found < 0)
		return error_set(
		        err, ERR_CONFIG, "%s: no row with the names of the columns", c->path);
	c->columns = (size_t)found;
	for (i = 0; i < c->columns; i++) {
		c->place[i] = find(columns, n, text_trim(v[i]));
		if (c->place[i] == SIZE_MAX)
			continue;
		if (seen[c->place[i]])
			return error_set(err, ERR_CONFIG, "%s: column %s is there twice", c->path,
			        columns[c->place[i]].name);
		seen[c->place[i]] = true;
	}
	for (i = 0; i < n; i++) {
		if (columns[i].required && !seen[i])
			return error_set(err, ERR_CONFIG, "%s: there is no column %s", c->path,
			        columns[i].name);
	}
	return 0;
}

struct csv *csv_open(
        const char *path, const struct csv_column *columns, size_t n, struct error *err)
{
	bool input = !strcmp(path, "-");
	int fd = input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	struct csv *c;

	if (fd < 0) {
		error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
		return NULL;
	}
	c = xcalloc(1, sizeof(*c));
	c->path = input ? "standard input" : path;
	c->wanted = n;
	c->file = gzdopen(fd, "r");
	if (!c->file) {
		close(fd);
		error_set(err, ERR_SYSTEM, "%s: out of memory", path);
		goto error;
	}
	gzbuffer(c->file, BUFFER);
	if (read_head(c, columns, n, err) < 0)
		goto error;
	return c;
error:
	csv_close(c);
	return NULL;
}

void csv_close(struct csv *c)
{
	if (!c)
		return;
	if (c->file)
		gzclose(c->file);
	free(c);
}

/* --- values ---------------------------------------------------------------------------------- */

static int bad_value(const char *text, const char *what, const char *want, struct error *err)
{
	char shown[80];

	text_escape(shown, sizeof(shown), text, strlen(text));
	return error_set(err, ERR_USAGE, "%s \"%s\": expected %s", what, shown, want);
}

/* "3600" or "0.25" in millionths, rounded down. -1: it is no such number, or too large. */
static int decimal(const char *at, int64_t most, int64_t *millionths)
{
	int64_t whole = 0, unit = 100000;

	if (!isdigit((unsigned char)*at))
		return -1;
	for (; isdigit((unsigned char)*at); at++) {
		whole = whole * 10 + (*at - '0');
		if (whole > most)
			return -1;
	}
	whole *= 1000000;
	if (*at == '.') {
		for (at++; isdigit((unsigned char)*at); at++, unit /= 10)
			whole += (*at - '0') * unit;
	}
	if (*at)
		return -1;
	*millionths = whole;
	return 0;
}

int csv_seconds(const char *text, const char *what, usec_t *value, struct error *err)
{
	if (!*text || decimal(text, MAX_SECONDS, value) == 0)
		return 0;
	return bad_value(text, what, "seconds, such as 3600 or 0.25, up to a hundred years", err);
}

int csv_rounded_up(
        const char *text, const char *what, uint32_t max, uint32_t *value, struct error *err)
{
	int64_t millionths = 0;
	char want[60];

	if (!*text)
		return 0;
	if (decimal(text, max, &millionths) == 0) {
		*value = (uint32_t)((millionths + 999999) / 1000000);
		return 0;
	}
	snprintf(want, sizeof(want), "a number, such as 4 or 3.5, up to %u", max);
	return bad_value(text, what, want, err);
}

int csv_count(const char *text, const char *what, uint64_t max, uint64_t *value, struct error *err)
{
	char want[60];

	if (!*text)
		return 0;
	if (count_parse(text, 0, max, value, NULL) == 0)
		return 0;
	snprintf(want, sizeof(want), "a number up to %llu", (unsigned long long)max);
	return bad_value(text, what, want, err);
}
