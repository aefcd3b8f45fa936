/* counters.h - what was counted since gweb began: counters of metrics
 *
 * The watcher counts what it sees happen: each start with its wait, each end, each requeue; and
 * with each snapshot what GPUs did since the one before. Events while gweb did not run are not
 * counted; Prometheus takes a counter that begins again at 0 for a restart.
 *
 * A snapshot has the counters as they were then: a copy, which never changes.
 */
#ifndef CMDS_WEB_COUNTERS_H
#define CMDS_WEB_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

struct snapshot;
struct snapshot_texts;
struct snapshot_job;

#define COUNTERS_BUCKETS 12
/* Upper limits of the buckets of waits, in seconds; the last one is without a limit. */
extern const double counters_limits[COUNTERS_BUCKETS];

/* One for each combination of two names, which live as long as the watcher. */
struct counter {
	const char *a, *b;
	double n;
};
struct counter_list {
	struct counter *v;
	size_t n, size;
};
struct counter_waits {
	const char *partition, *qos;
	uint64_t buckets[COUNTERS_BUCKETS]; /* each by itself, not those below it too */
	double sum;
	uint64_t count;
};

struct counters {
	struct snapshot_texts *texts;   /* borrowed */
	struct counter_list gpu_seconds;  /* account, type: held */
	struct counter_list idle_seconds; /* type, "free" or "held": no compute at the sample */
	struct counter_list ended;        /* partition, state */
	struct counter_list requeued;     /* partition, reason of the job now */
	struct counter_list in_target;    /* partition, "yes" or "no": max_wait (job, QOS) was met */
	struct counter_list xids;         /* number, "" */
	struct counter_waits *waits;
	size_t n_waits, size_waits;
};

struct counters *counters_new(struct snapshot_texts *texts); /* borrowed: for names that it keeps */
void counters_free(struct counters *t);                      /* NULL is fine */
struct counters *counters_copy(const struct counters *t);

/* `job` takes the place of `before` (NULL: it is new). */
void counters_job(
        struct counters *t, const struct snapshot_job *before, const struct snapshot_job *job);
/* Adds the GPU use of `snap` for the time that it was valid. */
void counters_time(struct counters *t, const struct snapshot *snap, double seconds);
/* The Xids that nodes have heard of between two snapshots. */
void counters_xids(struct counters *t, const struct snapshot *before, const struct snapshot *now);

#endif
