/* snapshot_counts.c - see snapshot_counts.h */
#include "cmds/web/metrics/snapshot_counts.h"

#include <stdlib.h>
#include <string.h>

#include "cmds/web/snapshot.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

#define MIB 1048576.0

/* --- groups of jobs --------------------------------------------------------------------------- */

static size_t slot_of(const struct job_groups *g, const char *name)
{
	uint64_t hash = 0xcbf29ce484222325U;

	for (const char *s = name; *s; s++)
		hash = (hash ^ (unsigned char)*s) * 0x100000001b3U;
	hash ^= hash >> 32;
	for (size_t i = hash & (g->n_slots - 1);; i = (i + 1) & (g->n_slots - 1))
		if (!g->slots[i] || !strcmp(g->v[g->slots[i] - 1].name, name))
			return i;
}

static void place_groups(struct job_groups *g)
{
	memset(g->slots, 0, g->n_slots * sizeof(*g->slots));
	for (size_t i = 0; i < g->n; i++)
		g->slots[slot_of(g, g->v[i].name)] = (uint32_t)i + 1;
}

static struct job_group *group_of(struct job_groups *g, const char *name)
{
	size_t slot;

	if ((g->n + 1) * 2 > g->n_slots) {
		g->n_slots = g->n_slots ? g->n_slots * 2 : 64;
		free(g->slots);
		g->slots = xcalloc(g->n_slots, sizeof(*g->slots));
		place_groups(g);
	}
	slot = slot_of(g, name);
	if (!g->slots[slot]) {
		*XADD(g->v, g->n, g->size) = (struct job_group){ .name = name };
		g->slots[slot] = (uint32_t)g->n;
	}
	return &g->v[g->slots[slot] - 1];
}

const struct job_group *job_groups_find(const struct job_groups *g, const char *name)
{
	size_t slot = g->n ? slot_of(g, name) : 0;

	return g->n && g->slots[slot] ? &g->v[g->slots[slot] - 1] : NULL;
}

static int compare_groups(const void *a, const void *b)
{
	return strcmp(((const struct job_group *)a)->name, ((const struct job_group *)b)->name);
}

static int compare_sizes(const void *a, const void *b)
{
	const struct job_group *x = a, *y = b;

	return (x->n[JOBS_ALL] < y->n[JOBS_ALL]) - (x->n[JOBS_ALL] > y->n[JOBS_ALL]);
}

static void add_group(struct job_group *to, const struct job_group *from)
{
	for (int i = 0; i < JOBS_COUNTS; i++)
		if (i != JOBS_NODES_MAX && i != JOBS_NODES_MAX_FREE)
			to->n[i] += from->n[i];
		else if (from->n[i] > to->n[i])
			to->n[i] = from->n[i];
}

/* The METRICS_NAMES_MAX with most jobs by name, the others as one. */
static void sort_groups(struct job_groups *g, size_t max)
{
	if (g->n > max) {
		struct job_group rest = { .name = "(other)" };

		qsort(g->v, g->n, sizeof(*g->v), compare_sizes);
		for (size_t i = max; i < g->n; i++)
			add_group(&rest, &g->v[i]);
		g->v[max] = rest;
		g->n = max + 1;
	}
	if (!g->n)
		return;
	qsort(g->v, g->n, sizeof(*g->v), compare_groups);
	place_groups(g);
}

/* --- jobs ------------------------------------------------------------------------------------- */

static const struct {
	const char *state;
	enum job_count count;
} job_states[] = {
	{ "PENDING", JOBS_PENDING },
	{ "CONFIGURING", JOBS_CONFIGURING },
	{ "RUNNING", JOBS_RUNNING },
	{ "SUSPENDED", JOBS_SUSPENDED },
	{ "COMPLETING", JOBS_COMPLETING },
	{ "COMPLETED", JOBS_COMPLETED },
	{ "FAILED", JOBS_FAILED },
	{ "CANCELLED", JOBS_CANCELLED },
	{ "TIMEOUT", JOBS_TIMEOUT },
	{ "NODE_FAIL", JOBS_NODE_FAIL },
	{ "PREEMPTED", JOBS_PREEMPTED },
	{ "OUT_OF_MEMORY", JOBS_OOM },
	{ "DEADLINE", JOBS_DEADLINE },
};

static enum job_count count_of(const char *state)
{
	for (size_t i = 0; i < sizeof(job_states) / sizeof(job_states[0]); i++)
		if (!strcmp(job_states[i].state, state))
			return job_states[i].count;
	return JOBS_NONE;
}

static void count_waiting(const struct snapshot_job *job, double n[JOBS_COUNTS])
{
	double tasks = job->task_count,
	       nodes = job->request->nodes_min ? job->request->nodes_min : 1;
	bool held = !strncmp(job->status->reason, "JobHeld", 7);

	if (held)
		n[JOBS_HELD] = tasks;
	if (!strncmp(job->status->reason, "Dependency", 10))
		n[JOBS_DEPENDENT] = tasks;
	n[JOBS_CPUS_PENDING] = tasks * nodes * job->request->cpus;
	n[JOBS_GPUS_PENDING] = job->gpus;
	n[JOBS_NODES_MAX] = nodes;
	n[JOBS_NODES_MAX_FREE] = held ? 0 : nodes;
}

static void count_one(const struct snapshot_job *job, double n[JOBS_COUNTS])
{
	double tasks = job->task_count, nodes = job->status->n_nodes ? job->status->n_nodes : 1;

	n[JOBS_ALL] = tasks;
	n[count_of(job->status->state)] = tasks;
	n[JOBS_NONE] = 0;
	if (job->status->waits)
		count_waiting(job, n);
	if (job->status->runs || (job->status->ended && job->start_time))
		n[JOBS_STARTED] = tasks;
	if (job->status->ended)
		n[JOBS_FINISHED] = tasks;
	if (!job->status->runs)
		return;
	n[JOBS_CPUS] = nodes * job->request->cpus;
	n[JOBS_MEM_BYTES] = nodes * (double)job->request->mem_mb * MIB;
	n[JOBS_NODES] = nodes;
	n[JOBS_GPUS] = job->status->gpus_held;
}

static void note_oldest(struct label_sums *t, const struct snapshot_job *job)
{
	double before = label_sums_get(t, job->request->first_partition, "", "");
	double at = (double)job->eligible_time;

	if (at > 0 && (before <= 0 || at < before))
		label_sums_add(t, job->request->first_partition, "", "", at - before);
}

static void count_jobs(struct snapshot_counts *s, const struct snapshot *snap)
{
	for (size_t i = 0; i < snap->n_jobs; i++) {
		const struct snapshot_job *job = snap->jobs[i];
		struct job_group one = { .name = "" };

		count_one(job, one.n);
		add_group(&s->jobs, &one);
		add_group(group_of(&s->by_partition, job->request->first_partition), &one);
		add_group(group_of(&s->by_user, job->request->user), &one);
		add_group(group_of(&s->by_account, job->request->account), &one);
		label_sums_add(&s->states, job->request->first_partition, job->status->state, "",
		        job->task_count);
		if (job->status->waits) {
			label_sums_add(&s->waiting, job->status->reason, "", "", job->task_count);
			note_oldest(&s->oldest, job);
		}
		if (job->status->runs && job->status->gpus_held)
			label_sums_add(&s->held, job->request->account, job->status->gpu_type, "",
			        job->status->gpus_held);
	}
}

/* --- nodes ------------------------------------------------------------------------------------ */

static const struct {
	const char *state;
	enum node_count count;
	bool works; /* it takes work */
} node_states[] = {
	{ "idle", NODES_IDLE, true },
	{ "mixed", NODES_MIXED, true },
	{ "allocated", NODES_ALLOCATED, true },
	{ "drained", NODES_DRAINED, false },
	{ "draining", NODES_DRAINING, false },
	{ "unknown", NODES_UNKNOWN, false },
	{ "down", NODES_DOWN, false },
	{ "invalid", NODES_DOWN, false },
};

static enum node_count node_count_of(const char *state, bool *works)
{
	for (size_t i = 0; i < sizeof(node_states) / sizeof(node_states[0]); i++)
		if (!strcmp(node_states[i].state, state)) {
			*works = node_states[i].works;
			return node_states[i].count;
		}
	*works = false;
	return NODES_UNKNOWN;
}

void node_counts(const Gpusched__Node *node, double n[NODES_COUNTS])
{
	bool works;
	enum node_count state = node_count_of(node->state, &works);
	double alloc = (double)node->cpus - node->cpus_free;

	memset(n, 0, NODES_COUNTS * sizeof(*n));
	n[NODES_ALL] = n[state] = 1;
	n[NODES_DRAIN] = n[NODES_DRAINED] + n[NODES_DRAINING];
	n[NODES_CPUS] = node->cpus;
	n[NODES_CPUS_ALLOC] = alloc;
	n[works ? NODES_CPUS_IDLE : NODES_CPUS_OTHER] = node->cpus_free;
	n[NODES_MEM_BYTES] = (double)node->mem_mb * MIB;
	n[NODES_MEM_FREE_BYTES] = (double)node->mem_free_mb * MIB;
	n[NODES_MEM_ALLOC_BYTES] = n[NODES_MEM_BYTES] - n[NODES_MEM_FREE_BYTES];
	for (size_t i = 0; i < node->n_devices; i++) {
		const char *gpu = gpu_state(node, node->devices[i]);

		n[NODES_GPUS]++;
		if (!strcmp(gpu, "held") || !strcmp(gpu, "shared") || !strcmp(gpu, "draining"))
			n[NODES_GPUS_ALLOC]++;
		if (!strcmp(gpu, "free"))
			n[NODES_GPUS_IDLE]++;
	}
}

const char *gpu_state(const Gpusched__Node *node, const Gpusched__NodeGpu *gpu)
{
	bool works;

	if (!strcmp(gpu->state, "whole"))
		return "held";
	node_count_of(node->state, &works);
	if (!strcmp(gpu->state, "free") && !works)
		return "unavailable";
	return gpu->state;
}

static bool in_partition(const Gpusched__Node *node, const char *partition)
{
	return text_among(partition, (const char *const *)node->partitions, node->n_partitions);
}

static void count_gpus(struct snapshot_counts *s, const Gpusched__Node *node)
{
	for (size_t i = 0; i < node->n_devices; i++) {
		const Gpusched__NodeGpu *gpu = node->devices[i];
		const char *state = gpu_state(node, gpu);

		label_sums_add(&s->gpus, gpu->type, state, "", 1);
		if ((!strcmp(state, "held") || !strcmp(state, "shared")) && gpu->sample_known &&
		        gpu->sm_known)
			label_sums_add(&s->idle, gpu->type, "", "", gpu->sm_pct == 0);
	}
}

static void count_nodes(struct snapshot_counts *s, const struct snapshot *snap)
{
	s->node_groups = xcalloc(snap->n_partitions, sizeof(*s->node_groups));
	for (size_t p = 0; p < snap->n_partitions; p++)
		s->node_groups[p].name = snap->partitions[p]->name;
	for (size_t i = 0; i < snap->n_nodes; i++) {
		double n[NODES_COUNTS];

		node_counts(snap->nodes[i], n);
		count_gpus(s, snap->nodes[i]);
		for (int k = 0; k < NODES_COUNTS; k++)
			s->nodes.n[k] += n[k];
		for (size_t p = 0; p < snap->n_partitions; p++)
			if (in_partition(snap->nodes[i], s->node_groups[p].name))
				for (int k = 0; k < NODES_COUNTS; k++)
					s->node_groups[p].n[k] += n[k];
	}
}

/* --- both ------------------------------------------------------------------------------------- */

struct snapshot_counts *snapshot_counts_new(const struct snapshot *snap)
{
	struct snapshot_counts *s = xcalloc(1, sizeof(*s));
	struct label_sums *sorted[] = { &s->states, &s->waiting, &s->oldest, &s->held, &s->gpus,
		&s->idle };

	if (!snap)
		return s;
	count_jobs(s, snap);
	count_nodes(s, snap);
	sort_groups(&s->by_partition, SIZE_MAX);
	sort_groups(&s->by_account, SIZE_MAX);
	sort_groups(&s->by_user, SUMS_USERS_MAX);
	for (size_t i = 0; i < sizeof(sorted) / sizeof(sorted[0]); i++)
		label_sums_sort(sorted[i]);
	return s;
}

void snapshot_counts_free(struct snapshot_counts *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < 3; i++) {
		struct job_groups *g =
		        (struct job_groups *[]){ &s->by_partition, &s->by_user, &s->by_account }[i];

		free(g->v);
		free(g->slots);
	}
	label_sums_free(&s->states);
	label_sums_free(&s->waiting);
	label_sums_free(&s->oldest);
	label_sums_free(&s->held);
	label_sums_free(&s->gpus);
	label_sums_free(&s->idle);
	free(s->node_groups);
	free(s);
}
