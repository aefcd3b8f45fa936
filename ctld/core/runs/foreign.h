/* foreign.h - runs of jobs that this state does not know
 *
 * After a backup was restored, nodes have runs of jobs that were submitted after the backup. Such
 * a run is billed to the user and account that its order named; the node reports both (struct
 * run_owner). When the run is over, history gets a record of its job, made of what is known.
 *
 * The run's own row stays here until its node has registered without naming it. A node repeats the
 * report of an end until the controller confirms that the node may forget it, and a repeated
 * report must find the run again. While its row stays, the run is over and has no job.
 *
 * The takeover determines which ids may belong to such jobs: those above all ids of the restored
 * state and below those that are given out from then on.
 */
#ifndef CTLD_CORE_FOREIGN_H
#define CTLD_CORE_FOREIGN_H

struct core;
struct foreign;
struct run;

struct foreign *foreign_new(void);
void foreign_free(struct foreign *f); /* NULL is fine */

/* Keep a run that is over and has no job until its node forgets it. */
void foreign_keep(struct core *core, struct run *run);
/* Such a run has ended and was billed: it stays here, and its row and its job's go to history. */
void foreign_over(struct core *core, struct run *run);

/* A node has registered with these runs; e NULL: it has left the configuration. The runs that it
 * does not name, the node has forgotten, and they are removed here. */
struct core_event;
struct node;
void foreign_forgotten(struct core *core, const struct node *node, const struct core_event *e);

#endif
