/* runs.c - see runs.h
 *
 * The records on tmpfs decide: news and the end of a shepherd are only reasons to read them.
 */
#include "config.h"

#include "noded/runs/runs.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "common/net/worker.h"
#include "noded/confine/mps_pool.h"
#include "noded/contain/contain.h"
#include "noded/contain/procs.h"
#include "noded/launcher/lost.h"
#include "noded/launcher/protocol.h"
#include "noded/launcher/start.h"
#include "noded/record/ctl.h"
#include "noded/record/record.h"
#include "noded/record/rundir.h"
#include "noded/runs/parts.h"
#include "noded/runs/places.h"
#include "noded/runs/sigcount.h"
#include "noded/usage/overmem.h"
#include "noded/watch/gpu_occupants.h"
#include "noded/watch/gpu_reclaim.h"
#include "noded/watch/run_usage.h"
#include "noded/watch/usage_loop.h"

#define FIND_MS       50   /* delay before an unknown shepherd is looked up again */
#define SYNC_MS       1000 /* an end that is not acknowledged in this time goes to disk */
#define SYNC_AGAIN_MS 5000 /* delay after that failed */
#define KEY_DISK      1

/* --- reports ---------------------------------------------------------------------------------- */

struct run_id run_id_of(const Gpusched__RunId *id)
{
	return (struct run_id){
		.job = id->job, .task = id->task, .attempt = id->attempt, .rank = id->rank
	};
}

Gpusched__RunReport *run_report_copy(const Gpusched__RunReport *r)
{
	size_t n = gpusched__run_report__get_packed_size(r);
	uint8_t *b = xcalloc(1, n + 1);
	Gpusched__RunReport *copy;

	gpusched__run_report__pack(r, b);
	copy = gpusched__run_report__unpack(NULL, n, b);
	free(b);
	if (!copy)
		abort(); /* our own bytes: there is no memory left */
	return copy;
}

Gpusched__RunReport *run_report_new(struct run_id id)
{
	Gpusched__RunReport r = GPUSCHED__RUN_REPORT__INIT;
	Gpusched__RunId run = GPUSCHED__RUN_ID__INIT;

	run.job = id.job;
	run.task = id.task;
	run.attempt = id.attempt;
	run.rank = id.rank;
	r.run = &run;
	return run_report_copy(&r);
}

void run_report_free(Gpusched__RunReport *r)
{
	if (r)
		gpusched__run_report__free_unpacked(r, NULL);
}

void run_report_set(char **field, const char *value)
{
	/* Unset strings of protobuf-c all point to one empty constant. */
	if (*field != protobuf_c_empty_string)
		free(*field);
	*field = xstrdup(value);
}

/* --- the table -------------------------------------------------------------------------------- */

struct runs {
	void *tree; /* of struct run, tsearch(3) */
	size_t n;
};

static int compare_runs(const void *a, const void *b)
{
	return run_id_order(&((const struct run *)a)->id, &((const struct run *)b)->id);
}

struct run *run_find(struct launcher *l, struct run_id id)
{
	struct run key = { .id = id };
	struct run **at = tfind(&key, &l->runs->tree, compare_runs);

	return at ? *at : NULL;
}

struct run *run_add(struct launcher *l, struct run_id id)
{
	struct run *r;

	if (l->runs->n >= RUNS_MAX) {
		log_error("order for a new run refused: %zu runs are not forgotten", l->runs->n);
		return NULL;
	}
	r = xcalloc(1, sizeof(*r));
	*r = (struct run){ .l = l, .id = id, .state = RUN_ASKED, .pidfd = -1 };
	record_id_format(id, r->name);
	tsearch(r, &l->runs->tree, compare_runs);
	l->runs->n++;
	return r;
}

void run_stop_following(struct run *r)
{
	if (r->life)
		event_free(r->life);
	if (r->pidfd >= 0)
		close(r->pidfd);
	r->life = NULL;
	r->pidfd = -1;
}

/* A copy of an exit record on disk. Owns itself; `run` NULL: forgotten meanwhile. */
struct run_sync {
	struct run *run;
	int exits;
	char name[RECORD_ID_MAX];
	Gpusched__RunReport *report;
	int result;
	struct error err;
};

static void run_free(void *node)
{
	struct run *r = node;

	if (r->sync)
		r->sync->run = NULL;
	start_cancel(r->start);
	run_stop_following(r);
	if (r->timer)
		event_free(r->timer);
	contain_free(r->leaf);
	run_report_free(r->report);
	run_usage_free(r->used);
	for (int k = 0; k < RUN_ORDER_KINDS; k++)
		free(r->waiting[k].bytes);
	free(r);
}

void run_remove(struct run *r)
{
	tdelete(r, &r->l->runs->tree, compare_runs);
	r->l->runs->n--;
	run_free(r);
}

struct runs *runs_new(void)
{
	return xcalloc(1, sizeof(struct runs));
}

void runs_free(struct runs *runs)
{
	if (runs)
		tdestroy(runs->tree, run_free);
	free(runs);
}

size_t runs_count(const struct launcher *l)
{
	return l->runs->n;
}

struct walk {
	void (*fn)(struct run *r, void *arg);
	void *arg;
};

static void visit_run(const void *node, VISIT visit, void *arg)
{
	struct walk *w = arg;

	if (visit == postorder || visit == leaf)
		w->fn(*(struct run *const *)node, w->arg);
}

void runs_each(struct launcher *l, void (*fn)(struct run *r, void *arg), void *arg)
{
	struct walk w = { fn, arg };

	twalk_r(l->runs->tree, visit_run, &w);
}

/* --- small things ----------------------------------------------------------------------------- */

int run_dir(const struct run *r, bool make)
{
	if (make && mkdirat(r->l->places->runs, r->name, 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(r->l->places->runs, r->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Bring the times in the report up to now. */
void run_refresh(struct run *r)
{
	usec_t now = launcher_clock_us(CLOCK_MONOTONIC);

	if ((r->state != RUN_RUNNING && r->state != RUN_LOST) || r->start_mono <= 0)
		return;
	r->report->elapsed_us = (uint64_t)(now - r->start_mono);
	r->report->suspended = r->suspended_mono > 0;
	r->report->suspended_us = r->suspended_us;
	if (r->suspended_mono > 0)
		r->report->suspended_us += (uint64_t)(now - r->suspended_mono);
}

void run_send_report(struct run *r)
{
	if (!r->report)
		return;
	run_refresh(r);
	protocol_send(r->l, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_RUN, &r->report->base);
}

static void timer_fired(evutil_socket_t fd, short what, void *arg);

void run_set_timer(struct run *r, unsigned ms)
{
	struct timeval t = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	if (!r->timer)
		r->timer = evtimer_new(r->l->base, timer_fired, r);
	evtimer_add(r->timer, &t);
}

struct removal {
	int parent;
	char name[RECORD_ID_MAX];
};

static void removal_run(void *arg)
{
	struct removal *m = arg;

	rundir_remove(m->parent, m->name);
}

static const struct worker_ops removal_ops = { removal_run, free, free };

static void remove_from(struct launcher *l, int parent, const char *name)
{
	struct removal *m;

	if (faccessat(parent, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	m = xcalloc(1, sizeof(*m));
	m->parent = parent;
	memcpy(m->name, name, strlen(name) + 1);
	if (!worker_submit(l->disk, KEY_DISK, &removal_ops, m, NULL))
		free(m); /* it will be found at the next start */
}

void run_remove_rundir(struct launcher *l, const char *name)
{
	remove_from(l, l->places->spool_runs, name);
	remove_from(l, l->places->private_dir, name);
}

/* --- over ------------------------------------------------------------------------------------- */

static void sync_run(void *arg)
{
	struct run_sync *s = arg;

	s->result = record_write(s->exits, s->name, &s->report->base, RECORD_SYNC, &s->err);
}

static void sync_free(void *arg)
{
	struct run_sync *s = arg;

	if (s->run)
		s->run->sync = NULL;
	run_report_free(s->report);
	free(s);
}

static void sync_done(void *arg)
{
	struct run_sync *s = arg;

	if (s->result < 0) {
		log_error("run %s: its end is only in memory: %s", s->name, s->err.text);
		if (s->run)
			run_set_timer(s->run, SYNC_AGAIN_MS);
	} else if (s->run)
		s->run->on_disk = true;
	else
		unlinkat(s->exits, s->name, 0);
	sync_free(s);
}

static const struct worker_ops sync_ops = { sync_run, sync_done, sync_free };

static void sync_start(struct run *r)
{
	struct run_sync *s = xcalloc(1, sizeof(*s));

	*s = (struct run_sync){
		.run = r, .exits = r->l->places->exits, .report = run_report_copy(r->report)
	};
	memcpy(s->name, r->name, sizeof(s->name));
	r->sync = s;
	if (!worker_submit(r->l->disk, KEY_DISK, &sync_ops, s, NULL)) {
		sync_free(s);
		run_set_timer(r, SYNC_MS);
	}
}

void run_over(struct run *r, Gpusched__RunReport *report, bool on_disk)
{
	uint64_t gpus = r->gpus;

	run_report_free(r->report);
	r->report = report;
	r->state = RUN_OVER;
	r->gpus = 0;
	launcher_sweep_later(r->l);
	gpu_occupants_freed(r->l, gpus);
	r->on_disk = on_disk;
	run_stop_following(r);
	if (r->mps)
		mps_pool_run_over(r->l);
	if (r->has_parts)
		gpu_reclaim_run_over(r->l);
	if (!on_disk)
		run_set_timer(r, SYNC_MS);
}

/* Write the exit record here, since there is no shepherd. The end is reported even if that fails:
 * it goes to the disk too. */
void run_write_exit(struct run *r, const Gpusched__RunReport *report)
{
	int dir = run_dir(r, true);
	struct error err;

	if (dir < 0)
		log_error("run %s: cannot make its record directory: %s", r->name, strerror(errno));
	else if (record_write(dir, RECORD_EXIT, &report->base, 0, &err) < 0)
		log_error("run %s: %s", r->name, err.text);
	if (dir >= 0)
		close(dir);
}

void run_never(struct run *r, const char *why, enum never never)
{
	Gpusched__RunReport *report =
	        r->report ? run_report_copy(r->report) : run_report_new(r->id);

	report->state = GPUSCHED__RUN_REPORT__STATE__NEVER;
	report->cause = GPUSCHED__END_CAUSE__CAUSE_LAUNCH;
	report->n_gpus = 0;
	run_report_set(&report->detail, why);
	report->signature_refused = never == NEVER_SIGNATURE;
	if (never == NEVER_NODE)
		run_report_set(&report->node_trouble, why);
	start_cancel(r->start);
	r->start = NULL;
	run_write_exit(r, report);
	log_info("run %s: never started: %s", r->name, why);
	run_over(r, report, false);
	run_send_report(r);
}

/* --- following shepherds ---------------------------------------------------------------------- */

static void shepherd_gone(evutil_socket_t fd, short what, void *arg)
{
	struct run *r = arg;

	(void)fd;
	(void)what;
	run_stop_following(r);
	if (run_poll(r) == 0 && (r->state == RUN_STARTING || r->state == RUN_RUNNING))
		lost_begin(r);
}

static void follow_pidfd(struct run *r, int pidfd)
{
	r->pidfd = pidfd;
	r->life = event_new(r->l->base, pidfd, EV_READ, shepherd_gone, r);
	event_add(r->life, NULL);
}

void run_started(struct run *r, Gpusched__RunReport *report, pid_t shepherd)
{
	int pidfd;

	run_report_free(r->report);
	r->report = report;
	r->state = RUN_STARTING;
	r->looks = 0;
	if (!shepherd)
		return;
	pidfd = (int)syscall(SYS_pidfd_open, shepherd, 0);
	if (pidfd >= 0)
		follow_pidfd(r, pidfd); /* our child, not reaped yet: the id is still its own */
	else
		run_set_timer(r, FIND_MS);
}

/* Does a process hold the lock of the launch record? -1: that cannot be determined now. Taking that
 * for "no" would give the GPUs of a living run to another run. */
static int has_shepherd(const struct run *r)
{
	int dir = run_dir(r, false);
	int fd = dir < 0 ? -1 : openat(dir, RECORD_LAUNCH, O_RDONLY | O_CLOEXEC);
	int has = fd < 0 && errno == ENOENT ? 0 : -1;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		has = 0;
	else if (fd >= 0 && errno == EWOULDBLOCK)
		has = 1;
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return has;
}

void run_forked(struct launcher *l, struct run_id id, pid_t shepherd)
{
	struct run *r = run_find(l, id);
	int pidfd, has;

	if (!r || r->pidfd >= 0 || (r->state != RUN_STARTING && r->state != RUN_RUNNING))
		return;
	/* The id is the shepherd's own if the shepherd is alive after this. */
	pidfd = shepherd ? (int)syscall(SYS_pidfd_open, shepherd, 0) : -1;
	has = has_shepherd(r);
	if (has > 0 && pidfd >= 0) {
		follow_pidfd(r, pidfd);
		return;
	}
	if (pidfd >= 0)
		close(pidfd);
	if (has == 0)
		shepherd_gone(-1, 0, r);
	else
		run_set_timer(r, FIND_MS);
}

void run_not_forked(struct launcher *l, struct run_id id, const char *why)
{
	struct run *r = run_find(l, id);

	if (!r || r->state != RUN_STARTING)
		return;
	run_take_back_use(r);
	run_remove_rundir(l, r->name);
	run_never(r, why, NEVER_NODE);
}

void run_follow(struct run *r, const struct proc *p)
{
	int pidfd = -1, has = has_shepherd(r);

	/* Check the lock first: a process id may still belong to the shepherd's zombie. */
	if (has == 0) {
		shepherd_gone(-1, 0, r);
		return;
	}
	if (has > 0 && p->pid > 0)
		pidfd = proc_open(*p);
	if (pidfd >= 0)
		follow_pidfd(r, pidfd);
	else
		run_set_timer(r, FIND_MS); /* it lives, but has not reported its process id */
}

int run_read(const struct run *r, const char *name, const ProtobufCMessageDescriptor *desc,
        ProtobufCMessage **m)
{
	int dir = run_dir(r, false), got;
	struct error err;

	if (dir < 0)
		return errno == ENOENT ? 0 : -1;
	got = record_read(dir, name, desc, m, &err);
	close(dir);
	if (got >= 0)
		return got;
	log_error("run %s: %s", r->name, err.text);
	return err.code == ERR_PROTOCOL ? 0 : -1;
}

/* STARTING: was the program executed meanwhile? Then the shepherd is known too. */
static int look_started(struct run *r)
{
	ProtobufCMessage *m;
	Gpusched__StartedRecord *s;
	struct proc p;
	int got = run_read(r, RECORD_STARTED, &gpusched__started_record__descriptor, &m);

	if (got <= 0)
		return got;
	s = (Gpusched__StartedRecord *)m;
	r->report->state = GPUSCHED__RUN_REPORT__STATE__RUNNING;
	r->report->start_time = s->start_time;
	r->start_mono = s->start_mono;
	p = (struct proc){ (pid_t)s->shepherd, s->shepherd_ticks };
	r->shepherd = p.pid;
	protobuf_c_message_free_unpacked(m, NULL);
	r->state = RUN_RUNNING;
	usage_loop_started(r->l);
	run_send_report(r);
	if (r->pidfd < 0 && !r->l->closing)
		run_follow(r, &p);
	return 0;
}

/* An earlier launcher has asked the run to give back memory; else our own state is newer. */
static void take_burst(struct run *r, const Gpusched__NotesRecord *n)
{
	if (r->used || r->burst_time || !n->burst_job)
		return;
	r->burst_job = n->burst_job;
	r->burst_time = n->burst_time;
}

/* RUNNING: has the program reported something new? */
static void look_at_notes(struct run *r)
{
	ProtobufCMessage *m;
	Gpusched__NotesRecord *n;

	if (run_read(r, RECORD_NOTES, &gpusched__notes_record__descriptor, &m) != 1)
		return;
	n = (Gpusched__NotesRecord *)m;
	take_burst(r, n);
	if (n->checkpoint_time != r->report->checkpoint_time ||
	        n->suspended_mono != r->suspended_mono || n->suspended_us != r->suspended_us ||
	        strcmp(n->progress, r->report->progress) != 0 ||
	        strcmp(n->trouble, r->report->node_trouble) != 0) {
		r->suspended_us = n->suspended_us;
		r->suspended_mono = n->suspended_mono;
		r->report->checkpoint_time = n->checkpoint_time;
		run_report_set(&r->report->progress, n->progress);
		if (*n->trouble) {
			log_error("run %s: %s", r->name, n->trouble);
			run_report_set(&r->report->detail, n->trouble);
			run_report_set(&r->report->node_trouble, n->trouble);
		}
		run_send_report(r);
	}
	protobuf_c_message_free_unpacked(m, NULL);
}

/* A launch that executed nothing does not count as a use of the signature. */
void run_take_back_use(struct run *r)
{
	ProtobufCMessage *m;
	Gpusched__LaunchRecord *launch;
	struct error err;

	if (run_read(r, RECORD_LAUNCH, &gpusched__launch_record__descriptor, &m) != 1)
		return;
	launch = (Gpusched__LaunchRecord *)m;
	if (launch->nonce.len == SIGCOUNT_NONCE_LEN && launch->report &&
	        sigcount_add(r->l->sigcount, launch->report->uid, launch->nonce.data, r->id.task,
	                launch->signed_at, -1, &err) < 0)
		log_warning("run %s: %s", r->name, err.text);
	protobuf_c_message_free_unpacked(m, NULL);
}

static int read_records(struct run *r)
{
	ProtobufCMessage *m;
	int got;

	/* Reported as RUNNING first, even if it has ended since. */
	if (r->state == RUN_STARTING && look_started(r) < 0)
		return -1;
	if (r->state != RUN_STARTING && r->state != RUN_RUNNING)
		return 0;
	got = run_read(r, RECORD_EXIT, &gpusched__run_report__descriptor, &m);
	if (got == 1) {
		FAILPOINT(launcher_before_told);
		if (end_is_launch((enum end_cause)((Gpusched__RunReport *)m)->cause))
			run_take_back_use(r);
		run_over(r, (Gpusched__RunReport *)m, false);
		run_send_report(r);
	} else if (got == 0 && r->state == RUN_RUNNING) {
		look_at_notes(r);
	}
	return got < 0 ? -1 : 0;
}

int run_poll(struct run *r)
{
	int rc = read_records(r);

	if (rc < 0)
		run_set_timer(r, FIND_MS);
	return rc;
}

static void send_waiting(struct run *r)
{
	int dir = -1;

	for (int k = 0; k < RUN_ORDER_KINDS; k++) {
		struct run_order_bytes *w = &r->waiting[k];

		if (!w->bytes)
			continue;
		if (dir < 0)
			dir = run_dir(r, false);
		if ((dir < 0 || ctl_send(dir, CTL_SOCKET, w->bytes, w->len) < 0) &&
		        !ctl_nobody(errno)) {
			run_set_timer(r, FIND_MS);
			break;
		}
		/* Sent; or no shepherd is there: its end is on the way, or the timer notices. */
		free(w->bytes);
		w->bytes = NULL;
	}
	if (dir >= 0)
		close(dir);
}

static void timer_fired(evutil_socket_t fd, short what, void *arg)
{
	struct run *r = arg;
	struct proc nobody = { 0 };

	(void)fd;
	(void)what;
	switch (r->state) {
	case RUN_LOST:
		lost_poll(r);
		break;
	case RUN_OVER:
		sync_start(r);
		break;
	case RUN_STARTING:
	case RUN_RUNNING:
		run_poll(r);
		send_waiting(r);
		if (r->pidfd < 0 && (r->state == RUN_STARTING || r->state == RUN_RUNNING))
			run_follow(r, &nobody);
		break;
	default:
		break;
	}
}

/* --- orders ----------------------------------------------------------------------------------- */

/* False: the order is of a controller that is no longer in charge. */
static bool epoch_counts(struct launcher *l, uint64_t epoch, struct run_id id, const char *what)
{
	if (epoch < l->places->max_epoch) {
		char name[RECORD_ID_MAX];

		record_id_format(id, name);
		log_warning("%s of run %s ignored: its epoch %llu is below %llu", what, name,
		        (unsigned long long)epoch, (unsigned long long)l->places->max_epoch);
		return false;
	}
	places_saw_epoch(l, epoch);
	return true;
}

static void pass_on(
        struct run *r, enum run_order_kind kind, unsigned type, const ProtobufCMessage *m)
{
	struct run_order_bytes *w = &r->waiting[kind];
	uint8_t b[CTL_MAX];
	int len = ctl_pack(type, m, b);

	if (len < 0) {
		log_warning("run %s: order not passed on: its strings are too long", r->name);
		return;
	}
	free(w->bytes);
	*w = (struct run_order_bytes){ xmemdup(b, (size_t)len), (size_t)len };
	send_waiting(r);
}

/* The node itself ends the run, at once. */
static void end_it(struct run *r, Gpusched__EndCause cause, const char *text)
{
	Gpusched__EndRun end = GPUSCHED__END_RUN__INIT;
	Gpusched__RunId id = *r->report->run;

	end.run = &id;
	end.cause = cause;
	end.detail = (char *)(uintptr_t)text;
	pass_on(r, RUN_ORDER_END, GPUSCHED__MSG_TYPE__MSG_END_RUN, &end.base);
}

void run_spool_full(struct run *r, const char *text)
{
	end_it(r, GPUSCHED__END_CAUSE__CAUSE_SPOOL, text);
}

void run_over_memory(struct run *r, enum overmem_policy policy, const char *text)
{
	Gpusched__RunNote note = GPUSCHED__RUN_NOTE__INIT;

	if (policy == OVERMEM_END) {
		end_it(r, GPUSCHED__END_CAUSE__CAUSE_GPU_MEMORY, text);
		return;
	}
	note.text = (char *)(uintptr_t)text;
	note.tell = policy == OVERMEM_WARN;
	pass_on(r, RUN_ORDER_NOTE, CTL_NOTE, &note.base);
	run_report_set(&r->report->detail, text);
	run_send_report(r);
}

void run_give_back(struct run *r, const Gpusched__EndRun *order)
{
	pass_on(r, RUN_ORDER_GIVE_BACK, GPUSCHED__MSG_TYPE__MSG_END_RUN, &order->base);
	run_report_set(&r->report->detail, order->detail);
	run_send_report(r);
}

void run_end(struct launcher *l, const Gpusched__EndRun *order)
{
	struct run_id id = run_id_of(order->run);
	struct run *r = run_find(l, id);

	if (!epoch_counts(l, order->epoch, id, "end"))
		return;
	if (!r && !(r = run_add(l, id)))
		return;
	switch (r->state) {
	case RUN_ASKED:
		run_never(r, "it was ended before it was started", NEVER_RUN);
		break;
	case RUN_STARTING:
	case RUN_RUNNING:
		pass_on(r, RUN_ORDER_END, GPUSCHED__MSG_TYPE__MSG_END_RUN, &order->base);
		break;
	case RUN_LOST:
		break;
	case RUN_OVER:
		run_send_report(r);
		break;
	}
}

void run_signal(struct launcher *l, const Gpusched__SignalRun *order)
{
	struct run_id id = run_id_of(order->run);
	struct run *r = run_find(l, id);

	if (!epoch_counts(l, order->epoch, id, "signal"))
		return;
	if (r && (r->state == RUN_STARTING || r->state == RUN_RUNNING))
		pass_on(r, RUN_ORDER_SIGNAL, GPUSCHED__MSG_TYPE__MSG_SIGNAL_RUN, &order->base);
}

void run_suspend(struct launcher *l, const Gpusched__SuspendRun *order)
{
	struct run_id id = run_id_of(order->run);
	struct run *r = run_find(l, id);

	if (!epoch_counts(l, order->epoch, id, order->suspend ? "suspension" : "resumption"))
		return;
	if (r && (r->state == RUN_STARTING || r->state == RUN_RUNNING))
		pass_on(r, RUN_ORDER_SUSPEND, GPUSCHED__MSG_TYPE__MSG_SUSPEND_RUN, &order->base);
}

/* Remove the known records first, and only if others are left, the files of a killed process. */
static void remove_records(const struct run *r)
{
	static const char *const names[] = { RECORD_LAUNCH, RECORD_STARTED, RECORD_EXIT,
		RECORD_USED, RECORD_NOTES, RECORD_AFTER, CTL_SOCKET, RECORD_AFTER ".tmp",
		RECORD_LAUNCH ".tmp", RECORD_STARTED ".tmp", RECORD_EXIT ".tmp",
		RECORD_NOTES ".tmp", RECORD_USED ".tmp" };
	const size_t usual = 3, all = sizeof(names) / sizeof(names[0]);
	int dir = run_dir(r, false);
	bool gone = dir < 0;

	for (size_t i = 0; i < all && !gone; i++) {
		unlinkat(dir, names[i], 0);
		if (i + 1 == usual || i + 1 == all)
			gone = unlinkat(r->l->places->runs, r->name, AT_REMOVEDIR) == 0;
	}
	if (dir >= 0)
		close(dir);
}

void run_forget(struct launcher *l, struct run_id id)
{
	struct run *r = run_find(l, id);

	if (!r || r->state != RUN_OVER)
		return;
	places_forget_job(l, id.job);
	remove_records(r);
	if (r->on_disk)
		unlinkat(l->places->exits, r->name, 0);
	run_remove(r);
}
