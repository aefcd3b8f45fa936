/* test_supervise.c - who starts the agent again, and what the network half gives away
 *
 * Workers are children of children, so they leave their traces in a file: a byte for each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/log.h"
#include "noded/privilege.h"
#include "noded/supervise.h"

enum { WAIT_MS = 20000 };

/* Shared with the children. */
struct shared {
	volatile unsigned workers;
	volatile pid_t last;
	volatile unsigned hups;
};

static struct shared *shared;

static int share(void **state)
{
	struct error err;

	(void)state;
	shared = mmap(
	        NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED ? -1 : log_open("/dev/null", "info", "test", &err);
}

static int unshare_all(void **state)
{
	(void)state;
	log_close();
	return munmap(shared, sizeof(*shared));
}

static int forget(void **state)
{
	(void)state;
	memset(shared, 0, sizeof(*shared));
	return 0;
}

static void wait_for(bool (*condition)(void))
{
	const struct timespec step = { .tv_nsec = 1000000 };

	for (int ms = 0; !condition(); ms++) {
		if (ms > WAIT_MS)
			fail_msg("waited %d ms", WAIT_MS);
		nanosleep(&step, NULL);
	}
}

/* Behaviour by number: what the nth worker does. */
enum deed { END_0, END_1, AGAIN, DIE, WAIT };

static void on_hup(int sig)
{
	(void)sig;
	shared->hups++;
}

static int worker(void *arg, unsigned nth)
{
	const enum deed *deeds = arg;

	if (nth != shared->workers)
		return 99;
	signal(SIGHUP, on_hup);
	shared->last = getpid();
	shared->workers++;
	switch (deeds[nth]) {
	case END_0:
		return 0;
	case END_1:
		return 1;
	case AGAIN:
		return SUPERVISE_AGAIN;
	case DIE:
		raise(SIGKILL);
		return 98;
	default:
		for (;;)
			pause();
	}
}

static void deeds_are_answered(void **state)
{
	static const struct {
		enum deed deeds[4];
		unsigned workers;
		int status;
	} cases[] = {
		{ { END_0 }, 1, 0 },
		{ { END_1 }, 1, 1 }, /* a fault that a new start does not mend */
		{ { AGAIN, AGAIN, END_0 }, 3, 0 },
		{ { DIE, END_1 }, 2, 1 },
		{ { DIE, AGAIN, END_0 }, 3, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct error err;

		forget(state);
		assert_int_equal(supervise(worker, (void *)cases[i].deeds, &err), cases[i].status);
		assert_int_equal(shared->workers, cases[i].workers);
	}
}

static bool one_worker(void)
{
	return shared->workers == 1;
}

static bool one_hup(void)
{
	return shared->hups == 1;
}

static bool is_gone(void)
{
	return kill(shared->last, 0) < 0;
}

/* Start a supervisor of its own; its worker waits. */
static pid_t start_waiting(void)
{
	static const enum deed deeds[] = { WAIT };
	pid_t pid = fork();

	if (pid == 0)
		_exit(supervise(worker, (void *)deeds, NULL));
	wait_for(one_worker);
	return pid;
}

static void signals_are_passed_on(void **state)
{
	pid_t pid = start_waiting();
	int status;

	(void)state;
	kill(pid, SIGHUP);
	wait_for(one_hup);
	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(shared->workers, 1);
	wait_for(is_gone);
}

static int bound_worker(void *arg, unsigned nth)
{
	static const enum deed deeds[] = { WAIT };

	if (!supervise_me(*(pid_t *)arg))
		return 97;
	return worker((void *)deeds, nth);
}

static void worker_dies_with_its_supervisor(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		pid_t self = getpid();

		_exit(supervise(bound_worker, &self, NULL));
	}
	wait_for(one_worker);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	wait_for(is_gone);
}

static bool two_workers(void)
{
	return shared->workers == 2;
}

/* Whoever has started us may ignore the ends of his children, and that is inherited. */
static void ends_that_were_ignored(void **state)
{
	static const enum deed deeds[] = { DIE, END_1 };
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		supervise_me(getppid()); /* if this fails it is gone */
		signal(SIGCHLD, SIG_IGN);
		_exit(supervise(worker, (void *)deeds, NULL));
	}
	wait_for(two_workers);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

/* --- privileges ------------------------------------------------------------------------------ */

/* Drop in a child, then look at it, and at what it executes. Returns the child's exit status. */
static int dropped(const char *user, const char *script)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (privilege_drop(user, NULL) < 0)
			_exit(100);
		execl("/bin/sh", "sh", "-c", script, (char *)NULL);
		_exit(101);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define NOTHING_LEFT                                                                    \
	"test \"$(grep -cE '^Cap(Inh|Prm|Eff|Amb):\\s0+$' /proc/self/status)\" = 4 && " \
	"grep -qE '^NoNewPrivs:\\s1$' /proc/self/status"

/* Also: nothing of root's can be written, though /etc/passwd lets its owner. */
static void root_becomes_another_user(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(
	        dropped(NULL,
	                NOTHING_LEFT " && test \"$(id -u)\" != 0 && ! test -w /etc/passwd"),
	        0);
	assert_int_equal(
	        dropped("daemon", NOTHING_LEFT " && test \"$(id -un)\" = daemon"), 0);
}

/* Where it is told to stay root. */
static void root_keeps_no_capability(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(dropped("root", NOTHING_LEFT " && test \"$(id -u)\" = 0"), 0);
	assert_int_equal(
	        dropped("root",
	                "grep -qE '^CapBnd:\\s0+$' /proc/self/status && ! chown 1 /proc/self"),
	        0);
}

static void who_cannot_be(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(privilege_drop("no-such-user-here", &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	if (geteuid() != 0) {
		assert_int_equal(privilege_drop("root", &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deeds_are_answered),
		cmocka_unit_test_setup(signals_are_passed_on, forget),
		cmocka_unit_test_setup(worker_dies_with_its_supervisor, forget),
		cmocka_unit_test_setup(ends_that_were_ignored, forget),
		cmocka_unit_test(root_becomes_another_user),
		cmocka_unit_test(root_keeps_no_capability),
		cmocka_unit_test(who_cannot_be),
	};

	return cmocka_run_group_tests(tests, share, unshare_all);
}
