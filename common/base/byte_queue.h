/* byte_queue.h - bytes that come at one end and go at the other
 *
 * In one piece of memory, p[at] to p[n], which the owner frees. All zero: empty.
 */
#ifndef COMMON_BYTE_QUEUE_H
#define COMMON_BYTE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct byte_queue {
	uint8_t *p;
	size_t at, n, size;
};

/* Where so many more bytes go, which count as there. Valid until the next call. */
uint8_t *byte_queue_room(struct byte_queue *b, size_t len);
void byte_queue_add(struct byte_queue *b, const void *data, size_t len); /* copied */
void byte_queue_drop(struct byte_queue *b, size_t len);                  /* the oldest */

static inline size_t byte_queue_len(const struct byte_queue *b)
{
	return b->n - b->at;
}

#endif
