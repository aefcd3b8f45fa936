/* run_life.c - see run_life.h
 *
 * The records on tmpfs decide: news and the end of a shepherd are only reasons to read them.
 */
#include "config.h"

#include "noded/runs/run_life.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/failpoint.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "noded/contain/procs.h"
#include "noded/record/record.h"
#include "noded/runs/epochs.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/replica_status.h"
#include "noded/runs/run_orders.h"
#include "noded/runs/run_records.h"
#include "noded/runs/run_report.h"

#define FIND_MS 50   /* delay before an unknown shepherd is looked up again */
#define SYNC_MS 1000 /* an end that is not acknowledged in this time goes to disk */

/* --- over ------------------------------------------------------------------------------------- */

void run_over(struct run *r, Gpusched__RunReport *report, bool on_disk)
{
	uint64_t gpus = r->gpus;

	run_report_free(r->report);
	r->report = report;
	r->state = RUN_OVER;
	r->gpus = 0;
	launcher_sweep_later(r->l);
	r->on_disk = on_disk;
	run_stop_following(r);
	r->l->hooks->run_over(r, gpus);
	if (!on_disk)
		run_set_timer(r, SYNC_MS);
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
	r->l->hooks->start_cancelled(r);
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
		r->l->hooks->run_lost(r);
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
	fd_close(fd);
	fd_close(dir);
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
	fd_close(pidfd);
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

/* STARTING: was the program executed meanwhile? Then the shepherd is known too. */
static int read_started(struct run *r)
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
	r->l->hooks->run_executed(r);
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
static void read_notes(struct run *r)
{
	ProtobufCMessage *m;
	Gpusched__NotesRecord *n;
	bool changed;

	if (run_read(r, RECORD_NOTES, &gpusched__notes_record__descriptor, &m) != 1)
		return;
	n = (Gpusched__NotesRecord *)m;
	take_burst(r, n);
	changed = replicas_take(r, n);
	if (changed || n->checkpoint_time != r->report->checkpoint_time ||
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

static int read_records(struct run *r)
{
	ProtobufCMessage *m;
	int got;

	/* Reported as RUNNING first, even if it has ended since. */
	if (r->state == RUN_STARTING && read_started(r) < 0)
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
		read_notes(r);
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

void run_due(struct run *r)
{
	struct proc nobody = { 0 };

	switch (r->state) {
	case RUN_LOST:
		r->l->hooks->run_lost_due(r);
		break;
	case RUN_OVER:
		run_copy_to_disk(r);
		break;
	case RUN_STARTING:
	case RUN_RUNNING:
		run_poll(r);
		run_send_waiting(r);
		if (r->pidfd < 0 && (r->state == RUN_STARTING || r->state == RUN_RUNNING))
			run_follow(r, &nobody);
		break;
	default:
		break;
	}
}

/* --- orders of the controller ----------------------------------------------------------------- */

void run_end(struct launcher *l, const Gpusched__EndRun *order)
{
	struct run_id id = run_id_of(order->run);
	struct run *r = run_find(l, id);

	if (!r && !(r = run_add(l, id)))
		return;
	switch (r->state) {
	case RUN_ASKED:
		run_never(r, "it was ended before it was started", NEVER_RUN);
		break;
	case RUN_STARTING:
	case RUN_RUNNING:
		run_pass_on(r, RUN_ORDER_END, GPUSCHED__MSG_TYPE__MSG_END_RUN, &order->base);
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

	if (r && (r->state == RUN_STARTING || r->state == RUN_RUNNING))
		run_pass_on(r, RUN_ORDER_SIGNAL, GPUSCHED__MSG_TYPE__MSG_SIGNAL_RUN, &order->base);
}

void run_suspend(struct launcher *l, const Gpusched__SuspendRun *order)
{
	struct run_id id = run_id_of(order->run);
	struct run *r = run_find(l, id);

	if (r && (r->state == RUN_STARTING || r->state == RUN_RUNNING))
		run_pass_on(
		        r, RUN_ORDER_SUSPEND, GPUSCHED__MSG_TYPE__MSG_SUSPEND_RUN, &order->base);
}

void run_forget(struct launcher *l, struct run_id id)
{
	struct run *r = run_find(l, id);

	if (!r || r->state != RUN_OVER)
		return;
	epochs_forget_job(l, id.job);
	run_remove_records(r);
	if (r->on_disk)
		unlinkat(l->dirs->exits, r->name, 0);
	run_remove(r);
}
