/* run_life.h - a run from its start to its last report; runs.h draws the states */
#ifndef NODED_RUN_LIFE_H
#define NODED_RUN_LIFE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/gpusched.pb-c.h"
#include "noded/runs/runs.h"

struct proc;

/* The run never existed and must never start: write that down and report it. `why` is for people;
 * `never` says whether the node must be drained for it. Frees the run's start. */
enum never {
	NEVER_RUN,       /* the cause is the run's own, or no fault at all */
	NEVER_NODE,      /* the node can start no run: it must be drained */
	NEVER_SIGNATURE, /* its owner's signature was refused */
};
void run_never(struct run *r, const char *why, enum never never);

/* The run has a record and a shepherd: follow it. `shepherd` 0: run_forked() or run_not_forked()
 * is called later. Takes `report` over. */
void run_started(struct run *r, Gpusched__RunReport *report, pid_t shepherd);
/* The shepherd's process id, which another process may have by now; 0: it is not known whether the
 * shepherd was started. The lock of the run's record tells, since the launcher no longer holds
 * it. */
void run_forked(struct launcher *l, struct run_id id, pid_t shepherd);
void run_not_forked(struct launcher *l, struct run_id id, const char *why);

/* The same for a run that was found: `p` is its shepherd, pid 0 if that is not known yet. */
void run_follow(struct run *r, const struct proc *p);

/* Read the records again. -1: they cannot be read now; the state is unchanged, and they will be
 * read later. */
int run_poll(struct run *r);
/* What run_set_timer() has set is due. */
void run_due(struct run *r);

/* The run is over, with this report, which is taken over. */
void run_over(struct run *r, Gpusched__RunReport *report, bool on_disk);
/* The controller knows its end: remove the run and its records. Ignored unless it is over. */
void run_forget(struct launcher *l, struct run_id id);

/* Orders of the controller. */
void run_end(struct launcher *l, const Gpusched__EndRun *order);
void run_signal(struct launcher *l, const Gpusched__SignalRun *order);
void run_suspend(struct launcher *l, const Gpusched__SuspendRun *order);

#endif
