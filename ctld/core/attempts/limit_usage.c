/* limit_usage.c - what started jobs count against the limits
 *
 * A job counts what its places amount to against the limits, once for the whole attempt, and
 * releases it when the attempt is over, whichever ranks have ended before. It stores the amount,
 * so that a change of the configuration or of its request never makes the two differ.
 */
#include "ctld/core/attempts/limit_usage.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/conf/conf.h"
#include "common/job/run.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/limits/limits.h"
#include "ctld/core/limits/quota.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/request/requests.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"

uint32_t job_partition(const struct core *core, const struct job *job)
{
	return sched_partition_kept(core->sched, job_info(job)->partition);
}

/* The job's names are those that the scheduler has interned: no text is compared. */
static struct limit_chain *chain_of(struct core *core, const struct job *job)
{
	const struct job_info *i = job_info(job);

	return limits_chain(core->limits, sched_account_kept(core->sched, i->account), i->uid,
	        sched_qos_kept(core->sched, i->qos),
	        sched_partition_kept(core->sched, i->partition));
}

/* The guarantee that was reserved for an account is in use now, so less of it is reserved. */
static void kept_changed(struct core *core, const struct need *need)
{
	const uint32_t limits[] = { limits_guarantee(core->limits, need->type),
		limits_guarantee(core->limits, CONF_ANY_TYPE) };

	sched_limits_released(core->sched, limits, sizeof(limits) / sizeof(*limits));
}

void job_take(struct core *core, struct job *job, const struct need *need)
{
	const struct quota *quota = limits_quota(core->limits);
	struct taken *t = xcalloc(1, sizeof(*t));
	uint64_t kept = quota_reserved(quota, need->type);

	t->chain = chain_of(core, job);
	t->need = *need;
	limits_take(core->limits, t->chain, &t->need);
	job_link(job)->taken = t;
	job_runs_changed(job);
	if (quota_reserved(quota, need->type) < kept)
		kept_changed(core, need);
}

/* The job is about to release what it counts, or no longer is. */
static void leave(struct core *core, struct job *job, bool leaving)
{
	const struct taken *t = job_link(job)->taken;

	if (job_link(job)->leaving == leaving)
		return;
	job_link(job)->leaving = leaving;
	quota_leaving(limits_quota(core->limits), limit_chain_account(t->chain), t->need.type,
	        need_milli(&t->need), leaving);
}

static void guard(struct core *core, struct job *job, bool guarded)
{
	struct quota *quota = limits_quota(core->limits);
	struct job_link *link = job_link(job);
	const struct taken *t = link->taken;
	uint32_t account;

	if (!t || link->guarded == guarded)
		return;
	account = limit_chain_account(t->chain);
	if (!guarded)
		quota_unguard(quota, account, t->need.type, need_milli(&t->need));
	else if (!quota_guard(quota, account, t->need.type, need_milli(&t->need)))
		return;
	link->guarded = guarded;
	job_runs_changed(job);
}

void job_keep(struct core *core, struct job *job, bool kept)
{
	job_link(job)->kept = kept;
	guard(core, job, kept);
}

void job_give_back(struct core *core, struct job *job)
{
	struct taken *t = job_link(job)->taken;
	const uint32_t *limits;
	size_t n;

	if (!t)
		return;
	leave(core, job, false);
	job_keep(core, job, false);
	limits_release(core->limits, t->chain, &t->need);
	limits = limits_of_need(core->limits, t->chain, &t->need, &n);
	sched_limits_released(core->sched, limits, n);
	limit_chain_free(core->limits, t->chain);
	free(t);
	job_link(job)->taken = NULL;
	job_runs_changed(job);
}

/* What its runs amounted to when they were placed: for use after a start, or under another
 * configuration. */
static void need_of_runs(const struct core *core, const struct job *job, struct need *need)
{
	struct places places = { .type = TYPE_NONE };
	const struct run *run;

	for (run = job_link_of(job)->runs; run; run = run_link_of(run)->next_of_job) {
		const struct run_info *i = run_info(run);
		struct place place = { .cpus = i->cpus,
			.mem_mb = i->mem_mb,
			.gpus = i->gpus,
			.share = *run_share(run) };
		uint16_t type = gpu_type_number(core->conf, i->gpu_type);

		if (i->id.attempt != job_info(job)->attempt || i->state == RUN_ORPHAN)
			continue;
		if (type == TYPE_GONE || type == TYPE_NONE)
			place.gpus = 0; /* no limit counts a type that the configuration does not
					 * have */
		else
			places.type = type;
		place.type = type;
		places_add(&places, &place);
	}
	need_of_places(sched_view(core->sched), &(struct ask){ .gpus = job_info(job)->gpus },
	        &places, need);
	places_free(&places);
}

void job_take_again(struct core *core, struct job *job)
{
	const struct run *run;
	struct need need;

	if (job_link(job)->taken || job_info(job)->state == JOB_PENDING ||
	        job_state_ended(job_info(job)->state))
		return;
	need_of_runs(core, job, &need);
	job_take(core, job, &need);
	for (run = job_link_of(job)->runs; run; run = run_link_of(run)->next_of_job) {
		if (!run_of_present(run) || run_over(run))
			continue;
		if (run_info(run)->end_wanted != END_NONE)
			leave(core, job, true);
	}
	guard(core, job, job_link(job)->kept);
}

void job_forget_taken(struct core *core, struct job *job)
{
	struct taken *t = job_link(job)->taken;

	if (!t)
		return;
	leave(core, job, false);
	guard(core, job, false);
	limits_release(core->limits, t->chain, &t->need);
	limit_chain_free(core->limits, t->chain);
	free(t);
	job_link(job)->taken = NULL;
	job_runs_changed(job);
}

bool job_takes_limit(struct core *core, const struct job *job, uint32_t limit)
{
	const struct taken *t = job_link_of(job)->taken;
	const uint32_t *limits;
	size_t n, i;

	if (!t)
		return false;
	limits = limits_of_need(core->limits, t->chain, &t->need, &n);
	for (i = 0; i < n; i++) {
		if (limits[i] == limit)
			return true;
	}
	return false;
}

void job_imagine_over(struct core *core, struct job *job, bool over)
{
	const struct taken *t = job_link(job)->taken;

	if (!t)
		return;
	if (over)
		limits_release(core->limits, t->chain, &t->need);
	else
		limits_take(core->limits, t->chain, &t->need);
}

/* The run was ordered to end: set the time by which it will have ended. */
void run_stopping(struct core *core, struct run *run, uint32_t grace_s)
{
	struct node *node = run_link(run)->node;
	struct job *job = run_link(run)->job;

	if (job && run_of_present(run) && job_link(job)->taken) {
		leave(core, job, true);
		job_keep(core, job, false);
	}
	run_set_end_by(run, core->now.mono + (usec_t)grace_s * USEC_PER_S + PLAN_END_TAKES);
	if (node && node_link(node)->index != NODE_LEFT)
		sched_node_changed(core->sched, node_link(node)->index, "a run ended late");
}

/* --- quotas ---------------------------------------------------------------------------------- */

/* The capacity that quotas count, by type: GPUs that are in use, and those that could be, of a node
 * that accepts work. The sums change by the difference to what was last counted of this node. */
void node_count_gpus(struct core *core, struct node *node)
{
	struct node_link *l = node_link(node);
	const struct conf_node *conf;
	uint32_t limits[2];
	uint64_t now;

	if (l->index == NODE_LEFT)
		return;
	conf = &core->conf->nodes[l->index];
	now = ledger_gpus_used(core->ledger, l->index);
	if (ledger_accepts(core->ledger, l->index))
		now |= ~l->gpus_out;
	if (now == l->counted)
		return;
	for (size_t g = 0; g < conf->n_gpus; g++) {
		uint16_t type = conf->gpus[g].type;
		uint64_t mask = ledger_gpus_of(core->ledger, l->index, type);
		uint32_t *sum = &core->gpus_counted[type];
		size_t k;

		/* A node may name a type in several groups of GPUs: each type counts once. */
		for (k = 0; k < g && conf->gpus[k].type != type; k++)
			;
		if (k < g)
			continue;
		*sum += (uint32_t)__builtin_popcountll(mask & now);
		*sum -= (uint32_t)__builtin_popcountll(mask & l->counted);
		quota_capacity(limits_quota(core->limits), type, *sum);
		limits[0] = limits_guarantee(core->limits, type);
		limits[1] = limits_guarantee(core->limits, CONF_ANY_TYPE);
		sched_limits_released(core->sched, limits, 2);
	}
	l->counted = now;
}

/* --- jobs that have not ended ---------------------------------------------------------------- */

struct limit_chain *job_limit_chain(
        const struct core *core, struct limits *limits, const struct job_info *i)
{
	return limits_chain(limits, accounts_find(core->accounts, i->account), i->uid,
	        sched_qos(core->sched, i->qos), sched_partition(core->sched, i->partition));
}

void job_count_in(
        const struct core *core, struct limits *limits, const struct job_info *i, int delta)
{
	struct limit_chain *chain;

	if (!limits_count_queued(limits))
		return;
	chain = job_limit_chain(core, limits, i);
	limits_queued(limits, chain, delta);
	limit_chain_free(limits, chain);
}

void job_count(struct core *core, const struct job_info *info, int delta)
{
	job_count_in(core, core->limits, info, delta);
}

bool job_note_request(struct core *core, const struct job *job)
{
	const struct job_info *i = job_info(job);
	struct ask ask = { .gpus = i->gpus, .cpus = i->cpus, .mem_mb = i->mem_mb };

	return ledger_note_asked(core->ledger, &ask, job_weight(job));
}

void job_requested(struct core *core, const struct job *job)
{
	/* The plan allows one place and not another: a job that was refused the best place may get
	 * the next one. */
	if (job_weight(job) && job_note_request(core, job))
		sched_wake_all(core->sched);
}
