/* conf_check.c - what joins several keys: names, nodes, partitions; see conf_check.h */
#include "common/conf/conf_check.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

/* Names within a list section, other than hostlists, are there once. */
static void check_names(struct conf_reader *r, const struct conf_section *section)
{
	const char *key = section->keys.v[0].name;
	struct conf_names names;

	conf_names_of(&names, section->name, &r->raw);
	for (size_t i = 1; i < names.n; i++) {
		const struct conf_named *one = &names.v[i], *first = one - 1;

		if (strcmp(one->name, first->name))
			continue;
		conf_reader_problem(r, conf_setting_at(r, section->name, one->index, key),
		        "%s[%zu].%s: \"%s\": is also the name of %s[%zu], line %u", section->name,
		        one->index, key, one->name, section->name, first->index,
		        conf_setting_line(r, conf_setting_at(r, section->name, first->index, key)));
	}
	free(names.v);
}

/* --- GPU types ------------------------------------------------------------------------------- */

/* A profile is of a type that there is, and that is a whole GPU's. */
static void check_mig_of(struct conf_reader *r, size_t i)
{
	const struct conf *conf = &r->raw.conf;
	const char *of = conf->gpu_types[i].mig_of;
	size_t k;

	if (!of || !*of)
		return;
	for (k = 0; k < conf->n_gpu_types; k++) {
		const struct conf_gpu_type *t = &conf->gpu_types[k];

		if (!t->name || strcmp(t->name, of))
			continue;
		if (!t->mig_of || !*t->mig_of)
			return;
		break;
	}
	conf_reader_problem(r, conf_setting_at(r, "gpu_types", i, "mig_of"),
	        "gpu_types[%zu].mig_of: \"%s\": must be the name of %s", i, of,
	        k < conf->n_gpu_types ? "a whole GPU's type" : "another type in gpu_types");
}

/* --- nodes ----------------------------------------------------------------------------------- */

static void node_add(struct conf *conf, const struct conf_node *entry, const char *name)
{
	const struct conf_keys *keys = &conf_section_find("nodes")->keys;
	struct conf_node *node = &conf->nodes[conf->n_nodes++];

	*node = (struct conf_node){ .name = xstrdup(name), .leaf = CONF_NONE };
	for (size_t k = 1; k < keys->n; k++)
		conf_value_copy(&keys->v[k], entry, node);
}

/* Expand entry i of `nodes`; -1: it cannot be. entry_of[node] is the entry a node is from. */
static int entry_expand(struct conf_reader *r, size_t i, size_t **entry_of)
{
	struct conf *conf = &r->raw.conf;
	const struct conf_node *entry = &r->raw.entries[i];
	char **names, path[CONF_PATH_TEXT];
	struct error err;
	size_t n;

	if (!entry->name)
		return -1;
	if (hostlist_expand(entry->name, CONF_MAX_NODES, &names, &n, &err) < 0) {
		snprintf(path, sizeof(path), "nodes[%zu].name", i);
		conf_reader_refuse(
		        r, conf_setting_at(r, "nodes", i, "name"), path, entry->name, err.text);
		return -1;
	}
	if (conf->n_nodes + n > CONF_MAX_NODES) {
		conf_reader_problem(r, conf_setting_at(r, "nodes", i, "name"),
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

static int compare_overlaps(const void *a, const void *b)
{
	const struct conf_overlap *x = a, *y = b;

	if (x->later != y->later)
		return x->later < y->later ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static void overlap_tell(struct conf_reader *r, const char *section, const char *key,
        const struct conf_overlap *v, size_t n)
{
	const char **names = xcalloc(n, sizeof(*names));
	char *list, shown[CONF_NAMES_MAX];

	for (size_t i = 0; i < n; i++)
		names[i] = v[i].name;
	list = hostlist_compress(names, n);
	text_escape(shown, sizeof(shown), list, strlen(list));
	conf_reader_problem(r, conf_setting_at(r, section, v->later, key),
	        "%s[%zu].%s: %s: already in %s[%zu], line %u", section, v->later, key, shown,
	        section, v->first,
	        conf_setting_line(r, conf_setting_at(r, section, v->first, key)));
	free(list);
	free(names);
}

void conf_overlaps_tell(struct conf_reader *reader, const char *section, const char *key,
        struct conf_overlap *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), compare_overlaps);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && !compare_overlaps(&v[i], &v[end]);)
			end++;
		overlap_tell(reader, section, key, &v[i], end - i);
	}
}

/* A node is in one entry only. */
static void check_overlaps(struct conf_checker *c, const size_t *entry_of)
{
	const struct conf_names *names = &c->nodes;
	struct conf_overlap *v = xcalloc(names->n, sizeof(*v));
	size_t n = 0;

	for (size_t i = 1; i < names->n; i++) {
		if (!strcmp(names->v[i - 1].name, names->v[i].name))
			v[n++] = (struct conf_overlap){ entry_of[names->v[i].index],
				entry_of[names->v[i - 1].index], names->v[i].name };
	}
	conf_overlaps_tell(c->reader, "nodes", "name", v, n);
	free(v);
}

static void check_nodes(struct conf_checker *c)
{
	const struct conf_raw *raw = &c->reader->raw;
	size_t *entry_of = NULL;

	c->nodes = (struct conf_names){ .section = "nodes", .whole = raw->n_entries > 0 };
	for (size_t i = 0; i < raw->n_entries; i++) {
		if (entry_expand(c->reader, i, &entry_of) < 0)
			c->nodes.whole = false;
	}
	c->nodes.n = raw->conf.n_nodes;
	c->nodes.v = xcalloc(c->nodes.n, sizeof(*c->nodes.v));
	for (size_t i = 0; i < c->nodes.n; i++)
		c->nodes.v[i] = (struct conf_named){ raw->conf.nodes[i].name, i };
	conf_names_sort(&c->nodes);
	check_overlaps(c, entry_of);
	free(entry_of);
}

/* --- lists of nodes -------------------------------------------------------------------------- */

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The indices of `names`; returns how many there are, the others go to the end of `names`. */
static size_t nodes_join(
        const struct conf_names *nodes, const char **names, size_t n, uint32_t *indices)
{
	size_t n_known = 0, n_unknown = 0;

	for (size_t j = 0; j < n; j++) {
		const struct conf_named *found = conf_names_find(nodes, names[j]);

		if (found)
			indices[n_known++] = (uint32_t)found->index;
		else
			names[n_unknown++] = names[j];
	}
	if (n_known)
		qsort(indices, n_known, sizeof(*indices), compare_u32);
	return n_known;
}

/* Nodes as they are written give way to the same in one form. */
static void nodes_rename(char **text, const struct conf *conf, const uint32_t *nodes, size_t n)
{
	const char **names = xcalloc(n, sizeof(*names));

	for (size_t j = 0; j < n; j++)
		names[j] = conf->nodes[nodes[j]].name;
	free(*text);
	*text = hostlist_compress(names, n);
	free(names);
}

static void nodes_unknown(struct conf_reader *r, const char *section, size_t i, const char *key,
        const char *const *names, size_t n)
{
	char *list = hostlist_compress(names, n), shown[CONF_NAMES_MAX];

	text_escape(shown, sizeof(shown), list, strlen(list));
	conf_reader_problem(r, conf_setting_at(r, section, i, key), "%s[%zu].%s: %s: not in nodes",
	        section, i, key, shown);
	free(list);
}

void conf_nodes_resolve(struct conf_checker *c, const char *section, size_t i, const char *key,
        char **text, uint32_t **nodes, size_t *n)
{
	const struct conf *conf = &c->reader->raw.conf;
	char **names, path[CONF_PATH_TEXT];
	struct error err;
	size_t n_names;

	if (!strcmp(*text, "ALL")) {
		*n = conf->n_nodes;
		*nodes = xcalloc(*n, sizeof(**nodes));
		for (size_t j = 0; j < *n; j++)
			(*nodes)[j] = (uint32_t)j;
	} else if (hostlist_expand(*text, CONF_MAX_NODES, &names, &n_names, &err) < 0) {
		snprintf(path, sizeof(path), "%s[%zu].%s", section, i, key);
		conf_reader_refuse(c->reader, conf_setting_at(c->reader, section, i, key), path,
		        *text, err.text);
		return;
	} else {
		*nodes = xcalloc(n_names, sizeof(**nodes));
		*n = nodes_join(&c->nodes, (const char **)names, n_names, *nodes);
		if (*n < n_names && c->nodes.whole)
			nodes_unknown(c->reader, section, i, key, (const char *const *)names,
			        n_names - *n);
		free(names);
	}
	nodes_rename(text, conf, *nodes, *n);
}

/* --- partitions ------------------------------------------------------------------------------ */

static void check_times(struct conf_reader *r, size_t i)
{
	const struct conf_partition *p = &r->raw.conf.partitions[i];
	char a[UNITS_TEXT], b[UNITS_TEXT];

	if (!p->max_time_s || p->default_time_s <= p->max_time_s)
		return;
	conf_reader_problem(r, conf_setting_at(r, "partitions", i, "default_time"),
	        "partitions[%zu].default_time: %s: must not be longer than max_time, %s", i,
	        duration_format_exact(a, p->default_time_s * UINT64_C(1000)),
	        duration_format_exact(b, p->max_time_s * UINT64_C(1000)));
}

static void check_partition(struct conf_checker *c, size_t i)
{
	struct conf_partition *p = &c->reader->raw.conf.partitions[i];

	check_times(c->reader, i);
	conf_accounts_resolve(c, "partitions", i, &p->accounts_names, &p->accounts, &p->n_accounts);
	if (p->node_names)
		conf_nodes_resolve(
		        c, "partitions", i, "nodes", &p->node_names, &p->nodes, &p->n_nodes);
}

/* One entry of a list has `default = true`, at most. Returns its index, or CONF_NONE. */
static uint32_t default_find(struct conf_reader *r, const char *section)
{
	const struct conf_section *s = conf_section_find(section);
	const struct conf_key *key = conf_key_find(&s->keys, "default");
	uint32_t found = CONF_NONE;

	for (size_t i = 0; i < conf_section_count(s, &r->raw); i++) {
		const char *base = conf_section_base(s, &r->raw, i);

		if (!*(const bool *)(base + key->at))
			continue;
		if (found == CONF_NONE)
			found = (uint32_t)i;
		else
			conf_reader_problem(r, conf_setting_at(r, section, i, "default"),
			        "%s[%zu].default: true: %s[%u], line %u, is the default already",
			        section, i, section, found,
			        conf_setting_line(
			                r, conf_setting_at(r, section, found, "default")));
	}
	return found;
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

static void roles_resolve(struct conf_roles *roles)
{
	for (size_t i = 0; i < roles->private_data.n; i++) {
		roles->private_jobs |= !strcmp(roles->private_data.v[i], "jobs");
		roles->private_usage |= !strcmp(roles->private_data.v[i], "usage");
	}
}

void conf_check(struct conf_reader *reader)
{
	struct conf_checker c = { .reader = reader };
	struct conf *conf = &reader->raw.conf;

	for (size_t i = 0; i < conf_n_sections; i++) {
		if (conf_sections[i].list && !conf_sections[i].hosts)
			check_names(reader, &conf_sections[i]);
	}
	check_controller(reader);
	roles_resolve(&conf->roles);
	for (size_t i = 0; i < conf->n_gpu_types; i++)
		check_mig_of(reader, i);
	check_nodes(&c);
	conf_check_mig(&c);
	conf_check_near(&c);
	conf_check_topology(&c);
	conf_check_accounts(&c);
	conf_check_quotas(&c);
	conf_check_limits(&c);
	conf_check_qos(&c);
	for (size_t i = 0; i < conf->n_partitions; i++)
		check_partition(&c, i);
	conf->default_partition = default_find(reader, "partitions");
	conf->default_qos = default_find(reader, "qos");
	free(c.nodes.v);
	free(c.accounts.v);
	free(c.qos.v);
	free(c.switches.v);
}
