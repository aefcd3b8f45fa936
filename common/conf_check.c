/* conf_check.c - what joins several keys: names, nodes, partitions; see conf_schema.h
 *
 * Runs after all keys were read, also when some of them were wrong: a field that could not be read
 * is empty here, and nothing is told twice for it.
 */
#include "common/conf_schema.h"

#include <stdlib.h>
#include <string.h>

#include "common/hostlist.h"
#include "common/text.h"
#include "common/units.h"
#include "common/xalloc.h"

#define PATH_TEXT 48  /* of a list, an index and a key */
#define NAMES_MAX 200 /* bytes of names in one problem */

/* The setting `key` of entry i of a list section, for the place of a problem. */
static const config_setting_t *setting_at(
        const struct conf_reader *r, const char *section, size_t i, const char *key)
{
	const config_setting_t *list = config_lookup(&r->tree, section);
	const config_setting_t *entry = config_setting_get_elem(list, (unsigned)i);
	const config_setting_t *setting = config_setting_get_member(entry, key);

	return setting ? setting : entry;
}

static unsigned line_of(const struct conf_reader *r, const config_setting_t *setting)
{
	return conf_source_line(&r->src, config_setting_source_line(setting)).line;
}

/* Names within a list section, other than hostlists, are there once. */
struct named {
	const char *name;
	size_t index;
};

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int d = strcmp(x->name, y->name);

	return d ? d : (x->index > y->index) - (x->index < y->index);
}

static void check_names(struct conf_reader *r, const struct conf_section *section)
{
	size_t n = conf_section_count(section, &r->raw), known = 0;
	struct named *v = xcalloc(n, sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		char *const *name = (char *const *)((char *)conf_section_base(section, &r->raw, i) +
		                                    section->keys[0].at);

		if (*name)
			v[known++] = (struct named){ *name, i };
	}
	if (known)
		qsort(v, known, sizeof(*v), compare_named);
	for (size_t i = 1; i < known; i++) {
		size_t first = i - 1;

		if (strcmp(v[i].name, v[first].name))
			continue;
		conf_reader_problem(r, setting_at(r, section->name, v[i].index, "name"),
		        "%s[%zu].name: \"%s\": is also the name of %s[%zu], line %u", section->name,
		        v[i].index, v[i].name, section->name, v[first].index,
		        line_of(r, setting_at(r, section->name, v[first].index, "name")));
	}
	free(v);
}

/* --- nodes ----------------------------------------------------------------------------------- */

/* The nodes by name. */
struct index {
	struct named *v; /* name, index into conf.nodes */
	size_t n;
	bool whole; /* every entry of `nodes` could be expanded */
};

static void node_add(struct conf *conf, const struct conf_node *entry, const char *name)
{
	struct conf_node *node = &conf->nodes[conf->n_nodes++];

	*node = *entry;
	node->name = xstrdup(name);
	node->gpus =
	        entry->n_gpus ? xmemdup(entry->gpus, entry->n_gpus * sizeof(*entry->gpus)) : NULL;
}

/* Expand entry i of `nodes`; -1: it cannot be. entry_of[node] is the entry a node is from. */
static int entry_expand(struct conf_reader *r, size_t i, size_t **entry_of)
{
	struct conf *conf = &r->raw.conf;
	const struct conf_node *entry = &r->raw.entries[i];
	char **names, path[PATH_TEXT];
	struct error err;
	size_t n;

	if (!entry->name)
		return -1;
	if (hostlist_expand(entry->name, CONF_MAX_NODES, &names, &n, &err) < 0) {
		snprintf(path, sizeof(path), "nodes[%zu].name", i);
		conf_reader_refuse(
		        r, setting_at(r, "nodes", i, "name"), path, entry->name, err.text);
		return -1;
	}
	if (conf->n_nodes + n > CONF_MAX_NODES) {
		conf_reader_problem(r, setting_at(r, "nodes", i, "name"),
		        "nodes[%zu].name: more than %d nodes", i, CONF_MAX_NODES);
		free(names);
		return -1;
	}
	conf->nodes = xrealloc(conf->nodes, conf->n_nodes + n, sizeof(*conf->nodes));
	*entry_of = xrealloc(*entry_of, conf->n_nodes + n, sizeof(**entry_of));
	for (size_t j = 0; j < n; j++) {
		(*entry_of)[conf->n_nodes] = i;
		node_add(conf, entry, names[j]);
	}
	free(names);
	return 0;
}

static void index_make(struct index *index, const struct conf *conf)
{
	index->n = conf->n_nodes;
	index->v = xcalloc(index->n, sizeof(*index->v));
	for (size_t i = 0; i < index->n; i++)
		index->v[i] = (struct named){ conf->nodes[i].name, i };
	if (index->n)
		qsort(index->v, index->n, sizeof(*index->v), compare_named);
}

static int compare_name(const void *name, const void *named)
{
	return strcmp(name, ((const struct named *)named)->name);
}

static const struct named *index_find(const struct index *index, const char *name)
{
	return bsearch(name, index->v, index->n, sizeof(*index->v), compare_name);
}

/* A node that entry `later` has, and `first` before it. */
struct overlap {
	size_t later, first;
	const char *name;
};

static int compare_overlaps(const void *a, const void *b)
{
	const struct overlap *x = a, *y = b;

	if (x->later != y->later)
		return x->later < y->later ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static void overlap_problem(struct conf_reader *r, const struct overlap *v, size_t n)
{
	const char **names = xcalloc(n, sizeof(*names));
	char *list, shown[NAMES_MAX];

	for (size_t i = 0; i < n; i++)
		names[i] = v[i].name;
	list = hostlist_compress(names, n);
	text_escape(shown, sizeof(shown), list, strlen(list));
	conf_reader_problem(r, setting_at(r, "nodes", v->later, "name"),
	        "nodes[%zu].name: %s: already in nodes[%zu], line %u", v->later, shown, v->first,
	        line_of(r, setting_at(r, "nodes", v->first, "name")));
	free(list);
	free(names);
}

/* A node is in one entry only. Told once for each pair of entries. */
static void check_overlaps(struct conf_reader *r, const struct index *index, const size_t *entry_of)
{
	struct overlap *v = xcalloc(index->n, sizeof(*v));
	size_t n = 0;

	for (size_t i = 1; i < index->n; i++) {
		if (!strcmp(index->v[i - 1].name, index->v[i].name))
			v[n++] = (struct overlap){ entry_of[index->v[i].index],
				entry_of[index->v[i - 1].index], index->v[i].name };
	}
	if (n)
		qsort(v, n, sizeof(*v), compare_overlaps);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && !compare_overlaps(&v[i], &v[end]);)
			end++;
		overlap_problem(r, &v[i], end - i);
	}
	free(v);
}

static void check_nodes(struct conf_reader *r, struct index *index)
{
	size_t *entry_of = NULL;

	index->whole = r->raw.n_entries > 0;
	for (size_t i = 0; i < r->raw.n_entries; i++) {
		if (entry_expand(r, i, &entry_of) < 0)
			index->whole = false;
	}
	index_make(index, &r->raw.conf);
	check_overlaps(r, index, entry_of);
	free(entry_of);
}

/* --- partitions ------------------------------------------------------------------------------ */

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void partition_all(struct conf_partition *p, const struct conf *conf)
{
	p->n_nodes = conf->n_nodes;
	p->nodes = xcalloc(p->n_nodes, sizeof(*p->nodes));
	for (size_t i = 0; i < p->n_nodes; i++)
		p->nodes[i] = (uint32_t)i;
}

/* The indices of `names`; those that there are not become a problem. */
static void partition_join(
        struct conf_reader *r, size_t i, char **names, size_t n, const struct index *index)
{
	struct conf_partition *p = &r->raw.conf.partitions[i];
	const char **unknown = xcalloc(n, sizeof(*unknown));
	char *list, shown[NAMES_MAX];
	size_t n_unknown = 0;

	p->nodes = xcalloc(n, sizeof(*p->nodes));
	for (size_t j = 0; j < n; j++) {
		const struct named *found = index_find(index, names[j]);

		if (found)
			p->nodes[p->n_nodes++] = (uint32_t)found->index;
		else
			unknown[n_unknown++] = names[j];
	}
	if (p->n_nodes)
		qsort(p->nodes, p->n_nodes, sizeof(*p->nodes), compare_u32);
	if (n_unknown && index->whole) {
		list = hostlist_compress(unknown, n_unknown);
		text_escape(shown, sizeof(shown), list, strlen(list));
		conf_reader_problem(r, setting_at(r, "partitions", i, "nodes"),
		        "partitions[%zu].nodes: %s: not in nodes", i, shown);
		free(list);
	}
	free(unknown);
}

/* The nodes as they are written give way to the same in one form. */
static void partition_rename(struct conf_partition *p, const struct conf *conf)
{
	const char **names = xcalloc(p->n_nodes, sizeof(*names));

	for (size_t j = 0; j < p->n_nodes; j++)
		names[j] = conf->nodes[p->nodes[j]].name;
	free(p->node_names);
	p->node_names = hostlist_compress(names, p->n_nodes);
	free(names);
}

static void check_times(struct conf_reader *r, size_t i)
{
	const struct conf_partition *p = &r->raw.conf.partitions[i];
	char a[UNITS_TEXT], b[UNITS_TEXT];

	if (!p->max_time_s || p->default_time_s <= p->max_time_s)
		return;
	conf_reader_problem(r, setting_at(r, "partitions", i, "default_time"),
	        "partitions[%zu].default_time: %s: must not be longer than max_time, %s", i,
	        duration_format_exact(a, p->default_time_s * UINT64_C(1000)),
	        duration_format_exact(b, p->max_time_s * UINT64_C(1000)));
}

static void check_partition(struct conf_reader *r, size_t i, const struct index *index)
{
	struct conf_partition *p = &r->raw.conf.partitions[i];
	char **names, path[PATH_TEXT];
	struct error err;
	size_t n;

	check_times(r, i);
	if (!p->node_names)
		return;
	if (!strcmp(p->node_names, "ALL")) {
		partition_all(p, &r->raw.conf);
	} else if (hostlist_expand(p->node_names, CONF_MAX_NODES, &names, &n, &err) < 0) {
		snprintf(path, sizeof(path), "partitions[%zu].nodes", i);
		conf_reader_refuse(
		        r, setting_at(r, "partitions", i, "nodes"), path, p->node_names, err.text);
		return;
	} else {
		partition_join(r, i, names, n, index);
		free(names);
	}
	partition_rename(p, &r->raw.conf);
}

/* One default at most. */
static void check_default(struct conf_reader *r)
{
	struct conf *conf = &r->raw.conf;

	conf->default_partition = UINT32_MAX;
	for (size_t i = 0; i < conf->n_partitions; i++) {
		if (!conf->partitions[i].is_default)
			continue;
		if (conf->default_partition == UINT32_MAX)
			conf->default_partition = (uint32_t)i;
		else
			conf_reader_problem(r, setting_at(r, "partitions", i, "default"),
			        "partitions[%zu].default: true: partitions[%u], line %u, is the "
			        "default already",
			        i, conf->default_partition,
			        line_of(r, setting_at(r, "partitions", conf->default_partition,
			                           "default")));
	}
}

/* An agent that is well must not look lost because one heartbeat was late. */
static void check_controller(struct conf_reader *r)
{
	const struct conf_controller *c = &r->raw.conf.controller;
	const config_setting_t *at = config_lookup(&r->tree, "controller.node_timeout");
	uint64_t timeout_ms = c->node_timeout_s * UINT64_C(1000);
	char a[UNITS_TEXT], b[UNITS_TEXT];

	if (!at)
		at = config_lookup(&r->tree, "controller.heartbeat");
	if (at && timeout_ms && timeout_ms < c->heartbeat_ms * UINT64_C(2))
		conf_reader_problem(r, at,
		        "controller.node_timeout: %s: must be at least twice the heartbeat, %s",
		        duration_format_exact(a, timeout_ms),
		        duration_format_exact(b, c->heartbeat_ms));
}

void conf_check(struct conf_reader *reader)
{
	struct index index = { 0 };

	for (size_t i = 0; i < conf_n_sections; i++) {
		if (conf_sections[i].list && !conf_sections[i].hosts)
			check_names(reader, &conf_sections[i]);
	}
	check_controller(reader);
	check_nodes(reader, &index);
	for (size_t i = 0; i < reader->raw.conf.n_partitions; i++)
		check_partition(reader, i, &index);
	check_default(reader);
	free(index.v);
}
