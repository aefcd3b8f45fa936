/* attribute_values.h - values of DRMAA's attributes, as its specification writes them
 *
 * Pure. Errors are ERR_USAGE with what would be right.
 */
#ifndef CMDS_DRMAA_ATTRIBUTE_VALUES_H
#define CMDS_DRMAA_ATTRIBUTE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* "[[[[CC]YY/]MM/]DD] hh:mm[:ss] [{-|+}UU:uu]" in microseconds of UTC, where it is `now` now. What
 * is left out is such that the moment is the next one. */
int value_time(const char *text, int64_t now, int64_t *us, struct error *err);

/* "[[h:]m:]s" in seconds. */
int value_duration(const char *text, uint32_t *s, struct error *err);

/* What placeholders stand for. */
struct value_places {
	const char *home, *wd, *host;
	bool bulk;
};

/* "[host]:path" (the colon may miss) as an option of gsubmit has it: placeholders are replaced, the
 * index of a bulk by %a, and a % stands for itself. Refused is a host that is not this one: files
 * are opened by the job's node, and nothing is copied. The caller frees *out. */
int value_path(const char *text, const struct value_places *places, char **out, struct error *err);

/* The same of a folder, which has no host. *script: where it has the index of a bulk, which then is
 * still in *out, a line of sh that goes there; else NULL. The caller frees both. */
int value_folder(const char *text, const struct value_places *places, char **out, char **script,
        struct error *err);

/* The words of `text` as a shell has them: blanks between, '...', "..." and \ quote. One block,
 * NULL behind the last; the caller frees it. */
char **value_words(const char *text, size_t *n, struct error *err);

#endif
