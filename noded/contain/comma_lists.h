/* comma_lists.h - lists of words between commas: what is demanded of containment, and what is
 * active */
#ifndef NODED_COMMA_LISTS_H
#define NODED_COMMA_LISTS_H

#include <stdbool.h>

bool comma_list_has(const char *words, const char *word);
/* The words of `want` that are not in `have`, joined by ", "; NULL: none is missing. Good until the
 * next call. */
const char *comma_list_lacks(const char *want, const char *have);

#endif
