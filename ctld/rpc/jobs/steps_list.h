/* steps_list.h - listing the steps that run */
#ifndef CTLD_RPC_STEPS_LIST_H
#define CTLD_RPC_STEPS_LIST_H

#include "ctld/rpc/call/answer_parts.h"
#include "ctld/rpc/rpc.h"

/* Add those of a job to a part of an answer, which `arena` lives as long as. */
void running_steps_add(const struct core *core, const struct job_view *job, struct clocks now,
        struct arena *arena, struct part *part);

/* A request for those of all jobs that fit: as a handler. */
int running_steps_list(struct ctld *c, const struct rpc *rpc, const Gpusched__JobFilter *which,
        struct error *err);

#endif
