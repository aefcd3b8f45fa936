/* resort.c - see resort.h
 *
 * Insertion sort for what is nearly in order: O(n) comparisons plus one move for each place that an
 * item is off. If that comes to more than MOVES for each item, it was no such input, and qsort()
 * does it. Items that compare as equal keep their order only in the first case, so an order must be
 * total.
 */
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
