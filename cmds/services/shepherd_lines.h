/* shepherd_lines.h - what gprobe tells its shepherd, in lines through a pipe
 *
 * Each line is at most SHEPHERD_LINE_MAX bytes and written at once, so the reader never sees a part
 * of one. A pipe that is full never blocks: what it has no room for is kept, one line of each kind,
 * and a newer one takes its place. A load is told at most once a second, and one that is the same
 * again every 5 s, so that its reader knows how old it is. When the reader is gone all is thrown
 * away.
 */
#ifndef CMDS_SERVICES_SHEPHERD_LINES_H
#define CMDS_SERVICES_SHEPHERD_LINES_H

#include <stdint.h>

#include "cmds/steps/loop.h"
#include "common/base/error.h"

#define SHEPHERD_LINE_MAX 512

struct shepherd_lines;

/* `fd` is a pipe, and is closed at exec from now on; -1: nothing is told. NULL with
 * `err`. */
struct shepherd_lines *shepherd_lines_new(struct loop *loop, int fd, struct error *err);

/* `text` is escaped and cut. */
void shepherd_lines_health(struct shepherd_lines *t, const char *word, const char *text);
void shepherd_lines_end(struct shepherd_lines *t, const char *text);
void shepherd_lines_load(struct shepherd_lines *t, const char *line); /* load_line() */

int64_t shepherd_lines_wake_ms(const struct shepherd_lines *t); /* INT64_MAX: nothing is due */
void shepherd_lines_tick(struct shepherd_lines *t, int64_t now_ms);

/* All that is due, whenever the last load was told: nothing follows. */
void shepherd_lines_last(struct shepherd_lines *t);

#endif
