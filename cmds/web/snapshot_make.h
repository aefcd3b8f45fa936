/* snapshot_make.h - making snapshots: for the watcher, in its one thread */
#ifndef CMDS_WEB_SNAPSHOT_MAKE_H
#define CMDS_WEB_SNAPSHOT_MAKE_H

#include "cmds/web/snapshot.h"

/* --- jobs ------------------------------------------------------------------------------------- */

/* Texts that many jobs have alike, each once, for as long as the table lives. Beyond
 * SNAPSHOT_TEXTS_MAX what is new becomes "(other)": a list of partitions is a user's to choose. */
#define SNAPSHOT_TEXTS_MAX 50000
struct snapshot_texts *snapshot_texts_new(void);
void snapshot_texts_free(struct snapshot_texts *t);
const char *snapshot_text(struct snapshot_texts *t, const char *text);

/* Jobs are made and freed in one thread, and their texts after them. */
struct snapshot_job *snapshot_job_new(const Gpusched__Job *m, struct snapshot_texts *texts);
void snapshot_job_free(struct snapshot_job *job); /* NULL is fine */
/* Do both say the same? */
bool snapshot_job_same(const struct snapshot_job *a, const struct snapshot_job *b);
/* By id, then raw id, then tasks. */
int snapshot_job_compare(const struct snapshot_job *a, const struct snapshot_job *b);

/* --- lists of messages ------------------------------------------------------------------------ */

struct messages;
struct messages *messages_new(void);
void messages_add(struct messages *m, const ProtobufCMessage *item); /* a copy */
struct messages *messages_ref(struct messages *m);
void messages_put(struct messages *m); /* NULL is fine */
bool messages_same(const struct messages *a, const struct messages *b);

/* --- a snapshot ------------------------------------------------------------------------------- */

struct snapshot_draft {
	int64_t taken_us;
	uint64_t cursor;
	const char *cluster, *version, *currency; /* copied */
	bool private_jobs;
	bool fresh;
	/* The jobs that take the place of those with the same key, or are new; taken over, but for
	 * the array. Their serials say which came later; of two alike the later one counts. */
	struct snapshot_job **set;
	size_t n_set;
	/* Of these arrays what stands for several tasks goes, unless it is in `set`. In order. */
	const uint64_t *arrays;
	size_t n_arrays;
	/* Only what is in `set` is left: all jobs were listed. */
	bool all;
	/* Jobs that ended before go; and of those that ended only so many stay, the latest. */
	int64_t ended_since;
	size_t ended_max;
	struct messages *lists[LIST_COUNT]; /* of LIST_ kinds; NULL: as before */
	struct counters *counters;              /* taken over */
	/* Called with the snapshot before others see it, for what is made of it; NULL. */
	void (*made)(const struct snapshot *snap, void *arg);
	void *arg;
};

/* Put `set` in order, and of two alike keep the later one. */
void snapshot_draft_sort(struct snapshot_draft *draft);

/* Publish it: the newest from now on. */
void snapshots_publish(struct snapshots *s, struct snapshot_draft *draft);

/* How many have a reference: the newest, and those that are looked at. */
size_t snapshots_held(struct snapshots *s);

/* Why the controller does not answer; "": it does. */
void snapshots_tell(struct snapshots *s, const char *trouble);

#endif
