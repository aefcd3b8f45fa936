/* acct_report.c - what jobs used and how long they waited, in groups */
#include "ctld/rpc/acct_sums.h"
#include "ctld/rpc/acct_take.h"
#include "ctld/rpc/convert.h"

#define CHUNK_LINES 500

static void add_job(void *data, Gpusched__Acct *job)
{
	sums_add(data, job);
}

static int send_lines(const struct acct_out *out, void *data, struct error *err)
{
	Gpusched__ReportChunk m = GPUSCHED__REPORT_CHUNK__INIT;
	struct arena *arena = arena_new(WIRE_ARENA_CAP);
	Gpusched__ReportLine **lines;
	size_t n = 0, at = 0;
	int rc = arena ? sums_lines(data, arena, &lines, &n, err)
	               : error_set(err, ERR_BUSY, "out of memory");

	m.currency = (char *)out->currency;
	for (; rc == 0 && at < n; at += m.n_lines) {
		m.lines = lines + at;
		m.n_lines = n - at < CHUNK_LINES ? n - at : CHUNK_LINES;
		out->send(out->to, GPUSCHED__MSG_TYPE__MSG_REPORT_CHUNK, &m.base);
	}
	arena_free(arena);
	return rc;
}

static void drop_sums(void *data)
{
	sums_free(data);
}

const struct acct_taker acct_report = { .job = add_job, .end = send_lines, .free = drop_sums };

void *acct_report_data(const Gpusched__Report *m, const struct acct_query *query,
        const struct conf *conf, struct error *err)
{
	int64_t since, until;

	acct_query_window(query, &since, &until);
	return sums_new(m->by, m->n_by, since, until, conf, err);
}
