/* acct_answers.h - what is made of jobs and events of all times: answers to the questions about
 * them
 *
 * A taker is given what a walk finds, wherever it walks: the controller over all jobs there are and
 * were (acct_walk.h), gpast over a file. What it answers goes where the walk says.
 */
#ifndef CTLD_RPC_ACCT_ANSWERS_H
#define CTLD_RPC_ACCT_ANSWERS_H

#include "common/base/arena.h"
#include "common/conf/conf.h"
#include "common/gpusched.pb-c.h"
#include "ctld/core/rows/row.h"
#include "ctld/rpc/acct/acct_query.h"

/* Where answers go. */
struct acct_out {
	const char *currency;
	int64_t now; /* us UTC; 0: of a file, which ends when its last run did */
	struct arena *arena; /* of the present slice: for what is cut of its jobs */
	void (*send)(void *to, unsigned type, const ProtobufCMessage *m);
	void *to;
};

/* The receiver of the jobs, or of the events. `data` is passed to each callback. */
struct acct_taker {
	/* The next event; only of walks over events. */
	void (*event)(void *data, const struct row *row, struct arena *arena);
	/* The next job; it lives until slice() has returned. Called on the loop or in the thread,
	 * never twice at a time. */
	void (*job)(void *data, Gpusched__Acct *job);
	/* Instead of both: a slice of something else that is done with history.db, in the thread.
	 * 1: there is more; 0; -1. */
	int (*work)(void *data, struct error *err);
	/* In the thread, after the last job: a slice of what else is read there. 1: there is more,
	 * after slice(); 0; -1. May be NULL. */
	int (*past)(void *data, struct past *past, struct error *err);
	/* On the loop, after some jobs: send what is to be sent of them. May be NULL. */
	void (*slice)(const struct acct_out *out, void *data);
	/* On the loop, for a walk that follows: all events up to this number have been passed
	 * on. */
	void (*caught_up)(const struct acct_out *out, void *data, uint64_t seq);
	/* On the loop: there are no more; send what is left. May be NULL. 0, or -1 with `err`. */
	int (*end)(const struct acct_out *out, void *data, struct error *err);
	void (*free)(void *data);
};

/* ListAcct */
extern const struct acct_taker acct_listing;
void *acct_listing_data(const Gpusched__ListAcct *m);

/* Report; NULL with ERR_USAGE. */
extern const struct acct_taker acct_report;
void *acct_report_data(const Gpusched__Report *m, const struct acct_query *query,
        const struct conf *conf, struct error *err);

/* ListEvents; `which` says what to read. NULL with ERR_USAGE. */
extern const struct acct_taker acct_events;
void *acct_events_data(const Gpusched__ListEvents *m, const struct conf *conf,
        struct past_events *which, struct error *err);

/* ListSteps with `ended`: the query for their jobs (borrows from `m`; ERR_USAGE), and the taker.
 * `running` adds the steps that run of a job to a part of the answer; NULL: of a file, where none
 * does. */
#define ACCT_STEPS_JOBS 1000 /* named by one request */
struct part;
typedef void acct_steps_fn(void *arg, uint64_t ref, struct arena *arena, struct part *part);
int acct_steps_query(const Gpusched__ListSteps *m, Gpusched__ListAcct *query, struct error *err);
extern const struct acct_taker acct_steps;
void *acct_steps_data(acct_steps_fn *running, void *arg);

#endif
