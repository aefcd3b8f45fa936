/* counters.c - see counters.h */
#include "cmds/web/metrics/counters.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/web/snapshot.h"
#include "cmds/web/snapshot_make.h"
#include "common/base/xalloc.h"

#define XIDS_MAX 256 /* numbers of Xids; drivers have fewer */

const double counters_limits[COUNTERS_BUCKETS] = { 1, 5, 15, 60, 300, 900, 1800, 3600, 14400, 43200,
	86400, INFINITY };

struct counters *counters_new(struct snapshot_texts *texts)
{
	struct counters *t = xcalloc(1, sizeof(*t));

	t->texts = texts;
	return t;
}

static void lists_of(struct counters *t, struct counter_list *out[6])
{
	struct counter_list *all[] = { &t->gpu_seconds, &t->idle_seconds, &t->ended, &t->requeued,
		&t->in_target, &t->xids };

	memcpy(out, all, sizeof(all));
}

void counters_free(struct counters *t)
{
	struct counter_list *lists[6];

	if (!t)
		return;
	lists_of(t, lists);
	for (size_t i = 0; i < 6; i++)
		free(lists[i]->v);
	free(t->waits);
	free(t);
}

struct counters *counters_copy(const struct counters *t)
{
	struct counters *copy = xmemdup(t, sizeof(*t));
	struct counter_list *lists[6];

	lists_of(copy, lists);
	for (size_t i = 0; i < 6; i++) {
		lists[i]->v = xmemdup(lists[i]->v, lists[i]->n * sizeof(*lists[i]->v));
		lists[i]->size = lists[i]->n;
	}
	copy->waits = xmemdup(t->waits, t->n_waits * sizeof(*t->waits));
	copy->size_waits = t->n_waits;
	return copy;
}

/* Partitions, accounts, types and states: few, so they are looked for one by one. */
static void add(struct counter_list *l, const char *a, const char *b, double n)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].a, a) && !strcmp(l->v[i].b, b)) {
			l->v[i].n += n;
			return;
		}
	*XADD(l->v, l->n, l->size) = (struct counter){ a, b, n };
}

/* --- jobs ------------------------------------------------------------------------------------- */

static void add_wait(struct counters *t, const char *partition, const char *qos, double seconds)
{
	size_t i = 0, b = 0;

	while (i < t->n_waits && (strcmp(t->waits[i].partition, partition) != 0 ||
	                                 strcmp(t->waits[i].qos, qos) != 0))
		i++;
	if (i == t->n_waits) {
		*XADD(t->waits, t->n_waits, t->size_waits) =
		        (struct counter_waits){ .partition = partition, .qos = qos };
	}
	while (seconds > counters_limits[b])
		b++;
	t->waits[i].buckets[b]++;
	t->waits[i].sum += seconds;
	t->waits[i].count++;
}

/* Since it could first start; what is not known of that: since it was submitted. */
static void started(struct counters *t, const struct snapshot_job *job)
{
	int64_t from = job->eligible_time ? job->eligible_time : job->submit_time;
	double waited = (double)(job->start_time - from) / 1e6;

	if (job->status->attempt > 1)
		return; /* its first wait was counted, and requeues are counted by themselves */
	if (waited < 0)
		waited = 0;
	add_wait(t, job->request->first_partition, job->request->qos, waited);
	if (job->request->wait_target_s)
		add(&t->in_target, job->request->first_partition,
		        waited <= job->request->wait_target_s ? "yes" : "no", 1);
}

void counters_job(
        struct counters *t, const struct snapshot_job *before, const struct snapshot_job *job)
{
	bool same = before && before->several == job->several;
	bool had_started = same && (before->status->runs || before->status->ended) &&
	                   before->start_time == job->start_time;

	if (job->several)
		return;
	if (job->start_time && (job->status->runs || job->status->ended) && !had_started)
		started(t, job);
	if (job->status->ended && !(same && before->status->ended))
		add(&t->ended, job->request->first_partition, job->status->state, 1);
	if (job->status->waits && same && before->status->runs)
		add(&t->requeued, job->request->first_partition, job->status->reason, 1);
}

/* --- GPUs ------------------------------------------------------------------------------------- */

static bool takes_work(const Gpusched__Node *node)
{
	return !strcmp(node->state, "idle") || !strcmp(node->state, "mixed") ||
	       !strcmp(node->state, "allocated");
}

void counters_time(struct counters *t, const struct snapshot *snap, double seconds)
{
	struct counter_list *idle = &t->idle_seconds;

	for (size_t i = 0; i < snap->n_jobs; i++)
		if (snap->jobs[i]->status->runs && snap->jobs[i]->status->gpus_held)
			add(&t->gpu_seconds, snap->jobs[i]->request->account,
			        snap->jobs[i]->status->gpu_type,
			        seconds * snap->jobs[i]->status->gpus_held);
	for (size_t i = 0; i < snap->n_nodes; i++)
		for (size_t k = 0; k < snap->nodes[i]->n_devices; k++) {
			const Gpusched__NodeGpu *gpu = snap->nodes[i]->devices[k];
			const char *type = snapshot_text(t->texts, gpu->type);

			if (!strcmp(gpu->state, "free") && takes_work(snap->nodes[i]))
				add(idle, type, "free", seconds);
			else
				add(idle, type, "free", 0);
			if (gpu->n_runs && gpu->sample_known && gpu->sm_known && !gpu->sm_pct)
				add(idle, type, "held", seconds);
		}
}

static const Gpusched__NodeGpu *find_gpu(
        const struct snapshot *snap, const char *node, const Gpusched__NodeGpu *like)
{
	const Gpusched__Node *n = snap ? snapshot_node(snap, node) : NULL;

	for (size_t i = 0; n && i < n->n_devices; i++)
		if (n->devices[i]->index == like->index)
			return n->devices[i];
	return NULL;
}

static void add_xid(struct counters *t, uint32_t xid)
{
	char number[16];
	const char *name;

	snprintf(number, sizeof(number), "%" PRIu32, xid);
	name = t->xids.n < XIDS_MAX ? snapshot_text(t->texts, number) : "(other)";
	add(&t->xids, name, "", 1);
}

void counters_xids(struct counters *t, const struct snapshot *before, const struct snapshot *now)
{
	for (size_t i = 0; i < now->n_nodes; i++)
		for (size_t k = 0; k < now->nodes[i]->n_devices; k++) {
			const Gpusched__NodeGpu *gpu = now->nodes[i]->devices[k], *old;

			if (!gpu->last_xid || !gpu->last_xid_time)
				continue;
			old = find_gpu(before, now->nodes[i]->name, gpu);
			if (old && old->last_xid_time != gpu->last_xid_time)
				add_xid(t, gpu->last_xid);
		}
}
