/* signals.h - how a signal goes to the processes of a run
 *
 * KILL, STOP, CONT, TERM, INT and QUIT go to every process. Any other signal is a message and goes
 * to those that wait for it, so that it does not kill the shell that waits for the program that
 * would have understood.
 *
 * A process waits for a signal that it has a handler for; and for one that none of its threads
 * would be killed by, because each is in sigwait(3) for it or blocks it, as for signalfd(2) or a
 * look at sigpending(2). Only that libraries and shells block everything for a moment too, around
 * fork(2) and as a thread begins. Such a moment passes as soon as the process gets a processor. So
 * one that blocks as good as everything, and neither sleeps nor has a signalfd for this signal, is
 * looked at again, until it has let go of the signals, sleeps, or has computed for so long that it
 * means to.
 */
#ifndef NODED_SIGNALS_H
#define NODED_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "noded/contain/procs.h"

enum awaits {
	AWAITS_NOT,
	AWAITS_SIGNAL,
	AWAITS_UNCLEAR, /* look again */
};

bool signal_is_for_all(int sig);

/* What one look at this process says. What may not be looked into waits for nothing but what it has
 * a handler for or blocks. */
enum awaits proc_awaits(pid_t pid, int sig);

/* Send `sig` to each of the list for which `still` says that it belongs (NULL: all). With
 * only_awaiting to those alone that await it; that takes up to half a second when a process that
 * blocks everything gets no processor (it counts as one that does not wait). Returns how many got
 * it. */
size_t procs_signal(const struct proc *list, size_t n, int sig, bool only_awaiting,
        bool (*still)(pid_t pid, void *arg), void *arg);

/* Kill the processes that are marked (procs_marked()). They are stopped first, so that none of them
 * forks meanwhile; what was forked before that is found by another look, of which there are a few.
 * True: there were none. */
bool procs_kill_marked(const char *mark, uid_t uid);

#endif
