/* popup.h - what lies over a screen: help, --why, the choice of an order */
#ifndef CMDS_TOP_SCREENS_POPUP_H
#define CMDS_TOP_SCREENS_POPUP_H

#include "cmds/top/screens/state.h"

void popup_draw(struct state *s, struct grid *g, struct area a);

/* Its lines are made when it is drawn, as wide as there is room. */
void popup_why(struct state *s, const struct top_job *job);
void popup_sort(struct state *s);
/* A row of the help: a key and what it does; key NULL: a heading. */
struct popup_help_row {
	const char *key, *text;
};
void popup_help(struct state *s, const struct popup_help_row *rows, size_t n);

#endif
