/* depends_impl.h - the inside of depends.h, for its files
 *
 *	depends.c        terms that one job as a whole decides
 *	correspond.c     aftercorr between two arrays: task by task
 *	depends_range.c  some tasks of an array (12_[1-3,7])
 *	depends_ask.c    may a job wait for this?
 */
#ifndef CTLD_CORE_DEPENDS_IMPL_H
#define CTLD_CORE_DEPENDS_IMPL_H

#include "common/depend.h"
#include "ctld/core/depends.h"

/* One open term. */
struct edge {
	struct job *who;
	uint32_t term;
	struct edge *next, **back; /* in a list of the job that it names; back NULL: in none */
	uint64_t heard;            /* of corrs and ranges: the last part that was told */
	usec_t began;              /* of ranges: wall: the last start or end that was told */
	bool gone; /* of corrs and ranges: tasks that have left memory are to be judged */
};

#define GATHER 4

struct depends {
	struct depend d;
	struct edge *edges; /* one for each term */
	bool never;
	bool singleton;          /* a term of that type is open */
	bool each;               /* one of its terms is decided task by task */
	uint32_t gather[GATHER]; /* parts that tasks were put into lately */
	uint32_t gathered;
};

struct awaited {
	struct edge *starts, *ends; /* who waits for its start, for its end */
	struct edge *corrs;         /* of an array: whose tasks wait for its tasks */
	struct edge *ranges;        /* of an array: who waits for some of its tasks */
	struct job *next;           /* in the queue of those to be settled */
	uint32_t parts_queued;      /* of an array */
	bool queued, lost;          /* lost: a term of its own names a job that is not there */
};

enum outcome { DEPEND_OPEN, DEPEND_MET, DEPEND_NEVER };

/* What has ended, well or not: does a term of this type come true by that? By any end? */
bool depend_comes_true(enum depend_type type, bool well);
bool depend_comes_true_anyhow(enum depend_type type);

/* The edge hangs on nothing any more. */
void depends_unhang(struct edge *e);
/* A term has been decided, or says less: what now? The job may be over afterwards. */
void depends_weigh(struct core *core, struct job *job);
struct awaited *awaited_of(struct job *job);
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
bool range_take(const struct depend *d, struct depend_term *t, const struct taskset *tasks,
        bool comes_true);
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
