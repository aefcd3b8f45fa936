/* job_process.c - see job_process.h */
#include "config.h"

#include "noded/exec/job_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/failpoint.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "noded/contain/cgroup_limits.h"
#include "noded/contain/private_mounts.h"
#include "noded/exec/become_user.h"
#include "noded/exec/job_process_impl.h"
#include "noded/exec/rlimits.h"
#include "noded/exec/site_program_allowed.h"
#include "noded/record/inherit.h"
#include "noded/record/record.h"
#include "noded/record/rundir.h"

#define KERNEL_SIGNALS 64
#define TIMER_SLACK_NS 50000 /* the kernel's default [prctl(2)] */

#define EXIT_CHILD 125 /* not evaluated: the pipe has reported the failure */

void child_step(const struct child *c, enum child_step now)
{
	if (c->step)
		*c->step = (int)now;
}

static _Noreturn void tell_failure(const struct child *c, char whose, const char *fmt, va_list ap)
        __attribute__((format(printf, 3, 0)));

static void tell_failure(const struct child *c, char whose, const char *fmt, va_list ap)
{
	char raw[CHILD_TELL_MAX - 1], told[CHILD_TELL_MAX] = { whose };
	ssize_t n;

	vsnprintf(raw, sizeof(raw), fmt, ap);
	text_escape(told + 1, sizeof(told) - 1, raw, strlen(raw));
	n = write(c->tell, told, strlen(told));
	(void)n;
	_exit(EXIT_CHILD);
}

void child_fail(const struct child *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell_failure(c, CHILD_FAILED, fmt, ap);
	va_end(ap);
}

void child_fail_owner(const struct child *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell_failure(c, CHILD_FAILED_OWNER, fmt, ap);
	va_end(ap);
}

static char **list_of(const ProtobufCBinaryData *v, size_t n, char *first)
{
	char **list = xcalloc(n + 2, sizeof(*list));
	size_t at = 0;

	if (first)
		list[at++] = first;
	for (size_t i = 0; i < n; i++)
		list[at++] = record_string(&v[i]);
	return list;
}

/* --- the process ------------------------------------------------------------------------------ */

/* An agent that is not root may be unable to reset its nice value, and its jobs keep it. CPUs: all
 * that the kernel's command line and the cgroups leave; init's mask shows that, while the agent's
 * own mask is that of its unit. */
static void reset_service(void)
{
	cpu_set_t cpus;

	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	setpriority(PRIO_PROCESS, 0, 0);
	syscall(SYS_ioprio_set, 1 /* a process */, 0, 0 /* by how nice it is [ioprio_set(2)] */);
	if (sched_getaffinity(1, sizeof(cpus), &cpus) == 0)
		sched_setaffinity(0, sizeof(cpus), &cpus);
	syscall(SYS_set_mempolicy, 0 /* MPOL_DEFAULT */, NULL, 0);
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	prctl(PR_SET_SECUREBITS, 0, 0, 0, 0);
	personality(PER_LINUX);
}

/* Signals that the agent ignored or blocked, and its scheduling, must not affect the job. The job
 * gets a session of its own, so that `kill 0` in a script does not reach the shepherd. */
static void reset_process(void)
{
	static const unsigned long dfl[8]; /* the kernel's struct sigaction: SIG_DFL, no flags */
	const uint64_t none = 0;

	/* By the system call: the C library reserves two signals and would leave them as they
	 * were inherited. */
	for (int sig = 1; sig <= KERNEL_SIGNALS; sig++)
		syscall(SYS_rt_sigaction, sig, dfl, NULL, KERNEL_SIGNALS / 8);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
	reset_service();
	setsid();
}

static void become_owner(const struct child *c)
{
	const Gpusched__LaunchRecord *l = c->launch;
	struct become_user_to to = {
		.uid = l->report->uid, .gid = l->gid, .groups = l->groups, .n_groups = l->n_groups
	};
	struct error err;
	int r = l->switch_user ? become_user_for_good(&become_user_system_calls, &to, &err)
	                       : become_user_prove(&become_user_system_calls, &to, &err);

	if (r < 0)
		child_fail(c, "%s", err.text);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		child_fail(c, "cannot renounce new privileges: %s", strerror(errno));
}

/* A job must not outlive its shepherd, because no other process can report how it ended. Set after
 * the change of user, which clears it [prctl(2)]. */
static void die_with_shepherd(const struct child *c, pid_t shepherd)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		child_fail(c, "cannot bind to the shepherd: %s", strerror(errno));
	if (getppid() != shepherd)
		_exit(EXIT_CHILD);
}

static void enter_directory(const struct child *c)
{
	char *cwd = record_string(&c->launch->cwd);

	child_step(c, CHILD_ENTERS);
	umask((mode_t)(c->launch->umask & 0777));
	if (chdir(cwd) < 0)
		child_fail_owner(
		        c, "cannot enter the working directory '%s': %s", cwd, strerror(errno));
	free(cwd);
}

/* --- the program ------------------------------------------------------------------------------ */

/* execve(2) reports ENOENT or EACCES of the interpreter as if it were the script's: name both. */
static _Noreturn void explain_exec(const struct child *c, const char *script, int error)
{
	char line[256] = "";
	int fd = open(script, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (error == E2BIG)
		child_fail_owner(c,
		        "cannot execute the script: arguments and environment are too large "
		        "for the kernel");
	if (error == EACCES)
		child_fail_owner(c,
		        "cannot execute the script ('%s'): %s; the interpreter or the node's spool "
		        "directory does not permit it",
		        line, strerror(error));
	child_fail_owner(c, "cannot execute the script ('%s'): %s", line, strerror(error));
}

static _Noreturn void execute(const struct child *c)
{
	const Gpusched__LaunchRecord *l = c->launch;
	char *dir = record_string(&l->run_dir);
	char *script = l->program.len ? record_string(&l->program)
	                              : xasprintf("%s/%s", dir, RUNDIR_SCRIPT);
	char **argv = list_of(l->args, l->n_args, script);
	char **env = list_of(l->env, l->n_env, NULL);

	child_step(c, CHILD_EXECUTES);
	if (c->probe >= 0)
		child_put_stream(c, c->probe, PROBE_FD);
	FAILPOINT(shepherd_before_exec);
	execve(script, argv, env);
	if (l->program.len && errno != E2BIG)
		child_fail(c, "cannot execute '%s': %s", script, strerror(errno));
	explain_exec(c, script, errno);
}

/* --- the site's program before it ------------------------------------------------------------- */

/* If the program hangs, the shepherd kills all of the run once this process has reported it. */
static void wait_for(const struct child *c, pid_t pid, uint64_t timeout_ms)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int status, ms = timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms;

	if (p.fd < 0 || poll(&p, 1, ms) < 0)
		child_fail(c, "cannot wait for the task prolog: %s", strerror(errno));
	close(p.fd);
	if (waitpid(pid, &status, WNOHANG) != pid)
		child_fail(c, "the task prolog has not ended after %d s", ms / 1000);
	if (WIFSIGNALED(status))
		child_fail(c, "the task prolog was ended by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		child_fail(c, "the task prolog ended with exit code %d", WEXITSTATUS(status));
}

/* Done while this process is root and sees the files that root sees. */
static void check_before(const struct child *c)
{
	const Gpusched__RunProgram *p = program_of(c->launch, PROGRAM_TASK_PROLOG);
	char *path = p ? record_string(&p->path) : NULL;
	struct error err;

	if (p && program_recheck(path, &err) < 0)
		child_fail(c, "the task prolog is not run: %s", err.text);
	free(path);
}

static void run_before(const struct child *c)
{
	const Gpusched__RunProgram *p = program_of(c->launch, PROGRAM_TASK_PROLOG);
	char *path, *argv[2] = { NULL, NULL };
	pid_t pid;
	int error;

	if (!p)
		return;
	child_step(c, CHILD_WAITS);
	path = argv[0] = record_string(&p->path);
	error = posix_spawn(
	        &pid, path, NULL, NULL, argv, list_of(c->launch->env, c->launch->n_env, NULL));
	if (error)
		child_fail(c, "the task prolog cannot be executed: %s%s", strerror(error),
		        program_exec_hint(error));
	free(path);
	wait_for(c, pid, p->timeout_ms);
}

/* Only as root, and before this process becomes the user: the agent's protection from the OOM
 * killer must not pass to the job. An agent that is not root has none to reset. */
static int reset_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	char now[16] = "";
	bool good;

	if (fd < 0)
		return geteuid() == 0 ? -1 : 0;
	good = write(fd, "0", 1) == 1 || (pread(fd, now, sizeof(now) - 1, 0) > 0 && *now != '-');
	close(fd);
	return good ? 0 : -1;
}

int child_reset(void)
{
	reset_process();
	return reset_oom_score();
}

/* "0-15,32-47"; false: it is no such list. */
static bool parse_cpus(const char *list, cpu_set_t *set)
{
	char *at = NULL;

	CPU_ZERO(set);
	for (; *list; list = at + (*at == ',')) {
		unsigned long first = strtoul(list, &at, 10), last = first;

		if (at == list)
			return false;
		if (*at == '-')
			last = strtoul(at + 1, &at, 10);
		if (last >= CPU_SETSIZE || (*at && *at != ','))
			return false;
		for (unsigned long cpu = first; cpu <= last; cpu++)
			CPU_SET(cpu, set);
	}
	return true;
}

/* Use the CPUs near its GPUs, if the booked CPUs fit there: an optimization, not a limit. */
static void near_gpus(const Gpusched__LaunchRecord *l)
{
	char *list = record_string(&l->near_cpus);
	cpu_set_t near, now, both;

	if (*list && parse_cpus(list, &near) && sched_getaffinity(0, sizeof(now), &now) == 0) {
		CPU_AND(&both, &near, &now);
		if (CPU_COUNT(&both) > 0 && (uint32_t)CPU_COUNT(&both) >= l->report->cpus)
			sched_setaffinity(0, sizeof(both), &both);
	}
	free(list);
}

/* Steps that need root: what the owner must not be able to undo. */
static void be_apart(const struct child *c)
{
	const Gpusched__LaunchRecord *l = c->launch;
	struct private_place place = private_place_of(l);
	const char *what;

	if (place.kinds && private_enter(&place, &what) < 0)
		child_fail(c, "cannot have a private %s: %s", what, strerror(errno));
	free(place.dir);
	near_gpus(l);
	if (rlimits_set(l->rlimits, l->n_rlimits, &what) < 0)
		child_fail(c, "cannot set the limit %s: %s", what, strerror(errno));
}

static void become_job(const struct child *c, pid_t shepherd)
{
	if (cgroup_limits_enter(c->launch->limits, c->launch->n_limits) < 0)
		child_fail(c, "cannot enter the run's cgroups: %s", strerror(errno));
	be_apart(c);
	become_owner(c);
	die_with_shepherd(c, shepherd);
	enter_directory(c);
}

void child_run(const struct child_start *start)
{
	struct child c = { .launch = start->launch,
		.ends = start->ends,
		.step = start->step,
		.tell = start->tell,
		.probe = start->probe };

	/* The lock shows that the shepherd is alive; this process may hang for longer. */
	close(SHEPHERD_LAUNCH_FD);
	if (child_reset() < 0)
		child_fail(&c, "cannot have an OOM score of its own: %s", strerror(errno));
	check_before(&c);
	become_job(&c, start->shepherd);
	if (c.ends->n)
		child_take_ends(&c);
	else
		child_open_files(&c);
	run_before(&c);
	execute(&c);
}

void child_step_text(const Gpusched__LaunchRecord *l, int at, char out[CHILD_TELL_MAX / 2])
{
	const struct {
		const char *what;
		const ProtobufCBinaryData *path;
	} steps[CHILD_STEPS] = {
		[CHILD_BEGINS] = { "becoming its owner", NULL },
		[CHILD_ENTERS] = { "entering the working directory", &l->cwd },
		[CHILD_OPENS_INPUT] = { "opening the input file", &l->input },
		[CHILD_OPENS_OUTPUT] = { "opening the output file", &l->output },
		[CHILD_OPENS_ERROR] = { "opening the error file", &l->error },
		[CHILD_WAITS] = { "waiting for the task prolog", NULL },
		[CHILD_EXECUTES] = { "executing the script", NULL },
	};
	char path[CHILD_TELL_MAX / 4] = "";

	if (at < 0 || at >= CHILD_STEPS)
		at = CHILD_BEGINS;
	if (steps[at].path)
		text_escape(path, sizeof(path), (const char *)steps[at].path->data,
		        steps[at].path->len);
	snprintf(out, CHILD_TELL_MAX / 2, *path ? "%s '%s'" : "%s%s", steps[at].what, path);
}

void child_run_after(const Gpusched__LaunchRecord *launch, const char *path, pid_t shepherd)
{
	struct child c = { .launch = launch, .tell = STDERR_FILENO, .probe = -1 };
	char *program = xstrdup(path), *argv[] = { program, NULL };
	struct error err;

	if (program_recheck(path, &err) < 0)
		child_fail(&c, "%s", err.text);
	become_job(&c, shepherd);
	if (!launch->interactive)
		child_append_output(&c);
	execve(program, argv, list_of(launch->env, launch->n_env, NULL));
	child_fail(&c, "cannot be executed: %s%s", strerror(errno), program_exec_hint(errno));
}
