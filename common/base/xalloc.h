/* xalloc.h - allocation where running out of memory cannot be survived
 *
 * These never return NULL: a failed allocation writes one line to stderr and aborts, and recovery
 * at the next start is the path that is tested. Sizes are checked for overflow. What is returned
 * is freed with free(). Sizes that come from outside are limited by the caller before they get
 * here.
 */
#ifndef COMMON_XALLOC_H
#define COMMON_XALLOC_H

#include <stddef.h>

/* `n` zeroed elements of `size` bytes; n or size 0 gives a pointer that may only be freed. */
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));

/* Grow or shrink `p` (NULL: new) to `n` elements; what is new is not zeroed. */
void *xrealloc(void *p, size_t n, size_t size) __attribute__((returns_nonnull));

void *xgrow_twice(void *p, size_t *size, size_t element) __attribute__((returns_nonnull));
/* Room for one more behind the first `n` of `*size` elements, twice as many if there is none. */
static inline void *xgrow(void *p, size_t n, size_t *size, size_t element)
{
	return n < *size ? p : xgrow_twice(p, size, element);
}

/* Where one more element goes: behind the `n` of the array `v`, which is made larger if its `size`
 * is used up. Counts it in `n`; the element itself is not set. */
#define XADD(v, n, size) ((v) = xgrow((v), (n), &(size), sizeof(*(v))), &(v)[(n)++])

char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull, nonnull));
char *xstrndup(const char *s, size_t max) __attribute__((malloc, returns_nonnull, nonnull));
char *xasprintf(const char *fmt, ...)
        __attribute__((malloc, returns_nonnull, format(printf, 1, 2)));

/* A copy of `n` bytes at `p`; p may be NULL when n is 0. */
void *xmemdup(const void *p, size_t n) __attribute__((malloc, returns_nonnull));

#endif
