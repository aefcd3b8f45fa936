/* screen.h - the screens: one table, and what each of them can do */
#ifndef CMDS_TOP_SCREENS_SCREEN_H
#define CMDS_TOP_SCREENS_SCREEN_H

#include "cmds/top/screens/state.h"

struct screen {
	const char *name;  /* "queue", of --screen */
	const char *title; /* "Queue" */
	void (*draw)(struct state *s, struct grid *g, struct area a);
	/* The job under the cursor; id 0: none. NULL: never one. */
	struct job_key (*job)(const struct state *s);
	/* Left and right; NULL: nothing there. */
	void (*sideways)(struct state *s, int by);
	/* ENTER; NULL: as w. */
	void (*enter)(struct state *s);
	bool ordered;   /* s chooses an order */
	unsigned wants; /* enum want */
	const char *hints;
};

extern const struct screen screens[SCREENS];

#endif
