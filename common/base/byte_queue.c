/* byte_queue.c - see byte_queue.h */
#include "common/base/byte_queue.h"

#include <string.h>

#include "common/base/xalloc.h"

uint8_t *byte_queue_room(struct byte_queue *b, size_t len)
{
	if (b->at && b->n + len > b->size) {
		memmove(b->p, b->p + b->at, b->n - b->at);
		b->n -= b->at;
		b->at = 0;
	}
	if (b->n + len > b->size) {
		b->size = b->size * 2 > b->n + len ? b->size * 2 : b->n + len;
		b->p = xrealloc(b->p, b->size, 1);
	}
	b->n += len;
	return b->p + b->n - len;
}

void byte_queue_add(struct byte_queue *b, const void *data, size_t len)
{
	if (len)
		memcpy(byte_queue_room(b, len), data, len);
}

void byte_queue_drop(struct byte_queue *b, size_t len)
{
	b->at += len;
	if (b->at == b->n)
		b->at = b->n = 0;
}
