/* audit.c - see audit.h
 *
 * Lines wait here until the seal of their change takes them, so an event of the trail and what it
 * tells of are in one commit. The texts are copied into scratch memory: the caller's may be gone by
 * then.
 */
#include "ctld/core/rows/audit.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/util/scratch.h"

struct line {
	uint64_t seq, job;
	usec_t wall;
	int64_t uid;
	const char *kind, *host, *node, *text; /* in scratch */
};

struct audit {
	struct line *v;
	size_t n, size, touched;
	struct scratch *scratch;
};

struct audit *audit_new(void)
{
	struct audit *a = xcalloc(1, sizeof(*a));

	a->scratch = scratch_new();
	return a;
}

void audit_free(struct audit *a)
{
	if (!a)
		return;
	scratch_free(a->scratch);
	free(a->v);
	free(a);
}

void audit_add(struct audit *a, uint64_t seq, usec_t wall, const struct audit_entry *e)
{
	struct line *line = XADD(a->v, a->n, a->size);

	a->touched++;
	line->seq = seq;
	line->job = e->job;
	line->wall = wall;
	line->uid = e->uid;
	line->kind = scratch_text(a->scratch, e->kind);
	line->host = scratch_text(a->scratch, e->host ? e->host : "");
	line->node = scratch_text(a->scratch, e->node ? e->node : "");
	line->text = scratch_text(a->scratch, e->text ? e->text : "");
}

size_t audit_touched(struct audit *a)
{
	size_t n = a->touched;

	a->touched = 0;
	return n;
}

/* Without a sink the lines are only forgotten. */
size_t audit_seal(struct audit *a, core_row_sink *sink, void *arg)
{
	struct row row;
	size_t i, n = sink ? a->n : 0;

	for (i = 0; i < n; i++) {
		const struct line *line = &a->v[i];

		row_begin(&row, TABLE_EVENT, ROW_PUT);
		row.v[COL_EVENT_seq] = value_int((int64_t)line->seq);
		row.v[COL_EVENT_time] = value_int(line->wall);
		row.v[COL_EVENT_kind] = value_text(line->kind);
		row.v[COL_EVENT_uid] = value_int(line->uid);
		row.v[COL_EVENT_host] = value_text(line->host);
		row.v[COL_EVENT_job] = value_int((int64_t)line->job);
		row.v[COL_EVENT_node] = value_text(line->node);
		row.v[COL_EVENT_text] = value_text(line->text);
		sink(arg, &row);
	}
	a->n = 0;
	scratch_clear(a->scratch);
	return n;
}

size_t audit_bytes(const struct audit *a)
{
	return a->n * 160;
}
