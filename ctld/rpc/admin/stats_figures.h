/* stats_figures.h - the figures of `gctl stats`
 *
 * One row a figure: name, unit, help, where it comes from. Names are kept for good: scripts and
 * monitoring read them. Counters grow from the controller's start; what is "now" says so.
 */
#ifndef CTLD_RPC_STATS_FIGURES_H
#define CTLD_RPC_STATS_FIGURES_H

#include <stddef.h>

struct ctld;

struct figure {
	const char *name, *unit, *help;
	double value;
};

#define FIGURES_MAX 128

/* All figures, in the order of the table. Returns how many. */
size_t figures_take(struct ctld *c, struct figure out[FIGURES_MAX]);

#endif
