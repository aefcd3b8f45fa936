/* acct_record.h - jobs as accounting tells them, made of the rows of a job and of its runs
 *
 * The same rows come from the core (core_job_rows()) and from history.db (history_reader.h), so
 * there is one way from a job to what users are told that it used. Pure.
 */
#ifndef CTLD_RPC_ACCT_RECORD_H
#define CTLD_RPC_ACCT_RECORD_H

#include "common/base/arena.h"
#include "common/base/taskset.h"
#include "common/gpusched.pb-c.h"
#include "ctld/store/batch_items.h"

/* Reads the jobs of a batch, one after another: a job's row, then those of its runs. Begins as
 * { batch, arena }. */
struct acct_reader {
	const struct store_batch *batch;
	struct arena *arena; /* which the messages live in, borrowing nothing */
	size_t offset;
	struct batch_item ahead; /* the row of the next job */
	bool is_ahead;
	struct taskset tasks; /* of the array that the last task was of */
	uint64_t tasks_of;    /* its id; 0: none yet */
};

/* The next one, with all its runs; NULL: no more, and the reader owns nothing. */
Gpusched__Acct *acct_next(struct acct_reader *reader);

#endif
