/* depends_range.h - terms about some tasks of an array (12_[1-3,7]) are decided part by part */
#ifndef CTLD_CORE_DEPENDS_RANGE_H
#define CTLD_CORE_DEPENDS_RANGE_H

#include <stdbool.h>

struct core;
struct edge;
struct job;

/* A part of an array has started or ended: decide its tasks in the terms that name them. */
void range_part_moved(struct core *core, struct job *part);
/* The same for tasks that have left memory. False: no edge waits for any. */
bool range_gone(struct core *core, struct job *on);
/* The array is over, and every update of it has been done. */
void range_over(struct core *core, struct edge *e);

#endif
