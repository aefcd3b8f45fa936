/* service_options.c - see service_options.h: what joins several options */
#include "cmds/options/service_options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/options/options.h"
#include "cmds/options/tasks.h"
#include "common/net/signedservice.h"

/* --- the fields of the two messages ---------------------------------------------------------- */

#define OPTION(member) offsetof(struct service_options, member)
#define SPEC(member)   offsetof(struct service_job, spec.member)
#define ASKED(member)  offsetof(struct service_job, request.member)

static const struct number {
	const char *option;
	size_t from, to;
	uint32_t fallback;
} numbers[] = {
	{ "replicas", OPTION(min), ASKED(min), 1 },
	{ "replicas", OPTION(max), ASKED(max), 1 },
	{ "kept", OPTION(kept), ASKED(kept), SERVICE_NOT_SAID },
	{ "probe", OPTION(probe_every_ms), SPEC(probe_every_ms), 5000 },
	{ "probe", OPTION(probe_timeout_ms), SPEC(probe_timeout_ms), 2000 },
	{ "probe", OPTION(probe_fails), SPEC(probe_fails), 3 },
	{ "load-time", OPTION(load_time_s), SPEC(load_time_s), 1800 },
	{ "drain", OPTION(drain_s), SPEC(drain_s), 60 },
	{ "ports", OPTION(ports), SPEC(ports), 0 },
	{ "starts-per-day", OPTION(starts_per_day), SPEC(starts_per_day), 200 },
	{ "valid", OPTION(valid_days), SPEC(valid_days), 90 },
	{ "kv-target", OPTION(kv_target_milli), ASKED(kv_target_milli), 800 },
	{ "scale-window", OPTION(window_s), ASKED(window_s), 60 },
	{ "scale-window", OPTION(burst_window_s), ASKED(burst_window_s), 6 },
	{ "scale-down", OPTION(scale_down_s), ASKED(scale_down_s), 300 },
	{ "to-zero", OPTION(to_zero_s), ASKED(to_zero_s), 900 },
	{ "request-wait", OPTION(request_wait_ms), ASKED(request_wait_ms), 0 },
	{ "surge", OPTION(surge), ASKED(surge), 1 },
	{ "settle", OPTION(settle_s), ASKED(settle_s), 10 },
};
#define N_NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static const struct word {
	const char *option;
	size_t from, to;
} words[] = {
	{ "ready", OPTION(ready), SPEC(ready) },
	{ "live", OPTION(live), SPEC(live) },
	{ "metrics", OPTION(metrics), SPEC(metrics) },
	{ "metrics-path", OPTION(metrics_path), SPEC(metrics_path) },
	{ "burst-qos", OPTION(burst_qos), ASKED(burst_qos) },
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

#define NUMBER_AT(base, at) ((uint32_t *)(void *)((char *)(base) + (at)))
#define WORD_AT(base, at)   ((char **)(void *)((char *)(base) + (at)))

void service_options_init(struct service_options *s)
{
	*s = (struct service_options){ .target = -1 };
	for (size_t i = 0; i < N_NUMBERS; i++)
		*NUMBER_AT(s, numbers[i].from) = SERVICE_NOT_SAID;
}

void service_options_clear(struct service_options *s)
{
	free(s->name);
	for (size_t i = 0; i < N_WORDS; i++)
		free(*WORD_AT(s, words[i].from));
	service_options_init(s);
}

/* --- what makes no sense --------------------------------------------------------------------- */

/* One of several that may be wrong. */
struct wrong {
	bool is;
	const char *text, *hint;
};

static int tell(const struct submit_options *o, const struct wrong *v, size_t n, struct error *err)
{
	struct error e;

	for (size_t i = 0; i < n; i++) {
		if (!v[i].is)
			continue;
		error_set(&e, ERR_USAGE, "%s", v[i].text);
		if (v[i].hint)
			error_hint(&e, "%s", v[i].hint);
		if (mistakes_add(o->mistakes, &e) < 0) {
			if (err)
				*err = e;
			return -1;
		}
	}
	return 0;
}
#define TELL(o, rows, err) tell(o, rows, sizeof(rows) / sizeof((rows)[0]), err)

/* With the options that every job has. */
static int check_job(const struct submit_options *o, struct error *err)
{
	static const char no_end[] = "gserve stop ends a service";
	const struct wrong rows[] = {
		{ o->array, "--array: the tasks of a service are its replicas",
		        "--replicas=MIN[-MAX]" },
		{ tasks_nodes(o) > 1 || o->nodes_max > 1 || o->component,
		        "--nodes: a replica of a service runs on one node", NULL },
		{ o->ntasks > 1 || o->ntasks_per_node > 1 || o->ntasks_per_gpu > 1,
		        "--ntasks: a service has no steps; the script of a replica starts what it "
		        "needs",
		        "--cpus-per-task=COUNT gives a replica more CPUs" },
		{ o->time_limit_s, "--time: a service has no time limit", no_end },
		{ o->deadline_time, "--deadline: a service stays up", no_end },
		{ o->warn_signal,
		        "--signal: it is sent before the time limit, and a service has "
		        "none",
		        "--drain=TIME is for requests in flight" },
		{ o->no_requeue, "--no-requeue: a replica that ends is always started again",
		        NULL },
		{ o->requeue_on && *o->requeue_on,
		        "--requeue-on: a replica that ends is always started again", NULL },
		{ o->requeue_delay_s != REQUEUE_DELAY_DEFAULT,
		        "--requeue-delay: a replica is started again after 10 seconds, then twice "
		        "as long each time, up to 5 minutes",
		        NULL },
		{ o->max_attempts, "--max-attempts: a service has no last attempt",
		        "--starts-per-day=COUNT limits them" },
		{ o->wait, "--wait: a service does not end by itself", "gserve --watch NAME" },
		{ o->bulk, "--bulk: a service is submitted by itself", NULL },
	};

	return TELL(o, rows, err);
}

static bool needs_port(const char *probe)
{
	return *probe && strcmp(probe, "file") != 0;
}

/* With each other. */
static int check_signed(
        const struct submit_options *o, const Gpusched__ServiceSpec *s, struct error *err)
{
	static const char ports[] = "--ports=1 gives each replica $GPUSCHED_PORT";
	bool scrapes = signedservice_scrapes(s->metrics);
	const struct wrong rows[] = {
		{ !s->ports && needs_port(s->ready), "--ready: http and tcp need a port", ports },
		{ !s->ports && needs_port(s->live), "--live: http and tcp need a port", ports },
		{ !s->ports && scrapes, "--metrics: they are fetched from a replica's port",
		        ports },
		{ *s->metrics_path && !scrapes,
		        "--metrics-path: nothing is fetched there without --metrics=PRESET",
		        "--metrics=vllm, sglang, tgi, triton or llamacpp" },
		{ s->probe_timeout_ms > s->probe_every_ms,
		        "--probe: timeout is more than the time from probe to probe", NULL },
	};

	return TELL(o, rows, err);
}

static int check_asked(
        const struct submit_options *o, const struct service_job *job, struct error *err)
{
	static const char metrics[] =
	        "--metrics=vllm, sglang, tgi, triton, llamacpp or file says where the load is told";
	const struct service_options *s = &o->service;
	const Gpusched__ServiceRequest *r = &job->request;
	bool scales = r->target > 0;
	const struct wrong rows[] = {
		{ r->kept > r->max, "--kept: there are fewer replicas, by --replicas", NULL },
		{ scales && !*job->spec.metrics,
		        "--target: the load is not known without --metrics", metrics },
		{ !scales && !r->min,
		        "--replicas: with MIN 0 nothing would start a replica without --target",
		        metrics },
		{ !scales && s->kv_target_milli != SERVICE_NOT_SAID,
		        "--kv-target: the number of replicas follows nothing without --target",
		        NULL },
		{ !scales && (s->window_s != SERVICE_NOT_SAID ||
		                     s->scale_down_s != SERVICE_NOT_SAID),
		        "--scale-window, --scale-down: the number of replicas follows nothing "
		        "without "
		        "--target",
		        NULL },
		{ !scales && s->request_wait_ms != SERVICE_NOT_SAID && r->request_wait_ms,
		        "--request-wait: the number of replicas follows nothing without --target",
		        NULL },
		{ r->min && s->to_zero_s != SERVICE_NOT_SAID,
		        "--to-zero: there is always a replica, by --replicas",
		        "--replicas=0-MAX allows none" },
		{ r->burst_window_s > r->window_s,
		        "--scale-window: the second is shorter than the first", NULL },
		{ *r->burst_qos && r->kept >= r->max,
		        "--burst-qos: no replica is above those that are kept",
		        "--kept=N is less than MAX of --replicas" },
	};

	return TELL(o, rows, err);
}

int service_check_none(const struct submit_options *o, struct error *err)
{
	struct wrong rows[N_NUMBERS + N_WORDS + 1] = { { .is = false } };
	char texts[N_NUMBERS + N_WORDS + 1][80];
	const struct service_options *s = &o->service;
	size_t n = 0;

	for (size_t i = 0; i < N_NUMBERS; i++)
		if (!i || strcmp(numbers[i].option, numbers[i - 1].option) != 0)
			rows[n++] =
			        (struct wrong){ *NUMBER_AT(s, numbers[i].from) != SERVICE_NOT_SAID,
				        numbers[i].option, NULL };
	for (size_t i = 0; i < N_WORDS; i++)
		rows[n++] = (struct wrong){ *WORD_AT(s, words[i].from), words[i].option, NULL };
	rows[n++] = (struct wrong){ s->target >= 0, "target", NULL };
	for (size_t i = 0; i < n; i++) {
		snprintf(texts[i], sizeof(texts[i]), "--%s: needs --service=NAME", rows[i].text);
		rows[i].text = texts[i];
	}
	return tell(o, rows, n, err);
}

/* --- the job --------------------------------------------------------------------------------- */

/* What was said, over what is there. */
static void put_said(const struct service_options *s, struct service_job *job)
{
	for (size_t i = 0; i < N_NUMBERS; i++)
		if (*NUMBER_AT(s, numbers[i].from) != SERVICE_NOT_SAID)
			*NUMBER_AT(job, numbers[i].to) = *NUMBER_AT(s, numbers[i].from);
	for (size_t i = 0; i < N_WORDS; i++)
		if (*WORD_AT(s, words[i].from))
			*WORD_AT(job, words[i].to) = *WORD_AT(s, words[i].from);
	if (s->target >= 0)
		job->request.target = s->target;
	job->spec.name = s->name;
}

static void put_defaults(struct service_job *job)
{
	for (size_t i = 0; i < N_NUMBERS; i++)
		*NUMBER_AT(job, numbers[i].to) = numbers[i].fallback;
}

/* What depends on others, where it was not said. */
static void put_rest(const struct service_options *s, bool update, struct service_job *job)
{
	Gpusched__ServiceRequest *r = &job->request;
	Gpusched__ServiceSpec *spec = &job->spec;

	if (s->kept == SERVICE_NOT_SAID && (!update || r->kept > r->max))
		r->kept = r->min;
	if (s->probe_every_ms != SERVICE_NOT_SAID && s->probe_timeout_ms == SERVICE_NOT_SAID &&
	        spec->probe_timeout_ms > spec->probe_every_ms)
		spec->probe_timeout_ms = spec->probe_every_ms;
	if (s->burst_window_s == SERVICE_NOT_SAID && r->burst_window_s > r->window_s)
		r->burst_window_s = r->window_s;
	if (!update && !s->ready && spec->ports)
		spec->ready = (char *)"tcp";
	r->update = update;
}

int service_job_make(const struct submit_options *o, const Gpusched__Service *present,
        struct service_job *job, struct error *err)
{
	const struct service_options *s = &o->service;

	gpusched__service_spec__init(&job->spec);
	gpusched__service_request__init(&job->request);
	put_defaults(job);
	if (present && present->spec)
		job->spec = *present->spec;
	if (present && present->request)
		job->request = *present->request;
	put_said(s, job);
	put_rest(s, present != NULL, job);
	snprintf(job->array, sizeof(job->array), "0-%u",
	        2 * job->request.max + job->request.surge + SERVICE_SLOTS_SPARE - 1);
	job->both = (struct spec_service){ &job->spec, &job->request };
	if (check_job(o, err) < 0 || check_signed(o, &job->spec, err) < 0 ||
	        check_asked(o, job, err) < 0)
		return -1;
	return 0;
}
