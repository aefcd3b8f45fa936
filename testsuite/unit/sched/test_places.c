/* test_places.c - ledger_find() against a slow and obvious model
 *
 * Random clusters with GPU types, features and leaf switches, random requests, random bookings. The
 * model looks at every node, for gangs at every set of nodes: the ledger must find something
 * exactly when there is something, with as many nodes on as few leaves as any set has, in the order
 * that ledger.h and gang.h promise. All that is taken, released and undone is compared too.
 *
 * PLACES_SEED=n runs that case alone, PLACES_CASES=n so many.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/strbuf.h"
#include "ctld/core/place/ledger.h"
#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/lib/places_conf.h"

#define MAX_NODES 64
#define MAX_GANG  10 /* nodes of clusters in which gangs are wanted: all sets are tried */
#define MAX_TAKEN 64
#define STEPS     40
#define LEAVES    5

struct node {
	struct places_node has;
	bool features[3]; /* a b c */
	bool accepts, reserved;
	uint32_t cap; /* aside: so many GPUs of a place may be used */
	uint32_t cpus_used;
	uint64_t mem_used, used;
};

struct model {
	uint64_t random;
	struct conf *conf;
	struct strings *strings;
	struct requests *requests;
	struct ledger *ledger;
	unsigned n;
	struct node nodes[MAX_NODES];
	struct places taken[MAX_TAKEN];
	size_t n_taken;
	struct places found;
	unsigned long finds[2], gangs[2], left_out; /* [1]: found something */
};

static unsigned pick(struct model *m, unsigned n)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (unsigned)(m->random >> 11) % n;
}

/* --- a cluster ------------------------------------------------------------------------------- */

static void make_cluster(struct model *m)
{
	static const char *const names[] = { "a", "b", "c" };
	unsigned leaves = pick(m, LEAVES + 1), alike = pick(m, 2), i, f;

	m->conf = places_conf();
	m->n = 1 + pick(m, pick(m, 4) ? MAX_GANG : MAX_NODES);
	for (i = 0; i < m->n; i++) {
		struct node *n = &m->nodes[i];

		n->has.cpus = alike ? 8 : 2 + pick(m, 8);
		n->has.mem_mb = 1000 * (1 + pick(m, 4));
		n->has.gpus[H100] = (uint16_t)(alike ? 4 : pick(m, 6));
		n->has.gpus[L40S] = (uint16_t)(pick(m, 3) ? 0 : pick(m, 4));
		n->has.gpus[OLD] = (uint16_t)(pick(m, 5) ? 0 : 2);
		n->has.leaf = leaves && pick(m, 8) ? pick(m, leaves) : CONF_NONE;
		places_node(m->conf, n->has);
		for (f = 0; f < 3; f++) {
			n->features[f] = pick(m, 10) < (f == 0 ? 7u : f == 1 ? 4u : 1u);
			if (n->features[f])
				places_feature(m->conf, i, names[f]);
		}
	}
	for (f = 0; f < 3; f++) { /* each feature is one */
		places_feature(m->conf, 0, names[f]);
		m->nodes[0].features[f] = true;
	}
	m->strings = strings_new(m->random);
	m->requests = requests_new(m->strings, m->conf, m->random);
	m->ledger = ledger_new(m->conf);
	for (i = 0; i < m->n; i++) {
		m->nodes[i].accepts = pick(m, 8);
		ledger_accept(m->ledger, i, m->nodes[i].accepts);
	}
}

/* --- what is wanted -------------------------------------------------------------------------- */

static bool constraint_true(const struct node *n, const char *text)
{
	const bool *f = n->features;

	if (!strcmp(text, "a&b"))
		return f[0] && f[1];
	if (!strcmp(text, "b|!c"))
		return f[1] || !f[2];
	if (!strcmp(text, "!(a&c)"))
		return !(f[0] && f[2]);
	return !*text || f[*text - 'a'];
}

static const char *random_features(struct model *m)
{
	static const char *const texts[] = { "", "", "", "", "a", "b", "c", "a&b", "b|!c",
		"!(a&c)" };

	return texts[pick(m, sizeof(texts) / sizeof(texts[0]))];
}

struct want {
	struct submit_job job;
	struct ask ask;
	struct find find;
	bool named[MAX_NODES], excluded[MAX_NODES];
	char nodelist[80], exclude[80];
};

/* At most `most`: those of a job on one node are one, in clusters without gangs. */
static void name_nodes(struct model *m, bool *set, char *text, unsigned most)
{
	unsigned i, n = 0;
	int used = 0;

	for (i = 0; i < m->n; i++) {
		set[i] = n < most && !pick(m, m->n);
		if (set[i])
			used += snprintf(text + used, 80 - used, "%sn%u", n++ ? "," : "", i);
	}
}

static void want_shape(struct model *m, struct want *w)
{
	static const char *const types[] = { "h100", "h100", "h100", "l40s", "old", "any" };
	struct submit_job *job = &w->job;

	if (pick(m, 6)) {
		job->gpus[0].type = types[pick(m, 6)];
		job->gpus[0].count = 1 + pick(m, pick(m, 2) ? 4 : 12);
		job->n_gpus = 1;
		job->gpu_mem_min_mb = pick(m, 6) ? 0 : 49152;
	}
	if (m->n <= MAX_GANG && pick(m, 3)) {
		job->nodes_min = 1 + pick(m, 4);
		job->nodes_max = job->nodes_min + (pick(m, 2) ? pick(m, 5) : 0);
		job->gpus_per_node = pick(m, 2);
	}
	job->exclusive = !pick(m, 6);
	job->constraint = random_features(m);
	job->prefer = random_features(m);
}

static bool make_want(struct model *m, struct want *w)
{
	memset(w, 0, sizeof(*w));
	want_shape(m, w);
	if (!pick(m, 4))
		name_nodes(m, w->named, w->nodelist, m->n <= MAX_GANG ? 3 : 1);
	if (!pick(m, 4))
		name_nodes(m, w->excluded, w->exclude, 3);
	w->job.nodelist = w->nodelist;
	w->job.exclude = w->exclude;
	w->ask.gpus = requests_intern(m->requests, &w->job, NULL);
	if (!w->ask.gpus)
		return false;
	w->ask.cpus = 1 + pick(m, 4);
	w->ask.mem_mb = pick(m, 3) * 700;
	w->find.spread = pick(m, 2);
	w->find.type = w->job.n_gpus ? w->ask.gpus->v[0].number : TYPE_NONE;
	return true;
}

/* --- what the model says --------------------------------------------------------------------- */

static unsigned bit_count(uint64_t mask)
{
	return (unsigned)__builtin_popcountll(mask);
}

static uint64_t gpus_of(const struct node *n, uint16_t type)
{
	uint64_t from = 0, count;
	uint16_t t;

	if (type == TYPE_NONE)
		return (1ull << (n->has.gpus[0] + n->has.gpus[1] + n->has.gpus[2])) - 1;
	for (t = 0; t < type; t++)
		from += n->has.gpus[t];
	count = n->has.gpus[type];
	return ((1ull << count) - 1) << from;
}

static unsigned gpus_free(const struct node *n, uint16_t type)
{
	return bit_count(gpus_of(n, type) & ~n->used);
}

static unsigned cpus_free(const struct node *n)
{
	return n->has.cpus - n->cpus_used;
}

/* What the node could give of the type: -1 nothing at all. */
static int offer(const struct model *m, const struct want *w, unsigned i, uint16_t type)
{
	const struct request *r = w->ask.gpus;
	const struct node *n = &m->nodes[i];
	unsigned part = !r->n ? 0 : r->per_node || r->nodes_max == 1 ? r->v[0].count : 1;
	unsigned gpus = r->n ? gpus_free(n, type) : 0;

	if (!n->accepts || w->excluded[i] || !constraint_true(n, w->job.constraint))
		return -1;
	if (cpus_free(n) < w->ask.cpus || n->has.mem_mb - n->mem_used < w->ask.mem_mb)
		return -1;
	if (r->exclusive && (n->used || n->cpus_used || n->mem_used))
		return -1;
	if (r->n && (gpus < part || gpus == 0))
		return -1;
	if (!n->reserved)
		return (int)gpus;
	if (!w->find.test)
		return -1;
	if (r->exclusive)
		return gpus <= n->cap ? (int)gpus : -1;
	if (gpus > n->cap)
		gpus = n->cap;
	return r->n && gpus < part ? -1 : (int)gpus;
}

static bool type_fine(const struct want *w, uint16_t type)
{
	static const uint64_t mem[PLACES_TYPES] = { 81920, 49152, 0 };

	return mem[type] >= w->job.gpu_mem_min_mb;
}

/* --- one node -------------------------------------------------------------------------------- */

/* x rather than y, both (type, node): the order of ledger.h. */
static bool rather(const struct model *m, const struct want *w, uint16_t tx, unsigned x,
        uint16_t ty, unsigned y)
{
	const struct node *a = &m->nodes[x], *b = &m->nodes[y];
	bool preferred_a = *w->job.prefer && constraint_true(a, w->job.prefer);
	bool preferred_b = *w->job.prefer && constraint_true(b, w->job.prefer);
	unsigned ga = gpus_free(a, tx), gb = gpus_free(b, ty);

	if (preferred_a != preferred_b)
		return preferred_a;
	if (ga != gb)
		return w->find.spread && w->ask.gpus->n ? ga > gb : ga < gb;
	if (cpus_free(a) != cpus_free(b))
		return w->find.spread ? cpus_free(a) > cpus_free(b) : cpus_free(a) < cpus_free(b);
	if (x != y)
		return w->find.spread ? x > y : x < y;
	return tx < ty;
}

static void check_one(struct model *m, const struct want *w, bool found)
{
	int best = -1;
	uint16_t best_type = 0, t;
	unsigned i;

	for (t = 0; t < PLACES_TYPES; t++) {
		uint16_t type = w->ask.gpus->n ? t : TYPE_NONE;

		if (type == TYPE_NONE ? t > 0
		                      : !type_fine(w, t) ||
		                                (w->find.type != TYPE_ANY && w->find.type != t))
			continue;
		for (i = 0; i < m->n; i++) {
			/* Of one node the list is the node. */
			if ((*w->nodelist && !w->named[i]) || offer(m, w, i, type) < 0)
				continue;
			if (best < 0 || rather(m, w, type, i, best_type, (unsigned)best)) {
				best = (int)i;
				best_type = type;
			}
		}
	}
	m->finds[found]++;
	assert_int_equal(found, best >= 0);
	if (!found)
		return;
	assert_int_equal(m->found.n, 1);
	assert_int_equal(m->found.v[0].node, best);
	assert_int_equal(m->found.type, best_type);
}

/* --- gangs ----------------------------------------------------------------------------------- */

struct set {
	unsigned nodes, leaves, gpus;
	uint32_t leaf_set; /* bit 0: nodes without one */
	bool wanted_only;  /* required and preferred nodes only */
};

static bool is_preferred(const struct model *m, const struct want *w, unsigned i)
{
	return *w->job.prefer && constraint_true(&m->nodes[i], w->job.prefer);
}

/* Is that set of nodes a gang? */
static bool set_of(
        const struct model *m, const struct want *w, uint16_t type, unsigned mask, struct set *s)
{
	const struct request *r = w->ask.gpus;
	unsigned i;

	memset(s, 0, sizeof(*s));
	s->wanted_only = *w->job.prefer;
	for (i = 0; i < m->n; i++) {
		int gpus;

		if (!(mask >> i & 1)) {
			if (w->named[i])
				return false;
			continue;
		}
		gpus = offer(m, w, i, type);
		if (gpus < 0)
			return false;
		s->nodes++;
		s->gpus += (unsigned)gpus;
		s->leaf_set |= 1u << (m->nodes[i].has.leaf + 1);
		s->wanted_only &= w->named[i] || is_preferred(m, w, i);
	}
	s->leaves = bit_count(s->leaf_set);
	if (s->nodes < r->nodes_min || s->nodes > r->nodes_max)
		return false;
	return !r->n || r->per_node || (s->gpus >= r->v[0].count && s->nodes <= r->v[0].count);
}

/* Better in what counts before the choice among equals. */
static bool set_better(const struct want *w, const struct set *x, const struct set *y)
{
	bool total = w->ask.gpus->n && !w->ask.gpus->per_node;

	if (x->wanted_only != y->wanted_only)
		return x->wanted_only;
	if (x->nodes != y->nodes)
		return total ? x->nodes < y->nodes : x->nodes > y->nodes;
	return x->leaves < y->leaves;
}

static bool best_set(const struct model *m, const struct want *w, uint16_t type, struct set *best)
{
	bool any = false;
	unsigned mask;
	struct set s;

	for (mask = 1; mask < 1u << m->n; mask++) {
		if (!set_of(m, w, type, mask, &s) || (any && !set_better(w, &s, best)))
			continue;
		*best = s;
		any = true;
	}
	return any;
}

/* x rather than y in a gang, on equal leaves: the order of gang.h. */
static bool gang_rather(const struct model *m, const struct want *w, unsigned x, unsigned y)
{
	const struct request *r = w->ask.gpus;
	const struct node *a = &m->nodes[x], *b = &m->nodes[y];
	int ga = (int)gpus_free(a, m->found.type), gb = (int)gpus_free(b, m->found.type);

	if (r->n && !r->per_node) {
		ga = offer(m, w, x, m->found.type);
		gb = offer(m, w, y, m->found.type);
		if (ga != gb)
			return ga > gb;
	}
	if (is_preferred(m, w, x) != is_preferred(m, w, y))
		return is_preferred(m, w, x);
	if (ga != gb)
		return r->n && w->find.spread ? ga > gb : ga < gb;
	if (cpus_free(a) != cpus_free(b))
		return w->find.spread ? cpus_free(a) > cpus_free(b) : cpus_free(a) < cpus_free(b);
	return x < y;
}

/* Nobody on the chosen leaves who was not taken should have been. */
static void check_choice(struct model *m, const struct want *w, unsigned mask, const struct set *s)
{
	unsigned i, k;

	for (i = 0; i < m->n; i++) {
		if (mask >> i & 1 || offer(m, w, i, m->found.type) < 0 ||
		        !(s->leaf_set >> (m->nodes[i].has.leaf + 1) & 1) ||
		        (s->wanted_only && !is_preferred(m, w, i)))
			continue;
		for (k = 0; k < m->n; k++)
			assert_false(mask >> k & 1 && !w->named[k] && gang_rather(m, w, i, k));
	}
}

/* Each part is of that node, free, and all of it is as much as was asked for. */
static void check_parts(struct model *m, const struct want *w, unsigned *mask)
{
	const struct request *r = w->ask.gpus;
	unsigned gpus = 0;
	size_t i;

	*mask = 0;
	for (i = 0; i < m->found.n; i++) {
		const struct place *p = &m->found.v[i];
		const struct node *n = &m->nodes[p->node];
		uint64_t own = r->n ? gpus_of(n, m->found.type) : 0;

		assert_true(i == 0 || p->node > p[-1].node);
		assert_int_equal(p->type, m->found.type);
		assert_int_equal(p->gpus & ~own, 0);
		assert_int_equal(p->gpus & n->used, 0);
		assert_int_equal(p->cpus, r->exclusive ? n->has.cpus : w->ask.cpus);
		assert_int_equal(p->mem_mb, r->exclusive ? n->has.mem_mb : w->ask.mem_mb);
		if (r->exclusive)
			assert_int_equal(p->gpus, own);
		else if (r->n && (r->per_node || r->nodes_max == 1))
			assert_int_equal(bit_count(p->gpus), r->v[0].count);
		else if (r->n)
			assert_true(p->gpus);
		if (n->reserved)
			assert_true(bit_count(p->gpus) <= n->cap && w->find.test);
		gpus += bit_count(p->gpus);
		*mask |= 1u << p->node;
	}
	if (r->n && !r->per_node)
		assert_true(r->exclusive ? gpus >= r->v[0].count : gpus == r->v[0].count);
}

/* One leaf of several that would do: packed the one with the least, spread that with the most. */
static void check_leaf(
        struct model *m, const struct want *w, const struct set *best, const struct set *mine)
{
	bool total = w->ask.gpus->n && !w->ask.gpus->per_node;
	unsigned sums[LEAVES + 1] = { 0 }, leaf, mask, i;
	struct set s;

	if (best->leaves != 1 || *w->nodelist)
		return;
	for (i = 0; i < m->n; i++) {
		int gpus = offer(m, w, i, m->found.type);

		if (gpus >= 0 && (!best->wanted_only || is_preferred(m, w, i)))
			sums[m->nodes[i].has.leaf + 1] += total ? (unsigned)gpus : 1;
	}
	for (mask = 1; mask < 1u << m->n; mask++) {
		if (!set_of(m, w, m->found.type, mask, &s) || set_better(w, best, &s))
			continue;
		leaf = (unsigned)__builtin_ctz(s.leaf_set);
		i = (unsigned)__builtin_ctz(mine->leaf_set);
		assert_true(w->find.spread ? sums[i] >= sums[leaf] : sums[i] <= sums[leaf]);
	}
}

static void check_gang(struct model *m, const struct want *w, bool found)
{
	struct set best = { 0 }, mine;
	bool any = false;
	unsigned mask;
	uint16_t t;

	for (t = 0; t < PLACES_TYPES && !any; t++) {
		uint16_t type = w->ask.gpus->n ? t : TYPE_NONE;

		if (type == TYPE_NONE ? t > 0
		                      : !type_fine(w, t) ||
		                                (w->find.type != TYPE_ANY && w->find.type != t))
			continue;
		any = best_set(m, w, type, &best);
		if (any && found)
			assert_int_equal(m->found.type, type);
	}
	m->gangs[found]++;
	assert_int_equal(found, any);
	if (!found)
		return;
	check_parts(m, w, &mask);
	assert_true(set_of(m, w, m->found.type, mask, &mine));
	if (set_better(w, &best, &mine))
		fail_msg("%s %s: %u nodes on %u leaves, not %u on %u", w->ask.gpus->text,
		        w->ask.gpus->place, mine.nodes, mine.leaves, best.nodes, best.leaves);
	check_leaf(m, w, &best, &mine);
	check_choice(m, w, mask, &mine);
}

/* --- steps ----------------------------------------------------------------------------------- */

static bool test_aside(void *arg, struct place *place, uint64_t gpu_set)
{
	struct model *m = arg;

	(void)gpu_set;

	assert_true(m->nodes[place->node].reserved);
	return bit_count(place->gpus) <= m->nodes[place->node].cap;
}

static void check_fits(struct model *m, const struct want *w)
{
	uint16_t only = w->find.type;
	unsigned i;

	for (i = 0; i < m->n; i++) {
		struct node was = m->nodes[i], *n = &m->nodes[i];
		bool listed = !*w->nodelist || w->named[i] ||
		              w->ask.gpus->n_required < w->ask.gpus->nodes_max;
		bool fits = false, could = false;
		uint16_t t;

		n->reserved = false;
		for (t = 0; t < PLACES_TYPES; t++) {
			uint16_t type = w->ask.gpus->n ? t : TYPE_NONE;

			if (type != TYPE_NONE &&
			        (!type_fine(w, t) || (only != TYPE_ANY && only != t)))
				continue;
			fits |= listed && offer(m, w, i, type) >= 0;
			n->accepts = true;
			n->used = n->mem_used = n->cpus_used = 0;
			could |= listed && offer(m, w, i, type) >= 0;
			*n = was;
			n->reserved = false;
		}
		*n = was;
		assert_int_equal(ledger_fits_part(m->ledger, i, &w->ask, 0), fits);
		assert_int_equal(ledger_could_fit_part(m->ledger, i, &w->ask, 0, TYPE_ANY), could);
	}
}

static void book(struct model *m, const struct places *places, bool take)
{
	size_t i;

	for (i = 0; i < places->n; i++) {
		const struct place *p = &places->v[i];
		struct node *n = &m->nodes[p->node];

		if (take)
			ledger_take(m->ledger, p);
		else
			ledger_release(m->ledger, p);
		n->used ^= p->gpus;
		n->cpus_used += take ? p->cpus : -p->cpus;
		n->mem_used += take ? p->mem_mb : -p->mem_mb;
	}
}

static void find(struct model *m)
{
	struct want w;
	bool found;

	if (!make_want(m, &w)) {
		m->left_out++;
		return;
	}
	if (pick(m, 4)) {
		w.find.test = test_aside;
		w.find.arg = m;
	}
	found = ledger_find(m->ledger, 0, &w.ask, &w.find, &m->found);
	if (w.ask.gpus->nodes_max == 1)
		check_one(m, &w, found);
	else
		check_gang(m, &w, found);
	check_fits(m, &w);
	if (found && m->n_taken < MAX_TAKEN && pick(m, 4)) {
		book(m, &m->found, true);
		m->taken[m->n_taken++] = m->found;
		memset(&m->found, 0, sizeof(m->found));
	}
	requests_drop(m->requests, w.ask.gpus);
}

static void release(struct model *m)
{
	size_t i;

	if (!m->n_taken)
		return;
	i = pick(m, (unsigned)m->n_taken);
	book(m, &m->taken[i], false);
	places_free(&m->taken[i]);
	m->taken[i] = m->taken[--m->n_taken];
}

static void change_node(struct model *m)
{
	unsigned i = pick(m, m->n);
	struct node *n = &m->nodes[i];

	if (pick(m, 2)) {
		n->accepts = !n->accepts;
		ledger_accept(m->ledger, i, n->accepts);
	} else {
		n->reserved = !n->reserved;
		n->cap = pick(m, 5);
		ledger_set_reserved(m->ledger, i, n->reserved);
	}
}

static void check_books(struct model *m)
{
	char text[200];
	uint16_t t;
	unsigned i;

	if (!ledger_check(m->ledger, text, sizeof(text)))
		fail_msg("%s", text);
	for (i = 0; i < m->n; i++) {
		assert_int_equal(ledger_gpus_used(m->ledger, i), m->nodes[i].used);
		assert_int_equal(ledger_cpus_free(m->ledger, i), cpus_free(&m->nodes[i]));
		assert_int_equal(ledger_mem_free_mb(m->ledger, i),
		        m->nodes[i].has.mem_mb - m->nodes[i].mem_used);
		assert_int_equal(ledger_is_reserved(m->ledger, i), m->nodes[i].reserved);
	}
	for (t = 0; t < PLACES_TYPES; t++) {
		uint32_t total, free_now, most, where, sum = 0, best = 0;

		for (i = 0; i < m->n; i++) {
			uint32_t n = m->nodes[i].accepts ? gpus_free(&m->nodes[i], t) : 0;

			sum += n;
			best = n > best ? n : best;
		}
		if (!ledger_set_gpus(m->ledger, 0, t, &total, &free_now, &most, &where))
			continue;
		assert_int_equal(free_now, sum);
		assert_int_equal(most, best);
		if (best)
			assert_int_equal(gpus_free(&m->nodes[where], t), best);
	}
}

/* What if, and what if in it: afterwards all is as it was. */
static void wonder(struct model *m, int depth)
{
	struct node was[MAX_NODES];
	struct places taken[MAX_TAKEN];
	size_t n_taken = m->n_taken, i;
	unsigned steps = pick(m, 6);

	memcpy(was, m->nodes, sizeof(was));
	memset(taken, 0, sizeof(taken));
	for (i = 0; i < n_taken; i++) {
		size_t p;

		for (p = 0; p < m->taken[i].n; p++)
			places_add(&taken[i], &m->taken[i].v[p]);
	}
	ledger_mark(m->ledger);
	while (steps--) {
		if (depth < 2 && !pick(m, 4))
			wonder(m, depth + 1);
		else if (pick(m, 2))
			find(m);
		else
			release(m);
	}
	ledger_undo(m->ledger);
	for (i = 0; i < m->n_taken; i++)
		places_free(&m->taken[i]);
	memcpy(m->nodes, was, sizeof(was));
	memcpy(m->taken, taken, sizeof(taken));
	m->n_taken = n_taken;
	check_books(m);
}

static void one_case(uint64_t seed, struct model *sums)
{
	static struct model m;
	int i;

	memset(&m, 0, sizeof(m));
	m.random = seed * 0x9e3779b97f4a7c15ull + 1;
	make_cluster(&m);
	for (i = 0; i < STEPS; i++) {
		unsigned what = pick(&m, 16);

		if (what < 9)
			find(&m);
		else if (what < 12)
			release(&m);
		else if (what < 14)
			change_node(&m);
		else
			wonder(&m, 0);
		check_books(&m);
	}
	while (m.n_taken)
		release(&m);
	check_books(&m);
	for (i = 0; i < 2; i++) {
		sums->finds[i] += m.finds[i];
		sums->gangs[i] += m.gangs[i];
	}
	places_free(&m.found);
	ledger_free(m.ledger);
	requests_free(m.requests);
	assert_int_equal(strings_count(m.strings), 0);
	strings_free(m.strings);
	places_conf_free(m.conf);
}

static void cases(void **state)
{
	uint64_t from = env_number("PLACES_SEED", 1), i;
	uint64_t n = getenv("PLACES_SEED") ? 1 : amount("PLACES_CASES", 2000);
	struct model sums = { 0 };

	(void)state;
	for (i = from; i < from + n; i++) {
		printf("seed %llu\r", (unsigned long long)i);
		one_case(i, &sums);
	}
	printf("seeds %llu to %llu: one node %lu found, %lu not; gangs %lu found, %lu not\n",
	        (unsigned long long)from, (unsigned long long)(from + n - 1), sums.finds[1],
	        sums.finds[0], sums.gangs[1], sums.gangs[0]);
	if (n >= 100) {
		assert_true(sums.finds[0] > n && sums.finds[1] > n);
		assert_true(sums.gangs[0] > n && sums.gangs[1] > n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
