/* arena.h - memory for one decoded message, with a hard limit
 *
 * A protobuf message of a few KiB can describe hundreds of MiB of C structures, so everything that
 * is decoded from foreign bytes is allocated from an arena that refuses to grow past its cap; the
 * decoder then fails cleanly. Nothing is freed one by one: arena_reset() forgets all of it at once
 * and keeps the first chunk, so that a loop which decodes message after message does not allocate.
 *
 * Everything handed out dies with the next arena_reset() or arena_free(): what must live longer is
 * copied. Memory is aligned for any type and not cleared. Not for use from two threads.
 */
#ifndef COMMON_ARENA_H
#define COMMON_ARENA_H

#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#define ARENA_FIRST_CHUNK (16 * 1024) /* kept across resets; holds nearly every message */

struct arena;

struct arena *arena_new(size_t cap); /* NULL: out of memory */
void arena_free(struct arena *a);    /* NULL is fine */

/* Forget everything allocated, and from now on allow `cap` bytes. */
void arena_reset(struct arena *a, size_t cap);

/* NULL when the cap would be exceeded or memory is out. */
void *arena_alloc(struct arena *a, size_t size);
char *arena_strdup(struct arena *a, const char *s);
/* Zeroed, of an arena that must have it: aborts instead of NULL. */
void *arena_take(struct arena *a, size_t size) __attribute__((returns_nonnull));

/* The arena as protobuf-c wants it (its free does nothing). Lives as long as the arena. */
ProtobufCAllocator *arena_allocator(struct arena *a);

size_t arena_used(const struct arena *a); /* bytes handed out since the last reset */

/* True if an allocation was refused since the last reset: tells "too big" from "malformed". */
int arena_refused(const struct arena *a);

#endif
