/* progress.h - how far a command has come, for a user at a terminal
 *
 * One line on standard error, which is drawn over a few times a second and cleared at the end:
 *
 *	submitting [########------------]  40%  1,200 of 3,000 jobs  310/s  0:06 left
 *
 * It is there only where standard error is a terminal that can move its cursor (TERM is set and not
 * "dumb"), and not if `quiet`: in a pipe or a file nothing of it appears. Nothing is drawn in the
 * first half second, so what is quick shows nothing. The line fits the terminal, however wide that
 * is at the moment. Not for several threads.
 */
#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is counted, which says how it is written. */
enum progress_unit { PROGRESS_COUNT, PROGRESS_BYTES };

struct progress;

/* `what` is a word or two ("verifying"), `things` the plural of what is counted ("jobs"; of bytes
 * ""). `total` 0: not known; then there is no bar, only a count and a rate. */
struct progress *progress_new(
        const char *what, const char *things, enum progress_unit unit, uint64_t total, bool quiet);

/* NULL is fine for all. Cheap: may be called for each thing. `done` and `total` may change in any
 * way; a rate is that of the last seconds. */
void progress_at(struct progress *p, uint64_t done);
void progress_total(struct progress *p, uint64_t total);

/* Another part of the work begins, from nothing. */
void progress_part(struct progress *p, const char *what, const char *things,
        enum progress_unit unit, uint64_t total);

/* A word or two about the present moment at the end of the line: "day 12"; NULL: none. Copied. */
void progress_note(struct progress *p, const char *note);

/* Takes the line away, for a message that is to stand there; the next progress_at() draws again. */
void progress_hide(struct progress *p);

/* Clears the line and frees. */
void progress_end(struct progress *p);

/* The line by itself, at most `width` columns; for tests. `rate` is in things a second, below 0:
 * not known. */
struct progress_state {
	const char *what, *things, *note;
	enum progress_unit unit;
	uint64_t done, total;
	double rate;
};
size_t progress_line(char *buf, size_t size, unsigned width, const struct progress_state *s);

#endif
