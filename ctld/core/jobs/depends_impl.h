/* depends_impl.h - the inside of depends.h, for its files
 *
 *	depends_terms.c  the terms in memory, and the lists they are in
 *	depends.c        terms that one job as a whole decides
 *	correspond.c     aftercorr between two arrays: task by task
 *	depends_range.c  terms on some tasks of an array (12_[1-3,7])
 *	depends_ask.c    may a job wait for this?
 */
#ifndef CTLD_CORE_DEPENDS_IMPL_H
#define CTLD_CORE_DEPENDS_IMPL_H

#include "common/job/depend.h"
#include "ctld/core/jobs/depends.h"

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

/* --- depends_terms.c ------------------------------------------------------------------------- */

/* A copy of a term; its tasks are borrowed. */
struct depend_term depends_term(const struct depends *p, uint32_t n);
static inline bool depends_term_open(const struct depends *p, uint32_t n)
{
	return !(p->flags[n] & (TERM_MET | TERM_NEVER));
}
/* The term's job has started and its delay is running; the term is in no list then. */
bool depends_term_runs(const struct depends *p, uint32_t n);
/* Starts a term's delay: it runs until `at` (seconds of UTC). */
void depends_runs_until(struct depends *p, uint32_t n, int64_t at);
/* Records the outcome of a term. */
void depends_mark(struct depends *p, uint32_t n, enum outcome outcome);
/* Drops the met terms once they are half of all. Not if one met term is enough. */
void depends_pack(struct depends *p);
/* The text as rows keep it, or for people, no longer than is needed for `bytes` bytes; the caller
 * frees it. */
char *depends_text(const struct depends *p, bool kept, size_t bytes);
/* The record that an open term hangs on; NULL: it does not exist. */
struct job *depends_where(const struct core *core, const struct depends *p, uint32_t n);
/* Hangs an open term on the job that it names. */
void depends_hang(struct core *core, struct depends *p, uint32_t n);
/* Removes the last number from the list and returns its dependencies; NULL: that job no longer
 * waits. */
struct depends *waiting_pop(const struct core *core, struct waiting *w);
bool waiting_has(const struct waiting *w, uint32_t number);
/* When the job first started in its present attempt, or ended without a start. 0: neither yet. */
usec_t depends_began(const struct job *job);
/* Takes the edge out of its list. */
void depends_unhang(struct edge *e);
struct dependents *dependents_of(struct job *job);

/* --- depends.c ------------------------------------------------------------------------------- */

/* The named job has ended, well or not: does that satisfy a term of this type? Does any end? */
bool depend_comes_true(enum depend_type type, bool well);
bool depend_comes_true_anyhow(enum depend_type type);

/* A term was decided, or a range of tasks became smaller: update the job. It may be over
 * afterwards. */
void depends_weigh(struct core *core, struct job *job);
/* Puts the job into the queue of jobs to settle. A part only if other tasks wait for those of its
 * array. */
void depends_queue(struct core *core, struct job *job);
bool depend_term_open(const struct depend_term *t);
/* The record that a term is about: for a task, the record of its own; NULL: it has none. */
struct job *depend_term_job(const struct core *core, const struct depend_term *t);
bool depends_kills(const struct core *core, const struct job *job);
/* Ends a part whose term can never come true, or, of an array, the tasks that have no record of
 * their own. */
void depends_end_never(struct core *core, struct job *job, bool rest_only);

/* --- depends_range.c ------------------------------------------------------------------------- */

/* Some of the term's tasks are decided. False: none of these was open. */
bool range_take(bool any, struct depend_term *t, const struct taskset *tasks, bool comes_true);
/* Has the array reached the limit of terms on its tasks? */
bool range_many(const struct job *on);
/* An edge now hangs on an array: schedule updates for what has already started or ended there. */
void range_hung(struct core *core, struct edge *e, struct job *on);
/* A part has changed state: queue the update if a term waits for it. range_part_moved() then does
 * the update. */
void range_tell(struct core *core, struct job *part);
void range_part_moved(struct core *core, struct job *part);
/* The same for tasks that have left memory. False: no edge waits for any. */
bool range_gone(struct core *core, struct job *on);
/* The array is over, and every update of it has been done. */
void range_over(struct core *core, struct edge *e);
int range_check(const struct core *core, const struct job *job, const struct depend_term *t,
        struct error *err);

/* --- correspond.c ---------------------------------------------------------------------------- */

/* Is the term, of this job or of an array that is to be submitted, decided task by task? */
bool corr_is(const struct core *core, const struct depend_term *t, bool array);
/* Has the array reached the limit of arrays that wait for its tasks? */
bool corr_many(const struct job *on);

/* An edge now hangs on an array: schedule updates for what has already ended there. */
void corr_hung(struct core *core, struct edge *e, struct job *on);
/* A part of an array has ended: decide the same tasks of the waiting arrays. */
void corr_part_ended(struct core *core, struct job *part);
/* The same for tasks that have left memory. False: no edge waits for any. */
bool corr_gone(struct core *core, struct job *on);
/* The array is over: tasks without a counterpart in it are decided by the array as a whole. */
void corr_rest(struct core *core, struct job *own, uint64_t on, enum outcome outcome);

/* The array has a new text: update the copies that its parts have of it. */
void corr_retext(struct core *core, struct job *own);
/* The array's other terms have been decided: update its parts. */
void corr_reweigh(struct core *core, struct job *own);

bool corr_open(const struct job *part);
const char *corr_why(const struct core *core, const struct job *part, char *text, size_t size);
int corr_check(const struct core *core, const struct job *part, struct error *err);

#endif
