/* run_snapshot.c - what runs on a node, as plans and preemption searches see it
 *
 * A preemption search reads what runs on all nodes of a partition, many times a second, and little
 * of it has changed since the last time. So each node keeps its list until something that it is
 * made of changes. Code that changes this of a run calls node_runs_changed(), of a job
 * job_runs_changed(). The work that a stop would lose (lost_work.h) changes all the time and
 * is not kept.
 */
#include "ctld/core/attempts/run_snapshot.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "common/conf/conf.h"
#include "common/job/run.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/expected_end.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/plan/plan.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/service.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"

/* A run of no known job and an orphan run can be neither planned with nor stopped. */
void run_snapshot_of(const struct core *core, const struct run *run, struct run_snapshot *h)
{
	const struct run_info *i = run_info(run);
	struct job *job = run_link_of(run)->job;
	const struct job_info *j = job ? job_info(job) : NULL;
	const struct conf_partition *p;
	const struct node *node = run_link_of(run)->node;
	uint64_t back = run_link_of(run)->booked & ~(node ? node_link_of(node)->gpus_out : 0);

	*h = (struct run_snapshot){ .job = j ? job_ref(job) : i->id.job,
		.gpus = (uint8_t)__builtin_popcountll(back),
		.gpu_set = back,
		.share = *run_share(run),
		.cpus = i->cpus,
		.mem_mb = i->mem_mb,
		.type = gpu_type_number(core->conf, i->gpu_type),
		.stopping = i->end_wanted != END_NONE,
		.end = run_expected_end(run, NULL, NULL),
		.lost_cause = true,
		.run = run,
		.partition = CONF_NONE };
	if (!j || i->state == RUN_ORPHAN)
		return;
	h->partition = sched_partition_kept(core->sched, j->partition);
	h->account = sched_account_kept(core->sched, j->account);
	h->qos = sched_qos_kept(core->sched, j->qos);
	if (h->partition == CONF_NONE)
		return;
	p = &core->conf->partitions[h->partition];
	h->end = run_expected_end(run, j, p);
	h->lost_cause = h->stopping || j->state == JOB_COMPLETING;
	h->drain_s = h->stopping ? 0 : service_drain_s(job);
	h->guarded = job_link(job)->guarded;
	h->protected_until = run_protected_until(
	        run, h->qos == CONF_NONE ? NULL : &core->conf->qos[h->qos], p);
	if (job_link(job)->taken) {
		h->chain = job_link(job)->taken->chain;
		h->need = &job_link(job)->taken->need;
	}
}

/* Reads all runs of the node anew. Runs that a what-if imagines as over are left out. */
static void look(const struct core *core, struct node_link *l)
{
	l->snapshot = xrealloc(l->snapshot, l->n_runs ? l->n_runs : 1, sizeof(*l->snapshot));
	l->n_snapshots = 0;
	for (const struct run *run = l->runs; run; run = run_link_of(run)->next_of_node) {
		if (!run_imagined_over(run))
			run_snapshot_of(core, run, &l->snapshot[l->n_snapshots++]);
	}
	l->snapshots_known = true;
}

const struct run_snapshot *snapshots_on_node(void *arg, uint32_t index, size_t *n)
{
	const struct core *core = arg;
	struct node_link *l = node_link(nodes_at(core->nodes, index));

	if (!l->snapshots_known)
		look(core, l);
	*n = l->n_snapshots;
	return l->snapshot;
}

void snapshot_imagine(
        struct core *core, const struct place *place, const struct run_snapshot *snapshot)
{
	struct node_link *l = node_link(nodes_at(core->nodes, place->node));
	struct run_snapshot *h;
	size_t n;

	snapshots_on_node(core, place->node, &n);
	l->snapshot = xrealloc(l->snapshot, n + 1, sizeof(*l->snapshot));
	h = &l->snapshot[l->n_snapshots++];
	*h = *snapshot;
	h->gpus = (uint8_t)__builtin_popcountll(place->gpus);
	h->gpu_set = place->gpus;
	COPY_FIELDS(h, place, share, cpus, mem_mb, type);
}

static bool same(const struct run_snapshot *x, const struct run_snapshot *y)
{
	return x->job == y->job && x->gpus == y->gpus && x->cpus == y->cpus &&
	       x->gpu_set == y->gpu_set && x->share.milli == y->share.milli &&
	       x->share.charge == y->share.charge && x->share.mem_mb == y->share.mem_mb &&
	       x->share.user == y->share.user && x->mem_mb == y->mem_mb && x->end == y->end &&
	       x->type == y->type && x->stopping == y->stopping && x->lost_cause == y->lost_cause &&
	       x->partition == y->partition && x->account == y->account && x->qos == y->qos &&
	       x->protected_until == y->protected_until && x->guarded == y->guarded &&
	       x->drain_s == y->drain_s && x->chain == y->chain &&
	       x->need == y->need && x->run == y->run;
}

bool snapshots_check(const struct core *core, const struct node *node)
{
	const struct node_link *l = node_link_of(node);
	struct run_snapshot now;
	uint32_t i = 0;

	if (!l->snapshots_known)
		return true;
	for (const struct run *run = l->runs; run; run = run_link_of(run)->next_of_node) {
		run_snapshot_of(core, run, &now);
		if (i == l->n_snapshots || !same(&l->snapshot[i++], &now))
			return false;
	}
	return i == l->n_snapshots;
}
