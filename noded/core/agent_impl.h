/* agent_impl.h - the inside of the agent's core, for its own files
 *
 *   agent.c          events, orders, effects
 *   agent_reports.c  reports to the controller, and their repeats
 *   invariants.c     invariants and the hash
 */
#ifndef NODED_CORE_AGENT_IMPL_H
#define NODED_CORE_AGENT_IMPL_H

#include "noded/core/agent.h"
#include "noded/core/runs.h"

struct agent {
	/* the launcher; strings owned, "" until its first hello */
	bool launcher_up;
	char *incarnation, *boot_id, *containment;
	struct runs *runs;
	uint64_t max_epoch, max_job;

	/* the controller */
	uint64_t session; /* 0: none */
	bool register_sent, registered, stale;
	usec_t register_deadline;
	usec_t heartbeat, heartbeat_at;
	usec_t repeat_at; /* not later than the earliest run->repeat_at; INT64_MAX: none */
	bool any_unsent;  /* false: no run is unsent */

	uint64_t orders_obeyed, orders_ignored;

	/* effects of the last apply, and the memory that they point to */
	struct agent_effect *effects;
	size_t n_effects, effects_room;
	void **kept;
	size_t n_kept, kept_room;
};

/* RUN is job.task.attempt.rank in notes. */
#define RUN          "run %llu.%u.%u.%u"
#define RUN_ARGS(id) (unsigned long long)(id).job, (id).task, (id).attempt, (id).rank

/* An effect of this event, of which all but the kind is 0 yet. */
struct agent_effect *agent_effect_new(struct agent *agent, enum agent_effect_kind kind);
/* Memory that lives as long as the effects of this event; returns it. */
void *agent_keep(struct agent *agent, void *memory);

/* Mark the run as changed: agent_flush() reports it. */
void agent_mark_unsent(struct agent *agent, struct run *run);
/* Report the marked runs if the session is registered; else register it. */
void agent_flush(struct agent *agent, struct clocks now);
/* Repeat the ends whose repeat time has come. */
void agent_repeat_ends(struct agent *agent, struct clocks now);

/* From the state table: is the state reported until forgotten? Is it what the launcher reported? */
bool agent_state_is_final(enum agent_run_state state);
bool agent_state_is_reported(enum agent_run_state state, enum run_report_state as);

static inline bool run_is_alive(const struct run *run)
{
	return run->state == AGENT_RUN_STARTING || run->state == AGENT_RUN_RUNNING;
}

static inline const char *or_empty(const char *text)
{
	return text ? text : "";
}

#endif
