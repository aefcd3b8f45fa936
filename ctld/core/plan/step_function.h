/* step_function.h - what a node has free over time, and from when it has enough for long enough
 *
 * It has a level now, and steps up and down later. Steps at the same moment count together. The
 * functions are pure; the order in which steps are added does not matter.
 */
#ifndef CTLD_CORE_STEP_FUNCTION_H
#define CTLD_CORE_STEP_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

#include "common/job/run.h"

/* Numbers of GPUs and CPUs, memory in MiB; below 0: so much is missing. */
struct plan_room {
	int64_t gpus, cpus, mem_mb;
};

struct level_step {
	usec_t at;
	struct plan_room by;
};

/* { 0 } at first; step_function_clear() keeps its memory. */
struct step_function {
	struct level_step *v;
	size_t n, size;
};

void step_function_free(struct step_function *s);
void step_function_clear(struct step_function *s);
void step_function_add(struct step_function *s, usec_t at, struct plan_room by);

/* The first moment from `now` on at which `need` is free and stays free for `length` (INT64_MAX:
 * until `forever`, when everything has ended). INT64_MAX: there is none. `level` is the level
 * before the first step. Sorts the steps. */
usec_t step_function_earliest(struct step_function *s, usec_t now, struct plan_room level,
        const struct plan_room *need, usec_t length, usec_t forever);

#endif
