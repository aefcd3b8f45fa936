/* run_states.h - the states of a run, from its node's reports to its end */
#ifndef CTLD_CORE_RUN_STATES_H
#define CTLD_CORE_RUN_STATES_H

#include "ctld/core/records/run.h"

struct core;
struct node;
struct run_report;

/* Its node reports: the program runs; the run has a record; it has ended (missing_runs.h: it never
 * was there). */
void run_says_starting(struct core *core, struct run *run, const struct run_report *report);
void run_says_running(struct core *core, struct run *run, const struct run_report *report);
void run_says_ended(struct core *core, struct run *run, const struct run_report *report);
/* The run is over, ENDED or NEVER, and its record is set: all that follows from it. */
void run_over_now(struct core *core, struct run *run, enum run_state state);

/* An unknown run that is over: record and bill it; nothing else changes. */
struct run *run_learn(struct core *core, struct node *node, const struct run_report *report);
/* A run that is alive on its node and should not be. */
void run_orphan(struct core *core, struct run *run, const struct run_report *report);
struct run *run_adopt(struct core *core, struct node *node, const struct run_report *report);

#endif
