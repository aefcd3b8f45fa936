/* top.c - see top.h */
#include "testsuite/unit/lib/top.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/net/msg.h"

static char *or_else(const char *text, const char *usual)
{
	return (char *)(text ? text : usual);
}

static void say_job(Gpusched__Job *m, const struct top_job_say *say)
{
	bool pending = !strcmp(say->state, "PENDING");

	m->id = say->id;
	m->state = or_else(say->state, "");
	m->name = or_else(say->name, "job");
	m->user = or_else(say->user, "ana");
	m->account = or_else(say->account, "");
	m->partition = or_else(say->partition, "batch");
	m->reason = or_else(say->reason, pending ? "Resources" : "");
	m->tasks = or_else(say->tasks, "");
	m->nodes = or_else(say->nodes, "");
	m->several = say->several;
	m->task_count = say->task_count;
	m->gpus_held = pending ? 0 : say->gpus;
	m->time_limit_s = say->limit_s;
	m->uid = say->uid;
	m->order = say->order;
	m->elapsed_s = say->elapsed_s;
	m->start_time = pending ? 0 : 1;
	m->priority = say->priority;
	m->submit_time = say->submit_us;
}

struct top_job *top_make_job(const struct top_job_say *say, int64_t now_us)
{
	Gpusched__Job m = GPUSCHED__JOB__INIT;

	say_job(&m, say);
	return top_job_new(&m, now_us);
}

struct update *top_jobs_update(
        const struct top_job_say *say, size_t n, bool fresh, bool complete, int64_t now_us)
{
	struct update *u = update_new(UPDATE_JOBS, now_us);

	for (size_t i = 0; i < n; i++) {
		Gpusched__Job m = GPUSCHED__JOB__INIT;

		say_job(&m, &say[i]);
		update_add_job(u, &m);
	}
	u->fresh = fresh;
	u->complete = complete;
	return u;
}

Gpusched__Node *top_make_node(
        const char *name, const char *state, const struct top_gpu_say *gpus, size_t n)
{
	Gpusched__Node node = GPUSCHED__NODE__INIT;
	Gpusched__NodeGpu *v = xcalloc(n + 1, sizeof(*v)),
	                  **devices = xcalloc(n + 1, sizeof(*devices));
	Gpusched__RunId *runs = xcalloc(n + 1, sizeof(*runs)), **of = xcalloc(n + 1, sizeof(*of));
	char *partitions[] = { "batch" };
	ProtobufCMessage *copy;

	node.name = (char *)name;
	node.state = (char *)state;
	node.cpus = 64;
	node.partitions = partitions;
	node.n_partitions = 1;
	for (size_t i = 0; i < n; i++) {
		v[i] = (Gpusched__NodeGpu)GPUSCHED__NODE_GPU__INIT;
		v[i].index = (uint32_t)i;
		v[i].type = "h100";
		v[i].state = (char *)gpus[i].state;
		v[i].sample_known = v[i].sm_known = gpus[i].known;
		v[i].sm_pct = gpus[i].pct;
		v[i].fb_used_mb = gpus[i].mem_mb;
		runs[i] = (Gpusched__RunId)GPUSCHED__RUN_ID__INIT;
		runs[i].job = gpus[i].job;
		of[i] = &runs[i];
		v[i].runs = &of[i];
		v[i].n_runs = gpus[i].job != 0;
		devices[i] = &v[i];
	}
	node.devices = devices;
	node.n_devices = n;
	copy = msg_copy(&node.base);
	free(v);
	free(devices);
	free(runs);
	free(of);
	return (Gpusched__Node *)copy;
}
