/* exit_stat.c - see exit_stat.h, and the functions of drmaa.h that read a `stat` */
#include "cmds/drmaa/exit_stat.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cmds/drmaa/error_diagnosis.h"

#define CODE(stat)   ((stat)&0xff)
#define SIGNAL(stat) (((stat) >> 8) & 0xff)
#define ABORTED      (1 << 16)

int exit_stat(const struct query_job *job)
{
	bool itself = !strcmp(job->state, "COMPLETED") || !strcmp(job->state, "FAILED");
	bool told = !strcmp(job->state, "COMPLETED") || job->exit_code || job->exit_signal;
	int sig = (int)(job->exit_signal & 0xff);

	if (!job->start_time || (itself && !told))
		return ABORTED;
	if (!itself && !sig)
		sig = SIGTERM;
	return sig << 8 | (sig ? 0 : (int)(job->exit_code & 0xff));
}

static int give(int *to, int value, struct diagnosis d)
{
	if (!to)
		return fail_with(d, DRMAA_ERRNO_INVALID_ARGUMENT, "an argument is NULL");
	*to = value;
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_wifexited(int *exited, int stat, char *error_diagnosis, size_t error_diag_len)
{
	return give(exited, !(stat & ABORTED) && !SIGNAL(stat), DIAGNOSIS);
}

int drmaa_wexitstatus(int *exit_status, int stat, char *error_diagnosis, size_t error_diag_len)
{
	return give(exit_status, CODE(stat), DIAGNOSIS);
}

int drmaa_wifsignaled(int *signaled, int stat, char *error_diagnosis, size_t error_diag_len)
{
	return give(signaled, SIGNAL(stat) != 0, DIAGNOSIS);
}

int drmaa_wtermsig(
        char *signal, size_t signal_len, int stat, char *error_diagnosis, size_t error_diag_len)
{
	const char *name = SIGNAL(stat) ? sigabbrev_np(SIGNAL(stat)) : NULL;
	char text[DRMAA_SIGNAL_BUFFER] = "";

	if (!signal)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "an argument is NULL");
	if (name)
		snprintf(text, sizeof(text), "SIG%s", name);
	else if (SIGNAL(stat))
		snprintf(text, sizeof(text), "%d", SIGNAL(stat));
	fail_copy(signal, signal_len, text);
	return DRMAA_ERRNO_SUCCESS;
}

/* Whether a node kept a core is not known. */
int drmaa_wcoredump(int *core_dumped, int stat, char *error_diagnosis, size_t error_diag_len)
{
	(void)stat;
	return give(core_dumped, 0, DIAGNOSIS);
}

int drmaa_wifaborted(int *aborted, int stat, char *error_diagnosis, size_t error_diag_len)
{
	return give(aborted, (stat & ABORTED) != 0, DIAGNOSIS);
}
