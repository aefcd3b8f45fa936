/* depend.h - the dependencies of a job on other jobs, as people write them
 *
 *	afterok:12:13,after:14+5,singleton	all of these (',')
 *	afterok:12?afternotok:13		any of these ('?')
 *
 * A list of terms: a type, and the ids it is about, each with a colon before it. Each id is a term
 * of its own, whatever stands between. An id may name a task of an array (12_7), or some of them as
 * --array has them (12_[1-3,7], 12_[0-9:2]): that means what each of them as a term would, and is
 * one term. Mixing ',' and '?' is refused.
 *
 * Rows keep the same text with the state of each term: there an id may be followed by "@SECONDS"
 * (of UTC: the delay ends then), "*" (each task of the array waits for the same task of that one)
 * or "!" (it can never come true); terms that have come true are left out, and of several tasks
 * those that have not yet decided anything stand there, or what has decided them.
 *
 * Pure: knows no jobs. Texts of errors say what would be right.
 */
#ifndef COMMON_DEPEND_H
#define COMMON_DEPEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/taskset.h"

#define DEPEND_TERMS_MAX 1000
#define DEPEND_TEXT_MAX  16384   /* bytes of what people write, without the NUL */
#define DEPEND_TASKS_MAX 4000000 /* that several tasks of arrays may be, all in all */
#define DEPEND_NO_TASK   UINT32_MAX
#define DEPEND_DELAY_MAX 5256000 /* minutes: ten years */

/* X(symbol, word, takes ids) */
#define DEPEND_TYPES(X)                          \
	X(DEPEND_AFTER, "after", true)           \
	X(DEPEND_AFTEROK, "afterok", true)       \
	X(DEPEND_AFTERNOTOK, "afternotok", true) \
	X(DEPEND_AFTERANY, "afterany", true)     \
	X(DEPEND_AFTERCORR, "aftercorr", true)   \
	X(DEPEND_SINGLETON, "singleton", false)

#define X(sym, word, ids) sym,
enum depend_type { DEPEND_TYPES(X) DEPEND_TYPE_COUNT };
#undef X

struct depend_term {
	enum depend_type type;
	uint64_t job;          /* 0: singleton */
	uint32_t task;         /* DEPEND_NO_TASK: the whole job */
	struct taskset *tasks; /* some of its tasks; owned; NULL: it is not about such */
	uint32_t delay;        /* after: minutes from its start */
	int64_t at;            /* seconds of UTC: when the delay is over; 0: it has not started */
	bool each;             /* aftercorr: decided task by task */
	bool met, never;       /* has come true; can never come true */
};

struct depend {
	struct depend_term *v; /* owned */
	size_t n;
	bool any; /* one is enough */
};

const char *depend_type_name(enum depend_type type);

/* "" is no terms. `kept`: as rows have it. Nothing of `d` is owned after a failure (ERR_USAGE). */
int depend_parse(const char *text, bool kept, struct depend *d, struct error *err);
void depend_clear(struct depend *d);

/* Without the terms that are met; the caller frees it. For people "!" is "(failed)", and when a
 * delay ends is left out. */
char *depend_format(const struct depend *d, bool kept);
/* For people: no more terms than it takes for so many bytes. */
char *depend_format_some(const struct depend *d, size_t bytes);

#endif
