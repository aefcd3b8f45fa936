/* idle.h - jobs that leave their GPUs idle, as idle_gpu says: their partition's, else their nodes'
 *
 * Where the nodes of a job say different, each run goes by its own node's marks, and the mildest
 * says what is done; a node that says nothing keeps the job from being idle.
 *
 * Idle is compute, never memory. Time passes here by what is known: each message of a node says for
 * how much GPU-time more it knows the compute use of a run, and how much of that was busy. What it
 * does not know (MIG, shared GPUs) is no time; so a run that was suspended, or a node not heard of,
 * does nobody harm, and no clock is read. One message above the mark begins it anew.
 *
 * A job is idle when each of its runs that lives is. It is noted with its runs (durable) and in the
 * log of events, once; mailed about, once; or ended. Who wants half a CPU or more meanwhile (has
 * had it, or waited for it) is noted and not ended, unless the partition says so.
 */
#ifndef CTLD_CORE_IDLE_H
#define CTLD_CORE_IDLE_H

#include "ctld/core/records/run.h"

struct core;

/* The node has said more of what a run has used; `before` is what it had said before. */
void idle_look(struct core *core, struct run *run, const struct run_used *before);

#endif
