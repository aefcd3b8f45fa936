/* effects.c - one row an effect: the part that carries it out; see effects.h */
#include "ctld/effects.h"

#include <assert.h>
#include <stddef.h>

#include "common/base/log.h"
#include "ctld/core/core.h"
#include "ctld/core/records/job.h"
#include "ctld/ctld.h"
#include "ctld/loop/agents.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/watch.h"
#include "ctld/rpc/call/job_filter.h"
#include "ctld/rpc/jobs/bulk.h"
#include "ctld/site/fence.h"
#include "ctld/site/mail.h"

typedef void effect_fn(struct ctld *c, const struct effect *effect, struct clocks now);

static void job_changed(struct ctld *c, const struct effect *effect, struct clocks now)
{
	struct job_view view;

	watch_changed(c->watch, effect->job, filter_user(core_job_user(c->core, effect->job)));
	if (log_wants(LOG_LEVEL_DEBUG) && core_job_view(c->core, effect->job, now, &view))
		log_debug("job %llu (%s, uid %u): %s %s %s", (unsigned long long)view.id, view.name,
		        view.uid, view.state, view.reason, view.node);
}

static effect_fn *const table[] = {
	[EFFECT_REPLY] = calls_answer,
	[EFFECT_SUBMITTED] = calls_answer,
	[EFFECT_BULK] = bulk_stepped,
	[EFFECT_CONTROLLED] = calls_answer,
	[EFFECT_JOB_ENDED] = calls_answer,
	[EFFECT_REGISTERED] = agents_registered,
	[EFFECT_CLOSE_AGENT] = agents_close,
	[EFFECT_START_RUN] = agents_start_run,
	[EFFECT_END_RUN] = agents_order,
	[EFFECT_SIGNAL_RUN] = agents_order,
	[EFFECT_SUSPEND_RUN] = agents_order,
	[EFFECT_FORGET_RUN] = agents_order,
	[EFFECT_ACK_GPUS] = agents_order,
	[EFFECT_CHECK_GPUS] = agents_order,
	[EFFECT_FENCE] = fence_effect,
	[EFFECT_MAIL] = mail_effect,
	[EFFECT_JOB_CHANGED] = job_changed,
};

/* The state is older than the orders that agents have received: the site's administrator must
 * know. */
static void note_suspended(struct ctld *c)
{
	const char *text = "";
	bool suspended = core_is_suspended(c->core, &text);

	if (suspended && !c->suspended)
		log_error("%s", text);
	c->suspended = suspended;
}

void effects_carry_out(struct ctld *c, struct clocks now)
{
	const struct effect *effects;
	struct core_stats stats;
	size_t n;

	if (c->takeover) {
		core_stats(c->core, &stats);
		c->epoch = stats.epoch;
	}
	effects = core_effects(c->core, &n);
	for (size_t i = 0; i < n; i++) {
		assert((size_t)effects[i].kind < sizeof(table) / sizeof(table[0]));
		table[effects[i].kind](c, &effects[i], now);
	}
	inputs_effects_clear(c);
	note_suspended(c);
}
