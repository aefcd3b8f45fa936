/* output_summary.c - see output_summary.h */
#include "noded/shepherd/output_summary.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/units.h"
#include "noded/contain/private_mounts.h"
#include "noded/exec/become_user.h"
#include "noded/record/record.h"

#define WRITE_MS 2000 /* a file server that hangs is not waited for */

#define TASK_ENTRY "GPUSCHED_ARRAY_TASK_ID="

bool summary_wanted(const Gpusched__LaunchRecord *launch, const Gpusched__RunReport *end)
{
	return launch->summary && !launch->interactive && end->n_gpus && end->run->rank == 0 &&
	       !end_is_launch((enum end_cause)end->cause);
}

/* --- text ------------------------------------------------------------------------------------ */

struct text {
	char *at;
	size_t left;
};

static void __attribute__((format(printf, 2, 3))) say(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at, t->left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->left)
		n = t->left ? (int)t->left - 1 : 0;
	t->at += n;
	t->left -= (size_t)n;
}

/* The job's state, as far as this run decides it. */
static const char *state_of(const Gpusched__RunReport *end)
{
	switch (end->cause) {
	case GPUSCHED__END_CAUSE__CAUSE_TIME_LIMIT:
		return "TIMEOUT";
	case GPUSCHED__END_CAUSE__CAUSE_CANCEL:
	case GPUSCHED__END_CAUSE__CAUSE_DRAIN:
	case GPUSCHED__END_CAUSE__CAUSE_IDLE:
	case GPUSCHED__END_CAUSE__CAUSE_SCALE:
	case GPUSCHED__END_CAUSE__CAUSE_ROLL:
		return "CANCELLED";
	case GPUSCHED__END_CAUSE__CAUSE_PREEMPT:
	case GPUSCHED__END_CAUSE__CAUSE_RECLAIM:
		return "PREEMPTED";
	case GPUSCHED__END_CAUSE__CAUSE_OUT_OF_MEMORY:
	case GPUSCHED__END_CAUSE__CAUSE_GPU_MEMORY:
		return "OUT_OF_MEMORY";
	case GPUSCHED__END_CAUSE__CAUSE_DEADLINE:
		return "DEADLINE";
	default:
		return end->exit_code || end->exit_signal ? "FAILED" : "COMPLETED";
	}
}

static bool is_array(const Gpusched__LaunchRecord *l)
{
	for (size_t i = 0; i < l->n_env; i++)
		if (l->env[i].len >= strlen(TASK_ENTRY) &&
		        memcmp(l->env[i].data, TASK_ENTRY, strlen(TASK_ENTRY)) == 0)
			return true;
	return false;
}

static void say_name(struct text *t, const Gpusched__LaunchRecord *l, const Gpusched__RunReport *r)
{
	say(t, "%" PRIu64, r->run->job);
	if (is_array(l))
		say(t, "_%" PRIu32, r->run->task);
}

static void say_job(struct text *t, const Gpusched__LaunchRecord *l, const Gpusched__RunReport *r)
{
	say(t, "== gpusched: job ");
	say_name(t, l, r);
}

static void say_head(
        struct text *t, const Gpusched__LaunchRecord *l, const Gpusched__RunReport *end)
{
	double cost = (double)l->cost_hour_u / 1e6 * ((double)end->elapsed_us / 3.6e9);
	char time[UNITS_TEXT];

	say_job(t, l, end);
	say(t, " %s %" PRIu32 ":%" PRIu32 " in %s", state_of(end), end->exit_code, end->exit_signal,
	        duration_format(time, end->elapsed_us / 1000000));
	if (l->waited_us)
		say(t, " after %s", duration_format(time, l->waited_us / 1000000));
	if (l->cost_hour_u)
		say(t, "; %s%s%.2f", l->currency, *l->currency ? " " : "", cost);
	say(t, "\n");
	if ((strcmp(state_of(end), "OUT_OF_MEMORY") == 0 ||
	            strcmp(state_of(end), "PREEMPTED") == 0 ||
	            end->cause == GPUSCHED__END_CAUSE__CAUSE_SPOOL) &&
	        end->detail[0])
		say(t, "   reason %s\n", end->detail);
}

/* "/20G,25%": of each GPU, where it is not all. */
static void say_part(struct text *t, const Gpusched__RunReport *end)
{
	char part[UNITS_TEXT];

	if (end->share_charge)
		say(t, "/%s", share_format(part, end->share_mb, end->share_milli));
}

static void say_asked(
        struct text *t, const Gpusched__LaunchRecord *l, const Gpusched__RunReport *end)
{
	char size[UNITS_TEXT];

	say(t, "   asked  %zu %s", end->n_gpus, end->gpu_type);
	say_part(t, end);
	say(t, ", %" PRIu32 " CPU%s", end->cpus, end->cpus == 1 ? "" : "s");
	if (end->mem_mb)
		say(t, ", %s", size_format_mb(size, end->mem_mb));
	if (l->time_limit_s)
		say(t, ", %s", duration_format(size, l->time_limit_s));
	say(t, "\n");
}

static void say_used(
        struct text *t, const Gpusched__LaunchRecord *l, const Gpusched__RunReport *end)
{
	const Gpusched__RunUsed *u = end->used;
	char size[UNITS_TEXT];

	say(t, "   used   ");
	if (u->gpu_seen_us)
		say(t, "compute %.0f%%, ", 100 * (double)u->gpu_busy_us / (double)u->gpu_seen_us);
	if (u->gpu_mem_peak_mb)
		say(t, "GPU memory %s", size_format_mb(size, u->gpu_mem_peak_mb));
	if (u->gpu_mem_peak_mb && l->gpu_mem_mb)
		say(t, " of %s", size_format_mb(size, l->gpu_mem_mb));
	if (u->gpu_mem_peak_mb)
		say(t, ", ");
	say(t, "%.1f CPUs, %s\n",
	        end->elapsed_us ? (double)end->cpu_time_us / (double)end->elapsed_us : 0,
	        size_format_mb(size, u->mem_peak_mb));
}

static void say_nodes(
        struct text *t, const Gpusched__LaunchRecord *l, const Gpusched__RunReport *end)
{
	say(t, "   nodes  this is of the first of %" PRIu32 "; of each: gacct --runs -j ",
	        end->nnodes);
	say_name(t, l, end);
	say(t, "\n");
}

/* A third more than was used, rounded to usual steps; 0: as much as was asked for. */
static uint64_t enough(uint64_t used, uint64_t asked, uint64_t step)
{
	uint64_t want = (used + used / 3 + step - 1) / step * step;

	want = want ? want : step;
	return want * 4 <= asked * 3 ? want : 0;
}

static void say_next(
        struct text *t, const Gpusched__LaunchRecord *l, const Gpusched__RunReport *end)
{
	uint64_t mem = enough(end->used->mem_peak_mb, end->mem_mb, 1024);
	uint64_t time = enough(end->elapsed_us / 1000000, l->time_limit_s, 300);
	char size[UNITS_TEXT];

	/* A run that was ended, or failed, might have used more. */
	if (strcmp(state_of(end), "COMPLETED") != 0 || (!mem && !time))
		return;
	say(t, "   next  ");
	if (mem)
		say(t, " --mem=%s", size_format_mb(size, mem));
	if (time)
		say(t, " --time=%s", duration_format(size, time));
	say(t, " %s enough\n", mem && time ? "are" : "is");
}

size_t summary_text(
        const Gpusched__LaunchRecord *l, const Gpusched__RunReport *end, char out[SUMMARY_MAX])
{
	struct text t = { out, SUMMARY_MAX };

	out[0] = '\0';
	say_head(&t, l, end);
	say_asked(&t, l, end);
	if (end->used)
		say_used(&t, l, end);
	if (end->nnodes > 1)
		say_nodes(&t, l, end);
	else if (end->used)
		say_next(&t, l, end);
	return (size_t)(t.at - out);
}

size_t summary_note(const Gpusched__LaunchRecord *l, const char *note, char out[SUMMARY_MAX])
{
	struct text t = { out, SUMMARY_MAX };

	out[0] = '\0';
	say_job(&t, l, l->report);
	say(&t, " %s\n", note);
	return (size_t)(t.at - out);
}

/* --- writing, as the owner ------------------------------------------------------------------- */

static _Noreturn void write_as_owner(const Gpusched__LaunchRecord *l, const char *text, size_t len)
{
	struct become_user_to to = {
		.uid = l->report->uid, .gid = l->gid, .groups = l->groups, .n_groups = l->n_groups
	};
	char *cwd = record_string(&l->cwd), *output = record_string(&l->output);
	struct private_place place = private_place_of(l);
	const char *what;
	struct stat st;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	place.kinds &= 1U << PRIVATE_TMP; /* its output file may be there */
	if (place.kinds && private_join() < 0)
		_exit(1);
	/* If it hangs it must not be taken for the shepherd, whose lock is among these. */
	syscall(SYS_close_range, 3U, ~0U, 0U);
	if ((place.kinds && private_enter(&place, &what) < 0) ||
	        (l->switch_user ? become_user_for_good(&become_user_system_calls, &to, NULL)
	                        : become_user_prove(&become_user_system_calls, &to, NULL)) < 0 ||
	        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || chdir(cwd) < 0)
		_exit(1);
	/* The owner's other processes must not be able to debug this one. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	fd = open(output, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		_exit(1);
	_exit(write(fd, text, len) == (ssize_t)len ? 0 : 1);
}

void summary_write(const Gpusched__LaunchRecord *launch, const char *text, size_t len)
{
	pid_t pid = fork();
	struct pollfd ended = { .events = POLLIN };

	if (pid == 0)
		write_as_owner(launch, text, len);
	if (pid < 0)
		return;
	ended.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (ended.fd < 0 || poll(&ended, 1, WRITE_MS) != 1)
		kill(pid, SIGKILL); /* our own child, not waited for yet */
	fd_close(ended.fd);
	waitpid(pid, NULL, WNOHANG); /* if it hangs in the kernel, init reaps it later */
}
