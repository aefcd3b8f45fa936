/* taskset.h - the tasks of an array: "1,3,5-7", "0-15:4", "0-9999:2%50"
 *
 * A set of numbers as ranges FIRST-LAST:STEP, so that a million tasks cost what one does. The
 * ranges are in order, and each ends before the next one begins: "0-4:2,1-5:2" is kept as 0-5. So
 * two sets are compared, joined and taken apart in one walk over the ranges of both, and a task is
 * found by a binary search.
 *
 * An expression is what Slurm takes for --array: numbers and ranges with commas between them, a
 * step after a colon, and %N for how many may run at a time, which is no part of the set. A number
 * that appears twice, a range that runs backwards and a step of 0 are refused.
 *
 * An expression of a user has at most TASKSET_RANGES_MAX ranges once they are in order. The rest of
 * a set may have many more ranges than the part that was taken out: 0-999999 without 0-999999:3 is
 * 333,333 ranges of two tasks each. So each part of an array is made by taskset_part(), which
 * refuses such a part: then the part and the rest have few ranges, and each operation is one walk
 * over few of them.
 *
 * Pure.
 */
#ifndef COMMON_TASKSET_H
#define COMMON_TASKSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

#define TASK_MAX         4000000 /* the largest number, as of Slurm's largest MaxArraySize */
#define TASKSET_TEXT_MAX 65536   /* bytes of an expression */
#define TASK_NONE        UINT32_MAX
/* Ranges, in order, of an expression that users write. */
#define TASKSET_RANGES_MAX 5000
/* Steps of the walk that puts ranges in order which lie over each other, of one request: 0.1 us
 * each, at most. */
#define TASKSET_STEPS_MAX 20000

struct task_range {
	uint32_t first, last; /* both are in it */
	uint32_t step;        /* 1 of a single number */
};

struct taskset {
	struct task_range *v; /* owned; in order; none reaches into the next */
	size_t at, n, size;   /* those before `at` are used up; n: all, those included */
	uint32_t count;       /* tasks */
};

/* Read a set, without %N. -1 with ERR_USAGE: the text begins with what is wrong. */
int taskset_parse(const char *text, struct taskset *set, struct error *err);
/* The same for one of several sets in a request, which share *steps: TASKSET_STEPS_MAX at first. */
int taskset_parse_some(const char *text, struct taskset *set, size_t *steps, struct error *err);
/* The same with %N; *at_once is 0 where there is none. */
int taskset_parse_array(
        const char *text, struct taskset *set, uint32_t *at_once, struct error *err);
/* The same for an array that was accepted earlier, with any number of ranges. */
int taskset_parse_signed(
        const char *text, struct taskset *set, uint32_t *at_once, struct error *err);
/* What taskset_text() has written, of any length. */
int taskset_parse_kept(const char *text, struct taskset *set, struct error *err);
void taskset_clear(struct taskset *set);
void taskset_copy(struct taskset *to, const struct taskset *from);
void taskset_single(struct taskset *set, uint32_t task);

bool taskset_has(const struct taskset *set, uint32_t task);
bool taskset_meets(const struct taskset *x, const struct taskset *y);
uint32_t taskset_common(const struct taskset *x, const struct taskset *y); /* tasks of both */
uint32_t taskset_first(const struct taskset *set); /* TASK_NONE: it is empty */
uint32_t taskset_last(const struct taskset *set);
uint32_t taskset_next(const struct taskset *set, uint32_t from); /* `from` or above; TASK_NONE */
uint32_t taskset_step(const struct taskset *set); /* of a set that is one range; else 1 */
size_t taskset_ranges(const struct taskset *set);
uint32_t taskset_before(const struct taskset *set, uint32_t task); /* so many are lower */
uint32_t taskset_at(const struct taskset *set, uint32_t n); /* before which are n; TASK_NONE */

/* Put in what is not there yet. */
void taskset_add(struct taskset *set, const struct taskset *more);
/* The union of sets, which may have tasks in common: *all, which the caller clears. -1 with
 * ERR_USAGE: it takes more than *steps, or has more than `max` ranges. */
int taskset_join(const struct taskset *sets, size_t n, size_t max, struct taskset *all,
        size_t *steps, struct error *err);
/* Take a task out, if it is there. */
void taskset_remove(struct taskset *set, uint32_t task);
/* Take out what is also in `what`, and make that *taken. */
void taskset_take(struct taskset *set, const struct taskset *what, struct taskset *taken);
/* The tasks of `set` that are not in `of`: the first `max` ranges; the caller clears *out. */
void taskset_lacks(
        const struct taskset *of, const struct taskset *set, size_t max, struct taskset *out);
/* What `of` has of `set`: *part, the caller's to clear. -1: that, or what is left without it, is
 * more than `max` ranges, and *part is empty. */
int taskset_part(
        const struct taskset *of, const struct taskset *set, size_t max, struct taskset *part);

/* "3-9,12", "0-15:4"; "" for the empty set. The caller frees it. */
char *taskset_text(const struct taskset *set);

#endif
