/* job_chunk.c - see job_chunk.h */
#include "ctld/rpc/call/job_chunk.h"

#include "ctld/ctld.h"
#include "ctld/wire/convert.h"

void job_chunk_begin(struct ctld *c, const struct call *call, struct job_chunk *chunk, bool whole)
{
	gpusched__job_chunk__init(&chunk->m);
	call_part_begin(c, call, &chunk->to, GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, &chunk->m.base,
	        whole);
}

bool job_chunk_full(const struct job_chunk *chunk)
{
	return part_full(&chunk->to.part);
}

void job_chunk_add(struct job_chunk *chunk, const struct job_view *job)
{
	part_add(&chunk->to.part, &wire_job(job, chunk->to.c->out)->base);
}

void job_chunk_add_runs(struct job_chunk *chunk, const struct job_view *job, struct clocks now)
{
	const struct ctld *c = chunk->to.c;
	Gpusched__Job *m = wire_job(job, c->out);

	wire_job_runs(c->core, now, job->ref, m, c->out);
	part_add(&chunk->to.part, &m->base);
}

bool job_chunk_end(struct job_chunk *chunk)
{
	return part_end(&chunk->to.part);
}
