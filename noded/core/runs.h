/* runs.h - the agent core's table of runs
 *
 * Every run that the core knows by name, found by its id, walked in order of arrival. The table
 * owns the runs and the strings in their reports. A run's state moves through agent_run_move()
 * alone, so that the counts by state are right; which moves are legal is decided in agent.c.
 *
 * Of forgotten runs only the names are kept, the last AGENT_REMEMBER of them, apart from the
 * others.
 */
#ifndef NODED_CORE_RUNS_H
#define NODED_CORE_RUNS_H

#include "noded/core/agent.h"

struct run {
	struct run_id id;
	enum agent_run_state state;
	struct run_report report; /* as the launcher said it; strings owned */
	usec_t heard;             /* as of when its times are (mono) */
	char *refusal;            /* DOOMED: why, if we know better than the launcher; or NULL */
	bool unsent;              /* changed since the controller was last told */
	usec_t repeat_at;         /* ENDED, NEVER, told: when to tell again (mono) */
	usec_t repeat_wait;
	struct run *same_bucket;
	struct run *prev, *next; /* by arrival */
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
void agent_runs_recall(struct runs *runs, struct run_id id); /* it is not forgotten after all */
/* The nth of the names kept, in any order that equal histories make equal. */
struct run_id agent_runs_forgotten(const struct runs *runs, size_t nth);

/* Take over what the launcher reported: a copy, numbers and strings. The id stays. */
void run_set_report(struct run *run, const struct run_report *report);

struct run *agent_runs_first(const struct runs *runs); /* then run->next */
size_t agent_runs_count(const struct runs *runs, enum agent_run_state state);

/* Are counts, chains and buckets as they must be? */
int agent_runs_check(const struct runs *runs, struct error *err);

#endif
