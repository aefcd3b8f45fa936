/* programs.h - programs of the site, started by the controller: fence, mail
 *
 * Each is called with a fixed environment and none of the controller's descriptors, as the
 * controller's user, never through a shell, in a process group of its own that is killed with it.
 * The loop waits for none of them. A program that does not end in time is killed and reported as
 * late at once. If it hangs in the kernel, it keeps its place among those that may run until it has
 * really gone.
 */
#ifndef CTLD_PROGRAMS_H
#define CTLD_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct event_base;
struct programs;

/* How a program ended. */
enum program_how {
	PROGRAM_ENDED,
	PROGRAM_LATE, /* it was killed for its time */
	PROGRAM_LOST, /* it has ended, and other code has collected its exit status */
};
struct program_end {
	enum program_how how;
	int status;       /* ENDED: as of waitpid(2) */
	const char *said; /* on stderr: the beginning of its first line, as it is; "": nothing */
};

/* Called once for each program that was started; it may start others. */
typedef void program_done_fn(void *arg, const struct program_end *end);

/* At most `at_once` of them run. `free_place` is called when there is a place again. */
struct programs *programs_new(
        struct event_base *base, unsigned at_once, void (*free_place)(void *arg), void *arg);
/* Kills running programs, without callbacks. NULL is fine. */
void programs_free(struct programs *p);

bool programs_have_space(const struct programs *p);

/* argv[0] is its path; both lists end with NULL and are borrowed. After `timeout_s` (0: never) it
 * is late. 0 or -1: it was not started, and `done` is not called. */
int programs_start(struct programs *p, char *const argv[], char *const env[], uint32_t timeout_s,
        program_done_fn *done, void *arg, struct error *err);

/* It ended by itself, with exit status 0. */
bool program_succeeded(const struct program_end *end);
/* Why a program failed: "failed (exit status 3): no route", "did not end in time and was
 * killed". */
#define PROGRAM_END_TEXT_MAX 256
const char *program_end_text(const struct program_end *end, char buf[PROGRAM_END_TEXT_MAX]);

#endif
