/* sinfo.c - partitions and nodes, as Slurm's sinfo lists them */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cmds/slurm_commands/controller_queries.h"
#include "cmds/slurm_commands/nodefields.h"
#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/sorted_lines.h"
#include "common/base/hostlist.h"
#include "common/base/xalloc.h"

struct sinfo {
	const char *format, *long_format, *sort, *clusters, *cluster;
	bool by_node, longer, summary, reasons, dead, responding, exact, no_heading, reservations;
	struct cmd_list partitions, states, nodes; /* `nodes` one by one */
	uint64_t iterate;
	struct fields fields;
	struct rows rows;
	unsigned flags; /* of all fields that are shown */
	struct ask_all all;
	struct node_group *groups;
	char **keys; /* of each group */
	size_t n;
};

static int add_name(const char *name, void *arg)
{
	return cmd_list_add(arg, name, NULL);
}

static CMD_SETTER(set_states)
{
	struct cmd_list *states = field;
	size_t before = states->n;

	if (cmd_list_add(states, value, err) < 0)
		return -1;
	for (size_t i = before; i < states->n; i++) {
		if (node_state_known(states->v[i]))
			continue;
		error_set(err, ERR_USAGE, "Bad state string: \"%s\"", value);
		return error_hint(err,
		        "valid states: unknown,down,idle,allocated,mixed,drain,drained,draining,"
		        "no_respond,reserved,completing,fail,maint,reboot,planned");
	}
	return 0;
}

static CMD_SETTER(set_nodes)
{
	return hostlist_each(value, HOSTLIST_MAX, add_name, field, err);
}

static const struct slurm_cmd_option options[] = {
	SLURM_CMD_SAME("all", 'a', SLURM_CMD_PLAIN),
	SLURM_CMD_CLUSTERS(struct sinfo, clusters, "clusters"),
	SLURM_CMD_ROW(struct sinfo, dead, "dead", 'd', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_ROW(struct sinfo, exact, "exact", 'e', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_NONE("federation", 0, SLURM_CMD_PLAIN, "there are no federations"),
	SLURM_CMD_ROW(struct sinfo, format, "format", 'o', SLURM_CMD_VALUE, cmd_set_text),
	SLURM_CMD_ROW(struct sinfo, long_format, "Format", 'O', SLURM_CMD_VALUE, cmd_set_text),
	SLURM_CMD_SAME("hide", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(
	        struct sinfo, iterate, "iterate", 'i', SLURM_CMD_VALUE, slurm_cmd_set_iterate),
	SLURM_CMD_NONE("json", 0, SLURM_CMD_PLAIN, "ginfo --json says the same in another form"),
	SLURM_CMD_ROW(struct sinfo, reasons, "list-reasons", 'R', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_SAME("local", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(struct sinfo, longer, "long", 'l', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_ROW(struct sinfo, by_node, "Node", 'N', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_SAME("noconvert", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(struct sinfo, nodes, "nodes", 'n', SLURM_CMD_VALUE, set_nodes),
	SLURM_CMD_ROW(struct sinfo, no_heading, "noheader", 'h', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_ROW(struct sinfo, partitions, "partition", 'p', SLURM_CMD_VALUE, cmd_set_list),
	{ "reservation", 'T', SLURM_CMD_PLAIN, SLURM_CMD_YES, "there are none", cmd_set_flag,
	        offsetof(struct sinfo, reservations), 0 },
	SLURM_CMD_ROW(struct sinfo, responding, "responding", 'r', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_ROW(struct sinfo, sort, "sort", 'S', SLURM_CMD_VALUE, cmd_set_text),
	SLURM_CMD_ROW(struct sinfo, states, "states", 't', SLURM_CMD_VALUE, set_states),
	SLURM_CMD_ROW(struct sinfo, summary, "summarize", 's', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_SAME("verbose", 'v', SLURM_CMD_PLAIN),
	SLURM_CMD_NONE("yaml", 0, SLURM_CMD_PLAIN, "ginfo --json says the same in another form"),
};

static int take_argument(const char *value, void *input, struct error *err)
{
	(void)value, (void)input, (void)err;
	return 0; /* Slurm does not look at it either */
}

/* --- groups ---------------------------------------------------------------------------------- */

static bool is_shown(const struct sinfo *s, const Gpusched__Node *node)
{
	bool meant = !s->states.n, dead = node_words(node)->is_dead;

	for (size_t i = 0; i < s->states.n && !meant; i++)
		meant = node_state_meant(s->states.v[i], node) ||
		        !strcasecmp(s->states.v[i], "all");
	return meant && cmd_list_fits(&s->nodes, node->name) && !(s->dead && !dead) &&
	       !(s->responding && dead) && !(s->reasons && !*node->reason);
}

/* What keeps it apart from others, as a text. */
static char *key_of(const struct sinfo *s, const struct node_group *g)
{
	struct strbuf key = { 0 };
	struct view_cell cell;
	unsigned apart = NODE_KEY | NODE_PARTITION | (s->exact || s->by_node ? NODE_EXACT : 0);

	if (s->by_node)
		strbuf_addf(&key, "%s|%s|", g->n ? g->nodes[0]->name : "", g->partition->name);
	for (size_t i = 0; i < s->fields.n; i++)
		if (s->fields.v[i].field->flags & apart)
			strbuf_addf(&key, "%s|", field_value(s->fields.v[i].field, g, &cell));
	return strbuf_take(&key);
}

static void add_to(struct node_group *g, const Gpusched__Node *node)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->nodes[i] == node)
			return;
	g->nodes = xrealloc(g->nodes, g->n + 1, sizeof(*g->nodes));
	g->nodes[g->n++] = node;
}

/* Put a node (NULL: a partition without any) to those like it. */
static void group(
        struct sinfo *s, const Gpusched__Partition *p, size_t nth, const Gpusched__Node *node)
{
	const Gpusched__Node *nodes[1] = { node };
	struct node_group one = { p, nodes, node != NULL, 0 };
	char *key = key_of(s, &one);

	for (size_t i = s->n; i > 0; i--) {
		if (strcmp(s->keys[i - 1], key) != 0)
			continue;
		if (node)
			add_to(&s->groups[i - 1], node);
		free(key);
		return;
	}
	s->groups = xrealloc(s->groups, s->n + 1, sizeof(*s->groups));
	s->keys = xrealloc(s->keys, s->n + 1, sizeof(*s->keys));
	s->groups[s->n] = (struct node_group){ p, NULL, 0, 16 * nth };
	s->keys[s->n] = key;
	if (node) {
		s->groups[s->n].order += node_words(node)->order;
		add_to(&s->groups[s->n], node);
	}
	s->n++;
}

static void make_groups(struct sinfo *s)
{
	for (size_t p = 0; p < s->all.n_partitions; p++) {
		const Gpusched__Partition *part = s->all.partitions[p];
		bool any = false;

		if (!cmd_list_fits(&s->partitions, part->name))
			continue;
		for (size_t i = 0; i < s->all.n_nodes; i++) {
			const Gpusched__Node *node = s->all.nodes[i];

			if (!node_in(node, part) || !is_shown(s, node))
				continue;
			group(s, part, p, node);
			any = true;
		}
		if (!any && !s->by_node && !s->reasons && (s->flags & NODE_PARTITION))
			group(s, part, p, NULL);
	}
}

static int compare(const void *x, const void *y, void *arg)
{
	const struct sinfo *s = arg;
	const struct node_group *a = x, *b = y;

	if (s->by_node && a->n && b->n && a->nodes[0] != b->nodes[0])
		return hostlist_name_compare(a->nodes[0]->name, b->nodes[0]->name);
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return a->n && b->n ? hostlist_name_compare(a->nodes[0]->name, b->nodes[0]->name) : 0;
}

static void clear_groups(struct sinfo *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->groups[i].nodes);
		free(s->keys[i]);
	}
	free(s->groups);
	free(s->keys);
	s->groups = NULL;
	s->keys = NULL;
	s->n = 0;
	ask_clear(&s->all);
	rows_clear(&s->rows);
	fields_clear(&s->fields);
}

/* --- all of it ------------------------------------------------------------------------------- */

static unsigned longest(const struct sinfo *s, unsigned least, bool partitions)
{
	size_t n = partitions ? s->all.n_partitions : s->all.n_nodes;

	for (size_t i = 0; i < n; i++) {
		const char *name = partitions ? s->all.partitions[i]->name : s->all.nodes[i]->name;
		unsigned len =
		        (unsigned)strlen(name) + (partitions && s->all.partitions[i]->is_default);

		least = len > least ? len : least;
	}
	return least;
}

/* The columns of partitions and nodes are as wide as the longest name. */
static char *own_format(const struct sinfo *s)
{
	unsigned p = longest(s, 9, true), n = longest(s, 9, false);

	if (s->summary)
		return xasprintf("%%%uP %%.5a %%.10l %%.16F %%N", p);
	if (s->reasons)
		return xstrdup(s->longer ? "%20E %12U %19H %6t %N" : "%20E %9u %19H %N");
	if (s->by_node && s->longer)
		return xasprintf(
		        "%%%uN %%.6D %%.%uP %%.11T %%4c %%.8z %%.6m %%.8d %%.6w %%.8f %%20E", n, p);
	if (s->by_node)
		return xasprintf("%%%uN %%.6D %%.%uP %%6t", n, p);
	if (s->longer)
		return xasprintf(
		        "%%%uP %%.5a %%.10l %%.10s %%.4r %%.8h %%.10g %%.6D %%.11T %%N", p);
	return xasprintf("%%%uP %%.5a %%.10l %%.6D %%.6t %%N", p);
}

static void choose_format(struct sinfo *s)
{
	size_t n;
	const struct slurm_cmd_field *table = sinfo_fields(&n);
	const char *env = getenv("SINFO_FORMAT");
	bool plain = !s->summary && !s->reasons && !s->longer && !s->by_node;
	char *own = own_format(s);

	if (s->long_format)
		fields_long(&s->fields, "sinfo", s->long_format, table, n);
	else
		fields_letters(&s->fields, "sinfo",
		        s->format              ? s->format
		        : plain && env && *env ? env
		                               : own,
		        table, n);
	for (size_t i = 0; i < s->fields.n; i++)
		s->flags |= s->fields.v[i].field->flags;
	if (s->sort)
		rows_order(&s->rows, "sinfo", s->sort, table, n);
	free(own);
}

/* The GPUs one by one only where they are shown. */
static bool wants_devices(const struct sinfo *s)
{
	const char *at = s->long_format;

	while (at && strncasecmp(at, "gresused", strlen("gresused")) != 0) {
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return at;
}

static int list(struct sinfo *s, struct client *c)
{
	struct error err;

	if (ask_cluster(c, wants_devices(s), &s->all, &err) < 0)
		return slurm_cmd_fail_load("sinfo", "slurm_load_partitions", &err);
	choose_format(s);
	make_groups(s);
	if (s->n > 1)
		qsort_r(s->groups, s->n, sizeof(*s->groups), compare, s);
	for (size_t i = 0; i < s->n; i++)
		rows_add(&s->rows, &s->fields, &s->groups[i]);
	if (s->clusters)
		printf("CLUSTER: %s\n", s->cluster);
	if (!s->no_heading)
		fields_heading(&s->fields, s->longer || s->iterate);
	rows_print(&s->rows, stdout);
	clear_groups(s);
	return 0;
}

static int run(struct sinfo *s)
{
	struct client *c;
	int status;

	if (s->reservations) {
		puts("No reservations in the system");
		return 0;
	}
	c = slurm_cmd_client("sinfo", "slurm_load_partitions", s->clusters);
	if (!c)
		return SLURM_CMD_FAILED;
	s->cluster = client_conf(c)->cluster;
	status = list(s, c);
	while (!status && s->iterate && fflush(stdout) == 0) {
		sleep((unsigned)s->iterate);
		putchar('\n');
		status = list(s, c);
	}
	client_free(c);
	return status;
}

int sinfo_main(int argc, char **argv)
{
	struct sinfo s = { .format = NULL };
	int status = slurm_cmd_parse("sinfo", take_argument, argc, argv, &s);

	if (status == CMD_GO_ON)
		status = slurm_cmd_finish("sinfo", run(&s));
	cmd_list_clear(&s.partitions);
	cmd_list_clear(&s.states);
	cmd_list_clear(&s.nodes);
	return status;
}

SLURM_CMD_TABLE(option, sinfo_options, options)
