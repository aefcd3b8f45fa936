/* count_rows.c - counts of jobs and nodes as samples, for the rows of several pages: rows.h */
#include "cmds/web/metrics/rows.h"
#include "cmds/web/metrics/snapshot_counts.h"
#include "cmds/web/snapshot.h"

void metric_jobs(struct metric_out *o)
{
	metric_put(o, o->in->sums->jobs.n[o->metric->what]);
}

void metric_groups(struct metric_out *o, const struct job_groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		metric_put(o, g->v[i].n[o->metric->what], g->v[i].name);
}

void metric_user_jobs(struct metric_out *o)
{
	metric_groups(o, &o->in->sums->by_user);
}

void metric_account_jobs(struct metric_out *o)
{
	metric_groups(o, &o->in->sums->by_account);
}

void metric_partition_jobs(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;

	for (size_t i = 0; snap && i < snap->n_partitions; i++) {
		const struct job_group *g =
		        job_groups_find(&o->in->sums->by_partition, snap->partitions[i]->name);

		metric_put(o, g ? g->n[o->metric->what] : 0.0, snap->partitions[i]->name);
	}
}

void metric_nodes(struct metric_out *o)
{
	metric_put(o, o->in->sums->nodes.n[o->metric->what]);
}

void metric_partition_nodes(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;

	for (size_t i = 0; snap && i < snap->n_partitions; i++)
		metric_put(o, o->in->sums->node_groups[i].n[o->metric->what],
		        snap->partitions[i]->name);
}
