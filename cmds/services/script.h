/* script.h - the replica's script: a child of gprobe, in a process group of its own
 *
 * It gets the signal mask that gprobe was started with and nothing else of it, and is killed when
 * gprobe is.
 */
#ifndef CMDS_SERVICES_SCRIPT_H
#define CMDS_SERVICES_SCRIPT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/base/error.h"

/* Returns its pid. Where the program cannot be executed the child says so on stderr and ends with
 * 127, or 126. */
pid_t script_start(char **program, const sigset_t *mask, struct error *err);

/* To the script's own process, or to all of its group. */
void script_signal(pid_t script, int sig);
void script_signal_group(pid_t script, int sig);

/* Returns whether it has ended; then `status` says how, as waitpid(2) does. */
bool script_reap(pid_t script, int *status);

/* End as that: with the status, or of the same signal. */
_Noreturn void script_end_alike(int status);

#endif
