/* unconfigured.c - see unconfigured.h
 *
 * Compares by name, because numbers differ between configurations. It only warns: what is dropped
 * stays on record and comes back with the next configuration that names it.
 */
#include "ctld/core/nodes/unconfigured.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"

struct list {
	char **v;
	size_t n, beyond;
};

/* Takes over the line; beyond UNCONFIGURED_MAX they are only counted. */
static void add(struct list *l, char *line)
{
	if (l->n < UNCONFIGURED_MAX) {
		l->v[l->n++] = line;
		return;
	}
	l->beyond++;
	free(line);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *s_of(size_t n)
{
	return n == 1 ? "" : "s";
}

static void add_partitions(const struct core *core, const struct conf *to, struct list *l)
{
	const struct conf *from = core->conf;

	for (size_t i = 0; i < from->n_partitions; i++) {
		const char *name = from->partitions[i].name;
		const struct job_count *c = jobs_count_of(core->jobs, name);
		size_t k = 0;

		while (k < to->n_partitions && strcmp(to->partitions[k].name, name) != 0)
			k++;
		if (k < to->n_partitions || !c || !(c->pending + c->running))
			continue;
		add(l, xasprintf("partitions.%s is dropped while %u of its jobs wait and %u run: "
		                 "those wait until it is configured again, these go on",
		               name, c->pending, c->running));
	}
}

/* Only a node with runs is worth a line. */
static void add_node(struct node *node, struct list *l)
{
	size_t runs = 0, gpus = 0;

	for (struct run *run = node_link(node)->runs; run; run = run_link(run)->next_of_node) {
		runs++;
		gpus += (size_t)__builtin_popcountll(run_info(run)->gpus);
	}
	if (runs)
		add(l, xasprintf("nodes.%s is dropped with %zu run%s on %zu GPU%s: they go on, "
		                 "and are reported when the node is configured again",
		               node_info(node)->name, runs, s_of(runs), gpus, s_of(gpus)));
}

static void add_nodes(const struct core *core, const struct conf *to, struct list *l)
{
	const char **names = xcalloc(to->n_nodes + 1, sizeof(*names));

	for (size_t i = 0; i < to->n_nodes; i++)
		names[i] = to->nodes[i].name;
	qsort(names, to->n_nodes, sizeof(*names), compare);
	for (size_t i = 0; i < core->conf->n_nodes; i++) {
		struct node *node = nodes_at(core->nodes, (uint32_t)i);
		const char *name = node_info(node)->name;

		if (!bsearch(&name, names, to->n_nodes, sizeof(*names), compare))
			add_node(node, l);
	}
	free(names);
}

size_t core_unconfigured(const struct core *core, const struct conf *to, char ***lines)
{
	struct list l = { .v = xcalloc(UNCONFIGURED_MAX + 1, sizeof(*l.v)) };

	add_partitions(core, to, &l);
	add_nodes(core, to, &l);
	if (l.beyond)
		l.v[l.n++] = xasprintf("%zu more that are in use are dropped", l.beyond);
	*lines = l.v;
	return l.n;
}
