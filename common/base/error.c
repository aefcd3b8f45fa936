/* error.c - see error.h */
#include "common/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct error_row {
	const char *name;
	int exit_status;
	const char *meaning;
};

#define X(sym, name, exit, help) [sym] = { name, exit, help },
static const struct error_row error_rows[ERR_COUNT] = { ERROR_CODES(X) };
#undef X

static const struct error_row *row_of(int code)
{
	return &error_rows[code >= 0 && code < ERR_COUNT ? code : ERR_INTERNAL];
}

int error_set(struct error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	err->code = code;
	err->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return -1;
}

int error_hint(struct error *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return -1;
}

int error_wrap(struct error *err, const char *fmt, ...)
{
	char old[sizeof(err->text)];
	va_list ap;
	int n;

	if (!err)
		return -1;
	memcpy(old, err->text, sizeof(old));
	va_start(ap, fmt);
	n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n + 3 < sizeof(err->text))
		snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %.*s",
			(int)(sizeof(err->text) - (size_t)n - 3), old);
	return -1;
}

int error_also(struct error *err, const struct error *more)
{
	size_t n;

	if (!err)
		return -1;
	if (err->code == ERR_NONE) {
		*err = *more;
		return -1;
	}
	n = strlen(err->text);
	snprintf(err->text + n, sizeof(err->text) - n, "; %.*s", (int)(sizeof(err->text) - n),
		more->text);
	if (!*err->hint)
		memcpy(err->hint, more->hint, sizeof(err->hint));
	return -1;
}

const char *error_name(int code)
{
	return row_of(code)->name;
}

int error_exit_status(int code)
{
	return row_of(code)->exit_status;
}

const char *error_meaning(int code)
{
	return row_of(code)->meaning;
}
