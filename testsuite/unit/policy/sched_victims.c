/* sched_victims.c - see sched_victims.h */
#include "testsuite/unit/policy/sched_victims.h"

#include <string.h>

#include "ctld/core/place/ledger.h"
#include "ctld/core/plan/plan.h"
#include "ctld/core/preempt/victims.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/class.h"
#include "ctld/core/sched/decide.h"
#include "ctld/core/sched/earliest_start.h"
#include "ctld/core/sched/sched.h"

static enum victims_step search(const struct sched_view *view, const struct candidate *who,
        const struct plan_want *want, bool everything, struct preemption *out)
{
	struct victims *v = victims_new();
	size_t nodes = SIZE_MAX;
	enum victims_step step;

	if (everything)
		victims_ask_everything(v);
	step = victims_step(v, view, who, want, &nodes, out);
	victims_free(v);
	return step;
}

static bool same(const struct preemption *x, const struct preemption *y)
{
	size_t i;

	if (x->n != y->n || x->retry != y->retry || x->reservation.start != y->reservation.start ||
	        x->reservation.places.n != y->reservation.places.n)
		return false;
	for (i = 0; i < x->n; i++) {
		if (x->victims[i].job != y->victims[i].job ||
		        x->victims[i].reason != y->victims[i].reason)
			return false;
	}
	for (i = 0; i < x->reservation.places.n; i++) {
		if (x->reservation.places.v[i].node != y->reservation.places.v[i].node ||
		        x->reservation.places.v[i].gpus != y->reservation.places.v[i].gpus)
			return false;
	}
	return true;
}

unsigned check_searches(struct lab *lab)
{
	const struct sched_view *view = sched_view(lab->w->core->sched);
	unsigned found = 0;
	size_t cursor = 0;
	struct class *class;

	while ((class = sched_each_class(lab->w->core->sched, &cursor))) {
		const struct class_link *l = class_link_of(class);
		struct candidate who;
		struct plan_want want;
		uint32_t kind = 0;

		if (l->partition == CONF_NONE)
			continue;
		who = sched_candidate(lab->w->core->sched, class);
		want = (struct plan_want){ .ask = who.ask,
			.set = ledger_set_of(view->ledger, l->partition),
			.partition = l->partition,
			.length = who.length,
			.key = who.key };
		while (decide_next_open(view, &who, &kind, &want.find)) {
			struct preemption fast, slow;
			enum victims_step step = search(view, &who, &want, false, &fast);

			if (search(view, &who, &want, true, &slow) != step || !same(&fast, &slow))
				lab_fail(lab,
				        "job %llu: a search that leaves out nothing finds others",
				        (unsigned long long)job_id(class_head(class)));
			found += step == VICTIMS_FOUND;
			preemption_clear(&fast);
			preemption_clear(&slow);
		}
	}
	return found;
}
