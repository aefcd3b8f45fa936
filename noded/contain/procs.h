/* procs.h - processes, without mistaking one for another
 *
 * A process id may be reused between reading it and acting on it. So a process is identified by its
 * id together with its start time from the kernel (clock ticks since boot, proc(5) stat field 22),
 * and signals (signals.h) go through a pidfd(2) that is opened first and checked afterwards.
 *
 * The processes of a run are those in its cgroup (process_tracking.h) or, where there is no cgroup,
 * the descendants of its shepherd, which as a subreaper (prctl(2)) inherits every process that
 * daemonizes.
 */
#ifndef NODED_PROCS_H
#define NODED_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc {
	pid_t pid;
	uint64_t ticks; /* start time */
};

/* Of /proc/PID/stat. Times and `ticks`, the start time, are in clock ticks. */
struct proc_stat {
	char name[64], state;
	pid_t ppid;
	unsigned flags;
	int threads;
	uint64_t user, system, ended_user, ended_system; /* ended: of children it has waited for */
	uint64_t ticks, pages;
};

/* -1: there is no such process or thread (errno ENOENT, ESRCH), or it cannot be read now. */
int proc_stat(pid_t pid, struct proc_stat *out);
int proc_stat_thread(pid_t pid, pid_t tid, struct proc_stat *out);

/* Its start time; 0: there is no such process. */
uint64_t proc_ticks(pid_t pid);

/* The first of its threads that is alive; 0: none is, so the process is at most a zombie. Usually
 * that is the thread group leader. If the leader has ended before other threads, /proc shows the
 * process as a zombie (its memory, environment and state too) although it is not one. */
pid_t proc_thread(pid_t pid);

/* Has this process, which may be a zombie, called execve(2) since it was forked? */
bool proc_executed(pid_t pid);

/* Will it execute nothing more until it is continued? It is stopped, or dead, or in the kernel with
 * a SIGSTOP pending for its return to user space (as the parent of a stopped child of vfork(2)). */
bool proc_is_stopped(pid_t pid);

/* A pidfd of exactly this process (close-on-exec), or -1 with errno ESRCH. */
int proc_open(struct proc p);

/* Every descendant of `root` that is not a zombie, without `root` itself. Returns how many, -1 if
 * not all of them can be read now; *list is the caller's to free. */
ssize_t procs_descendants(pid_t root, struct proc **list);

/* Every process of the user whose environment at its start had exactly the entry `mark`
 * ("NAME=value"), except this process, as far as /proc lets us read it. Only processes of that user
 * count, because any user can write that entry into an environment. -1 also if none was found and
 * one of the user's processes ended before its environment was read. A last resort: a program can
 * change its own environment. */
ssize_t procs_marked(const char *mark, uid_t uid, struct proc **list);

/* Every process of our user that was executed with this program name (without its directory) and
 * this one argument. */
ssize_t procs_called(const char *program, const char *argument, struct proc **list);

/* A file below /proc, named as by printf(3), as text. Returns its length (no more than size - 1),
 * -1 if it cannot be read. */
ssize_t proc_read(char *buf, size_t size, const char *name, ...)
        __attribute__((format(printf, 3, 4)));

/* The value of a field ("\nSigBlk:") in such a text, as a number of the base; 0 if it is
 * missing. */
uint64_t proc_status_number(const char *status, const char *field, int base);

#endif
