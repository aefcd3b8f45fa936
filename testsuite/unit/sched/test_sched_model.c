/* test_sched_model.c - the scheduler against a slow and obvious one
 *
 * Random clusters, random requests, random events. After each event the model looks at every
 * waiting job in order (tier, priority, id), and for each at every node; the core must have started
 * exactly the same jobs, in the same order, in the same places. So nothing that fits is left
 * waiting, nobody is passed by, and what is woken is enough.
 *
 * In every third case GPUs are shared on some nodes, and jobs ask for parts of them beside jobs
 * that want whole ones. Which of the places is the best is test_shares's matter then: here the
 * core's must be one where the job may be (each GPU free, whole, or shared and not beyond what it
 * has), and the model goes on from there.
 *
 * SCHED_SEED=n runs that case alone, SCHED_CASES=n so many, from SCHED_FIRST=n on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/lib/core_world.h"

#define MAX_NODES  12
#define MAX_JOBS   160
#define PARTITIONS 3
#define TYPES      3
#define STEPS      250
#define ANY        TYPES
#define CARDS      64
#define CARD_ALL   1000 /* thousandths */

/* The second one's instances, cut from it, are the third. */
static const char *const type_names[TYPES + 1] = { "a100", "h100", "1g.10gb", "" };
/* MiB that can be shared. */
static const uint32_t type_mem[TYPES] = { 40 * 1024, 80 * 1024 - 640, 10 * 1024 };

/* What its runs have of a GPU that is shared. */
struct model_gpu {
	uint32_t runs, milli, mem, uid;
};

struct model_node {
	uint32_t cpus, cpus_used, mem, mem_used;
	uint32_t gpus[TYPES];       /* how many; in the order of types */
	uint64_t used, shared, out; /* whole; by some; drained */
	struct model_gpu gpu_set[CARDS];
	bool heard, drained, shares, in[PARTITIONS];
	bool apart; /* a GPU is shared by runs of one user only */
};

struct want {
	unsigned type;
	uint32_t count;
};

struct model_job {
	uint64_t id;
	unsigned partition;
	uint32_t uid;
	int nice;
	uint32_t cpus, mem;
	struct want wants[3];
	size_t n_wants;
	uint32_t milli, gpu_mem; /* of each GPU; neither: all of it */
	bool waits, held, runs;
	bool burst, again; /* it may borrow; who is ended for that waits again */
	unsigned starts, attempts;
	uint32_t node;
	uint64_t got;
	struct model_gpu part;  /* of each; runs 0: whole ones */
	uint32_t charge;        /* thousandths that each counts for */
};

struct model {
	struct world *w;
	uint64_t random;
	unsigned n_nodes;
	unsigned variety; /* of shapes: few make long classes */
	bool shares;      /* GPUs may be shared on some nodes */
	struct model_node nodes[MAX_NODES];
	uint32_t tiers[PARTITIONS];
	struct model_job jobs[MAX_JOBS];
	size_t n_jobs;
	uint64_t gpu_us; /* of all runs that are over */
	unsigned long starts, waits, parts, reclaimed;
};

static unsigned pick(struct model *m, unsigned n)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (unsigned)(m->random >> 11) % n;
}

/* --- a cluster ------------------------------------------------------------------------------- */

static size_t __attribute__((format(printf, 3, 4)))
add(char *text, size_t used, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	used += (size_t)vsnprintf(text + used, 8192 - used, fmt, ap);
	va_end(ap);
	assert_true(used < 8192);
	return used;
}

static size_t make_nodes(struct model *m, char *text, size_t used)
{
	unsigned i, t;

	m->n_nodes = 1 + pick(m, MAX_NODES);
	for (i = 0; i < m->n_nodes; i++) {
		struct model_node *n = &m->nodes[i];
		const char *comma = "";

		n->cpus = 2 + pick(m, 7);
		n->mem = 4096 * (1 + pick(m, 4));
		for (t = 0; t < TYPES; t++)
			n->gpus[t] = pick(m, 3) ? pick(m, 5) : 0;
		used = add(text, used, "%s{ name = \"n%u\"; cpus = %u; mem = \"%uM\"; gpus = \"",
		        i ? ", " : "", i, n->cpus, n->mem);
		for (t = 0; t < TYPES; t++) {
			if (!n->gpus[t])
				continue;
			used = add(text, used, "%s%s:%u", comma, type_names[t], n->gpus[t]);
			comma = ",";
		}
		n->shares = m->shares && pick(m, 3);
		n->apart = m->shares && pick(m, 3) == 0;
		used = add(text, used, "\"; share = \"%s\"; share_users = \"%s\"; }",
		        !n->shares   ? "no"
		        : pick(m, 2) ? "mps"
		                     : "watch",
		        n->apart ? "one" : "any");
	}
	return used;
}

static size_t make_partitions(struct model *m, char *text, size_t used)
{
	unsigned p, i;

	for (p = 0; p < PARTITIONS; p++) {
		bool any = false;

		m->tiers[p] = pick(m, 3);
		used = add(text, used, "%s{ name = \"p%u\"; tier = %u; plan_depth = 0; nodes = \"",
		        p ? ", " : "", p, m->tiers[p]);
		for (i = 0; i < m->n_nodes; i++) {
			bool in = pick(m, 2) || (i + 1 == m->n_nodes && !any);

			m->nodes[i].in[p] = in;
			if (in)
				used = add(text, used, "%sn%u", any ? "," : "", i);
			any |= in;
		}
		used = add(text, used, "\"; }");
	}
	return used;
}

static void make_cluster(struct model *m)
{
	char text[8192];
	size_t used = 0;

	used = add(text, used,
	        "cluster = \"model\"; controller = { host = \"h\"; };\n"
	        "priority = { weights = { age = 0; fair_share = 0; size = 0; partition = 0; "
	        "qos = 0; }; };\n"
	        "gpu_types = ( { name = \"a100\"; mem = \"40G\"; }, { name = \"h100\"; "
	        "mem = \"80G\"; mem_reserve = \"640M\"; }, { name = \"1g.10gb\"; "
	        "mem = \"10G\"; mig_of = \"h100\"; } );\n"
	        "nodes = ( ");
	used = make_nodes(m, text, used);
	used = add(text, used, " );\npartitions = ( ");
	used = make_partitions(m, text, used);
	add(text, used, " );\n");
	m->w = world_new(text);
}

/* --- the model ------------------------------------------------------------------------------- */

static uint64_t mask_of(const struct model_node *n, unsigned type)
{
	uint32_t from = 0;
	unsigned t;

	for (t = 0; t < type; t++)
		from += n->gpus[t];
	return ((1ull << n->gpus[type]) - 1) << from;
}

static uint64_t free_mask(const struct model_node *n, unsigned type)
{
	return mask_of(n, type) & ~(n->used | n->out | n->shared);
}

static uint32_t free_of(const struct model_node *n, unsigned type)
{
	return (uint32_t)__builtin_popcountll(free_mask(n, type));
}

/* What a part of a GPU of that type is: of compute alone it is as much of the memory. False: no
 * such GPU has so much. */
static bool part_of(const struct model_job *j, unsigned type, struct model_gpu *part)
{
	*part = (struct model_gpu){ 1, j->milli, j->gpu_mem, j->uid };
	if (!j->gpu_mem)
		part->mem = (uint32_t)((uint64_t)type_mem[type] * j->milli / CARD_ALL);
	return part->mem <= type_mem[type];
}

/* The GPUs of that type that will do for it. */
static uint64_t gpus_for(const struct model_node *n, const struct model_job *j, unsigned type)
{
	uint64_t mask = 0, left = mask_of(n, type) & ~(n->used | n->out);
	struct model_gpu part;
	unsigned i;

	if (!j->milli && !j->gpu_mem)
		return free_mask(n, type);
	if (!n->shares || !part_of(j, type, &part))
		return 0;
	for (i = 0; i < CARDS && left >> i; i++) {
		const struct model_gpu *c = &n->gpu_set[i];

		if (left >> i & 1 && c->milli + part.milli <= CARD_ALL &&
		        c->mem + part.mem <= type_mem[type] &&
		        (!n->apart || !c->runs || c->uid == j->uid))
			mask |= UINT64_C(1) << i;
	}
	return mask;
}

struct found {
	bool any;
	uint32_t gpus_free, cpus_free, node;
	unsigned type;
	size_t want;
};

static void consider(
        struct found *best, uint32_t gpus_free, uint32_t cpus_free, uint32_t node, unsigned type)
{
	bool better =
	        !best->any || gpus_free < best->gpus_free ||
	        (gpus_free == best->gpus_free && cpus_free < best->cpus_free) ||
	        (gpus_free == best->gpus_free && cpus_free == best->cpus_free && node < best->node);

	if (better)
		*best = (struct found){ true, gpus_free, cpus_free, node, type, 0 };
}

static bool takes(const struct model *m, const struct model_job *j, uint32_t node)
{
	const struct model_node *n = &m->nodes[node];

	return n->in[j->partition] && n->heard && !n->drained &&
	       n->cpus - n->cpus_used >= j->cpus && n->mem - n->mem_used >= j->mem;
}

static struct found best_place(
        const struct model *m, const struct model_job *j, const struct want *want)
{
	struct found best = { 0 };
	uint32_t i;
	unsigned t;

	for (i = 0; i < m->n_nodes; i++) {
		const struct model_node *n = &m->nodes[i];
		uint32_t all = 0;

		if (!takes(m, j, i))
			continue;
		for (t = 0; t < TYPES; t++) {
			uint32_t fit = (uint32_t)__builtin_popcountll(gpus_for(n, j, t));

			all += free_of(n, t);
			if (want && (want->type == ANY || want->type == t) && n->gpus[t] &&
			        fit >= want->count)
				consider(&best, fit, n->cpus - n->cpus_used, i, t);
		}
		if (!want)
			consider(&best, all, n->cpus - n->cpus_used, i, ANY);
	}
	return best;
}

/* The best place that there is for the first of its alternatives that has any. */
static struct found find_place(const struct model *m, const struct model_job *j)
{
	struct found best = { 0 };
	size_t a;

	if (!j->n_wants)
		return best_place(m, j, NULL);
	for (a = 0; a < j->n_wants && !best.any; a++) {
		best = best_place(m, j, &j->wants[a]);
		best.want = a;
	}
	return best;
}

/* Is what is looked for decided by what would be stranded? */
static bool by_strands(const struct model *m, const struct model_job *j)
{
	bool any = j->milli || j->gpu_mem;
	unsigned i;

	for (i = 0; i < m->n_nodes; i++)
		any |= m->nodes[i].in[j->partition] && m->nodes[i].shares;
	return any;
}

/* The best place is known: the lowest GPUs of it. */
static void check_best(struct model *m, const struct model_job *j, const struct found *best,
        uint32_t node, uint64_t gpus)
{
	uint64_t mask, wants = 0;
	uint32_t count = j->n_wants ? j->wants[best->want].count : 0;

	if (count) {
		for (mask = free_mask(&m->nodes[best->node], best->type); count; count--) {
			wants |= mask & -mask;
			mask &= mask - 1;
		}
	}
	if (node != best->node || gpus != wants)
		fail_msg("job %llu is on node %u with GPUs %llx, and belongs on %u with %llx",
		        (unsigned long long)j->id, node, (unsigned long long)gpus, best->node,
		        (unsigned long long)wants);
}

/* It may be there: GPUs of one type that the alternative takes, each with room for it. */
static void check_place(struct model *m, const struct model_job *j, const struct found *best,
        uint32_t node, uint64_t gpus)
{
	const struct want *want = j->n_wants ? &j->wants[best->want] : NULL;
	const struct model_node *n = &m->nodes[node];
	bool ok = takes(m, j, node) && (want || !gpus);
	unsigned t;

	for (t = 0; t < TYPES && want && !(gpus & mask_of(n, t)); t++)
		;
	if (want)
		ok = ok && t < TYPES && (want->type == ANY || want->type == t) &&
		     (uint32_t)__builtin_popcountll(gpus) == want->count &&
		     !(gpus & ~gpus_for(n, j, t));
	if (!ok)
		fail_msg("job %llu may not be on node %u with GPUs %llx", (unsigned long long)j->id,
		        node, (unsigned long long)gpus);
}

static unsigned type_at(const struct model_node *n, uint64_t gpus)
{
	unsigned t;

	for (t = 0; t < TYPES - 1 && !(gpus & mask_of(n, t)); t++)
		;
	return t;
}

static void book_cards(struct model_node *n, const struct model_job *j, int sign)
{
	unsigned i;

	if (!j->part.runs)
		n->used = sign > 0 ? n->used | j->got : n->used & ~j->got;
	for (i = 0; i < CARDS && j->part.runs; i++) {
		if (!(j->got >> i & 1))
			continue;
		n->gpu_set[i].runs += sign > 0 ? 1 : -1u;
		n->gpu_set[i].uid = j->uid;
		n->gpu_set[i].milli += sign > 0 ? j->part.milli : -j->part.milli;
		n->gpu_set[i].mem += sign > 0 ? j->part.mem : -j->part.mem;
		n->shared &= ~(UINT64_C(1) << i);
		n->shared |= n->gpu_set[i].runs ? UINT64_C(1) << i : 0;
	}
	n->cpus_used += sign > 0 ? j->cpus : -j->cpus;
	n->mem_used += sign > 0 ? j->mem : -j->mem;
}

/* It has what the core says, which must be what it asked for of each GPU. */
static void begins(struct model *m, struct model_job *j, const struct effect *e)
{
	struct found best = find_place(m, j);
	struct model_node *n = &m->nodes[e->node];
	struct run_view v;
	unsigned type;

	assert_true(core_run_view(m->w->core, e->run.run, m->w->now, &v));
	if (by_strands(m, j))
		check_place(m, j, &best, e->node, v.gpus);
	else
		check_best(m, j, &best, e->node, v.gpus);
	j->got = v.gpus;
	j->node = e->node;
	j->part = (struct model_gpu){ 0 };
	j->charge = CARD_ALL;
	if (j->milli || j->gpu_mem) {
		type = type_at(n, j->got);
		assert_true(part_of(j, type, &j->part));
		j->charge = (uint32_t)(((uint64_t)j->part.mem * CARD_ALL + type_mem[type] - 1) /
		                       type_mem[type]);
		if (!j->gpu_mem || j->charge < j->milli)
			j->charge = j->milli;
		assert_int_equal(v.share.milli, j->part.milli);
		assert_int_equal(v.share.mem_mb, j->part.mem);
		m->parts++;
	}
	assert_int_equal(v.share.charge, j->part.runs ? j->charge : 0);
	book_cards(n, j, 1);
	j->waits = false;
	j->runs = true;
	j->starts++;
}

static bool goes_before(const struct model *m, const struct model_job *x, const struct model_job *y)
{
	if (m->tiers[x->partition] != m->tiers[y->partition])
		return m->tiers[x->partition] > m->tiers[y->partition];
	if (x->nice != y->nice)
		return x->nice < y->nice;
	return x->id < y->id;
}

/* The waiting jobs in order. */
static size_t in_order(struct model *m, struct model_job **order)
{
	size_t n = 0, i, k;

	for (i = 0; i < m->n_jobs; i++) {
		if (!m->jobs[i].waits || m->jobs[i].held)
			continue;
		for (k = n++; k > 0 && goes_before(m, &m->jobs[i], order[k - 1]); k--)
			order[k] = order[k - 1];
		order[k] = &m->jobs[i];
	}
	return n;
}

static const struct effect *next_start(const struct world *w, size_t *at)
{
	while (*at < w->n_effects && w->effects[*at].kind != EFFECT_START_RUN)
		++*at;
	return *at < w->n_effects ? &w->effects[(*at)++] : NULL;
}

/* Each once: capacity only shrinks, so once is enough. */
static void compare(struct model *m)
{
	struct model_job *order[MAX_JOBS];
	size_t n = in_order(m, order), at = 0, i;
	const struct effect *e;

	for (i = 0; i < n; i++) {
		struct found best = find_place(m, order[i]);

		if (!best.any) {
			m->waits++;
			continue;
		}
		e = next_start(m->w, &at);
		if (!e)
			fail_msg("job %llu was not started; it fits on node %u",
			        (unsigned long long)order[i]->id, best.node);
		if (e->run.run.job != order[i]->id)
			fail_msg("job %llu was started before job %llu",
			        (unsigned long long)e->run.run.job,
			        (unsigned long long)order[i]->id);
		begins(m, order[i], e);
		m->starts++;
	}
	e = next_start(m->w, &at);
	if (e)
		fail_msg(
		        "job %llu was started; it should wait", (unsigned long long)e->run.run.job);
	world_clear(m->w);
}

/* What the core has billed is what its runs have used, to the millionth of a GPU-second. */
static void check_usage(struct model *m)
{
	struct share_view v;
	size_t cursor = 0;
	uint64_t sum = 0;

	while (core_share_next(m->w->core, &cursor, &v))
		sum += *v.user ? v.gpu_us : 0;
	if (sum != m->gpu_us)
		fail_msg("%llu GPU-microseconds were billed, %llu were used",
		        (unsigned long long)sum, (unsigned long long)m->gpu_us);
}

/* --- events ---------------------------------------------------------------------------------- */

/* A part of each GPU: of its compute, of its memory, or of both; some with a burst. */
static void choose_part(struct model *m, struct model_job *j, struct submit_job *job)
{
	unsigned what = pick(m, 3);

	j->milli = what != 1 ? 50 * (1 + pick(m, m->variety ? 20 : 10)) : 0;
	j->gpu_mem = what ? 2048 * (1 + pick(m, 5 << m->variety)) : 0;
	job->gpu_share_milli = j->milli;
	job->gpu_mem_mb = j->gpu_mem;
	j->burst = what && pick(m, 3) == 0;
	if (j->burst)
		job->gpu_mem_burst_mb = j->gpu_mem + 1024 * pick(m, 60);
}

static void submits(struct model *m)
{
	struct submit_job job = world_job(m->w, "");
	struct model_job *j = &m->jobs[m->n_jobs];
	char partition[8];
	size_t a;

	if (m->n_jobs == MAX_JOBS)
		return;
	memset(j, 0, sizeof(*j));
	j->partition = pick(m, PARTITIONS);
	j->nice = (int)pick(m, 3);
	j->cpus = 1 + pick(m, 1 + m->variety);
	j->mem = 1024 * (1 + pick(m, 1 + 2 * m->variety));
	j->n_wants = pick(m, 4) ? 1 + (pick(m, 4) == 0) + (pick(m, 8) == 0) : 0;
	for (a = 0; a < j->n_wants; a++) {
		j->wants[a] = (struct want){ pick(m, TYPES + 1), 1 + pick(m, 1 + m->variety) };
		job.gpus[a].type = type_names[j->wants[a].type];
		job.gpus[a].count = j->wants[a].count;
	}
	if (m->shares && j->n_wants && pick(m, 3))
		choose_part(m, j, &job);
	snprintf(partition, sizeof(partition), "p%u", j->partition);
	job.partition = partition;
	job.n_gpus = j->n_wants;
	job.cpus = j->cpus;
	job.mem_mb = j->mem;
	job.nice = j->nice;
	j->held = job.hold = pick(m, 8) == 0;
	j->again = job.requeue = !j->burst || pick(m, 2);
	j->attempts = job.max_attempts;
	j->uid = 1000 + pick(m, 3);
	j->id = world_submit_job(m->w, &job, j->uid);
	if (!j->id) {
		assert_int_equal(m->w->error.code, ERR_JOB_NEVER);
		return;
	}
	j->waits = true;
	m->n_jobs++;
}

/* By itself, or because somebody needs what it has borrowed of a GPU. */
static void ends(struct model *m, struct model_job *j)
{
	struct run_report r = world_report(world_run(m->w, j->id), REPORT_ENDED);
	bool reclaimed = j->burst && j->charge && pick(m, 3) == 0;
	uint64_t gpus = (uint64_t)__builtin_popcountll(j->got);

	r.elapsed_us = pick(m, 4) ? pick(m, 1000000) * UINT64_C(4321) : 0;
	r.start_time = m->w->now.wall;
	r.end_time = r.start_time + (usec_t)r.elapsed_us;
	m->gpu_us += r.elapsed_us * gpus * j->charge / CARD_ALL;
	book_cards(&m->nodes[j->node], j, -1);
	j->runs = false;
	if (reclaimed) {
		r.cause = END_RECLAIM;
		j->waits = j->again && j->starts < j->attempts;
		m->reclaimed++;
	}
	world_say(m->w, j->node, r);
}

static void job_changes(struct model *m)
{
	struct model_job *j;
	unsigned tries;

	if (!m->n_jobs)
		return;
	for (tries = 0; tries < 5; tries++) {
		j = &m->jobs[pick(m, (unsigned)m->n_jobs)];
		if (j->runs || j->waits)
			break;
	}
	if (j->runs && m->nodes[j->node].heard) {
		ends(m, j);
	} else if (j->waits && pick(m, 2)) {
		j->held = !j->held;
		world_control(m->w, world_admin(), j->held ? JOB_HOLD : JOB_RELEASE, j->id);
	} else if (j->waits && pick(m, 3) == 0) {
		j->waits = false;
		world_control(m->w, world_admin(), JOB_CANCEL, j->id);
	}
}

/* One of its GPUs, whoever has it, is drained or is back. */
static void gpu_changes(struct model *m, uint32_t node)
{
	struct model_node *n = &m->nodes[node];
	uint32_t all = n->gpus[0] + n->gpus[1] + n->gpus[2], g = all ? pick(m, all) : 0;
	char gpu[12];
	struct core_event e = { .kind = EV_NODE_CONTROL, .caller = world_admin() };

	if (!all)
		return;
	n->out ^= UINT64_C(1) << g;
	snprintf(gpu, sizeof(gpu), "%u", g);
	e.node.verb = n->out >> g & 1 ? NODE_DRAIN : NODE_RESUME;
	e.node.nodes = &node;
	e.node.n = 1;
	e.node.gpu = gpu;
	e.node.reason = "maintenance";
	world_apply(m->w, &e);
	assert_int_equal(m->w->error.code, ERR_NONE);
	world_schedule(m->w);
}

static void node_changes(struct model *m)
{
	uint32_t i = pick(m, m->n_nodes);
	struct model_node *n = &m->nodes[i];
	struct run_report runs[MAX_JOBS];
	size_t k = 0, j;

	if (pick(m, 2)) {
		gpu_changes(m, i);
	} else if (n->heard && pick(m, 3)) {
		n->drained = !n->drained;
		world_node(m->w, n->drained ? NODE_DRAIN : NODE_RESUME, i, false);
	} else if (n->heard) {
		n->heard = false;
		world_gone(m->w, i);
	} else {
		for (j = 0; j < m->n_jobs; j++) {
			if (m->jobs[j].runs && m->jobs[j].node == i)
				runs[k++] = world_report(
				        world_run(m->w, m->jobs[j].id), REPORT_RUNNING);
		}
		n->heard = true;
		world_register(m->w, i, "inc1", runs, k);
	}
}

/* Up to this seed core_check() is asked after each event, then once a step: it takes most of the
 * time. */
#define CHECKED 2000

struct sums {
	unsigned long starts, waits, parts, reclaimed;
};

static void one_case(uint64_t seed, struct sums *sums)
{
	static struct model m;
	struct error err;
	unsigned i;

	memset(&m, 0, sizeof(m));
	m.random = seed * 0x9e3779b97f4a7c15ull + 1;
	m.variety = pick(&m, 4);
	m.shares = seed % 3 == 0;
	make_cluster(&m);
	m.w->unchecked = seed > CHECKED;
	for (i = 0; i < m.n_nodes; i++) {
		m.nodes[i].heard = true;
		world_register(m.w, i, "inc1", NULL, 0);
	}
	for (i = 0; i < STEPS; i++) {
		unsigned what = pick(&m, 16);

		if (what < 6)
			submits(&m);
		else if (what < 14)
			job_changes(&m);
		else
			node_changes(&m);
		compare(&m);
		if (m.w->unchecked && core_check(m.w->core, &err) < 0)
			fail_msg("%s", err.text);
	}
	check_usage(&m);
	sums->starts += m.starts;
	sums->waits += m.waits;
	sums->parts += m.parts;
	sums->reclaimed += m.reclaimed;
	world_free(m.w);
}

static void cases(void **state)
{
	uint64_t from = env_number("SCHED_SEED", env_number("SCHED_FIRST", 1)), i;
	uint64_t n = getenv("SCHED_SEED") ? 1 : amount("SCHED_CASES", 2000);
	struct sums sums = { 0 };

	(void)state;
	for (i = from; i < from + n; i++) {
		printf("seed %llu\r", (unsigned long long)i);
		one_case(i, &sums);
	}
	printf("seeds %llu to %llu: %lu starts (%lu of parts of GPUs), %lu times a job had to "
	       "wait, %lu runs ended for what they had borrowed\n",
	        (unsigned long long)from, (unsigned long long)(from + n - 1), sums.starts,
	        sums.parts, sums.waits, sums.reclaimed);
	assert_true(sums.starts > 10 * n && sums.waits > 10 * n &&
	            (n == 1 || (sums.parts > n && sums.reclaimed > n / 10)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
