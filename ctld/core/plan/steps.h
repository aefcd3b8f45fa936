/* steps.h - what a node has free over time, and from when it has enough for long enough
 *
 * A level now, and steps up and down later. Steps of one moment count together. Pure; the order in
 * which steps are added does not matter.
 */
#ifndef CTLD_CORE_STEPS_H
#define CTLD_CORE_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "common/run.h"

/* GPUs, CPUs, memory; of a level below 0: short of so much. */
struct plan_room {
	int64_t gpus, cpus, mem_mb;
};

struct step {
	usec_t at;
	struct plan_room by;
};

/* Begins as { 0 }; steps_clear() keeps its memory. */
struct steps {
	struct step *v;
	size_t n, size;
};

void steps_free(struct steps *s);
void steps_clear(struct steps *s);
void steps_add(struct steps *s, usec_t at, struct plan_room by);

/* The first moment from `now` on at which there is `need`, and stays until `length` later
 * (INT64_MAX: until `forever`, when everything has ended). INT64_MAX: there is none. `level` is
 * that of before the first step. Sorts the steps. */
usec_t steps_earliest(struct steps *s, usec_t now, struct plan_room level,
        const struct plan_room *need, usec_t length, usec_t forever);

#endif
