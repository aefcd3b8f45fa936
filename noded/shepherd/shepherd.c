/* shepherd.c - gshepherd: starts one run, watches it, records how it ended
 *
 *   gshepherd RECORD-DIRECTORY
 *
 * The launcher starts it, with the locked launch record as descriptor 3 and the bound order socket
 * as 4; it outlives launcher and agent. It holds no secret, has no network and reads no file of a
 * user except as rundir.h allows. time_limit_and_grace.c decides when a run is to end; this file
 * carries it out:
 *
 *   start    subreaper, descriptors; the rest of it is in shepherd_launch.c
 *   watch    orders, the first process, the leaf, the acknowledgement, checkpoints, the clock
 *   suspend  while it runs, until it may go on or must end (suspend_run.c)
 *   finish   nothing is left; `exit` record by write and rename (its content: shepherd_report.c),
 *            news, RUN_DIR and leaf removed
 *
 * Only KILL can end it before its run has ended. If it is killed, the launcher finds its lock on
 * the launch record released and reports the run as lost.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/failpoint.h"
#include "common/base/fd_close.h"
#include "common/gpusched.pb-c.h"
#include "noded/contain/cgroup_limits.h"
#include "noded/contain/process_tracking.h"
#include "noded/exec/job_process.h"
#include "noded/exec/prolog_epilog.h"
#include "noded/record/checker_facts.h"
#include "noded/record/inherit.h"
#include "noded/record/order_socket.h"
#include "noded/record/record.h"
#include "noded/record/rundir.h"
#include "noded/shepherd/checkpoint_and_progress.h"
#include "noded/shepherd/fork_server.h"
#include "noded/shepherd/interrupt_file.h"
#include "noded/shepherd/mps_daemon.h"
#include "noded/shepherd/shepherd_impl.h"
#include "noded/shepherd/site_program_tasks.h"
#include "noded/shepherd/time_limit_and_grace.h"
#include "noded/stream/ghold.h"

#define KILL_FIRST    ((usec_t)5000)   /* delay of the next check after KILL, */
#define KILL_LAST     ((usec_t)500000) /* doubled up to this, since processes may hang */
#define ACK_POLL      ((usec_t)200000) /* if inotify(7) has no watch left for us */
#define RETRY_RECORD  100              /* ms between tries to write the exit record */
#define RETRY_NEWS    ((usec_t)50000)
#define SIGNAL_LAST   64
#define NOTES_AT_ONCE 8

void shepherd_notify(struct shepherd *s)
{
	FAILPOINT(shepherd_before_news);
	s->news_wait =
	        order_socket_send(s->news_dir, NOTIFY_SOCKET_NAME, s->id, strlen(s->id)) < 0 &&
	        !order_socket_no_receiver(errno);
}

/* --- start ------------------------------------------------------------------------------------ */

/* The descriptor is opened above those that are inherited, because one that was not inherited is
 * closed later; and before this process stops being dumpable, after which only root may open it. */
static void open_meter(struct shepherd *s)
{
	int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);

	s->io = fcntl(fd, F_DUPFD_CLOEXEC, SHEPHERD_HOLD_FD + 1);
	fd_close(fd);
}

/* Keep only stdin, stdout, stderr and the launcher's descriptors. */
static int prepare_process(struct shepherd *s)
{
	sigset_t all;
	int fd;
	ssize_t n;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return -1;
	syscall(SYS_close_range, SHEPHERD_HOLD_FD + 1, ~0U, 0);
	open_meter(s);
#ifndef __SANITIZE_ADDRESS__ /* the leak checker looks into its own process by ptrace(2) */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
	fcntl(SHEPHERD_LAUNCH_FD, F_SETFD, FD_CLOEXEC);
	fcntl(SHEPHERD_CTL_FD, F_SETFD, FD_CLOEXEC);
	fcntl(SHEPHERD_HOLD_FD, F_SETFD, FD_CLOEXEC);
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) { /* without permission the OOM killer may choose us like any process */
		n = write(fd, "-1000", 5);
		(void)n;
		close(fd);
	}
	return 0;
}

static int open_dir(int at, const char *path)
{
	return openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Open the directories. Nothing has been started yet: after a failure here the launcher takes care
 * of the run, when it finds the lock released. */
static int open_places(struct shepherd *s, char *record_path)
{
	char *run_dir;

	s->record_dir = open_dir(AT_FDCWD, record_path);
	if (s->record_dir < 0)
		return -1;
	s->news_dir = open_dir(s->record_dir, "../..");
	s->id = basename(record_path);
	run_dir = record_string(&s->launch->run_dir);
	s->spool = open_dir(AT_FDCWD, dirname(run_dir));
	free(run_dir);
	s->rundir = s->spool < 0 ? -1 : rundir_open(s->spool, s->id);
	return s->news_dir < 0 || s->rundir < 0 ? -1 : 0;
}

static int read_launch(struct shepherd *s)
{
	ProtobufCMessage *m;

	if (record_read_fd(SHEPHERD_LAUNCH_FD, &gpusched__launch_record__descriptor, &m, NULL) < 0)
		return -1;
	s->launch = (Gpusched__LaunchRecord *)m;
	if (!s->launch->report || !s->launch->report->run)
		return -1;
	if (s->launch->interactive)
		s->hold_fd = SHEPHERD_HOLD_FD;
	else
		close(SHEPHERD_HOLD_FD); /* there is none */
	s->owner = (struct rundir_owner){ .change = s->launch->switch_user,
		.uid = s->launch->report->uid,
		.gid = s->launch->gid };
	return 0;
}

static void init_ending(struct shepherd *s)
{
	const Gpusched__RunProgram *prolog = program_of(s->launch, PROGRAM_TASK_PROLOG);
	uint64_t launch_ms =
	        s->launch->launch_timeout_ms ? s->launch->launch_timeout_ms : CHILD_LAUNCH_MS;
	struct deadline_limits limits = {
		.limit = s->launch->time_limit_s * SECOND,
		.launch = (usec_t)(launch_ms + (prolog ? prolog->timeout_ms : 0)) * 1000,
		.warn_before = s->launch->warn_before_s * SECOND,
		.grace = s->launch->grace_s * SECOND,
		.warn_signal = (int)s->launch->warn_signal,
	};

	deadline_init(&s->ending, &limits);
}

static void remove_private(const struct shepherd *s)
{
	char *dir = record_string(&s->launch->private_dir);
	int parent = *dir ? open_dir(AT_FDCWD, dirname(dir)) : -1;

	if (parent >= 0) {
		rundir_remove(parent, s->id);
		close(parent);
	}
	free(dir);
}

/* --- programs of the site --------------------------------------------------------------------- */

/* Keeps a program running: orders come too late for a run that has ended. */
static bool to_its_end(void *arg)
{
	struct shepherd *s = arg;

	shepherd_obey(s);
	shepherd_read_hold(s);
	return true;
}

static void run_after(struct shepherd *s)
{
	char trouble[PROGRAM_TROUBLE_MAX];

	if (!s->begun)
		return;
	FAILPOINT(shepherd_before_epilog);
	if (s->executed &&
	        program_run_of(s->launch, PROGRAM_TASK_EPILOG, to_its_end, s, trouble) ==
	                PROGRAM_FAILED &&
	        !*s->detail)
		memcpy(s->detail, trouble, sizeof(trouble));
	if (program_run_after(s->launch, to_its_end, s, trouble) == PROGRAM_FAILED && !*s->trouble)
		memcpy(s->trouble, trouble, sizeof(trouble));
	FAILPOINT(shepherd_after_epilog);
}

/* --- watch: events ---------------------------------------------------------------------------- */

/* SIGCHLD is taken before children are looked at: what happens to one afterwards sends it again. */
static void take_signals(const struct shepherd *s)
{
	struct signalfd_siginfo si;

	while (read(s->signals, &si, sizeof(si)) > 0)
		;
}

/* Reap every zombie, the run's orphans too. The child's pipe is read once more before the main
 * process is reaped: its end of the pipe is closed by now. */
static void reap(struct shepherd *s)
{
	siginfo_t who;
	int status;

	for (;;) {
		who.si_pid = 0;
		if (waitid(P_ALL, 0, &who, WEXITED | WNOHANG | WNOWAIT) < 0) {
			s->no_children = errno == ECHILD;
			return;
		}
		if (who.si_pid == 0)
			return;
		if (who.si_pid == s->main && !s->main_gone)
			shepherd_hear_child(s);
		if (waitpid(who.si_pid, &status, 0) != s->main || s->main_gone)
			continue;
		s->main_gone = true;
		s->status = status;
		deadline_main_gone(&s->ending, mono());
	}
}

/* Read messages of ghold, a process of the owner: it may do to the run what the owner may, and is
 * not trusted. A sender without end must not keep us from orders and from the clock. */
void shepherd_read_hold(struct shepherd *s)
{
	Gpusched__SignalRun order = GPUSCHED__SIGNAL_RUN__INIT;
	struct ghold_note note;
	ssize_t n;

	for (int i = 0; i < NOTES_AT_ONCE && s->hold_fd >= 0; i++) {
		n = recv(s->hold_fd, &note, sizeof(note), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n == sizeof(note) && note.news == GHOLD_SIGNAL && note.signal <= SIGNAL_LAST) {
			order.signal = note.signal;
			shepherd_signal(s, &order);
			continue;
		}
		if (s->ending.phase <= DEADLINE_RUNNING)
			snprintf(s->detail, sizeof(s->detail), "%s",
			        n == sizeof(note) && note.news == GHOLD_LOST
			                ? "its client was lost, and none came in its place"
			                : "what held its input and output has ended");
		deadline_order(&s->ending, END_CANCEL, 0, s->launch->grace_s * SECOND, mono());
		if (n != sizeof(note)) {
			close(s->hold_fd);
			s->hold_fd = -1;
		}
	}
}

static void look_for_ack(struct shepherd *s)
{
	struct stat st;
	char buf[4096];

	if (s->watch >= 0)
		while (read(s->watch, buf, sizeof(buf)) > 0)
			;
	if (deadline_wants_ack(&s->ending) && rundir_stat(s->rundir, RUNDIR_ACK, &st))
		deadline_ack(&s->ending, mono());
}

static bool wants_notes(const struct shepherd *s)
{
	return s->executed && s->ending.phase < DEADLINE_KILLING;
}

void shepherd_tell_notes(struct shepherd *s, usec_t now)
{
	Gpusched__NotesRecord r = GPUSCHED__NOTES_RECORD__INIT;
	Gpusched__Replica replica;
	Gpusched__RunLoad load;

	if (replica_is(&s->replica)) {
		replica_fill(&s->replica, &replica);
		r.replica = &replica;
		r.ready_mono = s->replica.ready_since;
		if (replica_fill_load(&s->replica, &load))
			r.load = &load;
	}
	r.checkpoint_time = s->notes.checkpoint;
	r.progress = s->notes.progress;
	r.suspended_us = (uint64_t)s->held_us;
	r.suspended_mono = s->held;
	r.trouble = s->stuck;
	r.burst_time = s->burst_time;
	r.burst_job = s->burst_time && s->order ? s->order->burst_job : 0;
	s->tell_next = now + NOTES_PAUSE;
	s->untold = record_write(s->record_dir, RECORD_NOTES, &r.base, 0, NULL) < 0;
	if (s->untold)
		return;
	replica_told(&s->replica, now);
	shepherd_notify(s);
}

/* A replica that is to end or is suspended gets no more requests: clients must know at once. */
static void look_at_replica(struct shepherd *s)
{
	struct clocks now = both_clocks();
	const char *why = NULL;

	if (!s->executed || !replica_is(&s->replica))
		return;
	if (*s->replica.end || (s->ending.phase >= DEADLINE_GRACE && !s->ending.asked))
		why = "it is to end";
	else if (s->holding)
		why = "it is suspended";
	replica_hide(&s->replica, why, now);
	if (replica_due(&s->replica, now.mono))
		shepherd_tell_notes(s, now.mono);
}

static void look_at_notes(struct shepherd *s, usec_t now)
{
	if (now >= s->look_next) {
		s->look_next = now + NOTES_LOOK;
		s->untold |= notes_poll(
		        &s->notes, s->rundir, &s->owner, s->start_wall, clock_us(CLOCK_REALTIME));
	}
	if (s->untold && now >= s->tell_next)
		shepherd_tell_notes(s, now);
}

static bool nothing_left(struct shepherd *s)
{
	return (s->no_children || s->left_alone) && contain_is_empty(s->leaf);
}

/* --- watch: actions --------------------------------------------------------------------------- */

static void write_interrupt(struct shepherd *s)
{
	const Gpusched__EndRun *o = s->order;
	usec_t deadline = deadline_time(&s->ending);
	struct interrupt in = {
		.cause = s->ending.cause ? s->ending.cause : END_TIME_LIMIT,
		.by_job = o ? o->by_job : 0,
		.by_user = o ? o->by_user : "",
		.by_account = o ? o->by_account : "",
		.by_qos = o ? o->by_qos : "",
		.gpu_mem_mb = o && o->give_back ? o->gpu_mem_mb : 0,
		.deadline = deadline == INT64_MAX ? INT64_MAX
		                                  : clock_us(CLOCK_REALTIME) + (deadline - mono()),
		.requeue = o && o->requeue,
	};
	char text[INTERRUPT_MAX];
	size_t len = interrupt_text(&in, text);
	char self[64];

	/* It fails if the owner has put something in its place or filled the disk: that is the
	 * owner's own loss. */
	rundir_interrupt(s->spool, s->id, s->rundir, &s->owner, text, len);
	if (s->watch < 0) {
		s->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
		snprintf(self, sizeof(self), "/proc/self/fd/%d", s->rundir);
		if (s->watch >= 0 && inotify_add_watch(s->watch, self,
		                             IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0) {
			close(s->watch);
			s->watch = -1;
		}
	}
}

static void kill_all(struct shepherd *s, usec_t now)
{
	s->killed = s->killed ? s->killed : now;
	contain_kill(s->leaf);
	if (!s->no_children && contain_is_empty(s->leaf))
		contain_kill(s->outside_leaf);
	s->kill_pause = s->kill_pause ? s->kill_pause * 2 : KILL_FIRST;
	if (s->kill_pause > KILL_LAST)
		s->kill_pause = KILL_LAST;
	s->kill_next = now + s->kill_pause;
}

/* A replica's server answers what is in flight first: gprobe ends the script when that is done. A
 * request to give back memory goes to the script, not to gprobe. */
static void signal_end(struct shepherd *s)
{
	if (s->launch->probe && !s->main_gone && s->ending.asked)
		contain_signal_except(s->leaf, s->ending.signal, s->main);
	else if (s->launch->probe && !s->main_gone)
		kill(s->main, SIGTERM);
	else
		contain_signal(s->leaf, s->ending.signal);
	contain_signal(s->leaf, SIGCONT); /* a stopped process could not save anything */
}

static void act(struct shepherd *s)
{
	usec_t now = mono();
	bool launching = s->ending.phase == DEADLINE_LAUNCHING;
	unsigned todo;

	deadline_clock(&s->ending, now);
	if (launching && s->ending.phase == DEADLINE_KILLING)
		shepherd_say_late(s);
	todo = deadline_actions(&s->ending);
	if (todo & DEADLINE_INTERRUPT) {
		write_interrupt(s);
		look_for_ack(s); /* it may have come before the watch for it */
		todo |= deadline_actions(&s->ending);
	}
	if ((todo & DEADLINE_WARN) && s->launch->probe) /* gprobe is told of the end alone */
		contain_warn_except(s->leaf, s->ending.signal, s->main);
	else if (todo & DEADLINE_WARN)
		contain_warn(s->leaf, s->ending.signal);
	if (todo & DEADLINE_SIGNAL)
		signal_end(s);
	shepherd_suspend_or_resume(s, now);
	if ((todo & DEADLINE_KILL) || (s->ending.phase == DEADLINE_KILLING && now >= s->kill_next))
		if (!nothing_left(s))
			kill_all(s, now);
	if (s->ending.phase == DEADLINE_KILLING)
		shepherd_leave_alone(s, now);
	if (s->ending.phase == DEADLINE_KILLING && shepherd_is_stuck(s, now))
		shepherd_tell_notes(s, now);
	look_at_replica(s);
	if (wants_notes(s))
		look_at_notes(s, now);
	if (s->news_wait)
		shepherd_notify(s);
}

static int wait_ms(const struct shepherd *s)
{
	usec_t now = mono(), next = deadline_next(&s->ending);

	if (s->ending.phase == DEADLINE_KILLING && s->kill_next < next)
		next = s->kill_next;
	if (deadline_wants_ack(&s->ending) && s->watch < 0 && now + ACK_POLL < next)
		next = now + ACK_POLL;
	if (wants_notes(s) && s->look_next < next)
		next = s->look_next;
	if (s->holding && (!s->held || contain_events_fd(s->leaf) < 0) && s->hold_next < next)
		next = s->hold_next;
	if (s->news_wait && now + RETRY_NEWS < next)
		next = now + RETRY_NEWS;
	if (s->executed && replica_next(&s->replica, now) < next)
		next = replica_next(&s->replica, now);
	if (next == INT64_MAX)
		return -1;
	if (next <= now)
		return 0;
	/* Rounded up: not to wake before the time and spin. An hour at most, int is enough. */
	return next - now > 3600 * SECOND ? 3600 * 1000 : (int)((next - now + 999) / 1000);
}

static void watch(struct shepherd *s)
{
	for (;;) {
		bool ending;

		act(s);
		ending = s->ending.phase >= DEADLINE_GRACE;
		if (ending && nothing_left(s))
			deadline_empty(&s->ending);
		if (s->ending.phase == DEADLINE_OVER)
			return;
		struct pollfd p[] = {
			{ .fd = SHEPHERD_CTL_FD, .events = POLLIN },
			{ .fd = s->signals, .events = POLLIN },
			{ .fd = s->tell, .events = POLLIN },
			{ .fd = s->watch, .events = POLLIN },
			{ .fd = s->hold_fd, .events = POLLIN },
			{ .fd = replica_poll_fd(&s->replica, mono()), .events = POLLIN },
			/* Needed only while the run is to end or to stop. */
			{ .fd = ending || (s->holding && !s->held) ? contain_events_fd(s->leaf)
			                                           : -1,
			        .events = POLLPRI },
		};
		poll(p, sizeof(p) / sizeof(p[0]), wait_ms(s));
		take_signals(s);
		shepherd_hear_child(s);
		shepherd_continue_child(s);
		reap(s);
		shepherd_obey(s);
		shepherd_read_hold(s);
		replica_read(&s->replica, both_clocks());
		look_for_ack(s);
	}
}

/* --- finish ----------------------------------------------------------------------------------- */

/* Does the record directory still exist? If tmpfs was cleared there is no record to write. */
static bool is_there(const struct shepherd *s)
{
	struct stat st;

	return fstat(s->record_dir, &st) == 0 && st.st_nlink > 0;
}

static void finish(struct shepherd *s)
{
	Gpusched__RunReport r = *s->launch->report; /* borrows its strings */
	struct exit_parts parts;

	shepherd_report(s, &r, &parts);
	run_after(s);
	r.node_trouble = s->trouble;
	if (s->main > 0)
		checker_facts_end(s->launch, r.exit_code, r.exit_signal);
	FAILPOINT(shepherd_before_exit_record);
	/* This record must not be lost; a full tmpfs will have space again. */
	while (record_write(s->record_dir, RECORD_EXIT, &r.base, 0, NULL) < 0 && is_there(s))
		poll(NULL, 0, RETRY_RECORD);
	FAILPOINT(shepherd_after_exit_record);
	shepherd_notify(s);
	cgroup_limits_remove(s->launch->limits, s->launch->n_limits);
	contain_remove(s->leaf);
	rundir_remove(s->spool, s->id);
	remove_private(s);
	unlinkat(s->record_dir, ORDER_SOCKET_NAME, 0);
}

static void clean_up(struct shepherd *s)
{
	contain_free(s->leaf);
	contain_free(s->outside_leaf);
	protobuf_c_message_free_unpacked(&s->launch->base, NULL);
	if (s->order)
		protobuf_c_message_free_unpacked(&s->order->base, NULL);
}

int main(int argc, char **argv)
{
	struct shepherd s = {
		.tell = -1, .watch = -1, .hold_fd = -1, .io = -1, .signals = -1, .replica.fd = -1
	};
	char *path = argc == 2 ? argv[1] : NULL;

	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return puts("gshepherd (gpusched) " PACKAGE_VERSION) < 0;
	if (argc > 2 && strcmp(argv[argc - 1], SHEPHERD_AGAIN) == 0)
		return site_program_task_again(argv[1]);
	if (argc > 2 && strcmp(argv[1], SHEPHERD_CHECK) == 0)
		return site_program_task_check(argc - 2, argv + 2);
	if (argc == 2 && strcmp(argv[1], SHEPHERD_MPS) == 0)
		return mps_daemon_main();
	if (argc == 3 && strcmp(argv[1], SHEPHERD_TEMPLATE) == 0)
		path = template_server_wait(argv);
	if (!path || path[0] != '/') {
		fprintf(stderr, "usage: gshepherd RECORD-DIRECTORY\n"
		                "Started by gnoded for each run; not for use by hand.\n");
		return 2;
	}
	if (prepare_process(&s) < 0 || read_launch(&s) < 0 || open_places(&s, path) < 0)
		return 1;
	s.start_wall = clock_us(CLOCK_REALTIME);
	s.start_mono = mono();
	init_ending(&s);
	shepherd_launch(&s);
	watch(&s);
	finish(&s);
	clean_up(&s);
	return 0;
}
