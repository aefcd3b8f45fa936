/* screen_map.h - nodes and their GPUs, a letter each; with many nodes, a letter a node */
#ifndef CMDS_TOP_SCREEN_MAP_H
#define CMDS_TOP_SCREEN_MAP_H

#include "cmds/top/state.h"

void screen_map_draw(struct state *s, struct grid *g, struct area a);
void screen_map_sideways(struct state *s, int by);
void screen_map_enter(struct state *s);

/* Rows that the whole map takes on so many columns, with its legend: for once.c. */
unsigned screen_map_rows(struct state *s, unsigned cols);

#endif
