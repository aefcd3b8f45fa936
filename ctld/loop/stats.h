/* stats.h - the figures of `gctl stats`
 *
 * One row a figure: name, unit, help, where it comes from. Names are kept for good: scripts and
 * monitoring read them. Counters grow from the controller's start; what is "now" says so.
 */
#ifndef CTLD_STATS_H
#define CTLD_STATS_H

#include <stddef.h>

struct ctld;

struct stat_value {
	const char *name, *unit, *help;
	double value;
};

#define STATS_MAX 128

/* All figures, in the order of the table. Returns how many. */
size_t stats_take(struct ctld *c, struct stat_value out[STATS_MAX]);

#endif
