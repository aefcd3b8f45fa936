/* intake.h - what is asked for, checked, with the defaults filled in
 *
 * One way in for all that users ask of the scheduler: a submit, a trial of one, and an update of a
 * job that waits go through the same checks, so that nothing can be updated to what would have been
 * refused. Who may use what is in admit.h.
 */
#ifndef CTLD_CORE_INTAKE_H
#define CTLD_CORE_INTAKE_H

#include "ctld/core/internal.h"

/* A job on its way in. */
struct intake {
	const struct submit_job *in;    /* borrowed */
	const struct nonce *known;      /* of an earlier submit */
	const struct job_info *updated; /* the job that is to be so; NULL: a new one */
	uint32_t partition;             /* index into conf.partitions */
	uint32_t account, qos;          /* indices; CONF_NONE: none */
	char *depends;                  /* owned: what it waits for, as kept; NULL: as it is */
	size_t memory;                  /* charged to the user as long as it is on its way */
	bool counted;                   /* as one that has not ended, for the limit `queued` */
	struct job_info info;           /* what intake_fill() says; gpus and labels are counted */
	struct taskset tasks;           /* of an array */
	uint32_t at_once;
	uint32_t weight; /* jobs that it counts as: 1, or its tasks */
};

/* Check `in` and fill in the indices, and of info: account, qos, gpus, labels, cpus, mem_mb,
 * time_limit_s, and the conditions (conditions.h). A job that passed counts among those that wait
 * until intake_clear(), which ends it either way. -1 with `err`: refused. */
int intake_fill(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err);

/* What was signed, as far as the core keeps it: are the texts such as can be kept? */
int intake_signed_texts(const char *name, const char *cwd, const char *output, const char *error,
        struct error *err);

/* The steps of a submit (submit.c), for one job: is it a repeat (t->known); is there room for `n`
 * more jobs than are in the table; what needs no check, into t->info (texts are borrowed); the job
 * is in its table and takes its places. */
int submit_known(
        const struct core *core, const struct caller *caller, struct intake *t, struct error *err);
int submit_room(const struct core *core, size_t n, struct error *err);
/* What it takes of its user's account, until intake_clear(). -1: that is used up. */
int intake_charge(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err);
void submit_fill(const struct core *core, const struct caller *caller, struct intake *t);
void submit_joins(struct core *core, struct job *job);

/* Drop what is counted; what was taken over is NULL by then. */
void intake_clear(struct core *core, struct intake *t);

#endif
