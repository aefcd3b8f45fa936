/* procs.h - processes, without mistaking one for another
 *
 * A process id may be reused between looking at it and acting on it. So a process is named by its
 * id and by when the kernel says it began (clock ticks since boot, proc(5) stat field 22), and
 * signals go through a pidfd(2) that was opened first and checked afterwards.
 *
 * Which processes belong to a run: those in its cgroup (contain.h), or, where there is none, the
 * descendants of its shepherd, which as their subreaper (prctl(2)) inherits whatever detached
 * itself.
 */
#ifndef NODED_PROCS_H
#define NODED_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc {
	pid_t pid;
	uint64_t ticks; /* when it began */
};

/* When it began; 0: there is no such process. */
uint64_t proc_ticks(pid_t pid);

/* Has this process, which may be a zombie, called execve(2) since it was forked? */
bool proc_executed(pid_t pid);

/* Does it execute nothing more until it is continued: is it stopped, or dead, or in the kernel with
 * a SIGSTOP that is waiting for its return (as the parent of a stopped child of vfork(2))? */
bool proc_is_stopped(pid_t pid);

/* A pidfd of exactly this process (close-on-exec), or -1 with errno ESRCH. */
int proc_open(struct proc p);

/* Every descendant of `root` that is not a zombie, without `root` itself. Returns how many; *list
 * is the caller's to free. */
size_t procs_descendants(pid_t root, struct proc **list);

/* Every process whose environment at its start had exactly the entry `mark` ("NAME=value"), as far
 * as we may look; not ourselves. A last resort: a program can change its own environment. */
size_t procs_marked(const char *mark, struct proc **list);

/* Every process of ours that was executed with this program name (without its directory) and this
 * one argument. */
size_t procs_called(const char *program, const char *argument, struct proc **list);

/* How a signal goes to a run. KILL, STOP, CONT, TERM, INT and QUIT go to every process. Any other
 * is a message and goes to those that wait for it (a handler, or blocked as for sigwait(3)), so
 * that it does not kill the shell that waits for the program that would have understood. */
bool signal_is_for_all(int sig);

/* Does this process have a handler for `sig`, or block it? */
bool proc_awaits(pid_t pid, int sig);

/* Send `sig` to each of the list for which `still` says that it belongs (NULL: all). With
 * only_awaiting to those alone that await it. Returns how many got it. */
size_t procs_signal(const struct proc *list, size_t n, int sig, bool only_awaiting,
        bool (*still)(pid_t pid, void *arg), void *arg);

#endif
