/* job_chunk.h - jobs on their way to a peer, some at a time (answer_parts.h) */
#ifndef CTLD_RPC_JOB_CHUNK_H
#define CTLD_RPC_JOB_CHUNK_H

#include <stdbool.h>

#include "common/gpusched.pb-c.h"
#include "ctld/core/core.h"
#include "ctld/rpc/call/call_answer.h"

struct job_chunk {
	Gpusched__JobChunk m; /* what the next part says besides its jobs */
	struct call_part to;
};

/* One at a time: it lives in c->out. `whole`: what is large is told in pieces, else it is cut. */
void job_chunk_begin(
        struct ctld *c, const struct call *call, struct job_chunk *chunk, bool whole);
bool job_chunk_full(const struct job_chunk *chunk);
void job_chunk_add(struct job_chunk *chunk, const struct job_view *job);
/* The same with what it has, or had, on each of its nodes. */
void job_chunk_add_runs(struct job_chunk *chunk, const struct job_view *job, struct clocks now);
/* Send what is in it. False: nothing was. */
bool job_chunk_end(struct job_chunk *chunk);

#endif
