/* conf_source.c - see conf_source.h */
#include "common/conf/conf_source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

/* The scanner in one file. */
struct scan {
	struct conf_source *src;
	struct conf_fault *fault;
	const char *p, *end; /* what is left of the file */
	uint32_t file;
	uint32_t line;   /* of p in the file */
	bool line_start; /* nothing but blanks before p on its line */
	bool in_memory;
	unsigned depth; /* of includes */
};

static int fault_at(struct conf_fault *fault, const char *file, unsigned line, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));
static int fault_at(struct conf_fault *fault, const char *file, unsigned line, const char *fmt, ...)
{
	char text[sizeof(fault->what.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fault->file = file;
	fault->line = line;
	return error_set(&fault->what, ERR_CONFIG, "%s", text);
}

#define FAULT(scan, line, ...) \
	fault_at((scan)->fault, (scan)->src->files[(scan)->file], (line), __VA_ARGS__)

static uint32_t file_add(struct conf_source *src, const char *path)
{
	src->files = xrealloc(src->files, src->n_files + 1, sizeof(char *));
	src->files[src->n_files] = xstrdup(path);
	return (uint32_t)src->n_files++;
}

static void line_add(struct conf_source *src, uint32_t file, uint32_t line)
{
	src->lines = xgrow(src->lines, src->n_lines, &src->cap_lines, sizeof(*src->lines));
	src->lines[src->n_lines++] = (struct conf_line){ file, line };
}

static void number_add(struct conf_source *src, size_t len)
{
	src->numbers =
	        xgrow(src->numbers, src->n_numbers, &src->cap_numbers, sizeof(*src->numbers));
	src->numbers[src->n_numbers++] = (struct conf_number){ src->text.len, len };
}

/* Take `n` bytes over to the text, counting lines. */
static void take(struct scan *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s->p[i] == '\n') {
			s->line++;
			s->line_start = true;
			line_add(s->src, s->file, s->line);
		} else if (s->p[i] != ' ' && s->p[i] != '\t') {
			s->line_start = false;
		}
	}
	strbuf_add(&s->src->text, s->p, n);
	s->p += n;
}

/* --- tokens: the length of the one at p ------------------------------------------------------ */

static size_t span(const char *p, const char *end, const char *set)
{
	size_t n = 0;

	while (p + n < end && p[n] && strchr(set, p[n]))
		n++;
	return n;
}

static size_t name_length(const char *p, const char *end)
{
	size_t n = 0;

	if (p < end && (isalpha((unsigned char)*p) || *p == '*')) {
		while (p + n < end &&
		        (isalnum((unsigned char)p[n]) || (p[n] && strchr("-_*", p[n]))))
			n++;
	}
	return n;
}

/* An integer (with L or LL behind it), a hexadecimal one or a float, as libconfig has them. */
static size_t number_length(const char *p, const char *end)
{
	static const char digits[] = "0123456789";
	size_t sign = span(p, end, "+-") ? 1 : 0, whole, n, exponent;
	bool is_float = false;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X') &&
	        (n = span(p + 2, end, "0123456789abcdefABCDEF")) > 0) {
		n += 2;
	} else {
		whole = span(p + sign, end, digits);
		n = sign + whole;
		if (p + n < end && p[n] == '.') {
			is_float = true;
			n++;
			n += span(p + n, end, digits);
		}
		if (!is_float && !whole)
			return 0;
		if (p + n < end && (p[n] == 'e' || p[n] == 'E')) {
			exponent = n + 1;
			if (p + exponent < end && (p[exponent] == '+' || p[exponent] == '-'))
				exponent++;
			if (span(p + exponent, end, digits)) {
				n = exponent + span(p + exponent, end, digits);
				is_float = true;
			}
		}
	}
	for (int l = 0; !is_float && l < 2 && p + n < end && p[n] == 'L'; l++)
		n++;
	return n;
}

static size_t line_length(const char *p, const char *end)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p));

	return (size_t)((newline ? newline : end) - p);
}

/* The comment at p; 0: there is none. */
static size_t comment_length(struct scan *s)
{
	const char *close;

	if (*s->p == '#' || (s->end - s->p > 1 && s->p[0] == '/' && s->p[1] == '/'))
		return line_length(s->p, s->end);
	if (s->end - s->p < 2 || s->p[0] != '/' || s->p[1] != '*')
		return 0;
	close = memmem(s->p + 2, (size_t)(s->end - s->p) - 2, "*/", 2);
	return (size_t)(close ? close + 2 - s->p : s->end - s->p);
}

/* --- steps ----------------------------------------------------------------------------------- */

static int scan_file(struct scan *s, const char *path);

/* @include "path" at p, the first of its line. */
static int scan_include(struct scan *s)
{
	size_t word = strlen("@include"), blanks, len;
	const char *own = s->src->files[s->file], *slash = strrchr(own, '/'), *path;
	struct scan inner = *s;
	char *full;
	int rc;

	if (!s->line_start)
		return FAULT(s, s->line, "syntax error: @include must start its line");
	path = s->p + word;
	blanks = span(path, s->end, " \t");
	path += blanks;
	len = line_length(path, s->end);
	if (!blanks || len < 2 || *path != '"' || !memchr(path + 1, '"', len - 1))
		return FAULT(s, s->line, "syntax error: must be @include \"PATH\"");
	path++;
	len = (size_t)((const char *)memchr(path, '"', len - 1) - path);
	if (s->in_memory)
		return FAULT(s, s->line, "@include: only a file can include another");
	if (s->depth == CONF_INCLUDE_DEPTH)
		return FAULT(s, s->line,
		        "@include: %d files within one another; does one include itself?",
		        CONF_INCLUDE_DEPTH + 1);
	if (*path == '/' || !slash)
		full = xstrndup(path, len);
	else
		full = xasprintf("%.*s/%.*s", (int)(slash - own), own, (int)len, path);
	s->p = path + len + 1;
	inner.depth++;
	/* Each line of the text belongs to one line of one file: the file that is included starts
	 * on a new one, and so does what follows it. */
	strbuf_adds(&s->src->text, "\n");
	rc = scan_file(&inner, full);
	strbuf_adds(&s->src->text, "\n");
	line_add(s->src, s->file, s->line);
	free(full);
	return rc;
}

static int scan_string(struct scan *s)
{
	const char *p = s->p + 1;

	for (; p < s->end && *p != '"' && *p != '\n'; p++) {
		if (*p != '\\' || p + 1 == s->end)
			continue;
		if (s->end - p >= 4 && !strncasecmp(p, "\\x00", 4))
			return FAULT(s, s->line, "syntax error: text cannot hold \\x00");
		if (p[1] != '\n')
			p++;
	}
	if (p == s->end || *p == '\n')
		return FAULT(
		        s, s->line, "syntax error: the text in quotes does not end on its line");
	take(s, (size_t)(p + 1 - s->p));
	return 0;
}

static void hint(struct scan *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void hint(struct scan *s, const char *fmt, ...)
{
	va_list ap;

	if (s->src->hint_line)
		return;
	s->src->hint_line = (unsigned)s->src->n_lines;
	va_start(ap, fmt);
	vsnprintf(s->src->hint, sizeof(s->src->hint), fmt, ap);
	va_end(ap);
}

/* A token that is no text, number, comment or @include. `last` is the character that ended the
 * token before. Returns its length. */
static size_t scan_other(struct scan *s, char last)
{
	size_t n = name_length(s->p, s->end);
	char shown[40];

	if (!n && strchr(")]", *s->p) && last == ',')
		hint(s, "no comma after the last element");
	if (n && (last == '=' || last == ':') && !(n == 4 && !strncasecmp(s->p, "true", 4)) &&
	        !(n == 5 && !strncasecmp(s->p, "false", 5))) {
		text_escape(shown, sizeof(shown), s->p, n);
		hint(s, "%s: text needs quotes, as in \"%s\"", shown, shown);
	}
	return n ? n : 1;
}

static int scan_text(struct scan *s)
{
	unsigned nesting = 0;
	char last = '\0';
	size_t n;

	while (s->p < s->end) {
		bool blank = isspace((unsigned char)*s->p);

		n = 1;
		if (blank) {
			take(s, 1);
			continue;
		}
		if ((n = comment_length(s)) > 0) {
			if (s->p[1] == '*' && memcmp(s->p + n - 2, "*/", 2))
				return FAULT(s, s->line, "syntax error: a comment without its end");
			take(s, n);
			continue;
		}
		if (s->end - s->p >= 8 && !memcmp(s->p, "@include", 8)) {
			if (scan_include(s) < 0)
				return -1;
			continue;
		}
		if (*s->p == '"') {
			if (scan_string(s) < 0)
				return -1;
			last = '"';
			continue;
		}
		if ((n = number_length(s->p, s->end)) > 0)
			number_add(s->src, n);
		else
			n = scan_other(s, last);
		if (strchr("([{", *s->p) && ++nesting > CONF_NESTING_MAX)
			return FAULT(s, s->line, "more than %d brackets within one another",
			        CONF_NESTING_MAX);
		if (strchr(")]}", *s->p) && nesting)
			nesting--;
		last = s->p[n - 1];
		take(s, n);
	}
	return 0;
}

static int scan_bytes(struct scan *s, const char *bytes, size_t n)
{
	const char *nul = memchr(bytes, '\0', n);

	s->p = bytes;
	s->end = bytes + n;
	s->line = 1;
	s->line_start = true;
	if (nul) {
		for (const char *p = bytes; p < nul; p++)
			s->line += *p == '\n';
		return FAULT(s, s->line, "syntax error: a NUL byte");
	}
	if (n + s->src->text.len > CONF_TEXT_MAX)
		return FAULT(s, 0, "more than %u MiB of configuration", CONF_TEXT_MAX >> 20);
	line_add(s->src, s->file, 1);
	return scan_text(s);
}

/* All of the file open as `fd`; NULL if it is no file, too large or unreadable (errno). */
static char *slurp(int fd, size_t *n)
{
	struct stat st;
	char *bytes;
	ssize_t got;

	if (fstat(fd, &st) < 0)
		return NULL;
	if (!S_ISREG(st.st_mode) || st.st_size > CONF_TEXT_MAX) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : S_ISREG(st.st_mode) ? EFBIG : EINVAL;
		return NULL;
	}
	bytes = xcalloc((size_t)st.st_size + 1, 1);
	for (*n = 0; *n < (size_t)st.st_size; *n += (size_t)got) {
		got = read(fd, bytes + *n, (size_t)st.st_size - *n);
		if (got < 0 && errno == EINTR) {
			got = 0;
			continue;
		}
		if (got < 0) {
			free(bytes);
			return NULL;
		}
		if (got == 0)
			break;
	}
	return bytes;
}

/* Scan the file `path`. What is wrong with the file itself is a fault of the line that includes it,
 * which is where `s` still stands. */
static int scan_file(struct scan *s, const char *path)
{
	bool first = s->src->n_files == 0;
	char *bytes = NULL, shown[256];
	const char *why = "";
	size_t n;
	int fd, rc;

	/* NONBLOCK: do not wait for the writer of a FIFO, only to refuse it. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0)
		bytes = slurp(fd, &n);
	if (!bytes)
		why = errno == EINVAL ? "not a regular file" : strerror(errno);
	if (bytes || first)
		s->file = file_add(s->src, path);
	if (bytes) {
		rc = scan_bytes(s, bytes, n);
	} else if (first) {
		rc = FAULT(s, 0, "cannot be read: %s", why);
	} else {
		text_escape(shown, sizeof(shown), path, strlen(path));
		rc = FAULT(s, s->line, "@include \"%s\": cannot be read: %s", shown, why);
	}
	fd_close(fd);
	free(bytes);
	return rc;
}

int conf_source_load(struct conf_source *src, const char *path, struct conf_fault *fault)
{
	struct scan s = { .src = src, .fault = fault };

	*src = (struct conf_source){ 0 };
	return scan_file(&s, path);
}

int conf_source_parse(
        struct conf_source *src, const char *text, const char *name, struct conf_fault *fault)
{
	struct scan s = { .src = src, .fault = fault, .in_memory = true };

	*src = (struct conf_source){ 0 };
	s.file = file_add(src, name);
	return scan_bytes(&s, text, strlen(text));
}

void conf_source_clear(struct conf_source *src)
{
	for (size_t i = 0; i < src->n_files; i++)
		free(src->files[i]);
	free(src->files);
	free(src->lines);
	free(src->numbers);
	strbuf_free(&src->text);
	*src = (struct conf_source){ 0 };
}

struct conf_line conf_source_line(const struct conf_source *src, unsigned line)
{
	if (line < 1 || line > src->n_lines)
		return (struct conf_line){ 0, 0 };
	return src->lines[line - 1];
}
