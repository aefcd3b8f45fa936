/* words.h - lists of words between commas: what is demanded of containment, and what is active */
#ifndef NODED_CONTAIN_WORDS_H
#define NODED_CONTAIN_WORDS_H

#include <stdbool.h>

bool contain_words_have(const char *words, const char *word);
/* The words of `want` that are not in `have`, joined by ", "; NULL: none is missing. Good until the
 * next call. */
const char *contain_words_lack(const char *want, const char *have);

#endif
