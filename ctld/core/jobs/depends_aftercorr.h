/* depends_aftercorr.h - aftercorr between two arrays is decided task by task */
#ifndef CTLD_CORE_DEPENDS_AFTERCORR_H
#define CTLD_CORE_DEPENDS_AFTERCORR_H

#include <stdbool.h>
#include <stdint.h>

#include "ctld/core/depends/depends_terms.h"

/* A part of an array has ended: decide the same tasks of the waiting arrays. */
void aftercorr_part_ended(struct core *core, struct job *part);
/* The same for tasks that have left memory. False: no edge waits for any. */
bool aftercorr_gone(struct core *core, struct job *on);
/* The array is over: tasks without a counterpart in it are decided by the array as a whole. */
void aftercorr_rest(struct core *core, struct job *own, uint64_t on, enum outcome outcome);
/* The array's other terms have been decided: update its parts. */
void aftercorr_reweigh(struct core *core, struct job *own);

#endif
