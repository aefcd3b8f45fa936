/* options.h - gdemand's command line */
#ifndef GDEMAND_OPTIONS_H
#define GDEMAND_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctld/gdemand/history_jobs.h"

struct gdemand_options {
	const char **files; /* owned array */
	size_t n_files;
	const char *conf, *nodes; /* at most one */
	struct past_options past; /* but for its files and conf */
	bool size;
	const char *like; /* of --size */
	double keep;      /* a part of 1 */
	unsigned top, rounds;
	uint64_t seed;
	const char *plot; /* a folder; NULL */
	bool propose, json, quiet;
};

/* -1: go on; else the status to exit with, and what is wrong was said. */
int gdemand_options_read(struct gdemand_options *o, int argc, char **argv);
void gdemand_options_clear(struct gdemand_options *o);

#endif
