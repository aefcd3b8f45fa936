/* helper.h - processes that only ask the driver
 *
 * The driver's library may hang or crash, so it is loaded by processes of their own: this program,
 * executed again under another name. They are executed and not only forked, since the launcher has
 * threads: in a fork of it no memory may be allocated, and all the library does is that.
 *
 * A helper has a descriptor to its parent and, where it wants, memory that both share. It has no
 * other descriptor, no signal handlers, and ends with its parent; so one that hangs for ever holds
 * no socket and no lock. Which program is executed is /proc/self/exe, also where the file was
 * replaced by another release: both sides agree on what is in the memory.
 */
#ifndef NODED_GPU_HELPER_H
#define NODED_GPU_HELPER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum helper_kind { HELPER_PROBE, HELPER_SAMPLER, HELPER_EVENTS, HELPER_KINDS };

/* In the helper. */
#define HELPER_PARENT 3 /* descriptor */

/* The first call of main() in each program that starts helpers. In a helper it does not return. */
void helper_main(int argc, char **argv);

/* What a helper of a kind does, in probe.c, sampler.c and events.c; when it returns the helper ends.
 * `number` as given to helper_start(). */
void helper_probe(uint64_t number);
void helper_sampler(uint64_t number);
void helper_events(uint64_t number);

/* The shared memory, in the helper. Ends it where there is none of this size. */
void *helper_memory(size_t size);

/* In the parent: memory of zeros for a helper, as *fd too. NULL with errno. */
void *helper_memory_new(size_t size, int *fd);

/* Start one with `parent`, its end of a pipe or socket, and `memory` (-1: none), which stay the
 * caller's. Returns its pidfd, close-on-exec; -1 with errno. The caller's process reaps it. */
int helper_start(enum helper_kind kind, uint64_t number, int parent, int memory, pid_t *pid);

#endif
