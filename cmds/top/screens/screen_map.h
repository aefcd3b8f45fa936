/* screen_map.h - nodes and their GPUs, a letter each; with many nodes, a letter a node */
#ifndef CMDS_TOP_SCREENS_SCREEN_MAP_H
#define CMDS_TOP_SCREENS_SCREEN_MAP_H

#include "cmds/top/screens/state.h"

void screen_map_draw(struct state *s, struct grid *g, struct area a);
void screen_map_sideways(struct state *s, int by);
void screen_map_enter(struct state *s);

/* All of it with what the letters mean, in as many rows as it takes: for once.c. */
void screen_map_whole(struct state *s, struct grid *g, unsigned cols);

#endif
