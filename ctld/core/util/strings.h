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

#include "common/base/each.h"

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

/* Put the interned copy of what *field points to, "" for NULL, in its place. */
void strings_keep(struct strings *s, const char **field);
/* All these fields of an object: KEEP_TEXTS(s, node, name, reason). */
#define KEEP_TEXTS(strings, object, ...)  EACH(KEEP_TEXT, strings, object, __VA_ARGS__)
#define DROP_TEXTS(strings, object, ...)  EACH(DROP_TEXT, strings, object, __VA_ARGS__)
#define KEEP_TEXT(strings, object, field) strings_keep(strings, &(object)->field)
#define DROP_TEXT(strings, object, field) strings_drop(strings, (object)->field)

size_t strings_length(const char *kept); /* O(1) */
size_t strings_count(const struct strings *s);

#endif
