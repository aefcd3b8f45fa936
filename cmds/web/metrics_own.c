/* metrics_own.c - /metrics: this project's own names */
#include "cmds/web/metrics_rows.h"

#include <string.h>

#include "cmds/web/metrics_sums.h"
#include "cmds/web/snapshot.h"

static void up(struct metric_out *o)
{
	metric_put(o, o->in->up);
}

static void snapshot_age(struct metric_out *o)
{
	if (o->in->snap)
		metric_put(o, o->in->age_s);
}

static void jobs(struct metric_out *o)
{
	const struct name_tally *t = &o->in->sums->jobs;

	for (size_t i = 0; i < t->n; i++)
		metric_put(o, t->v[i].n, t->v[i].a, t->v[i].b);
}

static void waiting(struct metric_out *o)
{
	const struct name_tally *t = &o->in->sums->waiting;

	for (size_t i = 0; i < t->n; i++)
		metric_put(o, t->v[i].n, t->v[i].a);
}

const struct metric metrics_own[] = {
	{ "gpusched_up", "gauge", "", "1 if the controller answers", up },
	{ "gpusched_snapshot_age_seconds", "gauge", "", "How old the figures of this page are",
	        snapshot_age },
	{ "gpusched_jobs", "gauge", "partition,state", "Jobs, and tasks of arrays", jobs },
	{ "gpusched_jobs_waiting", "gauge", "reason", "Jobs that wait, by their first reason",
	        waiting },
	METRICS_END,
};
