/* job_queries.h - asking the controller about jobs, and waiting for their ends
 *
 * A job that ended long ago is one of the past: the controller's memory is asked first, and then
 * its accounting.
 */
#ifndef CMDS_DRMAA_JOB_QUERIES_H
#define CMDS_DRMAA_JOB_QUERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "cmds/api/client.h"
#include "cmds/drmaa/jobset.h"
#include "common/base/error.h"

/* A job as it is, or several tasks of an array that are alike. Gone when the callback returns. */
struct query_job {
	uint64_t id;
	const char *tasks; /* "3-9,12"; "": it is no array */
	const char *state, *reason;
	bool ended;
	uint32_t exit_code, exit_signal;
	int64_t start_time; /* 0: it never ran */
};
typedef void query_on(const struct query_job *job, void *arg);

/* Tell of each job of `set`. *unknown, unless NULL, are those of which nothing is known any more;
 * the caller clears it, on failure too. -1 with `err`. */
int query_jobs(struct client *c, const struct jobset *set, query_on *on, void *arg,
        struct jobset *unknown, struct error *err);

/* Return 0 once one of these has ended, or perhaps has: some are waited for at a time, so look
 * again. 1: none has within timeout_ms (< 0: no limit). -1 with `err`. None has ended when it is
 * called. */
int query_wait(struct client *c, const struct jobset *set, int64_t timeout_ms, struct error *err);

/* The accounts of one job that has ended. */
int query_account(struct client *c, uint64_t id, uint32_t task,
        void (*on)(const Gpusched__Acct *account, void *arg), void *arg, struct error *err);

#endif
