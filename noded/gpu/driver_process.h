/* driver_process.h - processes that only call the driver
 *
 * The driver's library may hang or crash, so separate processes load it: this program, executed
 * again under another name. They are executed and not only forked, because the launcher has
 * threads: a fork of it must not allocate memory, and the library allocates all the time.
 *
 * A driver process has a descriptor to its parent and, if wanted, memory that both share. It has no
 * other descriptor and no signal handlers, and ends with its parent; so a driver process that hangs
 * for ever holds no socket and no lock. It executes /proc/self/exe, even if the file was replaced
 * by another release: both sides then agree on the layout of the memory.
 */
#ifndef NODED_DRIVER_PROCESS_H
#define NODED_DRIVER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum driver_process_kind {
	DRIVER_PROCESS_PROBE,
	DRIVER_PROCESS_SAMPLER,
	DRIVER_PROCESS_EVENTS,
	DRIVER_PROCESS_KINDS
};

/* In the driver process. */
#define DRIVER_PROCESS_PARENT 3 /* descriptor */

/* The first call of main() in each program that starts driver processes. In a driver process it
 * does not return. */
void driver_process_main(int argc, char **argv);

/* The work of each kind, in probe_watchdog.c, sampler_watchdog.c and xid_events.c; when it returns
 * the process ends. `number` as given to driver_process_start(). */
void driver_process_probe(uint64_t number);
void driver_process_sampler(uint64_t number);
void driver_process_events(uint64_t number);

/* The shared memory, in the driver process. Ends the process if there is none of this size. */
void *driver_process_memory(size_t size);

/* In the parent: zeroed memory for a driver process, also as *fd. NULL with errno. */
void *driver_process_memory_new(size_t size, int *fd);

/* Start a driver process with `parent`, its end of a pipe or socket, and `memory` (-1: none), which
 * stay the caller's. Returns its pidfd, close-on-exec; -1 with errno. The calling process reaps
 * it. */
int driver_process_start(
        enum driver_process_kind kind, uint64_t number, int parent, int memory, pid_t *pid);

/* Wait for at most `ms` until the pidfd of a driver process tells of its end, or its pipe or socket
 * has something to read. False: it has not, or a signal came. */
bool driver_process_wait(int fd, int ms);

#endif
