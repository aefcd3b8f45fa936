/* usage_report.c - see usage_report.h */
#include "cmds/web/pages/usage_report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/xalloc.h"
#include "common/net/msg.h"

#define ASK_MS 60000

static void keep_types(struct report *r, const Gpusched__ReportChunk *chunk)
{
	for (size_t i = 0; i < chunk->n_types; i++) {
		r->types = xrealloc(r->types, r->n_types + 1, sizeof(*r->types));
		r->types[r->n_types] = (Gpusched__ReportType *)msg_copy(&chunk->types[i]->base);
		r->n_types += r->types[r->n_types] != NULL;
	}
}

static void keep_line(struct report *r, const Gpusched__ReportLine *line)
{
	if (r->n == REPORT_LINES_MAX && line->n_keys) {
		r->cut = true;
		return;
	}
	if (!line->n_keys) {
		r->all = r->all ? r->all : (Gpusched__ReportLine *)msg_copy(&line->base);
		return;
	}
	r->lines = xgrow(r->lines, r->n, &r->room, sizeof(*r->lines));
	r->lines[r->n] = (Gpusched__ReportLine *)msg_copy(&line->base);
	r->n += r->lines[r->n] != NULL;
}

static int on_chunk(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ReportChunk *chunk = (const Gpusched__ReportChunk *)m;
	struct report *r = arg;

	(void)err;
	keep_types(r, chunk);
	for (size_t i = 0; i < chunk->n_lines; i++)
		keep_line(r, chunk->lines[i]);
	if (!r->currency && *chunk->currency)
		r->currency = xstrdup(chunk->currency);
	return 0;
}

static void forget(void *arg)
{
	report_clear(arg);
}

int report_ask(struct page *p, char **by, size_t n_by, int64_t since, int64_t until,
        struct report *out, struct error *err)
{
	Gpusched__ListAcct jobs = GPUSCHED__LIST_ACCT__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	Gpusched__Report request = GPUSCHED__REPORT__INIT;
	struct client_call call = { CLIENT_CALL(REPORT, &request.base, REPORT_CHUNK, on_chunk, out),
		.timeout_ms = ASK_MS,
		.repeatable = true };

	*out = (struct report){ .n = 0 };
	jobs.filter = &filter;
	jobs.since_time = since;
	jobs.until_time = until;
	request.jobs = &jobs;
	request.by = by;
	request.n_by = n_by;
	if (page_ask(p, &call, forget, err) < 0) {
		report_clear(out);
		return -1;
	}
	return 0;
}

void report_clear(struct report *r)
{
	for (size_t i = 0; i < r->n; i++)
		gpusched__report_line__free_unpacked(r->lines[i], NULL);
	for (size_t i = 0; i < r->n_types; i++)
		gpusched__report_type__free_unpacked(r->types[i], NULL);
	if (r->all)
		gpusched__report_line__free_unpacked(r->all, NULL);
	free(r->lines);
	free(r->types);
	free(r->currency);
	*r = (struct report){ .n = 0 };
}

/* Noon of each day is in it, whatever summer time does. */
void days_of(struct days *d, int64_t since, int64_t until)
{
	time_t s = (time_t)(since / 1000000), end = (time_t)(until / 1000000);
	struct tm tm;

	d->n = 0;
	localtime_r(&s, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	for (; d->n < DAYS_MAX; d->n++, tm.tm_mday++) {
		tm.tm_isdst = -1;
		s = mktime(&tm);
		if (s >= end)
			break;
		d->at[d->n] = (double)s;
		strftime(d->names[d->n], sizeof(d->names[0]), "%Y-%m-%d", &tm);
	}
	d->at[d->n] = (double)end;
}

size_t days_find(const struct days *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (!strcmp(d->names[i], name))
			return i;
	return d->n;
}
