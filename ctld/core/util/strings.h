/* strings.h - each text stored once
 *
 * A million jobs share some hundred users, partitions and directories. strings_intern() returns the
 * one copy of a text (the text is *interned*): equal texts are equal pointers. References are
 * counted; the copy is owned by `struct strings` and lives until its last reference is dropped. ""
 * is a text like any other.
 */
#ifndef CTLD_CORE_STRINGS_H
#define CTLD_CORE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct strings;

struct strings *strings_new(uint64_t seed);
void strings_free(struct strings *s); /* NULL is fine */

const char *strings_intern(struct strings *s, const char *text);
const char *strings_keep_n(struct strings *s, const char *text, size_t n); /* no NUL inside */
const char *strings_again(const char *kept);                               /* one more reference */
void strings_drop(struct strings *s, const char *kept);                    /* NULL is fine */

/* The interned copy, without a new reference; NULL: the text is not interned. */
const char *strings_peek(const struct strings *s, const char *text);

/* Drop *field and set it to the interned `text`; true if that changed it. *field may be NULL. */
int strings_set(struct strings *s, const char **field, const char *text);

size_t strings_length(const char *kept); /* O(1) */
size_t strings_count(const struct strings *s);

#endif
