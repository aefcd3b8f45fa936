/* view_fair_share.c - how listings read priorities, fair-share and quotas
 *
 * What the priority of a waiting job is made of, the tree of accounts with its shares, and what
 * accounts hold, lend and borrow of their guaranteed GPUs. Values by copy, as view_jobs.c.
 */
#include "common/conf/conf.h"
#include "ctld/core/accounts/accounts.h"
#include "ctld/core/accounts/priority_factors.h"
#include "ctld/core/core.h"
#include "ctld/core/limits/limits.h"
#include "ctld/core/limits/quota.h"
#include "ctld/core/records/array.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/service.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"

bool core_job_prio(const struct core *core, uint64_t ref, struct clocks now, struct prio_view *v)
{
	uint32_t before;
	const struct job *job = jobs_find_waiting(core->jobs, ref, &before);
	struct factors f;
	struct prio_parts p;

	(void)now;
	if (!job || job_info(job)->state != JOB_PENDING)
		return false;
	if (job_service(job) && job_tasks(job) && array_full(job))
		return false; /* slots in reserve */
	sched_priority(core->sched, job, &f, &p);
	*v = (struct prio_view){
		.factor = { f.age, f.fair_share, f.size, f.partition, f.qos, f.wait },
		.points = { p.age, p.fair_share, p.size, p.partition, p.qos, p.wait, p.nice,
		        p.total },
	};
	return true;
}

bool core_share_next(const struct core *core, size_t *cursor, struct share_view *v)
{
	/* Users that were added after the last ranking belong in the tree too. */
	if (!*cursor && accounts_stale(core->accounts))
		accounts_rank(core->accounts, core->now);
	return accounts_next(core->accounts, cursor, v);
}

/* CONF_ANY_TYPE stands behind the last type. */
static uint16_t type_at(const struct conf *conf, size_t i)
{
	return i < conf->n_gpu_types ? (uint16_t)i : CONF_ANY_TYPE;
}

bool core_share_gpus(
        const struct core *core, uint32_t account, size_t *cursor, struct share_gpus *v)
{
	struct quota *quota = limits_quota(core->limits);
	const struct conf_gpu_amounts *limit = &core->conf->accounts[account].quota.limit;
	struct quota_use use;
	struct quota_lent lent;
	uint16_t type = 0;

	while (*cursor <= core->conf->n_gpu_types &&
	        !quota_given(quota, type = type_at(core->conf, *cursor)))
		++*cursor;
	if (*cursor > core->conf->n_gpu_types)
		return false;
	++*cursor;
	quota_use(quota, account, type, &use);
	quota_lent(quota, account, type, &lent);
	*v = (struct share_gpus){ .type = type == CONF_ANY_TYPE ? "" : core->conf->gpu_types[type].name,
		.guaranteed = use.guaranteed,
		.kept = use.reserved,
		.held = use.held,
		.lent = lent.lent,
		.borrowed = lent.borrowed };
	for (size_t i = 0; i < limit->n; i++)
		if (limit->v[i].type == type)
			v->limit = limit->v[i].count;
	return true;
}
