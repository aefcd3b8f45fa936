/* test_sched_model.c - the scheduler against a slow and obvious one
 *
 * Random clusters, random requests, random events. After each event the model looks at every
 * waiting job in order (tier, priority, id), and for each at every node; the core must have started
 * exactly the same jobs, in the same order, in the same places. So nothing that fits is left
 * waiting, nobody is passed by, and what is woken is enough.
 *
 * SCHED_SEED=n runs that case alone, SCHED_CASES=n so many, from SCHED_FIRST=n on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testsuite/unit/core_world.h"

#define MAX_NODES  12
#define MAX_JOBS   160
#define PARTITIONS 3
#define TYPES      3
#define STEPS      250
#define ANY        TYPES

static const char *const type_names[TYPES + 1] = { "a100", "h100", "l40s", "" };

struct model_node {
	uint32_t cpus, cpus_used, mem, mem_used;
	uint32_t gpus[TYPES]; /* how many; in the order of types */
	uint64_t used;
	bool heard, drained, in[PARTITIONS];
};

struct want {
	unsigned type;
	uint32_t count;
};

struct model_job {
	uint64_t id;
	unsigned partition;
	int nice;
	uint32_t cpus, mem;
	struct want wants[3];
	size_t n_wants;
	bool waits, held, runs;
	uint32_t node;
	uint64_t got;
};

struct model {
	struct world *w;
	uint64_t random;
	unsigned n_nodes;
	unsigned variety; /* of shapes: few make long classes */
	struct model_node nodes[MAX_NODES];
	uint32_t tiers[PARTITIONS];
	struct model_job jobs[MAX_JOBS];
	size_t n_jobs;
	unsigned long starts, waits;
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
		used = add(text, used, "\"; }");
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
	        "gpu_types = ( { name = \"a100\"; }, { name = \"h100\"; }, { name = \"l40s\"; } "
	        ");\n"
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

static uint32_t free_of(const struct model_node *n, unsigned type)
{
	return (uint32_t)__builtin_popcountll(mask_of(n, type) & ~n->used);
}

struct found {
	bool any;
	uint32_t gpus_free, cpus_free, node;
	unsigned type;
};

static void consider(
        struct found *best, uint32_t gpus_free, uint32_t cpus_free, uint32_t node, unsigned type)
{
	bool better =
	        !best->any || gpus_free < best->gpus_free ||
	        (gpus_free == best->gpus_free && cpus_free < best->cpus_free) ||
	        (gpus_free == best->gpus_free && cpus_free == best->cpus_free && node < best->node);

	if (better)
		*best = (struct found){ true, gpus_free, cpus_free, node, type };
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

		if (!n->in[j->partition] || !n->heard || n->drained ||
		        n->cpus - n->cpus_used < j->cpus || n->mem - n->mem_used < j->mem)
			continue;
		for (t = 0; t < TYPES; t++) {
			all += free_of(n, t);
			if (want && (want->type == ANY || want->type == t) && n->gpus[t] &&
			        free_of(n, t) >= want->count)
				consider(&best, free_of(n, t), n->cpus - n->cpus_used, i, t);
		}
		if (!want)
			consider(&best, all, n->cpus - n->cpus_used, i, ANY);
	}
	return best;
}

static bool start_if_fits(struct model *m, struct model_job *j)
{
	struct found best = { 0 };
	uint32_t count = 0;
	struct model_node *n;
	uint64_t mask;
	size_t a;

	if (!j->n_wants)
		best = best_place(m, j, NULL);
	for (a = 0; a < j->n_wants && !best.any; a++) {
		best = best_place(m, j, &j->wants[a]);
		count = j->wants[a].count;
	}
	if (!best.any)
		return false;
	n = &m->nodes[best.node];
	j->got = 0;
	if (j->n_wants) {
		for (mask = mask_of(n, best.type) & ~n->used; count; count--) {
			j->got |= mask & -mask;
			mask &= mask - 1;
		}
	}
	n->used |= j->got;
	n->cpus_used += j->cpus;
	n->mem_used += j->mem;
	j->node = best.node;
	j->waits = false;
	j->runs = true;
	return true;
}

static bool goes_before(const struct model *m, const struct model_job *x, const struct model_job *y)
{
	if (m->tiers[x->partition] != m->tiers[y->partition])
		return m->tiers[x->partition] > m->tiers[y->partition];
	if (x->nice != y->nice)
		return x->nice < y->nice;
	return x->id < y->id;
}

/* The waiting jobs in order, each once. Capacity only shrinks, so once is enough. */
static size_t model_pass(struct model *m, struct model_job **started)
{
	struct model_job *order[MAX_JOBS];
	size_t n = 0, n_started = 0, i, k;

	for (i = 0; i < m->n_jobs; i++) {
		if (!m->jobs[i].waits || m->jobs[i].held)
			continue;
		for (k = n++; k > 0 && goes_before(m, &m->jobs[i], order[k - 1]); k--)
			order[k] = order[k - 1];
		order[k] = &m->jobs[i];
	}
	for (i = 0; i < n; i++) {
		if (start_if_fits(m, order[i]))
			started[n_started++] = order[i];
	}
	m->waits += n - n_started;
	return n_started;
}

static void compare(struct model *m)
{
	struct model_job *started[MAX_JOBS];
	size_t n = model_pass(m, started), k = 0, i;

	for (i = 0; i < m->w->n_effects; i++) {
		const struct effect *e = &m->w->effects[i];
		struct run_view v;

		if (e->kind != EFFECT_START_RUN)
			continue;
		if (k >= n)
			fail_msg("job %llu was started; it should wait",
			        (unsigned long long)e->run.run.job);
		if (e->run.run.job != started[k]->id)
			fail_msg("job %llu was started before job %llu",
			        (unsigned long long)e->run.run.job,
			        (unsigned long long)started[k]->id);
		assert_true(core_run_view(m->w->core, e->run.run, m->w->now, &v));
		if (e->node != started[k]->node || v.gpus != started[k]->got)
			fail_msg("job %llu is on node %u with GPUs %llx, and belongs on %u with "
			         "%llx",
			        (unsigned long long)e->run.run.job, e->node,
			        (unsigned long long)v.gpus, started[k]->node,
			        (unsigned long long)started[k]->got);
		k++;
	}
	if (k < n)
		fail_msg("job %llu was not started; it fits on node %u",
		        (unsigned long long)started[k]->id, started[k]->node);
	m->starts += n;
	world_clear(m->w);
}

/* --- events ---------------------------------------------------------------------------------- */

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
	snprintf(partition, sizeof(partition), "p%u", j->partition);
	job.partition = partition;
	job.n_gpus = j->n_wants;
	job.cpus = j->cpus;
	job.mem_mb = j->mem;
	job.nice = j->nice;
	j->held = job.hold = pick(m, 8) == 0;
	j->id = world_submit_job(m->w, &job, 1000 + pick(m, 3));
	if (!j->id) {
		assert_int_equal(m->w->error.code, ERR_JOB_NEVER);
		return;
	}
	j->waits = true;
	m->n_jobs++;
}

static void frees(struct model *m, struct model_job *j)
{
	struct model_node *n = &m->nodes[j->node];

	n->used &= ~j->got;
	n->cpus_used -= j->cpus;
	n->mem_used -= j->mem;
	j->runs = false;
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
		frees(m, j);
		world_run_ends(m->w, j->id, 0);
	} else if (j->waits && pick(m, 2)) {
		j->held = !j->held;
		world_control(m->w, world_admin(), j->held ? JOB_HOLD : JOB_RELEASE, j->id);
	} else if (j->waits && pick(m, 3) == 0) {
		j->waits = false;
		world_control(m->w, world_admin(), JOB_CANCEL, j->id);
	}
}

static void node_changes(struct model *m)
{
	uint32_t i = pick(m, m->n_nodes);
	struct model_node *n = &m->nodes[i];
	struct run_report runs[MAX_JOBS];
	size_t k = 0, j;

	if (n->heard && pick(m, 3)) {
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

static void one_case(uint64_t seed, unsigned long *starts, unsigned long *waits)
{
	static struct model m;
	struct error err;
	unsigned i;

	memset(&m, 0, sizeof(m));
	m.random = seed * 0x9e3779b97f4a7c15ull + 1;
	m.variety = pick(&m, 4);
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
	*starts += m.starts;
	*waits += m.waits;
	world_free(m.w);
}

static void cases(void **state)
{
	const char *seed = getenv("SCHED_SEED"), *cases_wanted = getenv("SCHED_CASES");
	const char *first = getenv("SCHED_FIRST");
	uint64_t from = seed ? strtoull(seed, NULL, 10) : first ? strtoull(first, NULL, 10) : 1;
	uint64_t n = seed ? 1 : cases_wanted ? strtoull(cases_wanted, NULL, 10) : 2000, i;
	unsigned long starts = 0, waits = 0;

	(void)state;
	for (i = from; i < from + n; i++) {
		printf("seed %llu\r", (unsigned long long)i);
		one_case(i, &starts, &waits);
	}
	printf("seeds %llu to %llu: %lu starts, %lu times a job had to wait\n",
	        (unsigned long long)from, (unsigned long long)(from + n - 1), starts, waits);
	assert_true(starts > 10 * n && waits > 10 * n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
