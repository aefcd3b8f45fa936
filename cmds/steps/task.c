/* task.c - see task.h */
#include "cmds/steps/task.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmds/steps/taskenv.h"
#include "common/base/text.h"

#define OOM_SCORE_TASK                                                             \
	"100" /* the kernel ends a task before gstepd, which has its owner's score \
	       */
#define PATH_DEFAULT "/usr/bin:/bin"
#define ENV_MAX      65536 /* of what comes later */
#define EXEC_FAILED  2 /* what slurmstepd ends with; ENOENT has that number */

static void __attribute__((format(printf, 2, 3)))
complain(const struct task_start *s, const char *fmt, ...)
{
	char text[1024], plain[2048];
	va_list ap;
	int n = snprintf(text, sizeof(text), "slurmstepd-%s: error: ", s->node);

	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	text_escape(plain, sizeof(plain) - 1, text, strlen(text));
	strcat(plain, "\n");
	if (write(STDERR_FILENO, plain, strlen(plain)) < 0)
		_exit(EXEC_FAILED);
}

static void raise_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, OOM_SCORE_TASK, strlen(OOM_SCORE_TASK));
	close(fd);
}

static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The three descriptors may be each other's numbers. */
static void put_descriptors(const struct task_start *s)
{
	int fd[3];

	for (int i = 0; i < 3; i++)
		fd[i] = fcntl(s->fd[i], F_DUPFD_CLOEXEC, 3);
	for (int i = 0; i < 3; i++)
		if (fd[i] < 0 || dup2(fd[i], i) < 0)
			_exit(EXEC_FAILED);
	if (s->keep_fd >= 0)
		fcntl(s->keep_fd, F_SETFD, 0);
}

static void enter_directory(const struct task_start *s)
{
	if (chdir(s->cwd) == 0)
		return;
	complain(s, "couldn't chdir to `%s': %s: going to /tmp instead", s->cwd, strerror(errno));
	if (chdir("/tmp") < 0)
		_exit(EXEC_FAILED);
}

/* What the task's PMIx server tells it ends with an empty name. A server that ends before has told
 * nothing. Other tasks' ends of such pairs, which fork() left here, would keep those waiting. */
static char **wait_for_more(const struct task_start *s)
{
	static char block[ENV_MAX];
	size_t n = 0;
	ssize_t r = 1;

	if (s->env_fd < 0)
		return s->env;
	if (dup2(s->env_fd, STDERR_FILENO + 1) < 0)
		_exit(EXEC_FAILED);
	syscall(SYS_close_range, STDERR_FILENO + 2, ~0U, 0);
	while (r > 0 && n < sizeof(block) && (n < 2 || block[n - 1] || block[n - 2])) {
		r = read(STDERR_FILENO + 1, block + n, sizeof(block) - n);
		n += r > 0 ? (size_t)r : 0;
	}
	close(STDERR_FILENO + 1);
	if (n >= 2 && !block[n - 1] && !block[n - 2])
		return taskenv_add(s->env, block, n - 1);
	complain(s, "mpi/pmix: there is no PMIx server");
	_exit(EXEC_FAILED);
}

/* As execvpe(3), by the PATH of its own environment. */
static void execute(const struct task_start *s, char **env)
{
	const char *name = s->argv[0], *path = taskenv_get(env, "PATH");
	char file[4096];
	int why = ENOENT;

	if (strchr(name, '/')) {
		execve(name, s->argv, env);
		why = errno;
	} else {
		for (const char *p = path ? path : PATH_DEFAULT;; p++) {
			size_t len = strcspn(p, ":");

			snprintf(file, sizeof(file), "%.*s%s%s", (int)len, p, len ? "/" : "", name);
			execve(file, s->argv, env);
			if (errno != ENOENT && errno != ENOTDIR)
				why = errno;
			p += len;
			if (!*p)
				break;
		}
	}
	complain(s, "execve(): %s: %s", name, strerror(why));
	_exit(why & 0xff);
}

static void __attribute__((noreturn)) become(const struct task_start *s)
{
	char **env;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no task is left that nothing waits for */
	setsid();
	put_descriptors(s);
	if (s->terminal)
		ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	raise_oom_score();
	if (s->cpus)
		sched_setaffinity(0, sizeof(*s->cpus), s->cpus);
	umask(s->umask);
	enter_directory(s);
	reset_signals();
	env = wait_for_more(s);
	taskenv_set_pid(env, getpid());
	execute(s, env);
	_exit(EXEC_FAILED);
}

pid_t task_start(const struct task_start *s, struct error *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return error_set(err, ERR_SYSTEM, "fork: %s", strerror(errno));
	if (pid == 0)
		become(s);
	return pid;
}
