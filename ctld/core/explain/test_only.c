/* test_only.c - see test_only.h
 *
 * The job passes the checks of a submit and is counted as waiting meanwhile, so limits on queued
 * jobs refuse what they would refuse. Then decide() is asked with a candidate that is in no class.
 * Whatever it counted is released again, so nothing is left of it, and no id is used up.
 */
#include "ctld/core/explain/test_only.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/job/reason.h"
#include "ctld/core/attempts/bill.h"
#include "ctld/core/explain/blockers.h"
#include "ctld/core/explain/imagined_job.h"
#include "ctld/core/intake/partition_choices.h"
#include "ctld/core/intake/start_conditions.h"
#include "ctld/core/intake/submit.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/rows/view.h"
#include "ctld/core/sched/sched.h"

/* What blocks it in one more partition; the planned start is the soonest. True: it is that of
 * `here`. */
static bool why_add(struct job_why *why, const struct job_why *here)
{
	bool sooner = here->planned_start &&
	              (!why->planned_start || here->planned_start < why->planned_start);

	if (!why->n_blockers || sooner) {
		why->planned_start = here->planned_start;
		memcpy(why->planned_nodes, here->planned_nodes, sizeof(why->planned_nodes));
		memcpy(why->planned_why, here->planned_why, sizeof(why->planned_why));
	}
	for (size_t n = 0; n < here->n_blockers && why->n_blockers < WHY_BLOCKERS; n++)
		why->blockers[why->n_blockers++] = here->blockers[n];
	return sooner;
}

/* Why the first job would not start now in this one of its partitions. True: it would start there
 * before it could in those before. */
static bool test_why(struct core *core, const struct intake *v, const struct imagined *im,
        const struct decision *d, struct job_why *why)
{
	struct why_blocker condition;
	struct job_why here;

	memset(&here, 0, sizeof(here));
	if (v->in->hold) {
		here.blockers[here.n_blockers++].reason = reason_word(REASON_HELD_USER);
	} else if (conditions_hold(core, v, &condition)) {
		here.blockers[here.n_blockers++] = condition;
	} else {
		explain_candidate(core, &im->who, NULL, 0, im->info.uid, &here);
		/* A job that a limit blocks gets no plan. */
		if (d->verdict == VERDICT_START || d->verdict == VERDICT_PLANNED ||
		        d->verdict == VERDICT_CAPACITY)
			explain_plan(core, &im->who, &here);
		if (d->verdict == VERDICT_PLANNED || d->verdict == VERDICT_CAPACITY)
			explain_victims(core, &im->who, d, im->info.uid, &here);
	}
	for (size_t n = 0; v->n_choices > 1 && n < here.n_blockers; n++)
		here.blockers[n].partition = core->conf->partitions[v->partition].name;
	return why_add(why, &here);
}

static void test_where(struct core *core, const struct places *places, struct effect *fx)
{
	struct test_place *v = effects_alloc(core->effects, places->n * sizeof(*v));

	for (size_t i = 0; i < places->n; i++)
		v[i] = (struct test_place){ places->v[i].node, places->v[i].gpus };
	fx->submitted.would_start_now = true;
	fx->submitted.places = v;
	fx->submitted.n_places = places->n;
	if (places->v[0].gpus)
		fx->submitted.gpu_type =
		        effects_text(core->effects, core->conf->gpu_types[places->type].name);
}

/* Would the first job start now in its present partition? */
static bool try_choice(struct core *core, const struct core_event *e, const struct intake *v,
        struct effect *fx, struct job_why *why)
{
	struct places places = { 0 };
	struct imagined im;
	struct decision d;
	struct why_blocker condition;
	bool starts;

	imagine(core, v, e->caller.user, meta_next_job(core->meta), core->now.wall, &im);
	starts = decide(sched_view(core->sched), &im.who, &places, &d) == VERDICT_START &&
	         !v->in->hold && !conditions_hold(core, v, &condition) &&
	         !sched_busy_before(core->sched, im.who.key);
	if (starts) {
		test_where(core, &places, fx);
		fx->submitted.cost_max = job_cost_at(core, &v->info, &places);
	}
	if ((starts || test_why(core, v, &im, &d, why)) && v->n_choices > 1)
		fx->submitted.partition = effects_text(
		        core->effects, core->conf->partitions[v->partition].name);
	places_free(&places);
	imagined_clear(core, &im);
	return starts;
}

/* Would the first job start now? Asked of the scheduler itself; nothing is changed. */
static void answer(struct core *core, const struct core_event *e, struct intake *v)
{
	struct effect *fx = submit_answer(core, e, v);
	struct job_why *why;

	fx->submitted.test_only = true;
	fx->submitted.next_job = meta_next_job(core->meta);
	if (!v->info.gpus)
		return;
	why = effects_alloc(core->effects, sizeof(*why));
	memset(why, 0, sizeof(*why));
	v->info.uid = e->caller.uid;
	v->info.nice = v->in->nice;
	v->info.account = v->info.account ? v->info.account : v->in->account;
	v->info.qos = v->info.qos ? v->info.qos : v->in->qos;
	for (uint32_t k = 0; k < v->n_choices; k++) {
		intake_choose(v, k);
		if (try_choice(core, e, v, fx, why))
			return;
	}
	intake_choose(v, 0);
	fx->submitted.why = why;
	fx->submitted.cost_max = job_cost_max(core, &v->info);
}

/* Only the first job is asked about; all of them must pass the checks. */
void test_only_apply(struct core *core, const struct core_event *e)
{
	struct intake *v = xcalloc(e->submit.n, sizeof(*v));
	struct error err = { 0 };

	if (submit_check(core, e, v, &err) < 0)
		effects_reply(core->effects, e->caller.reply, &err);
	else
		answer(core, e, v);
	submit_clear(core, v, e->submit.n);
}
