/* slurmrest.c - see slurmrest.h
 *
 * Both versions are made by the same code: what differs is how a number, a state and a list are
 * written, and where a partition has its fields.
 */
#include "cmds/web/rest/slurmrest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cmds/web/rest/rest.h"
#include "cmds/web/rest/slurmrest_impl.h"
#include "cmds/web/snapshot.h"

#define NO_CONTROLLER 1800 /* SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR */
#define NO_NAME       2000

enum slurmrest_version slurmrest_version(const struct http_request *r)
{
	return strstr(r->path, "/v0.0.38/") ? V38 : V40;
}

/* --- values ----------------------------------------------------------------------------------- */

void slurm_text(json_t *o, const char *key, const char *value)
{
	json_t *v = json_string(value);

	json_object_set_new(o, key, v ? v : json_string(""));
}

void slurm_plain(json_t *o, const char *key, int64_t value)
{
	json_object_set_new(o, key, json_integer(value));
}

void slurm_number(
        json_t *o, enum slurmrest_version v, const char *key, int64_t value, bool infinite)
{
	json_t *number;

	if (v == V38)
		number = infinite ? json_null() : json_integer(value);
	else
		number = json_pack("{sbsbsI}", "set", !infinite, "infinite", infinite, "number",
		        (json_int_t)(infinite ? 0 : value));
	json_object_set_new(o, key, number);
}

json_t *slurm_words(char *const *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(v[i]));
	return list;
}

void slurm_tres(char buf[SLURM_TRES], int64_t cpus, int64_t mem_mb, int64_t nodes, int64_t gpus)
{
	char of_nodes[32] = "", of_gpus[40] = "";

	if (nodes)
		snprintf(of_nodes, sizeof(of_nodes), ",node=%lld", (long long)nodes);
	if (gpus)
		snprintf(of_gpus, sizeof(of_gpus), ",gres/gpu=%lld", (long long)gpus);
	snprintf(buf, SLURM_TRES, "cpu=%lld,mem=%lldM%s,billing=%lld%s", (long long)cpus,
	        (long long)mem_mb, of_nodes, (long long)cpus, of_gpus);
}

/* --- answers ---------------------------------------------------------------------------------- */

static json_t *meta_of(enum slurmrest_version v)
{
	json_t *number =
	        v == V38 ? json_pack("{sisisi}", "major", 22, "minor", 5, "micro", 9)
	                 : json_pack("{ssssss}", "major", "23", "minor", "11", "micro", "0");

	return json_pack("{s{ssss}s{soss}}", "plugin", "type",
	        v == V38 ? "openapi/v0.0.38" : "openapi/slurmctld", "name", "gpusched",
	        v == V38 ? "Slurm" : "slurm", "version", number, "release",
	        v == V38 ? "22.05.9" : "23.11.0");
}

void slurm_begin(
        const struct http_request *r, struct http_answer *a, const char *name, const char *warning)
{
	enum slurmrest_version v = slurmrest_version(r);
	json_t *o = json_object(), *warnings = json_array();

	json_object_set_new(o, "meta", meta_of(v));
	json_object_set_new(o, "errors", json_array());
	if (*warning)
		json_array_append_new(
		        warnings, json_pack("{ssss}", "description", warning, "source", "gweb"));
	json_object_set_new(o, "warnings", warnings);
	if (v == V40 && r->snap)
		slurm_number(o, v, "last_update", r->snap->taken_us / 1000000, false);
	a->type = "application/json";
	a->cache = "private, no-cache";
	rest_json(&a->body, o);
	json_decref(o);
	a->body.len--; /* its last brace comes with slurm_end() */
	strbuf_addf(&a->body, ",\"%s\":", name);
}

void slurm_end(struct http_answer *a)
{
	strbuf_adds(&a->body, "}\n");
}

void slurm_answer(
        const struct http_request *r, struct http_answer *a, const char *name, json_t *value)
{
	slurm_begin(r, a, name, "");
	rest_json(&a->body, value);
	json_decref(value);
	slurm_end(a);
}

void slurm_failed(struct http_answer *a, int status, int number, const char *text)
{
	json_t *o = json_pack("{s[{sssissss}]}", "errors", "description", text, "error_number",
	        number, "error", text, "source", "gweb");

	strbuf_free(&a->body);
	a->type = "application/json";
	a->status = status;
	rest_json(&a->body, o);
	json_decref(o);
}

bool slurm_not_ready(const struct http_request *r, struct http_answer *a)
{
	if (!r->snap)
		slurm_failed(a, 503, NO_CONTROLLER, "the controller was not reached yet");
	return !r->snap;
}

/* --- ping, diag ------------------------------------------------------------------------------- */

static void slurm_ping(const struct http_request *r, struct http_answer *a)
{
	enum slurmrest_version v = slurmrest_version(r);
	const char *up = r->snap && !*r->trouble ? "UP" : "DOWN";
	json_t *one = v == V38 ? json_pack("{sssssiss}", "hostname", "gctld", "ping", up, "status",
	                                 *up == 'U' ? 0 : 1, "mode", "primary")
	                       : json_pack("{sssssIss}", "hostname", "gctld", "pinged", up,
	                                 "latency", (json_int_t)0, "mode", "primary");
	json_t *list = json_array();

	json_array_append_new(list, one);
	slurm_answer(r, a, "pings", list);
}

static double stat_of(const struct snapshot *snap, const char *name)
{
	for (size_t i = 0; i < snap->n_stats; i++)
		if (!strcmp(snap->stats[i]->name, name))
			return snap->stats[i]->value;
	return 0;
}

/* The figure of `gctl stats` for each; NULL: gpusched has no such figure, and 0 is printed. */
static const struct {
	const char *key, *stat;
	int less;
} diag_fields[] = {
	{ "server_thread_count", "calls.open", 0 },
	{ "agent_queue_size", NULL, 0 },
	{ "agent_count", "core.nodes_up", 0 },
	{ "dbd_agent_queue_size", "store.history_behind", 0 },
	{ "jobs_submitted", "core.next_job", 1 },
	{ "jobs_started", "core.started", 0 },
	{ "jobs_completed", "core.ended", 0 },
	{ "jobs_canceled", NULL, 0 },
	{ "jobs_failed", NULL, 0 },
	{ "jobs_pending", "core.jobs_pending", 0 },
	{ "jobs_running", "core.jobs_running", 0 },
	{ "schedule_cycle_last", NULL, 0 },
	{ "schedule_cycle_max", NULL, 0 },
	{ "schedule_cycle_mean", NULL, 0 },
	{ "schedule_cycle_total", "core.passes", 0 },
	{ "schedule_queue_length", "core.classes", 0 },
	{ "bf_queue_len", "core.classes", 0 },
	{ "bf_queue_len_mean", "core.classes", 0 },
};

static void slurm_diag(const struct http_request *r, struct http_answer *a)
{
	enum slurmrest_version v = slurmrest_version(r);
	json_t *o;
	int64_t now;

	if (slurm_not_ready(r, a))
		return;
	o = json_object();
	now = r->snap->taken_us / 1000000;
	slurm_number(o, v, "req_time", now, false);
	slurm_number(o, v, "req_time_start", now - (int64_t)stat_of(r->snap, "uptime"), false);
	for (size_t i = 0; i < sizeof(diag_fields) / sizeof(diag_fields[0]); i++) {
		const char *stat = diag_fields[i].stat;

		slurm_plain(o, diag_fields[i].key,
		        stat ? (int64_t)stat_of(r->snap, stat) - diag_fields[i].less : 0);
	}
	json_object_set_new(o, "bf_active", json_false());
	slurm_answer(r, a, "statistics", o);
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* Our states are the base states, but for these. */
static const struct {
	const char *ours, *base, *flag;
} node_states[] = {
	{ "drained", "idle", "DRAIN" },
	{ "draining", "mixed", "DRAIN" },
	{ "unknown", "unknown", "NOT_RESPONDING" },
};

static void put_state(json_t *o, enum slurmrest_version v, const char *state)
{
	const char *base = state, *flag = NULL;
	char upper[32];
	size_t i;

	for (i = 0; i < sizeof(node_states) / sizeof(node_states[0]); i++)
		if (!strcmp(node_states[i].ours, state)) {
			base = node_states[i].base;
			flag = node_states[i].flag;
		}
	if (v == V38) {
		slurm_text(o, "state", base);
		json_object_set_new(o, "state_flags", flag ? json_pack("[s]", flag) : json_array());
		return;
	}
	for (i = 0; base[i] && i < sizeof(upper) - 1; i++)
		upper[i] = (char)toupper((unsigned char)base[i]);
	upper[i] = '\0';
	json_object_set_new(
	        o, "state", flag ? json_pack("[ss]", upper, flag) : json_pack("[s]", upper));
}

/* "gpu:h100:4,gpu:l40s:2"; `used`: those that are not free. */
static void put_gres(json_t *o, const char *key, const Gpusched__Node *node, bool used)
{
	struct strbuf text = { 0 };

	for (size_t i = 0; i < node->n_gpus; i++)
		strbuf_addf(&text, "%sgpu:%s:%u", text.len ? "," : "", node->gpus[i]->type,
		        node->gpus[i]->total - (used ? node->gpus[i]->free : 0));
	slurm_text(o, key, text.s ? text.s : "");
	strbuf_free(&text);
}

static json_t *node_of(const Gpusched__Node *n, enum slurmrest_version v)
{
	int64_t alloc_cpus = (int64_t)n->cpus - n->cpus_free;
	int64_t alloc_mem = (int64_t)n->mem_mb - (int64_t)n->mem_free_mb, gpus = 0, held = 0;
	char tres[SLURM_TRES];
	json_t *o = json_object();

	for (size_t i = 0; i < n->n_gpus; i++) {
		gpus += n->gpus[i]->total;
		held += n->gpus[i]->total - n->gpus[i]->free;
	}
	slurm_text(o, "name", n->name);
	slurm_text(o, "hostname", n->name);
	slurm_text(o, "address", n->name);
	put_state(o, v, n->state);
	slurm_text(o, "reason", n->reason);
	slurm_plain(o, "cores", n->cpus);
	slurm_plain(o, "cpus", n->cpus);
	slurm_plain(o, "alloc_cpus", alloc_cpus);
	slurm_plain(o, v == V38 ? "idle_cpus" : "alloc_idle_cpus", n->cpus_free);
	slurm_plain(o, "real_memory", (int64_t)n->mem_mb);
	slurm_plain(o, "alloc_memory", alloc_mem);
	/* Memory that is not booked: the memory in use is not known. */
	slurm_number(o, v, v == V38 ? "free_memory" : "free_mem", (int64_t)n->mem_free_mb, false);
	put_gres(o, "gres", n, false);
	put_gres(o, "gres_used", n, true);
	slurm_tres(tres, n->cpus, (int64_t)n->mem_mb, 0, gpus);
	slurm_text(o, "tres", tres);
	slurm_tres(tres, alloc_cpus, alloc_mem, 0, held);
	slurm_text(o, "tres_used", alloc_cpus || held ? tres : "");
	slurm_plain(o, "weight", 1);
	slurm_text(o, v == V38 ? "slurmd_version" : "version", n->agent_version);
	json_object_set_new(o, "partitions", slurm_words(n->partitions, n->n_partitions));
	if (v == V40)
		json_object_set_new(o, "features", slurm_words(n->features, n->n_features));
	slurm_number(o, v, "last_busy", n->last_heard / 1000000, false);
	return o;
}

static void slurm_nodes(const struct http_request *r, struct http_answer *a)
{
	json_t *list;

	if (slurm_not_ready(r, a))
		return;
	list = json_array();
	for (size_t i = 0; i < r->snap->n_nodes; i++)
		if (!*r->name || !strcmp(r->name, r->snap->nodes[i]->name))
			json_array_append_new(
			        list, node_of(r->snap->nodes[i], slurmrest_version(r)));
	if (*r->name && !json_array_size(list)) {
		json_decref(list);
		slurm_failed(a, 404, NO_NAME, "there is no such node");
		return;
	}
	slurm_answer(r, a, "nodes", list);
}

/* --- partitions ------------------------------------------------------------------------------- */

/* What all nodes of a partition have together. */
static void metric_sums_of(
        const struct snapshot *snap, const char *partition, int64_t *cpus, int64_t *mem_mb)
{
	*cpus = *mem_mb = 0;
	for (size_t i = 0; i < snap->n_nodes; i++)
		for (size_t k = 0; k < snap->nodes[i]->n_partitions; k++)
			if (!strcmp(snap->nodes[i]->partitions[k], partition)) {
				*cpus += snap->nodes[i]->cpus;
				*mem_mb += (int64_t)snap->nodes[i]->mem_mb;
			}
}

static json_t *partition_40(
        const Gpusched__Partition *p, const char *state, int64_t cpus, const char *tres)
{
	json_t *o = json_pack("{s{sssi}s{sI}s{ss}s{s[s]}s{sisi}s{}s{}}", "nodes", "configured",
	        p->nodes, "total", (int)p->nodes_total, "cpus", "total", (json_int_t)cpus, "tres",
	        "configured", tres, "partition", "state", state, "priority", "job_factor",
	        (int)p->priority, "tier", (int)p->tier, "maximums", "defaults");

	slurm_text(o, "name", p->name);
	slurm_plain(o, "grace_time", p->grace_s);
	slurm_number(
	        json_object_get(o, "maximums"), V40, "time", p->max_time_s / 60, !p->max_time_s);
	slurm_number(json_object_get(o, "defaults"), V40, "time", p->default_time_s / 60,
	        !p->default_time_s);
	return o;
}

static json_t *partition_38(
        const Gpusched__Partition *p, const char *state, int64_t cpus, const char *tres)
{
	json_t *o = json_object();

	slurm_text(o, "name", p->name);
	slurm_text(o, "nodes", p->nodes);
	slurm_text(o, "state", state);
	slurm_text(o, "tres", tres);
	slurm_plain(o, "total_cpus", cpus);
	slurm_plain(o, "total_nodes", p->nodes_total);
	slurm_plain(o, "grace_time", p->grace_s);
	slurm_plain(o, "priority_tier", p->tier);
	slurm_number(o, V38, "max_time_limit", p->max_time_s / 60, !p->max_time_s);
	slurm_number(o, V38, "default_time_limit", p->default_time_s / 60, !p->default_time_s);
	json_object_set_new(o, "flags", p->is_default ? json_pack("[s]", "default") : json_array());
	return o;
}

static json_t *partition_of(
        const struct snapshot *snap, const Gpusched__Partition *p, enum slurmrest_version v)
{
	char tres[SLURM_TRES], state[16];
	int64_t cpus, mem_mb, gpus = 0;
	size_t i;

	for (i = 0; i < p->n_gpus; i++)
		gpus += p->gpus[i]->total;
	for (i = 0; p->state[i] && i < sizeof(state) - 1; i++)
		state[i] = (char)toupper((unsigned char)p->state[i]);
	state[i] = '\0';
	metric_sums_of(snap, p->name, &cpus, &mem_mb);
	slurm_tres(tres, cpus, mem_mb, p->nodes_total, gpus);
	return (v == V38 ? partition_38 : partition_40)(p, state, cpus, tres);
}

static void slurm_partitions(const struct http_request *r, struct http_answer *a)
{
	json_t *list;

	if (slurm_not_ready(r, a))
		return;
	list = json_array();
	for (size_t i = 0; i < r->snap->n_partitions; i++)
		if (!*r->name || !strcmp(r->name, r->snap->partitions[i]->name))
			json_array_append_new(list, partition_of(r->snap, r->snap->partitions[i],
			                                    slurmrest_version(r)));
	if (*r->name && !json_array_size(list)) {
		json_decref(list);
		slurm_failed(a, 404, NO_NAME, "there is no such partition");
		return;
	}
	slurm_answer(r, a, "partitions", list);
}

static void slurm_reservations(const struct http_request *r, struct http_answer *a)
{
	slurm_answer(r, a, "reservations", json_array());
}

#define SLURM(version, path, kind, handler, about)                                     \
	{                                                                              \
		"GET", "/slurm/" version path, HTTP_LOGGED_IN, kind, 0, handler, about \
	}
#define ROUTES(version)                                                                        \
	SLURM(version, "/ping", HTTP_FAST, slurm_ping, "as slurmrestd"),                       \
	        SLURM(version, "/diag", HTTP_FAST, slurm_diag, "as slurmrestd"),               \
	        SLURM(version, "/jobs", HTTP_FAST, slurm_jobs, "as slurmrestd"),               \
	        SLURM(version, "/nodes", HTTP_ASKS, slurm_nodes, "as slurmrestd"),             \
	        SLURM(version, "/partitions", HTTP_ASKS, slurm_partitions, "as slurmrestd"),   \
	        SLURM(version, "/job/{}", HTTP_ASKS, slurm_job, "as slurmrestd"),              \
	        SLURM(version, "/node/{}", HTTP_ASKS, slurm_nodes, "as slurmrestd"),           \
	        SLURM(version, "/partition/{}", HTTP_ASKS, slurm_partitions, "as slurmrestd"), \
	        SLURM(version, "/reservations", HTTP_FAST, slurm_reservations,                 \
	                "as slurmrestd: none")

const struct http_route slurmrest_routes[] = {
	ROUTES("v0.0.38"),
	ROUTES("v0.0.40"),
	{ NULL, NULL, 0, 0, 0, NULL, NULL },
};
