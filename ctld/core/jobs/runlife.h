/* runlife.h - a run's way from order to end, and its booking: every change of its state is made in runlife.c */
#ifndef CTLD_CORE_RUNLIFE_H
#define CTLD_CORE_RUNLIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/run.h"

struct core;
struct job;
struct node;
struct place;
struct run;
struct run_report;

#define NO_PARTITION_GRACE_S 30 /* of runs whose partition is no longer configured */

/* Why a run is to end, and on whose behalf, for its interruption file. Texts may be NULL. */
struct stop {
	enum end_cause cause;
	const char *by_user, *by_account, *by_qos;
	uint64_t by_job; /* 0: none */
	bool requeue;    /* its job is requeued */
};

/* Make a run of an attempt on `nodes` nodes, book it and order it. */
void run_start(struct core *core, struct job *job, struct run_id id, uint32_t nodes,
        const struct place *place);
void run_book(struct core *core, struct run *run, struct node *node);
void run_hold(struct core *core, struct run *run); /* book a linked run in a new ledger */
/* Its end is wanted: send the order, if its node is connected. */
void end_run_order(struct core *core, struct run *run, const struct stop *stop);
/* suspend_run_order(): its node reports another suspension or time limit than is wanted: send the
 * order, if the node is connected. */
/* Must its node receive a changed time limit? */
bool run_limit_changed(const struct run *run);
void suspend_run_order(struct core *core, const struct run *run);

/* Its node reports: the program runs; the run has a record; it has ended; it never was there. */
void run_says_starting(struct core *core, struct run *run, const struct run_report *report);
void run_says_running(struct core *core, struct run *run, const struct run_report *report);
void run_says_ended(struct core *core, struct run *run, const struct run_report *report);
void run_says_never(struct core *core, struct run *run, const struct run_report *report);
/* What ran is gone together with its node. `why` is kept as the detail. */
void run_gone(struct core *core, struct run *run, enum end_cause cause, const char *why);
void node_runs_gone(struct core *core, struct node *node, const char *why);

/* An unknown run that is over: record and bill it; nothing else changes. */
struct run *run_learn(struct core *core, struct node *node, const struct run_report *report);
/* A run that is alive on its node and should not be. */
void run_orphan(struct core *core, struct run *run, const struct run_report *report);
struct run *run_adopt(struct core *core, struct node *node, const struct run_report *report);

#endif
