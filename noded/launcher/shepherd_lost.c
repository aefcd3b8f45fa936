/* shepherd_lost.c - see shepherd_lost.h
 *
 * What is left of the run is killed. Then another shepherd runs the site's programs that come after
 * a run (site_program_tasks.h), as often as necessary.
 */
#include "config.h"

#include "noded/launcher/shepherd_lost.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "common/job/runused.h"
#include "noded/confine/containment_active.h"
#include "noded/contain/cgroup_limits.h"
#include "noded/contain/process_tracking.h"
#include "noded/contain/signals.h"
#include "noded/exec/site_program_allowed.h"
#include "noded/record/checker_facts.h"
#include "noded/record/inherit.h"
#include "noded/record/record.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_options.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/run_life.h"
#include "noded/runs/run_records.h"
#include "noded/runs/run_report.h"
#include "noded/runs/spawn.h"
#include "noded/watch/run_usage.h"

#define LOST_MS     5    /* delay of the next check after KILL: doubled each time, */
#define LOST_MS_MAX 1000 /* up to this */

/* Add the result of the programs after the run. */
static void add_after(const struct run *r, Gpusched__RunReport *report)
{
	ProtobufCMessage *m;

	if (run_read(r, RECORD_AFTER, &gpusched__after_record__descriptor, &m) != 1)
		return;
	run_report_set(&report->node_trouble, ((Gpusched__AfterRecord *)m)->node_trouble);
	protobuf_c_message_free_unpacked(m, NULL);
}

/* Add what it used, as far as that was sampled. */
static void add_used(Gpusched__RunReport *report, const struct run_used *used)
{
	if (!used)
		return;
	/* Allocated as by protobuf-c: it is freed with the report. */
	free(report->used);
	report->used = xcalloc(1, sizeof(*report->used));
	run_used_to_message(used, report->used);
	report->cpu_time_us = used->cpu_time_us;
}

/* Is the run of an older incarnation? If its record is torn that is not known. */
static bool is_of_older(const struct run *r)
{
	const char *own = r->report->incarnation;

	return strcmp(own, r->l->dirs->incarnation) != 0 && (*own || r->l->dirs->fresh);
}

static void finish_lost(struct run *r)
{
	Gpusched__RunReport *report;
	ProtobufCMessage *launch;

	run_refresh(r);
	report = run_report_copy(r->report);
	report->suspended = false;
	run_report_set(&report->progress, "");
	add_used(report, run_usage_of(r));
	report->state = GPUSCHED__RUN_REPORT__STATE__ENDED;
	report->cause = is_of_older(r) ? GPUSCHED__END_CAUSE__CAUSE_NODE_FAIL
	                               : GPUSCHED__END_CAUSE__CAUSE_LOST;
	report->end_time = clock_us(CLOCK_REALTIME);
	add_after(r, report);
	run_report_set(&report->detail,
	        report->cause == GPUSCHED__END_CAUSE__CAUSE_NODE_FAIL
	                ? "the node was restarted under it"
	                : "its shepherd was killed; how the program ended is not known");
	if (r->leaf) {
		char *leaf = contain_root_leaf(r->l->containment->root, r->name);

		cgroup_limits_root_remove(contain_root_limits(r->l->containment->root), leaf);
		contain_remove(r->leaf);
		free(leaf);
	}
	contain_free(r->leaf);
	r->leaf = NULL;
	if (run_read(r, RECORD_LAUNCH, &gpusched__launch_record__descriptor, &launch) == 1) {
		checker_facts_gone((Gpusched__LaunchRecord *)launch);
		protobuf_c_message_free_unpacked(launch, NULL);
	}
	run_write_exit(r, report);
	run_remove_rundir(r->l, r->name);
	run_over(r, report, false);
	run_send_report(r);
}

/* Kill the owner's processes that carry the run's directory in their environment. True: there were
 * none. */
static bool kill_marked(const struct run *r)
{
	char *mark = xasprintf("GPUSCHED_RUN_DIR=%s/%s", r->l->dirs->spool_runs_path, r->name);
	bool none = procs_kill_marked(mark, r->uid);

	free(mark);
	return none;
}

/* Open the run's leaf, or that of the site's programs. False: whether it exists is not known
 * now. */
static bool find_leaf(const struct run *r, const char *of, struct contain **c)
{
	char *leaf = contain_root_leaf(r->l->containment->root, r->name),
	     *path = xasprintf("%s%s", leaf, of);
	bool known = true;

	*c = NULL;
	if (*leaf) {
		*c = contain_open(path, NULL);
		known = *c || errno == ENOENT;
	}
	free(path);
	free(leaf);
	return known;
}

/* Kill what the site's programs have left in their leaf. True: it was empty. */
static bool clear_site_leaf(const struct run *r)
{
	struct contain *c;
	bool empty = find_leaf(r, PROGRAM_LEAF, &c) && (!c || contain_is_empty(c));

	if (c && !empty)
		contain_kill(c);
	else if (c)
		contain_remove(c);
	contain_free(c);
	return empty;
}

/* Are there programs to run after the run that have not been completed? If that is not known now:
 * yes. */
static bool after_is_due(const struct run *r)
{
	ProtobufCMessage *m;
	int got = run_read(r, RECORD_AFTER, &gpusched__after_record__descriptor, &m);
	bool due;

	if (got == 1)
		protobuf_c_message_free_unpacked(m, NULL);
	if (got != 0)
		return got < 0;
	got = run_read(r, RECORD_LAUNCH, &gpusched__launch_record__descriptor, &m);
	if (got != 1)
		return got < 0;
	due = program_any_after((Gpusched__LaunchRecord *)m);
	protobuf_c_message_free_unpacked(m, NULL);
	return due;
}

static void poll_later(struct run *r)
{
	unsigned ms = LOST_MS << (r->looks < 8 ? r->looks : 8);

	r->looks++;
	run_set_timer(r, ms < LOST_MS_MAX ? ms : LOST_MS_MAX);
}

static void after_gone(evutil_socket_t fd, short what, void *arg)
{
	struct run *r = arg;

	(void)fd;
	(void)what;
	run_stop_following(r);
	if (after_is_due(r)) /* it was killed too */
		poll_later(r);
	else
		lost_poll(r);
}

/* Another shepherd does it, holding the record's lock as the first did, so two never run at
 * once. */
static void start_after(struct run *r)
{
	char *path = xasprintf("%s/%s", r->l->dirs->runs_path, r->name);
	char name[] = "gshepherd", again[] = SHEPHERD_AGAIN, *argv[] = { name, path, again, NULL };
	int dir = run_dir(r, false);
	int fd = dir < 0 ? -1 : openat(dir, RECORD_LAUNCH, O_RDONLY | O_CLOEXEC), pidfd = -1;
	struct error err;
	pid_t pid;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		if (spawn_program(r->l->options->shepherd, argv, &fd, 1, &pid, &err) == 0)
			pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		else
			log_error("run %s: %s", r->name, err.text);
	}
	fd_close(fd);
	fd_close(dir);
	free(path);
	if (pidfd < 0)
		return;
	r->pidfd = pidfd;
	r->life = event_new(r->l->base, pidfd, EV_READ, after_gone, r);
	event_add(r->life, NULL);
}

void lost_poll(struct run *r)
{
	bool empty;

	if (r->pidfd >= 0) /* the programs after the run are in progress */
		return;
	if (!r->leaf && !find_leaf(r, "", &r->leaf)) {
		poll_later(r);
		return;
	}
	if (r->leaf) {
		empty = contain_is_empty(r->leaf);
		if (!empty)
			contain_kill(r->leaf);
	} else {
		empty = kill_marked(r);
	}
	empty = clear_site_leaf(r) && empty;
	if (empty && !after_is_due(r)) {
		finish_lost(r);
		return;
	}
	if (empty)
		start_after(r);
	poll_later(r);
}

/* True also if that is not known now. */
static bool was_forked(const struct run *r)
{
	int dir = run_dir(r, false);
	struct stat st = { 0 };
	bool forked = dir < 0 || fstatat(dir, RECORD_LAUNCH, &st, 0) < 0
	                      ? errno != ENOENT
	                      : (st.st_mode & 0777) == RECORD_MODE_FORKED;

	fd_close(dir);
	return forked;
}

void lost_begin(struct run *r)
{
	if (r->state == RUN_STARTING && !was_forked(r)) {
		run_take_back_use(r);
		run_remove_rundir(r->l, r->name);
		run_never(r, "the node's agent or the shepherd was killed before it was started",
		        NEVER_RUN);
		return;
	}
	log_warning("run %s: its shepherd is gone; killing what is left", r->name);
	r->state = RUN_LOST;
	r->looks = 0;
	lost_poll(r);
}
