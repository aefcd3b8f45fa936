/* tally.h - how many of something each key has
 *
 * Rows exist as long as they are counted in; a table is a small hash, since only keys with
 * something at hand have a row.
 */
#ifndef COMMON_TALLY_H
#define COMMON_TALLY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define TALLY_BUCKETS 1024

struct tally_row {
	LIST_ENTRY(tally_row) link;
	uint64_t key;
	unsigned n; /* how often it was counted in */
};

struct tally {
	LIST_HEAD(, tally_row) buckets[TALLY_BUCKETS];
};

/* The row of `key`, counted in once more. NULL: out of memory. */
struct tally_row *tally_take(struct tally *t, uint64_t key);

/* Counted out; the row may be gone. NULL is fine. */
void tally_drop(struct tally_row *row);

#endif
