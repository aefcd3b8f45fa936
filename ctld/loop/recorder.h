/* recorder.h - `gctld --record`: the file, and the thread that writes it
 *
 * Records (tape/tape.h) are queued by the loop, which never waits, and written by a thread that
 * owns nothing else. What was queued before abort() is written first, as the log's is; after a kill
 * the file ends where the thread was, mostly at the last tick. Nothing is synced: a file that a
 * power cut has shortened is as good.
 *
 * The file is made with mode 0600, or goes on after its last whole record: each start of the
 * controller is a section of its own. A disk that fails or lags by RECORDER_BEHIND ends the
 * recording with a line in the log, and nothing else.
 */
#ifndef CTLD_RECORDER_H
#define CTLD_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "ctld/tape/tape.h"

#define RECORDER_BEHIND ((size_t)512 << 20)
#define RECORDER_MARKS  1000  /* events between two marks, if nothing else was asked for */
#define RECORDER_HASHED 10000 /* jobs and runs, at most, of which a mark is made: some 5 ms */

struct recorder;

/* NULL: the file is damaged, no file, in use by another, or cannot be opened. */
struct recorder *recorder_open(const char *path, struct error *err);
/* Write all that is queued. NULL is fine. */
void recorder_close(struct recorder *r);

void recorder_put(struct recorder *r, const struct tape_record *record);
/* A good moment to write what was put. */
void recorder_kick(struct recorder *r);

uint64_t recorder_bytes(const struct recorder *r); /* queued so far; NULL: 0 */

#endif
