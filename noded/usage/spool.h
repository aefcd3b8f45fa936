/* spool.h - how much room the spool's file system has, and how much of it one run holds
 *
 * A run's files there are its RUN_DIR and its private /tmp and /var/tmp, which lie in directories
 * of its own, and what its processes have open and nobody can find by name any more. All of it is
 * looked at through descriptors, one level at a time: no link is followed, no mount crossed, and
 * nothing is opened but directories. What is mapped, removed and closed again is not seen.
 */
#ifndef NODED_SPOOL_H
#define NODED_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SPOOL_MIN_FREE_MB 256  /* default of gnoded --spool-min-free */
#define SPOOL_MIN_FILES   1000 /* so many files more must fit */
#define SPOOL_DEPTH       128  /* directories in each other that are looked into */
#define SPOOL_OPEN        64   /* files without a name of one run; more may be counted twice */

struct spool_room {
	uint64_t mb, files; /* for who is not root; files UINT64_MAX: no limit is known */
};

/* Of the file system of a descriptor. False: it does not say. */
bool spool_room(int fd, struct spool_room *out);

struct spool_held {
	uint64_t bytes, files;
	bool deep;              /* there is more in directories deeper than SPOOL_DEPTH */
	ino_t open[SPOOL_OPEN]; /* without a name, so that who has one open twice holds it once */
	size_t n_open;
};

/* Add what is in the directory `name` in `parent`; nothing where there is none. Blocks: a million
 * files take seconds. */
void spool_add_dir(int parent, const char *name, struct spool_held *held);

/* Add what a process has open on the device of `on` that has no name. */
void spool_add_open(pid_t pid, int on, struct spool_held *held);

#endif
