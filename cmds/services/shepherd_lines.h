/* shepherd_lines.h - what gprobe tells its shepherd, in lines through a pipe
 *
 * Each line is at most TELL_LINE_MAX bytes and written at once, so the reader never sees a part of
 * one. A pipe that is full never blocks: what it has no room for is kept, one line of each kind,
 * and a newer one takes its place. A load is told at most once a second, and one that is the same
 * again every 5 s, so that its reader knows how old it is. When the reader is gone all is thrown
 * away.
 */
#ifndef CMDS_SERVICES_SHEPHERD_LINES_H
#define CMDS_SERVICES_SHEPHERD_LINES_H

#include <stdint.h>

#include "cmds/steps/loop.h"
#include "common/base/error.h"

#define TELL_LINE_MAX 512

struct tell;

/* `fd` is a pipe, and is closed at exec from now on; -1: nothing is told. NULL with
 * `err`. */
struct tell *tell_new(struct loop *loop, int fd, struct error *err);

/* `text` is escaped and cut. */
void tell_health(struct tell *t, const char *word, const char *text);
void tell_end(struct tell *t, const char *text);
void tell_load(struct tell *t, const char *line); /* load_line() */

int64_t tell_wake_ms(const struct tell *t); /* INT64_MAX: nothing is due */
void tell_tick(struct tell *t, int64_t now_ms);

/* All that is due, whenever the last load was told: nothing follows. */
void tell_last(struct tell *t);

#endif
