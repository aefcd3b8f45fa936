/* runs.h - the agent core's table of runs
 *
 * It holds every run that the core knows by name: found by id, walked in order of arrival. The
 * table owns the runs and the strings in their reports. Only agent_run_move() changes a run's
 * state, so that the counts by state stay right; agent.c decides which moves are legal.
 *
 * Of forgotten runs only the ids are kept, the last AGENT_REMEMBER of them, in a list of their own.
 */
#ifndef NODED_CORE_RUNS_H
#define NODED_CORE_RUNS_H

#include "common/base/error.h"
#include "common/job/run.h"
#include "noded/core/run_state.h"

struct run {
	struct run_id id;
	enum agent_run_state state;
	struct run_report report; /* as the launcher said it; strings owned */
	/* when it was received (mono): durations in `report` are as of then */
	usec_t heard;
	/* DOOMED: the reason, if the core has a better one than the launcher; or NULL */
	char *refusal;
	bool unsent;      /* changed since the last report to the controller */
	usec_t repeat_at; /* ENDED, NEVER, reported: when to repeat it (mono) */
	usec_t repeat_wait;
	struct run *same_bucket;
	struct run *prev, *next; /* in order of arrival */
};

struct runs;

struct runs *agent_runs_new(void);
void agent_runs_free(struct runs *runs); /* NULL is fine */
void agent_runs_clear(struct runs *runs);

struct run *agent_runs_find(const struct runs *runs, struct run_id id); /* NULL: not known */
/* A new one in AGENT_RUN_NONE, which the caller moves on at once; `id` must not be known. */
struct run *agent_runs_add(struct runs *runs, struct run_id id);
void agent_run_move(struct runs *runs, struct run *run, enum agent_run_state state);

/* Keep only the name; `run` is freed. */
void agent_runs_forget(struct runs *runs, struct run *run);
bool runs_is_forgotten(const struct runs *runs, struct run_id id);
void agent_runs_recall(struct runs *runs, struct run_id id); /* remove it from the forgotten ids */

/* Take over what the launcher reported: a copy, numbers and strings. The id stays. */
void run_set_report(struct run *run, const struct run_report *report);

struct run *agent_runs_first(const struct runs *runs); /* then run->next */
size_t agent_runs_count(const struct runs *runs, enum agent_run_state state);

/* Are counts, chains and buckets as they must be? */
int agent_runs_check(const struct runs *runs, struct error *err);

#endif
