/* serviceview.c - the columns of gserve: services, and their replicas
 *
 * To add one: a show function, a row, a line in man/gserve.1.
 */
#include "cmds/views/serviceview.h"

#include <inttypes.h>
#include <string.h>

#include "cmds/views/views.h"
#include "common/base/clock.h"
#include "common/base/units.h"

/* --- services -------------------------------------------------------------------------------- */

#define SERVICE const Gpusched__Service *s = object

static const void *spec_of(const void *service)
{
	return ((const Gpusched__Service *)service)->spec;
}

static const void *request_of(const void *service)
{
	return ((const Gpusched__Service *)service)->request;
}

#define FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, NULL, Gpusched__Service, member)
#define SPEC(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, spec_of, Gpusched__ServiceSpec, member)
#define ASKED(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, request_of, Gpusched__ServiceRequest, member)

static const struct view_colour colours[] = {
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

CELL(gpus, SERVICE, view_gpus(cell, s->gpus, s->n_gpus))

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

#define SPEC_CELL(name, show)   CELL(name, SERVICE, if (s->spec) show)
#define ASKED_CELL(name, show)  CELL(name, SERVICE, if (s->request) show)
#define SCALES_CELL(name, show) CELL(name, SERVICE, if (s->request && s->request->target > 0) show)

CELL(state, SERVICE, view_state(cell, s->state, VIEW_COLOURS(colours)))
CELL(in_flight, SERVICE, view_requests(cell, s->in_flight))
CELL(waiting, SERVICE, view_requests(cell, s->waiting))
CELL(load_time, SERVICE, view_ms(cell, s->load_time_ms / 1000 * 1000))
SPEC_CELL(max_load, view_ms(cell, (uint64_t)s->spec->load_time_s * 1000))
SPEC_CELL(drain, view_ms(cell, (uint64_t)s->spec->drain_s * 1000))
SCALES_CELL(target, view_requests(cell, s->request->target))
SCALES_CELL(kv_target, view_percent(cell, s->request->kv_target_milli, 1000, 0))
SCALES_CELL(scale_down, view_ms(cell, (uint64_t)s->request->scale_down_s * 1000))
SCALES_CELL(to_zero, if (!s->request->min) view_ms(cell, (uint64_t)s->request->to_zero_s * 1000))
SCALES_CELL(request_wait, view_ms(cell, s->request->request_wait_ms))
ASKED_CELL(settle, view_ms(cell, (uint64_t)s->request->settle_s * 1000))

SHOW(avoided)
{
	SERVICE;

	for (size_t i = 0; i < s->n_avoided; i++)
		view_item(cell, ",", "%s", s->avoided[i]->node);
}

static const struct view_column columns[] = {
	FIELD("NAME", 12, 6, TABLE_DEAR, "name of the service", TEXT, name),
	FIELD("USER", 8, 4, 0, "owner", TEXT, user),
	FIELD("ACCOUNT", 9, 5, 0, "account", TEXT, account),
	FIELD("PARTITION", 9, 5, 0, "partition", TEXT, partition),
	FIELD("QOS", 9, 4, 0, "quality of service of the kept replicas", TEXT, qos),
	COLUMN("STATE", 8, 0, TABLE_WHOLE, "state", state),
	FIELD("REASON", 0, 12, TABLE_DEAR, "why it is not SERVING", TEXT, reason),
	FIELD("READY", 5, 0, NUM, "replicas that are ready", NUMBER, ready),
	FIELD("WANTED", 6, 0, NUM, "replicas that are wanted now", NUMBER, wanted),
	COLUMN("REPLICAS", 8, 0, NUM, "replicas that are asked for: MIN-MAX", range),
	FIELD("LOADING", 7, 0, NUM, "replicas that are not ready yet", NUMBER, loading),
	FIELD("UNREADY", 7, 0, NUM, "replicas whose probe has failed", NUMBER, unready),
	FIELD("DRAINING", 8, 0, NUM, "replicas that end, and answer what is in flight",
	        NUMBER, draining),
	FIELD("PENDING", 7, 0, NUM, "replicas that are wanted and wait for a node",
	        NUMBER, pending),
	ASKED("KEPT", 4, 0, NUM, "replicas that are given up last", NUMBER, kept),
	ASKED("BURST-QOS", 9, 4, 0, "quality of service of those above", TEXT, burst_qos),
	COLUMN("IN-FLIGHT", 9, 0, NUM, "requests that are being answered", in_flight),
	COLUMN("WAITING", 7, 0, NUM, "requests in the queues of the replicas", waiting),
	COLUMN("GPUS", 8, 4, TABLE_DEAR, "GPUs of each replica", gpus),
	FIELD("LAST-DECISION", 0, 13, TABLE_DEAR, "why so many replicas are wanted",
	        TEXT, decision),
	FIELD("DECIDED", 19, 0, TABLE_WHOLE, "when that was decided", TIME, decision_time),
	COLUMN("LOAD-TIME", 9, 0, NUM, "so long a replica takes to become ready (p90)", load_time),
	FIELD("JOB", 7, 0, NUM, "job of the present generation", NUMBER, job),
	FIELD("GENERATION", 10, 0, NUM, "number of the present generation", NUMBER, generation),
	FIELD("NEXT-JOB", 8, 0, NUM, "job of the generation that is rolled out",
	        NUMBER_OR_NONE, next_job),
	FIELD("UNDO-JOB", 8, 0, NUM, "job of the generation that undo brings back",
	        NUMBER_OR_NONE, undo_job),
	SPEC("PORTS", 5, 0, NUM, "ports of each replica", NUMBER, ports),
	SPEC("READY-PROBE", 14, 5, 0, "probe that makes a replica ready", TEXT, ready),
	SPEC("LIVE-PROBE", 14, 5, 0, "probe whose failure ends a replica", TEXT, live),
	COLUMN("PROBE", 24, 5, 0, "how often and how long it probes, and failures that count",
	        probe),
	COLUMN("MAX-LOAD", 8, 0, NUM, "a replica that is not ready after so long is ended",
	        max_load),
	COLUMN("DRAIN", 6, 0, NUM, "so long a replica has for what is in flight", drain),
	SPEC("METRICS", 8, 4, 0, "where its load is told", TEXT, metrics),
	COLUMN("TARGET", 6, 0, NUM, "requests in flight for each replica", target),
	COLUMN("KV-TARGET", 9, 0, NUM, "use of the KV cache of each replica", kv_target),
	COLUMN("SCALE-WINDOW", 12, 0, NUM, "its load is the mean over so long, and of a burst",
	        window),
	COLUMN("SCALE-DOWN", 10, 0, NUM, "as many as were needed within so long stay", scale_down),
	COLUMN("TO-ZERO", 8, 0, NUM, "none after so long without a request", to_zero),
	COLUMN("REQUEST-WAIT", 12, 0, NUM, "so long may a request wait", request_wait),
	ASKED("SURGE", 5, 0, NUM, "so many more replicas while it is updated", NUMBER, surge),
	COLUMN("SETTLE", 6, 0, NUM, "so long is a new replica ready before an old one ends",
	        settle),
	SPEC("STARTS", 6, 0, NUM, "replicas that a node starts a day, at most",
	        NUMBER, starts_per_day),
	FIELD("REQUESTS", 10, 0, NUM, "requests that its replicas have answered",
	        NUMBER_OR_NONE, requests),
	FIELD("TOKENS", 12, 0, NUM, "tokens that its replicas have generated",
	        NUMBER_OR_NONE, tokens),
	FIELD("SUBMIT", 19, 0, TABLE_WHOLE, "when it was submitted", TIME, submit_time),
	FIELD("EXPIRES", 19, 0, TABLE_WHOLE, "when its signature ends (gctl renew)", TIME, expires),
	COLUMN("AVOIDED", 20, 8, 0, "nodes on which replicas were unready; others are preferred",
	        avoided),
};

const struct view_kind service_kind = {
	VIEW_COLUMNS(columns),
	.standard = "NAME,USER,STATE,READY,WANTED,REPLICAS,IN-FLIGHT,WAITING,GPUS,LAST-DECISION",
	.longer = "NAME,USER,ACCOUNT,PARTITION,QOS,STATE,READY,WANTED,REPLICAS,LOADING,UNREADY,"
	          "DRAINING,PENDING,IN-FLIGHT,WAITING,GPUS,JOB,GENERATION,LAST-DECISION,REASON",
};

/* --- replicas -------------------------------------------------------------------------------- */

#define REPLICA const Gpusched__ServiceReplica *r = object
#define REPLICA_FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, NULL, Gpusched__ServiceReplica, member)

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
	view_text_or_dash(cell, cell->text);
}

SHOW(up)
{
	REPLICA;
	int64_t s = clock_us(CLOCK_REALTIME) / 1000000 - r->start_time / 1000000;

	view_duration_if(cell, r->start_time && s > 0, s);
}

#define LOAD_CELL(name, value) \
	CELL(name, REPLICA, if (r->load_known) value; else view_text(cell, "-"))

CELL(replica_state, REPLICA, view_state(cell, r->state, VIEW_COLOURS(colours)))
LOAD_CELL(running, view_requests(cell, r->running))
LOAD_CELL(replica_waiting, view_requests(cell, r->waiting))
LOAD_CELL(kv, view_percent(cell, r->kv_milli, 1000, 0))
CELL(serves, REPLICA, view_text(cell, r->serves ? "yes" : "no"))

static const struct view_column replica_columns[] = {
	REPLICA_FIELD("SLOT", 4, 0, NUM, "slot: the task of the generation's job", NUMBER, slot),
	REPLICA_FIELD("GEN", 3, 0, NUM, "generation", NUMBER, generation),
	COLUMN("STATE", 11, 0, TABLE_WHOLE, "state", replica_state),
	REPLICA_FIELD("NODE", 8, 4, TABLE_DEAR, "node", TEXT_OR_DASH, node),
	COLUMN("ENDPOINT", 21, 8, TABLE_DEAR, "address and first port", endpoint),
	COLUMN("RUNNING", 7, 0, NUM, "requests that are being answered", running),
	COLUMN("WAITING", 7, 0, NUM, "requests in its queue", replica_waiting),
	COLUMN("KV", 4, 0, NUM, "use of its KV cache", kv),
	COLUMN("UP", 8, 0, NUM, "so long it runs", up),
	REPLICA_FIELD("REASON", 0, 6, 0, "why it is not READY", TEXT, reason),
	COLUMN("SERVES", 6, 0, 0, "is it an endpoint?", serves),
	REPLICA_FIELD("JOB", 7, 0, NUM, "job of its generation", NUMBER, job),
	REPLICA_FIELD("ATTEMPT", 7, 0, NUM, "so many starts", NUMBER, attempt),
	REPLICA_FIELD("START", 19, 0, TABLE_WHOLE, "when it was started", TIME, start_time),
	REPLICA_FIELD("READY", 19, 0, TABLE_WHOLE, "when it was ready first", TIME, ready_time),
	REPLICA_FIELD("QOS", 9, 4, 0, "quality of service", TEXT, qos),
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
	VIEW_COLUMNS(replica_columns),
	.standard = "SLOT,GEN,STATE,NODE,ENDPOINT,RUNNING,WAITING,KV,UP,REASON",
	.longer = "SLOT,GEN,JOB,STATE,SERVES,NODE,ENDPOINT,RUNNING,WAITING,KV,UP,ATTEMPT,READY,QOS,"
	          "REASON",
	.rank = replica_rank,
};
