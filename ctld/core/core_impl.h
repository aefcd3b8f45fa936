/* core_impl.h - what core.c, load.c and timers.c have in common */
#ifndef CTLD_CORE_CORE_IMPL_H
#define CTLD_CORE_CORE_IMPL_H

#include "common/job/run.h"

struct core;

/* Nodes have turned out to have other GPUs: use another configuration for the whole core. */
void core_rehardware(struct core *core);
void timers_apply(struct core *core);
usec_t timers_next(const struct core *core);

#endif
