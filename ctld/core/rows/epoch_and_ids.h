/* epoch_and_ids.h - job ids, event numbers and the few other numbers of the cluster as a whole
 *
 * Job ids and event numbers are leased: the durable counter is always at or above every number
 * handed out, so none is ever used twice, whatever was lost. A start gives up the rest of the
 * lease that it finds, so a lease is small: of one number, which leaves no gap, and of twice as
 * many as the previous one if that was used up within a second. So the rows of this table are
 * written some ten times in a burst of thousands, and a crash skips at most about as many numbers
 * as were used within a second. An array takes an id for itself and one for each of its tasks at
 * once; a lease that has fewer left is made larger by just what is missing.
 */
#ifndef CTLD_CORE_EPOCH_AND_IDS_H
#define CTLD_CORE_EPOCH_AND_IDS_H

#include "common/base/error.h"
#include "common/job/run.h"
#include "ctld/core/rows/dirty.h"

#define LEASE_MAX   8192                  /* numbers */
#define LEASE_LASTS ((usec_t)1000000) /* one that was used up sooner was too small */

struct meta;

struct meta *meta_new(struct dirty *dirty);
void meta_free(struct meta *m); /* NULL is fine */

int meta_load(struct meta *m, const struct row *row, struct error *err);
/* All rows are in: check the cluster, take the next epoch, give up open leases. */
int meta_start(struct meta *m, const char *cluster, struct error *err);

uint64_t meta_epoch(const struct meta *m);
uint64_t meta_next_job(const struct meta *m); /* the next one to be handed out */
uint64_t meta_take_job(struct meta *m, usec_t mono);
/* Takes `n` consecutive job ids and returns the first of them. */
uint64_t meta_take_jobs(struct meta *m, uint32_t n, usec_t mono);
uint64_t meta_take_event(struct meta *m, usec_t mono);
/* Ids of a bulk (bulk.h), which follow one another: the range is open, durably, until it is over.
 * meta_take_bulk() gives the first and meta_bulk_next() all of them, in order, the first of `n` at
 * a time. One bulk at a time. */
uint64_t meta_take_bulk(struct meta *m, uint64_t n);
uint64_t meta_bulk_next(struct meta *m, uint32_t n);
void meta_bulk_over(struct meta *m);
bool meta_bulk_has(const struct meta *m, uint64_t job); /* is it in the open range? */
/* Return the leased numbers that were not used, durably: an orderly end leaves no gap in the job
 * ids. The next id afterwards needs a new lease. */
void meta_give_back(struct meta *m);
/* The last number that was used. */
uint64_t meta_last_event(const struct meta *m);
/* Never hand out these numbers or lower ones again, nor ids that tasks of that job may have. */
void meta_raise(struct meta *m, uint64_t epoch_above, uint64_t job_above);
/* The state is older than the cluster, and its epoch and next job have been raised: it knows only
 * jobs up to this id. */
void meta_taken_over(struct meta *m, uint64_t known_job);
/* Is an epoch that of a controller before the takeover? */
bool meta_before_takeover(const struct meta *m, uint64_t epoch);
/* Was the id given after the backup that the state was restored from? */
bool meta_is_foreign(const struct meta *m, uint64_t job);
/* Was the job in that backup, and is its last attempt, of that epoch (0: none), from before it? */
bool meta_was_restored(const struct meta *m, uint64_t job, uint64_t epoch);
/* Skip `n` event numbers. */
void meta_skip_events(struct meta *m, uint64_t n);

/* Settings by operators, by key; "": none. Keys begin with one of these. */
#define META_PARTITION "partition."
const char *meta_text(const struct meta *m, const char *key);
void meta_set_text(struct meta *m, const char *key, const char *text);

/* Every row, PUT. */
typedef void meta_row_fn(void *arg, const struct row *row);
size_t meta_rows(const struct meta *m, meta_row_fn *fn, void *arg);
uint64_t meta_hash(const struct meta *m);

#endif
