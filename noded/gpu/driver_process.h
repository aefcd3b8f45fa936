/* driver_process.h - processes that only call the driver
 *
 * The driver's library may hang or crash, so separate processes load it: this program, executed
 * again under another name. They are executed and not only forked, because the launcher has
 * threads: a fork of it must not allocate memory, and the library allocates all the time.
 *
 * A helper has a descriptor to its parent and, if wanted, memory that both share. It has no other
 * descriptor and no signal handlers, and ends with its parent; so a helper that hangs for ever
 * holds no socket and no lock. It executes /proc/self/exe, even if the file was replaced by another
 * release: both sides then agree on the layout of the memory.
 */
#ifndef NODED_DRIVER_PROCESS_H
#define NODED_DRIVER_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum helper_kind { HELPER_PROBE, HELPER_SAMPLER, HELPER_EVENTS, HELPER_KINDS };

/* In the helper. */
#define HELPER_PARENT 3 /* descriptor */

/* The first call of main() in each program that starts helpers. In a helper it does not return. */
void helper_main(int argc, char **argv);

/* The work of each kind of helper, in probe_watchdog.c, sampler_watchdog.c and xid_events.c; when
 * it returns the helper ends. `number` as given to helper_start(). */
void helper_probe(uint64_t number);
void helper_sampler(uint64_t number);
void helper_events(uint64_t number);

/* The shared memory, in the helper. Ends the helper if there is none of this size. */
void *helper_memory(size_t size);

/* In the parent: zeroed memory for a helper, also as *fd. NULL with errno. */
void *helper_memory_new(size_t size, int *fd);

/* Start a helper with `parent`, its end of a pipe or socket, and `memory` (-1: none), which stay
 * the caller's. Returns its pidfd, close-on-exec; -1 with errno. The calling process reaps it. */
int helper_start(enum helper_kind kind, uint64_t number, int parent, int memory, pid_t *pid);

#endif
