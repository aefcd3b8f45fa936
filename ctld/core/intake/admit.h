/* admit.h - which account, QOS and partition a job may use, and the limits on admitting it
 *
 * The policy half of job_checks.h. Of an update only the changed fields are checked: the time limit
 * of an admitted job may be changed in a partition that takes no new jobs.
 */
#ifndef CTLD_CORE_ADMIT_H
#define CTLD_CORE_ADMIT_H

#include "ctld/core/intake/intake_job.h"

struct caller;
struct core;
struct error;

/* The account: the named one, if the caller is a member (by name, group or "*") or an
 * administrator; else the first account of the file that lists the caller; else
 * default_account. The labels that it and the accounts above require must be there. Sets
 * t->account, info.account. */
int admit_account(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err);

/* The named QOS, or the default one, if the account may use it. Sets t->qos, info.qos. */
int admit_qos(const struct core *core, struct intake *t, struct error *err);

/* Does the partition take jobs; of this account; without GPUs, if the job has none? */
int admit_partition(const struct core *core, const struct intake *t, struct error *err);

/* CPUs and memory of a node, where the job does not give them: an amount for each GPU of its first
 * alternative, else the partition's default. Needs info.gpus. */
void admit_defaults(const struct core *core, struct intake *t);

/* The time limit: the requested one, if no limit forbids it; if none is requested, the partition's
 * default, or the tightest limit if that is less. */
int admit_time(struct core *core, struct intake *t, struct error *err);

/* Could some alternative start within the limits, and do they allow one more job? */
int admit_limits(
        struct core *core, const struct caller *caller, const struct intake *t, struct error *err);

#endif
