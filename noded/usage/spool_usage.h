/* spool_usage.h - the free space of the spool's file system, and how much of it one run uses
 *
 * A run's files there are its RUN_DIR, its private /tmp and /var/tmp, which lie in directories of
 * the run's own, and files without a name that its processes have open. All are examined through
 * descriptors, one level at a time: no link is followed, no mount crossed, and nothing but
 * directories is opened. A file that is mapped, removed and closed is not counted.
 */
#ifndef NODED_SPOOL_USAGE_H
#define NODED_SPOOL_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SPOOL_MIN_FREE_MB 256  /* default of gnoded --spool-min-free */
#define SPOOL_MIN_FILES   1000 /* at least so many more files must fit */
#define SPOOL_DEPTH       128  /* depth of nested directories that are examined */
/* nameless files of one run; beyond that some may be counted twice */
#define SPOOL_OPEN 64

struct spool_room {
	uint64_t mb, files; /* available to users; files UINT64_MAX: no limit is known */
};

/* Of the file system of a descriptor. False: it cannot be read. */
bool spool_room(int fd, struct spool_room *out);

struct spool_held {
	uint64_t bytes, files;
	bool deep;              /* some directories are deeper than SPOOL_DEPTH */
	ino_t open[SPOOL_OPEN]; /* nameless files, so that one opened twice counts once */
	size_t n_open;
};

/* Add the content of the directory `name` in `parent`; nothing if there is none. Blocks: a million
 * files take seconds. */
void spool_add_dir(int parent, const char *name, struct spool_held *held);

/* Add the nameless files that a process has open on the device of `on`. */
void spool_add_open(pid_t pid, int on, struct spool_held *held);

#endif
