/* state_codes.h - the states of jobs by Slurm's names and short codes: "COMPLETING", "CG" */
#ifndef CMDS_STATE_CODES_H
#define CMDS_STATE_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/views/filter.h"
#include "common/base/error.h"

/* Slurm's words for a job's state. Some Slurm has and gpusched has not: `ours` is NULL. */
struct slurm_state {
	const char *name, *code, *ours;
};
const struct slurm_state *slurm_state(const char *name_or_code); /* NULL: none */
/* A job that is being started or ended counts as one that runs, for Slurm's records and JSON. */
const char *slurm_base_state(const char *state);
/* How a job in that state ended, in Slurm's numbers: one that ran out of memory by "signal" 125,
 * whatever its script made of that. */
struct slurm_exit {
	uint32_t code, signal;
};
struct slurm_exit slurm_exit(const char *state, uint32_t code, uint32_t signal);
void slurm_state_names(char *buf, size_t size); /* of all, for a message */
/* Which states a list asks for: those that exist go to `filter`. -1 with `err`: the word that is
 * no state. *none: only such as no job can be in. */
int slurm_filter_states(
        struct filter *f, const char *value, bool *none, bool *all, struct error *err);

/* Ask for each of them that exists, by its name. */
int slurm_filter_every_state(struct filter *f, struct error *err);

#endif
