/* test_sched_policy.c - order, limits, quotas, plans, preemption: properties of random histories
 *
 * After each event and each single step of the scheduler the rules (sched_rules.h) are asked
 * whether what was done was right, and at the end of each step whether anything was left undone.
 * At last nothing new comes: what is preempted comes to rest, and every job gets its turn.
 *
 * POLICY_SEED=n runs that case alone and tells it (with POLICY_KEYS=1: with all keys and plans),
 * POLICY_CASES=n so many, from POLICY_FIRST=n on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"
#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/policy/policy_known.h"
#include "testsuite/unit/policy/sched_gpu_sets.h"
#include "testsuite/unit/policy/sched_stops.h"
#include "testsuite/unit/policy/sched_tell.h"
#include "testsuite/unit/policy/sched_victims.h"

#define STEPS  70
#define MARGIN LAB_SECOND /* a plan that moves by less has not moved */

/* --- starts ---------------------------------------------------------------------------------- */

/* One owner a GPU, or some that share it; and no node and no GPU gives more than it has. */
static void check_capacity(struct lab *lab)
{
	struct room room;
	size_t i, k;

	rules_room(lab, lab->w->now.mono, 0, &room);
	for (i = 0; i < lab->n_nodes; i++) {
		for (k = 0; k < LAB_CARDS; k++) {
			if (room.v[i].gpu_set[k].wrong ||
			        (room.v[i].gpu_set[k].runs && k >= room.v[i].n_gpus))
				lab_fail(lab,
				        "node %zu: GPU %zu has %u runs with %llu thousandths and "
				        "%llu MiB, or two owners",
				        i, k, room.v[i].gpu_set[k].runs,
				        (unsigned long long)room.v[i].gpu_set[k].milli,
				        (unsigned long long)room.v[i].gpu_set[k].mem_mb);
		}
		if (room.v[i].cpus < 0 || room.v[i].mem_mb < 0)
			lab_fail(lab, "node %zu gives too many CPUs or too much memory", i);
	}
}

/* Whose runs are on its GPUs beside it? */
static void check_apart(struct lab *lab, const struct lab_job *j, const struct lab_run *r)
{
	size_t i, k;

	for (i = 0; i < lab->n_jobs; i++) {
		const struct lab_job *other = &lab->jobs[i];

		for (k = 0; k < other->n_runs; k++) {
			if (other->uid != j->uid && !other->runs[k].over &&
			        other->runs[k].node == r->node && (other->runs[k].gpus & r->gpus))
				lab_fail(lab,
				        "job %llu was started on a GPU of node %u that another "
				        "user's job %llu shares",
				        LAB_ID(j), r->node, LAB_ID(other));
		}
	}
}

/* It has of each GPU what it asked for: all of it, or a part where GPUs are shared. */
static void check_part(struct lab *lab, const struct lab_job *j, const struct lab_run *r)
{
	struct share part;

	if (!rules_part(lab, j, r->gpus ? r->type : LAB_NO_GPU, &part) ||
	        part.charge != r->share.charge || part.milli != r->share.milli ||
	        part.mem_mb != r->share.mem_mb)
		lab_fail(lab, "job %llu has %u thousandths and %llu MiB of GPUs, counted as %u",
		        LAB_ID(j), r->share.milli, (unsigned long long)r->share.mem_mb,
		        r->share.charge);
	if (part.charge && lab->w->conf->nodes[r->node].share == CONF_SHARE_NO)
		lab_fail(lab, "job %llu has parts of GPUs of node %u, which are not shared", LAB_ID(j),
		        r->node);
	lab->seen.parts += part.charge > 0;
	if (part.charge && lab->w->conf->nodes[r->node].share_users == CONF_USERS_ONE)
		check_apart(lab, j, r);
}

/* A gang is whole, and each part is as it was asked for, where it may be. */
static void check_places(struct lab *lab, const struct lab_job *j)
{
	struct amounts got = rules_held(lab, j);
	uint64_t nodes = 0;
	size_t i, a;
	bool ok = false;

	if (j->n_runs < j->nodes_min || j->n_runs > j->nodes_max)
		lab_fail(lab, "job %llu has %zu nodes", LAB_ID(j), j->n_runs);
	for (i = 0; i < j->n_runs; i++) {
		const struct lab_run *r = &j->runs[i];
		const struct conf_partition *p = &lab->w->conf->partitions[j->partition];
		size_t k;

		if (nodes >> r->node & 1)
			lab_fail(lab, "job %llu is twice on node %u", LAB_ID(j), r->node);
		nodes |= 1ull << r->node;
		for (k = 0; k < p->n_nodes && p->nodes[k] != r->node; k++)
			;
		if (k == p->n_nodes || !lab->nodes[r->node].heard || lab->nodes[r->node].drained)
			lab_fail(lab, "job %llu was started on node %u", LAB_ID(j), r->node);
		if (r->cpus < j->cpus || r->mem_mb < j->mem_mb || (j->n_wants && !r->gpus))
			lab_fail(lab, "job %llu got too little on node %u", LAB_ID(j), r->node);
		check_part(lab, j, r);
		if (j->per_node && r->gpus &&
		        __builtin_popcountll(r->gpus) != __builtin_popcountll(j->runs[0].gpus) &&
		        !j->exclusive)
			lab_fail(lab, "job %llu has parts that differ", LAB_ID(j));
	}
	for (a = 0; a < j->n_wants; a++) {
		uint32_t want = j->wants[a].count * (j->per_node ? (uint32_t)j->n_runs : 1);

		ok |= (want == got.gpus || (j->exclusive && want < got.gpus)) &&
		      rules_type(lab, j, a, got.type);
	}
	if (j->n_wants && !ok)
		lab_fail(lab, "job %llu has %u GPUs of type %u", LAB_ID(j), got.gpus, got.type);
}

static void check_limits(struct lab *lab, const struct lab_job *j)
{
	struct amounts got = rules_held(lab, j);
	const char *why = rules_limit(lab, j, &got, rules_one(lab, j));

	if (why)
		lab_fail(lab, "job %llu was started over the limit of %s", LAB_ID(j), why);
	if (rules_lends_kept(lab, j, &got, rules_one(lab, j)))
		lab_fail(lab, "job %llu was started on GPUs that are kept for others", LAB_ID(j));
}

static bool eligible(const struct lab *lab, const struct lab_job *j)
{
	enum conf_partition_state state = lab->w->conf->partitions[j->partition].state;

	return j->now.state == LAB_WAITS && !j->now.held &&
	       (state == CONF_PARTITION_UP || state == CONF_PARTITION_DRAIN);
}

/* Something should have happened by now, and has not. */
static bool overdue(struct lab *lab)
{
	usec_t soon = lab->w->now.mono + LAB_SECOND;
	size_t i, k;

	for (i = 0; i < lab->n_jobs; i++) {
		const struct lab_job *j = &lab->jobs[i];

		if (j->before.planned && j->before.planned <= soon)
			return true;
		for (k = 0; k < j->n_runs; k++) {
			if (!j->runs[k].over && rules_end(lab, j, &j->runs[k]) <= soon)
				return true;
		}
	}
	return false;
}

/* It stands there only since others hold more or less now, and nothing is planned for itself: it is
 * tried again at the next ordering. */
static bool ordered_soon(struct lab *lab, const struct lab_job *k)
{
	return !k->before.has_plan && !strcmp(k->before.reason, "Priority") && lab->quotas &&
	       sched_next(lab->w->core->sched) != INT64_MAX;
}

/* Did k, in its present partition, stand before j? Then it could not have started there. */
static bool check_passed(
        struct lab *lab, const struct lab_job *j, const struct lab_job *k, const struct room *room)
{
	if (!eligible(lab, k) || !rules_before(lab, k, j))
		return false;
	lab->seen.backfilled++;
	if (!k->exclusive && !rules_planned_before(lab, k) && !ordered_soon(lab, k) &&
	        rules_may_start(lab, k, room))
		lab_fail(lab, "job %llu was started, and job %llu before it could have been",
		        LAB_ID(j), LAB_ID(k));
	return true;
}

/* The start of j does not put off that of k. */
static void check_delayed(struct lab *lab, const struct lab_job *j, const struct lab_job *k)
{
	usec_t now = lab->w->now.mono;

	if (k->before.planned <= now || overdue(lab) ||
	        (k->now.planned && k->now.planned <= k->before.planned + MARGIN))
		return;
	lab_fail(lab, "the start of job %llu delays job %llu before it from %+.1f s to %+.1f", LAB_ID(j),
	        LAB_ID(k), (double)(k->before.planned - now) / 1e6,
	        k->now.planned ? (double)(k->now.planned - now) / 1e6 : 0);
}

/* Whoever stands before it and waits could not have started, and starts no later for it. */
static void check_order(struct lab *lab, struct lab_job *j)
{
	struct room room;
	uint32_t p;
	size_t i;

	rules_room(lab, lab->w->now.mono, rules_one(lab, j), &room);
	j->now.state = LAB_WAITS; /* as it was */
	j->now.priority = j->before.priority;
	for (i = 0; i < lab->n_jobs; i++) {
		struct lab_job *k = &lab->jobs[i];
		uint32_t was = k->partition, n = 0;

		for (p = 0; p < k->n_list; p++) {
			k->partition = k->list[p];
			n += check_passed(lab, j, k, &room);
		}
		k->partition = was;
		if (n && n == k->n_list)
			check_delayed(lab, j, k);
	}
	j->now.state = LAB_HOLDS;
}

static void check_start(struct lab *lab)
{
	struct lab_job *j = lab_job(lab, lab->starts[0].job);
	struct run_view v;
	uint64_t ranks = 0;
	size_t i;

	for (i = 0; i < lab->n_starts; i++) {
		ranks |= 1ull << lab->starts[i].rank;
		if (lab->starts[i].job != j->id ||
		        !core_run_view(lab->w->core, lab->starts[i], lab->w->now, &v) ||
		        v.n_nodes != lab->n_starts ||
		        (i + 1 == v.n_nodes && ranks != (1ull << v.n_nodes) - 1))
			lab_fail(lab, "job %llu was not started as a whole", LAB_ID(j));
	}
	lab->seen.starts++;
	lab->seen.gangs += j->n_runs > 1;
	check_capacity(lab);
	check_places(lab, j);
	check_limits(lab, j);
	check_order(lab, j);
}

/* --- plans ----------------------------------------------------------------------------------- */

/* In this step somebody before it started, got another plan, came back to one, or had victims
 * stopped. */
static bool passed_by(struct lab *lab, const struct lab_job *k)
{
	size_t i;

	for (i = 0; i < lab->n_jobs; i++) {
		struct lab_job *j = &lab->jobs[i];
		struct lab_seen now = j->now;
		bool back = j->before.state == LAB_HOLDS && now.state == LAB_WAITS;
		bool moved = j->before.state == LAB_WAITS &&
		             (now.state != LAB_WAITS ||
		                     (now.has_plan && (!j->before.has_plan ||
		                                              now.planned != j->before.planned)));

		if (j->id == k->id)
			continue;
		moved |= back && now.has_plan; /* what was planned for its class is its own now */
		if (!back)
			j->now = j->before; /* as it stood when it was decided */
		if (j->before.held)
			j->now.priority = now.priority; /* it stood nowhere */
		moved = moved && rules_maybe_before(lab, j, k);
		j->now = now;
		if (moved)
			return true;
	}
	return lab->n_stops;
}

/* All of the nodes that were planned, or what is asked for on so many. */
static struct amounts amounts_planned(
        struct lab *lab, const struct lab_job *k, size_t want, uint16_t type)
{
	uint32_t nodes = (uint32_t)__builtin_popcount(k->before.plan_nodes);
	struct amounts all = rules_least(lab, k, want, type, nodes);
	size_t i, g;

	if (!k->exclusive)
		return all;
	all.gpus = all.cpus = 0;
	all.mem_mb = 0;
	for (i = 0; i < lab->n_nodes; i++) {
		const struct conf_node *n = &lab->w->conf->nodes[i];

		if (!(k->before.plan_nodes >> i & 1))
			continue;
		all.cpus += n->cpus;
		all.mem_mb += n->mem_mb;
		for (g = 0; g < n->n_gpus; g++)
			all.gpus += n->gpus[g].type == type ? n->gpus[g].count : 0;
	}
	all.milli = (uint64_t)all.gpus * LAB_MILLI;
	all.gpu_mem_mb = all.gpus ? all.gpus * lab->w->conf->gpu_types[type].mem_mb : 0;
	return all;
}

/* Whole nodes, and a total on several, come with more than the least: would these be over a limit
 * now? Of a range of nodes with so much each some can go. */
static bool places_closed(struct lab *lab, const struct lab_job *k)
{
	uint16_t type, t;
	size_t a;

	if (!k->exclusive && (k->per_node || k->nodes_max == k->nodes_min))
		return false;
	for (a = 0; a < (k->n_wants ? k->n_wants : 1); a++) {
		for (type = 0; type <= lab->w->conf->n_gpu_types; type++) {
			struct amounts all;

			t = type == lab->w->conf->n_gpu_types ? LAB_NO_GPU : type;
			if (!rules_type(lab, k, a, t))
				continue;
			all = amounts_planned(lab, k, a, t);
			if (rules_limit(lab, k, &all, 0) || rules_lends_kept(lab, k, &all, 0))
				return true;
		}
	}
	return false;
}

static bool alike(const struct lab *lab, const struct lab_job *j, const struct lab_job *k)
{
	return j->part.milli == k->part.milli && j->part.mem_mb == k->part.mem_mb &&
	       (!lab->apart || j->uid == k->uid);
}

/* A job before it waits for what nobody knows the end of, on one of its nodes: that it has another
 * place in the plan is not to be seen in its start. Nor is that it stands before it only now; where
 * they want different parts of GPUs, who stands first chooses among them. */
static bool passed_unseen(struct lab *lab, const struct lab_job *k)
{
	size_t i;

	for (i = 0; i < lab->n_jobs; i++) {
		const struct lab_job *j = &lab->jobs[i];

		if (j->id != k->id && j->now.has_plan && (!j->now.planned || !alike(lab, j, k)) &&
		        rules_maybe_before(lab, j, k) && (j->now.plan_nodes & k->before.plan_nodes))
			return true;
	}
	return false;
}

/* Of a list, it was planned in one of these. */
static bool passed(struct lab *lab, const struct lab_job *k)
{
	struct lab_job in = *k;
	uint32_t p;

	for (p = 0; p < k->n_list; p++) {
		in.partition = k->list[p];
		if (passed_by(lab, &in) || passed_unseen(lab, &in))
			return true;
	}
	return false;
}

/* Its reason is that of one partition: does a limit hold it in another one? */
static bool limited_elsewhere(const struct lab *lab, const struct lab_job *k)
{
	const struct job *job = jobs_find(lab->w->core->jobs, k->id);
	const struct queued *q;
	uint32_t p;

	for (p = 0; k->n_list > 1 && (q = job_queued(job, p)); p++) {
		if (class_link_of(q->class)->last.verdict == VERDICT_LIMIT)
			return true;
	}
	return false;
}

static void check_plans(struct lab *lab)
{
	size_t i;

	if (lab->disturbed)
		return;
	for (i = 0; i < lab->n_jobs; i++) {
		const struct lab_job *k = &lab->jobs[i];

		lab->seen.planned += k->now.planned && !k->before.planned;
		if (k->before.state != LAB_WAITS || !k->before.planned || !eligible(lab, k) ||
		        (k->now.planned && k->now.planned <= k->before.planned + MARGIN))
			continue;
		if (passed(lab, k))
			continue;
		if (overdue(lab)) {
			lab->seen.late++;
			continue;
		}
		if ((strcmp(k->now.reason, "Resources") && strcmp(k->now.reason, "Priority")) ||
		        places_closed(lab, k) || limited_elsewhere(lab, k)) {
			lab->seen.closed++;
			continue;
		}
		lab_fail(lab,
		        "the start of job %llu, planned in %.1f s, is planned in %.1f s (%s): for "
		        "no reason",
		        LAB_ID(k), (double)(k->before.planned - lab->w->now.mono) / 1e6,
		        k->now.planned ? (double)(k->now.planned - lab->w->now.mono) / 1e6 : 0,
		        k->now.reason);
	}
}

static void check_step(struct lab *lab, bool scheduled)
{
	size_t i;

	if (getenv("POLICY_SEED"))
		tell_step(lab);
	if (getenv("POLICY_KEYS"))
		tell_order(lab);
	lab->seen.searched += check_searches(lab);
	lab->seen.beside += check_gpu_sets(lab);
	if (scheduled && lab->n_starts)
		check_start(lab);
	check_preempted(lab);
	check_plans(lab);
	for (i = 0; i < lab->n_jobs; i++)
		lab->jobs[i].preempts &= lab->jobs[i].now.has_plan;
}

/* --- at rest --------------------------------------------------------------------------------- */

/* Could the job start in one of its partitions, with nothing planned before it? */
static bool could_start(struct lab *lab, struct lab_job *j, const struct room *room)
{
	uint32_t was = j->partition, p;
	bool could = false;

	for (p = 0; p < j->n_list && !could; p++) {
		j->partition = j->list[p];
		could = eligible(lab, j) && !j->exclusive && !rules_planned_before(lab, j) &&
		        rules_may_start(lab, j, room);
	}
	j->partition = was;
	return could;
}

/* All who could start have. */
static void check_rest(struct lab *lab)
{
	struct sched_stats stats;
	struct room room;
	struct error err;
	size_t i;

	if (core_check(lab->w->core, &err) < 0)
		lab_fail(lab, "%s", err.text);
	sched_stats(lab->w->core->sched, &stats);
	if (stats.unexplained)
		lab_fail(lab, "%llu planned starts are later for no reason",
		        (unsigned long long)stats.unexplained);
	rules_room(lab, lab->w->now.mono, 0, &room);
	for (i = 0; i < lab->n_jobs; i++) {
		struct lab_job *j = &lab->jobs[i];

		lab->seen.waits += eligible(lab, j);
		if (!could_start(lab, j, &room)) {
			j->forgotten = 0;
			continue;
		}
		/* It may have passed somebody's plan because others hold more now: that counts from
		 * the next ordering on. */
		if (!j->forgotten)
			j->forgotten = stats.orderings + 1;
		if (strcmp(j->now.reason, "Priority") || stats.orderings >= j->forgotten ||
		        sched_next(lab->w->core->sched) == INT64_MAX)
			lab_fail(lab, "job %llu (%s) could start, and nothing is planned before it",
			        LAB_ID(j), j->now.reason);
	}
}

static unsigned preemptions(const struct lab *lab)
{
	unsigned sum = 0;
	size_t i, k;

	for (i = 0; i < lab->n_jobs; i++) {
		for (k = 0; k < lab->n_jobs; k++)
			sum += lab->preempted_by[i][k];
	}
	return sum;
}

/* Nothing comes, nothing ends by itself: it comes to rest, and nobody takes back what was taken
 * from him. */
static void check_no_cycle(struct lab *lab)
{
	unsigned last = UINT32_MAX, rounds = 0;
	size_t i, k;

	memset(lab->preempted_by, 0, sizeof(lab->preempted_by));
	lab->endless = true;
	for (lab_pass(lab, 600); preemptions(lab) != last; lab_pass(lab, 600)) {
		last = preemptions(lab);
		check_rest(lab);
		if (++rounds > 100)
			lab_fail(lab, "%u preemptions, and no end", last);
	}
	for (i = 0; i < lab->n_jobs; i++) {
		for (k = 0; k < i; k++) {
			if (lab->preempted_by[i][k] && lab->preempted_by[k][i])
				lab_fail(lab, "jobs %llu and %llu preempt each other",
				        LAB_ID(&lab->jobs[i]), LAB_ID(&lab->jobs[k]));
		}
	}
	lab->endless = false;
}

/* Would it start if there were nobody else? */
static bool alone_could(struct lab *lab, const struct lab_job *j)
{
	enum lab_state was[LAB_JOBS];
	struct room room;
	size_t i;
	bool could;

	for (i = 0; i < lab->n_jobs; i++) {
		was[i] = lab->jobs[i].now.state;
		lab->jobs[i].now.state = LAB_ENDED;
	}
	rules_room(lab, lab->w->now.mono, ~(lab_set)0, &room);
	could = !j->exclusive && rules_may_start(lab, j, &room);
	for (i = 0; i < lab->n_jobs; i++)
		lab->jobs[i].now.state = was[i];
	return could;
}

static void check_no_starvation(struct lab *lab)
{
	unsigned round;
	size_t i, left = 1;

	for (round = 0; round < 400 && left; round++) {
		lab_pass(lab, 300);
		check_rest(lab);
		for (i = 0, left = 0; i < lab->n_jobs; i++)
			left += lab->jobs[i].now.state == LAB_HOLDS ||
			        (lab->jobs[i].now.state == LAB_WAITS &&
			                alone_could(lab, &lab->jobs[i]));
	}
	for (i = 0; i < lab->n_jobs && left; i++) {
		const struct lab_job *j = &lab->jobs[i];

		if (j->now.state == LAB_HOLDS)
			lab_fail(lab, "job %llu does not end", LAB_ID(j));
		if (j->now.state == LAB_WAITS && alone_could(lab, &lab->jobs[i]))
			lab_fail(lab, "job %llu never gets its turn (%s)", LAB_ID(j), j->now.reason);
	}
}

/* How a search for victims is made: of small clusters in one step, in many, or in many between
 * which other things happen. */
enum searched { AT_ONCE, IN_STEPS, INTERRUPTED };

static uint64_t one_case(uint64_t seed, enum searched searched, struct lab *lab)
{
	unsigned i;
	uint64_t hash;

	lab->check = check_step;
	lab_new(lab, seed);
	if (searched != AT_ONCE)
		world_search_step(lab->w, 1);
	lab->interrupts = searched == INTERRUPTED;
	if (getenv("POLICY_SEED"))
		conf_print(lab->w->conf, stdout);
	for (i = 0; i < STEPS; i++) {
		lab_step(lab);
		check_rest(lab);
	}
	lab_calm(lab);
	check_no_cycle(lab);
	check_no_starvation(lab);
	hash = lab->hash;
	lab_free(lab);
	return hash;
}

struct sums {
	unsigned long starts, preempted, planned, passed, judged, gangs, late, closed, parts;
	unsigned long interrupted, searched, beside;
	uint64_t decided; /* a hash of all: two builds that decide alike print the same */
};

static void add_up(struct sums *s, const struct lab *lab)
{
	s->starts += lab->seen.starts;
	s->preempted += lab->seen.preempted;
	s->planned += lab->seen.planned;
	s->passed += lab->seen.backfilled;
	s->judged += lab->seen.judged;
	s->gangs += lab->seen.gangs;
	s->late += lab->seen.late;
	s->closed += lab->seen.closed;
	s->parts += lab->seen.parts;
	s->interrupted += lab->seen.interrupted;
	s->searched += lab->seen.searched;
	s->beside += lab->seen.beside;
}

static void check_steps(uint64_t seed, uint64_t hash, enum searched other, struct lab *lab)
{
	if (one_case(seed, other, lab) != hash)
		fail_msg("seed %llu has two histories", (unsigned long long)seed);
}

static void some_cases(uint64_t from, uint64_t n, struct sums *sums)
{
	static struct lab lab;
	uint64_t i;

	memset(sums, 0, sizeof(*sums));
	for (i = from; i < from + n; i++) {
		enum searched searched = (enum searched)(i % 3);
		uint64_t hash = one_case(i, searched, &lab);

		add_up(sums, &lab);
		sums->decided = sums->decided * 31 + hash;
		/* The same in steps or at once. */
		if (i % 16 == 0 && searched != INTERRUPTED)
			check_steps(i, hash, IN_STEPS - searched, &lab);
	}
	printf("seeds %llu to %llu: %lu starts (%lu of gangs, %lu runs with parts of GPUs), "
	       "%lu past others, %lu plans (%lu late, %lu behind a limit), %lu victims of %lu "
	       "judged searches, %lu interrupted, %lu made twice, %lu places for parts beside "
	       "plans; hash %016llx\n",
	        (unsigned long long)from, (unsigned long long)(from + n - 1), sums->starts,
	        sums->gangs, sums->parts, sums->passed, sums->planned, sums->late, sums->closed,
	        sums->preempted, sums->judged, sums->interrupted, sums->searched, sums->beside,
	        (unsigned long long)sums->decided);
}

static void cases(void **state)
{
	uint64_t n = getenv("POLICY_SEED") ? 1 : amount("POLICY_CASES", 300);
	struct sums sums;

	(void)state;
	some_cases(env_number("POLICY_SEED", env_number("POLICY_FIRST", 1)), n, &sums);
	assert_true(getenv("POLICY_SEED") || getenv("POLICY_FIRST") || n < 10 ||
	            (sums.starts > 10 * n && sums.preempted > n / 4 && sums.planned > 5 * n &&
	                    sums.searched > 10 * n));
}

/* The same with lists of partitions. */
static void cases_of_lists(void **state)
{
	uint64_t n = amount("POLICY_CASES", 400) / 4;
	struct sums sums;

	(void)state;
	if (getenv("POLICY_SEED") || getenv("POLICY_FIRST"))
		skip();
	some_cases(LAB_LISTS, n, &sums);
	assert_true(n < 50 || (sums.starts > 10 * n && sums.preempted > n / 4 &&
	                              sums.planned > 5 * n));
}

/* The same where GPUs are shared, by anybody's runs and by those of one user. */
static void cases_of_parts(void **state)
{
	static const uint64_t first[] = { LAB_SHARED, LAB_APART };
	uint64_t n = amount("POLICY_CASES", 400) / 8;
	struct sums sums;
	size_t i;

	(void)state;
	if (getenv("POLICY_SEED") || getenv("POLICY_FIRST"))
		skip();
	for (i = 0; i < 2; i++) {
		some_cases(first[i], n, &sums);
		assert_true(n < 50 || (sums.parts > 5 * n && sums.preempted > n / 4 &&
		                              sums.planned > 5 * n && sums.beside > 5 * n));
	}
}

static void known_cases(void **state)
{
	static struct lab lab;
	size_t i;

	(void)state;
	if (getenv("POLICY_SEED") || getenv("POLICY_FIRST"))
		skip();
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i += sparse())
		one_case(known[i].seed, AT_ONCE, &lab);
	for (i = 0; i < sizeof(known_interrupted) / sizeof(known_interrupted[0]);
	        i += sparse())
		one_case(known_interrupted[i].seed, INTERRUPTED, &lab);
	for (i = 0; i < sizeof(known_in_steps) / sizeof(known_in_steps[0]); i += sparse()) {
		uint64_t seed = known_in_steps[i].seed;

		check_steps(seed, one_case(seed, AT_ONCE, &lab), IN_STEPS, &lab);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_cases),
		cmocka_unit_test(cases),
		cmocka_unit_test(cases_of_parts),
		cmocka_unit_test(cases_of_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
