/* job_chunk.c - see job_chunk.h */
#include "ctld/rpc/job_chunk.h"

#include "ctld/calls.h"
#include "ctld/ctld.h"
#include "ctld/peers.h"
#include "ctld/rpc/convert.h"

void job_chunk_begin(struct ctld *c, struct job_chunk *chunk)
{
	gpusched__job_chunk__init(&chunk->m);
	chunk->m.jobs = chunk->jobs;
	chunk->bytes = 0;
	arena_reset(c->out, WIRE_ARENA_CAP);
}

bool job_chunk_full(const struct job_chunk *chunk)
{
	return chunk->m.n_jobs == JOB_CHUNK_JOBS || chunk->bytes >= JOB_CHUNK_BYTES;
}

void job_chunk_add(struct ctld *c, struct job_chunk *chunk, const struct job_view *job)
{
	Gpusched__Job *m = wire_job(job, c->out);

	chunk->jobs[chunk->m.n_jobs++] = m;
	chunk->bytes += protobuf_c_message_get_packed_size(&m->base);
}

void job_chunk_add_runs(struct ctld *c, struct job_chunk *chunk, uint64_t ref, struct clocks now)
{
	Gpusched__Job *m = chunk->jobs[chunk->m.n_jobs - 1];

	chunk->bytes -= protobuf_c_message_get_packed_size(&m->base);
	wire_job_runs(c->core, now, ref, m, c->out);
	chunk->bytes += protobuf_c_message_get_packed_size(&m->base);
}

void job_chunk_send(struct ctld *c, const struct call *call, const struct job_chunk *chunk)
{
	peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, call->id, &chunk->m.base);
}
