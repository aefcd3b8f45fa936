/* log.h - messages of daemons for their administrator
 *
 * A record is one line, whatever is in its text: control characters, escape sequences, newlines
 * and invalid UTF-8 are written as \xNN, and what is longer than LOG_TEXT_MAX is cut with "...".
 * To stderr and files a record is a single write(2) with O_APPEND, so records of several processes
 * do not mix:
 *
 *     2026-11-21T09:14:05.123+01:00 gctld[812] warning: node h03: not heard from for 60 s
 *
 * Any thread may log; errno is kept. The logging thread writes the record itself, until
 * log_start_writer(): then records go into a queue of LOG_QUEUE_MAX bytes that a helper thread
 * writes out, so that no thread waits for a pipe that is not read or a disk that hangs. A record
 * is lost if the queue is full, or if it cannot be written; lost records are counted, and the
 * count is logged as soon as that is possible again. At exit() and abort() the queue is written
 * first, if that takes no longer than LOG_FLUSH_MS. The state in log.c is the process's only
 * mutable global.
 *
 * Code in common/ and in the cores never logs; the code that handles an error logs it, once.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

#define LOG_TEXT_MAX  4096 /* bytes of a record's text, before escaping */
#define LOG_QUEUE_MAX ((size_t)1024 * 1024)
#define LOG_FLUSH_MS  2000

/* Of interest in this order; a level includes those before it. */
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Start, or change, where records go: `destination` is "stderr", "syslog" or a path (made with mode
 * 0640 if new), `level` "error", "warning", "info" or "debug", `ident` the program's name. On
 * failure (ERR_SYSTEM, ERR_CONFIG) everything stays as it was. Before the first call records of
 * level info and up go to stderr. With a writer the destination is opened by it, before it writes
 * what is still queued; a record says so if that fails. */
int log_open(const char *destination, const char *level, const char *ident, struct error *err);

/* Open the file again by its name (after it was renamed by logrotate); on failure the old file
 * stays in use. Nothing to do for stderr and syslog. With a writer as log_open(). */
int log_reopen(struct error *err);

/* Use `fd`, the log file that a process with the right to open it has opened again: records go
 * there from now on. Takes `fd` over; closes it if records do not go to a file. For processes
 * without a writer. */
void log_take(int fd);

/* From now on a thread writes. Not before the process has detached: threads do not survive fork().
 * -1 with ERR_SYSTEM. */
int log_start_writer(struct error *err);

/* At abort(), too, wait while `busy` says so, LOG_FLUSH_MS in all; NULL: for nothing else. It is
 * called in a handler of SIGABRT. */
void log_at_abort(bool (*busy)(void *arg), void *arg);

/* Wait until all that was logged so far is written, LOG_FLUSH_MS at most. Before _exit(). */
void log_flush(void);

/* How many records were lost so far. */
uint64_t log_lost(void);

/* We are about to close all descriptors but some (the child of a daemon): the log's own, which is
 * to be kept open, or -1. A connection to syslog is closed and made again with the next record. For
 * processes without a writer. */
int log_keep(void);

void log_close(void); /* back to how it was before log_open(); for tests and exits */

/* Would a record of that level be written? For a check before work that only serves a record. */
int log_wants(enum log_level level);

void log_msg(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_msg(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_msg(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_msg(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_msg(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
