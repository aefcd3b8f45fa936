/* shepherd_launch.c - from the run's cgroup to its program's execution; see shepherd_impl.h
 *
 * First come the steps that only the site can delay: the cgroup, limits, the prolog. From
 * fork_child() on the owner can delay the launch too: the owner's files may be on a server that
 * does not answer, and other processes of the owner may stop or kill the process that becomes the
 * program (job_process.h). That part has a deadline, and the time limit counts from its beginning.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/failpoint.h"
#include "common/base/fd_close.h"
#include "noded/contain/cgroup_limits.h"
#include "noded/contain/devfilter.h"
#include "noded/contain/portfilter.h"
#include "noded/contain/private_mounts.h"
#include "noded/contain/procs.h"
#include "noded/record/checker_facts.h"
#include "noded/record/inherit.h"
#include "noded/record/record.h"
#include "noded/shepherd/shepherd_impl.h"

#define STOPS_MAX 16                /* of the first process before it executes the program */
#define HANGS     ((usec_t)2000000) /* after this time a killed process must hang in the kernel */

/* --- what can be done before there is a process ----------------------------------------------- */

/* The first reason counts: the end of a process that is killed for it gives another one. */
static void launch_failed_as(struct shepherd *s, enum end_cause cause, const char *why)
{
	if (s->ending.phase != DEADLINE_LAUNCHING)
		return;
	snprintf(s->detail, sizeof(s->detail), "%s", why);
	deadline_failed(&s->ending, cause, mono());
}

static void launch_failed(struct shepherd *s, const char *why)
{
	launch_failed_as(s, END_LAUNCH, why);
}

/* If the kernel cannot restrict ports, a port goes to the first process that listens at it. */
static void hold_to_ports(const struct shepherd *s)
{
	const Gpusched__Replica *replica = s->launch->report->replica;

	if (s->launch->port_low && contain_dir(s->leaf) >= 0)
		(void)portfilter_attach(contain_dir(s->leaf), s->launch->port_low,
		        s->launch->port_high, replica ? replica->ports : NULL,
		        replica ? replica->n_ports : 0);
}

/* Restrict the run to its devices and to what was booked, before any process is in the leaf. */
static int hold_to(const struct shepherd *s, struct error *err)
{
	const Gpusched__LaunchRecord *l = s->launch;
	struct device granted[DEVFILTER_MAX];
	size_t n = l->n_devices < DEVFILTER_MAX ? l->n_devices : DEVFILTER_MAX;

	for (size_t i = 0; i < n; i++)
		granted[i] = (struct device){ l->devices[i]->block ? 'b' : 'c',
			l->devices[i]->major, l->devices[i]->minor };
	hold_to_ports(s);
	if (l->device_filter && devfilter_attach(contain_dir(s->leaf), granted, n, err) < 0)
		return -1;
	return cgroup_limits_set(l->limits, l->n_limits, err);
}

static int make_private(const struct shepherd *s, struct error *err)
{
	struct private_place place = private_place_of(s->launch);
	int r = *place.dir ? private_make(&place, err) : 0;

	free(place.dir);
	return r;
}

/* From here on the programs after the run may be needed: see record.h. */
static int begin_launch(struct shepherd *s)
{
	if (fchmod(SHEPHERD_LAUNCH_FD, RECORD_MODE_FORKED) < 0)
		return -1;
	s->begun = true;
	return 0;
}

static bool still_launching(void *arg)
{
	struct shepherd *s = arg;

	shepherd_obey(s);
	shepherd_read_hold(s);
	return s->ending.phase == DEADLINE_LAUNCHING;
}

/* True: the user's process may be started. */
static bool run_prolog(struct shepherd *s)
{
	if (program_of(s->launch, PROGRAM_PROLOG)) {
		if (begin_launch(s) < 0)
			launch_failed(s, "its record cannot be marked");
		else if (program_run_of(s->launch, PROGRAM_PROLOG, still_launching, s,
		                 s->trouble) == PROGRAM_FAILED)
			launch_failed(s, s->trouble);
	}
	return s->ending.phase == DEADLINE_LAUNCHING;
}

/* --- the process ------------------------------------------------------------------------------ */

/* gprobe's end blocks while the pipe is full; the shepherd's end never blocks. */
static int make_probe_pipe(struct shepherd *s, int *writer)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	replica_init(&s->replica, ends[0]);
	*writer = ends[1];
	return 0;
}

static int fork_child(struct shepherd *s)
{
	struct child_start child = {
		.launch = s->launch, .ends = &s->ends, .probe = -1, .shepherd = getpid()
	};
	int tell[2];

	s->step = mmap(
	        NULL, sizeof(*s->step), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->step == MAP_FAILED) {
		s->step = NULL;
		return -1;
	}
	if (begin_launch(s) < 0 || (s->launch->probe && make_probe_pipe(s, &child.probe) < 0) ||
	        pipe2(tell, O_CLOEXEC) < 0)
		return -1;
	child.step = s->step;
	child.tell = tell[1];
	checker_facts_start(s->launch);
	deadline_launched(&s->ending, mono());
	FAILPOINT(shepherd_before_fork);
	s->main = contain_fork(s->leaf);
	if (s->main == 0)
		child_run(&child);
	close(tell[1]);
	fd_close(child.probe);
	for (size_t i = 0; i < s->ends.n; i++)
		close(s->ends.fds[i]);
	if (s->main < 0) {
		close(tell[0]);
		return -1;
	}
	s->tell = tell[0];
	fcntl(s->tell, F_SETFL, O_NONBLOCK);
	return 0;
}

void shepherd_launch(struct shepherd *s)
{
	char *path = record_string(&s->launch->cgroup);
	struct error err;
	char why[CHILD_TELL_MAX];
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	s->outside_leaf = contain_new("", NULL);
	s->leaf = contain_new(path, &err);
	free(path);
	if (s->leaf && (hold_to(s, &err) < 0 || make_private(s, &err) < 0)) {
		contain_remove(s->leaf);
		contain_free(s->leaf);
		s->leaf = NULL;
	}
	if (!s->leaf) {
		s->leaf = contain_new("", NULL);
		s->no_children = true;
		launch_failed(s, err.text);
	} else if ((s->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK)) < 0) {
		s->no_children = true;
		launch_failed(s, "there is no descriptor that would tell of its end");
	} else if (s->launch->interactive && ghold_ends_receive(s->hold_fd, &s->ends) < 0) {
		s->no_children = true;
		launch_failed(s, "the terminal or the pipes for it could not be made");
	} else if (!run_prolog(s)) {
		s->no_children = true;
	} else if (fork_child(s) < 0) {
		snprintf(why, sizeof(why), "cannot start a process: %s", strerror(errno));
		s->no_children = true;
		launch_failed(s, why);
	}
}

/* --- until it is executed --------------------------------------------------------------------- */

static void note_started(struct shepherd *s)
{
	Gpusched__StartedRecord r = GPUSCHED__STARTED_RECORD__INIT;

	s->executed = true;
	r.start_time = s->start_wall;
	r.start_mono = s->start_mono;
	r.shepherd = (uint32_t)getpid();
	r.shepherd_ticks = proc_ticks(getpid());
	FAILPOINT(shepherd_before_started);
	/* If this fails (a full tmpfs) the run stays STARTING for longer, at most until its end. */
	record_write(s->record_dir, RECORD_STARTED, &r.base, 0, NULL);
	shepherd_notify(s);
	s->look_next = mono() + NOTES_LOOK;
	deadline_started(&s->ending, mono());
}

void shepherd_continue_child(struct shepherd *s)
{
	siginfo_t stop = { 0 };
	char why[CHILD_TELL_MAX];

	while (s->tell >= 0 && !s->main_gone &&
	        waitid(P_PID, (id_t)s->main, &stop, WSTOPPED | WNOHANG) == 0 && stop.si_pid) {
		stop.si_pid = 0;
		shepherd_hear_child(s);
		if (s->tell < 0) /* the program itself was stopped */
			return;
		kill(s->main, SIGCONT);
		if (++s->stops != STOPS_MAX)
			continue;
		snprintf(why, sizeof(why),
		        "its process was stopped %d times before the program was executed, the "
		        "last "
		        "time by signal %d",
		        STOPS_MAX, stop.si_status);
		launch_failed_as(s, END_LAUNCH_OWNER, why);
	}
}

void shepherd_say_late(struct shepherd *s)
{
	char at[CHILD_TELL_MAX / 2];

	s->late = true;
	child_step_text(s->launch, s->step ? *s->step : CHILD_BEGINS, at);
	snprintf(s->detail, sizeof(s->detail), "not started after %lld s: %s took too long",
	        (long long)((mono() - s->ending.started) / SECOND), at);
}

/* Could the owner have killed it? His other processes may signal it, and may fill its cgroup's
 * memory. */
static bool owner_reaches(const struct shepherd *s)
{
	return s->step && *s->step > CHILD_BEGINS;
}

void shepherd_hear_child(struct shepherd *s)
{
	ssize_t n;

	if (s->tell < 0)
		return;
	while ((n = read(s->tell, s->told + s->told_len, sizeof(s->told) - 1 - s->told_len)) > 0)
		s->told_len += (size_t)n;
	if (n < 0)
		return;
	close(s->tell);
	s->tell = -1;
	s->told[s->told_len] = '\0';
	if (s->told_len > 0)
		launch_failed_as(s,
		        s->told[0] == CHILD_FAILED_OWNER ? END_LAUNCH_OWNER : END_LAUNCH,
		        s->told + 1);
	else if (proc_executed(s->main))
		note_started(s);
	else
		launch_failed_as(s, owner_reaches(s) ? END_LAUNCH_OWNER : END_LAUNCH,
		        "its process was killed before the program was executed");
}

void shepherd_leave_alone(struct shepherd *s, usec_t now)
{
	if (s->left_alone || s->executed || s->main <= 0 || s->main_gone || !s->killed ||
	        now - s->killed < HANGS || proc_executed(s->main))
		return;
	contain_disown(s->main);
	s->left_alone = contain_is_empty(s->leaf) && contain_is_empty(s->outside_leaf);
	if (!s->left_alone)
		contain_disown(0);
}
