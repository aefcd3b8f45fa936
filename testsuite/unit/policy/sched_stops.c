/* sched_stops.c - see sched_stops.h */
#include "testsuite/unit/policy/sched_stops.h"

#include <string.h>

#include "ctld/core/rows/state.h"
#include "testsuite/unit/policy/sched_rules.h"

struct stopped {
	struct lab_job *by, *victims[LAB_JOBS];
	enum end_cause cause[LAB_JOBS];
	bool requeue[LAB_JOBS];
	size_t n;
	lab_set set;
};

static void gather(struct lab *lab, struct stopped *s)
{
	size_t i, k;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < lab->n_stops; i++) {
		struct lab_job *v = lab_job(lab, lab->stops[i].run.job);

		if (!lab->stops[i].by_job ||
		        (lab->stops[i].cause != END_PREEMPT && lab->stops[i].cause != END_RECLAIM))
			continue; /* it may be told again when its node is heard again */
		if (s->by && s->by->id != lab->stops[i].by_job)
			lab_fail(lab, "one step stops runs for two jobs");
		s->by = lab_job(lab, lab->stops[i].by_job);
		for (k = 0; k < s->n && s->victims[k] != v; k++)
			;
		s->victims[k] = v;
		s->cause[k] = lab->stops[i].cause;
		s->requeue[k] = lab->stops[i].requeue;
		s->n += k == s->n;
		s->set |= rules_one(lab, v);
	}
}

/* Jobs that were told to end before this. */
static lab_set stopping(struct lab *lab, lab_set now)
{
	lab_set set = 0;
	size_t i, k;

	for (i = 0; i < lab->n_jobs; i++) {
		for (k = 0; k < lab->jobs[i].n_runs; k++) {
			if (!lab->jobs[i].runs[k].over && lab->jobs[i].runs[k].told)
				set |= rules_one(lab, &lab->jobs[i]);
		}
	}
	return set & ~now;
}

/* Can all of them be reclaimed, one after another, so that each is a borrower's when its turn
 * comes? */
static bool borrowers(struct lab *lab, const struct stopped *s, uint16_t type, uint64_t milli)
{
	lab_set gone = stopping(lab, s->set), left = 0;
	bool more = true;
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (s->cause[i] == END_RECLAIM)
			left |= rules_one(lab, s->victims[i]);
		else
			gone |= rules_one(lab, s->victims[i]);
	}
	while (left && more) {
		more = false;
		for (i = 0; i < s->n; i++) {
			lab_set one = rules_one(lab, s->victims[i]);

			if (!(left & one) || rules_may_stop(lab, s->by, s->victims[i], type, milli,
			                             gone) != WHY_RECLAIM)
				continue;
			gone |= one;
			left &= ~one;
			more = true;
		}
	}
	return !left;
}

static void check_allowed(struct lab *lab, const struct stopped *s)
{
	bool any = false;
	uint16_t type;
	size_t a, i;

	for (i = 0; i < s->n; i++) {
		const struct lab_job *v = s->victims[i];
		const struct conf_partition *p = &lab->w->conf->partitions[v->partition];
		bool again = p->preempt_mode == CONF_PREEMPT_REQUEUE && v->requeue;

		if (p->preempt_mode == CONF_PREEMPT_OFF)
			lab_fail(lab, "job %llu was preempted, where that is off", LAB_ID(v));
		if (rules_protected_until(lab, v) > lab->w->now.mono)
			lab_fail(lab, "job %llu was preempted within its min_run", LAB_ID(v));
		if (s->requeue[i] != again)
			lab_fail(lab, "job %llu should %swait again", LAB_ID(v),
			        again ? "" : "not ");
	}
	for (a = 0; a < (s->by->n_wants ? s->by->n_wants : 1); a++) {
		for (type = 0; type <= lab->w->conf->n_gpu_types; type++) {
			uint16_t t = type == lab->w->conf->n_gpu_types ? LAB_NO_GPU : type;
			struct amounts least;
			bool all = true;

			if (!rules_type(lab, s->by, a, t))
				continue;
			least = rules_least(lab, s->by, a, t, s->by->nodes_min);

			for (i = 0; i < s->n && all; i++) {
				enum why why = rules_may_stop(
				        lab, s->by, s->victims[i], t, least.milli, 0);
				bool rank = why == WHY_TIER || why == WHY_QOS;

				all = rank == (s->cause[i] != END_RECLAIM);
			}
			any |= all && borrowers(lab, s, t, least.milli);
		}
	}
	if (!any)
		lab_fail(lab, "job %llu may not stop job %llu (and %zu more) for %s", LAB_ID(s->by),
		        LAB_ID(s->victims[0]), s->n - 1,
		        s->cause[0] == END_RECLAIM ? "its guarantee" : "its rank");
}

/* Would a total on several nodes pass its limits, wherever it may be? */
static bool passes_anywhere(struct lab *lab, const struct lab_job *by, uint16_t type)
{
	struct amounts most = rules_least(lab, by, 0, type, by->nodes_max);

	return by->per_node || by->nodes_max == 1 || !rules_limit(lab, by, &most, 0);
}

/* Would there be room when these have ended (on the nodes that were chosen, the fewest, each with
 * as much; if nobody is stopped, wherever it may be), and all that ends within the grace time
 * anyway? */
static bool room_without(struct lab *lab, const struct lab_job *by, uint16_t type, lab_set gone)
{
	struct room room;
	size_t i;

	if (!gone && !passes_anywhere(lab, by, type))
		return false;
	rules_room(lab, lab->w->now.mono + rules_grace(lab), gone, &room);
	for (i = 0; i < lab->n_nodes && gone; i++)
		room.v[i].accepts &= by->now.plan_nodes >> i & 1;
	return rules_fits(lab, by, 0, type, &room, gone && by->nodes_min > 1);
}

static void check_needed(struct lab *lab, const struct stopped *s)
{
	usec_t told[LAB_JOBS][LAB_NODES];
	uint16_t type = s->by->n_wants ? s->by->wants[0].type : LAB_NO_GPU;
	size_t i, k;

	if (s->by->n_wants > 1 || type == LAB_ANY || rules_planned_before(lab, s->by))
		return;
	lab->seen.judged++;
	for (i = 0; i < s->n; i++) {
		for (k = 0; k < s->victims[i]->n_runs; k++) {
			told[i][k] = s->victims[i]->runs[k].told;
			s->victims[i]->runs[k].told = 0;
		}
	}
	/* Else what was seen of other nodes may have changed since. */
	if (!lab->interrupted && room_without(lab, s->by, type, 0))
		lab_fail(lab, "job %llu has room without job %llu being stopped", LAB_ID(s->by),
		        LAB_ID(s->victims[0]));
	if (!room_without(lab, s->by, type, s->set))
		lab_fail(lab, "job %llu has no room though job %llu (and %zu more) is stopped",
		        LAB_ID(s->by), LAB_ID(s->victims[0]), s->n - 1);
	for (i = 0; i < s->n; i++) {
		if ((!lab->interrupted || s->n > 1) &&
		        room_without(lab, s->by, type, s->set & ~rules_one(lab, s->victims[i])))
			lab_fail(lab,
			        "job %llu need not be stopped for job %llu, %zu others are enough",
			        LAB_ID(s->victims[i]), LAB_ID(s->by), s->n - 1);
	}
	for (i = 0; i < s->n; i++) {
		for (k = 0; k < s->victims[i]->n_runs; k++)
			s->victims[i]->runs[k].told = told[i][k];
	}
}

void check_preempted(struct lab *lab)
{
	struct stopped s;
	size_t i;

	gather(lab, &s);
	if (!s.n)
		return;
	lab->seen.preempted += s.n;
	s.by->preempts = true;
	for (i = 0; i < s.n; i++) {
		s.victims[i]->now.state = LAB_HOLDS;
		lab->preempted_by[s.victims[i] - lab->jobs][s.by - lab->jobs]++;
	}
	check_allowed(lab, &s);
	check_needed(lab, &s);
}
