/* taskset.h - the tasks of an array: "1,3,5-7", "0-15:4", "0-9999:2%50"
 *
 * A set of numbers as ranges FIRST-LAST:STEP, so that a million tasks cost what one does. Sets are
 * made by reading an expression and only ever get smaller: tasks are taken out one by one, from the
 * front, or as another set. The ranges of a set may interleave, and never share a number.
 *
 * An expression is what Slurm takes for --array: numbers and ranges with commas between them, a
 * step after a colon, and %N for how many may run at a time, which is no part of the set. A number
 * that is there twice, a range that runs backwards, a step of 0 are mistakes, and refused as such.
 *
 * Pure.
 */
#ifndef COMMON_TASKSET_H
#define COMMON_TASKSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define TASK_MAX         4000000 /* the largest number, as of Slurm's largest MaxArraySize */
#define TASKSET_TEXT_MAX 65536   /* bytes of an expression */
#define TASK_NONE        UINT32_MAX

struct task_range {
	uint32_t first, last; /* both are in it */
	uint32_t step;        /* 1 of a single number */
};

struct taskset {
	struct task_range *v; /* owned; by first */
	size_t at, n, size;   /* those before `at` are used up; n: all, those included */
	uint32_t count;       /* tasks */
};

/* Read a set, without %N. -1 with ERR_USAGE: the text begins with what is wrong. */
int taskset_parse(const char *text, struct taskset *set, struct error *err);
/* The same with %N; *at_once is 0 where there is none. */
int taskset_parse_array(
        const char *text, struct taskset *set, uint32_t *at_once, struct error *err);
/* What taskset_text() has written, of any length. */
int taskset_parse_kept(const char *text, struct taskset *set, struct error *err);
void taskset_clear(struct taskset *set);
void taskset_copy(struct taskset *to, const struct taskset *from);
void taskset_single(struct taskset *set, uint32_t task);
/* Of bits, from 0 to `last`. */
void taskset_of_bits(struct taskset *set, const uint8_t *bits, uint32_t last);

bool taskset_has(const struct taskset *set, uint32_t task);
bool taskset_meets(const struct taskset *x, const struct taskset *y);
uint32_t taskset_first(const struct taskset *set); /* TASK_NONE: it is empty */
uint32_t taskset_last(const struct taskset *set);
uint32_t taskset_step(const struct taskset *set); /* of a set that is one range; else 1 */
size_t taskset_ranges(const struct taskset *set);
uint32_t taskset_before(const struct taskset *set, uint32_t task); /* so many are lower */

/* Put in what is not there yet. */
void taskset_add(struct taskset *set, const struct taskset *more);
/* Take a task out, if it is there. */
void taskset_remove(struct taskset *set, uint32_t task);
/* Take out what is also in `what`, and make that *taken. */
void taskset_take(struct taskset *set, const struct taskset *what, struct taskset *taken);

/* "3-9,12", "0-15:4"; "" for the empty set. The caller frees it. */
char *taskset_text(const struct taskset *set);

#endif
