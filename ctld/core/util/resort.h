/* resort.h - sorting again what was sorted a moment ago
 *
 * O(n) if few items have changed places since, and never worse than qsort().
 */
#ifndef CTLD_CORE_RESORT_H
#define CTLD_CORE_RESORT_H

#include <stddef.h>

#define RESORT_SIZE 64 /* of one item, at most */

/* The same arguments as qsort() and, if no two items are equal, the same result. */
void resort(void *v, size_t n, size_t size, int (*order)(const void *, const void *));

#endif
