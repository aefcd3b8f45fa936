/* effects.c - see effects.h */
#include "ctld/effects.h"

#include <assert.h>
#include <stddef.h>

#include "common/log.h"
#include "ctld/agents.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/fence.h"
#include "ctld/calls.h"

typedef void effect_fn(struct ctld *c, const struct effect *effect, struct clocks now);

/* An answer: to the request, if somebody still waits for it. */
static void answer(struct ctld *c, const struct effect *effect, struct clocks now)
{
	struct call *call = call_find(c, effect->reply);

	(void)now;
	if (!call)
		return;
	if (call->ops->effect)
		call->ops->effect(c, call, effect);
	else
		call_done(c, call, effect->kind == EFFECT_REPLY ? effect->error : NULL);
}

static void fence(struct ctld *c, const struct effect *effect, struct clocks now)
{
	(void)now;
	fence_node(c->fence, effect->node);
}

static void job_changed(struct ctld *c, const struct effect *effect, struct clocks now)
{
	struct job_view view;

	if (log_wants(LOG_LEVEL_DEBUG) && core_job_view(c->core, effect->job, now, &view))
		log_debug("job %llu (%s, uid %u): %s %s %s", (unsigned long long)view.id, view.name,
		        view.uid, view.state, view.reason, view.node);
}

static effect_fn *const table[] = {
	[EFFECT_REPLY] = answer,
	[EFFECT_SUBMITTED] = answer,
	[EFFECT_CONTROLLED] = answer,
	[EFFECT_JOB_ENDED] = answer,
	[EFFECT_REGISTERED] = agents_registered,
	[EFFECT_CLOSE_AGENT] = agents_close,
	[EFFECT_START_RUN] = agents_start_run,
	[EFFECT_END_RUN] = agents_end_run,
	[EFFECT_SIGNAL_RUN] = agents_signal_run,
	[EFFECT_SUSPEND_RUN] = agents_suspend_run,
	[EFFECT_FORGET_RUN] = agents_forget_run,
	[EFFECT_FENCE] = fence,
	[EFFECT_JOB_CHANGED] = job_changed,
};

/* Our state is older than what agents were once told: whoever runs the site must know. */
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
	core_effects_clear(c->core);
	note_suspended(c);
}
