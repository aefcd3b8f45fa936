/* serviceview.c - the columns of gserve: services, and their replicas
 *
 * To add one: a show function, a row, a line in man/gserve.1.
 */
#include "cmds/views/serviceview.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cmds/api/gpus.h"
#include "common/base/strbuf.h"
#include "common/base/units.h"

#define NUM TABLE_RIGHT | TABLE_WHOLE

/* --- services -------------------------------------------------------------------------------- */

#define SERVICE const Gpusched__Service *s = object

static const struct {
	const char *state;
	enum table_colour colour;
} colours[] = {
	{ "SERVING", TABLE_GOOD },
	{ "READY", TABLE_GOOD },
	{ "DEGRADED", TABLE_WARN },
	{ "WAKING", TABLE_WARN },
	{ "ROLLING", TABLE_WARN },
	{ "LOADING", TABLE_WARN },
	{ "PENDING", TABLE_WARN },
	{ "CONFIGURING", TABLE_WARN },
	{ "FAILING", TABLE_BAD },
	{ "UNREADY", TABLE_BAD },
	{ "IDLE", TABLE_DIM },
	{ "PAUSED", TABLE_DIM },
	{ "STOPPED", TABLE_DIM },
	{ "DRAINING", TABLE_DIM },
	{ "COMPLETING", TABLE_DIM },
};

static void show_state_of(struct view_cell *cell, const char *state)
{
	view_text(cell, state);
	for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
		if (!strcmp(colours[i].state, state))
			cell->colour = colours[i].colour;
}

/* "2-8", "3" */
SHOW(range)
{
	SERVICE;

	if (!s->request)
		return;
	if (s->request->min == s->request->max)
		view_printf(cell, "%" PRIu32, s->request->min);
	else
		view_printf(cell, "%" PRIu32 "-%" PRIu32, s->request->min, s->request->max);
}

/* Requests: whole ones, unless there are only a few. */
static void view_requests(struct view_cell *cell, double n)
{
	view_real(cell, n, n > 0 && n < 10 ? 1 : 0);
}

SHOW(gpus)
{
	SERVICE;

	view_text_or_dash(cell,
	        s->n_gpus ? gpus_format(cell->buf, sizeof(cell->buf), s->gpus, s->n_gpus) : "");
}

/* A time, for people: "5s", "30m". */
static void view_ms(struct view_cell *cell, uint64_t ms)
{
	if (ms)
		view_text(cell, duration_format_exact(cell->buf, ms));
}

SHOW(probe)
{
	SERVICE;
	char every[UNITS_TEXT], timeout[UNITS_TEXT];

	if (s->spec)
		view_printf(cell, "%s,timeout=%s,fail=%" PRIu32,
		        duration_format_exact(every, s->spec->probe_every_ms),
		        duration_format_exact(timeout, s->spec->probe_timeout_ms),
		        s->spec->probe_fails);
}

SHOW(window)
{
	SERVICE;
	char window[UNITS_TEXT], burst[UNITS_TEXT];

	if (s->request && s->request->target > 0)
		view_printf(cell, "%s,%s",
		        duration_format_exact(window, (uint64_t)s->request->window_s * 1000),
		        duration_format_exact(burst, (uint64_t)s->request->burst_window_s * 1000));
}

SHOW(target)
{
	SERVICE;

	if (s->request && s->request->target > 0)
		view_real(cell, s->request->target, s->request->target < 10 ? 1 : 0);
}

#define SPEC_CELL(name, show)   CELL(name, SERVICE, if (s->spec) show)
#define ASKED_CELL(name, show)  CELL(name, SERVICE, if (s->request) show)
#define SCALES_CELL(name, show) CELL(name, SERVICE, if (s->request && s->request->target > 0) show)

CELL(name, SERVICE, view_text(cell, s->name))
CELL(user, SERVICE, view_text(cell, s->user))
CELL(account, SERVICE, view_text(cell, s->account))
CELL(partition, SERVICE, view_text(cell, s->partition))
CELL(qos, SERVICE, view_text(cell, s->qos))
CELL(state, SERVICE, show_state_of(cell, s->state))
CELL(reason, SERVICE, view_text(cell, s->reason))
CELL(ready, SERVICE, view_number(cell, s->ready))
CELL(wanted, SERVICE, view_number(cell, s->wanted))
CELL(loading, SERVICE, view_number(cell, s->loading))
CELL(unready, SERVICE, view_number(cell, s->unready))
CELL(draining, SERVICE, view_number(cell, s->draining))
CELL(pending, SERVICE, view_number(cell, s->pending))
ASKED_CELL(kept, view_number(cell, s->request->kept))
ASKED_CELL(burst_qos, view_text(cell, s->request->burst_qos))
CELL(in_flight, SERVICE, view_requests(cell, s->in_flight))
CELL(waiting, SERVICE, view_requests(cell, s->waiting))
CELL(decision, SERVICE, view_text(cell, s->decision))
CELL(decided, SERVICE, view_time(cell, s->decision_time))
CELL(load_time, SERVICE, view_ms(cell, s->load_time_ms / 1000 * 1000))
CELL(job, SERVICE, view_number(cell, (int64_t)s->job))
CELL(generation, SERVICE, view_number(cell, s->generation))
CELL(next_job, SERVICE, view_number_or_none(cell, (int64_t)s->next_job))
CELL(undo_job, SERVICE, view_number_or_none(cell, (int64_t)s->undo_job))
SPEC_CELL(ports, view_number(cell, s->spec->ports))
SPEC_CELL(ready_probe, view_text(cell, s->spec->ready))
SPEC_CELL(live_probe, view_text(cell, s->spec->live))
SPEC_CELL(max_load, view_ms(cell, (uint64_t)s->spec->load_time_s * 1000))
SPEC_CELL(drain, view_ms(cell, (uint64_t)s->spec->drain_s * 1000))
SPEC_CELL(metrics, view_text(cell, s->spec->metrics))
SCALES_CELL(kv_target, view_percent(cell, s->request->kv_target_milli, 1000, 0))
SCALES_CELL(scale_down, view_ms(cell, (uint64_t)s->request->scale_down_s * 1000))
SCALES_CELL(to_zero, if (!s->request->min) view_ms(cell, (uint64_t)s->request->to_zero_s * 1000))
SCALES_CELL(request_wait, view_ms(cell, s->request->request_wait_ms))
ASKED_CELL(surge, view_number(cell, s->request->surge))
ASKED_CELL(settle, view_ms(cell, (uint64_t)s->request->settle_s * 1000))
SPEC_CELL(starts, view_number(cell, s->spec->starts_per_day))
CELL(submit, SERVICE, view_time(cell, s->submit_time))
CELL(expires, SERVICE, view_time(cell, s->expires))
CELL(requests, SERVICE, view_number_or_none(cell, (int64_t)s->requests))
CELL(tokens, SERVICE, view_number_or_none(cell, (int64_t)s->tokens))

SHOW(avoided)
{
	SERVICE;
	struct strbuf text = { 0 };

	for (size_t i = 0; i < s->n_avoided; i++)
		strbuf_addf(&text, "%s%s", i ? "," : "", s->avoided[i]->node);
	if (s->n_avoided)
		view_printf(cell, "%s", text.s);
	strbuf_free(&text);
}

static const struct view_column columns[] = {
	COLUMN("NAME", 12, 6, TABLE_DEAR, "name of the service", name),
	COLUMN("USER", 8, 4, 0, "owner", user),
	COLUMN("ACCOUNT", 9, 5, 0, "account", account),
	COLUMN("PARTITION", 9, 5, 0, "partition", partition),
	COLUMN("QOS", 9, 4, 0, "quality of service of the kept replicas", qos),
	COLUMN("STATE", 8, 0, TABLE_WHOLE, "state", state),
	COLUMN("REASON", 0, 12, TABLE_DEAR, "why it is not SERVING", reason),
	COLUMN("READY", 5, 0, NUM, "replicas that are ready", ready),
	COLUMN("WANTED", 6, 0, NUM, "replicas that are wanted now", wanted),
	COLUMN("REPLICAS", 8, 0, NUM, "replicas that are asked for: MIN-MAX", range),
	COLUMN("LOADING", 7, 0, NUM, "replicas that are not ready yet", loading),
	COLUMN("UNREADY", 7, 0, NUM, "replicas whose probe has failed", unready),
	COLUMN("DRAINING", 8, 0, NUM, "replicas that end, and answer what is in flight", draining),
	COLUMN("PENDING", 7, 0, NUM, "replicas that are wanted and wait for a node", pending),
	COLUMN("KEPT", 4, 0, NUM, "replicas that are given up last", kept),
	COLUMN("BURST-QOS", 9, 4, 0, "quality of service of those above", burst_qos),
	COLUMN("IN-FLIGHT", 9, 0, NUM, "requests that are being answered", in_flight),
	COLUMN("WAITING", 7, 0, NUM, "requests in the queues of the replicas", waiting),
	COLUMN("GPUS", 8, 4, TABLE_DEAR, "GPUs of each replica", gpus),
	COLUMN("LAST-DECISION", 0, 13, TABLE_DEAR, "why so many replicas are wanted", decision),
	COLUMN("DECIDED", 19, 0, TABLE_WHOLE, "when that was decided", decided),
	COLUMN("LOAD-TIME", 9, 0, NUM, "so long a replica takes to become ready (p90)", load_time),
	COLUMN("JOB", 7, 0, NUM, "job of the present generation", job),
	COLUMN("GENERATION", 10, 0, NUM, "number of the present generation", generation),
	COLUMN("NEXT-JOB", 8, 0, NUM, "job of the generation that is rolled out", next_job),
	COLUMN("UNDO-JOB", 8, 0, NUM, "job of the generation that undo brings back", undo_job),
	COLUMN("PORTS", 5, 0, NUM, "ports of each replica", ports),
	COLUMN("READY-PROBE", 14, 5, 0, "probe that makes a replica ready", ready_probe),
	COLUMN("LIVE-PROBE", 14, 5, 0, "probe whose failure ends a replica", live_probe),
	COLUMN("PROBE", 24, 5, 0, "how often and how long it probes, and failures that count",
	        probe),
	COLUMN("MAX-LOAD", 8, 0, NUM, "a replica that is not ready after so long is ended",
	        max_load),
	COLUMN("DRAIN", 6, 0, NUM, "so long a replica has for what is in flight", drain),
	COLUMN("METRICS", 8, 4, 0, "where its load is told", metrics),
	COLUMN("TARGET", 6, 0, NUM, "requests in flight for each replica", target),
	COLUMN("KV-TARGET", 9, 0, NUM, "use of the KV cache of each replica", kv_target),
	COLUMN("SCALE-WINDOW", 12, 0, NUM, "its load is the mean over so long, and of a burst",
	        window),
	COLUMN("SCALE-DOWN", 10, 0, NUM, "as many as were needed within so long stay", scale_down),
	COLUMN("TO-ZERO", 8, 0, NUM, "none after so long without a request", to_zero),
	COLUMN("REQUEST-WAIT", 12, 0, NUM, "so long may a request wait", request_wait),
	COLUMN("SURGE", 5, 0, NUM, "so many more replicas while it is updated", surge),
	COLUMN("SETTLE", 6, 0, NUM, "so long is a new replica ready before an old one ends",
	        settle),
	COLUMN("STARTS", 6, 0, NUM, "replicas that a node starts a day, at most", starts),
	COLUMN("REQUESTS", 10, 0, NUM, "requests that its replicas have answered", requests),
	COLUMN("TOKENS", 12, 0, NUM, "tokens that its replicas have generated", tokens),
	COLUMN("SUBMIT", 19, 0, TABLE_WHOLE, "when it was submitted", submit),
	COLUMN("EXPIRES", 19, 0, TABLE_WHOLE, "when its signature ends (gctl renew)", expires),
	COLUMN("AVOIDED", 20, 8, 0, "nodes on which no replica starts, as those there were unready",
	        avoided),
};

const struct view_kind service_kind = {
	.columns = columns,
	.n = sizeof(columns) / sizeof(columns[0]),
	.standard = "NAME,USER,STATE,READY,WANTED,REPLICAS,IN-FLIGHT,WAITING,GPUS,LAST-DECISION",
	.longer = "NAME,USER,ACCOUNT,PARTITION,QOS,STATE,READY,WANTED,REPLICAS,LOADING,UNREADY,"
	          "DRAINING,PENDING,IN-FLIGHT,WAITING,GPUS,JOB,GENERATION,LAST-DECISION,REASON",
};

/* --- replicas -------------------------------------------------------------------------------- */

#define REPLICA const Gpusched__ServiceReplica *r = object

const char *replica_endpoint(const Gpusched__ServiceReplica *r, char buf[REPLICA_ENDPOINT_TEXT])
{
	bool v6 = strchr(r->address, ':') != NULL;

	if (!*r->address || !r->n_ports)
		return "";
	snprintf(buf, REPLICA_ENDPOINT_TEXT, "%s%s%s:%" PRIu32, v6 ? "[" : "", r->address,
	        v6 ? "]" : "", r->ports[0]);
	return buf;
}

SHOW(endpoint)
{
	REPLICA;
	char buf[REPLICA_ENDPOINT_TEXT];

	view_printf(cell, "%s", replica_endpoint(r, buf));
	if (!*cell->text)
		view_text(cell, "-");
}

SHOW(up)
{
	REPLICA;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (r->start_time && now.tv_sec > r->start_time / 1000000)
		view_duration(cell, (uint64_t)(now.tv_sec - r->start_time / 1000000));
	else
		view_text(cell, "-");
}

#define LOAD_CELL(name, value) \
	CELL(name, REPLICA, if (r->load_known) value; else view_text(cell, "-"))

CELL(slot, REPLICA, view_number(cell, r->slot))
CELL(replica_generation, REPLICA, view_number(cell, r->generation))
CELL(replica_job, REPLICA, view_number(cell, (int64_t)r->job))
CELL(replica_state, REPLICA, show_state_of(cell, r->state))
CELL(node, REPLICA, view_text_or_dash(cell, r->node))
LOAD_CELL(running, view_requests(cell, r->running))
LOAD_CELL(replica_waiting, view_requests(cell, r->waiting))
LOAD_CELL(kv, view_percent(cell, r->kv_milli, 1000, 0))
CELL(replica_reason, REPLICA, view_text(cell, r->reason))
CELL(serves, REPLICA, view_text(cell, r->serves ? "yes" : "no"))
CELL(attempt, REPLICA, view_number(cell, r->attempt))
CELL(start, REPLICA, view_time(cell, r->start_time))
CELL(ready_time, REPLICA, view_time(cell, r->ready_time))
CELL(replica_qos, REPLICA, view_text(cell, r->qos))

static const struct view_column replica_columns[] = {
	COLUMN("SLOT", 4, 0, NUM, "slot: the task of the generation's job", slot),
	COLUMN("GEN", 3, 0, NUM, "generation", replica_generation),
	COLUMN("STATE", 11, 0, TABLE_WHOLE, "state", replica_state),
	COLUMN("NODE", 8, 4, TABLE_DEAR, "node", node),
	COLUMN("ENDPOINT", 21, 8, TABLE_DEAR, "address and first port", endpoint),
	COLUMN("RUNNING", 7, 0, NUM, "requests that are being answered", running),
	COLUMN("WAITING", 7, 0, NUM, "requests in its queue", replica_waiting),
	COLUMN("KV", 4, 0, NUM, "use of its KV cache", kv),
	COLUMN("UP", 8, 0, NUM, "so long it runs", up),
	COLUMN("REASON", 0, 6, 0, "why it is not READY", replica_reason),
	COLUMN("SERVES", 6, 0, 0, "is it an endpoint?", serves),
	COLUMN("JOB", 7, 0, NUM, "job of its generation", replica_job),
	COLUMN("ATTEMPT", 7, 0, NUM, "so many starts", attempt),
	COLUMN("START", 19, 0, TABLE_WHOLE, "when it was started", start),
	COLUMN("READY", 19, 0, TABLE_WHOLE, "when it was ready first", ready_time),
	COLUMN("QOS", 9, 4, 0, "quality of service", replica_qos),
};

/* Those that run, generation by generation, and then those that wait. */
static void replica_rank(const void *object, int64_t key[VIEW_RANK])
{
	REPLICA;

	key[0] = !*r->node;
	key[1] = r->generation;
	key[2] = r->slot;
	key[3] = 0;
}

const struct view_kind replica_kind = {
	.columns = replica_columns,
	.n = sizeof(replica_columns) / sizeof(replica_columns[0]),
	.standard = "SLOT,GEN,STATE,NODE,ENDPOINT,RUNNING,WAITING,KV,UP,REASON",
	.longer = "SLOT,GEN,JOB,STATE,SERVES,NODE,ENDPOINT,RUNNING,WAITING,KV,UP,ATTEMPT,READY,QOS,"
	          "REASON",
	.rank = replica_rank,
};
