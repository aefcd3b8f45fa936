/* sched_rules.c - see sched_rules.h */
#include "testsuite/unit/policy/sched_rules.h"

#include <stdlib.h>
#include <string.h>

#define NODE_TAKES  (5 * LAB_SECOND) /* to say that a run has ended */
#define STUCK       (60 * LAB_SECOND)
#define START_TAKES (10 * LAB_SECOND) /* from the order to the start */

lab_set rules_one(const struct lab *lab, const struct lab_job *j)
{
	return (lab_set)1 << (j - lab->jobs);
}

static bool holds(const struct lab *lab, const struct lab_job *j, lab_set gone)
{
	return j->now.state == LAB_HOLDS && !(gone & rules_one(lab, j));
}

static uint32_t bits(uint64_t mask)
{
	return (uint32_t)__builtin_popcountll(mask);
}

/* --- what is free ---------------------------------------------------------------------------- */

usec_t rules_grace(const struct lab *lab)
{
	uint32_t most = 0;
	size_t p;

	for (p = 0; p < lab->w->conf->n_partitions; p++) {
		if (lab->w->conf->partitions[p].grace_s > most)
			most = lab->w->conf->partitions[p].grace_s;
	}
	return (usec_t)most * LAB_SECOND + NODE_TAKES;
}

usec_t rules_end(const struct lab *lab, const struct lab_job *j, const struct lab_run *r)
{
	usec_t grace = (usec_t)lab->w->conf->partitions[j->partition].grace_s * LAB_SECOND;

	if (r->told)
		return r->told + r->grace + NODE_TAKES; /* what it was told then */
	if (!j->time_s)
		return INT64_MAX;
	return (r->running ? r->starts : r->ordered + START_TAKES) +
	       (usec_t)j->time_s * LAB_SECOND + grace + NODE_TAKES;
}

/* Of a GPU of that type, what several may share. */
static uint64_t gpu_mem(const struct lab *lab, uint16_t type)
{
	const struct conf_gpu_type *t = &lab->w->conf->gpu_types[type];

	return t->mem_mb - t->mem_reserve_mb;
}

static void give_cards(
        const struct lab *lab, struct room *room, const struct lab_run *r, uint32_t uid)
{
	unsigned i;

	for (i = 0; i < LAB_CARDS; i++) {
		if (!(r->gpus >> i & 1))
			continue;
		room->v[r->node].gpu_set[i].wrong |=
		        room->v[r->node].gpu_set[i].whole ||
		        (!r->share.charge && room->v[r->node].gpu_set[i].runs);
		room->v[r->node].gpu_set[i].whole |= !r->share.charge;
		if (!room->v[r->node].gpu_set[i].runs++)
			room->v[r->node].gpu_set[i].uid = uid;
		else if (room->v[r->node].gpu_set[i].uid != uid)
			room->v[r->node].gpu_set[i].uid = CONF_NONE;
		room->v[r->node].gpu_set[i].milli += r->share.milli;
		room->v[r->node].gpu_set[i].mem_mb += r->share.mem_mb;
		room->v[r->node].gpu_set[i].wrong |=
		        room->v[r->node].gpu_set[i].milli > LAB_MILLI ||
		        room->v[r->node].gpu_set[i].mem_mb > gpu_mem(lab, r->type);
	}
}

void rules_room(const struct lab *lab, usec_t at, lab_set gone, struct room *room)
{
	uint32_t i;
	size_t g, k;

	memset(room, 0, sizeof(*room));
	for (i = 0; i < lab->n_nodes; i++) {
		const struct conf_node *n = &lab->w->conf->nodes[i];

		room->v[i].accepts = lab->nodes[i].heard && !lab->nodes[i].drained;
		room->v[i].empty = true;
		room->v[i].shares = n->share != CONF_SHARE_NO;
		room->v[i].apart = n->share_users == CONF_USERS_ONE;
		for (g = 0; g < n->n_gpus; g++) {
			for (k = 0; k < n->gpus[g].count; k++)
				room->v[i].gpu_set[room->v[i].n_gpus++].type = n->gpus[g].type;
		}
		room->v[i].cpus = (int)n->cpus;
		room->v[i].mem_mb = (int64_t)n->mem_mb;
	}
	for (i = 0; i < lab->n_jobs; i++) {
		const struct lab_job *j = &lab->jobs[i];

		for (k = 0; k < j->n_runs; k++) {
			const struct lab_run *r = &j->runs[k];
			usec_t end = rules_end(lab, j, r);

			/* What is overdue ends, but not now; after a minute nobody counts on it. */
			if (r->over ||
			        (at > lab->w->now.mono && end <= at &&
			                end + STUCK > lab->w->now.mono) ||
			        (gone & rules_one(lab, j)))
				continue;
			room->v[r->node].empty = false;
			room->v[r->node].cpus -= (int)r->cpus;
			room->v[r->node].mem_mb -= (int64_t)r->mem_mb;
			give_cards(lab, room, r, j->uid);
		}
	}
}

/* --- who fits -------------------------------------------------------------------------------- */

bool rules_type(const struct lab *lab, const struct lab_job *j, size_t want, uint16_t type)
{
	if (!j->n_wants)
		return type == LAB_NO_GPU && !want;
	(void)lab;
	return want < j->n_wants && type != LAB_NO_GPU &&
	       (j->wants[want].type == LAB_ANY || j->wants[want].type == type);
}

bool rules_part(const struct lab *lab, const struct lab_job *j, uint16_t type, struct share *part)
{
	uint64_t all;

	*part = (struct share){ 0 };
	if (type == LAB_NO_GPU || (!j->part.milli && !j->part.mem_mb))
		return true;
	all = gpu_mem(lab, type);
	part->milli = j->part.milli;
	part->mem_mb = j->part.mem_mb ? j->part.mem_mb : all * j->part.milli / LAB_MILLI;
	part->charge = j->part.milli;
	if ((part->mem_mb * LAB_MILLI + all - 1) / all > part->charge && j->part.mem_mb)
		part->charge = (uint32_t)((part->mem_mb * LAB_MILLI + all - 1) / all);
	return part->mem_mb <= all;
}

/* How many GPUs of that type do for one part of the job: free ones, or shared ones that have so
 * much left. */
static int gpus_for(const struct lab *lab, const struct lab_job *j, uint16_t type,
        const struct room *room, uint32_t node)
{
	struct share part;
	unsigned i;
	int n = 0;

	if (type == LAB_NO_GPU || !rules_part(lab, j, type, &part) ||
	        (part.charge && !room->v[node].shares))
		return 0;
	for (i = 0; i < room->v[node].n_gpus; i++) {
		if (room->v[node].gpu_set[i].type != type || room->v[node].gpu_set[i].whole)
			continue;
		if (!part.charge)
			n += !room->v[node].gpu_set[i].runs;
		else if (!room->v[node].apart || !room->v[node].gpu_set[i].runs ||
		         (room->v[node].gpu_set[i].uid == j->uid && !(lab->mixed[node] >> i & 1)))
			n += room->v[node].gpu_set[i].milli + part.milli <= LAB_MILLI &&
			     room->v[node].gpu_set[i].mem_mb + part.mem_mb <= gpu_mem(lab, type);
	}
	return n;
}

static bool in_partition(const struct lab *lab, uint32_t partition, uint32_t node)
{
	const struct conf_partition *p = &lab->w->conf->partitions[partition];
	size_t i;

	for (i = 0; i < p->n_nodes; i++) {
		if (p->nodes[i] == node)
			return true;
	}
	return false;
}

static int by_most(const void *x, const void *y)
{
	return *(const int *)y - *(const int *)x;
}

/* GPUs of a node for one part of the job; -1: it can give none. */
static int offered(const struct lab *lab, const struct lab_job *j, uint16_t type,
        const struct room *room, uint32_t node)
{
	int gpus = gpus_for(lab, j, type, room, node);

	if (!in_partition(lab, j->partition, node) || !room->v[node].accepts ||
	        room->v[node].cpus < (int)j->cpus || room->v[node].mem_mb < (int64_t)j->mem_mb ||
	        (j->exclusive && !room->v[node].empty))
		return -1;
	return gpus;
}

bool rules_fits(const struct lab *lab, const struct lab_job *j, size_t want, uint16_t type,
        const struct room *room, bool even)
{
	int count = j->n_wants ? (int)j->wants[want].count : 0, part, sum = 0, v[LAB_NODES];
	bool each = j->per_node || j->nodes_max == 1 || even;
	uint32_t i, n = 0;

	part = !each ? 1 : count;
	if (even && !j->per_node)
		part = (count + (int)j->nodes_min - 1) / (int)j->nodes_min;
	for (i = 0; i < lab->n_nodes; i++) {
		int gpus = offered(lab, j, type, room, i);

		if (gpus >= part)
			v[n++] = gpus;
	}
	if (n < j->nodes_min)
		return false;
	if (each)
		return true;
	qsort(v, n, sizeof(v[0]), by_most);
	for (i = 0; i < n && i < j->nodes_max; i++)
		sum += v[i];
	return sum >= count;
}

/* --- limits ---------------------------------------------------------------------------------- */

struct amounts rules_least(
        const struct lab *lab, const struct lab_job *j, size_t want, uint16_t type, uint32_t nodes)
{
	struct amounts a = { .type = type, .nodes = nodes, .licences = j->licences };
	struct share part;

	a.gpus = j->n_wants ? j->wants[want].count * (j->per_node ? nodes : 1) : 0;
	a.cpus = j->cpus * nodes;
	a.mem_mb = j->mem_mb * nodes;
	rules_part(lab, j, type, &part);
	a.milli = (uint64_t)a.gpus * (part.charge ? part.charge : LAB_MILLI);
	if (a.gpus)
		a.gpu_mem_mb =
		        a.gpus * (part.charge ? part.mem_mb : lab->w->conf->gpu_types[type].mem_mb);
	return a;
}

struct amounts rules_held(const struct lab *lab, const struct lab_job *j)
{
	struct amounts a = { .type = LAB_NO_GPU, .licences = j->licences };
	size_t i;

	for (i = 0; i < j->n_runs; i++) {
		const struct lab_run *r = &j->runs[i];

		a.gpus += bits(r->gpus);
		a.milli +=
		        (uint64_t)bits(r->gpus) * (r->share.charge ? r->share.charge : LAB_MILLI);
		if (r->gpus)
			a.gpu_mem_mb += bits(r->gpus) *
			                (r->share.charge ? r->share.mem_mb
			                                 : lab->w->conf->gpu_types[r->type].mem_mb);
		a.type = r->gpus ? r->type : a.type;
		a.cpus += r->cpus;
		a.mem_mb += r->mem_mb;
		a.nodes++;
	}
	return a;
}

static bool within_account(const struct lab *lab, uint32_t account, uint32_t above)
{
	while (account != CONF_NONE && account != above)
		account = lab->w->conf->accounts[account].parent;
	return account != CONF_NONE || above == CONF_NONE;
}

/* Whose jobs count: CONF_NONE does not matter. */
struct scope {
	uint32_t account, qos, partition, uid;
};

static bool counts(const struct lab *lab, const struct scope *s, const struct lab_job *j)
{
	return within_account(lab, j->account, s->account) &&
	       (s->qos == CONF_NONE || s->qos == j->qos) &&
	       (s->partition == CONF_NONE || s->partition == j->partition) &&
	       (s->uid == CONF_NONE || s->uid == j->uid);
}

static bool exceeds(uint64_t used, uint64_t more, uint64_t limit)
{
	return more && used + more > limit;
}

static uint64_t milli_of(const struct amounts *a, uint16_t type)
{
	return type == CONF_ANY_TYPE || type == a->type ? a->milli : 0;
}

static uint64_t milli_held(
        const struct lab *lab, const struct scope *s, uint16_t type, lab_set gone)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < lab->n_jobs; i++) {
		struct amounts a = rules_held(lab, &lab->jobs[i]);

		if (holds(lab, &lab->jobs[i], gone) && counts(lab, s, &lab->jobs[i]))
			sum += milli_of(&a, type);
	}
	return sum;
}

static const char *gpus_exceeded(const struct lab *lab, const struct scope *s,
        const struct conf_gpu_amounts *limits, const struct amounts *more, lab_set gone)
{
	size_t g;

	for (g = 0; g < limits->n; g++) {
		if (exceeds(milli_held(lab, s, limits->v[g].type, gone),
		            milli_of(more, limits->v[g].type),
		            (uint64_t)limits->v[g].count * LAB_MILLI))
			return "gpus";
	}
	return NULL;
}

static const char *exceeded(const struct lab *lab, struct scope s, const struct conf_limits *l,
        const struct amounts *more, lab_set gone)
{
	struct amounts sum = { 0 };
	uint64_t running = 0;
	size_t i;

	for (i = 0; i < lab->n_jobs; i++) {
		const struct lab_job *j = &lab->jobs[i];
		struct amounts a = rules_held(lab, j);

		if (!holds(lab, j, gone) || !counts(lab, &s, j))
			continue;
		sum.cpus += a.cpus;
		sum.nodes += a.nodes;
		sum.mem_mb += a.mem_mb;
		sum.gpu_mem_mb += a.gpu_mem_mb;
		running++;
	}
	if (exceeds(sum.cpus, more->cpus, l->cpus == CONF_NONE ? UINT64_MAX : l->cpus))
		return "cpus";
	if (exceeds(sum.nodes, more->nodes, l->nodes == CONF_NONE ? UINT64_MAX : l->nodes))
		return "nodes";
	if (exceeds(running, 1, l->running == CONF_NONE ? UINT64_MAX : l->running))
		return "running";
	if (exceeds(sum.mem_mb, more->mem_mb, l->mem_mb))
		return "mem";
	if (exceeds(sum.gpu_mem_mb, more->gpu_mem_mb, l->gpu_mem_mb))
		return "gpu_mem";
	return gpus_exceeded(lab, &s, &l->gpus, more, gone);
}

static const char *account_limit(
        const struct lab *lab, const struct lab_job *j, const struct amounts *more, lab_set gone)
{
	uint32_t a;
	const char *why = NULL;

	for (a = j->account; a != CONF_NONE && !why; a = lab->w->conf->accounts[a].parent) {
		const struct conf_account *c = &lab->w->conf->accounts[a];
		struct scope all = { a, CONF_NONE, CONF_NONE, CONF_NONE };
		struct scope user = { a, CONF_NONE, CONF_NONE, j->uid };

		why = exceeded(lab, all, &c->limits, more, gone);
		why = why ? why : exceeded(lab, user, &c->per_user, more, gone);
		why = why ? why : gpus_exceeded(lab, &all, &c->quota.limit, more, gone);
	}
	return why;
}

const char *rules_limit(
        const struct lab *lab, const struct lab_job *j, const struct amounts *more, lab_set gone)
{
	const struct conf_qos *q = &lab->w->conf->qos[j->qos];
	const struct conf_partition *p = &lab->w->conf->partitions[j->partition];
	struct scope s = { CONF_NONE, j->qos, CONF_NONE, CONF_NONE };
	const char *why = account_limit(lab, j, more, gone);
	uint64_t licences = 0;
	size_t i;

	why = why ? why : exceeded(lab, s, &q->limits, more, gone);
	s.uid = j->uid;
	why = why ? why : exceeded(lab, s, &q->per_user, more, gone);
	s = (struct scope){ CONF_NONE, CONF_NONE, j->partition, CONF_NONE };
	why = why ? why : exceeded(lab, s, &p->limits, more, gone);
	s.uid = j->uid;
	why = why ? why : exceeded(lab, s, &p->per_user, more, gone);
	for (i = 0; i < lab->n_jobs; i++) {
		if (holds(lab, &lab->jobs[i], gone))
			licences += lab->jobs[i].licences;
	}
	if (exceeds(licences, more->licences, lab->w->conf->licences[0].count))
		return "licences";
	return why;
}

/* --- quotas ---------------------------------------------------------------------------------- */

/* In thousandths, like all that follows. */
static uint64_t amount(const struct conf_gpu_amounts *v, uint16_t type, uint64_t otherwise)
{
	size_t i;

	for (i = 0; i < v->n; i++) {
		if (v->v[i].type == type)
			return (uint64_t)v->v[i].count * LAB_MILLI;
	}
	return otherwise;
}

static uint64_t held_by(const struct lab *lab, uint32_t account, uint16_t type, lab_set gone)
{
	struct scope s = { account, CONF_NONE, CONF_NONE, CONF_NONE };

	return milli_held(lab, &s, type, gone);
}

/* What must stay free for an account and all below it, if account `who` held so many more. */
static uint64_t reserve(const struct lab *lab, uint32_t account, uint16_t type, uint32_t who,
        uint64_t more, lab_set gone)
{
	const struct conf *conf = lab->w->conf;
	uint64_t own = 0, below = 0, held;
	uint32_t a;

	for (a = 0; a < conf->n_accounts; a++) {
		if (conf->accounts[a].parent == account)
			below += reserve(lab, a, type, who, more, gone);
	}
	if (account == CONF_NONE)
		return below;
	held = held_by(lab, account, type, gone) + (within_account(lab, who, account) ? more : 0);
	own = amount(&conf->accounts[account].quota.guaranteed, type, 0);
	own -= own ? amount(&conf->accounts[account].quota.lend, type, own) : 0;
	own = own > held ? own - held : 0;
	return own > below ? own : below;
}

/* GPUs of nodes that accept work, and those in use elsewhere, each once. */
static uint64_t capacity(const struct lab *lab, uint16_t type)
{
	struct room room;
	uint64_t sum = 0;
	size_t i, g;

	rules_room(lab, lab->w->now.mono, 0, &room);
	for (i = 0; i < lab->n_nodes; i++) {
		for (g = 0; g < room.v[i].n_gpus; g++) {
			if (type != CONF_ANY_TYPE && room.v[i].gpu_set[g].type != type)
				continue;
			sum += room.v[i].accepts || room.v[i].gpu_set[g].runs ? LAB_MILLI : 0;
		}
	}
	return sum;
}

bool rules_lends_kept(
        const struct lab *lab, const struct lab_job *j, const struct amounts *more, lab_set gone)
{
	uint16_t types[2] = { more->type, CONF_ANY_TYPE };
	size_t i;

	for (i = 0; i < 2 && more->milli; i++) {
		uint64_t all = held_by(lab, CONF_NONE, types[i], gone) + more->milli;
		uint64_t was = reserve(lab, CONF_NONE, types[i], j->account, 0, gone);
		uint64_t is = reserve(lab, CONF_NONE, types[i], j->account, more->milli, gone);

		if (is && all + is > capacity(lab, types[i]) && is + more->milli > was)
			return true;
	}
	return false;
}

/* One side of a cohort: the account, or the jobs that are directly in the one above. */
struct side {
	bool cohort; /* somebody in it has a guarantee */
	double guaranteed, held, weight;
};

static struct side side_of(
        const struct lab *lab, uint32_t above, uint32_t child, uint16_t type, lab_set gone)
{
	const struct conf *conf = lab->w->conf;
	struct side s = { .weight = 1 };
	uint32_t a;

	s.held = (double)held_by(lab, child == CONF_NONE ? above : child, type, gone);
	s.guaranteed = child == CONF_NONE && above == CONF_NONE
	                       ? 0
	                       : (double)amount(&conf->accounts[child == CONF_NONE ? above : child]
	                                                 .quota.guaranteed,
	                                 type, 0);
	if (child != CONF_NONE)
		s.weight = conf->accounts[child].quota.weight;
	for (a = 0; a < conf->n_accounts; a++) {
		double g = (double)amount(&conf->accounts[a].quota.guaranteed, type, 0);

		if (conf->accounts[a].parent != above)
			continue;
		s.cohort |= g > 0;
		if (child != CONF_NONE)
			continue;
		s.guaranteed -= g;
		s.held -= (double)held_by(lab, a, type, gone);
	}
	s.guaranteed = s.guaranteed < 0 ? 0 : s.guaranteed;
	return s;
}

/* Of an account and those above it, from the root: CONF_NONE first, the account last. */
static size_t way_to(const struct lab *lab, uint32_t account, uint32_t way[8])
{
	size_t n = 1, i;
	uint32_t a;

	for (a = account; a != CONF_NONE; a = lab->w->conf->accounts[a].parent)
		n++;
	for (a = account, i = n; i > 1; a = lab->w->conf->accounts[a].parent)
		way[--i] = a;
	way[0] = CONF_NONE;
	way[n] = CONF_NONE; /* the jobs directly in it */
	return n;
}

static bool reclaims(const struct lab *lab, const struct lab_job *by, const struct lab_job *victim,
        uint16_t type, uint64_t milli, lab_set gone)
{
	uint16_t types[2] = { type, CONF_ANY_TYPE };
	uint32_t mine[8], theirs[8];
	size_t i, k;
	bool over = false;

	way_to(lab, by->account, mine);
	way_to(lab, victim->account, theirs);
	if (by->account == victim->account)
		return false;
	for (i = 1; mine[i] == theirs[i]; i++)
		;
	for (k = 0; k < 2; k++) {
		struct side a = side_of(lab, mine[i - 1], mine[i], types[k], gone);
		struct side b = side_of(lab, mine[i - 1], theirs[i], types[k], gone);

		if (a.cohort && a.held + (double)milli > a.guaranteed)
			return false;
		over |= b.cohort && b.held > b.guaranteed;
	}
	return over;
}

/* --- the order ------------------------------------------------------------------------------- */

#define LEVELS 3

static void over_with(const struct lab *lab, const struct lab_job *j, size_t want, uint16_t type,
        double v[LEVELS])
{
	struct amounts least = rules_least(lab, j, want, type, j->nodes_min);
	uint32_t way[8];
	size_t n = way_to(lab, j->account, way), i, k, at = 0;

	for (i = 0; i < LEVELS; i++)
		v[i] = 0;
	for (i = 0; i < n && at < LEVELS; i++) {
		bool cohort = false;

		for (k = 0; k < 2; k++) {
			struct side s = side_of(lab, way[i], i + 1 < n ? way[i + 1] : CONF_NONE,
			        k ? CONF_ANY_TYPE : type, 0);
			double over = (s.held + (double)least.milli - s.guaranteed) / s.weight;

			cohort |= s.cohort;
			if (s.cohort && over > v[at])
				v[at] = over;
		}
		at += cohort;
	}
}

/* -1, 0 (about the same), 1 */
static int compare_over(const double x[LEVELS], const double y[LEVELS])
{
	size_t i;

	for (i = 0; i < LEVELS; i++) {
		double apart = x[i] - y[i], large = x[i] > y[i] ? x[i] : y[i];

		if (apart > large / 500 || -apart > large / 500)
			return apart < 0 ? -1 : 1;
	}
	return 0;
}

/* With the best of all that it would take. */
static void over_quota(const struct lab *lab, const struct lab_job *j, double best[LEVELS])
{
	bool any = false;
	double v[LEVELS];
	struct share part;
	uint16_t type;
	size_t a, i;

	for (i = 0; i < LEVELS; i++)
		best[i] = 0;
	for (a = 0; a < j->n_wants; a++) {
		for (type = 0; type < lab->w->conf->n_gpu_types; type++) {
			if (!rules_type(lab, j, a, type) || !rules_part(lab, j, type, &part))
				continue;
			over_with(lab, j, a, type, v);
			if (any && compare_over(v, best) >= 0)
				continue;
			memcpy(best, v, sizeof(v));
			any = true;
		}
	}
}

static int compare(const struct lab *lab, const struct lab_job *x, const struct lab_job *y, int tie)
{
	const struct conf_partition *p = lab->w->conf->partitions;
	double over_x[LEVELS], over_y[LEVELS];
	int c;

	if (p[x->partition].tier != p[y->partition].tier)
		return p[x->partition].tier > p[y->partition].tier ? -1 : 1;
	if (lab->quotas) {
		over_quota(lab, x, over_x);
		over_quota(lab, y, over_y);
		c = compare_over(over_x, over_y);
		if (c)
			return c;
		if (memcmp(over_x, over_y, sizeof(over_x)))
			return tie;
	}
	if (x->now.priority != y->now.priority)
		return x->now.priority > y->now.priority ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

bool rules_before(const struct lab *lab, const struct lab_job *x, const struct lab_job *y)
{
	return x != y && compare(lab, x, y, 1) < 0;
}

bool rules_maybe_before(const struct lab *lab, const struct lab_job *x, const struct lab_job *y)
{
	struct lab_job in = *x;
	uint32_t p;

	for (p = 0; x != y && p < x->n_list; p++) {
		in.partition = x->list[p];
		if (compare(lab, &in, y, -1) < 0)
			return true;
	}
	return false;
}

bool rules_may_start(const struct lab *lab, const struct lab_job *j, const struct room *room)
{
	uint16_t type;
	size_t a;

	for (a = 0; a < (j->n_wants ? j->n_wants : 1); a++) {
		for (type = 0; type <= lab->w->conf->n_gpu_types; type++) {
			uint16_t t = type == lab->w->conf->n_gpu_types ? LAB_NO_GPU : type;
			struct amounts most;

			if (!rules_type(lab, j, a, t) || !rules_fits(lab, j, a, t, room, false))
				continue;
			most = rules_least(lab, j, a, t, j->per_node ? j->nodes_min : j->nodes_max);
			if (!rules_limit(lab, j, &most, 0) && !rules_lends_kept(lab, j, &most, 0))
				return true;
		}
	}
	return false;
}

/* --- who may stop whom ----------------------------------------------------------------------- */

static bool qos_preempts(const struct conf *conf, uint32_t x, uint32_t y)
{
	size_t i;

	for (i = 0; i < conf->qos[x].n_preempts; i++) {
		if (conf->qos[x].preempts[i] == y)
			return true;
	}
	return false;
}

enum why rules_may_stop(const struct lab *lab, const struct lab_job *by,
        const struct lab_job *victim, uint16_t type, uint64_t milli, lab_set gone)
{
	const struct conf *conf = lab->w->conf;
	uint32_t mine = conf->partitions[by->partition].tier;
	uint32_t theirs = conf->partitions[victim->partition].tier;

	if (conf->partitions[victim->partition].preempt_mode == CONF_PREEMPT_OFF)
		return WHY_NOT;
	if (mine != theirs)
		return mine > theirs ? WHY_TIER : WHY_NOT;
	if (qos_preempts(conf, by->qos, victim->qos))
		return WHY_QOS;
	if (conf->qos[victim->qos].level > conf->qos[by->qos].level ||
	        qos_preempts(conf, victim->qos, by->qos))
		return WHY_NOT;
	if (!milli || rules_held(lab, victim).type != type)
		return WHY_NOT;
	return reclaims(lab, by, victim, type, milli, gone) ? WHY_RECLAIM : WHY_NOT;
}

usec_t rules_protected_until(const struct lab *lab, const struct lab_job *v)
{
	const struct conf *conf = lab->w->conf;
	uint32_t s = conf->qos[v->qos].min_run_s;
	usec_t last = 0;
	size_t i;

	s = s == CONF_NONE ? conf->partitions[v->partition].min_run_s : s;
	for (i = 0; i < v->n_runs; i++) {
		usec_t began = v->runs[i].running ? v->runs[i].starts : v->runs[i].ordered;

		last = began > last ? began : last;
	}
	return last + (usec_t)s * LAB_SECOND;
}

bool rules_planned_before(const struct lab *lab, const struct lab_job *j)
{
	size_t i;

	for (i = 0; i < lab->n_jobs; i++) {
		const struct lab_job *k = &lab->jobs[i];

		if (k->before.state == LAB_WAITS && k->before.has_plan && k != j &&
		        (k->preempts || rules_maybe_before(lab, k, j)))
			return true;
	}
	return false;
}
