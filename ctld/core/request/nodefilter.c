/* nodefilter.c - see nodefilter.h
 *
 * Grammar of an expression, the loosest operator first:
 *
 *	any_of  = all_of { '|' all_of }
 *	all_of  = one { '&' one }
 *	one     = '!' one | '(' any_of ')' | word
 *
 * One walk by recursive descent serves all uses; each level has a set of nodes of its own, as bits.
 * A name is found in a hash table, and the nodes of a feature are a set that is made once for a
 * configuration. An evaluation costs the words of the expression times the nodes / 64.
 */
#include "ctld/core/request/nodefilter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

#define MAX_DEPTH 32 /* of parentheses and ! in an expression; faults name both */
#define MAX_WORD  64
#define SHOWN     100 /* bytes of a text in an error */

/* A name, and the nodes that have it: of a feature a set, of a node its index. */
struct named {
	const char *name; /* borrowed from the configuration */
	uint64_t *set;    /* owned */
	uint32_t index;
};

struct nodefilter {
	const struct conf *conf;
	size_t words;
	struct named *nodes;
	struct table *by_name; /* of nodes */
	struct table *features;
};

static uint64_t named_hash(const void *item, uint64_t seed)
{
	const char *name = ((const struct named *)item)->name;

	return hash_bytes(name, strlen(name), seed);
}

static bool named_equal(const void *item, const void *key)
{
	return !strcmp(((const struct named *)item)->name, key);
}

static struct named *named_find(const struct table *t, const char *name)
{
	return table_find(t, hash_bytes(name, strlen(name), table_seed(t)), named_equal, name);
}

static void set_bit(uint64_t *set, uint32_t node)
{
	set[node / 64] |= 1ull << node % 64;
}

/* Borrows names from the configuration, which must outlive it. */
struct nodefilter *nodefilter_new(const struct conf *conf, uint64_t seed)
{
	struct nodefilter *f = xcalloc(1, sizeof(*f));

	f->conf = conf;
	f->words = (conf->n_nodes + 63) / 64;
	f->nodes = xcalloc(conf->n_nodes, sizeof(*f->nodes));
	f->by_name = table_new(named_hash, seed);
	f->features = table_new(named_hash, seed);
	for (uint32_t i = 0; i < conf->n_nodes; i++) {
		const struct conf_texts *has = &conf->nodes[i].features;

		f->nodes[i] = (struct named){ .name = conf->nodes[i].name, .index = i };
		table_add(f->by_name, &f->nodes[i]);
		for (size_t k = 0; k < has->n; k++) {
			struct named *feature = named_find(f->features, has->v[k]);

			if (!feature) {
				feature = xcalloc(1, sizeof(*feature));
				feature->name = has->v[k];
				feature->set = xcalloc(f->words, sizeof(uint64_t));
				table_add(f->features, feature);
			}
			set_bit(feature->set, i);
		}
	}
	return f;
}

void nodefilter_free(struct nodefilter *f)
{
	size_t cursor = 0;
	struct named *feature;

	if (!f)
		return;
	while ((feature = table_each(f->features, &cursor))) {
		free(feature->set);
		free(feature);
	}
	table_free(f->features);
	table_free(f->by_name);
	free(f->nodes);
	free(f);
}

size_t nodefilter_words(const struct nodefilter *f)
{
	return f->words;
}

/* --- expressions of features ----------------------------------------------------------------- */

/* One walk for all: with a filter it evaluates, without one it only checks the grammar. */
struct walk {
	const struct nodefilter *f; /* NULL: grammar alone */
	const char *at;
	unsigned depth;
	const char *fault;          /* a literal; NULL: none yet */
	char unknown[MAX_WORD + 1]; /* the first word that is no feature; "" */
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("-_.", c));
}

static bool word(struct walk *w, uint64_t *set)
{
	char name[MAX_WORD + 1];
	const struct named *feature;
	size_t n = 0;

	while (is_word(w->at[n]))
		n++;
	if (!n || n > MAX_WORD) {
		w->fault = n ? "a feature of more than 64 bytes" : "a feature is missing";
		return false;
	}
	memcpy(name, w->at, n);
	name[n] = '\0';
	w->at += n;
	if (!w->f)
		return true;
	feature = named_find(w->f->features, name);
	if (feature)
		memcpy(set, feature->set, w->f->words * sizeof(*set));
	else if (!*w->unknown)
		memcpy(w->unknown, name, n + 1);
	return true;
}

static bool any_of(struct walk *w, uint64_t *set);

static bool one(struct walk *w, uint64_t *set)
{
	bool ok, not = *w->at == '!';

	if (*w->at != '!' && *w->at != '(')
		return word(w, set);
	if (++w->depth > MAX_DEPTH) {
		w->fault = "nested more than 32 deep";
		return false;
	}
	w->at++;
	ok = not ? one(w, set) : any_of(w, set);
	w->depth--;
	if (!ok)
		return false;
	if (not ) {
		for (size_t i = 0; w->f && i < w->f->words; i++)
			set[i] = ~set[i];
	} else if (*w->at++ != ')') {
		w->fault = "a ) is missing";
		return false;
	}
	return true;
}

/* PART OP PART OP ..., the sets joined. */
static bool joined(
        struct walk *w, uint64_t *set, char op, bool (*part)(struct walk *w, uint64_t *set))
{
	uint64_t *other;
	bool ok = part(w, set);

	while (ok && *w->at == op) {
		w->at++;
		other = w->f ? xcalloc(w->f->words, sizeof(*other)) : NULL;
		ok = part(w, other);
		for (size_t i = 0; ok && other && i < w->f->words; i++)
			set[i] = op == '&' ? set[i] & other[i] : set[i] | other[i];
		free(other);
	}
	return ok;
}

static bool all_of(struct walk *w, uint64_t *set)
{
	return joined(w, set, '&', one);
}

static bool any_of(struct walk *w, uint64_t *set)
{
	return joined(w, set, '|', all_of);
}

static bool walk(struct walk *w, uint64_t *set)
{
	if (!any_of(w, set))
		return false;
	if (*w->at)
		w->fault = "expected features joined by & (and), | (or), ! (not) and parentheses";
	return !*w->at;
}

/* Without spaces, so that equal expressions are more often equal texts; the caller frees it. */
char *nodefilter_expression(const char *option, const char *text, struct error *err)
{
	char *bare = xcalloc(strlen(text) + 1, 1), shown[SHOWN];
	struct walk w = { .at = bare };
	size_t n = 0;

	while (*text) {
		size_t space = strspn(text, " \t");

		/* One between two words stays, and is refused: it joins nothing. */
		if (space && n && is_word(bare[n - 1]) && is_word(text[space]))
			bare[n++] = ' ';
		text += space;
		if (*text)
			bare[n++] = *text++;
	}
	if (walk(&w, NULL))
		return bare;
	text_escape(shown, sizeof(shown), bare, n);
	error_set(err, ERR_JOB_SPEC, "%s=%s: %s", option, shown, w.fault);
	free(bare);
	return NULL;
}

uint64_t *nodefilter_features(const struct nodefilter *f, const char *expression)
{
	uint64_t *set = xcalloc(f->words, sizeof(*set));
	struct walk w = { .f = f, .at = expression };

	if (!walk(&w, set))
		memset(set, 0, f->words * sizeof(*set));
	return set;
}

static const char *nearest_feature(const struct nodefilter *f, const char *name)
{
	const char **names = xcalloc(table_count(f->features) + 1, sizeof(*names)), *near;
	const struct named *feature;
	size_t cursor = 0, n = 0, i;

	while ((feature = table_each(f->features, &cursor))) {
		/* In the order of letters: the answer must not depend on hashes. */
		for (i = n++; i && strcmp(names[i - 1], feature->name) > 0; i--)
			names[i] = names[i - 1];
		names[i] = feature->name;
	}
	near = text_nearest(name, names);
	free(names);
	return near;
}

int nodefilter_check_features(
        const struct nodefilter *f, const char *option, const char *expression, struct error *err)
{
	uint64_t *set = xcalloc(f->words, sizeof(*set));
	struct walk w = { .f = f, .at = expression };
	const char *near;

	walk(&w, set);
	free(set);
	if (!*w.unknown)
		return 0;
	near = nearest_feature(f, w.unknown);
	return error_set(err, ERR_JOB_SPEC, "%s: no node has the feature '%s'%s%s%s", option,
	        w.unknown, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* --- names of nodes -------------------------------------------------------------------------- */

struct names {
	const struct nodefilter *f;
	uint64_t *set;
	uint32_t n;
	char missing[HOSTLIST_NAME_MAX + 1]; /* the first that is not there */
};

static int name_one(const char *name, void *arg)
{
	struct names *names = arg;
	const struct named *node = named_find(names->f->by_name, name);

	names->n++;
	if (node)
		set_bit(names->set, node->index);
	else if (!*names->missing)
		memcpy(names->missing, name, strlen(name) + 1);
	return 0;
}

uint64_t *nodefilter_nodes(const struct nodefilter *f, const char *hostlist, uint32_t *n)
{
	struct names names = { .f = f, .set = xcalloc(f->words, sizeof(uint64_t)) };

	hostlist_each(hostlist, HOSTLIST_MAX, name_one, &names, NULL);
	*n = names.n;
	return names.set;
}

int nodefilter_check_nodes(
        const struct nodefilter *f, const char *option, const char *hostlist, struct error *err)
{
	struct names names = { .f = f, .set = xcalloc(f->words, sizeof(uint64_t)) };

	hostlist_each(hostlist, HOSTLIST_MAX, name_one, &names, NULL);
	free(names.set);
	if (!*names.missing)
		return 0;
	return error_set(err, ERR_NO_NODE, "%s: there is no node '%s'", option, names.missing);
}
