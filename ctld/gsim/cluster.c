/* cluster.c - see cluster.h */
#include "ctld/gsim/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/strbuf.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/conf/conf_find.h"
#include "common/gpu/gpus_by_type.h"
#include "ctld/gsim/history/csv.h"

#define ADDED "added-" /* what new nodes are called: added-1, added-2 */

/* --- from a file ----------------------------------------------------------------------------- */

static struct conf *said(
        struct conf *conf, struct conf_problems *problems, const char *name, struct error *err)
{
	conf_problems_print(problems, stderr);
	if (!conf)
		error_set(err, ERR_CONFIG, "%s: %zu error%s", name, problems->n,
		        problems->n == 1 ? "" : "s");
	conf_problems_clear(problems);
	return conf;
}

static void gpus_add(struct conf_node *node, uint16_t type, uint32_t count)
{
	size_t g = 0;

	while (g < node->n_gpus && node->gpus[g].type != type)
		g++;
	if (g == node->n_gpus) {
		node->gpus = xrealloc(node->gpus, g + 1, sizeof(*node->gpus));
		node->gpus[node->n_gpus++] = (struct conf_gpu_count){ .type = type };
	}
	node->gpus[g].count = (uint16_t)(node->gpus[g].count + count);
}

static void texts_free(struct conf_texts *texts)
{
	size_t i;

	for (i = 0; i < texts->n; i++)
		free(texts->v[i]);
	free(texts->v);
	*texts = (struct conf_texts){ 0 };
}

static struct conf_texts texts_copy(const struct conf_texts *from)
{
	struct conf_texts to = { .n = from->n };
	size_t i;

	to.v = from->n ? xcalloc(from->n, sizeof(char *)) : NULL;
	for (i = 0; i < from->n; i++)
		to.v[i] = xstrdup(from->v[i]);
	return to;
}

/* MIG instances that are demanded are GPUs of the node like others: nothing here has a layout. */
static void take_layouts(struct conf_node *node)
{
	size_t i, k;

	for (i = 0; i < node->n_mig; i++) {
		const struct conf_mig *mig = &node->mig[i];

		for (k = 0; k < mig->n_layout; k++)
			gpus_add(node, mig->layout[k].type,
			        mig->layout[k].count * (uint32_t)__builtin_popcountll(mig->set));
		free(node->mig[i].gpus);
		free(node->mig[i].layout);
	}
	if (node->n_mig) /* which numbers whole GPUs have is not known any more */
		texts_free(&node->gpu_near);
	free(node->mig);
	node->mig = NULL;
	node->n_mig = 0;
}

struct conf *cluster_read(const char *path, struct error *err)
{
	struct conf_problems problems = { NULL, 0 };
	struct conf *conf = conf_load(path, &problems);
	size_t i;

	for (i = 0; conf && i < conf->n_nodes; i++)
		take_layouts(&conf->nodes[i]);
	return said(conf, &problems, path, err);
}

/* --- from a list of nodes -------------------------------------------------------------------- */

enum column { NODE, COUNT, CPUS, MEM, GPUS, GPU_TYPE, GPU_MEM, COLUMNS };

static const struct csv_column columns[COLUMNS] = {
	[NODE] = { "node", true },
	[COUNT] = { "count", false },
	[CPUS] = { "cpus", false },
	[MEM] = { "mem_mb", false },
	[GPUS] = { "gpus", true },
	[GPU_TYPE] = { "gpu_type", false },
	[GPU_MEM] = { "gpu_mem_mb", false },
};

struct gpu_type {
	char name[GPUS_BY_TYPE_NAME_MAX + 1];
	uint64_t mem_mb;
};

/* The parts of the configuration while the rows come in. */
struct making {
	struct gpu_type types[CONF_MAX_GPU_TYPES];
	size_t n_types;
	struct strbuf nodes, partitions;
	uint64_t n_nodes;
};

struct node_row {
	const char *name;
	char type[GPUS_BY_TYPE_NAME_MAX + 1];
	uint64_t count, cpus, mem_mb, gpus, gpu_mem_mb;
};

/* What has no name is told apart by its memory. */
static int take_type(const char *text, struct node_row *row, struct error *err)
{
	if (*text && gpus_by_type_check(text, err) < 0)
		return error_wrap(err, "gpu_type");
	if (*text)
		snprintf(row->type, sizeof(row->type), "%s", text);
	else if (!row->gpu_mem_mb)
		snprintf(row->type, sizeof(row->type), "gpu");
	else if (row->gpu_mem_mb % 1024)
		snprintf(row->type, sizeof(row->type), "gpu-%lluM",
		        (unsigned long long)row->gpu_mem_mb);
	else
		snprintf(row->type, sizeof(row->type), "gpu-%lluG",
		        (unsigned long long)row->gpu_mem_mb / 1024);
	return 0;
}

static int node_row(const char *const *f, struct node_row *row, struct error *err)
{
	*row = (struct node_row){ .name = f[NODE], .count = 1 };
	if (hostlist_name_check(f[NODE], err) < 0)
		return error_wrap(err, "node");
	if (!*f[GPUS])
		return error_set(err, ERR_USAGE, "gpus: blank");
	if (csv_count(f[COUNT], "count", CONF_MAX_NODES, &row->count, err) < 0 ||
	        csv_count(f[CPUS], "cpus", 1000000, &row->cpus, err) < 0 ||
	        csv_count(f[MEM], "mem_mb", 1u << 30, &row->mem_mb, err) < 0 ||
	        csv_count(f[GPUS], "gpus", CONF_MAX_GPUS_PER_NODE, &row->gpus, err) < 0 ||
	        csv_count(f[GPU_MEM], "gpu_mem_mb", 1u << 30, &row->gpu_mem_mb, err) < 0)
		return -1;
	return take_type(f[GPU_TYPE], row, err);
}

static int keep_type(struct making *m, const struct node_row *row, struct error *err)
{
	struct gpu_type *t;
	size_t i;

	if (!row->gpus)
		return 0;
	for (i = 0; i < m->n_types; i++) {
		t = &m->types[i];
		if (strcmp(t->name, row->type))
			continue;
		if (row->gpu_mem_mb && t->mem_mb && row->gpu_mem_mb != t->mem_mb)
			return error_set(err, ERR_USAGE,
			        "gpu_mem_mb %llu, and a row above gives %s %llu",
			        (unsigned long long)row->gpu_mem_mb, t->name,
			        (unsigned long long)t->mem_mb);
		t->mem_mb = t->mem_mb ? t->mem_mb : row->gpu_mem_mb;
		return 0;
	}
	if (m->n_types == CONF_MAX_GPU_TYPES)
		return error_set(err, ERR_USAGE, "more than %d types of GPU", CONF_MAX_GPU_TYPES);
	t = &m->types[m->n_types++];
	snprintf(t->name, sizeof(t->name), "%s", row->type);
	t->mem_mb = row->gpu_mem_mb;
	return 0;
}

static int make_node(struct making *m, const struct node_row *row, struct error *err)
{
	char list[HOSTLIST_NAME_MAX + 32];
	const char *comma = m->nodes.len ? ",\n" : "";

	if (!row->count)
		return 0;
	m->n_nodes += row->count;
	if (m->n_nodes > CONF_MAX_NODES)
		return error_set(err, ERR_USAGE, "more than %d nodes", CONF_MAX_NODES);
	if (keep_type(m, row, err) < 0)
		return -1;
	if (row->count == 1)
		snprintf(list, sizeof(list), "%s", row->name);
	else
		snprintf(list, sizeof(list), "%s-[1-%llu]", row->name,
		        (unsigned long long)row->count);
	strbuf_addf(&m->nodes, "%s  { name = \"%s\";", comma, list);
	if (row->cpus)
		strbuf_addf(&m->nodes, " cpus = %llu;", (unsigned long long)row->cpus);
	if (row->mem_mb)
		strbuf_addf(&m->nodes, " mem = \"%lluM\";", (unsigned long long)row->mem_mb);
	if (row->gpus)
		strbuf_addf(&m->nodes, " gpus = \"%s:%llu\";", row->type,
		        (unsigned long long)row->gpus);
	strbuf_adds(&m->nodes, " }");
	strbuf_addf(&m->partitions, ",\n  { name = \"%s\"; nodes = \"%s\"; }", row->name, list);
	return 0;
}

static int make_rows(struct making *m, struct csv *csv, struct error *err)
{
	const char *f[COLUMNS];
	struct node_row row;
	enum csv_result r;

	while ((r = csv_next(csv, f, err)) == CSV_ROW) {
		if (node_row(f, &row, err) < 0 || make_node(m, &row, err) < 0)
			return csv_blame(csv, err);
	}
	return r == CSV_END ? 0 : -1;
}

static struct conf *make_conf(
        struct making *m, const char *path, bool partitions, struct error *err)
{
	struct conf_problems problems = { NULL, 0 };
	struct strbuf text = { 0 };
	struct conf *conf;
	char *name = xasprintf("made of %s", path);
	size_t i;

	strbuf_adds(&text, "cluster = \"gsim\";\ncontroller = { host = \"localhost\"; };\n");
	for (i = 0; i < m->n_types; i++) {
		strbuf_addf(&text, "%s{ name = \"%s\";", i ? ",\n  " : "gpu_types = (\n  ",
		        m->types[i].name);
		if (m->types[i].mem_mb)
			strbuf_addf(
			        &text, " mem = \"%lluM\";", (unsigned long long)m->types[i].mem_mb);
		strbuf_adds(&text, " }");
	}
	strbuf_addf(&text, "%snodes = (\n%s\n);\n", m->n_types ? "\n);\n" : "",
	        m->nodes.s ? m->nodes.s : "");
	strbuf_addf(&text,
	        "partitions = (\n  { name = \"all\"; nodes = \"ALL\"; default = true; }%s\n);\n",
	        partitions && m->partitions.s ? m->partitions.s : "");
	conf = said(conf_parse(text.s, name, &problems), &problems, name, err);
	strbuf_free(&text);
	free(name);
	return conf;
}

struct conf *cluster_make(const char *path, bool partitions, struct error *err)
{
	struct making *m = xcalloc(1, sizeof(*m));
	struct csv *csv = csv_open(path, columns, COLUMNS, err);
	struct conf *conf = NULL;

	if (csv && make_rows(m, csv, err) == 0)
		conf = make_conf(m, path, partitions, err);
	csv_close(csv);
	strbuf_free(&m->nodes);
	strbuf_free(&m->partitions);
	free(m);
	return conf;
}

/* --- more nodes ------------------------------------------------------------------------------ */

/* The first number that no node has behind ADDED. */
static unsigned long first_free(const struct conf *conf)
{
	unsigned long first = 1;
	size_t i;

	for (i = 0; i < conf->n_nodes; i++) {
		if (!strncmp(conf->nodes[i].name, ADDED, sizeof(ADDED) - 1)) {
			unsigned long n =
			        strtoul(conf->nodes[i].name + sizeof(ADDED) - 1, NULL, 10);

			first = n >= first ? n + 1 : first;
		}
	}
	return first;
}

static void node_copy(struct conf_node *to, const struct conf_node *from, unsigned long number)
{
	size_t i;

	*to = *from;
	to->name = xasprintf(ADDED "%lu", number);
	to->gpus = xmemdup(from->gpus, from->n_gpus * sizeof(*from->gpus));
	to->features = texts_copy(&from->features);
	to->gpu_near = texts_copy(&from->gpu_near);
	to->health_events =
	        (struct conf_texts){ 0 }; /* of real GPUs, as what follows of real agents */
	to->agent = (struct conf_agent){ .gpu_devices = xstrdup(""), .over_memory = xstrdup("") };
	for (i = 0; i < PROGRAM_KINDS; i++)
		to->agent.programs[i].path = xstrdup("");
	to->leaf = CONF_NONE;
}

static bool partition_has(const struct conf_partition *p, uint32_t node)
{
	size_t i;

	for (i = 0; i < p->n_nodes; i++) {
		if (p->nodes[i] == node)
			return true;
	}
	return false;
}

/* The nodes from `first` on are new ones. */
static void partition_extend(const struct conf *conf, struct conf_partition *p, size_t first)
{
	const char **names = xcalloc(conf->n_nodes, sizeof(*names));
	size_t i;

	p->nodes = xrealloc(p->nodes, p->n_nodes + conf->n_nodes - first, sizeof(*p->nodes));
	for (i = first; i < conf->n_nodes; i++)
		p->nodes[p->n_nodes++] = (uint32_t)i;
	for (i = 0; i < p->n_nodes; i++)
		names[i] = conf->nodes[p->nodes[i]].name;
	free(p->node_names);
	p->node_names = hostlist_compress(names, p->n_nodes);
	free(names);
}

/* `like` is the index of the node that they are like in all, or CONF_NONE. */
static int add_nodes(struct conf *conf, const struct conf_node *model, uint32_t like,
        uint64_t count, struct error *err)
{
	size_t first = conf->n_nodes, p, taken = 0;
	unsigned long number = first_free(conf);
	struct conf_node copy = *model;

	if (first + count > CONF_MAX_NODES)
		return error_set(err, ERR_USAGE, "more than %d nodes", CONF_MAX_NODES);
	conf->nodes = xrealloc(conf->nodes, first + count, sizeof(*conf->nodes));
	for (; count; count--)
		node_copy(&conf->nodes[conf->n_nodes++], &copy, number++);
	for (p = 0; p < conf->n_partitions; p++) {
		if (like != CONF_NONE ? !partition_has(&conf->partitions[p], like)
		                      : p != conf->default_partition &&
		                                conf->partitions[p].n_nodes != first)
			continue;
		partition_extend(conf, &conf->partitions[p], first);
		taken++;
	}
	return taken ? 0
	             : error_set(err, ERR_USAGE,
	                       "no partition is the default, and none has all nodes");
}

static struct conf_node largest_node(const struct conf *conf)
{
	struct conf_node most = { .leaf = CONF_NONE };
	size_t i;

	for (i = 0; i < conf->n_nodes; i++) {
		most.cpus = conf->nodes[i].cpus > most.cpus ? conf->nodes[i].cpus : most.cpus;
		most.mem_mb =
		        conf->nodes[i].mem_mb > most.mem_mb ? conf->nodes[i].mem_mb : most.mem_mb;
	}
	return most;
}

static uint32_t want_type(struct conf *conf, const char *name, struct error *err)
{
	uint32_t t = CONF_FIND(conf, gpu_types, name);

	if (t != CONF_NONE)
		return t;
	if (gpus_by_type_check(name, err) < 0)
		return CONF_NONE;
	if (conf->n_gpu_types == CONF_MAX_GPU_TYPES) {
		error_set(err, ERR_USAGE, "more than %d types of GPU", CONF_MAX_GPU_TYPES);
		return CONF_NONE;
	}
	conf->gpu_types =
	        xrealloc(conf->gpu_types, conf->n_gpu_types + 1, sizeof(*conf->gpu_types));
	conf->gpu_types[conf->n_gpu_types] = (struct conf_gpu_type){
		.name = xstrdup(name), .match = xstrdup(""), .mig_of = xstrdup("")
	};
	return (uint32_t)conf->n_gpu_types++;
}

static int add_typed(
        struct conf *conf, const char *type, const char *gpus, uint64_t count, struct error *err)
{
	struct conf_node model = largest_node(conf);
	struct conf_gpu_count have;
	uint64_t n;
	uint32_t t;

	if (count_parse(gpus, 1, CONF_MAX_GPUS_PER_NODE, &n, err) < 0)
		return -1;
	t = want_type(conf, type, err);
	if (t == CONF_NONE)
		return -1;
	have = (struct conf_gpu_count){ .type = (uint16_t)t, .count = (uint16_t)n };
	model.gpus = &have;
	model.n_gpus = 1;
	return add_nodes(conf, &model, CONF_NONE, count, err);
}

static int add_parts(struct conf *conf, char *text, struct error *err)
{
	char *what = strchr(text, ':'), *gpus;
	uint64_t count;
	uint32_t like;

	if (!what)
		return error_set(err, ERR_USAGE, "expected N:NODE or N:TYPE:COUNT");
	*what++ = '\0';
	if (count_parse(text, 1, CONF_MAX_NODES, &count, err) < 0)
		return -1;
	gpus = strchr(what, ':');
	if (gpus) {
		*gpus++ = '\0';
		return add_typed(conf, what, gpus, count, err);
	}
	like = CONF_FIND(conf, nodes, what);
	if (like == CONF_NONE)
		return error_set(err, ERR_USAGE, "there is no node of that name");
	return add_nodes(conf, &conf->nodes[like], like, count, err);
}

int cluster_add(struct conf *conf, const char *text, struct error *err)
{
	char *copy = xstrdup(text), shown[80];
	int rc = add_parts(conf, copy, err);

	free(copy);
	if (rc == 0)
		return 0;
	text_escape(shown, sizeof(shown), text, strlen(text));
	return error_wrap(err, "--add-nodes=%s", shown);
}

/* --- for the simulation ---------------------------------------------------------------------- */

void cluster_prepare(struct conf *conf)
{
	conf->controller.node_timeout_s = CONF_NONE;
	conf->controller.unknown_is_off_s = 0;
	conf->controller.signature_age_s = 0;
	conf->controller.keep_ended_s = 0;
}

uint64_t cluster_gpus(const struct conf *conf)
{
	uint64_t sum = 0;
	size_t i, g;

	for (i = 0; i < conf->n_nodes; i++) {
		for (g = 0; g < conf->nodes[i].n_gpus; g++)
			sum += conf->nodes[i].gpus[g].count;
	}
	return sum;
}

uint32_t cluster_largest(const struct conf *conf, uint32_t partition, uint32_t type)
{
	const struct conf_partition *p = &conf->partitions[partition];
	uint32_t most = 0;
	size_t i, g;

	for (i = 0; i < p->n_nodes; i++) {
		const struct conf_node *n = &conf->nodes[p->nodes[i]];

		for (g = 0; g < n->n_gpus; g++) {
			if ((type == CONF_NONE || n->gpus[g].type == type) &&
			        n->gpus[g].count > most)
				most = n->gpus[g].count;
		}
	}
	return most;
}
