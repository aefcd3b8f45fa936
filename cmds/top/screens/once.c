/* once.c - see once.h */
#include "cmds/top/screens/once.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmds/api/reassemble.h"
#include "cmds/cli/table.h"
#include "cmds/top/screens/frame.h"
#include "cmds/top/screens/screen_map.h"
#include "common/base/clock.h"
#include "common/net/msg.h"

static int on_node(const ProtobufCMessage *node, void *arg, struct error *err)
{
	ProtobufCMessage *copy = msg_copy(node);

	if (!copy)
		return error_set(err, ERR_PROTOCOL, "a node that cannot be decoded");
	update_add(arg, copy);
	return 0;
}

static int ask(struct state *s, struct client *c, struct error *err)
{
	Gpusched__ListNodes request = GPUSCHED__LIST_NODES__INIT;
	struct update *u = update_new(UPDATE_NODES, clock_us(CLOCK_REALTIME));
	struct reassembly nodes = { GPUSCHED__MSG_TYPE__MSG_NODE_CHUNK, on_node, u, NULL };

	request.devices = true;
	if (reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_NODES, &request.base, &nodes, err) < 0) {
		update_free(u);
		return -1;
	}
	state_apply(s, u);
	return 0;
}

static void print_grid(const struct grid *g)
{
	for (unsigned row = 0; row < g->rows; row++) {
		char *line = grid_line(g, row);

		puts(line);
		free(line);
	}
}

int once_print(const struct cmd *cmd, struct state *s, struct client *c, struct error *err)
{
	unsigned cols = table_style_for(stdout).width;
	struct grid g = { 0 };

	cmd_tell_retry(cmd, c);
	if (ask(s, c, err) < 0)
		return -1;
	grid_resize(&g, 1, cols);
	frame_put_gpus(s, &g, (struct area){ 0, 0, 1, cols });
	print_grid(&g);
	screen_map_whole(s, &g, cols);
	print_grid(&g);
	grid_free(&g);
	return 0;
}
