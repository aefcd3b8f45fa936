/* dirty.h - what has changed since the last seal
 *
 * Every durable object starts with a `struct mark`. A mover changes a field and calls dirty_put();
 * the first call puts the object on the list, once. dirty_gone() takes ownership of a removed
 * object: it stays on this list until the seal has written its last row and its removal, and is
 * freed then.
 */
#ifndef CTLD_CORE_DIRTY_H
#define CTLD_CORE_DIRTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctld/core/rows/row.h"

/* First member of every durable object. */
struct mark {
	bool listed;   /* is on the list */
	bool put;      /* has a row to write */
	bool gone;     /* is to be deleted or retired */
	uint8_t table; /* enum row_table */
	uint32_t bytes; /* the approximate size of its row; 0: DIRTY_ROW, as for most rows */
};

struct dirty;

struct dirty *dirty_new(void);
void dirty_free(struct dirty *d); /* NULL is fine; the list must have no gone objects */

void dirty_put(struct dirty *d, struct mark *mark);
void dirty_gone(struct dirty *d, struct mark *mark);

/* Something durable has changed that is no object (an audit event). */
void dirty_touch(struct dirty *d);
/* Has anything changed since the previous call? */
bool dirty_touched(struct dirty *d);

/* Call `each` for every object in the order of the first change, and clear its mark and the list.
 * `gone` is the value of the mark; the callee frees such an object. */
typedef void dirty_each_fn(void *arg, struct mark *mark, bool put, bool gone);
void dirty_drain(struct dirty *d, dirty_each_fn *each, void *arg);

size_t dirty_count(const struct dirty *d);
#define DIRTY_ROW 640
size_t dirty_bytes(const struct dirty *d); /* approximate size of all rows on the list */

#endif
