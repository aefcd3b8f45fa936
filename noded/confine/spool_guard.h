/* spool_guard.h - keeps space free in the spool for the next runs
 *
 * If less is free than the rules demand, the run that uses most of the spool is ended, and starts
 * wait meanwhile.
 */
#ifndef NODED_LAUNCHER_SPOOL_GUARD_H
#define NODED_LAUNCHER_SPOOL_GUARD_H

#include <stdbool.h>

#include "noded/runs/waiters.h"

struct launcher;
struct run;
struct spool_guard;

struct spool_guard *spool_guard_new(struct launcher *l);
/* NULL is fine. To be called after l->disk was freed: its jobs point to this. */
void spool_guard_free(struct spool_guard *s);

/* The spool is full, and no run is the cause; "": it is not. Good until the next event. */
const char *spool_guard_why(const struct launcher *l);

/* For a run that is to be started. False: there is space for it. Else `fn` is called when there is
 * space, or after a minute without, with the reason, not before this returns, unless the run leaves
 * first. */
bool spool_guard_wait(struct launcher *l, struct run *run, waiter_fn *fn, void *arg);
void spool_guard_leave(struct launcher *l, const struct run *run);

#endif
