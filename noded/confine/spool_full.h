/* spool_full.h - ends the run that has filled the spool, so that there is space for the next runs
 *
 * If less is free than the limits demand, the run that uses most of the spool is ended, and starts
 * wait meanwhile.
 */
#ifndef NODED_SPOOL_FULL_H
#define NODED_SPOOL_FULL_H

#include <stdbool.h>

#include "noded/runs/waiting_starts.h"

struct launcher;
struct run;
struct spool_full;

struct spool_full *spool_full_new(struct launcher *l);
/* NULL is fine. To be called after l->disk was freed: its jobs point to this. */
void spool_full_free(struct spool_full *s);

/* The spool is full, and no run is the cause; "": it is not. Good until the next event. */
const char *spool_full_why(const struct launcher *l);

/* For a run that is to be started. False: there is space for it. Else `fn` is called when there is
 * space, or after a minute without, with the reason, not before this returns, unless the run leaves
 * first. */
bool spool_full_wait(struct launcher *l, struct run *run, waiting_start_fn *fn, void *arg);
void spool_full_leave(struct launcher *l, const struct run *run);

#endif
