/* depends.h - jobs that wait for other jobs
 *
 * What a job waits for is text in its row (common/depend.h), with what has become of each term. As
 * long as a term is open an edge hangs on the job that it names. When that job starts or ends, it
 * is put into a queue, and depends_settle() lets its edges come true one by one, in slices: a job
 * that a hundred thousand wait for stalls nobody. Until then it stays in memory; so every term is
 * decided by a job that is there, and what was decided is in the row of who waits. Nothing is ever
 * searched.
 *
 * aftercorr of an array on another one is decided task by task (correspond.c); some tasks of an
 * array (12_[1-3]) have one edge together (depends_range.c).
 *
 * singleton is decided by the jobs of one user with one name (namesakes.h), at any time anew.
 *
 * Edges, queue and names are volatile: a start makes them from the rows.
 */
#ifndef CTLD_CORE_DEPENDS_H
#define CTLD_CORE_DEPENDS_H

#include "ctld/core/internal.h"

/* May a job (an array of these tasks; NULL: none) wait for this? `job` NULL: a new one. Each id must be of a job in memory
 * that who asks may see, or of one in history of which is known how it ended (fates.h; whose it was
 * is not): that decides its term at once. Not its own, and none may wait for `job`, over whichever
 * others. The text as rows keep it goes to *kept (owned by the caller). */
int depends_check(const struct core *core, const struct caller *caller, const struct job *job,
        const struct taskset *tasks, const char *text, char **kept, struct error *err);

/* Ranges of tasks (12_[1-3]) are bounded, and those of jobs that are checked together are counted
 * here: *n with those of one more text. True: too many. */
bool range_many_in(const char *kept, unsigned *n);

/* Its text is new, or from a row: hang its edges, where it has not ended. */
void depends_attach(struct core *core, struct job *job);
/* It waits for something else now. */
void depends_set(struct core *core, struct job *job, const char *kept);
/* It was checked a while ago: what it names and has gone to history since is decided. Before it is
 * attached. */
void depends_catch_up(struct core *core, struct job *job);
/* One that has ended is to wait again, with the text that it has: can that still come true, without
 * a circle? */
int depends_revivable(const struct core *core, const struct job *job, struct error *err);
/* It waits for nothing any more: it has ended, or gets another text. */
void depends_detach(struct core *core, struct job *job);
/* It goes to history, or the core goes: nobody waits for it. */
void depends_forget(struct core *core, struct job *job);

/* It has started or ended: who waits for that will know. */
void depends_tell(struct core *core, struct job *job);
/* Settle at most so many edges; true if there are more. */
bool depends_settle(struct core *core, unsigned budget);
/* Does anybody still have to be told of it? Then it must stay in memory. */
bool depends_wanted(const struct job *job);

/* Does it have to wait? Of any record of an array. */
bool depends_open(const struct job *job);
usec_t depends_due(const struct job *job); /* wall: when a delay ends; INT64_MAX: none runs */
void depends_delays(struct core *core, struct job *job); /* some have perhaps ended */

/* "Dependency" or "DependencyNeverSatisfied", and for people which jobs, and how they are. */
const char *depends_why(const struct core *core, const struct job *job, char *text, size_t size);

/* For people: what has not come true of what it waits for; cut with "...". */
void depends_say(const struct job *job, char *text, size_t size);

int depends_check_job(const struct core *core, const struct job *job, struct error *err);

#endif
