/* job.h - a job as gtop keeps it
 *
 * A hundred thousand of them are kept, and some fifty are on the screen. So what filters and orders
 * look at is at hand, and the rest is the packed message, which is unpacked only for a row that is
 * shown.
 */
#ifndef CMDS_TOP_MODEL_JOB_H
#define CMDS_TOP_MODEL_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/gpusched.pb-c.h"

/* A job, a task of an array, or what waits of an array. */
struct job_key {
	uint64_t id;
	uint32_t part; /* 0 of a job, one more than the task of a task, JOB_WAITING_TASKS */
};
#define JOB_WAITING_TASKS UINT32_MAX

struct top_job {
	struct job_key key;
	bool over;             /* it has ended, or nothing of an array waits: not to be kept */
	bool pending, reserve; /* it waits; it is slots that a service holds in reserve */
	bool limited;          /* it has a time limit */
	uint32_t uid, tasks;   /* tasks: that it stands for, 1 of a plain job */
	uint32_t gpus;         /* held, or asked for by all that it stands for */
	uint32_t limit_s;
	int64_t order, priority;
	int64_t submit_us;
	int64_t started_us; /* on this host's clock, suspensions left out; 0: it has not started */
	int64_t heard_us;   /* when the message came */
	unsigned round;     /* of the listing that it came in: model.c */
	/* What its GPUs do, of the last samples: model.c. So many of them have one; the sums of
	 * those. */
	uint32_t sampled;
	uint64_t use_pct, mem_used_mb;
	/* In `data`. */
	const char *user, *account, *partition, *qos, *name, *code, *reason, *nodes;
	const uint8_t *packed;
	size_t len;
	char data[];
};

struct job_key job_key_of_task(uint64_t id, uint32_t task);
/* "4812", "4812_7"; of what waits of an array its id. */
#define JOB_KEY_TEXT 40
const char *job_key_text(char buf[JOB_KEY_TEXT], struct job_key key);
bool job_key_same(struct job_key a, struct job_key b);
struct job_key job_key_of(const Gpusched__Job *m);

/* One malloc(): the caller frees it. `now_us`: UTC, when the message came. */
struct top_job *top_job_new(const Gpusched__Job *m, int64_t now_us);

/* All of it, with elapsed_s as of `now_us`; to be freed with gpusched__job__free_unpacked(). */
Gpusched__Job *top_job_unpack(const struct top_job *job, int64_t now_us);

uint64_t top_job_elapsed_s(const struct top_job *job, int64_t now_us);

#endif
