/* job_checks.h - a request of a job, checked, with the defaults filled in
 *
 * Every request goes the same way: a submit, a trial submission and an update of a waiting job go
 * through the same checks. So a job cannot be updated to what a submit would refuse. Which
 * accounts, QOS and partitions it may use is in admit.h.
 */
#ifndef CTLD_CORE_JOB_CHECKS_H
#define CTLD_CORE_JOB_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctld/core/intake/intake_job.h"

struct caller;
struct core;
struct error;
struct job;

/* Checks `in` and fills in the indices, and of info: account, qos, gpus, labels, cpus, mem_mb,
 * time_limit_s, partition(s), and the conditions (start_conditions.h). Of a list of partitions
 * those are left out that refuse the job, with the reason in t->left_out; -1 if all do
 * (partition_choices.h). A job that passes is counted as waiting until intake_clear(), whatever
 * becomes of it. -1 with `err`: refused. */
int intake_fill(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err);

/* The signed texts that the core keeps: are they valid? */
int intake_signed_texts(const char *name, const char *cwd, const char *output, const char *error,
        struct error *err);

/* The steps of a submit (submit.c) for one job: submit_known(): is it a repeat (t->known)? Is
 * there space for `n` more jobs in the table? Copy the fields that need no check into t->info
 * (texts are borrowed). Put the job into its table, its class and its lists. */
int submit_known(
        const struct core *core, const struct caller *caller, struct intake *t, struct error *err);
int submit_room(const struct core *core, size_t n, struct error *err);
/* Charges the user's account for the job's memory, until intake_clear(). -1: the account is used
 * up. */
int intake_charge(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err);
void submit_fill(const struct core *core, const struct caller *caller, struct intake *t);
void submit_joins(struct core *core, struct job *job);

/* Releases the references. What was taken over by a job is NULL by then. */
void intake_clear(struct core *core, struct intake *t);

#endif
