/* node_names.c - see node_names.h */
#include "ctld/loop/node_names.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

struct by_name {
	const char *name; /* of the configuration */
	uint32_t node;
};

struct node_names {
	struct by_name *names; /* in order */
	size_t n_names;
};

static int compare_names(const void *a, const void *b)
{
	const struct by_name *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void node_names_set(struct node_names *n, const struct conf *conf)
{
	free(n->names);
	n->n_names = conf->n_nodes;
	n->names = xcalloc(n->n_names, sizeof(*n->names));
	for (size_t i = 0; i < n->n_names; i++)
		n->names[i] = (struct by_name){ conf->nodes[i].name, (uint32_t)i };
	qsort(n->names, n->n_names, sizeof(*n->names), compare_names);
}

struct node_names *node_names_new(const struct conf *conf)
{
	struct node_names *n = xcalloc(1, sizeof(*n));

	node_names_set(n, conf);
	return n;
}

void node_names_free(struct node_names *n)
{
	if (!n)
		return;
	free(n->names);
	free(n);
}

bool node_names_find(const struct node_names *n, const char *name, uint32_t *node)
{
	struct by_name key = { name, 0 };
	const struct by_name *at = bsearch(&key, n->names, n->n_names, sizeof(key), compare_names);

	if (at)
		*node = at->node;
	return at != NULL;
}
