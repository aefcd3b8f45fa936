/* replay_recorded.h - `gsim --replay`: what gctld recorded, through the core again
 *
 * Files are played one after another, each to its end. The first record at which the core is not
 * what it was is an error, and so is what cannot be read; a record cut short at the end is none.
 */
#ifndef GSIM_REPLAY_RECORDED_H
#define GSIM_REPLAY_RECORDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/error.h"
#include "ctld/core/rows/row.h"

struct replay_recorded_options {
	bool json;
	unsigned check_every; /* core_check() after so many records; 0: never */
	/* Now and then, with bytes; may be NULL. */
	void (*progress)(void *arg, uint64_t done, uint64_t of);
	/* Each row of the core's, as player_rows() has it; may be NULL. */
	void (*row)(void *arg, const struct row *row);
	void *arg;
};

/* Play a file and say on `out` (NULL: nowhere) what was found. */
int replay_recorded(
        const char *path, const struct replay_recorded_options *o, FILE *out, struct error *err);

#endif
