/* resort.h - sorting again what was sorted a moment ago
 *
 * Where few have passed each other since: O(n) then, and never worse than qsort().
 */
#ifndef CTLD_CORE_RESORT_H
#define CTLD_CORE_RESORT_H

#include <stddef.h>

#define RESORT_SIZE 64 /* of one item, at most */

/* The same arguments and, where no two are equal, the same outcome as of qsort(). */
void resort(void *v, size_t n, size_t size, int (*order)(const void *, const void *));

#endif
