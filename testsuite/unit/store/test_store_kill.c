/* test_store_kill.c - the store's process is killed, at random and at each of its failpoints
 *
 * A child works through the model on a real folder and writes the number of each acknowledged
 * commit into a pipe; when it is dead, the folder must hold the last one acknowledged, or the next.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/failpoint.h"
#include "common/base/xalloc.h"
#include "testsuite/unit/lib/store_fixture.h"
#include "testsuite/unit/lib/store_model.h"

#define COMMITS 150 /* a synchronous store makes its first checkpoint before that */

/* The child, a process of its own: goes on from what is there. */
static int child(const char *dir, bool synchronous, int out)
{
	struct event_base *base = synchronous ? NULL : event_base_new();
	struct store *store;
	struct error err;
	uint64_t i, acknowledged = 0;

	store = fixture_open(dir, NULL, synchronous, base);
	if (!store)
		return 1;
	i = model_check(store, base);
	for (uint64_t end = i + COMMITS; i < end;) {
		if (model_work(store, base, i + 1, i + 1, &acknowledged, &err) != i + 1)
			return 1;
		i++;
		if (write(out, &i, sizeof(i)) != sizeof(i))
			return 1;
	}
	return 0;
}

struct end {
	uint64_t acknowledged; /* 0: none this time */
	bool killed;
};

/* Run a child to its end, or kill it after so many acknowledged commits (0: leave it). */
static struct end run(const char *dir, bool synchronous, const char *failpoint, uint64_t kill_after)
{
	struct end end = { 0 };
	int fds[2], status;
	uint64_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		if (failpoint)
			setenv("GPUSCHED_FAILPOINT", failpoint, 1);
		dup2(fds[1], STDIN_FILENO); /* any number that the child knows will do */
		close(fds[0]);
		close(fds[1]);
		execl("/proc/self/exe", "child", dir, synchronous ? "synchronous" : "threads",
		        (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	for (uint64_t i = 1; read(fds[0], &n, sizeof(n)) == sizeof(n); i++) {
		end.acknowledged = n;
		if (i == kill_after)
			kill(pid, SIGKILL);
	}
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	end.killed = WIFSIGNALED(status);
	if (end.killed)
		assert_int_equal(WTERMSIG(status), SIGKILL);
	else
		assert_int_equal(WEXITSTATUS(status), 0);
	return end;
}

static uint64_t check(const char *dir, uint64_t low, uint64_t high)
{
	struct store *store = fixture_open(dir, NULL, true, NULL);
	uint64_t commit;

	assert_non_null(store);
	commit = model_check(store, NULL);
	store_close(store);
	if (commit < low || commit > high)
		fail_msg("commit %llu, not %llu to %llu", (unsigned long long)commit,
		        (unsigned long long)low, (unsigned long long)high);
	return commit;
}

static void test_random_kills(void **state)
{
	char *dir = fixture_mkdir();
	uint64_t commit = 0;
	unsigned killed = 0;

	(void)state;
	for (unsigned round = 1; round <= 40; round++) {
		struct end end = run(dir, round % 4 == 0, NULL, 1 + round * 29 % 97);

		/* On a busy machine the child may have done all before the signal came. */
		killed += end.killed;
		assert_true(end.acknowledged > commit);
		/* it may have gone on until the signal arrived */
		commit = check(dir, end.acknowledged, end.acknowledged + COMMITS);
	}
	assert_true(killed > 0);
	fixture_rmdir(dir);
}

#ifdef ENABLE_FAILPOINTS
/* Those of the store that such a workload comes by. A full disk it does not meet. */
static const struct {
	const char *name;
	unsigned passes;
} points[] = {
	{ "store_before_batch", 9 },
	{ "store_before_commit", 9 },
	{ "store_after_commit", 9 },
	{ "store_before_done", 9 },
	{ "store_after_done", 9 },
	{ "store_before_checkpoint", 1 },
	{ "store_after_checkpoint", 1 },
	{ "history_before_commit", 3 },
	{ "history_after_commit", 3 },
	{ "history_before_delete", 3 },
	{ "history_after_delete", 3 },
};

static void test_failpoints(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++)
		for (unsigned pass = 1; pass <= points[i].passes; pass += 2) {
			char *dir = fixture_mkdir();
			char *wish = xasprintf("%s:%u", points[i].name, pass);
			struct end end = run(dir, true, wish, 0);

			if (!end.killed)
				fail_msg("%s was not passed", wish);
			check(dir, end.acknowledged, end.acknowledged + 1);
			free(wish);
			fixture_rmdir(dir);
		}
}
#else
static void test_failpoints(void **state)
{
	(void)state;
	print_message("skipped: built without --enable-failpoints\n");
	skip();
}
#endif

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_kills),
		cmocka_unit_test(test_failpoints),
	};

	if (argc == 3)
		return child(argv[1], !strcmp(argv[2], "synchronous"), STDIN_FILENO);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
