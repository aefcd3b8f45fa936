/* site_program_tasks.c - see site_program_tasks.h */
#include "noded/shepherd/site_program_tasks.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/gpusched.pb-c.h"
#include "noded/exec/prolog_epilog.h"
#include "noded/record/inherit.h"
#include "noded/record/record.h"

static void prepare(void)
{
	sigset_t all;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
#ifndef __SANITIZE_ADDRESS__ /* the leak checker looks into its own process by ptrace(2) */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
	syscall(SYS_close_range, SHEPHERD_RESULT_FD + 1, ~0U, 0);
	fcntl(SHEPHERD_RESULT_FD, F_SETFD, FD_CLOEXEC);
}

int site_program_task_again(const char *record_dir)
{
	Gpusched__AfterRecord after = GPUSCHED__AFTER_RECORD__INIT;
	char trouble[PROGRAM_TROUBLE_MAX];
	ProtobufCMessage *m;
	int dir, rc;

	prepare();
	dir = open(record_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || record_read_fd(SHEPHERD_LAUNCH_FD, &gpusched__launch_record__descriptor, &m,
	                       NULL) < 0)
		return 1;
	program_run_after((Gpusched__LaunchRecord *)m, NULL, NULL, trouble);
	protobuf_c_message_free_unpacked(m, NULL);
	after.node_trouble = trouble;
	rc = record_write(dir, RECORD_AFTER, &after.base, 0, NULL);
	close(dir);
	return rc < 0;
}

int site_program_task_check(int argc, char **argv)
{
	struct program_run what = { .kind = PROGRAM_HEALTH };
	char trouble[PROGRAM_TROUBLE_MAX];
	const char *result = SHEPHERD_CHECK_OK;

	if (argc != 4)
		return 2;
	prepare();
	what.path = argv[0];
	what.timeout_ms = strtoull(argv[1], NULL, 10);
	what.node = argv[2];
	what.leaf = argv[3];
	if (program_run(&what, trouble) == PROGRAM_FAILED)
		result = trouble;
	return write(SHEPHERD_RESULT_FD, result, strlen(result)) < 0;
}
