/* depends_impl.h - the inside of depends.h, for its files
 *
 *	depends_terms.c  the terms in memory, and where they hang
 *	depends.c        terms that one job as a whole decides
 *	correspond.c     aftercorr between two arrays: task by task
 *	depends_range.c  some tasks of an array (12_[1-3,7])
 *	depends_ask.c    may a job wait for this?
 */
#ifndef CTLD_CORE_DEPENDS_IMPL_H
#define CTLD_CORE_DEPENDS_IMPL_H

#include "common/depend.h"
#include "ctld/core/jobs/depends.h"

/* A term with more to it: a delay, several tasks, or one that is decided task by task. Of those about
 * several tasks it is in a list of the array that it names. */
struct edge {
	struct job *who;
	struct depend_term t;
	uint32_t term;
	struct edge *next, **back; /* in a list of the job that it names; back NULL: in none */
	uint64_t heard;            /* of corrs and ranges: the last part that was told */
	usec_t began;              /* of ranges: wall: the last start or end that was told */
	bool gone; /* of corrs and ranges: tasks that have left memory are to be judged */
};

#define GATHER 4

/* What a job waits for: nine bytes a term, and four or five more in the list of what it names. That
 * is about what its text costs. */
struct depends {
	struct job *who;
	uint32_t number;      /* names it in lists of waiters (depends_of_number()) */
	uint32_t n;           /* terms, in the order of the text */
	uint32_t open;        /* neither met nor never */
	uint32_t met, never_n;
	uint32_t each_n, each_never; /* decided task by task; of them, those that never come true */
	uint32_t whole_left;         /* not decided task by task, and not met */
	uint32_t singles;     /* open terms of type singleton */
	bool any;             /* one is enough */
	bool never;
	bool singleton;          /* a term of that type is there */
	bool each;               /* one of its terms is decided task by task */
	uint32_t gather[GATHER]; /* parts that tasks were put into lately */
	uint32_t gathered;
	uint32_t n_edges;
	uint64_t *on;        /* of each term: the ref of what it names; 0: singleton. Owned */
	uint8_t *flags;      /* of each term: enum term_flags */
	struct edge *edges;  /* of terms with TERM_MORE, in order. Owned */
};

enum term_flags { TERM_TYPE = 7, TERM_MET = 8, TERM_NEVER = 16, TERM_MORE = 32 };

/* Numbers of those that wait for one thing of one job. Some may wait for it no more: each that lets go
 * takes out two such at most. */
struct waiting {
	uint32_t *v;
	uint32_t n, size;
	uint32_t at; /* the next to be looked at */
};

struct awaited {
	struct waiting starts, ends; /* what waits for its start, for its end */
	struct edge *corrs;          /* of an array: whose tasks wait for its tasks */
	struct edge *ranges;         /* of an array: what waits for some of its tasks */
	struct job *next;            /* in the queue of those to be settled */
	uint32_t parts_queued;       /* of an array */
	bool queued, lost;           /* lost: a term of its own names a job that is not there */
};

enum outcome { DEPEND_OPEN, DEPEND_MET, DEPEND_NEVER };

/* --- depends_terms.c ------------------------------------------------------------------------- */

/* A copy of a term; its tasks are borrowed. */
struct depend_term depends_term(const struct depends *p, uint32_t n);
static inline bool depends_term_open(const struct depends *p, uint32_t n)
{
	return !(p->flags[n] & (TERM_MET | TERM_NEVER));
}
/* Its job has started, and its delay runs; it hangs on nothing then. */
bool depends_term_runs(const struct depends *p, uint32_t n);
/* A term's delay runs until then (seconds of UTC). */
void depends_runs_until(struct depends *p, uint32_t n, int64_t at);
/* What has become of a term. */
void depends_mark(struct depends *p, uint32_t n, enum outcome outcome);
/* Where half of its terms are met: those go. Not where one is enough. */
void depends_pack(struct depends *p);
/* As rows keep it, or for people no more than it takes for so many bytes; the caller frees it. */
char *depends_text(const struct depends *p, bool kept, size_t bytes);
/* The record that an open term hangs on; NULL: there is none. */
struct job *depends_where(const struct core *core, const struct depends *p, uint32_t n);
/* Hang an open term on what it names. */
void depends_hang(struct core *core, struct depends *p, uint32_t n);
/* The last of those that wait; NULL: it waits no more. */
struct depends *waiting_pop(const struct core *core, struct waiting *w);
bool waiting_has(const struct waiting *w, uint32_t number);
/* When it started first in its present attempt, or ended without. 0: neither yet. */
usec_t depends_began(const struct job *job);
/* The edge hangs on nothing any more. */
void depends_unhang(struct edge *e);
struct awaited *awaited_of(struct job *job);

/* --- depends.c ------------------------------------------------------------------------------- */

/* What has ended, well or not: does a term of this type come true by that? By any end? */
bool depend_comes_true(enum depend_type type, bool well);
bool depend_comes_true_anyhow(enum depend_type type);

/* A term has been decided, or says less: what now? The job may be over afterwards. */
void depends_weigh(struct core *core, struct job *job);
/* Its turn to be settled will come. Of a part only if tasks wait for those of its array. */
void depends_queue(struct core *core, struct job *job);
bool depend_term_open(const struct depend_term *t);
/* The record that a term is about: of a task its own; NULL: it has none. */
struct job *depend_term_job(const struct core *core, const struct depend_term *t);
bool depends_kills(const struct core *core, const struct job *job);
/* Those of its tasks that have no record of their own; a part as a whole: they never start. */
void depends_end_never(struct core *core, struct job *job, bool rest_only);

/* --- depends_range.c ------------------------------------------------------------------------- */

/* Of the term's tasks these are decided. False: none of them was open. */
bool range_take(bool any, struct depend_term *t, const struct taskset *tasks, bool comes_true);
/* So many wait for tasks of it already? */
bool range_many(const struct job *on);
/* An edge now hangs on an array: what has started or ended of it will be told. */
void range_hung(struct core *core, struct edge *e, struct job *on);
/* A part has moved: will it be told? And, in its turn, it is. */
void range_tell(struct core *core, struct job *part);
void range_part_moved(struct core *core, struct job *part);
/* Of tasks that have left memory. False: there is no such edge. */
bool range_gone(struct core *core, struct job *on);
/* The array is over, and all of it was told. */
void range_over(struct core *core, struct edge *e);
int range_check(const struct core *core, const struct job *job, const struct depend_term *t,
        struct error *err);

/* --- correspond.c ---------------------------------------------------------------------------- */

/* Is the term, of this job or of an array that is to be, decided task by task? */
bool corr_is(const struct core *core, const struct depend_term *t, bool array);
/* So many arrays wait for its tasks already? */
bool corr_many(const struct job *on);

/* An edge now hangs on an array: what has ended of it will be told. */
void corr_hung(struct core *core, struct edge *e, struct job *on);
/* A part of an array has ended: the same tasks of those that wait. */
void corr_part_ended(struct core *core, struct job *part);
/* Of tasks that have left memory. False: there is no such edge. */
bool corr_gone(struct core *core, struct job *on);
/* The array is over: tasks that have none of the same number there are judged by all of it. */
void corr_rest(struct core *core, struct job *own, uint64_t on, enum outcome outcome);

/* Parts have what their array waits for in copy; it has got another text. */
void corr_retext(struct core *core, struct job *own);
/* The array's other terms have been decided: what becomes of its parts? */
void corr_reweigh(struct core *core, struct job *own);

bool corr_open(const struct job *part);
bool corr_never(const struct job *part);
const char *corr_why(const struct core *core, const struct job *part, char *text, size_t size);
int corr_check(const struct core *core, const struct job *part, struct error *err);

#endif
