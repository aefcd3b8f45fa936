/* signals.h - how a signal goes to the processes of a run
 *
 * KILL, STOP, CONT, TERM, INT and QUIT go to every process. Any other signal is a message and goes
 * to the processes that await it, so that it does not kill a shell which only waits for the program
 * that would have understood it.
 *
 * A process awaits a signal if it has a handler for it, or if the signal would kill none of its
 * threads because each is in sigwait(3) for it or blocks it, for signalfd(2) or sigpending(2).
 * There is one difficulty: libraries and shells also block everything for a moment, around fork(2)
 * and when a thread begins. Such a moment passes as soon as the process gets a processor. So a
 * process that blocks nearly everything, and neither sleeps nor has a signalfd for this signal, is
 * examined again until it has unblocked the signals, sleeps, or has computed for so long that it
 * must block them on purpose.
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
	AWAITS_UNCLEAR, /* examine again */
};

bool signal_is_for_all(int sig);

/* The result of one examination of this process. If /proc does not let us look into the process,
 * it awaits only signals that it has a handler for or blocks. */
enum awaits proc_awaits(pid_t pid, int sig);

/* Send `sig` to each process of the list that `still` accepts as belonging (NULL: all). With
 * only_awaiting only to those that await it; that takes up to half a second if a process that
 * blocks everything gets no processor (it counts as not awaiting). Returns how many got it. */
size_t procs_signal(const struct proc *list, size_t n, int sig, bool only_awaiting,
        bool (*still)(pid_t pid, void *arg), void *arg);

/* Kill the marked processes (procs_marked()). They are stopped first, so that none of them forks
 * meanwhile; a process forked earlier is found by another of a few rounds. True: there were
 * none. */
bool procs_kill_marked(const char *mark, uid_t uid);

#endif
