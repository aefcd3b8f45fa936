/* sim_launcher.c - see sim_launcher.h */

#include "noded/sim/sim_launcher_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"

#define SECONDS_MAX 1000000000

struct sim_launcher *sim_launcher_new(const char *incarnation, const struct sim_world *world)
{
	struct sim_launcher *l = xcalloc(1, sizeof(*l));

	if (world)
		l->world = *world;
	l->incarnation = xstrdup(incarnation);
	l->last = &l->first;
	l->next_due = l->check_at = NEVER_AT;
	l->hello_due = true;
	return l;
}

static void record_free(struct record *r)
{
	free((char *)r->report.incarnation);
	free((char *)r->report.gpu_type);
	free((char *)r->report.detail);
	free((char *)r->report.owner.user);
	free((char *)r->report.owner.account);
	free((char *)r->report.owner.partition);
	free((char *)r->report.owner.qos);
	if (r->spec)
		gpusched__signed_spec__free_unpacked(r->spec, NULL);
	if (r->order)
		gpusched__start_run__free_unpacked(r->order, NULL);
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

const struct run_report *sim_launcher_each(const struct sim_launcher *l, const void **at)
{
	const struct record *r = *at;

	r = r ? r->next : l->first;
	*at = r;
	return r ? &r->report : NULL;
}

static struct record *find_record(const struct sim_launcher *l, struct run_id id)
{
	struct record *r = l->first;

	while (r && !run_id_equal(&r->report.run, &id))
		r = r->next;
	return r;
}

static struct record *add_record(
        struct sim_launcher *l, struct run_id id, const char *gpu_type, const char *detail)
{
	struct record *r = xcalloc(1, sizeof(*r));

	r->report.run = id;
	r->report.detail = xstrdup(detail);
	r->report.incarnation = xstrdup(l->incarnation);
	r->report.gpu_type = xstrdup(gpu_type);
	r->report.progress = "";
	r->report.node_trouble = "";
	r->begin_at = r->end_at = r->take_at = r->give_at = r->ready_at = NEVER_AT;
	*l->last = r;
	l->last = &r->next;
	l->n++;
	l->changed = true;
	return r;
}

/* Frees the record at `at`, which then points to the next one. */
static void drop_at(struct sim_launcher *l, struct record **at)
{
	struct record *r = *at;

	*at = r->next;
	if (!r->next)
		l->last = at;
	record_free(r);
	l->n--;
}

static void drop(struct sim_launcher *l, const struct record *r)
{
	struct record **at = &l->first;

	while (*at != r)
		at = &(*at)->next;
	drop_at(l, at);
}

static void say_again(struct sim_launcher *l, struct record *r)
{
	if (r->told == r->report.state)
		r->told--;
	l->changed = true;
}

/* `cause` END_LAUNCH: it was refused; END_NONE: the order never came. */
static void never(struct sim_launcher *l, struct run_id id, uint64_t epoch, enum end_cause cause,
        const char *why)
{
	struct record *r = add_record(l, id, "", why);

	r->report.epoch = epoch;
	r->report.state = REPORT_NEVER;
	r->report.cause = cause;
}

static void tell_fact(const struct sim_launcher *l, const struct record *r, struct clocks now)
{
	if (l->world.fact)
		l->world.fact(l->world.arg, &r->report, now);
}

/* --- how a run goes -------------------------------------------------------------------------- */

/* Values that cannot be read count as 0. */
static usec_t seconds_of(const char *value, char **end)
{
	double seconds = strtod(value, end);

	return seconds > 0 && seconds < SECONDS_MAX ? (usec_t)(seconds * 1e6) : 0;
}

static const char *label_of(const Gpusched__StartRun *order, const char *key)
{
	for (size_t i = 0; i < order->n_labels; i++)
		if (strcmp(order->labels[i]->key, key) == 0)
			return order->labels[i]->value;
	return NULL;
}

/* sim=SECONDS[:EXIT], sim-load=SECONDS */
static struct sim_course course_of_labels(const Gpusched__StartRun *order, bool replica)
{
	struct sim_course c = { .duration = replica ? SECONDS_MAX * SECOND : 0 };
	const char *sim = label_of(order, "sim"), *load = label_of(order, "sim-load");
	char *end;

	if (sim) {
		c.duration = seconds_of(sim, &end);
		if (*end == ':')
			c.exit_code = (uint32_t)strtoul(end + 1, NULL, 10) & 0xff;
	}
	if (load)
		c.load_time = seconds_of(load, &end);
	return c;
}

void sim_due(struct sim_launcher *l, usec_t at)
{
	if (at < l->next_due)
		l->next_due = at;
}

/* It ends at `at`, unless it ends before. */
static void end_at(struct sim_launcher *l, struct record *r, usec_t at, enum end_cause cause,
        uint32_t exit_code, uint32_t exit_signal)
{
	if (at >= r->end_at)
		return;
	r->end_at = at;
	r->ends.cause = cause;
	r->ends.exit_code = exit_code;
	r->ends.exit_signal = exit_signal;
	sim_due(l, at);
}

void sim_stop_at(
        struct sim_launcher *l, struct record *r, usec_t at, enum end_cause cause, uint32_t grace_s)
{
	if (grace_s && !r->course.ignores_term)
		end_at(l, r, at + r->course.obey_after, cause, 0, SIGTERM_NUMBER);
	else
		end_at(l, r, at + (usec_t)grace_s * SECOND, cause, 0, SIGKILL_NUMBER);
}

/* Bring the durations in the report up to now. */
static const struct run_report *refreshed(struct record *r, struct clocks now)
{
	if (r->report.state == REPORT_RUNNING)
		r->report.elapsed_us = (uint64_t)(now.mono - r->start);
	if (r->report.suspended) {
		r->report.suspended_us += (uint64_t)(now.mono - r->since);
		r->since = now.mono;
	}
	sim_replica_refresh(r, now);
	return &r->report;
}

void sim_schedule(struct sim_launcher *l, struct record *r)
{
	usec_t begin = r->start + (usec_t)r->report.suspended_us;

	r->end_at = NEVER_AT;
	end_at(l, r, begin + r->course.duration, END_EXIT, r->course.exit_code,
	        r->course.exit_signal);
	if (r->limit_s)
		sim_stop_at(l, r, begin + (usec_t)r->limit_s * SECOND, END_TIME_LIMIT, r->grace_s);
	if (r->asked && !r->ending && !r->course.gives_back)
		sim_stop_at(l, r, r->asked_at, END_RECLAIM, r->grace_s);
}

void sim_suspend(struct sim_launcher *l, struct record *r, bool suspend, struct clocks now)
{
	if (r->report.state != REPORT_RUNNING || r->report.suspended == suspend)
		return;
	if (suspend) {
		r->since = now.mono;
		r->left = r->end_at == NEVER_AT ? NEVER_AT : r->end_at - now.mono;
		r->end_at = NEVER_AT;
	} else {
		refreshed(r, now);
		r->end_at = r->left == NEVER_AT ? NEVER_AT : now.mono + r->left;
		sim_due(l, r->end_at);
	}
	r->report.suspended = suspend;
	if (suspend)
		sim_replica_hides(l, r, "it is suspended", now);
	else
		sim_replica_resumes(l, r, now);
	l->changed = true;
	tell_fact(l, r, now);
}

/* STARTING has become RUNNING. */
static void begin_run(struct sim_launcher *l, struct record *r, struct clocks now)
{
	r->begin_at = NEVER_AT;
	r->ran = true;
	r->start = now.mono;
	r->report.state = REPORT_RUNNING;
	r->report.start_time = now.wall;
	l->changed = true;
	sim_schedule(l, r);
	sim_memory_begins(l, r);
	sim_replica_begins(l, r, now);
	sim_suspend(l, r, r->hold, now);
}

static void finish(struct sim_launcher *l, struct record *r, struct clocks now)
{
	refreshed(r, now);
	r->report.suspended = false;
	r->report.state = REPORT_ENDED;
	r->report.end_time = now.wall;
	r->report.elapsed_us = r->ran ? (uint64_t)(now.mono - r->start) : 0;
	COPY_FIELDS(&r->report, &r->ends, exit_code, exit_signal, cause);
	r->begin_at = r->end_at = NEVER_AT;
	r->ended = now.mono;
	l->changed = true;
	sim_replica_ends(r);
	sim_memory_over(l, r);
	tell_fact(l, r, now);
}

/* --- orders ---------------------------------------------------------------------------------- */

static uint64_t gpus_of(const Gpusched__StartRun *order)
{
	uint64_t set = 0;

	for (size_t i = 0; i < order->n_gpus; i++)
		set |= (uint64_t)1 << (order->gpus[i] & 63);
	return set;
}

/* `share`: the GPUs that runs hold as a whole; else all GPUs that runs hold. */
static uint64_t gpus_held(const struct sim_launcher *l, bool share)
{
	uint64_t set = 0;

	for (const struct record *r = l->first; r; r = r->next) {
		if ((alive(r) || r->waits) && !(share && r->report.share_charge))
			set |= r->report.gpus;
	}
	return set;
}

static void say_whose(struct record *r, const Gpusched__StartRun *order)
{
	struct run_owner *o = &r->report.owner;

	o->user = xstrdup(order->user);
	o->account = xstrdup(order->account);
	o->partition = xstrdup(order->partition);
	o->qos = xstrdup(order->qos);
	r->spec = gpusched__signed_spec__unpack(NULL, order->spec.len, order->spec.data);
	if (!r->spec)
		return;
	r->report.uid = r->spec->uid;
	COPY_FIELDS(o, r->spec, gid, name, array);
}

/* In the order of the real launcher's checks. */
static int check(struct sim_launcher *l, const Gpusched__StartRun *order, struct error *err)
{
	if (order->epoch < l->max_epoch)
		return error_set(err, ERR_EPOCH, "ordered under a lower epoch than was seen here");
	if (strcmp(order->incarnation, l->incarnation) != 0)
		return error_set(
		        err, ERR_LAUNCH, "the start names another incarnation of the node");
	l->max_epoch = order->epoch;
	if (gpus_held(l, order->share_charge) & gpus_of(order))
		return error_set(err, ERR_LAUNCH, "a GPU of this order is held by another run");
	return 0;
}

/* Start the run: its GPUs and its part of their memory are available. */
static void start_now(struct sim_launcher *l, struct record *r, const Gpusched__StartRun *order,
        struct clocks now)
{
	struct run_id id = r->report.run;
	struct error err;

	if (l->world.accept && l->world.accept(l->world.arg, order, &err) < 0) {
		drop(l, r);
		never(l, id, order->epoch, END_LAUNCH, err.text);
		return;
	}
	if (id.job > l->max_job)
		l->max_job = id.job;
	r->report.state = REPORT_STARTING;
	r->course = l->world.course ? l->world.course(l->world.arg, order)
	                            : course_of_labels(order, r->spec && r->spec->service);
	sim_replica_starts(l, r);
	tell_fact(l, r, now);
	if (!r->course.begin_after) {
		begin_run(l, r, now);
		return;
	}
	r->begin_at = now.mono + r->course.begin_after;
	sim_due(l, r->begin_at);
}

void sim_start_waiting(struct sim_launcher *l, struct record *r, struct clocks now)
{
	Gpusched__StartRun *order = r->order;

	r->order = NULL;
	r->waits = false;
	start_now(l, r, order, now);
	gpusched__start_run__free_unpacked(order, NULL);
}

/* A waiting run will not start: its order is dropped. */
static void give_up_start(struct sim_launcher *l, struct record *r)
{
	sim_memory_waived(l, r);
	drop(l, r);
}

static void start_order(struct sim_launcher *l, const Gpusched__StartRun *order, struct clocks now)
{
	struct run_id id = { order->run->job, order->run->task, order->run->attempt,
		order->run->rank };
	struct record *r = find_record(l, id);
	struct error err;

	if (r) {
		if (!r->waits)
			say_again(l, r);
		return;
	}
	if (check(l, order, &err) < 0) {
		never(l, id, order->epoch, END_LAUNCH, err.text);
		return;
	}
	r = add_record(l, id, order->gpu_type, "");
	say_whose(r, order);
	r->report.epoch = order->epoch;
	r->report.gpus = gpus_of(order);
	COPY_FIELDS(&r->report, order, cpus, mem_mb, share_charge, share_milli, share_mb,
	        share_burst_mb);
	r->report.nodes = order->nnodes ? order->nnodes : 1;
	r->limit_s = order->time_limit_s;
	r->grace_s = order->grace_s;
	if (!sim_memory_waits(l, r, order))
		start_now(l, r, order, now);
}

static void end_order(struct sim_launcher *l, const struct agent_end *end, struct clocks now)
{
	struct record *r = find_record(l, end->run);

	if (end->epoch < l->max_epoch)
		return;
	if (!r) {
		never(l, end->run, end->epoch, END_NONE, "ended before it was started");
	} else if (r->waits) {
		give_up_start(l, r);
		never(l, end->run, end->epoch, END_LAUNCH, "it was ended before it was started");
	} else if (alive(r)) {
		sim_suspend(l, r, false, now); /* it must be able to react */
		r->hold = false;
		r->ending = true;
		sim_replica_hides(l, r, "it is to end", now);
		if (r->asked) /* asked by its node: replaced by this order */
			sim_schedule(l, r);
		sim_stop_at(l, r, now.mono, end->cause, end->grace_s);
	} else {
		say_again(l, r);
	}
}

static void hold(struct sim_launcher *l, const struct agent_suspend *s, struct clocks now)
{
	struct record *r = find_record(l, s->run);

	if (s->epoch < l->max_epoch || !r || !alive(r) || r->ending)
		return;
	r->hold = s->suspend;
	if (s->time_limit_s && s->time_limit_s != r->limit_s) {
		bool stopped = r->report.suspended;

		sim_suspend(l, r, false, now);
		r->limit_s = s->time_limit_s == UINT32_MAX ? 0 : s->time_limit_s;
		if (r->report.state == REPORT_RUNNING)
			sim_schedule(l, r);
		sim_suspend(l, r, stopped, now);
	}
	/* A run that was asked to give back must be able to; it is suspended afterwards. */
	sim_suspend(l, r, s->suspend && !r->asked, now);
}

static void forget(struct sim_launcher *l, struct run_id id)
{
	struct record *r = find_record(l, id);

	if (r && !alive(r) && !r->waits)
		drop(l, r);
}

void sim_launcher_tell(struct sim_launcher *l, const struct agent_effect *effect, struct clocks now)
{
	switch (effect->kind) {
	case AGENT_TELL_START:
		start_order(l, effect->start.order, now);
		break;
	case AGENT_TELL_END:
		end_order(l, &effect->end, now);
		break;
	case AGENT_TELL_SUSPEND:
		hold(l, &effect->suspend, now);
		break;
	case AGENT_TELL_FORGET:
		forget(l, effect->forget);
		break;
	case AGENT_TELL_EPOCH:
		if (effect->epoch > l->max_epoch)
			l->max_epoch = effect->epoch;
		break;
	default: /* a signal has no effect on a simulated run */
		break;
	}
}

/* --- its messages ---------------------------------------------------------------------------- */

static void hello(struct sim_launcher *l, struct agent_event *event, struct clocks now)
{
	size_t n = 0;

	free(l->hello_runs);
	l->hello_runs = xcalloc(l->n, sizeof(*l->hello_runs));
	sim_memory_hello(l, now);
	for (struct record *r = l->first; r; r = r->next) {
		l->hello_runs[n++] = *refreshed(r, now);
		r->told = r->report.state;
		r->told_suspended = r->report.suspended;
		r->told_health = r->report.replica.health;
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

void sim_launcher_pass(struct sim_launcher *l, struct clocks now)
{
	if (l->next_due > now.mono)
		return;
	l->next_due = NEVER_AT;
	for (struct record *r = l->first; r; r = r->next) {
		if (r->begin_at <= now.mono && r->begin_at <= r->end_at)
			begin_run(l, r, now);
		sim_memory_pass(l, r, now);
		sim_replica_pass(l, r, now);
		if (r->end_at <= now.mono)
			finish(l, r, now);
		sim_due(l, r->begin_at < r->end_at ? r->begin_at : r->end_at);
	}
}

usec_t sim_launcher_next_due(const struct sim_launcher *l)
{
	return l->next_due;
}

/* A run's states are reported one by one, as the real launcher would have. */
static enum run_report_state next_to_tell(const struct record *r)
{
	if (r->report.state == REPORT_NEVER)
		return REPORT_NEVER;
	if (r->told == REPORT_STARTING && !r->ran) /* it ended before it ran */
		return REPORT_ENDED;
	return r->told + 1;
}

bool sim_launcher_next(struct sim_launcher *l, struct agent_event *event, struct clocks now)
{
	sim_launcher_pass(l, now);
	if (l->hello_due) {
		hello(l, event, now);
		return true;
	}
	if (l->check_at <= now.mono)
		sim_memory_check(l, now);
	if (!l->changed)
		return false;
	for (struct record *r = l->first; r; r = r->next) {
		if (r->told != r->report.state)
			r->told = next_to_tell(r);
		else if (r->told_suspended == r->report.suspended &&
		         r->told_health == r->report.replica.health)
			continue;
		r->told_suspended = r->report.suspended;
		r->told_health = r->report.replica.health;
		*event = (struct agent_event){ .kind = AGENT_LAUNCHER_RUN };
		event->report = *refreshed(r, now);
		event->report.state = r->told;
		return true;
	}
	l->changed = false;
	return false;
}

usec_t sim_launcher_next_timer(const struct sim_launcher *l)
{
	if (l->hello_due || l->changed)
		return 0;
	return l->check_at < l->next_due ? l->check_at : l->next_due;
}

/* The orders of waiting runs are lost with the launcher. */
static void forget_waiting(struct sim_launcher *l)
{
	for (struct record *r = l->first, *next; r; r = next) {
		next = r->next;
		if (r->waits)
			give_up_start(l, r);
	}
}

void sim_launcher_restart(struct sim_launcher *l)
{
	forget_waiting(l);
	l->hello_due = true;
}

void sim_launcher_reboot(struct sim_launcher *l, const char *incarnation, struct clocks now)
{
	struct record **at = &l->first;

	sim_launcher_pass(l, now);
	forget_waiting(l);
	while (*at) {
		struct record *r = *at;

		if (alive(r)) {
			r->ends.exit_code = r->ends.exit_signal = 0;
			r->ends.cause = END_NODE_FAIL;
			finish(l, r, now);
		}
		if (r->report.state == REPORT_ENDED && now.mono - r->ended >= SIM_SYNC)
			at = &r->next;
		else
			drop_at(l, at);
	}
	l->next_due = l->check_at = NEVER_AT;
	free(l->incarnation);
	l->incarnation = xstrdup(incarnation);
	l->hello_due = true;
}
