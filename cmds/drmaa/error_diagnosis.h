/* error_diagnosis.h - errors as DRMAA has them: a number, and a text in the caller's buffer */
#ifndef CMDS_DRMAA_ERROR_DIAGNOSIS_H
#define CMDS_DRMAA_ERROR_DIAGNOSIS_H

#include <stddef.h>

#include "cmds/drmaa/drmaa.h"
#include "common/base/error.h"

/* The caller's `error_diagnosis`. */
struct diagnosis {
	char *text; /* NULL: not wanted */
	size_t size;
};
#define DIAGNOSIS ((struct diagnosis){ error_diagnosis, error_diag_len })

/* Write the text and return `code`. */
int fail_with(struct diagnosis d, int code, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

/* The number that an error of ours is, with its text and its hint. `refused` is the number of what
 * was understood and not accepted: DRMAA_ERRNO_DENIED_BY_DRM of a submit. */
int fail_as(struct diagnosis d, const struct error *err, int refused);

/* The text into a caller's buffer, cut to fit. */
void fail_copy(char *to, size_t size, const char *from);

#endif
