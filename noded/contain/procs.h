/* procs.h - processes, without mistaking one for another
 *
 * A process id may be reused between looking at it and acting on it. So a process is named by its
 * id and by when the kernel says it began (clock ticks since boot, proc(5) stat field 22), and
 * signals (signals.h) go through a pidfd(2) that was opened first and checked afterwards.
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

/* The first of its threads that lives; 0: none does, it is a zombie at most. That is the one that
 * the process is called after, unless this has ended before others: the process seems to be a
 * zombie then (its memory, environment and state too) and is none. */
pid_t proc_thread(pid_t pid);

/* Has this process, which may be a zombie, called execve(2) since it was forked? */
bool proc_executed(pid_t pid);

/* Does it execute nothing more until it is continued: is it stopped, or dead, or in the kernel with
 * a SIGSTOP that is waiting for its return (as the parent of a stopped child of vfork(2))? */
bool proc_is_stopped(pid_t pid);

/* A pidfd of exactly this process (close-on-exec), or -1 with errno ESRCH. */
int proc_open(struct proc p);

/* Every descendant of `root` that is not a zombie, without `root` itself. Returns how many, -1 if
 * they cannot all be looked at now; *list is the caller's to free. */
ssize_t procs_descendants(pid_t root, struct proc **list);

/* Every process of the user whose environment at its start had exactly the entry `mark`
 * ("NAME=value"), as far as we may look; not ourselves. Of the user: anybody may write that entry
 * into an environment. -1 also where none was found and one of the user's ended before its
 * environment was read. A last resort: a program can change its own environment. */
ssize_t procs_marked(const char *mark, uid_t uid, struct proc **list);

/* Every process of ours that was executed with this program name (without its directory) and this
 * one argument. */
ssize_t procs_called(const char *program, const char *argument, struct proc **list);

/* A file below /proc, named as by printf(3), as text. Returns its length (no more than size - 1),
 * -1 if it cannot be read. */
ssize_t proc_read(char *buf, size_t size, const char *name, ...)
        __attribute__((format(printf, 3, 4)));

/* The field ("\nSigBlk:") of such a text of lines, as a number of the base; 0 if it is not there.
 */
uint64_t proc_status_number(const char *status, const char *field, int base);

#endif
