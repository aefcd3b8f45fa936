/* store_model.h - a workload whose every state is known beforehand
 *
 * Commit number i puts, changes, deletes and retires rows of all tables and blobs, so that the
 * whole contents after it follow from i alone. A store that was interrupted anywhere must come up
 * again with the contents of one commit; which one, the test decides.
 */
#ifndef TESTSUITE_STORE_MODEL_H
#define TESTSUITE_STORE_MODEL_H

#include <stdint.h>

#include "ctld/store/store.h"

#define MODEL_LIVE_JOBS \
	5 /* job i and its run retire with commit i + 5. Event i comes with commit i */

struct store_batch *model_batch(struct store *store, uint64_t i);

/* Commit first..last, or until the first failure (then `err` is its). *acknowledged follows.
 * Returns the last that was committed. `base` NULL: the store is synchronous. */
uint64_t model_work(struct store *store, struct event_base *base, uint64_t first, uint64_t last,
        uint64_t *acknowledged, struct error *err);

/* The freshly opened store has the contents of exactly one commit; which? 0: none yet. */
uint64_t model_check(struct store *store, struct event_base *base);

#endif
