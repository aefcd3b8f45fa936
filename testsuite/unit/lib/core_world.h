/* core_world.h - a world around the controller's core for unit tests
 *
 * Rows are kept in memory, as the store would: world_seal() takes them from the core, then loads a
 * second core from them and compares the two. After each event and slice core_check() must hold. A
 * failure ends the test with the text of what is broken.
 */
#ifndef TESTSUITE_UNIT_CORE_WORLD_H
#define TESTSUITE_UNIT_CORE_WORLD_H

#include "common/conf/conf.h"
#include "ctld/core/core.h"

struct world {
	struct conf *conf;
	struct core *core;
	struct clocks now;
	struct rows *rows;
	struct effect
	        *effects; /* copies, of all since world_clear(); what they point to is not kept */
	size_t n_effects, effects_size;
	/* of the last SUBMITTED, CONTROLLED and REPLY */
	uint64_t ids[64];
	bool known[64];
	size_t n_ids;
	uint32_t done;
	struct error error; /* of a REPLY or the first of a CONTROLLED; code 0 for success */
	bool would_start;
	struct test_place place; /* if so */
	char why[64], close_text[200];
	struct run_id wanted[64]; /* of the last REGISTERED */
	size_t n_wanted;
	uint64_t next_session, next_nonce;
	uint64_t retired, history_jobs, history_runs, audit_rows;
	const char *audit_kind; /* set by a test; NULL: none */
	char audit_text[300];   /* of the last row of that kind in the audit trail */
	struct { /* rows of steps, and what the last one says */
		uint64_t n, job;
		uint32_t task, attempt, step;
		char state[20], name[40];
		usec_t end_time;
	} steps;
	/* Called for each effect while what it points to is there; may be NULL. */
	void (*hook)(void *arg, const struct effect *effect);
	void *hook_arg;
	bool unchecked; /* for big worlds: core_check() only in world_seal() */
	/* Called after each event and, slices then being as small as can be, after each step of the
	 * scheduler; with hook_arg. May be NULL. */
	void (*settled)(void *arg, bool scheduled);
	/* Is something else to happen before the next slice? Asked with hook_arg; may be NULL. */
	bool (*breaks_off)(void *arg);
	size_t search_step; /* as world_search_step() said; 0: it did not */
};

/* A cluster from the text of a configuration; started, its nodes not heard of yet. */
struct world *world_new(const char *conf);
/* Nodes n0.. of 8 CPUs and 64G with `gpus` ("h100:8"), partition batch, tier 1. */
struct world *world_simple(unsigned nodes, const char *gpus);
void world_free(struct world *w);

void world_apply(struct world *w, const struct core_event *event);
void world_schedule(struct world *w);
/* From now on, sched_search_step() of its cores. */
void world_search_step(struct world *w, size_t nodes);
void world_seal(struct world *w);
/* Seal, then go on with a core loaded from the rows. Sessions are gone. */
void world_restart(struct world *w);
/* world_restart(), and node 0 comes back with all that runs; one pass. */
void world_again(struct world *w);
/* The same without the seal: what was not sealed never happened. */
void world_crash(struct world *w);
/* Both clocks go on; timers run. */
void world_pass(struct world *w, double seconds);
void world_reconfigure(struct world *w, const char *conf);

/* --- events ---------------------------------------------------------------------------------- */

struct caller world_user(uint32_t uid);
struct caller world_admin(void);

/* A submit of one job with everything defaulted but the GPUs ("", "h100:2", "h100:4|l40s:1"). */
struct submit_job world_job(struct world *w, const char *gpus);
/* Submit and schedule: the id, 0 when it was refused (w->error). */
uint64_t world_submit_job(struct world *w, const struct submit_job *job, uint32_t uid);
uint64_t world_submit(struct world *w, const char *gpus);

uint64_t world_register(struct world *w, uint32_t node, const char *incarnation,
        const struct run_report *runs, size_t n); /* the session */
void world_register_all(struct world *w);
void world_gone(struct world *w, uint32_t node);
struct run_report world_report(struct run_id id, enum run_report_state state);
void world_say(struct world *w, uint32_t node, struct run_report report);
uint32_t world_control(struct world *w, struct caller by, enum job_verb verb, uint64_t id);
/* Of some tasks of an array ("2,5-6"). */
uint32_t world_control_tasks(
        struct world *w, struct caller by, enum job_verb verb, uint64_t id, const char *tasks);
int world_node(struct world *w, enum node_verb verb, uint32_t node, bool confirmed_off);
/* The present run of a job starts, ends with an exit code. */
void world_run_starts(struct world *w, uint64_t job);
void world_run_ends(struct world *w, uint64_t job, uint32_t code);
/* A job that runs alone on node 0 ("inc1", h100:4) and may be requeued or not; as its node says. */
uint64_t world_running(struct world *w, bool requeue);
struct run_report world_alive(struct world *w, uint64_t job);

/* --- looking --------------------------------------------------------------------------------- */

const char *world_state(struct world *w, uint64_t job); /* "PENDING"; "none" */
const char *world_reason(struct world *w, uint64_t job);
struct job_view world_view(struct world *w, uint64_t job);
struct job_view world_task_view(struct world *w, uint64_t job, uint32_t task); /* must be there */
struct run_id world_run(struct world *w, uint64_t job);
uint32_t world_node_of(struct world *w, uint64_t job);
struct node_view world_node_view(struct world *w, uint32_t n);
uint64_t world_session(struct world *w, uint32_t node);
/* The last effect of a kind since world_clear(); NULL: none. How many there were. */
const struct effect *world_effect(const struct world *w, enum effect_kind kind);
size_t world_effect_count(const struct world *w, enum effect_kind kind);
void world_clear(struct world *w);

#endif
