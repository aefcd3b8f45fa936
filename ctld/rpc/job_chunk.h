/* job_chunk.h - jobs on their way to a peer, some at a time */
#ifndef CTLD_RPC_JOB_CHUNK_H
#define CTLD_RPC_JOB_CHUNK_H

#include <stdbool.h>

#include "common/gpusched.pb-c.h"
#include "ctld/core/core.h"

struct ctld;
struct call;

#define JOB_CHUNK_JOBS  200
#define JOB_CHUNK_BYTES (512 * 1024) /* packed: half of what a chunk may have */

struct job_chunk {
	Gpusched__JobChunk m;
	Gpusched__Job *jobs[JOB_CHUNK_JOBS]; /* in c->out */
	size_t bytes;
};

/* One at a time: it lives in c->out. */
void job_chunk_begin(struct ctld *c, struct job_chunk *chunk);
bool job_chunk_full(const struct job_chunk *chunk);
void job_chunk_add(struct ctld *c, struct job_chunk *chunk, const struct job_view *job);
/* What the last one has, or had, on each of its nodes. */
void job_chunk_add_runs(
        struct ctld *c, struct job_chunk *chunk, uint64_t ref, struct clocks now);
void job_chunk_send(struct ctld *c, const struct call *call, const struct job_chunk *chunk);

#endif
