/* sim_launcher.c - see sim_launcher.h */
#include "noded/sim_launcher.h"

#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

#define SECOND         ((usec_t)1000000)
#define NEVER_AT       INT64_MAX
#define SIGTERM_NUMBER 15
#define SIGKILL_NUMBER 9

struct record {
	struct run_report report;   /* what is true; detail is static, the other strings owned */
	enum run_report_state told; /* what was said last; 0: nothing yet */
	usec_t start, end_at;       /* mono; NEVER_AT: no end by itself */
	struct {
		uint32_t exit_code, exit_signal;
		enum end_cause cause;
	} ends; /* how, at end_at */
	struct record *next;
};

struct sim_launcher {
	char *incarnation;
	uint64_t max_epoch, max_job;
	struct record *first, **last;
	size_t n;
	bool hello_due;
	struct run_report *hello_runs;
	usec_t next_end; /* not later than the earliest end_at of a run alive */
	bool changed;    /* some record has told != report.state */
	sim_fact_fn *fact;
	void *arg;
};

struct sim_launcher *sim_launcher_new(const char *incarnation, sim_fact_fn *fact, void *arg)
{
	struct sim_launcher *l = xcalloc(1, sizeof(*l));

	l->incarnation = xstrdup(incarnation);
	l->last = &l->first;
	l->next_end = NEVER_AT;
	l->hello_due = true;
	l->fact = fact;
	l->arg = arg;
	return l;
}

static void record_free(struct record *r)
{
	free((char *)r->report.incarnation);
	free((char *)r->report.gpu_type);
	free(r);
}

void sim_launcher_free(struct sim_launcher *l)
{
	struct record *next;

	if (!l)
		return;
	for (struct record *r = l->first; r; r = next) {
		next = r->next;
		record_free(r);
	}
	free(l->hello_runs);
	free(l->incarnation);
	free(l);
}

size_t sim_launcher_records(const struct sim_launcher *l)
{
	return l->n;
}

static struct record *find(const struct sim_launcher *l, struct run_id id)
{
	struct record *r = l->first;

	while (r && (r->report.run.job != id.job || r->report.run.task != id.task ||
	                    r->report.run.attempt != id.attempt))
		r = r->next;
	return r;
}

static struct record *add(struct sim_launcher *l, struct run_id id, const char *gpu_type)
{
	struct record *r = xcalloc(1, sizeof(*r));

	r->report.run = id;
	r->report.detail = "";
	r->report.incarnation = xstrdup(l->incarnation);
	r->report.gpu_type = xstrdup(gpu_type);
	r->end_at = NEVER_AT;
	*l->last = r;
	l->last = &r->next;
	l->n++;
	l->changed = true;
	if (id.job > l->max_job)
		l->max_job = id.job;
	return r;
}

static bool alive(const struct record *r)
{
	return r->report.state == REPORT_RUNNING;
}

/* --- how a run goes -------------------------------------------------------------------------- */

/* sim=SECONDS[:EXIT]; what cannot be read counts as 0. */
static usec_t planned_duration(const Gpusched__StartRun *order, uint32_t *exit_code)
{
	*exit_code = 0;
	for (size_t i = 0; i < order->n_labels; i++) {
		char *end;
		double seconds;

		if (strcmp(order->labels[i]->key, "sim") != 0)
			continue;
		seconds = strtod(order->labels[i]->value, &end);
		if (*end == ':')
			*exit_code = (uint32_t)strtoul(end + 1, NULL, 10) & 0xff;
		return seconds > 0 && seconds < 1e9 ? (usec_t)(seconds * 1e6) : 0;
	}
	return 0;
}

static void plan(struct sim_launcher *l, struct record *r, const Gpusched__StartRun *order)
{
	usec_t duration = planned_duration(order, &r->ends.exit_code);
	usec_t limit = (usec_t)order->time_limit_s * SECOND;

	r->ends.cause = END_EXIT;
	if (limit && duration > limit) {
		duration = limit;
		r->ends.exit_code = 0;
		r->ends.exit_signal = SIGTERM_NUMBER;
		r->ends.cause = END_TIME_LIMIT;
	}
	r->end_at = r->start + duration;
	if (r->end_at < l->next_end)
		l->next_end = r->end_at;
}

static void start(struct sim_launcher *l, const Gpusched__StartRun *order, struct clocks now)
{
	struct run_id id = { order->run->job, order->run->task, order->run->attempt };
	struct record *r;

	if (find(l, id) || order->epoch < l->max_epoch)
		return;
	l->max_epoch = order->epoch;
	r = add(l, id, order->gpu_type);
	r->report.epoch = order->epoch;
	if (strcmp(order->incarnation, l->incarnation) != 0) {
		r->report.state = REPORT_NEVER;
		r->report.detail = "the start names another incarnation of the node";
		return;
	}
	for (size_t i = 0; i < order->n_gpus; i++)
		r->report.gpus |= (uint64_t)1 << (order->gpus[i] & 63);
	r->report.cpus = order->cpus;
	r->report.mem_mb = order->mem_mb;
	r->report.state = REPORT_RUNNING;
	r->report.start_time = now.wall;
	r->start = now.mono;
	plan(l, r, order);
	if (l->fact)
		l->fact(l->arg, &r->report, now);
}

static void finish(struct sim_launcher *l, struct record *r, struct clocks now)
{
	r->report.state = REPORT_ENDED;
	r->report.end_time = now.wall;
	r->report.elapsed_us = (uint64_t)(now.mono - r->start);
	r->report.exit_code = r->ends.exit_code;
	r->report.exit_signal = r->ends.exit_signal;
	r->report.cause = r->ends.cause;
	r->end_at = NEVER_AT;
	l->changed = true;
	if (l->fact)
		l->fact(l->arg, &r->report, now);
}

static void end(struct sim_launcher *l, const struct agent_end *end, struct clocks now)
{
	struct record *r = find(l, end->run);

	if (end->epoch < l->max_epoch)
		return;
	if (!r) {
		r = add(l, end->run, "");
		r->report.epoch = end->epoch;
		r->report.state = REPORT_NEVER;
		r->report.detail = "ended before it was started";
	} else if (alive(r)) {
		r->ends.exit_code = 0;
		r->ends.exit_signal = end->grace_s ? SIGTERM_NUMBER : SIGKILL_NUMBER;
		r->ends.cause = end->cause;
		finish(l, r, now);
	}
}

static void forget(struct sim_launcher *l, struct run_id id)
{
	struct record **at = &l->first, *r = find(l, id);

	if (!r || alive(r))
		return;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	if (!r->next)
		l->last = at;
	record_free(r);
	l->n--;
}

void sim_launcher_tell(struct sim_launcher *l, const struct agent_effect *effect, struct clocks now)
{
	switch (effect->kind) {
	case AGENT_TELL_START:
		start(l, effect->start.order, now);
		break;
	case AGENT_TELL_END:
		end(l, &effect->end, now);
		break;
	case AGENT_TELL_FORGET:
		forget(l, effect->forget);
		break;
	case AGENT_TELL_EPOCH:
		if (effect->epoch > l->max_epoch)
			l->max_epoch = effect->epoch;
		break;
	default: /* a signal is nothing to what does not run */
		break;
	}
}

/* --- what it says ---------------------------------------------------------------------------- */

static void hello(struct sim_launcher *l, struct agent_event *event)
{
	size_t n = 0;

	free(l->hello_runs);
	l->hello_runs = xcalloc(l->n, sizeof(*l->hello_runs));
	for (struct record *r = l->first; r; r = r->next) {
		l->hello_runs[n++] = r->report;
		r->told = r->report.state;
	}
	*event = (struct agent_event){ .kind = AGENT_LAUNCHER_HELLO };
	event->hello.incarnation = l->incarnation;
	event->hello.boot_id = l->incarnation;
	event->hello.containment = "simulated";
	event->hello.max_epoch = l->max_epoch;
	event->hello.max_job = l->max_job;
	event->hello.runs = l->hello_runs;
	event->hello.n_runs = n;
	l->hello_due = l->changed = false;
}

static void end_what_is_due(struct sim_launcher *l, struct clocks now)
{
	l->next_end = NEVER_AT;
	for (struct record *r = l->first; r; r = r->next) {
		if (r->end_at <= now.mono)
			finish(l, r, now);
		else if (r->end_at < l->next_end)
			l->next_end = r->end_at;
	}
}

/* A run is told in its states one by one, as it would have been. */
static enum run_report_state next_to_tell(const struct record *r)
{
	if (r->report.state == REPORT_NEVER)
		return REPORT_NEVER;
	return r->told + 1;
}

bool sim_launcher_next(struct sim_launcher *l, struct agent_event *event, struct clocks now)
{
	if (l->next_end <= now.mono)
		end_what_is_due(l, now);
	if (l->hello_due) {
		hello(l, event);
		return true;
	}
	if (!l->changed)
		return false;
	for (struct record *r = l->first; r; r = r->next) {
		if (r->told == r->report.state)
			continue;
		r->told = next_to_tell(r);
		*event = (struct agent_event){ .kind = AGENT_LAUNCHER_RUN };
		event->report = r->report;
		event->report.state = r->told;
		return true;
	}
	l->changed = false;
	return false;
}

usec_t sim_launcher_next_timer(const struct sim_launcher *l)
{
	return l->hello_due || l->changed ? 0 : l->next_end;
}

void sim_launcher_restart(struct sim_launcher *l)
{
	l->hello_due = true;
}

void sim_launcher_reboot(struct sim_launcher *l, const char *incarnation, struct clocks now)
{
	for (struct record *r = l->first; r; r = r->next) {
		if (!alive(r))
			continue;
		r->ends.exit_code = r->ends.exit_signal = 0;
		r->ends.cause = END_NODE_FAIL;
		finish(l, r, now);
	}
	free(l->incarnation);
	l->incarnation = xstrdup(incarnation);
	l->hello_due = true;
}
