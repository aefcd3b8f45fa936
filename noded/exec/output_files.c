/* output_files.c - a job's output, error and input files: opened, truncated or appended to
 *
 * They are opened by the process that becomes the job (job_process_impl.h), as the user: what the
 * user may not write the job cannot write. An output file that exists is truncated, unless the
 * owner asked for appending (LaunchRecord.append). What the site's programs write after the job is
 * always appended. An interactive run has pipes or a terminal instead.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "noded/exec/job_process_impl.h"
#include "noded/record/record.h"

static const char *why_not(int error, int flags)
{
	if (error == ENXIO && (flags & O_ACCMODE) == O_WRONLY)
		return "a FIFO that nobody reads from";
	return strerror(error);
}

/* Opened without blocking, so that a FIFO without a peer cannot delay the launch; then blocking. */
static int open_stream(const struct child *c, const char *what, const char *path, int flags)
{
	int fd = open(path, flags | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0666);
	int error = errno;

	if (fd < 0)
		child_fail_owner(
		        c, "cannot open the %s file '%s': %s", what, path, why_not(error, flags));
	if (fcntl(fd, F_SETFL, flags & O_APPEND) < 0)
		child_fail(c, "cannot use the %s file '%s': %s", what, path, strerror(errno));
	return fd;
}

void child_put_stream(const struct child *c, int fd, int as)
{
	if (dup2(fd, as) < 0)
		child_fail(c, "cannot redirect descriptor %d: %s", as, strerror(errno));
}

static void close_others(const struct child *c)
{
	if (syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		child_fail(c, "cannot close descriptors: %s", strerror(errno));
}

void child_take_ends(const struct child *c)
{
	int fds[3];

	/* First to high numbers: one may be where another has to go. */
	for (size_t i = 0; i < 3; i++)
		fds[i] = fcntl(c->ends->fds[c->ends->n == 1 ? 0 : i], F_DUPFD_CLOEXEC, 3);
	if (c->ends->n == 1 && ioctl(fds[0], TIOCSCTTY, 0) < 0)
		child_fail(c, "cannot have the terminal: %s", strerror(errno));
	for (size_t i = 0; i < 3; i++)
		child_put_stream(c, fds[i], (int)i);
	close_others(c);
}

void child_open_files(const struct child *c)
{
	const Gpusched__LaunchRecord *l = c->launch;
	int flags = O_WRONLY | O_CREAT | (l->append ? O_APPEND : O_TRUNC);
	char *in = record_string(&l->input), *out = record_string(&l->output),
	     *err = record_string(&l->error);
	int in_fd, out_fd, err_fd;

	child_step(c, CHILD_OPENS_INPUT);
	in_fd = open_stream(c, "input", *in ? in : "/dev/null", O_RDONLY);
	child_step(c, CHILD_OPENS_OUTPUT);
	out_fd = open_stream(c, "output", out, flags);
	child_step(c, CHILD_OPENS_ERROR);
	err_fd = *err && strcmp(err, out) != 0 ? open_stream(c, "error", err, flags) : out_fd;
	child_put_stream(c, in_fd, STDIN_FILENO);
	child_put_stream(c, out_fd, STDOUT_FILENO);
	child_put_stream(c, err_fd, STDERR_FILENO);
	free(in);
	free(out);
	free(err);
	close_others(c);
}

void child_append_output(const struct child *c)
{
	char *out = record_string(&c->launch->output);

	child_put_stream(
	        c, open_stream(c, "output", out, O_WRONLY | O_CREAT | O_APPEND), STDOUT_FILENO);
	free(out);
}
