/* options.h - gsim's command line */
#ifndef GSIM_OPTIONS_H
#define GSIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctld/gsim/history/history.h"
#include "ctld/gsim/replay_history.h"
#include "ctld/gsim/requests/compare_autoscalers.h"

struct options {
	const char *conf, *nodes; /* at most one; neither: the system's gpusched.conf */
	const char **add_nodes;   /* owned array */
	size_t n_add_nodes;
	const char **files; /* owned array; empty: --show-config alone */
	size_t n_files;
	struct history_options history;
	struct world_options world;
	struct replay_options replay;
	const char *time_limit;    /* as it was given */
	unsigned inflate;          /* per cent; 0: a replay */
	const char *series, *jobs; /* files to write; NULL: none */
	usec_t series_step;
	const char *plot;    /* a folder for charts; NULL: none */
	const char *against; /* another configuration, or "fifo"; NULL: none */
	bool compare;        /* the two files are of --jobs */
	bool requests; /* --format=requests or --requests: a service, and no jobs */
	struct scaling_options scaling;
	bool replay_recorded; /* --replay: not a history, but what gctld recorded */
	bool show_config, json, quiet;
};

/* -1: go on; else the status to exit with, and what is wrong was said. */
int options_read(struct options *o, int argc, char **argv);
void gsim_options_clear(struct options *o);

#endif
