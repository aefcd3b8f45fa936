/* conf_switches.c - switches: leaves with nodes, and those that join them; see conf_check.h */
#include "common/conf/conf_check.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* A node is below one leaf only. */
static void leaf_join(struct conf_checker *c, size_t i)
{
	struct conf *conf = &c->reader->raw.conf;
	struct conf_switch *s = &conf->switches[i];
	struct conf_overlap *v;
	size_t n = 0;

	conf_nodes_resolve(c, "topology", i, "nodes", &s->node_names, &s->nodes, &s->n_nodes);
	v = xcalloc(s->n_nodes, sizeof(*v));
	for (size_t k = 0; k < s->n_nodes; k++) {
		struct conf_node *node = &conf->nodes[s->nodes[k]];

		if (node->leaf == CONF_NONE)
			node->leaf = (uint32_t)i;
		else
			v[n++] = (struct conf_overlap){ i, node->leaf, node->name };
	}
	conf_overlaps_tell(c->reader, "topology", "nodes", v, n);
	free(v);
}

/* A switch is below one other only. */
static void switches_join(struct conf_checker *c, size_t i)
{
	struct conf *conf = &c->reader->raw.conf;
	const struct conf_texts *names = &conf->switches[i].switches_names;

	for (size_t k = 0; k < names->n; k++) {
		const struct conf_named *found = conf_names_resolve(
		        &c->switches, c->reader, "topology", i, "switches", names->v[k]);
		struct conf_switch *below = found ? &conf->switches[found->index] : NULL;

		if (below && below->parent == CONF_NONE)
			below->parent = (uint32_t)i;
		else if (below)
			conf_reader_problem(c->reader,
			        conf_setting_at(c->reader, "topology", i, "switches"),
			        "topology[%zu].switches: %s: already in topology[%u], line %u", i,
			        names->v[k], below->parent,
			        conf_setting_line(c->reader, conf_setting_at(c->reader, "topology",
			                                             below->parent, "switches")));
	}
}

/* Nodes or switches, not both. */
static void check_kind(struct conf_reader *r, size_t i)
{
	const struct conf_switch *s = &r->raw.conf.switches[i];
	const config_setting_t *entry = conf_setting_at(r, "topology", i, ""), *given;

	if (!s->name || !s->node_names)
		return;
	given = config_setting_get_member(entry, "switches");
	if (*s->node_names && s->switches_names.n)
		conf_reader_problem(r, conf_setting_at(r, "topology", i, "switches"),
		        "topology[%zu].switches: a switch with nodes is a leaf, and joins no "
		        "others",
		        i);
	else if (!*s->node_names && (!given || !config_setting_length(given)))
		conf_reader_problem(
		        r, entry, "topology[%zu]: \"%s\": must have nodes or switches", i, s->name);
}

void conf_check_topology(struct conf_checker *c)
{
	struct conf *conf = &c->reader->raw.conf;

	conf_names_of(&c->switches, "topology", &c->reader->raw);
	for (size_t i = 0; i < conf->n_nodes; i++)
		conf->nodes[i].leaf = CONF_NONE;
	for (size_t i = 0; i < conf->n_switches; i++)
		conf->switches[i].parent = CONF_NONE;
	for (size_t i = 0; i < conf->n_switches; i++) {
		check_kind(c->reader, i);
		if (conf->switches[i].node_names && *conf->switches[i].node_names)
			leaf_join(c, i);
		switches_join(c, i);
	}
	conf_circles_cut(c->reader, "topology", "switches", offsetof(struct conf_switch, parent),
	        "a switch cannot be below itself");
}
