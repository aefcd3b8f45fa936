/* acct_report.c - what jobs used and how long they waited, in groups */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/rpc/acct/acct_answers.h"
#include "ctld/rpc/acct/acct_sums.h"
#include "ctld/rpc/call/answer_parts.h"
#include "ctld/wire/convert.h"

static void add_job(void *data, Gpusched__Acct *job)
{
	sums_add(data, job);
}

/* What there was, from the beginning: what held when the window begins may be old. */
static int read_capacity(void *data, struct past *past, struct error *err)
{
	const struct past_events query = { .uid = PAST_ANYBODY, .capacity = true };
	struct store_batch *batch = batch_new();
	struct past_cursor cursor = { 0 };
	int rc = 0;

	while (rc == 0 && !cursor.end) {
		struct batch_item item;
		size_t offset = 0;

		batch_reset(batch);
		rc = past_events(past, &query, &cursor, PAST_SLICE, batch, err);
		while (rc == 0 && batch_next(batch, &offset, &item)) {
			const struct value *v = &item.row.v[COL_EVENT_text];
			char *text = xstrndup(v->p, v->n);

			sums_capacity(data, item.row.v[COL_EVENT_time].i, text);
			free(text);
		}
	}
	batch_free(batch);
	return rc;
}

static void send_chunk(void *to, const ProtobufCMessage *m)
{
	const struct acct_out *out = to;

	out->send(out->to, GPUSCHED__MSG_TYPE__MSG_REPORT_CHUNK, m);
}

static int send_lines(const struct acct_out *out, void *data, struct error *err)
{
	Gpusched__ReportChunk m = GPUSCHED__REPORT_CHUNK__INIT;
	struct arena *arena = arena_new(WIRE_ARENA_CAP);
	struct part part = { .chunk = &m.base,
		.arena = arena,
		.send = send_chunk,
		.to = (void *)(uintptr_t)out };
	Gpusched__ReportLine **lines;
	size_t n = 0;
	int rc = arena ? sums_lines(data, arena, &lines, &n, err)
	               : error_set(err, ERR_BUSY, "out of memory");

	m.currency = (char *)out->currency;
	part_begin(&part);
	for (size_t i = 0; rc == 0 && i < n; i++)
		part_add(&part, &lines[i]->base);
	/* With the last lines, the sums. */
	if (rc == 0)
		sums_types(data, out->now, arena, &m.types, &m.n_types);
	part_end(&part);
	arena_free(arena);
	return rc;
}

static void drop_sums(void *data)
{
	sums_free(data);
}

const struct acct_taker acct_report = {
	.job = add_job, .past = read_capacity, .end = send_lines, .free = drop_sums
};

void *acct_report_data(const Gpusched__Report *m, const struct acct_query *query,
        const struct conf *conf, struct error *err)
{
	int64_t since, until;

	acct_query_window(query, &since, &until);
	return sums_new(m->by, m->n_by, since, until, conf, err);
}
