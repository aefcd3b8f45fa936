/* web_fixture.h - jobs and snapshots for the tests of gweb */
#ifndef TESTSUITE_UNIT_WEB_FIXTURE_H
#define TESTSUITE_UNIT_WEB_FIXTURE_H

#include <stdlib.h>

#include "cmds/web/snapshot_make.h"
#include "common/base/xalloc.h"

struct job_like {
	uint64_t id, raw_id;
	const char *state, *tasks, *name, *user, *account, *partition, *reason, *gpu_type;
	uint32_t gpus, held, task_count, wait_target_s, position;
	uint64_t eligible_s;
	bool several;
	int64_t submit_time, eligible_time, start_time, end_time;
};

static inline char *fixture_text(const char *text, const char *standard)
{
	return (char *)(uintptr_t)(text ? text : standard);
}

static inline struct snapshot_job *fixture_job(
        struct snapshot_texts *texts, const struct job_like *like)
{
	Gpusched__Job m = GPUSCHED__JOB__INIT;
	Gpusched__GpuCount count = GPUSCHED__GPU_COUNT__INIT, *counts[] = { &count };

	m.id = like->id;
	m.raw_id = like->raw_id ? like->raw_id : like->id;
	m.state = fixture_text(like->state, "PENDING");
	m.tasks = fixture_text(like->tasks, "");
	m.array = m.tasks;
	m.name = fixture_text(like->name, "job");
	m.user = fixture_text(like->user, "ana");
	m.account = fixture_text(like->account, "vision");
	m.partition = fixture_text(like->partition, "batch");
	m.reason = fixture_text(like->reason, "");
	m.gpu_type = fixture_text(like->gpu_type, "");
	m.qos = (char *)"normal";
	m.cpus = 4;
	m.mem_mb = 1024;
	count.type = (char *)"h100";
	count.count = like->gpus;
	m.gpus = counts;
	m.n_gpus = like->gpus ? 1 : 0;
	m.gpus_held = like->held;
	m.n_nodes = like->held ? 1 : 0;
	m.task_count = like->task_count;
	m.several = like->several;
	m.wait_target_s = like->wait_target_s;
	m.submit_time = like->submit_time;
	m.eligible_time = like->eligible_time;
	m.eligible_s = like->eligible_s;
	m.start_time = like->start_time;
	m.end_time = like->end_time;
	m.position = like->position;
	m.attempt = like->start_time ? 1 : 0;
	return snapshot_job_new(&m, texts);
}

/* Publish these jobs, and what else the draft has. */
static inline void fixture_publish(struct snapshots *s, struct snapshot_texts *texts,
        struct snapshot_draft *d, const struct job_like *jobs, size_t n)
{
	struct snapshot_job **set = xcalloc(n + 1, sizeof(struct snapshot_job *));

	for (size_t i = 0; i < n; i++) {
		set[i] = fixture_job(texts, &jobs[i]);
		set[i]->serial = i;
	}
	d->set = set;
	d->n_set = n;
	d->cluster = "test";
	d->version = "1";
	d->currency = "EUR";
	if (!d->ended_max)
		d->ended_max = 1000;
	snapshots_publish(s, d);
	free(set);
}

#endif
