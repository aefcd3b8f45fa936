/* admit.h - which account, QOS and partition a job may use, and within which limits it is taken in
 *
 * The policy half of intake.h. Of an update only what it changes is judged: who was let in once may
 * change his time limit in a partition that takes no new jobs.
 */
#ifndef CTLD_CORE_ADMIT_H
#define CTLD_CORE_ADMIT_H

#include "ctld/core/intake/intake.h"

/* The account: the one that is named, if the caller is a member (by name, group or "*") or an
 * administrator; else the first of the file that lists him; else default_account. Its required
 * labels must be there, and those of the accounts above. Sets t->account, info.account. */
int admit_account(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err);

/* The QOS that is named, or the default, if the account may use it. Sets t->qos, info.qos. */
int admit_qos(const struct core *core, struct intake *t, struct error *err);

/* Does the partition take jobs, of this account, without GPUs? */
int admit_partition(const struct core *core, const struct intake *t, struct error *err);

/* CPUs and memory of a node, where the job says nothing: so many for each GPU of the alternative
 * that is liked best, else the partition's default. Needs info.gpus. */
void admit_defaults(const struct core *core, struct intake *t);

/* The time limit: as asked, if no limit forbids it; without one the partition's default, or the
 * tightest limit if that is less. */
int admit_time(struct core *core, struct intake *t, struct error *err);

/* Could some alternative start within the limits, and may one more job be taken in? */
int admit_limits(
        struct core *core, const struct caller *caller, const struct intake *t, struct error *err);

/* The way of a job through gates of this configuration. */
struct gate_path *admit_path(
        const struct core *core, struct gates *gates, const struct job_info *i);

/* --- jobs that have not ended, for the limit `queued` ---------------------------------------- */

/* The job has been taken in, changed or revived: what it asks for is typical (mix.h). Who is only
 * tried is not. */
void admit_asked(struct core *core, const struct job *job);

void admit_count(struct core *core, const struct job_info *info, int delta);
void admit_count_all(struct core *core); /* into new gates */
int admit_check(const struct core *core, struct error *err);

#endif
