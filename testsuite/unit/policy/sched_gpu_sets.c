/* sched_gpu_sets.c - see sched_gpu_sets.h */
#include "testsuite/unit/policy/sched_gpu_sets.h"

#include "ctld/core/place/ledger.h"
#include "ctld/core/records/job.h"
#include "ctld/core/request/requests.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/backfill.h"
#include "ctld/core/sched/class.h"
#include "ctld/core/sched/decide.h"
#include "ctld/core/sched/earliest_start.h"
#include "ctld/core/sched/sched.h"
#include "testsuite/unit/policy/sched_lab.h"

struct class;

struct question {
	const struct sched_view *view;
	struct candidate who;
	struct find find;
	struct backfill_look look;
};

/* Just these GPUs, and no others instead. */
static bool may_have(struct question *q, uint32_t node, uint64_t gpus)
{
	const struct share_wish wish = ask_share(&q->who.ask);
	struct place place = { .node = node,
		.cpus = q->who.ask.cpus,
		.mem_mb = q->who.ask.mem_mb,
		.gpus = gpus,
		.type = q->find.type };

	return ledger_share(q->view->ledger, node, q->find.type, &wish, &place.share) &&
	       (!ledger_is_reserved(q->view->ledger, node) ||
	               (backfill_test(&q->look, &place, gpus) && place.gpus == gpus));
}

/* Any of the sets of so many of `gpu_set`. */
static bool some_set(
        struct question *q, uint32_t node, uint64_t gpu_set, uint64_t taken, uint32_t n)
{
	if (!n)
		return may_have(q, node, taken);
	for (; gpu_set; gpu_set &= gpu_set - 1) {
		if (some_set(q, node, gpu_set & (gpu_set - 1), taken | (gpu_set & -gpu_set), n - 1))
			return true;
	}
	return false;
}

static bool some_place(struct question *q)
{
	const struct ledger *l = q->view->ledger;
	const struct conf_partition *p = &q->view->conf->partitions[q->who.partition];
	const struct ask *ask = &q->who.ask;
	const struct share_wish wish = ask_share(ask);
	size_t i;

	for (i = 0; i < p->n_nodes; i++) {
		uint32_t node = p->nodes[i];

		if (ledger_accepts(l, node) && request_allows(ask->gpus, node) &&
		        ledger_cpus_free(l, node) >= ask->cpus &&
		        ledger_mem_free_mb(l, node) >= ask->mem_mb &&
		        some_set(q, node, ledger_gpus_for(l, node, q->find.type, &wish), 0,
		                request_part_gpus(ask->gpus, q->find.alternative)))
			return true;
	}
	return false;
}

static bool found_as_promised(struct lab *lab, const struct class *class, struct question *q)
{
	struct places places = { 0 };
	uint32_t set = ledger_set_of(q->view->ledger, q->who.partition);
	bool found = ledger_find(q->view->ledger, set, &q->who.ask, &q->find, &places), aside;

	if (found && !may_have(q, places.v[0].node, places.v[0].gpus))
		lab_fail(lab, "job %llu: a place that delays what is planned",
		        (unsigned long long)job_id(class_head(class)));
	if (!found && some_place(q))
		lab_fail(lab, "job %llu: a place that delays nothing is not found",
		        (unsigned long long)job_id(class_head(class)));
	aside = found && ledger_is_reserved(q->view->ledger, places.v[0].node);
	places_free(&places);
	return aside;
}

unsigned check_gpu_sets(struct lab *lab)
{
	const struct sched_view *view = sched_view(lab->w->core->sched);
	unsigned found = 0;
	size_t cursor = 0;
	struct class *class;

	while ((class = sched_each_class(lab->w->core->sched, &cursor))) {
		struct question q = { .view = view };
		uint32_t kind = 0;

		if (class_link_of(class)->partition == CONF_NONE)
			continue;
		q.who = sched_candidate(lab->w->core->sched, class);
		q.look = (struct backfill_look){ view, &q.who, false, false };
		q.find = (struct find){ .spread = view->conf->partitions[q.who.partition].place ==
			                          CONF_PLACE_SPREAD,
			.test = backfill_test,
			.arg = &q.look };
		if (!share_wished(&q.who.ask.gpus->share) || q.who.ask.gpus->nodes_max > 1 ||
		        q.who.ask.gpus->exclusive)
			continue;
		while (decide_next_open(view, &q.who, &kind, &q.find))
			found += found_as_promised(lab, class, &q);
	}
	return found;
}
