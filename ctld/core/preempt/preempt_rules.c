/* preempt_rules.c - see preempt_rules.h
 *
 * preempt_may() asks in the order of the rule: tier, then QOS, then guarantees. An earlier
 * difference decides alone, also against the job, so the three never contradict each other. A run
 * that was told to end is no victim any more.
 */
#include "ctld/core/preempt/preempt_rules.h"

#define USEC_PER_S ((usec_t)1000000)

const char *preempt_reason_name(enum preempt_reason reason)
{
	static const char *const names[] = { [PREEMPT_NOT] = "",
		[PREEMPT_TIER] = "tier",
		[PREEMPT_QOS] = "qos",
		[PREEMPT_RECLAIM] = "reclaim" };

	return names[reason];
}

/* The longest time from the decision to the free place: victims may be of any partition. */
usec_t preempt_delay(const struct conf *conf)
{
	uint32_t longest = 0;

	for (size_t p = 0; p < conf->n_partitions; p++) {
		if (conf->partitions[p].grace_s > longest)
			longest = conf->partitions[p].grace_s;
	}
	return longest * USEC_PER_S + PLAN_END_TAKES;
}

/* --- the rule -------------------------------------------------------------------------------- */

/* Does the configuration say that QOS x may stop y? */
static bool qos_preempts(const struct conf *conf, uint32_t x, uint32_t y)
{
	if (x == CONF_NONE || y == CONF_NONE)
		return false;
	for (size_t i = 0; i < conf->qos[x].n_preempts; i++) {
		if (conf->qos[x].preempts[i] == y)
			return true;
	}
	return false;
}

static uint32_t qos_level(const struct conf *conf, uint32_t qos)
{
	return qos == CONF_NONE ? 0 : conf->qos[qos].level;
}

enum preempt_reason preempt_may(const struct sched_view *view, const struct candidate *who,
        const struct run_snapshot *v, uint16_t type, uint64_t milli)
{
	const struct conf *conf = view->conf;
	uint32_t mine = conf->partitions[who->partition].tier, theirs;

	if (v->lost_cause || v->stopping || v->partition == CONF_NONE ||
	        conf->partitions[v->partition].preempt_mode == CONF_PREEMPT_OFF)
		return PREEMPT_NOT;
	theirs = conf->partitions[v->partition].tier;
	if (mine != theirs)
		return mine > theirs ? PREEMPT_TIER : PREEMPT_NOT;
	if (qos_preempts(conf, who->qos, v->qos))
		return PREEMPT_QOS;
	if (qos_level(conf, v->qos) > qos_level(conf, who->qos) ||
	        qos_preempts(conf, v->qos, who->qos))
		return PREEMPT_NOT;
	if (v->type != type || !v->gpus || !milli)
		return PREEMPT_NOT;
	return quota_reclaims(limits_quota(view->limits), who->account, v->account, type, milli)
	               ? PREEMPT_RECLAIM
	               : PREEMPT_NOT;
}
