/* test_daemon.c - detaching, readiness */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/daemon.h"

static char dir[] = "/tmp/test_daemon.XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	return rmdir(dir);
}

#define DEADLINE_S 60

/* What a command that starts a daemon exits with and shows, when the daemon says `text` and then is
 * ready or dies. A child of it lives on until this returns: if the starter waited for the child,
 * neither would end before the alarm. */
static int detached(const char *text, bool ready, char *shown, size_t size)
{
	int out[2], hold[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(hold), 0);
	pid = fork();
	if (pid == 0) {
		int fd;

		dup2(out[1], STDERR_FILENO);
		close(out[0]);
		close(out[1]);
		close(hold[1]);
		if (daemon_detach(&fd, NULL) < 0)
			_exit(99);
		if (ready && fork() == 0) {
			char c;

			_exit((int)read(hold[0], &c, 1));
		}
		fprintf(stderr, "%s", text);
		if (ready)
			daemon_ready(fd, "");
		fprintf(stderr, "too late");
		_exit(7);
	}
	close(out[1]);
	close(hold[0]);
	while (n < size - 1 && (got = read(out[0], shown + n, size - 1 - n)) > 0)
		n += (size_t)got;
	shown[n] = '\0';
	close(out[0]);
	close(hold[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void the_starter_waits_for_the_word(void **state)
{
	char shown[64];

	(void)state;
	assert_int_equal(detached("", true, shown, sizeof(shown)), 0);
	assert_string_equal(shown, "");
	assert_int_equal(detached("a warning\n", true, shown, sizeof(shown)), 0);
	assert_string_equal(shown, "a warning\n");
	assert_int_equal(detached("no\n", false, shown, sizeof(shown)), 1);
	assert_string_equal(shown, "no\ntoo late");
}

static void readiness_reaches_the_manager(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char text[256] = "";
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	(void)state;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/notify", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	setenv("NOTIFY_SOCKET", at.sun_path, 1);
	daemon_ready(-1, "node n1");
	assert_true(recv(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "READY=1\nSTATUS=node n1");
	setenv("NOTIFY_SOCKET", "relative", 1);
	daemon_notify("STOPPING=1");
	unsetenv("NOTIFY_SOCKET");
	daemon_notify("STOPPING=1");
	assert_int_equal(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT), -1);
	close(fd);
	unlink(at.sun_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_starter_waits_for_the_word),
		cmocka_unit_test(readiness_reaches_the_manager),
	};

	alarm(DEADLINE_S);
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
