/* arena.c - see arena.h */
#include "common/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under AddressSanitizer every allocation is followed by a poisoned gap, so that a decoder which
 * runs over its end is caught here as it would be with malloc. */
#ifdef __SANITIZE_ADDRESS__
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define ARENA_GAP            16
#define arena_poison(p, n)   ASAN_POISON_MEMORY_REGION((p), (n))
#define arena_unpoison(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#else
#define ARENA_GAP            0
#define arena_poison(p, n)   ((void)0)
#define arena_unpoison(p, n) ((void)0)
#endif

#define ARENA_ALIGN _Alignof(max_align_t)

struct chunk {
	struct chunk *next;
	size_t size; /* of data */
	size_t used;
	_Alignas(max_align_t) uint8_t data[];
};

struct arena {
	struct chunk *chunks; /* the newest first; the last of the list is kept for ever */
	size_t cap;
	size_t used;
	int refused;
	ProtobufCAllocator allocator;
};

static void *pb_alloc(void *data, size_t size)
{
	return arena_alloc(data, size);
}

static void pb_free(void *data, void *p)
{
	(void)data;
	(void)p;
}

static struct chunk *chunk_new(size_t size)
{
	struct chunk *c = malloc(sizeof(*c) + size);

	if (!c)
		return NULL;
	c->next = NULL;
	c->size = size;
	c->used = 0;
	arena_poison(c->data, size);
	return c;
}

static void chunk_free(struct chunk *c)
{
	arena_unpoison(c->data, c->size);
	free(c);
}

struct arena *arena_new(size_t cap)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->chunks = chunk_new(ARENA_FIRST_CHUNK);
	if (!a->chunks) {
		free(a);
		return NULL;
	}
	a->cap = cap;
	a->allocator = (ProtobufCAllocator){ pb_alloc, pb_free, a };
	return a;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	arena_reset(a, 0);
	chunk_free(a->chunks);
	free(a);
}

void arena_reset(struct arena *a, size_t cap)
{
	while (a->chunks->next) {
		struct chunk *c = a->chunks;

		a->chunks = c->next;
		chunk_free(c);
	}
	a->chunks->used = 0;
	arena_poison(a->chunks->data, a->chunks->size);
	a->cap = cap;
	a->used = 0;
	a->refused = 0;
}

/* Chunks grow with what is in use, so that their number stays small; never past the cap by more
 * than rounding. */
static struct chunk *chunk_for(struct arena *a, size_t need)
{
	size_t size = a->used > ARENA_FIRST_CHUNK ? a->used : ARENA_FIRST_CHUNK;
	struct chunk *c;

	if (size > a->cap - a->used + need)
		size = a->cap - a->used + need;
	if (size < need)
		size = need;
	c = chunk_new(size);
	if (!c)
		return NULL;
	c->next = a->chunks;
	a->chunks = c;
	return c;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct chunk *c = a->chunks;
	size_t need;
	void *p;

	if (size > a->cap || a->cap > SIZE_MAX / 2) {
		a->refused = 1;
		return NULL;
	}
	/* Rounding counts: a million empty strings take a million slots. */
	need = ((size ? size : 1) + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
	if (need > a->cap - a->used) {
		a->refused = 1;
		return NULL;
	}
	if (c->size - c->used < need + ARENA_GAP) {
		c = chunk_for(a, need + ARENA_GAP);
		if (!c) {
			a->refused = 1;
			return NULL;
		}
	}
	p = c->data + c->used;
	c->used += need + ARENA_GAP;
	a->used += need;
	arena_unpoison(p, size);
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	size_t n = strlen(s) + 1;
	char *p = arena_alloc(a, n);

	return p ? memcpy(p, s, n) : NULL;
}

void *arena_take(struct arena *a, size_t size)
{
	void *p = arena_alloc(a, size);

	if (!p) {
		fputs("out of memory\n", stderr);
		abort();
	}
	return memset(p, 0, size);
}

ProtobufCAllocator *arena_allocator(struct arena *a)
{
	return &a->allocator;
}

size_t arena_used(const struct arena *a)
{
	return a->used;
}

int arena_refused(const struct arena *a)
{
	return a->refused;
}
