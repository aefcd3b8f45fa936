/* hostlist.h - many node names in few letters: "n[01-16,20],m3"
 *
 * A list is names separated by commas; a name may hold any number of [...] with numbers and ranges
 * of numbers, each combination is one name ("r[1-2]n[01-16]" is 32). The width of a range's numbers
 * is kept: [01-16] is 01 to 16, [8-12] is 8 to 12.
 *
 * Refused, with what would be right: anything that is not such a list, names twice, ranges from
 * high to low, steps, nested brackets, [01-100] (two widths: which was meant?), and more names than
 * the caller allows, before anything is expanded. ERR_USAGE; the error's text starts with the part
 * of the list at fault.
 *
 * A node name is 1 to HOSTLIST_NAME_MAX letters, digits, '-', '_' and '.', first a letter or digit.
 */
#ifndef COMMON_HOSTLIST_H
#define COMMON_HOSTLIST_H

#include <stddef.h>

#include "common/base/error.h"

#define HOSTLIST_NAME_MAX 64    /* HOST_NAME_MAX of Linux */
#define HOSTLIST_MAX      65536 /* names that a list may have, where no less is said */

/* Is it a node name? */
int hostlist_name_check(const char *name, struct error *err);

/* The names of `text` in its order, at most `max` of them. *names and all it points to is one
 * block: free(*names). The empty text is refused: a list that may be empty is the caller's idea. */
int hostlist_expand(const char *text, size_t max, char ***names, size_t *n, struct error *err);

/* The same of files of one folder, "/dev/dri/renderD[128,136]": their paths. ERR_USAGE: no such
 * list. */
int hostlist_expand_paths(
        const char *text, size_t max, char ***paths, size_t *n, struct error *err);

/* Call `each` for every name, in order, after the whole list was found to be right. A result other
 * than 0 ends it and is returned; -1 with `err` set is a faulty list. */
int hostlist_each(const char *text, size_t max, int (*each)(const char *name, void *arg), void *arg,
        struct error *err);

/* Natural order: n2 before n10; total, and 0 only for equal names. */
int hostlist_name_compare(const char *a, const char *b);

/* The shortest list of the `n` node names this format has with one [...] a name: in natural order,
 * each name once. Caller frees. "" for none. */
char *hostlist_compress(const char *const *names, size_t n);

#endif
