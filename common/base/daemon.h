/* daemon.h - being a daemon: detach, readiness, no core dumps
 *
 * A daemon that was told --daemon detaches first of all, before threads, sockets and locks; the
 * command that started it returns when the daemon says that it is ready, or fails with it. Under a
 * service manager (sd_notify(3)) it stays in the foreground and says the same there.
 */
#ifndef COMMON_DAEMON_H
#define COMMON_DAEMON_H

#include <stdint.h>

#include "common/base/error.h"

/* Go on in a child, in a session of its own, with stdin and stdout at /dev/null. What it and its
 * children write to stderr before daemon_ready() is shown by the parent, which does not return: it
 * exits with 0 once daemon_ready() was called with *ready_fd, else with 1 when they have all ended.
 * SIGPIPE is ignored from now on. *ready_fd is close-on-exec. -1 with ERR_SYSTEM. */
int daemon_detach(int *ready_fd, struct error *err);

/* The daemon is ready for work: wake the process that waits in daemon_detach() (ready_fd is
 * closed; -1: there is none), and notify the service manager, if there is one, with a line of
 * status. */
void daemon_ready(int ready_fd, const char *status);

/* Tell the service manager: lines as of sd_notify(3), "STOPPING=1". Nothing if there is none. */
void daemon_notify(const char *lines);

/* As many open files as the hard limit allows. Returns how many; 0: that is not known. */
uint64_t daemon_raise_files(void);

/* `path` from the present folder, as a daemon must know it that is about to leave for another one.
 * NULL and "" stay so. Caller frees. */
char *daemon_path(const char *path);

/* No core dumps, and no other process of the same user may look into this one: it holds secrets. */
void daemon_keep_secrets(void);

#endif
