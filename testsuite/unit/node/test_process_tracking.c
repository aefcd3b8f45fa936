/* test_process_tracking.c - noded/contain/process_tracking.h and noded/contain/procs.h, with real
 * processes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "noded/contain/cgroupfs.h"
#include "noded/contain/process_tracking.h"
#include "noded/contain/procs.h"
#include "noded/contain/signals.h"

/* --- processes to look at --------------------------------------------------------------------- */

/* A child that has done what `prepare` says and waits. With `c` it is born in it. */
static pid_t child(void (*prepare)(void), const struct contain *c)
{
	int ready[2];
	char b;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = c ? contain_fork(c) : fork();
	if (pid == 0) {
		close(ready[0]);
		if (prepare)
			prepare();
		b = write(ready[1], "x", 1) == 1;
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	close(ready[1]);
	assert_int_equal(read(ready[0], &b, 1), 1);
	close(ready[0]);
	return pid;
}

static void reap_all(void)
{
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

static void nothing(int sig)
{
	(void)sig;
}

static void handle_usr1(void)
{
	signal(SIGUSR1, nothing);
}

static void block_usr1(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* A grandchild in a session of its own, orphaned, and a child of that. */
static void leave_a_daemon(void)
{
	int ready[2];
	char b = 0;

	if (pipe(ready) < 0 || fork() > 0) {
		close(ready[1]);
		if (read(ready[0], &b, 1) != 1)
			_exit(1);
		return;
	}
	setsid();
	if (fork() > 0)
		_exit(0);
	fork();
	b = write(ready[1], "x", 1) == 1;
	for (;;)
		pause();
}

/* --- processes -------------------------------------------------------------------------------- */

static void a_process_is_its_id_and_its_beginning(void **state)
{
	pid_t pid = child(NULL, NULL);
	struct proc right = { pid, proc_ticks(pid) }, wrong = { pid, proc_ticks(pid) + 1 };
	int fd;

	(void)state;
	assert_true(right.ticks > 0);
	fd = proc_open(right);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(proc_open(wrong), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(procs_signal(&wrong, 1, SIGKILL, false, NULL, NULL), 0);
	assert_int_equal(procs_signal(&right, 1, SIGKILL, false, NULL, NULL), 1);
	reap_all();
	assert_int_equal(proc_ticks(pid), 0);
	assert_int_equal(proc_open(right), -1);
}

static void execution_is_seen(void **state)
{
	pid_t pid = child(NULL, NULL);

	(void)state;
	assert_true(proc_executed(getpid()));
	assert_false(proc_executed(pid));
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT), 0);
	assert_false(proc_executed(pid)); /* nor is the zombie's */
	reap_all();
	assert_false(proc_executed(pid));
}

static void who_awaits_a_signal(void **state)
{
	pid_t plain = child(NULL, NULL), handles = child(handle_usr1, NULL),
	      blocks = child(block_usr1, NULL);
	struct proc all[] = { { plain, proc_ticks(plain) }, { handles, proc_ticks(handles) },
		{ blocks, proc_ticks(blocks) } };

	(void)state;
	assert_int_equal(proc_awaits(plain, SIGUSR1), AWAITS_NOT);
	assert_int_equal(proc_awaits(handles, SIGUSR1), AWAITS_SIGNAL);
	assert_int_equal(proc_awaits(blocks, SIGUSR1), AWAITS_SIGNAL);
	assert_int_equal(proc_awaits(handles, SIGUSR2), AWAITS_NOT);
	assert_int_equal(proc_awaits(handles, 0), AWAITS_NOT);
	assert_int_equal(proc_awaits(handles, 65), AWAITS_NOT);
	assert_int_equal(procs_signal(all, 3, SIGUSR1, true, NULL, NULL), 2);
	assert_int_equal(kill(plain, 0), 0); /* it would have died of it */
	assert_true(signal_is_for_all(SIGTERM) && signal_is_for_all(SIGKILL));
	assert_false(signal_is_for_all(SIGUSR1) || signal_is_for_all(SIGHUP));
	procs_signal(all, 3, SIGKILL, false, NULL, NULL);
	reap_all();
}

/* --- who blocks signals ------------------------------------------------------------------------
 */

static void block_all(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void unblock_all(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void wait_for_usr1(void)
{
	sigset_t set;
	int sig;

	block_usr1();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &sig);
}

static void *sleep_on(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static void *compute(void *arg)
{
	(void)arg;
	for (;;)
		;
	return NULL;
}

static void *wait_for_any(void *arg)
{
	sigset_t set;
	int sig;

	(void)arg;
	sigfillset(&set);
	sigwait(&set, &sig);
	return NULL;
}

static void start(void *(*routine)(void *))
{
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, routine, NULL), 0);
}

/* The usual service: everything blocked, one thread that waits, others that compute. */
static void leave_it_to_a_thread(void)
{
	block_all();
	start(wait_for_any);
	compute(NULL);
}

/* One of a library's threads was there before the signal was blocked: it would be killed by it. */
static void one_thread_is_open(void)
{
	start(sleep_on);
	block_usr1();
}

/* ... but not while the first thread is in sigwait(3). */
static void first_thread_waits(void)
{
	start(sleep_on);
	wait_for_usr1();
}

static void block_all_and_sleep(void)
{
	block_all();
}

static void block_all_and_compute(void)
{
	block_all();
	compute(NULL);
}

static int gate[2];

static void await_gate(void)
{
	char b;

	while (read(gate[0], &b, 1) < 0)
		;
}

/* A shell around vfork(2), whose child takes its time. */
static void block_all_for_a_moment(void)
{
	pid_t parent = getpid();

	block_all();
	if (vfork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent) /* else it was killed before that: nobody opens the gate */
			await_gate();
		_exit(0);
	}
	unblock_all();
}

static enum awaits look(void (*prepare)(void), enum awaits until)
{
	pid_t pid = fork();
	enum awaits seen = AWAITS_NOT;

	if (pid == 0) {
		prepare();
		sleep_on(NULL);
	}
	for (int i = 0; i < 5000 && (seen = proc_awaits(pid, SIGUSR1)) != until; i++)
		poll(NULL, 0, 1);
	kill(pid, SIGKILL);
	reap_all();
	return seen;
}

static void who_blocks_signals(void **state)
{
	(void)state;
	assert_int_equal(pipe(gate), 0);
	assert_int_equal(look(wait_for_usr1, AWAITS_SIGNAL), AWAITS_SIGNAL);
	assert_int_equal(look(first_thread_waits, AWAITS_SIGNAL), AWAITS_SIGNAL);
	assert_int_equal(look(block_all_and_sleep, AWAITS_SIGNAL), AWAITS_SIGNAL);
	assert_int_equal(look(block_all_and_compute, AWAITS_UNCLEAR), AWAITS_UNCLEAR);
	assert_int_equal(look(block_all_for_a_moment, AWAITS_UNCLEAR), AWAITS_UNCLEAR);
	close(gate[0]);
	close(gate[1]);
}

static pid_t start_and_see(void (*prepare)(void), enum awaits until)
{
	pid_t pid = fork();

	if (pid == 0) {
		prepare();
		sleep_on(NULL);
	}
	while (proc_awaits(pid, SIGUSR1) != until)
		poll(NULL, 0, 1);
	return pid;
}

static size_t send_usr1(pid_t pid)
{
	struct proc p = { pid, proc_ticks(pid) };

	return procs_signal(&p, 1, SIGUSR1, true, NULL, NULL);
}

static void *open_gate_later(void *arg)
{
	poll(NULL, 0, 20);
	assert_int_equal(write(gate[1], "x", 1), 1);
	return arg;
}

/* Looked at again: who lets go of the signals lives, who means to block them gets it. */
static void a_moment_without_signals_passes(void **state)
{
	pthread_t later;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(gate), 0);
	pid = start_and_see(block_all_for_a_moment, AWAITS_UNCLEAR);
	assert_int_equal(pthread_create(&later, NULL, open_gate_later, NULL), 0);
	assert_int_equal(send_usr1(pid), 0);
	pthread_join(later, NULL);
	assert_int_equal(kill(pid, SIGKILL), 0);
	reap_all();

	pid = start_and_see(block_all_for_a_moment, AWAITS_UNCLEAR); /* for however long */
	assert_int_equal(send_usr1(pid), 0);
	assert_int_equal(write(gate[1], "x", 1), 1);
	kill(pid, SIGKILL);
	reap_all();

	pid = start_and_see(block_all_and_compute, AWAITS_UNCLEAR);
	assert_int_equal(send_usr1(pid), 1);
	kill(pid, SIGKILL);
	reap_all();

	pid = start_and_see(leave_it_to_a_thread, AWAITS_UNCLEAR);
	assert_int_equal(send_usr1(pid), 1);
	kill(pid, SIGKILL);
	reap_all();

	pid = child(one_thread_is_open, NULL);
	assert_int_equal(send_usr1(pid), 0);
	kill(pid, SIGKILL);
	reap_all();
	close(gate[0]);
	close(gate[1]);
}

static void descendants_also_of_descendants(void **state)
{
	pid_t pid = child(leave_a_daemon, NULL);
	struct proc *list;
	size_t n = procs_descendants(getpid(), &list);

	(void)state;
	assert_int_equal(n, 3); /* the child, the daemon and its child */
	free(list);
	assert_int_equal(procs_descendants(pid, &list), 0); /* a daemon is the subreaper's */
	free(list);
	n = procs_descendants(getpid(), &list);
	procs_signal(list, n, SIGKILL, false, NULL, NULL);
	free(list);
	reap_all();
	assert_int_equal(procs_descendants(getpid(), &list), 0);
	free(list);
}

static void marked_by_their_environment(void **state)
{
	struct proc *list;
	char mark[64];
	pid_t pid;

	(void)state;
	snprintf(mark, sizeof(mark), "TEST_MARK_OF=%d", (int)getpid());
	pid = fork();
	if (pid == 0)
		execle("/bin/sleep", "sleep", "1000", NULL, (char *[]){ "A=b", mark, NULL });
	/* Found as soon as it was executed. */
	while (procs_marked(mark, getuid(), &list) != 1)
		free(list);
	assert_int_equal(list[0].pid, pid);
	free(list);
	/* Of another user, who may have written the mark into his own environment. */
	assert_true(procs_marked(mark, getuid() + 1, &list) <= 0);
	free(list);
	mark[strlen(mark) - 1] = '\0'; /* the whole entry, not its beginning */
	assert_true(procs_marked(mark, getuid(), &list) <= 0);
	free(list);
	kill(pid, SIGKILL);
	reap_all();
}

/* --- containers of processes -------------------------------------------------------------------
 */

struct fixture {
	struct contain_root *root;
	struct contain *leaf;
};

static int make_kind(void **state, const char *want)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char tag[64], *path;

	snprintf(tag, sizeof(tag), "test-contain.%d", (int)getpid());
	f->root = contain_root_new(want, tag, "", NULL);
	assert_non_null(f->root);
	path = contain_root_leaf(f->root, "1_0_1");
	f->leaf = contain_new(path, NULL);
	assert_non_null(f->leaf);
	free(path);
	*state = f;
	return 0;
}

static int make_best(void **state)
{
	return make_kind(state, "");
}

static int make_subreaper(void **state)
{
	return make_kind(state, "none");
}

static int unmake(void **state)
{
	struct fixture *f = *state;
	char *path = contain_root_leaf(f->root, "");

	contain_remove(f->leaf);
	contain_free(f->leaf);
	contain_root_free(f->root);
	if (*path) {
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
	free(path);
	free(f);
	return 0;
}

/* Kill until it is empty, as the shepherd does. */
static void kill_all(struct contain *c)
{
	struct pollfd p = { .fd = contain_events_fd(c), .events = POLLPRI };

	while (contain_kill(c), !contain_is_empty(c)) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		poll(&p, p.fd >= 0, 10);
	}
	reap_all();
}

static void all_that_was_started_dies(void **state)
{
	struct fixture *f = *state;
	pid_t pid;

	assert_true(contain_is_empty(f->leaf));
	pid = child(leave_a_daemon, f->leaf);
	assert_false(contain_is_empty(f->leaf));
	kill_all(f->leaf);
	assert_true(contain_is_empty(f->leaf));
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(contain_signal(f->leaf, SIGTERM), 0);
}

static void signals_by_the_rule(void **state)
{
	struct fixture *f = *state;

	child(handle_usr1, f->leaf);
	child(NULL, f->leaf);
	assert_int_equal(contain_warn(f->leaf, SIGUSR1), 1);
	assert_int_equal(contain_warn(f->leaf, SIGTERM), 0);   /* a warning kills nobody */
	assert_int_equal(contain_signal(f->leaf, SIGUSR1), 1); /* who awaits it */
	assert_int_equal(contain_signal(f->leaf, SIGCONT), 2);
	assert_int_equal(contain_signal(f->leaf, SIGWINCH), 2); /* nobody awaits it: all */
	assert_int_equal(contain_signal(f->leaf, SIGTERM), 2);
	while (!contain_is_empty(f->leaf))
		waitpid(-1, NULL, 0);
	reap_all();
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void leave_a_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, wait_for_ever, NULL) != 0)
		_exit(1);
}

static void end_the_first_thread(int sig)
{
	(void)sig;
	syscall(SYS_exit, 0);
}

static void leave_a_thread_alone(void)
{
	signal(SIGUSR2, end_the_first_thread);
	leave_a_thread();
}

/* As soon as it sleeps. */
static void name_sleeper(struct contain *c, char *text, size_t size)
{
	*text = '\0';
	for (int ms = 0; !strstr(text, "state S"); ms++) {
		if (ms > 20000)
			fail_msg("nobody who sleeps: '%s'", text);
		assert_int_equal(contain_name_one(c, text, size), 1);
		usleep(1000);
	}
}

/* What is left of a program that was killed is often one thread, which hangs in a driver, while the
 * first one has gone: the operator is told which it is. */
static void who_is_left_is_named(void **state)
{
	struct fixture *f = *state;
	char text[64] = "x", stat[64], own[16];
	pid_t pid;

	assert_int_equal(contain_name_one(f->leaf, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_true(proc_read(own, sizeof(own), "self/comm") > 0);
	own[strcspn(own, "\n")] = '\0';

	pid = child(leave_a_thread_alone, f->leaf);
	name_sleeper(f->leaf, text, sizeof(text));
	snprintf(stat, sizeof(stat), "%d (%s), state S", (int)pid, own);
	assert_string_equal(text, stat);
	assert_int_equal(syscall(SYS_tgkill, pid, pid, SIGUSR2), 0);
	while (proc_read(stat, sizeof(stat), "%d/task/%d/stat", (int)pid, (int)pid) > 0 &&
	        !strstr(stat, ") Z"))
		usleep(1000);
	name_sleeper(f->leaf, text, sizeof(text));
	assert_int_not_equal(atoi(text), (int)pid);
	assert_non_null(strstr(text, own));
	assert_false(contain_is_empty(f->leaf));
	kill_all(f->leaf);
	assert_int_equal(contain_name_one(f->leaf, text, sizeof(text)), 0);
}

static volatile unsigned *forks; /* counted by all processes */

static void fork_for_ever(void)
{
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			__atomic_add_fetch(forks, 1, __ATOMIC_SEQ_CST);
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

/* A daemon that forks, and a shell, which uses vfork(2) and so waits for children that are stopped.
 */
static void start_forkers(void)
{
	leave_a_daemon();
	if (fork() == 0)
		fork_for_ever();
	if (fork() == 0) {
		execl("/bin/sh", "sh", "-c", "while :; do /bin/true; done", (char *)NULL);
		_exit(1);
	}
}

static void suspend_all(struct contain *c)
{
	struct pollfd p = { .fd = contain_events_fd(c), .events = POLLPRI };

	while (!contain_suspend(c))
		poll(&p, p.fd >= 0, 10);
}

static void await_forks(unsigned beyond)
{
	while (*forks <= beyond)
		poll(NULL, 0, 1);
}

/* Nothing of it runs, however much was forking, and it goes on where it was; dead it is at any
 * time. */
static void suspended_and_resumed(void **state)
{
	struct fixture *f = *state;
	unsigned seen;

	forks = mmap(
	        NULL, sizeof(*forks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(forks != MAP_FAILED);
	child(start_forkers, f->leaf);
	for (int round = 0; round < 20; round++) {
		await_forks(*forks + 3);
		suspend_all(f->leaf);
		assert_true(contain_suspend(f->leaf));
		seen = *forks;
		for (int i = 0; i < 5; i++) {
			poll(NULL, 0, 2);
			assert_int_equal(*forks, seen);
		}
		assert_false(contain_is_empty(f->leaf));
		if (round < 19)
			contain_resume(f->leaf);
	}
	kill_all(f->leaf);
	assert_true(contain_is_empty(f->leaf));
	munmap((void *)forks, sizeof(*forks));
}

/* Others' processes are not touched. */
static void only_what_is_inside(void **state)
{
	struct fixture *f = *state;
	pid_t outside;

	if (strcmp(contain_root_kind(f->root), "cgroup2") != 0)
		skip(); /* with a subreaper all our children are inside */
	outside = child(NULL, NULL);
	child(NULL, f->leaf);
	assert_int_equal(contain_signal(f->leaf, SIGTERM), 1);
	while (!contain_is_empty(f->leaf))
		waitpid(-1, NULL, WNOHANG);
	contain_kill(f->leaf);
	assert_int_equal(kill(outside, 0), 0);
	kill(outside, SIGKILL);
	reap_all();
}

static void names_of_leaves(const char *id, void *arg)
{
	snprintf(arg, 64, "%s", id);
}

static void leaves_are_found_again(void **state)
{
	struct fixture *f = *state;
	char seen[64] = "", *path = contain_root_leaf(f->root, "1_0_1");
	struct contain *again = contain_open(path, NULL);
	struct error err;

	if (strcmp(contain_root_kind(f->root), "cgroup2") != 0) {
		assert_null(again);
	} else {
		assert_non_null(again);
		contain_root_each(f->root, names_of_leaves, seen);
		assert_string_equal(seen, "1_0_1");
		assert_int_equal(contain_remove(again), 0);
		assert_true(contain_is_empty(again)); /* gone is empty */
		assert_null(contain_open(path, &err));
		assert_int_equal(err.code, ERR_NO_JOB);
	}
	contain_free(again);
	free(path);
}

static void a_path_that_was_asked_for_must_work(void **state)
{
	struct error err;

	(void)state;
	assert_null(contain_root_new("cgroup.procs/x", "tag", "", &err));
	assert_int_equal(err.code, ERR_SYSTEM);
}

/* What a launcher starts is born where it has gone, outside all leaves. */
static void the_launcher_moves_where_it_was_told(void **state)
{
	char *mount = cgroupfs_mount(), name[64], own[96];
	struct contain_root *root;
	int status;

	(void)state;
	snprintf(name, sizeof(name), "gpusched-test-%d", (int)getpid());
	root = mount && geteuid() == 0 ? contain_root_new(name, "tag", "", NULL) : NULL;
	if (!root) {
		free(mount);
		skip(); /* only root may make a cgroup there */
	}
	if (fork() == 0) {
		char *before = cgroupfs_own(), *now;
		char *want = xasprintf("/%s/agent", name);

		if (contain_root_enter(root, NULL) < 0)
			_exit(1);
		now = cgroupfs_own();
		_exit(strcmp(before, now) == 0 ? 2 : strcmp(now, want) != 0 ? 3 : 0);
	}
	wait(&status);
	assert_int_equal(status, 0);
	contain_root_free(root);
	snprintf(own, sizeof(own), "%s/%s/agent", mount, name);
	assert_int_equal(rmdir(own), 0);
	*strrchr(own, '/') = '\0';
	assert_int_equal(rmdir(own), 0);
	/* One that was not named is the host's for all agents: it stays where it was started. */
	root = contain_root_new("", "gpusched-test", "", NULL);
	if (fork() == 0) {
		char *before = cgroupfs_own();

		_exit(contain_root_enter(root, NULL) < 0 || strcmp(before, cgroupfs_own()) != 0);
	}
	wait(&status);
	assert_int_equal(status, 0);
	contain_root_free(root);
	free(mount);
}

#define BOTH(f)                                                \
	cmocka_unit_test_setup_teardown(f, make_best, unmake), \
	        cmocka_unit_test_setup_teardown(f, make_subreaper, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_its_id_and_its_beginning),
		cmocka_unit_test(execution_is_seen),
		cmocka_unit_test(who_awaits_a_signal),
		cmocka_unit_test(who_blocks_signals),
		cmocka_unit_test(a_moment_without_signals_passes),
		cmocka_unit_test(descendants_also_of_descendants),
		cmocka_unit_test(marked_by_their_environment),
		BOTH(all_that_was_started_dies),
		BOTH(signals_by_the_rule),
		BOTH(who_is_left_is_named),
		BOTH(suspended_and_resumed),
		cmocka_unit_test_setup_teardown(only_what_is_inside, make_best, unmake),
		BOTH(leaves_are_found_again),
		cmocka_unit_test(a_path_that_was_asked_for_must_work),
		cmocka_unit_test(the_launcher_moves_where_it_was_told),
	};

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
