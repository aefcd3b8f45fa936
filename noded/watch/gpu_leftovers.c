/* gpu_leftovers.c - see gpu_leftovers.h
 *
 * A sampler of our own (gpu/sampler_watchdog.h) is queried for a run's GPUs before each start and
 * after each end, and for a GPU when the controller wants it examined. A caller waits for a sample
 * that was requested after its call, so at most for two. A process counts as left on a GPU if it is
 * there LEFT_MS after it should have gone, since ending takes time. The sampler lives for REST_S
 * after a query.
 */
#include "config.h"

#include "noded/watch/gpu_leftovers.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpu/gpufault.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "common/net/event_end.h"
#include "noded/confine/mps_pool.h"
#include "noded/contain/procs.h"
#include "noded/gpu/gpus.h"
#include "noded/gpu/nvml_usage.h"
#include "noded/gpu/probe_watchdog.h"
#include "noded/gpu/sampler_watchdog.h"
#include "noded/record/record.h"
#include "noded/runs/launcher_options.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/run_records.h"
#include "noded/runs/runs.h"
#include "noded/watch/gpu_faults.h"
#include "noded/watch/gpu_inventory.h"

#define LEFT_MS      2000 /* a process may take this long to end */
#define ASK_AGAIN_MS 200
#define REST_S       60 /* after this time without a query the sampler closes the driver */
#define TEXT_MAX     200

/* A caller that must know that no process is left on these GPUs. */
struct gpu_waiter {
	struct waiting_start base; /* fn NULL: processes that are found are only reported */
	usec_t need;        /* mono: the sample must be at least this recent */
	size_t n;
	char uuids[GPU_INDEX_MAX][GPUS_TEXT];
};

struct gpu_leftovers {
	struct launcher *l;
	char index[GPU_INDEX_MAX][GPUS_TEXT]; /* UUIDs by the controller's index, as ordered */
	struct gpu_sampler *sampler;
	struct event *answer, *again, *rest; /* answer: NULL: no query is pending */
	usec_t asked, sampled; /* mono: the query; the time of the last sample, 0 none */
	const struct gpu_uses *uses;
	bool renew; /* the GPUs have changed since the query */
	struct waiting_starts waiters;
};

static void set_timer(struct event *e, unsigned ms)
{
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	evtimer_add(e, &tv);
}

static void set_text(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%.*s", (int)size - 1, text);
}

/* --- processes on a free GPU ----------------------------------------------------------------- */

struct holder {
	uint64_t gpus;
	const pid_t pid;
	bool is; /* pid is a shepherd */
};

static void add_held(struct run *r, void *arg)
{
	((struct holder *)arg)->gpus |= r->state == RUN_OVER ? 0 : r->gpus;
}

static void is_shepherd(struct run *r, void *arg)
{
	struct holder *h = arg;

	h->is |= r->state != RUN_OVER && r->shepherd == h->pid;
}

static bool is_held(const struct gpu_leftovers *f, const char *uuid)
{
	struct holder held = { 0 };

	runs_each(f->l, add_held, &held);
	for (unsigned i = 0; i < GPU_INDEX_MAX; i++) {
		if (held.gpus >> i & 1 && !strcmp(f->index[i], uuid))
			return true;
	}
	return false;
}

/* Name, owner and parent of a process; false: it is not on this system. */
static bool read_process(pid_t pid, char name[64], uid_t *uid, pid_t *parent)
{
	struct proc_stat stat_line;
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld", (long)pid);
	if (stat(path, &st) < 0 || proc_stat(pid, &stat_line) < 0)
		return false;
	snprintf(name, 64, "%s", stat_line.name);
	for (char *p = name; *p; p++)
		*p = (unsigned char)*p < ' ' || (unsigned char)*p > '~' ? '?' : *p;
	*uid = st.st_uid;
	*parent = stat_line.ppid;
	return true;
}

/* Is it a descendant of a run's shepherd? */
static bool is_of_run(const struct gpu_leftovers *f, pid_t pid)
{
	char name[64];
	uid_t uid;

	for (int depth = 0; depth < 64 && pid > 1; depth++) {
		struct holder h = { .pid = pid };

		runs_each(f->l, is_shepherd, &h);
		if (h.is)
			return true;
		if (!read_process(pid, name, &uid, &pid))
			return false;
	}
	return false;
}

/* The owner's MPS and its clients, which end when no run needs them any more (mps_pool.c). */
static bool is_of_mps(const struct gpu_leftovers *f, uid_t uid, const char *uuid)
{
	for (unsigned i = 0; i < GPU_INDEX_MAX; i++) {
		if (!strcmp(f->index[i], uuid) && mps_pool_has(f->l, uid, i))
			return true;
	}
	return false;
}

/* Name a process that should not be on the GPU; "": there is none. Processes that are not visible
 * here belong to another container and are not considered. */
static void find_left(const struct gpu_leftovers *f, const char *uuid, char text[TEXT_MAX])
{
	const struct gpu_use *use = NULL;
	char name[64];
	pid_t parent;
	uid_t uid;

	text[0] = '\0';
	for (uint32_t i = 0; f->uses && i < f->uses->n && !use; i++) {
		if (!strcmp(f->uses->v[i].uuid, uuid))
			use = &f->uses->v[i];
	}
	for (uint32_t i = 0; use && i < use->n_procs && !*text; i++) {
		pid_t pid = (pid_t)use->procs[i].pid;

		if (pid > 1 && read_process(pid, name, &uid, &parent) && !is_of_run(f, pid) &&
		        !is_of_mps(f, uid, uuid))
			snprintf(text, TEXT_MAX, "process %ld (%s, uid %u) left on it", (long)pid,
			        name, (unsigned)uid);
	}
}

static void ask_sampler(struct gpu_leftovers *f);

/* Answer a waiter from the last sample. True: it has its answer and was removed. */
static bool serve_waiter(struct gpu_leftovers *f, struct gpu_waiter *w)
{
	char left[TEXT_MAX], text[2 * TEXT_MAX] = "";
	bool wait = f->sampled < w->need,
	     late = clock_us(CLOCK_MONOTONIC) - w->base.since >= LEFT_MS * 1000;

	for (size_t i = 0; i < w->n && !wait; i++) {
		bool held = !w->base.fn && is_held(f, w->uuids[i]);

		find_left(f, w->uuids[i], left);
		if (*left && !held && !late) {
			w->need = clock_us(CLOCK_MONOTONIC) + ASK_AGAIN_MS * 1000;
			wait = true;
			break;
		}
		if (f->uses)
			gpu_faults_condition(
			        f->l, w->uuids[i], GPU_FAULT_PROCESS, *left && !held, left);
		if (*left && !held)
			snprintf(text, sizeof(text), "GPU %s: %s", w->uuids[i], left);
	}
	if (wait)
		return false;
	if (w->base.fn)
		waiting_start_answer(&w->base, *text ? text : NULL);
	else
		free(w);
	return true;
}

/* Query as soon as the first of the waiters needs it. */
static void ask_sampler_later(struct gpu_leftovers *f)
{
	usec_t now = clock_us(CLOCK_MONOTONIC), need = INT64_MAX;

	for (const struct waiting_start *w = f->waiters.first; w; w = w->next) {
		const struct gpu_waiter *g = (const struct gpu_waiter *)w;

		need = g->need < need ? g->need : need;
	}
	set_timer(f->again, need > now ? (unsigned)((need - now) / 1000 + 1) : 0);
}

/* Answer all waiters. A callback may add new ones, which come at the end of the list. */
static void serve_waiters(struct gpu_leftovers *f)
{
	struct waiting_starts all = f->waiters;

	f->waiters.first = NULL;
	while (all.first) {
		struct waiting_start *w = waiting_starts_take(&all.first);

		if (!serve_waiter(f, (struct gpu_waiter *)w))
			waiting_starts_put(&f->waiters, w);
	}
	if (f->waiters.first && !f->answer)
		ask_sampler_later(f);
}

/* The GPUs cannot be sampled: nothing is known, and no start is refused for that. */
static void give_up_sampling(struct gpu_leftovers *f)
{
	f->uses = NULL;
	f->sampled = INT64_MAX;
	serve_waiters(f);
	f->sampled = 0;
}

/* The GPUs have changed since the sampler was started. */
static void forget_sample(struct gpu_leftovers *f)
{
	f->renew = false;
	f->uses = NULL;
	f->sampled = 0;
	gpu_sampler_rest(f->sampler);
}

static void sample_come(evutil_socket_t fd, short what, void *arg)
{
	struct gpu_leftovers *f = arg;
	char trouble[160];

	(void)fd;
	(void)what;
	event_free(f->answer);
	f->answer = NULL;
	f->uses = gpu_sampler_take(f->sampler, trouble, sizeof(trouble));
	if (f->uses && !f->renew) {
		f->sampled = f->asked;
		serve_waiters(f);
		return;
	}
	if (f->renew) {
		forget_sample(f);
		ask_sampler(f);
		return;
	}
	if (*trouble)
		log_error("who is on the GPUs cannot be asked: %s", trouble);
	give_up_sampling(f);
	if (*trouble)
		gpu_inventory_probe(f->l); /* a probe finds the GPU that hangs */
}

static void ask_sampler(struct gpu_leftovers *f)
{
	uint64_t ms = f->l->options->gpu_timeout_ms;
	struct error err;

	if (f->answer)
		return;
	evtimer_del(f->again);
	gpu_sampler_leave_out(f->sampler, gpu_inventory_not_asked(f->l->gpu_inventory));
	if (gpu_sampler_ask(f->sampler, &err) < 0) {
		log_error("%s", err.text);
		give_up_sampling(f);
		return;
	}
	f->asked = clock_us(CLOCK_MONOTONIC);
	f->answer = event_new(f->l->base, gpu_sampler_fd(f->sampler), EV_READ, sample_come, f);
	if (!f->answer)
		abort();
	set_timer(f->answer, (unsigned)(ms ? ms : PROBE_TIMEOUT_MS));
	set_timer(f->rest, REST_S * 1000);
}

static void query_due(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	ask_sampler(arg);
}

static void rest_due(evutil_socket_t fd, short what, void *arg)
{
	struct gpu_leftovers *f = arg;

	(void)fd;
	(void)what;
	if (!f->answer && !f->waiters.first)
		forget_sample(f);
}

static struct gpu_waiter *waiter_new(struct gpu_leftovers *f, waiting_start_fn *fn, void *arg)
{
	struct gpu_waiter *w = waiting_starts_add(&f->waiters, sizeof(*w), NULL, fn, arg);

	w->need = w->base.since;
	return w;
}

static void add_gpu(struct gpu_waiter *w, const char *uuid)
{
	if (w->n < GPU_INDEX_MAX)
		set_text(w->uuids[w->n++], GPUS_TEXT, uuid);
}

/* A sample for the waiters is under way from now on; one that waits for no GPU is answered by it.
 */
static void ask_for_waiters(struct gpu_leftovers *f)
{
	if (!f->answer)
		ask_sampler(f);
}

void gpu_leftovers_wait(
        struct launcher *l, const Gpusched__StartRun *order, waiting_start_fn *fn, void *arg)
{
	struct gpu_leftovers *f = l->gpu_leftovers;
	struct gpu_waiter wanted = { .n = 0 }, *w;

	if (!f || gpu_inventory_now(l->gpu_inventory)->state != GPUS_FOUND || !order->n_gpu_uuids ||
	        order->n_gpu_uuids != order->n_gpus) {
		fn(NULL, arg);
		return;
	}
	for (size_t i = 0; i < order->n_gpu_uuids; i++) {
		const char *uuid = order->gpu_uuids[i];

		if (order->gpus[i] < GPU_INDEX_MAX)
			set_text(f->index[order->gpus[i]], GPUS_TEXT, uuid);
		/* another run has a part of it, and its processes belong there */
		if (!is_held(f, uuid))
			add_gpu(&wanted, uuid);
	}
	if (!wanted.n) {
		fn(NULL, arg);
		return;
	}
	w = waiter_new(f, fn, arg);
	w->n = wanted.n;
	memcpy(w->uuids, wanted.uuids, sizeof(w->uuids));
	ask_for_waiters(f);
}

void gpu_leftovers_freed(struct launcher *l, uint64_t gpus)
{
	struct gpu_leftovers *f = l->gpu_leftovers;
	struct gpu_waiter *w = NULL;

	if (!f || gpu_inventory_now(l->gpu_inventory)->state != GPUS_FOUND)
		return;
	for (unsigned i = 0; i < GPU_INDEX_MAX; i++) {
		if (!(gpus >> i & 1) || !*f->index[i])
			continue;
		w = w ? w : waiter_new(f, NULL, NULL);
		add_gpu(w, f->index[i]);
	}
	if (w)
		ask_for_waiters(f);
}

void gpu_leftovers_check(
        struct launcher *l, char (*uuids)[GPUS_TEXT], size_t n, waiting_start_fn *fn, void *arg)
{
	struct gpu_leftovers *f = l->gpu_leftovers;
	struct gpu_waiter *w = waiter_new(f, fn, arg);

	for (size_t i = 0; i < n; i++) {
		if (!is_held(f, uuids[i]))
			add_gpu(w, uuids[i]);
	}
	ask_for_waiters(f);
}

void gpu_leftovers_gpus_changed(struct launcher *l)
{
	if (!l->gpu_leftovers)
		return;
	l->gpu_leftovers->renew = l->gpu_leftovers->answer != NULL;
	if (!l->gpu_leftovers->renew)
		forget_sample(l->gpu_leftovers);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* For a run of an earlier launcher: which GPU each index of it is. */
static void learn_gpus(struct run *r, void *arg)
{
	struct gpu_leftovers *f = arg;
	const Gpusched__LaunchRecord *launch;
	ProtobufCMessage *m = NULL;

	if (r->state == RUN_OVER || !r->gpus ||
	        run_read(r, RECORD_LAUNCH, &gpusched__launch_record__descriptor, &m) != 1)
		return;
	launch = (const Gpusched__LaunchRecord *)m;
	for (size_t i = 0; launch->report && i < launch->n_gpu_uuids && i < launch->report->n_gpus;
	        i++) {
		if (launch->report->gpus[i] < GPU_INDEX_MAX)
			set_text(
			        f->index[launch->report->gpus[i]], GPUS_TEXT, launch->gpu_uuids[i]);
	}
	protobuf_c_message_free_unpacked(m, NULL);
}

struct gpu_leftovers *gpu_leftovers_new(struct launcher *l)
{
	struct gpu_leftovers *f = xcalloc(1, sizeof(*f));

	f->l = l;
	f->sampler = gpu_sampler_new();
	f->again = evtimer_new(l->base, query_due, f);
	f->rest = evtimer_new(l->base, rest_due, f);
	if (!f->again || !f->rest)
		abort();
	runs_each(l, learn_gpus, f);
	return f;
}

void gpu_leftovers_free(struct gpu_leftovers *f)
{
	if (!f)
		return;
	waiting_starts_clear(&f->waiters);
	event_end(f->answer);
	event_free(f->again);
	event_free(f->rest);
	gpu_sampler_free(f->sampler);
	free(f);
}
