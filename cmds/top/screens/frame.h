/* frame.h - the whole terminal: the head, one screen, a popup over it, the last line */
#ifndef CMDS_TOP_SCREENS_FRAME_H
#define CMDS_TOP_SCREENS_FRAME_H

#include "cmds/top/screens/state.h"

#define FRAME_ROWS_MIN 4
#define FRAME_COLS_MIN 20

/* Of any size; below the least it says that it is too small. */
void frame_draw(struct state *s, struct grid *g);

/* The line that says what GPUs there are: for once.c too. */
void frame_put_gpus(const struct state *s, struct grid *g, struct area a);

/* The age of the data on the screen, in microseconds; 0: up to date. */
int64_t frame_age_us(const struct state *s);

#endif
