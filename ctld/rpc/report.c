/* report.c - MSG_REPORT: what jobs used and how long they waited, in groups */
#include <stdlib.h>

#include "common/xalloc.h"
#include "ctld/ctld.h"
#include "ctld/peers.h"
#include "ctld/rpc/acct.h"
#include "ctld/rpc/acct_sums.h"
#include "ctld/rpc/convert.h"

#define CHUNK_LINES 500

static void add_job(void *data, Gpusched__Acct *job)
{
	sums_add(data, job);
}

static int send_lines(struct ctld *c, struct call *call, void *data, struct error *err)
{
	Gpusched__ReportChunk m = GPUSCHED__REPORT_CHUNK__INIT;
	struct arena *arena = arena_new(WIRE_ARENA_CAP);
	Gpusched__ReportLine **lines;
	size_t n = 0, at = 0;
	int rc = arena ? sums_lines(data, arena, &lines, &n, err)
	               : error_set(err, ERR_BUSY, "out of memory");

	m.currency = c->conf->prices.currency;
	for (; rc == 0 && at < n; at += m.n_lines) {
		m.lines = lines + at;
		m.n_lines = n - at < CHUNK_LINES ? n - at : CHUNK_LINES;
		peers_send(
		        c, call->session, GPUSCHED__MSG_TYPE__MSG_REPORT_CHUNK, call->id, &m.base);
	}
	arena_free(arena);
	return rc;
}

static void drop_sums(void *data)
{
	sums_free(data);
}

static const struct acct_taker report_taker = {
	.job = add_job, .end = send_lines, .free = drop_sums
};

void rpc_report(struct ctld *c, const struct rpc *rpc)
{
	const Gpusched__Report *m = (const Gpusched__Report *)rpc->msg;
	struct acct_query *query;
	struct sums *sums = NULL;
	int64_t since, until;
	struct error err;

	query = acct_query_new(m->jobs, c->conf, acct_sight(c, rpc->peer), &err);
	if (query) {
		acct_query_window(query, &since, &until);
		sums = sums_new(m->by, m->n_by, since, until, c->conf, &err);
	}
	if (!sums) {
		acct_query_free(query);
		rpc_reply(c, rpc, &err);
		return;
	}
	acct_walk(c, rpc, query, &report_taker, sums);
}
