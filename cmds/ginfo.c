/* ginfo.c - list partitions or nodes, and what is free */
#include <stddef.h>

#include "cmds/api/reassemble.h"
#include "cmds/cli/cmd.h"
#include "cmds/cli/listing.h"
#include "cmds/views/views.h"

struct ginfo {
	struct cmd_list partitions, nodes; /* asked for; empty: all */
	bool by_node, by_gpu;
	struct listing listing;
};

#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct ginfo, member, name, letter, arg, set, help)

static const struct cmd_option table[] = {
	CMD_HEADING("What is listed:"),
	ROW(by_node, "nodes", 'N', NULL, cmd_set_flag, "Nodes instead of partitions"),
	ROW(by_gpu, "gpus", 0, NULL, cmd_set_flag, "The GPUs of nodes, one by one"),
	ROW(partitions, "partition", 'p', "LIST", cmd_set_list,
	        "These partitions (with -N: their nodes)"),
	ROW(nodes, "nodelist", 'n', "NODES", cmd_set_hosts, "These nodes: n[01-04],m1; implies -N"),
	LISTING_OPTIONS(struct ginfo, listing),
	LISTING_WHOLE(struct ginfo, listing),
	CMD_TABLE_END,
};

static int take_nodes(
        int key, char *value, struct argp_state *state, void *input, struct error *err)
{
	struct ginfo *g = input;

	(void)key, (void)state;
	return cmd_hosts_add(&g->nodes, value, err) < 0 ? cmd_blame("--nodelist", value, err) : 0;
}

static const struct cmd cmd = {
	.name = "ginfo",
	.arguments = "[NODES]",
	.about = "List partitions, nodes or GPUs, and what is free in them.",
	.examples =
	        "A partition has a line for each type of GPU. LARGEST is the most that one job can "
	        "get on one node now: less than FREE where what is free is scattered. Of those "
	        "that "
	        "jobs share the line \"shared 3\" says how much memory is left.\n"
	        "\n"
	        "Examples:\n"
	        "  ginfo\n"
	        "  ginfo -N -p batch\n"
	        "  ginfo -n h[01-04] -o NODE,STATE,GPUS,REASON\n"
	        "  ginfo --gpus h04\n"
	        "  ginfo -N --json\n"
	        "\n"
	        "Exit status: 0 done; 2 usage; 3 no such partition or node; 4 the controller was "
	        "not "
	        "reached.",
	.table = table,
	.take = take_nodes,
	.lists = { { "Columns of partitions", &partition_kind },
	        { "Columns of nodes", &node_kind },
	        { "Columns of GPUs", &gpu_kind } },
};

/* --- partitions ------------------------------------------------------------------------------- */

static int show_partition(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct partition_line line = { (const Gpusched__Partition *)m, 0 };
	struct ginfo *g = arg;

	(void)err;
	for (; line.line < partition_lines(line.partition); line.line++)
		listing_add(&g->listing, &line, line.line ? NULL : m);
	return 0;
}

static int list_partitions(struct ginfo *g, struct client *c, struct error *err)
{
	Gpusched__ListPartitions request = GPUSCHED__LIST_PARTITIONS__INIT;
	struct reassembly parts = { GPUSCHED__MSG_TYPE__MSG_PARTITION_CHUNK, show_partition, g,
		NULL };

	request.names = g->partitions.v;
	request.n_names = g->partitions.n;
	request.whole = g->listing.whole;
	return reassembly_ask(
	        c, GPUSCHED__MSG_TYPE__MSG_LIST_PARTITIONS, &request.base, &parts, err);
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* In JSON each node has the list of its own. */
static void add_gpus(struct ginfo *g, const Gpusched__Node *node)
{
	if (g->listing.json && !node->n_devices)
		listing_add(&g->listing, NULL, &node->base);
	for (size_t i = 0; i < node->n_devices; i++) {
		struct gpu_line line = { node, node->devices[i] };

		listing_add(&g->listing, &line, i ? NULL : &node->base);
	}
}

static int show_node(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Node *node = (const Gpusched__Node *)m;
	struct ginfo *g = arg;

	(void)err;
	if (!cmd_list_fits_one_of(&g->partitions, node->partitions, node->n_partitions))
		return 0;
	if (g->by_gpu)
		add_gpus(g, node);
	else
		listing_add(&g->listing, node, m);
	return 0;
}

static int drop_partitions(const ProtobufCMessage *m, void *arg, struct error *err)
{
	(void)m, (void)arg, (void)err;
	return 0;
}

/* Nodes are asked for by name only: the partitions' names are checked apart. */
static int check_partitions(struct ginfo *g, struct client *c, struct error *err)
{
	Gpusched__ListPartitions request = GPUSCHED__LIST_PARTITIONS__INIT;
	struct client_call call =
	        CLIENT_ASK(LIST_PARTITIONS, &request.base, PARTITION_CHUNK, drop_partitions, NULL);

	request.names = g->partitions.v;
	request.n_names = g->partitions.n;
	return g->partitions.n ? client_call(c, &call, err) : 0;
}

static int list_nodes(struct ginfo *g, struct client *c, struct error *err)
{
	Gpusched__ListNodes request = GPUSCHED__LIST_NODES__INIT;
	struct reassembly nodes = { GPUSCHED__MSG_TYPE__MSG_NODE_CHUNK, show_node, g, NULL };

	request.names = g->nodes.v;
	request.n_names = g->nodes.n;
	request.devices = g->by_gpu;
	request.whole = g->listing.whole;
	if (check_partitions(g, c, err) < 0)
		return -1;
	return reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_NODES, &request.base, &nodes, err);
}

static int run(void *input, struct error *err)
{
	struct ginfo *g = input;
	const struct view_kind *kind;
	struct client *c;
	int rc;

	g->by_node |= g->by_gpu || g->nodes.n;
	kind = g->by_gpu ? &gpu_kind : g->by_node ? &node_kind : &partition_kind;
	c = listing_open(
	        &g->listing, &cmd, kind, g->by_node ? "nodes" : "partitions", NULL, err);
	if (!c)
		return -1;
	rc = g->by_node ? list_nodes(g, c, err) : list_partitions(g, c, err);
	return listing_close(&g->listing, c, rc, false, err);
}

int main(int argc, char **argv)
{
	struct ginfo g = { .by_node = false };
	int status = cmd_main(&cmd, argc, argv, &g, run);

	cmd_list_clear(&g.partitions);
	cmd_list_clear(&g.nodes);
	return status;
}
