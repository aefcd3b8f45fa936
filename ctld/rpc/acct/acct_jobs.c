/* acct_jobs.c - jobs of the past and of now, in chunks */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/rpc/acct/acct_answers.h"
#include "ctld/rpc/call/answer_parts.h"

struct listing {
	bool with_runs, whole;
	Gpusched__Acct **jobs; /* of the present slice */
	size_t n, room;
};

static void take_job(void *data, Gpusched__Acct *job)
{
	struct listing *l = data;

	if (!l->with_runs)
		job->n_runs = 0;
	*XADD(l->jobs, l->n, l->room) = job;
}

static void send_chunk(void *to, const ProtobufCMessage *m)
{
	const struct acct_out *out = to;

	out->send(out->to, GPUSCHED__MSG_TYPE__MSG_ACCT_CHUNK, m);
}

static void send_slice(const struct acct_out *out, void *data)
{
	Gpusched__AcctChunk m = GPUSCHED__ACCT_CHUNK__INIT;
	struct listing *l = data;
	struct part part = { .chunk = &m.base,
		.arena = out->arena,
		.whole = l->whole,
		.send = send_chunk,
		.to = (void *)(uintptr_t)out };

	m.currency = (char *)out->currency;
	part_begin(&part);
	for (size_t i = 0; i < l->n; i++)
		part_add(&part, &l->jobs[i]->base);
	part_end(&part);
	l->n = 0;
}

static void listing_free(void *data)
{
	struct listing *l = data;

	free(l->jobs);
	free(l);
}

const struct acct_taker acct_listing = {
	.job = take_job, .slice = send_slice, .free = listing_free
};

void *acct_listing_data(const Gpusched__ListAcct *m)
{
	struct listing *l = xcalloc(1, sizeof(*l));

	l->with_runs = m->with_runs;
	l->whole = m->whole;
	return l;
}
