/* rival_placements.c - see rival_placements.h */
#include "ctld/gsim/rival_placements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/gsim/cluster.h"

#define MILLI        1000
#define TYPE_WORDS   (CONF_MAX_GPU_TYPES / 64)
#define POPULARITY   0.95 /* of the jobs are typical ones */
#define SCORES       ((size_t)1 << 18)
#define SCORE_NEVER  INFINITY

struct task {
	uint32_t gpus, milli, cpus; /* milli: of each GPU */
	bool any;                   /* type of GPU */
	uint64_t types[TYPE_WORDS]; /* else these */
};

struct typical {
	struct task task;
	double part; /* of the jobs */
};

struct node {
	uint32_t n, cpus;
	uint64_t mem_mb;
	uint16_t type[CONF_MAX_GPUS_PER_NODE];
	uint32_t left[CONF_MAX_GPUS_PER_NODE]; /* thousandths */
	uint64_t state;                        /* a number for all that a score depends on */
};

/* What a place for one task on a node in that state costs, and on which GPUs. */
struct score {
	uint64_t key;
	double cost;
	uint64_t gpus;
};

struct rival {
	enum rival_kind kind;
	char **type_names;
	size_t n_types;
	struct node *nodes;
	size_t n_nodes;
	uint32_t most_cpus, most_gpus; /* of one node */
	struct typical *typical;
	size_t n_typical;
	struct score *scores; /* SCORES of them: a score is the same in the same state */
};

/* --- tasks ----------------------------------------------------------------------------------- */

static void add_type(const struct rival *r, struct task *t, const char *name, size_t length)
{
	size_t i;

	for (i = 0; i < r->n_types; i++) {
		if (strlen(r->type_names[i]) == length && !memcmp(r->type_names[i], name, length))
			t->types[i / 64] |= (uint64_t)1 << i % 64;
	}
}

static struct task task_of(const struct rival *r, const struct history_job *job)
{
	struct task t;
	const char *name = job->gpu_type;

	memset(&t, 0, sizeof(t)); /* compared by its bytes */
	t.gpus = job->gpus;
	t.milli = job->gpus ? job->gpu_milli : 0;
	t.cpus = job->cpus;
	t.any = !*name;
	while (*name) {
		size_t length = strcspn(name, "|");

		add_type(r, &t, name, length);
		name += length + (name[length] == '|');
	}
	return t;
}

static bool type_does(const struct task *t, uint16_t type)
{
	return t->any || t->types[type / 64] >> type % 64 & 1;
}

static uint32_t total_left(const struct node *n)
{
	uint32_t left = 0, i;

	for (i = 0; i < n->n; i++)
		left += n->left[i];
	return left;
}

/* Thousandths on GPUs that each have enough for the task; 0: it cannot be there. */
static uint32_t usable(const struct node *n, const struct task *t)
{
	uint32_t sum = 0, gpus = 0, i;

	if (t->cpus > n->cpus)
		return 0;
	for (i = 0; i < n->n; i++) {
		if (n->left[i] < t->milli || !type_does(t, n->type[i]))
			continue;
		sum += n->left[i];
		gpus++;
	}
	return gpus < t->gpus ? 0 : sum;
}

/* --- the workload ---------------------------------------------------------------------------- */

static int by_task(const void *x, const void *y)
{
	const struct typical *a = x, *b = y;

	return memcmp(&a->task, &b->task, sizeof(a->task));
}

static int by_part(const void *x, const void *y)
{
	const struct typical *a = x, *b = y;

	if (a->part != b->part)
		return a->part > b->part ? -1 : 1;
	return by_task(x, y);
}

static void find_typical(struct rival *r, const struct history_job *workload, size_t n)
{
	struct typical *v = xcalloc(n + 1, sizeof(*v));
	size_t kinds = 0, i;
	double sum = 0;

	for (i = 0; i < n; i++)
		v[i] = (struct typical){ task_of(r, &workload[i]), 1 };
	qsort(v, n, sizeof(*v), by_task);
	for (i = 0; i < n; i++) {
		if (kinds && !by_task(&v[kinds - 1], &v[i]))
			v[kinds - 1].part++;
		else
			v[kinds++] = v[i];
	}
	qsort(v, kinds, sizeof(*v), by_part);
	for (i = 0; i < kinds && sum < POPULARITY * (double)n; i++)
		sum += v[i].part;
	r->typical = v;
	r->n_typical = i;
	for (i = 0; i < r->n_typical; i++)
		v[i].part /= sum;
}

/* --- scores ---------------------------------------------------------------------------------- */

static void take_place(struct node *n, const struct task *t, uint64_t gpus)
{
	n->cpus -= t->cpus;
	for (; gpus; gpus &= gpus - 1)
		n->left[__builtin_ctzll(gpus)] -= t->milli;
}

/* The expected fragmentation: the mean of what typical tasks cannot use. */
static double fragmentation(const struct rival *r, const struct node *n)
{
	uint32_t all = total_left(n);
	double sum = 0;
	size_t i;

	for (i = 0; all && i < r->n_typical; i++) {
		const struct typical *t = &r->typical[i];

		sum += t->part * (all - (t->task.gpus ? usable(n, &t->task) : 0));
	}
	return sum;
}

static double growth(
        const struct rival *r, const struct node *n, const struct task *t, uint64_t gpus)
{
	struct node after = *n;

	take_place(&after, t, gpus);
	return fragmentation(r, &after) - fragmentation(r, n);
}

/* What is left after it, as a part of the largest node; CPUs and GPUs count half each. */
static double fit(const struct rival *r, const struct node *n, const struct task *t)
{
	return 0.5 * (n->cpus - t->cpus) / (r->most_cpus ? r->most_cpus : 1) +
	       0.5 * (total_left(n) - t->gpus * t->milli) /
	               ((double)MILLI * (r->most_gpus ? r->most_gpus : 1));
}

static bool gpu_does(const struct node *n, const struct task *t, uint32_t i)
{
	return n->left[i] >= t->milli && type_does(t, n->type[i]);
}

/* The first GPUs that do. */
static uint64_t first_gpus(const struct node *n, const struct task *t)
{
	uint64_t gpus = 0;
	uint32_t found = 0, i;

	for (i = 0; i < n->n && found < t->gpus; i++) {
		if (!gpu_does(n, t, i))
			continue;
		gpus |= (uint64_t)1 << i;
		found++;
	}
	return gpus;
}

/* One GPU, shared: for FGD where the node's fragmentation grows least, of equal ones the fullest;
 * for BestFit the fullest. */
static uint64_t best_gpu(
        const struct rival *r, const struct node *n, const struct task *t, double *least)
{
	uint32_t at = n->n, i;

	for (i = 0; i < n->n; i++) {
		double cost;

		if (!gpu_does(n, t, i))
			continue;
		cost = r->kind == RIVAL_FGD ? growth(r, n, t, (uint64_t)1 << i) : 0;
		if (at < n->n && (cost > *least || (cost == *least && n->left[i] >= n->left[at])))
			continue;
		*least = cost;
		at = i;
	}
	return (uint64_t)1 << at;
}

static void judge(const struct rival *r, const struct node *n, const struct task *t, struct score *s)
{
	bool shared = t->gpus == 1 && t->milli < MILLI;
	double grows = 0;

	s->gpus = shared ? best_gpu(r, n, t, &grows) : first_gpus(n, t);
	if (r->kind == RIVAL_BESTFIT) {
		s->cost = fit(r, n, t);
		return;
	}
	if (!shared)
		grows = growth(r, n, t, s->gpus);
	s->cost = -floor(100 / (1 + exp(grows / MILLI)));
}

/* --- known scores ---------------------------------------------------------------------------- */

static uint64_t hash(uint64_t h, uint64_t value)
{
	h = (h ^ value) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static void set_state(struct node *n)
{
	uint32_t i;

	n->state = hash(1, n->cpus);
	for (i = 0; i < n->n; i++)
		n->state = hash(n->state, (uint64_t)n->left[i] << 16 | n->type[i]);
}

static uint64_t task_hash(const struct task *t)
{
	uint64_t h = hash(hash(hash(2, t->gpus), t->milli), (uint64_t)t->cpus << 1 | t->any);
	size_t i;

	for (i = 0; i < TYPE_WORDS; i++)
		h = hash(h, t->types[i]);
	return h;
}

static const struct score *score(
        struct rival *r, const struct node *n, const struct task *t, uint64_t task)
{
	uint64_t key = hash(task, n->state) | 1;
	struct score *s = &r->scores[key >> 46];

	if (s->key != key) {
		s->key = key;
		judge(r, n, t, s);
	}
	return s;
}

/* --- the rival ------------------------------------------------------------------------------- */

static void fill_node(struct rival *r, struct node *n, const struct conf_node *conf)
{
	size_t i;
	uint32_t k;

	n->cpus = conf->cpus ? conf->cpus : CLUSTER_CPUS;
	n->mem_mb = conf->mem_mb ? conf->mem_mb : CLUSTER_MEM_MB;
	for (i = 0; i < conf->n_gpus; i++) {
		for (k = 0; k < conf->gpus[i].count; k++) {
			n->type[n->n] = conf->gpus[i].type;
			n->left[n->n++] = MILLI;
		}
	}
	set_state(n);
	r->most_cpus = n->cpus > r->most_cpus ? n->cpus : r->most_cpus;
	r->most_gpus = n->n > r->most_gpus ? n->n : r->most_gpus;
}

struct rival *rival_new(const struct conf *conf, enum rival_kind kind,
        const struct history_job *workload, size_t n)
{
	struct rival *r = xcalloc(1, sizeof(*r));
	size_t i;

	r->kind = kind;
	r->n_types = conf->n_gpu_types;
	r->type_names = xcalloc(r->n_types + 1, sizeof(*r->type_names));
	for (i = 0; i < r->n_types; i++)
		r->type_names[i] = xstrdup(conf->gpu_types[i].name);
	r->n_nodes = conf->n_nodes;
	r->nodes = xcalloc(r->n_nodes + 1, sizeof(*r->nodes));
	for (i = 0; i < r->n_nodes; i++)
		fill_node(r, &r->nodes[i], &conf->nodes[i]);
	r->scores = xcalloc(SCORES, sizeof(*r->scores));
	find_typical(r, workload, n);
	return r;
}

void rival_free(struct rival *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->n_types; i++)
		free(r->type_names[i]);
	free(r->type_names);
	free(r->nodes);
	free(r->scores);
	free(r->typical);
	free(r);
}

long rival_place(struct rival *r, const struct history_job *job, uint64_t *gpus)
{
	struct task t = task_of(r, job);
	uint64_t h = task_hash(&t), chosen = 0;
	double least = SCORE_NEVER, fits = SCORE_NEVER;
	long best = -1;
	size_t i;

	for (i = 0; i < r->n_nodes; i++) {
		struct node *n = &r->nodes[i];
		const struct score *s;
		double f;

		if (n->mem_mb < job->mem_mb || n->cpus < t.cpus || (t.gpus && !usable(n, &t)))
			continue;
		s = score(r, n, &t, h);
		if (s->cost > least)
			continue;
		f = fit(r, n, &t);
		if (s->cost == least && f >= fits)
			continue;
		least = s->cost;
		fits = f;
		chosen = s->gpus;
		best = (long)i;
	}
	if (best < 0)
		return -1;
	take_place(&r->nodes[best], &t, t.gpus ? chosen : 0);
	r->nodes[best].mem_mb -= job->mem_mb;
	set_state(&r->nodes[best]);
	if (gpus)
		*gpus = t.gpus ? chosen : 0;
	return best;
}
