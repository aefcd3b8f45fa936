/* file_reload.h - a file that is always whole, and the command that makes a program read it again
 *
 * The text is written to FILE.gfeed beside it, synced, and renamed. Where the file has that text
 * already nothing is done. The command runs after each change, and once at the beginning, since a
 * change may have been written just before a crash. One runs at a time, in a process of its own; a
 * change meanwhile makes it run again. One that fails is tried again.
 */
#ifndef CMDS_FEED_FILE_RELOAD_H
#define CMDS_FEED_FILE_RELOAD_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* 1: written; 0: the file was like that; -1 with `err`. */
int outfile_write(const char *path, const char *text, size_t len, struct error *err);

#define RELOAD_RETRY_MS 5000

struct reload {
	const char *command; /* for sh -c; NULL: none */
	int pid;             /* of the one that runs; 0: none */
	int64_t due_ms;      /* run it then; INT64_MAX: there is no need */
};

/* Begins as { .command = command }, with due_ms 0: at once. */
void reload_wanted(struct reload *r);

/* Start the command if it is due, look after one that runs. 1: it has ended well; -1: it has
 * failed, and `err` says how; 0: neither. */
int reload_tick(struct reload *r, int64_t now_ms, struct error *err);

#endif
