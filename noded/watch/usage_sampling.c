/* usage_sampling.c - see usage_sampling.h, usage/usage_per_run.h
 *
 * Runs are sampled in rounds, while any run is running. A round is cut into slices so that no order
 * waits for it:
 *
 *	CGROUPS  what the kernel has counted for each run
 *	GPUS     one request to the sampler's process (sampler_watchdog.h), if a run has GPUs: it
 *	         covers all GPUs of the node, also those that no run holds
 *	SCAN     /proc, if a run has no cgroup to be counted in
 *	RUNS     each run's sums, its `used` record for the shepherd and a later launcher
 *	REPORT   reports of what has changed, in as few messages as hold it
 *
 * Runs that may use only a part of their GPUs' memory (gpu_memory_limit.h) are sampled every
 * second, or more often if sample_ms says so, in a quick round: it covers only these runs, queries
 * only the memory of their GPUs and reports only what it has found.
 *
 * While no run holds a GPU there is a round for the GPUs alone every idle_sample_ms. Its sampler
 * ends after each round: a process that slept until the next one would only keep the driver's
 * memory in use, and open the device files that a reset or another MIG layout needs closed. Such a
 * round wakes no GPU, because the child that waits for Xids (gpu/xid_events.h) keeps the driver
 * loaded anyway.
 *
 * The cost is bounded: the pause after a round is so long that all rounds together cost half a
 * percent of a core, the sampler's process included, and at least sample_ms; after a start it is
 * shorter, since many runs are short. Quick rounds may cost two percent.
 */
#include "config.h"

#include "noded/watch/usage_sampling.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "common/net/event_end.h"
#include "noded/confine/effective_limits.h"
#include "noded/gpu/gpus.h"
#include "noded/gpu/nvml_usage.h"
#include "noded/gpu/probe_watchdog.h"
#include "noded/gpu/sampler_watchdog.h"
#include "noded/runs/agent_channel.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/runs.h"
#include "noded/usage/cpu_memory_io.h"
#include "noded/usage/usage_per_run.h"
#include "noded/watch/gpu_inventory.h"
#include "noded/watch/gpu_samples.h"
#include "noded/watch/run_usage.h"

#define SLICE_US     500                /* of one slice, roughly */
#define SCAN_STEP    16                 /* processes between two looks at the clock */
#define COST_FACTOR  200                /* the pause after a round is this multiple of its cost */
#define QUICK_MS     1000               /* between two quick rounds; less if sample_ms is */
#define QUICK_FACTOR 50                 /* as COST_FACTOR, of a quick round */
#define RETRY_MS     20                 /* the other kind of round is in progress */
#define FIRST_MS     1000               /* after a start; then twice as long each time */
#define LATE_US      ((usec_t)60000000) /* a sample stands for no longer time */
#define REPORT_MAX   200                /* runs in one message */
/* each such round reports all runs, since sessions get lost */
#define ALL_ROUNDS 6

enum phase { PHASE_CGROUPS, PHASE_GPUS, PHASE_SCAN, PHASE_RUNS, PHASE_REPORT };

struct usage_sampling {
	struct launcher *l;
	struct gpu_sampler *sampler;
	struct event *timer, *quick_timer, *idle_timer, *step;
	struct event *answer;  /* while a request to the sampler is pending */
	bool under_way, quick; /* a round is in progress; it is a quick one */
	bool idle;             /* it samples the GPUs though no run may hold one */
	enum phase phase;
	struct run_id *runs; /* of this round */
	size_t n, at;
	bool scan_needed, gpus_needed, some_guarded;
	struct process_scan *scan;
	const struct gpu_uses *uses;
	/* Bits of GPUs that runs have held since this round began; that several runs have held: the
	 * sample may show processes of a run that came or ended meanwhile. */
	uint64_t held, shared;
	usec_t asked;     /* mono: when this round began */
	uint64_t cost_us; /* of this round so far */
	usec_t due,
	        not_before; /* mono: the next round, INT64_MAX none; by what the last one cost */
	unsigned pause_ms, rounds;
	bool renew; /* the GPUs have changed since the sampler was started */
	char trouble[160];
};

static void run_slice(evutil_socket_t fd, short what, void *arg);

static void set_timer(struct event *event, uint64_t ms)
{
	struct timeval t = { .tv_sec = (time_t)(ms / 1000), .tv_usec = (long)(ms % 1000) * 1000 };

	evtimer_add(event, &t);
}

/* --- slices ---------------------------------------------------------------------------------- */

static struct run *run_at(const struct usage_sampling *w)
{
	struct run *r = run_find(w->l, w->runs[w->at]);

	return r && r->state == RUN_RUNNING ? r : NULL;
}

/* Add the run if it belongs to a quick round. */
static void add_guarded(struct usage_sampling *w, struct run_usage *u)
{
	if (!run_usage_is_guarded(u)) {
		w->runs[w->at] = (struct run_id){ 0 };
		return;
	}
	w->scan_needed |= !*u->leaf;
	w->gpus_needed = true;
}

static void count_cgroups(struct usage_sampling *w)
{
	struct run *r = run_at(w);

	if (!r)
		return;
	if (!r->used)
		r->used = run_usage_new(r);
	w->some_guarded |= run_usage_is_guarded(r->used);
	if (w->quick) {
		add_guarded(w, r->used);
		return;
	}
	r->used->processes = (struct process_usage){ 0 };
	process_usage_cgroups(r->used->leaf, r->used->memory, &r->used->processes);
	r->used->kept =
	        r->used->n_gpus || !r->used->processes.cpu_known || !r->used->processes.mem_peak_kb;
	w->scan_needed |= !r->used->processes.cpu_known || !r->used->processes.mem_known;
	w->gpus_needed |= r->used->n_gpus != 0;
}

static void add_holder(struct usage_sampling *w, uint64_t gpus)
{
	w->shared |= w->held & gpus;
	w->held |= gpus;
}

static void add_run_as_holder(struct run *r, void *arg)
{
	add_holder(arg, r->gpus);
}

static void find_alone(
        const struct usage_sampling *w, const struct run_usage *u, bool alone[GPU_INDEX_MAX])
{
	for (size_t i = 0; i < u->n_gpus; i++)
		alone[i] = !(w->shared >> u->gpus[i].index & 1);
}

static void add_gpus(struct usage_sampling *w, struct run_usage *u, struct used_pids mine)
{
	usec_t now = clock_us(CLOCK_MONOTONIC), us = u->sampled ? now - u->sampled : 0;
	bool alone[GPU_INDEX_MAX];

	find_alone(w, u, alone);
	used_add_gpus(&u->used, u->gpus, alone, u->n_gpus, w->uses, mine,
	        (uint64_t)(us > LATE_US ? LATE_US : us));
	u->sampled = now;
}

static void check_guarded(struct usage_sampling *w, struct run *r)
{
	struct run_usage *u = r->used;
	struct run_used before = u->used;
	struct process_usage nothing = { 0 };
	bool alone[GPU_INDEX_MAX];
	uint32_t *pids = NULL;
	size_t n;

	n = w->scan ? process_scan_run(w->scan, r->shepherd, &nothing, &pids)
	            : process_usage_pids(u->leaf, &pids);
	find_alone(w, u, alone);
	if (w->uses)
		used_add_gpu_memory(&u->used, u->gpus, alone, u->n_gpus, w->uses,
		        (struct used_pids){ pids, n });
	free(pids);
	if (used_differ(&before, &u->used))
		run_usage_keep(r);
	if (w->uses)
		run_usage_check_memory(r);
}

/* A sum over living processes only counts by its growth. */
static void add_wait(struct run_usage *u)
{
	uint64_t sum = u->processes.wait_us;

	if (u->processes.wait_known)
		return;
	u->processes.wait_us = u->used.cpu_wait_us + (sum > u->waited_us ? sum - u->waited_us : 0);
	u->waited_us = sum;
}

static void count_run(struct usage_sampling *w)
{
	struct run *r = run_at(w);
	struct run_usage *u = r ? r->used : NULL;
	struct run_used before;
	uint32_t *pids = NULL;
	size_t n = 0;

	if (!u)
		return;
	if (w->quick) {
		check_guarded(w, r);
		return;
	}
	before = u->used;
	if (w->scan && (!u->processes.cpu_known || !u->processes.mem_known))
		n = process_scan_run(w->scan, r->shepherd, &u->processes, &pids);
	else if (*u->leaf)
		n = process_usage_pids(u->leaf, &pids);
	process_usage_io(
	        r->shepherd, &u->processes); /* it includes the run's processes that have ended */
	for (size_t i = 0; i < n; i++) {
		process_usage_io((pid_t)pids[i], &u->processes);
		process_usage_wait((pid_t)pids[i], &u->processes);
	}
	add_wait(u);
	used_add_processes(&u->used, &u->processes);
	if (w->uses && u->n_gpus)
		add_gpus(w, u, (struct used_pids){ pids, n });
	free(pids);
	if (u->kept && used_differ(&before, &u->used))
		run_usage_keep(r);
	if (w->uses)
		run_usage_check_memory(r);
}

/* --- reporting ------------------------------------------------------------------------------- */

struct use_report {
	struct launcher *l;
	Gpusched__RunUsed runs[REPORT_MAX], *list[REPORT_MAX];
	Gpusched__RunId ids[REPORT_MAX];
	size_t n;
	const struct gpu_uses *uses; /* to be reported; NULL: none */
};

static void send_use_report(struct use_report *t)
{
	Gpusched__RunsUsed m = GPUSCHED__RUNS_USED__INIT;

	m.n_runs = t->n;
	m.runs = t->list;
	if (t->uses)
		m.gpus = gpu_samples_messages(t->l, t->uses, &m.n_gpus);
	if (m.n_runs || m.n_gpus)
		agent_send(t->l, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_USED, &m.base);
	if (t->uses)
		gpu_samples_free(m.gpus);
	t->uses = NULL;
	t->n = 0;
}

static void add_to_report(struct use_report *t, struct run *r)
{
	size_t i = t->n++;

	run_usage_message(r, &t->runs[i], &t->ids[i]);
	t->list[i] = &t->runs[i];
	r->used->told = r->used->used;
	r->used->fresh = false;
	if (t->n == REPORT_MAX)
		send_use_report(t);
}

static void report_runs(struct usage_sampling *w)
{
	struct use_report *t = xcalloc(1, sizeof(*t));
	bool all = w->rounds++ % ALL_ROUNDS == 0;

	t->l = w->l;
	t->uses = w->uses;
	for (w->at = 0; w->at < w->n; w->at++) {
		struct run *r = run_at(w);

		if (r && r->used &&
		        (all || r->used->fresh || used_differ(&r->used->told, &r->used->used)))
			add_to_report(t, r);
	}
	send_use_report(t);
	free(t);
}

/* --- rounds ---------------------------------------------------------------------------------- */

static void list_run(struct run *r, void *arg)
{
	struct usage_sampling *w = arg;

	if (r->state == RUN_RUNNING && r->shepherd > 0)
		w->runs[w->n++] = r->id;
}

static void set_round(struct usage_sampling *w, uint64_t ms)
{
	w->due = clock_us(CLOCK_MONOTONIC) + (usec_t)ms * 1000;
	set_timer(w->timer, ms);
}

static void end_round(struct usage_sampling *w)
{
	w->cost_us += gpu_sampler_cost_us(w->sampler);
	if (w->renew)
		gpu_sampler_rest(w->sampler);
	else if (!w->gpus_needed && !w->quick)
		gpu_sampler_pause(w->sampler);
	w->renew = false;
	process_scan_free(w->scan);
	w->scan = NULL;
	free(w->runs);
	w->runs = NULL;
	w->uses = NULL;
	w->under_way = false;
}

/* The GPUs are sampled again after idle_sample_ms at the latest. */
static void set_idle_timer(struct usage_sampling *w, uint64_t ms)
{
	uint64_t period = w->l->limits->idle_sample_ms;

	if (!period || !gpu_inventory_found(w->l->gpu_inventory))
		evtimer_del(w->idle_timer);
	else
		set_timer(w->idle_timer, ms > period ? ms : period);
}

static uint64_t quick_ms(const struct launcher *l)
{
	return l->limits->sample_ms && l->limits->sample_ms < QUICK_MS ? l->limits->sample_ms
	                                                             : QUICK_MS;
}

static void quick_round_over(struct usage_sampling *w)
{
	uint64_t cost, pause = quick_ms(w->l);

	end_round(w);
	cost = w->cost_us * QUICK_FACTOR / 1000;
	if (w->some_guarded)
		set_timer(w->quick_timer, cost > pause ? cost : pause);
	w->l->hooks->gpus_sampled(w->l, w->asked);
}

static void round_over(struct usage_sampling *w)
{
	uint64_t period = w->l->limits->sample_ms, cost;
	bool sampled = w->idle || w->uses;

	end_round(w);
	cost = w->cost_us * COST_FACTOR / 1000;
	w->not_before = clock_us(CLOCK_MONOTONIC) + (usec_t)(w->cost_us * COST_FACTOR);
	if (sampled)
		set_idle_timer(w, cost);
	if (w->n && period)
		set_round(w, w->pause_ms > cost ? w->pause_ms : cost);
	w->pause_ms = w->pause_ms * 2 < period ? w->pause_ms * 2 : (unsigned)period;
	w->l->hooks->gpus_sampled(w->l, w->asked);
}

/* False: there is nothing to sample. */
static bool begin_round(struct usage_sampling *w, bool quick, bool idle)
{
	w->runs = xcalloc(runs_count(w->l), sizeof(*w->runs));
	w->n = w->at = 0;
	if (!idle || w->l->limits->sample_ms) /* sample_ms 0: no run is sampled */
		runs_each(w->l, list_run, w);
	w->held = w->shared = 0;
	runs_each(w->l, add_run_as_holder, w);
	w->scan_needed = w->gpus_needed = w->some_guarded = false;
	w->cost_us = 0;
	w->asked = clock_us(CLOCK_MONOTONIC);
	w->quick = quick;
	w->idle = idle;
	if (w->n || idle) {
		w->under_way = true;
		w->phase = PHASE_CGROUPS;
		event_active(w->step, 0, 0);
		return true;
	}
	free(w->runs);
	w->runs = NULL;
	return false;
}

static void start_round(evutil_socket_t fd, short what, void *arg)
{
	struct usage_sampling *w = arg;

	(void)fd;
	(void)what;
	if (w->under_way) {
		set_round(w, RETRY_MS);
		return;
	}
	w->due = INT64_MAX;
	if (!begin_round(w, false, false))
		gpu_sampler_rest(w->sampler);
}

static void start_quick_round(evutil_socket_t fd, short what, void *arg)
{
	struct usage_sampling *w = arg;

	(void)fd;
	(void)what;
	if (w->under_way)
		set_timer(w->quick_timer, RETRY_MS);
	else if (!begin_round(w, true, false))
		w->l->hooks->gpus_sampled(w->l, clock_us(CLOCK_MONOTONIC));
}

static void start_idle_round(evutil_socket_t fd, short what, void *arg)
{
	struct usage_sampling *w = arg;

	(void)fd;
	(void)what;
	if (w->under_way)
		set_timer(w->idle_timer, RETRY_MS);
	else
		begin_round(w, false, true);
}

static void sample_come(evutil_socket_t fd, short what, void *arg)
{
	struct usage_sampling *w = arg;
	char trouble[sizeof(w->trouble)];

	(void)fd;
	(void)what;
	event_free(w->answer);
	w->answer = NULL;
	w->uses = gpu_sampler_take(w->sampler, trouble, sizeof(trouble));
	if (*trouble && strcmp(trouble, w->trouble) != 0)
		log_error("what the GPUs do cannot be sampled: %s", trouble);
	memcpy(w->trouble, trouble, sizeof(trouble));
	w->phase = PHASE_SCAN;
	event_active(w->step, 0, 0);
}

/* Request the memory of each slot that runs of this round hold. */
static int ask_memory(struct usage_sampling *w, struct error *err)
{
	char uuids[GPU_INDEX_MAX][GPUS_TEXT];
	uint32_t n = 0;
	uint64_t listed = 0;

	for (w->at = 0; w->at < w->n; w->at++) {
		const struct run *r = run_at(w);

		for (size_t i = 0; r && r->used && i < r->used->n_gpus; i++) {
			const struct used_gpu *gpu = &r->used->gpus[i];
			uint64_t bit = (uint64_t)1 << gpu->index;

			if (!(listed & bit))
				memcpy(uuids[n++], gpu->uuid, GPUS_TEXT);
			listed |= bit;
		}
	}
	w->at = 0;
	return gpu_sampler_ask_memory(w->sampler, (const char(*)[GPUS_TEXT])uuids, n, err);
}

/* True: the answer will come. */
static bool ask_gpus(struct usage_sampling *w)
{
	uint64_t ms = w->l->options->gpu_timeout_ms;
	struct error err;

	ms = ms ? ms : PROBE_TIMEOUT_MS;
	if (!w->gpus_needed && !w->idle)
		return false;
	gpu_sampler_leave_out(w->sampler, gpu_inventory_not_asked(w->l->gpu_inventory));
	if ((w->quick ? ask_memory(w, &err) : gpu_sampler_ask(w->sampler, &err)) < 0) {
		log_error("%s", err.text);
		return false;
	}
	w->answer = event_new(w->l->base, gpu_sampler_fd(w->sampler), EV_READ, sample_come, w);
	if (!w->answer)
		abort();
	set_timer(w->answer, ms);
	return true;
}

/* Call fn for each run of the list, until the slice is over. True: all are done. */
static bool each_run(struct usage_sampling *w, void (*fn)(struct usage_sampling *w), usec_t until)
{
	while (w->at < w->n) {
		fn(w);
		w->at++;
		if (clock_us(CLOCK_THREAD_CPUTIME_ID) >= until)
			return false;
	}
	w->at = 0;
	return true;
}

static bool scan_procs(struct usage_sampling *w, usec_t until)
{
	if (!w->scan_needed)
		return true;
	if (!w->scan)
		w->scan = process_scan_new();
	while (w->scan && process_scan_step(w->scan, SCAN_STEP)) {
		if (clock_us(CLOCK_THREAD_CPUTIME_ID) >= until)
			return false;
	}
	return true;
}

/* One slice. False: the next one is triggered by an event. */
static bool advance_round(struct usage_sampling *w, usec_t until)
{
	switch (w->phase) {
	case PHASE_CGROUPS:
		if (each_run(w, count_cgroups, until))
			w->phase = PHASE_GPUS;
		return true;
	case PHASE_GPUS:
		w->phase = PHASE_SCAN;
		return !ask_gpus(w);
	case PHASE_SCAN:
		if (scan_procs(w, until))
			w->phase = PHASE_RUNS;
		return true;
	case PHASE_RUNS:
		if (each_run(w, count_run, until))
			w->phase = PHASE_REPORT;
		return true;
	case PHASE_REPORT:
		if (!w->quick)
			report_runs(w);
		break;
	}
	return false;
}

static void run_slice(evutil_socket_t fd, short what, void *arg)
{
	struct usage_sampling *w = arg;
	usec_t before = clock_us(CLOCK_THREAD_CPUTIME_ID);
	bool more = advance_round(w, before + SLICE_US), last = w->phase == PHASE_REPORT && !more;

	(void)fd;
	(void)what;
	w->cost_us += (uint64_t)(clock_us(CLOCK_THREAD_CPUTIME_ID) - before);
	if (more)
		event_active(w->step, 0, 0);
	else if (last && w->quick)
		quick_round_over(w);
	else if (last)
		round_over(w);
}

/* --- the whole ------------------------------------------------------------------------------- */

struct usage_sampling *usage_sampling_new(struct launcher *l)
{
	struct usage_sampling *w = xcalloc(1, sizeof(*w));

	w->l = l;
	w->due = INT64_MAX;
	w->sampler = gpu_sampler_new();
	w->timer = evtimer_new(l->base, start_round, w);
	w->step = event_new(l->base, -1, 0, run_slice, w);
	w->quick_timer = evtimer_new(l->base, start_quick_round, w);
	w->idle_timer = evtimer_new(l->base, start_idle_round, w);
	if (!w->timer || !w->quick_timer || !w->idle_timer || !w->step)
		abort();
	return w;
}

void usage_sampling_free(struct usage_sampling *w)
{
	if (!w)
		return;
	event_end(w->answer);
	event_free(w->step);
	event_free(w->timer);
	event_free(w->quick_timer);
	event_free(w->idle_timer);
	gpu_sampler_free(w->sampler);
	process_scan_free(w->scan);
	free(w->runs);
	free(w);
}

void usage_sampling_started(struct launcher *l)
{
	struct usage_sampling *w = l->usage_sampling;
	uint64_t period = l->limits->sample_ms, wait;
	usec_t now = clock_us(CLOCK_MONOTONIC);

	if (w && !event_pending(w->quick_timer, EV_TIMEOUT, NULL))
		set_timer(w->quick_timer, quick_ms(l));
	if (!w || !period)
		return;
	w->pause_ms = FIRST_MS < period ? FIRST_MS : (unsigned)period;
	wait = w->pause_ms;
	if (w->not_before > now + (usec_t)wait * 1000)
		wait = (uint64_t)(w->not_before - now) / 1000;
	if (!w->under_way && now + (usec_t)wait * 1000 < w->due)
		set_round(w, wait);
}

void usage_sampling_allocated(struct launcher *l, uint64_t gpus)
{
	if (l->usage_sampling)
		add_holder(l->usage_sampling, gpus);
}

void usage_sampling_hurry(struct launcher *l)
{
	if (l->usage_sampling)
		set_timer(l->usage_sampling->quick_timer, 0);
}

void usage_sampling_period(struct launcher *l)
{
	if (!l->usage_sampling)
		return;
	if (l->usage_sampling->due > clock_us(CLOCK_MONOTONIC) && runs_count(l))
		usage_sampling_started(l);
	set_idle_timer(l->usage_sampling, 0);
}

void usage_sampling_gpus_changed(struct launcher *l)
{
	if (!l->usage_sampling)
		return;
	if (l->usage_sampling->under_way)
		l->usage_sampling->renew = true;
	else
		gpu_sampler_rest(l->usage_sampling->sampler);
	if (l->limits->idle_sample_ms && gpu_inventory_found(l->gpu_inventory))
		set_timer(l->usage_sampling->idle_timer, FIRST_MS);
}
