/* strbuf.h - text that grows
 *
 * Starts as `struct strbuf sb = { 0 };`, ends with strbuf_free() or strbuf_take(). `s` is NULL
 * until something was added, then always ends in a NUL that `len` does not count.
 *
 * libconfig 1.5 exports strbuf_append and strbuf_release: nothing here may be called that.
 */
#ifndef COMMON_STRBUF_H
#define COMMON_STRBUF_H

#include <stddef.h>

struct strbuf {
	char *s;
	size_t len, cap;
};

void strbuf_add(struct strbuf *sb, const void *bytes, size_t n);
void strbuf_adds(struct strbuf *sb, const char *s);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The text, never NULL; the caller frees it, the buffer is empty again. */
char *strbuf_take(struct strbuf *sb);

void strbuf_free(struct strbuf *sb);

#endif
