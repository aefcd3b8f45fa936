/* gpusched.c - /metrics: the project's own names, all but what the controller says of itself */
#include <math.h>
#include <string.h>

#include "cmds/web/metrics/counters.h"
#include "cmds/web/metrics/rows.h"
#include "cmds/web/metrics/snapshot_counts.h"
#include "cmds/web/snapshot.h"

/* --- gweb itself ------------------------------------------------------------------------------ */

static void up(struct metric_out *o)
{
	metric_put(o, (double)o->in->up);
}

static void snapshot_age(struct metric_out *o)
{
	if (o->in->snap)
		metric_put(o, o->in->age_s);
}

static void info(struct metric_out *o)
{
	if (o->in->snap)
		metric_put(o, 1.0, o->in->snap->cluster, o->in->snap->version);
}

enum web { WEB_OPEN, WEB_STREAMS, WEB_ACCEPTED, WEB_REFUSED, WEB_SLOW, WEB_MEMORY };

static void web(struct metric_out *o)
{
	const struct http_figures *f = o->in->http;

	if (!f)
		return;
	metric_put(o, (const double[]){ [WEB_OPEN] = f->open,
	                      [WEB_STREAMS] = f->streams,
	                      [WEB_ACCEPTED] = (double)f->connections,
	                      [WEB_REFUSED] = (double)f->refused,
	                      [WEB_SLOW] = (double)f->slow,
	                      [WEB_MEMORY] = o->in->memory }[o->metric->what]);
}

static void web_answers(struct metric_out *o)
{
	static const char *const classes[] = { "other", "1xx", "2xx", "3xx", "4xx", "5xx" };

	for (size_t i = 0; o->in->http && i < sizeof(classes) / sizeof(classes[0]); i++)
		metric_put(o, (double)o->in->http->answers[i], classes[i]);
}

/* --- what was counted ------------------------------------------------------------------------- */

static void put_tally(struct metric_out *o, const struct label_sums *t)
{
	for (size_t i = 0; i < t->n; i++)
		metric_put(o, t->v[i].n, t->v[i].a, t->v[i].b, t->v[i].c);
}

static void put_counters(struct metric_out *o, size_t offset)
{
	const struct counters *t = o->in->snap ? o->in->snap->counters : NULL;
	const struct counter_list *l =
	        t ? (const struct counter_list *)(const void *)((const char *)t + offset) : NULL;

	for (size_t i = 0; l && i < l->n; i++)
		metric_put(o, l->v[i].n, l->v[i].a, l->v[i].b);
}

#define TALLY(name)                               \
	static void name(struct metric_out *o)    \
	{                                         \
		put_tally(o, &o->in->sums->name); \
	}
#define TOTAL(name, list)                                     \
	static void name(struct metric_out *o)                \
	{                                                     \
		put_counters(o, offsetof(struct counters, list)); \
	}

TALLY(states)
TALLY(waiting)
TALLY(gpus)
TALLY(idle)
TOTAL(gpu_seconds, gpu_seconds)
TOTAL(idle_seconds, idle_seconds)
TOTAL(ended, ended)
TOTAL(requeued, requeued)
TOTAL(in_target, in_target)
TOTAL(xids, xids)

static void oldest(struct metric_out *o)
{
	const struct label_sums *t = &o->in->sums->oldest;

	for (size_t i = 0; i < t->n; i++)
		metric_put(o, fmax(0, ((double)o->in->now_us - t->v[i].n) / 1e6), t->v[i].a);
}

static void node_states(struct metric_out *o)
{
	static const struct {
		const char *state;
		enum node_count count;
	} all[] = { { "idle", NODES_IDLE }, { "mixed", NODES_MIXED },
		{ "allocated", NODES_ALLOCATED }, { "drained", NODES_DRAINED },
		{ "draining", NODES_DRAINING }, { "unknown", NODES_UNKNOWN },
		{ "down", NODES_DOWN } };

	for (size_t i = 0; o->in->snap && i < sizeof(all) / sizeof(all[0]); i++)
		metric_put(o, o->in->sums->nodes.n[all[i].count], all[i].state);
}

enum block { BLOCK_LARGEST, BLOCK_FREE, BLOCK_TOTAL };

static void blocks(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;

	for (size_t p = 0; snap && p < snap->n_partitions; p++)
		for (size_t i = 0; i < snap->partitions[p]->n_gpus; i++) {
			const Gpusched__GpuUse *use = snap->partitions[p]->gpus[i];

			metric_put(o,
			        (const double[]){
			                use->largest, use->free, use->total }[o->metric->what],
			        snap->partitions[p]->name, use->type);
		}
}

static void waits(struct metric_out *o)
{
	const struct counters *t = o->in->snap ? o->in->snap->counters : NULL;
	char le[32];

	for (size_t i = 0; t && i < t->n_waits; i++) {
		const struct counter_waits *w = &t->waits[i];
		const char *labels[] = { w->partition, w->qos };
		uint64_t below = 0;

		for (size_t b = 0; b < COUNTERS_BUCKETS; b++) {
			below += w->buckets[b];
			snprintf(le, sizeof(le), "%g", counters_limits[b]);
			metric_put_more(o, "_bucket", "le", isinf(counters_limits[b]) ? "+Inf" : le,
			        (double)below, labels);
		}
		metric_put_more(o, "_sum", NULL, NULL, w->sum, labels);
		metric_put_more(o, "_count", NULL, NULL, (double)w->count, labels);
	}
}

/* --- accounts --------------------------------------------------------------------------------- */

enum share { SHARE_LEVEL, SHARE_NORM, SHARE_GPU_S, SHARE_COST };

static void shares(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;

	for (size_t i = 0; snap && i < snap->n_shares; i++) {
		const Gpusched__Share *s = snap->shares[i];

		if (!*s->user)
			metric_put(o,
			        (const double[]){ s->level_fs, s->norm, (double)s->gpu_us / 1e6,
			                s->cost }[o->metric->what],
			        s->account);
	}
}

static void account_gpus(struct metric_out *o)
{
	const struct label_sums *t = &o->in->sums->held;

	for (size_t i = 0; i < t->n; i++)
		metric_put(o, t->v[i].n, t->v[i].a, t->v[i].b, "held");
}

/* --- services --------------------------------------------------------------------------------- */

static void service_replicas(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;

	for (size_t i = 0; snap && i < snap->n_services && i < METRICS_NAMES_MAX; i++) {
		const Gpusched__Service *s = snap->services[i];

		metric_put(o, (double)s->ready, s->name, "ready");
		metric_put(o, (double)s->loading, s->name, "loading");
		metric_put(o, (double)s->unready, s->name, "unready");
		metric_put(o, (double)s->draining, s->name, "draining");
		metric_put(o, (double)s->pending, s->name, "pending");
	}
}

enum service {
	SERVICE_WANTED,
	SERVICE_IN_FLIGHT,
	SERVICE_WAITING,
	SERVICE_REQUESTS,
	SERVICE_TOKENS,
	SERVICE_UP
};

static void services(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;

	for (size_t i = 0; snap && i < snap->n_services && i < METRICS_NAMES_MAX; i++) {
		const Gpusched__Service *s = snap->services[i];

		metric_put(o,
		        (const double[]){ [SERVICE_WANTED] = s->wanted,
		                [SERVICE_IN_FLIGHT] = s->in_flight,
		                [SERVICE_WAITING] = s->waiting,
		                [SERVICE_REQUESTS] = (double)s->requests,
		                [SERVICE_TOKENS] = (double)s->tokens,
		                [SERVICE_UP] = !strcmp(s->state, "SERVING") }[o->metric->what],
		        s->name);
	}
}

/* --- what the controller counts -------------------------------------------------------------- */

/* By the reason that allowed the preemption, from the job's comment. */
static void preemptions(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;
	static const char prefix[] = "core.preempted_";

	for (size_t i = 0; snap && i < snap->n_stats; i++)
		if (!strncmp(snap->stats[i]->name, prefix, strlen(prefix)))
			metric_put(o, snap->stats[i]->value, snap->stats[i]->name + strlen(prefix));
}

/* --- the table -------------------------------------------------------------------------------- */

#define G(name, labels, help, fill, what) GAUGE("gpusched_" name, labels, help, fill, what)
#define C(name, labels, help, fill, what)                             \
	{                                                             \
		"gpusched_" name, "counter", labels, help, fill, what \
	}

const struct metric metrics_own[] = {
	G("up", "", "1 if the controller answers", up, 0),
	G("snapshot_age_seconds", "", "How old the figures of this page are", snapshot_age, 0),
	G("info", "cluster,version", "1", info, 0),
	G("jobs", "partition,state",
	        "Jobs, and tasks of arrays; those that ended for as long as gweb shows them",
	        states, 0),
	G("jobs_waiting", "reason", "Jobs that wait, by their first reason", waiting, 0),
	G("oldest_wait_seconds", "partition",
	        "Since when the job that waits longest could start as far as it depends on its "
	        "owner",
	        oldest, 0),
	G("waiting_gpus", "partition", "GPUs that waiting jobs ask for", metric_partition_jobs,
	        JOBS_GPUS_PENDING),
	G("held_gpus", "partition", "GPUs that jobs have", metric_partition_jobs, JOBS_GPUS),
	G("nodes", "state", "Nodes", node_states, 0),
	G("gpus", "type,state",
	        "GPUs: free, held, shared, draining, drained, missing, trouble, or unavailable: "
	        "free on a node that takes no work",
	        gpus, 0),
	G("idle_held_gpus", "type",
	        "GPUs that jobs have, and that did not compute at the last sample; only where "
	        "samples are known",
	        idle, 0),
	G("partition_gpus", "partition,type", "GPUs of the partition's nodes", blocks, BLOCK_TOTAL),
	G("partition_free_gpus", "partition,type", "Those that are free, on nodes that take work",
	        blocks, BLOCK_FREE),
	G("largest_block", "partition,type", "The most GPUs that one job can get on one node now",
	        blocks, BLOCK_LARGEST),
	G("account_gpus", "account,type,kind",
	        "GPUs of an account, without those below it; kind is held", account_gpus, 0),
	G("account_fairshare", "account",
	        "Its shares over its use, among its siblings; above 1 it has used less than its "
	        "part",
	        shares, SHARE_LEVEL),
	G("account_share", "account", "Its part of the shares of its siblings", shares, SHARE_NORM),
	C("account_gpu_seconds_total", "account",
	        "GPUs times seconds that it has used, with accounts below it, as the controller "
	        "keeps it",
	        shares, SHARE_GPU_S),
	C("account_cost_total", "account", "The cost of its use by the configured prices", shares,
	        SHARE_COST),
	C("gpu_seconds_total", "account,type", "GPUs times seconds held, counted since gweb began",
	        gpu_seconds, 0),
	C("idle_gpu_seconds_total", "type,state",
	        "GPUs times seconds free on nodes that take work, or held without computing, "
	        "counted since gweb began",
	        idle_seconds, 0),
	{ "gpusched_wait_seconds", "histogram", "partition,qos",
	        "From when a job could start to its first start, counted since gweb began", waits,
	        0 },
	C("wait_in_target_total", "partition,in_target",
	        "First starts of jobs with a max_wait, theirs or their QOS's, within it or not, "
	        "counted since gweb began",
	        in_target, 0),
	C("jobs_ended_total", "partition,state", "Ends of jobs, counted since gweb began", ended,
	        0),
	C("requeues_total", "partition,reason",
	        "Jobs that ran and wait again, by the reason that they wait for then, counted "
	        "since gweb began",
	        requeued, 0),
	C("preemptions_total", "cause",
	        "Jobs preempted since the controller started: by a higher tier or QOS, or to "
	        "reclaim a guarantee",
	        preemptions, 0),
	C("gpu_xids_total", "xid", "Xids that nodes heard of, counted since gweb began", xids, 0),
	G("service_replicas", "service,state", "Replicas", service_replicas, 0),
	G("service_wanted", "service", "Replicas that are wanted", services, SERVICE_WANTED),
	G("service_serving", "service", "1 if its state is SERVING", services, SERVICE_UP),
	G("service_in_flight", "service", "Requests that its replicas work on", services,
	        SERVICE_IN_FLIGHT),
	G("service_waiting", "service", "Requests that wait at its replicas", services,
	        SERVICE_WAITING),
	C("service_requests_total", "service", "Requests that its living replicas have answered",
	        services, SERVICE_REQUESTS),
	C("service_tokens_total", "service", "Tokens that its living replicas have made", services,
	        SERVICE_TOKENS),
	G("web_connections", "", "Connections to gweb", web, WEB_OPEN),
	G("web_streams", "", "Of them streams of events", web, WEB_STREAMS),
	C("web_connections_total", "", "Connections that were taken", web, WEB_ACCEPTED),
	C("web_refused_total", "", "Connections that were one too many", web, WEB_REFUSED),
	C("web_slow_total", "", "Connections that were closed because their time had run out", web,
	        WEB_SLOW),
	C("web_answers_total", "class", "Answers, by the first digit of their status", web_answers,
	        0),
	G("web_memory_bytes", "", "Resident memory of gweb", web, WEB_MEMORY),
	{ "gpusched_ctld", "gauge", "",
	        "gpusched_ctld_NAME for each figure of gctl stats; ms became seconds, MiB bytes, "
	        "and % a part of 1",
	        metrics_ctld, 0 },
	METRICS_END,
};
