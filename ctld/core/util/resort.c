/* resort.c - see resort.h */
#include "ctld/core/util/resort.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MOVES 8 /* past others, of each item: more, and it was in no order */

void resort(void *v, size_t n, size_t size, int (*order)(const void *, const void *))
{
	char item[RESORT_SIZE], *base = v;
	size_t moves = 0, i, k;

	assert(size <= sizeof(item));
	for (i = 1; i < n; i++) {
		if (order(base + (i - 1) * size, base + i * size) <= 0)
			continue;
		memcpy(item, base + i * size, size);
		for (k = i - 1; k && order(base + (k - 1) * size, item) > 0; k--)
			;
		memmove(base + (k + 1) * size, base + k * size, (i - k) * size);
		memcpy(base + k * size, item, size);
		moves += i - k;
		if (moves > MOVES * n) {
			qsort(v, n, size, order);
			return;
		}
	}
}
