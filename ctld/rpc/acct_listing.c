/* acct_listing.c - jobs of the past and of now, in chunks */
#include <stdlib.h>

#include "common/xalloc.h"
#include "ctld/rpc/acct_take.h"

#define CHUNK_JOBS  200
#define CHUNK_BYTES ((size_t)512 * 1024) /* packed: half of what a chunk may have */
#define RUNS_MAX    2048                 /* of a job, so that it fits: the latest */

struct listing {
	bool with_runs;
	Gpusched__Acct **jobs; /* of the present slice */
	size_t n, room;
};

static void take_job(void *data, Gpusched__Acct *job)
{
	struct listing *l = data;

	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 256;
		l->jobs = xrealloc(l->jobs, l->room, sizeof(*l->jobs));
	}
	if (!l->with_runs) {
		job->n_runs = 0;
	} else if (job->n_runs > RUNS_MAX) {
		job->runs += job->n_runs - RUNS_MAX;
		job->n_runs = RUNS_MAX;
	}
	l->jobs[l->n++] = job;
}

static void send_slice(const struct acct_out *out, void *data)
{
	Gpusched__AcctChunk m = GPUSCHED__ACCT_CHUNK__INIT;
	struct listing *l = data;
	size_t at = 0, bytes = 0;

	m.currency = (char *)out->currency;
	for (size_t i = 0; i < l->n; i++) {
		size_t size = protobuf_c_message_get_packed_size(&l->jobs[i]->base);

		if (i > at && (i - at == CHUNK_JOBS || bytes + size > CHUNK_BYTES)) {
			m.jobs = l->jobs + at;
			m.n_jobs = i - at;
			out->send(out->to, GPUSCHED__MSG_TYPE__MSG_ACCT_CHUNK, &m.base);
			at = i;
			bytes = 0;
		}
		bytes += size;
	}
	m.jobs = l->jobs + at;
	m.n_jobs = l->n - at;
	if (m.n_jobs)
		out->send(out->to, GPUSCHED__MSG_TYPE__MSG_ACCT_CHUNK, &m.base);
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
	return l;
}
