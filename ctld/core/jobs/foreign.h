/* foreign.h - runs of jobs that this state does not know
 *
 * After a backup was restored nodes have runs of jobs that were submitted since. Such a run is billed
 * to the user and account that its order named, which its node tells (struct run_owner), and when it
 * is over history gets a record of its job, made of what is known.
 *
 * Its own row stays here until its node has registered without naming it: a node tells of an end
 * until it hears that it may forget, and one that is told again must be known. While it stays, it is
 * a run that is over and has no job.
 *
 * The takeover says which ids may be such jobs: those above all that the restored state knew, and
 * below those that are given from then on.
 */
#ifndef CTLD_CORE_FOREIGN_H
#define CTLD_CORE_FOREIGN_H

#include "ctld/core/internal.h"

struct foreign;

struct foreign *foreign_new(void);
void foreign_free(struct foreign *f); /* NULL is fine */

/* A run that is over and has no job stays for a while. */
void foreign_keep(struct core *core, struct run *run);
/* One has ended and was billed: it stays, and the rows of it and of its job go to history. */
void foreign_over(struct core *core, struct run *run);

/* A node has registered with these runs; e NULL: it has left the configuration. Those of its runs
 * that it does not name it has forgotten, and they go. */
struct node;
struct core_event;
void foreign_forgotten(struct core *core, const struct node *node, const struct core_event *e);

/* Hand out the rows and forget them, before any other row of the seal; returns how many. */
size_t foreign_seal(struct foreign *f, core_row_sink *sink, void *arg);

#endif
