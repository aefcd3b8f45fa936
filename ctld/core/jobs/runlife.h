/* runlife.h - a run's way to its end, as its node reports it: runlife.c changes its state */
#ifndef CTLD_CORE_RUNLIFE_H
#define CTLD_CORE_RUNLIFE_H

#include "common/job/run.h"

struct core;
struct node;
struct run;
struct run_report;

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
