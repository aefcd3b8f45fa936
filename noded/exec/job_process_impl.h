/* job_process_impl.h - the inside of job_process.h, for its two files
 *
 *	job_process.c   the steps from a forked process to the program
 *	output_files.c  its input, output and error
 */
#ifndef NODED_JOB_PROCESS_IMPL_H
#define NODED_JOB_PROCESS_IMPL_H

#include "common/gpusched.pb-c.h"
#include "noded/exec/job_process.h"

struct child {
	const Gpusched__LaunchRecord *launch;
	const struct child_ends *ends;
	volatile int *step; /* NULL: not told */
	int tell;
	int probe; /* -1: none */
};

/* Tell the shepherd which step comes next. */
void child_step(const struct child *c, enum child_step now);

/* Report a failure of the node, and end. */
_Noreturn void child_fail(const struct child *c, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
/* The same of a failure whose cause is named in the job: another node or another try would fail
 * too. */
_Noreturn void child_fail_owner(const struct child *c, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

/* Open the job's input, output and error files as 0, 1 and 2; all other descriptors close on
 * execution. */
void child_open_files(const struct child *c);
/* The same with the pipes or the terminal of an interactive run. */
void child_take_ends(const struct child *c);
/* Append descriptor 1 to the job's output file: for the site's program after the job. */
void child_append_output(const struct child *c);
/* Make `fd` the descriptor `as`. */
void child_put_stream(const struct child *c, int fd, int as);

#endif
