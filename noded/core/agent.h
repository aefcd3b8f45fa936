/* agent.h - the life of the runs of one node, decided without I/O
 *
 * Plain C: no I/O, no clock, no randomness. Events go in (agent_apply), effects come out
 * (agent_effects). gnoded, `gnoded --simulate` and the fault simulation each put a "world" around
 * this core: the code that delivers the events and carries out the effects.
 *
 * The core stands between two peers. The *launcher* owns the truth: it keeps a record of every run
 * in tmpfs, starts and ends runs, and keeps the report of each end until it is told to forget it.
 * The *controller* decides. The core holds a copy of what the launcher said, obeys the controller
 * only within the rules below, and repeats every end until the controller has committed it.
 *
 * 1. Sessions. Nothing is sent until the launcher has said hello and a session is up. Then Register
 *    goes out with every run; orders count once Registered has come back. An order, an answer or an
 *    acknowledgement of any other session, or before Registered, is ignored. When the launcher
 *    goes, the session is closed: reconciling is the normal path.
 * 2. Epochs. A session whose Registered names a lower epoch than one seen earlier is *stale*: none
 *    of its orders is obeyed, not even Forget. A single order with a lower epoch is not obeyed
 *    either.
 * 3. Incarnation. A start that names another incarnation of the node is answered with NEVER.
 * 4. Never. The controller may want a run that is not here, or order the end of a run that is not
 *    known. Such a run never existed and must never start: the launcher is told to end it, writes
 *    that down (a tombstone) and answers NEVER. Until that answer the run is DOOMED: a start of it
 *    is refused.
 * 5. Ends. ENDED and NEVER are reported repeatedly, also in each Register, until Forget. The id of
 *    a forgotten run is remembered for a while (the last AGENT_REMEMBER ids): late copies of old
 *    orders start nothing, and a controller that still wants the run (a restored backup) learns
 *    that it ended.
 * 6. A run that the controller does not want is left alone. Only orders end runs.
 * 7. The launcher may report a running run again. The latest report counts, and is passed on if it
 *    says anything new. Durations in it are brought
 *    up to the moment when it is sent (launcher and core read the same clock).
 *
 *        start           launcher says
 *   -----------> ASKED ---------------> STARTING ---> RUNNING ---> ENDED --+
 *                  |                        |                              | forget
 *        end       +----------> NEVER <-----+                              v
 *   -----------> DOOMED ---------^  +----------------------------------> FORGOTTEN
 *
 * Input from outside never triggers an assertion: what makes no sense is ignored and logged
 * (AGENT_NOTE).
 */
#ifndef NODED_CORE_AGENT_H
#define NODED_CORE_AGENT_H

#include "common/base/error.h"
#include "common/job/run.h"
#include "noded/core/run_state.h"

/* Register unanswered: the session is closed */
#define AGENT_REGISTER_TIMEOUT  ((usec_t)30 * 1000000)
#define AGENT_REPEAT_FIRST      ((usec_t)5 * 1000000)  /* an end not forgotten is repeated after */
#define AGENT_REPEAT_MAX        ((usec_t)60 * 1000000) /* each further wait is longer, up to this */
#define AGENT_HEARTBEAT_DEFAULT ((usec_t)10 * 1000000) /* if the controller names none */

#define AGENT_REGISTER_BYTES (900 * 1024) /* of reports in one Register */

struct agent;

/* --- what happened --------------------------------------------------------------------------- */

enum agent_event_kind {
	/* of the launcher */
	AGENT_LAUNCHER_HELLO, /* it is up; these runs replace all that were known */
	AGENT_LAUNCHER_GONE,
	AGENT_LAUNCHER_RUN, /* the state of a run has changed */
	/* of the connection */
	AGENT_SESSION_UP, /* authenticated; no message has been exchanged yet */
	AGENT_SESSION_GONE,
	/* of the controller */
	AGENT_REGISTERED,
	AGENT_START,
	AGENT_END,
	AGENT_SIGNAL,
	AGENT_SUSPEND,
	AGENT_FORGET,
	/* time has passed: heartbeats and repeats */
	AGENT_CLOCK,
	AGENT_EVENT_COUNT
};

/* What an EndRun says, in both directions. Strings as in run.h. */
struct agent_end {
	struct run_id run;
	uint64_t epoch;
	enum end_cause cause;
	uint32_t signal;  /* 0: TERM */
	uint32_t grace_s; /* 0: KILL at once */
	const char *by_user, *by_account, *by_qos;
	uint64_t by_job;
	bool requeue;
};

/* What a SuspendRun says. */
struct agent_suspend {
	struct run_id run;
	uint64_t epoch;
	bool suspend;          /* false: resume */
	uint32_t time_limit_s; /* 0: unchanged; UINT32_MAX: none */
};

struct agent_event {
	enum agent_event_kind kind;
	uint64_t session; /* SESSION_*, controller: the world's number; never 0 or reused */
	union {
		struct {
			const char *incarnation, *boot_id, *containment;
			uint64_t max_epoch, max_job;
			const struct run_report *runs;
			size_t n_runs;
		} hello;
		struct run_report report; /* LAUNCHER_RUN */
		struct {
			uint64_t epoch;
			const struct run_id *wanted;
			size_t n_wanted;
			uint32_t heartbeat_ms;    /* 0: AGENT_HEARTBEAT_DEFAULT */
			uint64_t signature_age_s; /* for the launcher; 0: not named */
		} registered;
		struct {
			struct run_id run;
			uint64_t epoch;
			const char *incarnation;
			const void *order; /* opaque; handed back in AGENT_TELL_START */
		} start;
		struct agent_end end;
		struct {
			struct run_id run;
			uint64_t epoch;
			uint32_t signal;
			bool script_only;
		} signal;
		struct agent_suspend suspend;
		struct {
			const struct run_id *runs;
			size_t n;
		} forget;
	};
};

/* --- what to do ------------------------------------------------------------------------------ */

enum agent_effect_kind {
	/* to the controller, on `session` */
	AGENT_SEND_REGISTER, /* the world adds its inventory */
	AGENT_SEND_REPORT,
	AGENT_SEND_HEARTBEAT, /* the world adds load and memory */
	AGENT_CLOSE_SESSION,  /* text says why; SESSION_GONE need not follow */
	/* to the launcher */
	AGENT_TELL_START, /* pass the order on, as it came */
	AGENT_TELL_END,
	AGENT_TELL_SIGNAL,
	AGENT_TELL_SUSPEND,
	AGENT_TELL_FORGET,
	AGENT_TELL_EPOCH, /* keep this as the highest epoch seen, with its signature age */
	/* to the log */
	AGENT_NOTE, /* text: an event that should not have come */
	AGENT_EFFECT_COUNT
};

/* Plain values. Pointers are good until agent_effects_clear() or the next agent_apply(); `order` is
 * good as long as the world keeps it. */
struct agent_effect {
	enum agent_effect_kind kind;
	uint64_t session; /* SEND_*, CLOSE_SESSION */
	union {
		struct {
			const char *incarnation, *boot_id, *containment;
			uint64_t max_epoch, max_job;
			const struct run_report *runs;
			size_t n_runs;
			bool more_runs;   /* the others follow as reports of their own */
		} reg;                    /* SEND_REGISTER */
		struct run_report report; /* SEND_REPORT */
		struct {
			struct run_id run;
			const void *order;
		} start;
		struct agent_end end;
		struct {
			struct run_id run;
			uint64_t epoch;
			uint32_t signal;
			bool script_only;
		} signal;
		struct agent_suspend suspend;
		struct run_id forget;
		struct {
			uint64_t epoch, signature_age_s;
		}; /* TELL_EPOCH */
		const char *text; /* CLOSE_SESSION, NOTE */
	};
};

/* --- the core -------------------------------------------------------------------------------- */

struct agent *agent_new(void);
void agent_free(struct agent *agent); /* NULL is fine */

/* Apply an event, which is borrowed for the call. Never fails and never blocks. The effects of
 * earlier calls must have been taken. */
void agent_apply(struct agent *agent, const struct agent_event *event, struct clocks now);

/* Effects of the last apply, in the order in which they must be carried out. */
const struct agent_effect *agent_effects(const struct agent *agent, size_t *n);
void agent_effects_clear(struct agent *agent);

/* When AGENT_CLOCK is wanted next (mono); INT64_MAX: never. */
usec_t agent_next_timer(const struct agent *agent);

/* Do all invariants hold? For tests, and after each event of a debug build. */
int agent_check(const struct agent *agent, struct error *err);

/* --- queries --------------------------------------------------------------------------------- */

const char *agent_run_state_name(enum agent_run_state state); /* "STARTING" */
enum agent_run_state agent_run_state(const struct agent *agent, struct run_id run);

struct agent_stats {
	size_t runs[AGENT_RUN_STATES]; /* by state; [AGENT_RUN_NONE] is 0 */
	uint64_t session;              /* 0: none */
	bool launcher_up, registered, stale;
	uint64_t max_epoch, max_job;
	uint64_t orders_obeyed, orders_ignored;
};
void agent_stats(const struct agent *agent, struct agent_stats *stats);

#endif
