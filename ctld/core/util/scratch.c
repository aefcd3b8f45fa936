/* scratch.c - see scratch.h
 *
 * Blocks of BLOCK_BYTES, filled from the front; what is larger gets a block of its own.
 * scratch_clear() keeps one block for the next use, so the usual event allocates nothing. Nothing
 * is freed by itself.
 */
#include "ctld/core/util/scratch.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define BLOCK_BYTES (64 * 1024)
#define ALIGN       16

struct block {
	struct block *next;
	size_t used, size;
	_Alignas(ALIGN) char bytes[];
};

struct scratch {
	struct block *blocks; /* the first is the one in use */
};

struct scratch *scratch_new(void)
{
	return xcalloc(1, sizeof(struct scratch));
}

static void blocks_free(struct block *b)
{
	while (b) {
		struct block *next = b->next;

		free(b);
		b = next;
	}
}

void scratch_free(struct scratch *s)
{
	if (!s)
		return;
	blocks_free(s->blocks);
	free(s);
}

void *scratch_alloc(struct scratch *s, size_t n)
{
	size_t need = (n + ALIGN - 1) / ALIGN * ALIGN;
	struct block *b = s->blocks;
	void *p;

	if (!b || b->size - b->used < need) {
		size_t size = need > BLOCK_BYTES ? need : BLOCK_BYTES;

		b = xcalloc(1, sizeof(*b) + size);
		b->size = size;
		b->next = s->blocks;
		s->blocks = b;
	}
	p = b->bytes + b->used;
	b->used += need;
	return memset(p, 0, n);
}

const char *scratch_text(struct scratch *s, const char *text)
{
	size_t n = strlen(text) + 1;

	return memcpy(scratch_alloc(s, n), text, n);
}

void scratch_clear(struct scratch *s)
{
	struct block *b = s->blocks;

	if (!b)
		return;
	blocks_free(b->next);
	b->next = NULL;
	b->used = 0;
	if (b->size > BLOCK_BYTES) {
		free(b);
		s->blocks = NULL;
	}
}
