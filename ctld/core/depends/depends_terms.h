/* depends_terms.h - what jobs wait for, in memory: terms, the jobs that they name, and the jobs
 * that wait for these
 *
 * The dependencies of a job are text in its row (common/job/depend.h), with the outcome of each
 * term. While a term is open, an edge hangs on the job that the term names. When that job starts or
 * ends it is put into a queue (depends_queue.h), and its edges are decided one by one, in slices
 * (depends_settle.h): a job with a hundred thousand dependents does not stall the controller. Until
 * its edges are decided the job stays in memory. So each term is decided by a job that is present,
 * the outcome is in the row of the waiting job, and nothing is ever searched.
 *
 * aftercorr of an array on another array is decided task by task (depends_aftercorr.h). A term on
 * some tasks of an array (12_[1-3]) has one edge for all of them (depends_range.h). singleton
 * depends on the other jobs of the same user with the same name (singletons.h) and is evaluated
 * afresh each time.
 *
 * Edges, queue and names are volatile: a start rebuilds them from the rows. What is here changes
 * nothing but this memory. From below; those from depends_attach.h on are in jobs/:
 *
 *	depends_open.h        does a job have to wait, until when, can it never start?
 *	depends_why.h         what it waits for, as text for people
 *	depends_check.h       may a job wait for this?
 *	depends_queue.h       jobs whose start or end decides terms of others
 *	depends_invariants.h  what must hold of all this
 *	depends_attach.h      a job gets the terms of its text, and they hang on other jobs
 *	depends_never.h       a job that can never start is ended
 *	depends_aftercorr.h   aftercorr between two arrays: task by task
 *	depends_outcome.h     what becomes of a job when one of its terms is decided
 *	depends_range.h       terms on some tasks of an array
 *	depends_settle.h      works through the queue
 */
#ifndef CTLD_CORE_DEPENDS_TERMS_H
#define CTLD_CORE_DEPENDS_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/depend.h"
#include "common/job/run.h"

struct core;
struct job;
struct taskset;

/* A term that needs more than a ref and flags: it has a delay, names several tasks, or is decided
 * task by task. An edge of the latter two kinds is in a list of the array that it names. */
struct edge {
	struct job *who;
	struct depend_term t;
	uint32_t term;
	struct edge *next, **back; /* in a list of the job that it names; back NULL: in none */
	uint64_t heard;            /* of corrs and ranges: the last part that this edge has been
				    * updated with */
	usec_t began;              /* of ranges: wall: the latest start or end that this edge has
				    * been updated with */
	bool gone; /* of corrs and ranges: tasks that have left memory must be evaluated */
};

#define GATHER 4

/* The dependencies of one job: nine bytes a term, and four or five more in the list of the job
 * that the term names. That is about as much as the text takes. */
struct depends {
	struct job *who;
	uint32_t number;      /* identifies it in lists of waiting jobs (depends_of_number()) */
	uint32_t n;           /* terms, in the order of the text */
	uint32_t open;        /* neither met nor never */
	uint32_t met, never_n;
	uint32_t each_n, each_never; /* terms decided task by task; of them, those that never come
				      * true */
	uint32_t whole_left;         /* terms not decided task by task, and not met */
	uint32_t singles;     /* open terms of type singleton */
	bool any;             /* one met term is enough */
	bool never;
	bool singleton;          /* it has a term of that type */
	bool each;               /* one of its terms is decided task by task */
	uint32_t gather[GATHER]; /* parts that tasks were moved into lately */
	uint32_t gathered;
	uint32_t n_edges;
	uint64_t *on;        /* of each term: the ref of the job that it names; 0: singleton.
			      * Owned */
	uint8_t *flags;      /* of each term: enum term_flags */
	struct edge *edges;  /* of terms with TERM_MORE, in order. Owned */
};

enum term_flags { TERM_TYPE = 7, TERM_MET = 8, TERM_NEVER = 16, TERM_MORE = 32 };

/* Numbers of the jobs that wait for one event of one job. Some may no longer wait for it; each job
 * that leaves the list removes at most two such numbers. */
struct waiting {
	uint32_t *v;
	uint32_t n, size;
	uint32_t at; /* the next number that a sweep examines */
};

struct dependents {
	struct waiting starts, ends; /* jobs that wait for its start, and for its end */
	struct edge *corrs;          /* of an array: arrays whose tasks wait for its tasks */
	struct edge *ranges;         /* of an array: terms on some of its tasks */
	struct job *next;            /* in the queue of jobs whose edges are to be settled */
	uint32_t parts_queued;       /* of an array */
	bool queued, lost;           /* lost: one of its own terms names a job that does not
				      * exist */
};

enum outcome { DEPEND_OPEN, DEPEND_MET, DEPEND_NEVER };

/* --- a job's dependencies -------------------------------------------------------------------- */

/* The dependencies of the job, which are its array's; NULL: none are open. */
struct depends *depends_of(const struct job *job);
/* Is a term of its text decided task by task? */
bool depends_by_task(const struct job *job);
/* Makes them from the text of its row, hung on nothing yet; takes the terms. */
struct depends *depends_make(struct core *core, struct job *job, struct depend *d);
/* Drop the dependencies of the job: it has ended, or gets another text. */
void depends_detach(struct core *core, struct job *job);
/* The job goes to history, or the core is freed: drop the list of its dependents. */
void depends_forget(struct core *core, struct job *job);

/* A copy of a term; its tasks are borrowed. */
struct depend_term depends_term(const struct depends *p, uint32_t n);
static inline bool depends_term_open(const struct depends *p, uint32_t n)
{
	return !(p->flags[n] & (TERM_MET | TERM_NEVER));
}
/* NULL: the term needs none. */
struct edge *depends_edge(const struct depends *p, uint32_t n);
/* The term's job has started and its delay is running; the term is in no list then. */
bool depends_term_runs(const struct depends *p, uint32_t n);
/* Starts a term's delay: it runs until `at` (seconds of UTC). */
void depends_runs_until(struct depends *p, uint32_t n, int64_t at);
usec_t depends_wall(int64_t at); /* as wall time */
/* Records the outcome of a term. */
void depends_mark(struct depends *p, uint32_t n, enum outcome outcome);
/* Drops the met terms once they are half of all. Not if one met term is enough. */
void depends_pack(struct depends *p);
/* The text as rows keep it, or for people, no longer than is needed for `bytes` bytes; the caller
 * frees it. */
char *depends_text(const struct depends *p, bool kept, size_t bytes);

/* --- the job that a term names --------------------------------------------------------------- */

/* The record that an open term hangs on; NULL: it does not exist. */
struct job *depends_where(const struct core *core, const struct depends *p, uint32_t n);
struct dependents *dependents_of(struct job *job);
void waiting_add(struct waiting *w, uint32_t number);
/* Removes the last number from the list and returns its dependencies; NULL: that job no longer
 * waits. */
struct depends *waiting_pop(const struct core *core, struct waiting *w);
bool waiting_has(const struct waiting *w, uint32_t number);
/* Puts the edge into a list, or takes it out of its list. */
void depends_list_edge(struct edge *e, struct edge **list);
void depends_unhang(struct edge *e);
/* When the job first started in its present attempt, or ended without a start. 0: neither yet. */
usec_t depends_began(const struct job *job);
/* Has the part of an array started or ended? Only then it can decide something. */
bool depends_has_news(const struct job *part);
/* Has the part any of these tasks? */
bool depends_has_any(const struct taskset *set, const struct job *part);

/* --- terms by themselves --------------------------------------------------------------------- */

bool depend_term_open(const struct depend_term *t);
/* The record that a term is about: for a task, the record of its own; NULL: it has none. */
struct job *depend_term_job(const struct core *core, const struct depend_term *t);
/* The named job has ended, well or not: does that satisfy a term of this type? Does any end? */
bool depend_comes_true(enum depend_type type, bool well);
bool depend_comes_true_anyhow(enum depend_type type);
/* The same for a job in history: it has started and ended, and how it ended is known. */
void depend_decide_past(struct depend_term *t, bool well);
/* Some of a term's tasks are decided. False: none of these was open. */
bool range_take(bool any, struct depend_term *t, const struct taskset *tasks, bool comes_true);
/* The text of the terms as a row keeps it; "": they are satisfied. The caller frees it. */
char *depend_kept_text(const struct depend *d);

#endif
