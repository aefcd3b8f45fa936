/* history_reader.h - reading history.db, in slices
 *
 * A connection of its own beside the one that writes: WAL keeps the two apart. A slice is one
 * short transaction through an index, so no reader ever holds back the log for long; the next slice
 * goes on behind the last row of the one before, and what is written meanwhile is seen or not.
 *
 * For one thread at a time. Rows come by value, as they were stored: of each job that is wanted its
 * own row, then those of its runs in order of their keys.
 */
#ifndef CTLD_STORE_HISTORY_READER_H
#define CTLD_STORE_HISTORY_READER_H

#include "common/base/error.h"
#include "ctld/store/batch_items.h"

struct past;

/* history.db of a state directory that this process has open. */
struct past *past_open(const char *dir, struct error *err);
/* A file like it: of `gctl archive`, or a copy of a history.db. */
struct past *past_open_file(const char *path, struct error *err);
void past_close(struct past *past); /* NULL is fine */

/* The cluster that it belongs to; "": not recorded. */
int past_cluster(const struct past *past, char *name, size_t size, struct error *err);
/* Is the id, which no job there has, that of an array's task (core/records/job.h)? 1, 0, -1. */
int past_task(struct past *past, uint64_t id, uint64_t *array, uint32_t *task, struct error *err);
/* The highest id of a job, or of an array's task, and number of an event; 0: there is none. */
int past_highest(struct past *past, uint64_t *job, uint64_t *event, struct error *err);

enum past_by {
	PAST_BY_TIME,    /* in order of their end */
	PAST_BY_USER,    /* user by user, each in order of the end */
	PAST_BY_ACCOUNT, /* likewise */
	PAST_BY_ID,
};

/* Which jobs; borrowed. Keys and ids must each be there once. */
struct past_query {
	enum past_by by;
	char *const *keys; /* users, accounts */
	const uint64_t *ids;
	size_t n;      /* of keys or ids */
	int64_t since; /* ended then or later; us UTC */
	/* Is the job wanted, by its row? Else its runs are not read. Called while a slice is read,
	 * by the thread that reads it. */
	bool (*wants)(void *arg, const struct row *job);
	void *arg;
	bool with_steps; /* behind its runs those of its steps */
};

/* Begins as { 0 }. */
struct past_cursor {
	size_t at; /* which of the keys or ids */
	bool begun, end;
	int64_t time;
	int64_t id, part;
};

#define PAST_SLICE 1000 /* rows of jobs or events looked at; some 2 us each, a run 3 us */

/* The next slice, into `out` (appended). cursor->end: there is no more. */
int past_jobs(struct past *past, const struct past_query *query, struct past_cursor *cursor,
        unsigned max, struct store_batch *out, struct error *err);

/* The steps of a job (of an array, of a task) in order of attempts and numbers, a slice at a time;
 * they are there while the job still runs, too. cursor->end: there are no more. */
struct past_steps {
	uint64_t job;
	uint32_t task;
};
int past_steps(struct past *past, const struct past_steps *of, struct past_cursor *cursor,
        unsigned max, struct store_batch *out, struct error *err);

#define PAST_ANYBODY (-2)

/* Events in order of time; of a job (0: of all) and of a user (PAST_ANYBODY; -1: the controller's
 * own). With `by_seq` in order of their numbers, only those above `after`. */
struct past_events {
	uint64_t job;
	int64_t uid;
	int64_t since;
	int64_t until; /* only those before; 0: all */
	bool by_seq;
	uint64_t after;
	bool capacity; /* only how many GPUs there were; since and until alone count */
};
int past_events(struct past *past, const struct past_events *query, struct past_cursor *cursor,
        unsigned max, struct store_batch *out, struct error *err);

#endif
