/* supervise.h - the process that starts the agent again
 *
 * The network half cannot fork a new launcher once it has dropped its privileges, so a third, tiny
 * process stays above both: it forks the worker, which forks the launcher and becomes the network
 * half. It passes TERM and INT on to the worker and HUP to its process group, so that the launcher
 * opens its log again too, and when the worker was killed, or the launcher has died
 * (SUPERVISE_AGAIN), it starts both again. Runs notice nothing of that. It reads nothing from
 * anywhere.
 */
#ifndef NODED_SUPERVISE_H
#define NODED_SUPERVISE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

#define SUPERVISE_AGAIN   75    /* exit status of a worker that wants to be started again */
#define SUPERVISE_WAIT_MS 100   /* before it is, doubled each time, */
#define SUPERVISE_MAX_MS  10000 /* up to this; from the beginning if it lived so long */

/* The worker: runs in a child with the signal mask as it was, returns its exit status. `nth` counts
 * from 0. It is killed when the supervisor is (supervise_me()). */
typedef int supervise_fn(void *arg, unsigned nth);

/* Returns the worker's last exit status, 128 + signal if it was killed while told to end; -1 with
 * ERR_SYSTEM if it could not be forked. */
int supervise(supervise_fn *work, void *arg, struct error *err);

/* In the worker, once its user and capabilities are final (a change of them clears it, prctl(2)):
 * die with the supervisor. `parent` is its process id, as of before the fork; false: it is dead
 * already. */
bool supervise_me(pid_t parent);

#endif
