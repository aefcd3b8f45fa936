/* salloc.c - a shell, or a command, with an allocation: as salloc(1) of Slurm 22.05 */
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmds/cli/cmd.h"
#include "cmds/srun/srun.h"

extern char **environ;

const char *srun_name = "salloc";

#define PATIENCE_S        60
#define FOR_EVER          UINT32_MAX
#define POLL_MS           200
#define EXIT_NOT_EXECUTED 1

/* --- the command's environment ---------------------------------------------------------------- */

static void set_number(const char *name, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	setenv(name, text, 1);
}

/* "8(x2)" */
static void set_each(const char *name, uint32_t v, uint32_t nodes)
{
	char text[64];

	snprintf(text, sizeof(text), nodes > 1 ? "%u(x%u)" : "%u", v, nodes);
	setenv(name, text, 1);
}

static void set_tasks(const struct srun_options *o, const struct srun_allocation *a)
{
	uint32_t each = a->tasks / a->nodes, more = a->tasks % a->nodes;
	char text[64];

	if (!a->tasks) {
		set_each("SLURM_TASKS_PER_NODE", 1, a->nodes);
		return;
	}
	set_number("SLURM_NTASKS", a->tasks);
	set_number("SLURM_NPROCS", a->tasks);
	if (o->ntasks_per_node)
		set_number("SLURM_NTASKS_PER_NODE", o->ntasks_per_node);
	if (!more) {
		set_each("SLURM_TASKS_PER_NODE", each, a->nodes);
		return;
	}
	snprintf(text, sizeof(text), "%u(x%u),%u(x%u)", each + 1, more, each, a->nodes - more);
	setenv("SLURM_TASKS_PER_NODE", text, 1);
}

static void set_environment(const struct srun_options *o, const struct srun_allocation *a)
{
	char here[4096], host[256] = "";

	set_number("SLURM_JOB_ID", a->job.id);
	set_number("SLURM_JOBID", a->job.id);
	setenv("SLURM_JOB_NODELIST", a->nodelist, 1);
	setenv("SLURM_NODELIST", a->nodelist, 1);
	set_number("SLURM_JOB_NUM_NODES", a->nodes);
	set_number("SLURM_NNODES", a->nodes);
	set_each("SLURM_JOB_CPUS_PER_NODE", a->cpus_per_node, a->nodes);
	setenv("SLURM_JOB_PARTITION", a->partition, 1);
	setenv("SLURM_JOB_NAME", o->name ? o->name : "interactive", 1);
	if (o->cpus_per_task)
		set_number("SLURM_CPUS_PER_TASK", o->cpus_per_task);
	set_tasks(o, a);
	if (getcwd(here, sizeof(here)))
		setenv("SLURM_SUBMIT_DIR", here, 1);
	gethostname(host, sizeof(host) - 1);
	setenv("SLURM_SUBMIT_HOST", host, 1);
}

/* --- the command ------------------------------------------------------------------------------ */

static char **shell_words(void)
{
	static char *words[2];
	const struct passwd *who = getpwuid(getuid());
	const char *shell = getenv("SHELL");

	words[0] = (char *)(uintptr_t)(shell && *shell         ? shell
	                               : who && *who->pw_shell ? who->pw_shell
	                                                       : "/bin/sh");
	return words;
}

/* In a process group of its own where there is a terminal, which it gets: ^C is the command's. */
static pid_t start(char **words, bool terminal)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	if (terminal) {
		setpgid(0, 0);
		signal(SIGTTOU, SIG_IGN);
		tcsetpgrp(STDIN_FILENO, getpid());
		signal(SIGTTOU, SIG_DFL);
	}
	execvp(words[0], words);
	srun_fail("Unable to exec command \"%s\"", words[0]);
	_exit(EXIT_NOT_EXECUTED);
}

static int pidfd_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Until the command has ended; *revoked: the allocation has, before it. */
static int wait_for(pid_t pid, int fd, const struct srun_allocation *a, bool *revoked)
{
	struct pollfd p[2] = { { .fd = pidfd_of(pid), .events = POLLIN },
		{ .fd = fd, .events = POLLIN } };
	uint8_t bytes[512];
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		poll(p, *revoked ? 1 : 2, p[0].fd < 0 ? POLL_MS : -1);
		if (*revoked || !(p[1].revents & (POLLIN | POLLHUP)) ||
		        read(fd, bytes, sizeof(bytes)) > 0 || errno == EAGAIN)
			continue;
		*revoked = true;
		srun_info("Job allocation %s has been revoked.", a->job.name);
		kill(pid, SIGHUP);
	}
	close(p[0].fd);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_command(const struct srun_options *o, const struct srun_allocation *a, int fd)
{
	bool terminal = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp(),
	     revoked = false;
	char **words = o->command[0] ? o->command : shell_words();
	pid_t pid;
	int status;

	set_environment(o, a);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	pid = start(words, terminal);
	status = pid < 0 ? EXIT_NOT_EXECUTED : wait_for(pid, fd, a, &revoked);
	if (terminal)
		tcsetpgrp(STDIN_FILENO, getpgrp());
	if (!revoked) {
		srun_info("Relinquishing job allocation %s", a->job.name);
		srun_quit(fd, status);
	}
	return status;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* In an allocation that is there. */
static int run_in(const struct srun_options *o, const struct srun_allocation *a, bool no_shell,
        struct error *err)
{
	int fd, status = -1;

	srun_info("Granted job allocation %s", a->job.name);
	if (no_shell)
		return 0;
	fd = srun_connect(&a->job, err);
	if (fd >= 0)
		status = run_command(o, a, fd);
	else
		srun_cancel(a->job.id);
	srun_hang_up();
	return status;
}

static int run(const struct srun_options *o, bool no_shell, struct error *err)
{
	struct srun_allocation a = { .nodes = 0 };
	struct submit_options job;
	int status = -1;

	if (srun_job_options(o, &job, err) == 0 &&
	        srun_allocate(o, &job, no_shell ? FOR_EVER : PATIENCE_S, &a, err) == 0)
		status = run_in(o, &a, no_shell, err);
	srun_allocation_clear(&a);
	options_clear(&job);
	return status;
}

/* --no-shell is salloc's alone: it is taken out before the others are read. */
static bool take_no_shell(int *argc, char **argv)
{
	int n = 0;
	bool found = false, options = true;

	for (int i = 0; i < *argc; i++) {
		options &= i == 0 || argv[i][0] == '-';
		if (options && !strcmp(argv[i], "--no-shell"))
			found = true;
		else
			argv[n++] = argv[i];
	}
	argv[ *argc = n] = NULL;
	return found;
}

int main(int argc, char **argv)
{
	struct srun_options o;
	struct error err = { .code = ERR_NONE };
	char name[] = "salloc";
	bool unknown, no_shell = take_no_shell(&argc, argv);
	int status;

	cmd_occupy_standard_files();
	argv[0] = name;
	srun_options_init(&o);
	if (srun_options_from_words(&o, argc, argv, &unknown, &err) < 0) {
		if (unknown)
			fprintf(stderr, "%s\n", err.text);
		else
			srun_fail("%s", err.text);
		return unknown ? 255 : 1;
	}
	if (o.version)
		return puts(SRUN_VERSION) < 0;
	if (o.help)
		return srun_options_help(stdout, srun_name), 0;
	status = run(&o, no_shell, &err);
	if (status < 0) {
		srun_fail("%s", err.text);
		status = 1;
	}
	srun_options_clear(&o);
	return status;
}
