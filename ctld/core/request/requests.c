/* requests.c - see requests.h
 *
 * Requests are interned: the jobs that ask for the same share one `struct request`, so equality is
 * a comparison of pointers, and what is derived from a request (which nodes may be used, what a
 * place costs) can be kept for all of them. A request is immutable. What depends on the
 * configuration, its types' numbers and its sets of nodes, is computed by requests_resolve() when
 * the configuration changes.
 *
 * A request is found by two texts in one spelling (shape.c): its GPUs, and everything else. They
 * are also what its row keeps, so a job that is loaded finds the request of those that are there.
 * The table owns the requests; each job and each class holds a reference.
 */
#include "ctld/core/request/requests_impl.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "ctld/core/request/nodefilter.h"
#include "ctld/core/request/shape.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

/* Both kept: equal texts are equal pointers. */
struct key {
	const char *text, *place;
};

static uint64_t key_hash(const char *text, const char *place, uint64_t seed)
{
	return hash_u64((uintptr_t)place, hash_u64((uintptr_t)text, seed));
}

static uint64_t request_hash(const void *item, uint64_t seed)
{
	const struct request *r = item;

	return key_hash(r->text, r->place, seed);
}

static bool request_equal(const void *item, const void *key)
{
	const struct request *r = item;
	const struct key *k = key;

	return r->text == k->text && r->place == k->place;
}

struct requests *requests_new(struct strings *strings, const struct conf *conf, uint64_t seed)
{
	struct requests *rs = xcalloc(1, sizeof(*rs));

	rs->strings = strings;
	rs->conf = conf;
	rs->seed = seed;
	rs->filter = nodefilter_new(conf, seed);
	rs->table = table_new(request_hash, seed);
	return rs;
}

static void request_unresolve(struct request *r)
{
	free(r->allowed);
	free(r->required);
	free(r->preferred);
	free(r->avoided);
	r->allowed = r->required = r->preferred = r->avoided = NULL;
	r->n_required = 0;
}

static void request_free(struct requests *rs, struct request *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		strings_drop(rs->strings, r->v[i].type);
	for (uint32_t i = 0; i < r->n_licence_names; i++)
		strings_drop(rs->strings, r->licence_names[i]);
	DROP_TEXTS(rs->strings, r, text, place, constraint, prefer, nodelist, exclude, service);
	request_unresolve(r);
	free(r);
}

void requests_free(struct requests *rs)
{
	size_t cursor = 0;
	struct request *r;

	if (!rs)
		return;
	while ((r = table_each(rs->table, &cursor)))
		request_free(rs, r);
	table_free(rs->table);
	nodefilter_free(rs->filter);
	shape_memo_clear(&rs->memo);
	free(rs);
}

/* --- what a configuration makes of it -------------------------------------------------------- */

/* TYPE_NONE for an empty name, TYPE_GONE for one that the configuration does not have. */
uint16_t gpu_type_number(const struct conf *conf, const char *name)
{
	if (!*name)
		return TYPE_NONE;
	for (size_t t = 0; t < conf->n_gpu_types; t++) {
		if (!strcmp(conf->gpu_types[t].name, name))
			return (uint16_t)t;
	}
	return TYPE_GONE;
}

uint16_t licence_number(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->n_licences; i++) {
		if (!strcmp(conf->licences[i].name, name))
			return (uint16_t)i;
	}
	return LICENCE_GONE;
}

/* False: one of them is gone. */
static bool resolve_licences(const struct conf *conf, struct request *r)
{
	bool all = true;

	r->n_licences = 0;
	for (size_t i = 0; i < r->n_licence_names; i++) {
		uint16_t number = licence_number(conf, r->licence_names[i]);

		if (number == LICENCE_GONE)
			all = false;
		else
			r->licences[r->n_licences++] =
			        (struct licence_need){ number, r->licence_counts[i] };
	}
	return all;
}

bool request_set_has(const uint64_t *set, uint32_t node)
{
	return set[node / 64] >> node % 64 & 1;
}

uint32_t request_set_count(const uint64_t *set, size_t words)
{
	uint32_t n = 0;

	for (size_t i = 0; i < words; i++)
		n += (uint32_t)__builtin_popcountll(set[i]);
	return n;
}

/* Which nodes it may use: the features, none that is excluded, and when the node list names as many
 * as may be used, only those. */
static void resolve_nodes(const struct requests *rs, struct request *r)
{
	size_t words = nodefilter_words(rs->filter), i;
	uint64_t *excluded;
	uint32_t n;

	request_unresolve(r);
	if (*r->prefer)
		r->preferred = nodefilter_features(rs->filter, r->prefer);
	if (*r->nodelist)
		r->required = nodefilter_nodes(rs->filter, r->nodelist, &r->n_required);
	if (*r->constraint)
		r->allowed = nodefilter_features(rs->filter, r->constraint);
	if (!r->allowed && (*r->exclude || r->required)) {
		r->allowed = xcalloc(words, sizeof(uint64_t));
		memset(r->allowed, 0xff, words * sizeof(uint64_t));
	}
	if (*r->exclude) {
		excluded = nodefilter_nodes(rs->filter, r->exclude, &n);
		for (i = 0; i < words; i++)
			r->allowed[i] &= ~excluded[i];
		free(excluded);
	}
	if (!r->required)
		return;
	if (request_set_count(r->required, words) < r->n_required)
		memset(r->allowed, 0, words * sizeof(uint64_t));
	for (i = 0; r->n_required == r->nodes_max && i < words; i++)
		r->allowed[i] &= r->required[i];
}

/* A name that is gone makes the request impossible until it is back: a type by its number, a
 * licence by an empty set of nodes. */
static void resolve(const struct requests *rs, struct request *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		r->v[i].number = *r->v[i].type ? gpu_type_number(rs->conf, r->v[i].type) : TYPE_ANY;
	resolve_nodes(rs, r);
	if (!resolve_licences(rs->conf, r)) {
		free(r->allowed);
		r->allowed = xcalloc(nodefilter_words(rs->filter), sizeof(uint64_t));
	}
	r->n_allowed = r->allowed ? request_set_count(r->allowed, nodefilter_words(rs->filter)) : 0;
}

/* All requests anew: once for each configuration, not for each job. */
void requests_resolve(struct requests *rs, const struct conf *conf)
{
	size_t cursor = 0;
	struct request *r;

	rs->conf = conf;
	nodefilter_free(rs->filter);
	rs->filter = nodefilter_new(conf, rs->seed);
	while ((r = table_each(rs->table, &cursor)))
		resolve(rs, r);
}

/* --- keeping --------------------------------------------------------------------------------- */

static struct request *request_new(struct requests *rs, const struct shape *s)
{
	struct request *r = xcalloc(1, sizeof(*r));

	r->n = (uint32_t)s->n;
	for (size_t i = 0; i < s->n; i++) {
		r->v[i].type = strings_intern(rs->strings, s->v[i].type);
		r->v[i].count = s->v[i].count;
	}
	COPY_FIELDS(r, s, nodes_min, nodes_max, per_node, exclusive, gpu_mem_min_mb, link, tmp_mb,
	        service, ports, share, gpu_mem_burst_mb, constraint, prefer, nodelist, exclude);
	KEEP_TEXTS(rs->strings, r, service, constraint, prefer, nodelist, exclude);
	r->n_licence_names = s->n_licences;
	for (size_t i = 0; i < s->n_licences; i++) {
		r->licence_names[i] = strings_intern(rs->strings, s->licences[i].name);
		r->licence_counts[i] = s->licences[i].count;
	}
	resolve(rs, r);
	return r;
}

static void drop_key(struct requests *rs, const struct key *key)
{
	DROP_TEXTS(rs->strings, key, text, place);
}

/* The request of these texts, counted once more; NULL: there is none. The key's texts are kept by
 * then, for a new one. */
static struct request *find(
        struct requests *rs, const char *text, const char *place, struct key *key)
{
	struct request *r;

	*key = (struct key){ strings_intern(rs->strings, text),
		strings_intern(rs->strings, place) };
	r = table_find(rs->table, key_hash(key->text, key->place, table_seed(rs->table)),
	        request_equal, key);
	if (!r)
		return NULL;
	drop_key(rs, key);
	r->refs++;
	return r;
}

static struct request *keep(struct requests *rs, const struct shape *s)
{
	struct key key;
	struct request *r = find(rs, s->text, s->place, &key);

	if (r)
		return r;
	r = request_new(rs, s);
	r->text = key.text;
	r->place = key.place;
	table_add(rs->table, r);
	r->refs++;
	return r;
}

const struct request *requests_intern(
        struct requests *rs, const struct submit_job *job, struct error *err)
{
	const struct request *r;
	struct shape s;

	if (shape_read(&s, job, &rs->memo, err) < 0)
		return NULL;
	r = keep(rs, &s);
	shape_clear(&s);
	if (request_check(rs, r, err) == 0)
		return r;
	requests_drop(rs, r);
	return NULL;
}

const struct request *requests_parse(
        struct requests *rs, const char *gpus, const char *place, struct error *err)
{
	struct key key;
	const struct request *r = find(rs, gpus, place, &key);
	struct shape s;

	if (r)
		return r;
	drop_key(rs, &key);
	if (shape_parse(&s, gpus, place, err) < 0)
		return NULL;
	r = keep(rs, &s);
	shape_clear(&s);
	return r;
}

const struct request *requests_again(const struct request *r)
{
	((struct request *)(uintptr_t)r)->refs++;
	return r;
}

void requests_drop(struct requests *rs, const struct request *r)
{
	struct request *mine = (struct request *)(uintptr_t)r;

	if (!r)
		return;
	assert(mine->refs);
	if (--mine->refs)
		return;
	table_remove(rs->table, mine);
	request_free(rs, mine);
}

void requests_avoid(struct requests *rs, const struct request *r, const uint32_t *nodes, size_t n)
{
	struct request *mine = (struct request *)(uintptr_t)r;

	free(mine->avoided);
	mine->avoided = NULL;
	if (!n)
		return;
	mine->avoided = xcalloc(nodefilter_words(rs->filter), sizeof(*mine->avoided));
	for (size_t i = 0; i < n; i++)
		mine->avoided[nodes[i] / 64] |= 1ull << nodes[i] % 64;
}

/* --- looking --------------------------------------------------------------------------------- */

bool request_allows(const struct request *r, uint32_t node)
{
	return !r->allowed || request_set_has(r->allowed, node);
}

bool request_requires(const struct request *r, uint32_t node)
{
	return r->required && request_set_has(r->required, node);
}

bool request_prefers(const struct request *r, uint32_t node)
{
	return r->preferred && request_set_has(r->preferred, node);
}

bool request_avoids(const struct request *r, uint32_t node)
{
	return r->avoided && request_set_has(r->avoided, node);
}

bool request_type_ok(
        const struct request *r, const struct conf *conf, uint32_t alternative, uint16_t type)
{
	uint16_t number = alternative < r->n ? r->v[alternative].number : TYPE_NONE;

	if (type == TYPE_NONE || number == TYPE_NONE)
		return type == number;
	return type < conf->n_gpu_types && (number == TYPE_ANY || number == type) &&
	       conf->gpu_types[type].mem_mb >= r->gpu_mem_min_mb;
}

/* The least of one node: of a total on several nodes at least one GPU each. */
uint32_t request_part_gpus(const struct request *r, uint32_t alternative)
{
	if (!r->n)
		return 0;
	return r->per_node || r->nodes_max == 1 ? r->v[alternative].count : 1;
}

uint32_t request_all_gpus(const struct request *r, uint32_t alternative, uint32_t nodes)
{
	if (!r->n)
		return 0;
	return r->v[alternative].count * (r->per_node ? nodes : 1);
}

char *request_words(const struct request *r, char buf[REQUEST_WORDS])
{
	char share[UNITS_TEXT];

	share_format(share, r->share.mem_mb, r->share.milli);
	snprintf(buf, REQUEST_WORDS, "%.110s%s%s", r->text, *share ? "/" : "", share);
	return buf;
}

/* They are the last words of the place. */
const char *request_licences(const struct request *r)
{
	return r->n_licence_names ? strrchr(r->place, '=') + 1 : "";
}
