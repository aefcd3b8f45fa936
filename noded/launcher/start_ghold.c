/* start_ghold.c - see start_ghold.h, ghold.h
 *
 * RUNDIR/holds/ID is the socket of a run's ghold, in a directory that only we can enter: the only
 * way to a run's input and output is through the launcher. It stays until ghold has ended, which
 * may be long after the run was forgotten; sockets without a listening ghold are removed when the
 * next run needs one.
 */
#include "config.h"

#include "noded/launcher/start_ghold.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/fd_close.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "noded/launcher/stream_grants.h"
#include "noded/record/record.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/spawn.h"
#include "noded/stream/local_channel.h"

static int sweep_one(struct run_id id, const char *name, void *arg)
{
	const struct launcher *l = arg;
	struct error err;
	int fd = local_channel_connect(l->dirs->holds, name, &err);

	(void)id;
	if (fd >= 0)
		close(fd); /* to its ghold this looks like a client without a message */
	else if (err.code == ERR_JOB_STATE)
		unlinkat(l->dirs->holds, name, 0);
	return 0;
}

/* Returns the shepherd's end of its socket to ghold; -1 with `err`. */
int ghold_start(struct launcher *l, const char *name, const Gpusched__LaunchRecord *r,
        const Gpusched__Interactive *what, struct error *err)
{
	Gpusched__HoldGrant g = GPUSCHED__HOLD_GRANT__INIT;
	Gpusched__OutputRecord owner;
	int pair[2], fds[3] = { -1, -1, -1 }, rc = -1;

	record_scan(l->dirs->holds, sweep_one, l, NULL);
	streams_owner(r, &owner);
	g.run = &owner;
	g.interactive = (Gpusched__Interactive *)(uintptr_t)what;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set(err, ERR_SYSTEM, "socketpair: %s", strerror(errno));
	fds[0] = pair[0];
	if ((fds[1] = local_channel_listen(l->dirs->holds, name, err)) >= 0 &&
	        (fds[2] = spawn_grant(&g.base, err)) >= 0)
		rc = spawn_helper(l, "ghold", fds, 3, err);
	for (size_t i = 0; i < 3; i++)
		fd_close(fds[i]);
	if (rc == 0)
		return pair[1];
	close(pair[1]);
	return -1;
}
