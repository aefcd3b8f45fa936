/* effects.c - see effects.h */
#include "ctld/loop/effects.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "common/job/mail_types.h"
#include "ctld/core/core.h"
#include "ctld/core/records/job.h"
#include "ctld/ctld.h"
#include "ctld/loop/agents.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/watch.h"
#include "ctld/rpc/call/filter.h"
#include "ctld/rpc/jobs/bulk.h"
#include "ctld/site/fence.h"
#include "ctld/site/mail.h"

typedef void effect_fn(struct ctld *c, const struct effect *effect, struct clocks now);

/* A reply: to the request, if its client still waits for it. */
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

/* "12"; of tasks that tell for themselves "12_7", "12_[3-9,12]" */
static void job_name(const struct effect *effect, const struct job_view *v, char *buf, size_t size)
{
	const char *tasks = job_ref_part(effect->mail.job) && v->tasks ? v->tasks : "";

	snprintf(buf, size, v->several ? "%llu%s[%.60s]" : "%llu%s%.60s", (unsigned long long)v->id,
	        *tasks ? "_" : "", tasks);
	if (!*tasks)
		snprintf(buf, size, "%llu", (unsigned long long)v->id);
}

/* What became of it, and what more there is to say: "COMPLETED, exit 0:0, ran 1:30:00",
 * "OUT_OF_MEMORY, exit 0:9, ran 0:02: used 24.3G of 20G of GPU 2"; of an array "FAILED, 3 of 100
 * tasks failed" */
static void job_end_text(
        const struct effect *effect, const struct job_view *v, char *buf, size_t size)
{
	char ran[UNITS_TEXT];

	if (*v->array && !job_ref_part(effect->mail.job))
		snprintf(buf, size, "%s, %u of %u tasks failed", v->state, v->tasks_failed,
		        v->tasks_ended);
	else
		snprintf(buf, size, "%s, exit %u:%u, ran %s%s%.120s", v->state, v->exit_code,
		        v->exit_signal, duration_format(ran, v->elapsed_s),
		        *v->reason_text ? ": " : "", v->reason_text);
}

/* "gpusched lab: job 12 (embed) COMPLETED, exit 0:0, ran 1:30:00" */
static void mail(struct ctld *c, const struct effect *effect, struct clocks now)
{
	char subject[512], name[128], became[256];
	struct job_view v;

	if (!core_job_view(c->core, effect->mail.job, now, &v))
		return;
	job_name(effect, &v, name, sizeof(name));
	if (effect->mail.type == MAIL_BEGIN)
		snprintf(became, sizeof(became), "began%s%.200s", v.n_nodes ? " on " : "", v.nodes);
	else if (effect->mail.type == MAIL_REQUEUE)
		snprintf(became, sizeof(became), "was requeued");
	else if (effect->mail.type == MAIL_IDLE)
		snprintf(became, sizeof(became), "leaves its GPUs idle");
	else if (effect->mail.type == MAIL_INVALID_DEPEND)
		snprintf(
		        became, sizeof(became), "can never start: dependency %.200s", v.dependency);
	else
		job_end_text(effect, &v, became, sizeof(became));
	snprintf(subject, sizeof(subject), "gpusched %s: job %s (%.80s) %s", c->conf->cluster, name,
	        v.name, became);
	mail_send(c->mail, effect->change, *v.mail_user ? v.mail_user : v.user, subject);
}

static void job_changed(struct ctld *c, const struct effect *effect, struct clocks now)
{
	struct job_view view;

	watch_changed(c->watch, effect->job, filter_user(core_job_user(c->core, effect->job)));
	if (log_wants(LOG_LEVEL_DEBUG) && core_job_view(c->core, effect->job, now, &view))
		log_debug("job %llu (%s, uid %u): %s %s %s", (unsigned long long)view.id, view.name,
		        view.uid, view.state, view.reason, view.node);
}

static effect_fn *const table[] = {
	[EFFECT_REPLY] = answer,
	[EFFECT_SUBMITTED] = answer,
	[EFFECT_BULK] = bulk_stepped,
	[EFFECT_CONTROLLED] = answer,
	[EFFECT_JOB_ENDED] = answer,
	[EFFECT_REGISTERED] = agents_registered,
	[EFFECT_CLOSE_AGENT] = agents_close,
	[EFFECT_START_RUN] = agents_start_run,
	[EFFECT_END_RUN] = agents_end_run,
	[EFFECT_SIGNAL_RUN] = agents_signal_run,
	[EFFECT_SUSPEND_RUN] = agents_suspend_run,
	[EFFECT_FORGET_RUN] = agents_forget_run,
	[EFFECT_ACK_GPUS] = agents_ack_gpus,
	[EFFECT_CHECK_GPUS] = agents_check_gpus,
	[EFFECT_FENCE] = fence,
	[EFFECT_MAIL] = mail,
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
