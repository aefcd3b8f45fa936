/* gpus_by_type.h - numbers of GPUs by type, in the one shape that all of gpusched has for them
 *
 * "h100:2,l40s:1"; "any:4" or "4" is four of any type. Alternatives ("h100:2|l40s:4") are the
 * caller's to cut apart at the '|'.
 */
#ifndef COMMON_GPUS_BY_TYPE_H
#define COMMON_GPUS_BY_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

#define GPUS_BY_TYPE_NAME_MAX  64 /* bytes in the name of a type */
#define GPUS_BY_TYPE_COUNT_MAX 1000000
#define GPUS_BY_TYPE_ANY       "any"

/* May a type have this name? Letters, digits and "-_.+", a letter or digit first; not "any" and not
 * digits alone, which mean something else. */
int gpus_by_type_check(const char *name, struct error *err);

/* Call `each` for every type in `text`, in order, after all of it was found to be right: counts are
 * 1 to GPUS_BY_TYPE_COUNT_MAX, no type is there twice. A result other than 0 ends it and is
 * returned; -1 with `err` set (ERR_USAGE: what would be right) is a faulty amount. */
int gpus_by_type_each(const char *text, int (*each)(const char *type, uint32_t count, void *arg),
        void *arg, struct error *err);

/* The same where a count may also be 0, as in limits: none of that type. */
int gpus_by_type_each_or_none(const char *text,
        int (*each)(const char *type, uint32_t count, void *arg), void *arg, struct error *err);

#endif
