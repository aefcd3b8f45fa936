/* core_impl.h - what core.c, changed_rows.c, load.c and timers.c have in common */
#ifndef CTLD_CORE_CORE_IMPL_H
#define CTLD_CORE_CORE_IMPL_H

#include "common/job/run.h"
#include "ctld/core/core.h"

/* Nodes have turned out to have other GPUs: use another configuration for the whole core. */
void core_rehardware(struct core *core);
/* Passes the rows of all dirty objects to `sink` (NULL: makes none), then frees the objects that
 * are gone. Returns the number of rows. */
size_t core_drain(struct core *core, core_row_sink *sink, void *arg);
void timers_apply(struct core *core);
usec_t timers_next(const struct core *core);

#endif
