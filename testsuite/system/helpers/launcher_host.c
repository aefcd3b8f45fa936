/* launcher_host.c - an agent's network half for tests: it only passes bytes on
 *
 *   launcher_host FD NODE CLUSTER RUNDIR SPOOL MUNGE-SOCKET SHEPHERD CGROUP ALLOW-ROOT
 *                 SIGNATURE-AGE [KEY=VALUE ...]
 *
 * Forks the launcher, prints its process id, and copies between the socket FD and the launcher's
 * until one of them is closed. The tests (launcher.py) speak the messages.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noded/contain/private_mounts.h"
#include "noded/gpu/driver_process.h"
#include "noded/launcher/launcher.h"

static int copy(int from, int to)
{
	static char b[65536];
	ssize_t n = read(from, b, sizeof(b)), done = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	while (done < n) {
		struct pollfd p = { .fd = to, .events = POLLOUT };
		ssize_t w = write(to, b + done, (size_t)(n - done));

		if (w < 0 && errno == EAGAIN)
			poll(&p, 1, -1);
		else if (w < 0 && errno != EINTR)
			return -1;
		else if (w > 0)
			done += w;
	}
	return 0;
}

/* What only some tests want. */
static int take(struct launcher_options *o, const char *word)
{
	const char *value = strchr(word, '=');
	size_t len = value ? (size_t)(value - word) : 0;
	struct error err;

	if (len == strlen("over_memory") && strncmp(word, "over_memory", len) == 0)
		return overmem_parse(value + 1, &o->over_memory, &err);
	if (len == strlen("share_users") && strncmp(word, "share_users", len) == 0)
		o->share_users_one = strcmp(value + 1, "one") == 0;
	else if (len == strlen("sample_ms") && strncmp(word, "sample_ms", len) == 0)
		o->sample_ms = strtoull(value + 1, NULL, 10);
	else if (len == strlen("spool_min_free_mb") && strncmp(word, "spool_min_free_mb", len) == 0)
		o->spool_min_free_mb = strtoull(value + 1, NULL, 10);
	else if (len == strlen("launch_timeout_ms") && strncmp(word, "launch_timeout_ms", len) == 0)
		o->launch_timeout_ms = strtoull(value + 1, NULL, 10);
	else if (len == strlen("service_ports") && strncmp(word, "service_ports", len) == 0)
		return sscanf(value + 1, "%u-%u", &o->service_port_low, &o->service_port_high) == 2
		               ? 0
		               : -1;
	else if (len == strlen("service_age_s") && strncmp(word, "service_age_s", len) == 0)
		o->service_age_s = strtoull(value + 1, NULL, 10);
	else if (len == strlen("task_prolog") && strncmp(word, "task_prolog", len) == 0)
		o->programs[PROGRAM_TASK_PROLOG] = value + 1;
	else if (len == strlen("mps") && strncmp(word, "mps", len) == 0)
		o->mps = value + 1;
	else if (len == strlen("prolog") && strncmp(word, "prolog", len) == 0)
		o->programs[PROGRAM_PROLOG] = value + 1;
	else if (len == strlen("containment") && strncmp(word, "containment", len) == 0)
		o->containment = value + 1;
	else if (len == strlen("gpus") && strncmp(word, "gpus", len) == 0)
		o->devices.gpus = value + 1;
	else if (len == strlen("private") && strncmp(word, "private", len) == 0)
		return private_parse(value + 1, &o->private_kinds, &err);
	else
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	struct launcher_options o = { 0 };
	struct error err;
	int test, launcher, status = 0;
	pid_t pid;

	driver_process_main(argc, argv);
	if (argc < 11)
		return 2;
	for (int i = 11; i < argc; i++)
		if (take(&o, argv[i]) < 0)
			return 2;
	test = atoi(argv[1]);
	o.node = argv[2];
	o.cluster = argv[3];
	o.rundir = argv[4];
	o.spool = argv[5];
	o.munge_socket = argv[6];
	o.shepherd = argv[7];
	o.cgroup = argv[8];
	o.allow_root = atoi(argv[9]);
	o.signature_age_s = (uint64_t)atoll(argv[10]);
	launcher = launcher_fork(&o, NULL, &pid, &err);
	if (launcher < 0) {
		fprintf(stderr, "launcher_host: error: %s\n", err.text);
		return 1;
	}
	printf("%d\n", (int)pid);
	fflush(stdout);
	for (;;) {
		struct pollfd p[] = {
			{ .fd = test, .events = POLLIN },
			{ .fd = launcher, .events = POLLIN },
		};

		poll(p, 2, -1);
		if ((p[0].revents && copy(test, launcher) < 0) ||
		        (p[1].revents && copy(launcher, test) < 0))
			break;
	}
	close(launcher);
	close(test);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
