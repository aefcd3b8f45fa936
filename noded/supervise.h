/* supervise.h - the process that restarts the agent
 *
 * The network half cannot fork a new launcher once it has dropped its privileges. So a third, tiny
 * process stays above both: it forks the worker, which forks the launcher and becomes the network
 * half. It passes TERM and INT on to the worker, and HUP to its process group, so that the launcher
 * reopens its log too. If the worker was killed, or the launcher has died (SUPERVISE_AGAIN), it
 * starts both again. Runs are not affected. The supervisor reads no input at all.
 */
#ifndef NODED_SUPERVISE_H
#define NODED_SUPERVISE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/error.h"

#define SUPERVISE_AGAIN   75    /* exit status of a worker that wants to be restarted */
#define SUPERVISE_WAIT_MS 100   /* delay before a restart; doubled after each, */
#define SUPERVISE_MAX_MS  10000 /* up to this; reset once a worker has lived this long */

/* The worker: runs in a child, with the signal mask of before supervise(), and returns its exit
 * status. `nth` counts starts from 0. It is killed when the supervisor is (supervise_me()). */
typedef int supervise_fn(void *arg, unsigned nth);

/* Returns the worker's last exit status, or 128 + signal if a signal killed it while it was being
 * stopped; -1 with ERR_SYSTEM if it could not be forked. */
int supervise(supervise_fn *work, void *arg, struct error *err);

/* In the worker, once its user and capabilities are final (changing them clears this setting,
 * prctl(2)): the kernel kills it when the supervisor dies. `parent` is the supervisor's process id,
 * taken before the fork. False: the supervisor is already dead. */
bool supervise_me(pid_t parent);

#endif
