/* top.h - jobs and nodes for the tests of gtop, as the controller would say them */
#ifndef TESTSUITE_UNIT_TOP_H
#define TESTSUITE_UNIT_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/top/model/update.h"

/* A text that is NULL is the usual one. */
struct top_job_say {
	uint64_t id;
	const char *state, *name, *user, *account, *partition, *reason, *tasks, *nodes;
	bool several;
	uint32_t task_count, gpus, limit_s, uid, order;
	uint64_t elapsed_s;
	int64_t priority, submit_us;
};
struct top_job *top_make_job(const struct top_job_say *say, int64_t now_us);
struct update *top_jobs_update(
        const struct top_job_say *say, size_t n, bool fresh, bool complete, int64_t now_us);

struct top_gpu_say {
	const char *state;
	uint64_t job; /* 0: none has it */
	bool known;   /* its use */
	uint32_t pct;
	uint64_t mem_mb;
};
/* To be freed with gpusched__node__free_unpacked(). */
Gpusched__Node *top_make_node(
        const char *name, const char *state, const struct top_gpu_say *gpus, size_t n);

#endif
