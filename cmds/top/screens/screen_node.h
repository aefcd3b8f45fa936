/* screen_node.h - one node: what it has, and its GPUs one by one with what they do */
#ifndef CMDS_TOP_SCREENS_SCREEN_NODE_H
#define CMDS_TOP_SCREENS_SCREEN_NODE_H

#include "cmds/top/screens/state.h"

void screen_node_draw(struct state *s, struct grid *g, struct area a);
struct job_key screen_node_job(const struct state *s); /* that has the GPU under the cursor */
void screen_node_sideways(struct state *s, int by);

#endif
