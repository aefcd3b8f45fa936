/* agent.c - see agent.h for what is decided and why
 *
 * There is one handler for each event, in the table at the end. A handler changes the state and
 * adds effects. News of runs for the controller is only marked (run->unsent); flush() sends it
 * after every event, if the session is registered. So nothing depends on the order in which
 * session, launcher and reports come.
 */
#include "noded/core/agent.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "noded/core/agent_impl.h"

/* State table: name, the states it may change to, whether it is reported until it is forgotten.
 * move() refuses transitions that are not here. */
#define TO(state) (1u << AGENT_RUN_##state)

static const struct state_row {
	const char *name;
	unsigned may;
	bool final;
} states[AGENT_RUN_STATES] = {
	[AGENT_RUN_NONE] = { "NONE",
	        TO(ASKED) | TO(DOOMED) | TO(STARTING) | TO(RUNNING) | TO(ENDED) | TO(NEVER),
	        false },
	[AGENT_RUN_ASKED] = { "ASKED", TO(STARTING) | TO(RUNNING) | TO(ENDED) | TO(NEVER), false },
	/* The launcher may have known the run after all: its report counts. */
	[AGENT_RUN_DOOMED] = { "DOOMED", TO(STARTING) | TO(RUNNING) | TO(ENDED) | TO(NEVER),
	        false },
	[AGENT_RUN_STARTING] = { "STARTING", TO(RUNNING) | TO(ENDED) | TO(NEVER), false },
	/* A running run may be reported again. */
	[AGENT_RUN_RUNNING] = { "RUNNING", TO(RUNNING) | TO(ENDED), false },
	[AGENT_RUN_ENDED] = { "ENDED", TO(FORGOTTEN), true },
	[AGENT_RUN_NEVER] = { "NEVER", TO(FORGOTTEN), true },
	[AGENT_RUN_FORGOTTEN] = { "FORGOTTEN", 0, false },
};

static const enum agent_run_state state_of_report[] = {
	[REPORT_STARTING] = AGENT_RUN_STARTING,
	[REPORT_RUNNING] = AGENT_RUN_RUNNING,
	[REPORT_ENDED] = AGENT_RUN_ENDED,
	[REPORT_NEVER] = AGENT_RUN_NEVER,
};

static bool may_move(enum agent_run_state from, enum agent_run_state to)
{
	return states[from].may & 1u << to;
}

static void move(struct agent *agent, struct run *run, enum agent_run_state to)
{
	assert(may_move(run->state, to));
	agent_run_move(agent->runs, run, to);
}

/* --- effects --------------------------------------------------------------------------------- */

void *agent_keep(struct agent *agent, void *memory)
{
	*XADD(agent->kept, agent->n_kept, agent->kept_room) = memory;
	return memory;
}

struct agent_effect *agent_effect_new(struct agent *agent, enum agent_effect_kind kind)
{
	struct agent_effect *new;

	if (agent->n_effects == agent->effects_room) {
		agent->effects_room = agent->effects_room ? 2 * agent->effects_room : 4;
		agent->effects =
		        xrealloc(agent->effects, agent->effects_room, sizeof(*agent->effects));
	}
	new = &agent->effects[agent->n_effects++];
	memset(new, 0, sizeof(*new));
	new->kind = kind;
	return new;
}

/* Takes the text over. */
static void add_note(struct agent *agent, char *text)
{
	agent_keep(agent, text);
	agent_effect_new(agent, AGENT_NOTE)->text = text;
}

const struct agent_effect *agent_effects(const struct agent *agent, size_t *n)
{
	*n = agent->n_effects;
	return agent->effects;
}

void agent_effects_clear(struct agent *agent)
{
	for (size_t i = 0; i < agent->n_kept; i++)
		free(agent->kept[i]);
	agent->n_kept = 0;
	agent->n_effects = 0;
}

/* --- the session ----------------------------------------------------------------------------- */

static void forget_session(struct agent *agent)
{
	agent->session = 0;
	agent->register_sent = agent->registered = agent->stale = false;
}

static void close_session(struct agent *agent, const char *why)
{
	struct agent_effect *e = agent_effect_new(agent, AGENT_CLOSE_SESSION);

	e->session = agent->session;
	e->text = why;
	forget_session(agent);
}

/* --- orders ---------------------------------------------------------------------------------- */

static bool id_is_sound(struct run_id id)
{
	return id.job != 0 && id.attempt != 0;
}

/* `signature_age_s` 0: not given. */
static void see_epoch(struct agent *agent, uint64_t epoch, uint64_t signature_age_s)
{
	struct agent_effect *e;

	if (epoch <= agent->max_epoch && !signature_age_s)
		return;
	agent->max_epoch = epoch;
	e = agent_effect_new(agent, AGENT_TELL_EPOCH);
	e->epoch = epoch;
	e->signature_age_s = signature_age_s;
}

/* Do orders of this session count? */
static bool session_counts(struct agent *agent, const struct agent_event *event)
{
	if (agent->session && event->session == agent->session && agent->registered &&
	        !agent->stale)
		return true;
	agent->orders_ignored++;
	return false;
}

static bool order_counts(
        struct agent *agent, const struct agent_event *event, struct run_id id, uint64_t epoch)
{
	if (!session_counts(agent, event))
		return false;
	if (epoch < agent->max_epoch || !id_is_sound(id)) {
		agent->orders_ignored++;
		add_note(agent,
		        xasprintf(RUN ": an order of epoch %llu is ignored; the highest is %llu",
		                RUN_ARGS(id), (unsigned long long)epoch,
		                (unsigned long long)agent->max_epoch));
		return false;
	}
	see_epoch(agent, epoch, 0);
	agent->orders_obeyed++;
	return true;
}

/* Have the launcher write down that this run must never start. `refusal` is owned from now on. */
static void doom(struct agent *agent, const struct agent_end *end, char *refusal)
{
	struct run *run = agent_runs_add(agent->runs, end->run);
	struct agent_effect *e = agent_effect_new(agent, AGENT_TELL_END);

	run->refusal = refusal;
	move(agent, run, AGENT_RUN_DOOMED);
	e->end = *end;
	e->end.by_user = agent_keep(agent, xstrdup(end->by_user));
	e->end.by_account = agent_keep(agent, xstrdup(end->by_account));
	e->end.by_qos = agent_keep(agent, xstrdup(end->by_qos));
}

static struct agent_end end_of(struct run_id run, uint64_t epoch)
{
	return (struct agent_end){ .run = run,
		.epoch = epoch,
		.cause = END_CANCEL,
		.by_user = "",
		.by_account = "",
		.by_qos = "" };
}

static void on_start(struct agent *agent, const struct agent_event *event, struct clocks now)
{
	struct run_id id = event->start.run;
	struct run *run;

	(void)now;
	if (!order_counts(agent, event, id, event->start.epoch))
		return;
	if (id.job > agent->max_job)
		agent->max_job = id.job;
	run = agent_runs_find(agent->runs, id);
	if (run) { /* a late copy; or it was doomed, and NEVER is on its way */
		if (states[run->state].final)
			agent_mark_unsent(agent, run);
		return;
	}
	if (runs_is_forgotten(agent->runs, id))
		return;
	if (strcmp(event->start.incarnation, agent->incarnation) != 0) {
		struct agent_end end = end_of(id, event->start.epoch);

		doom(agent, &end,
		        xasprintf("the start names incarnation %.80s, the node is %s",
		                event->start.incarnation, agent->incarnation));
		return;
	}
	run = agent_runs_add(agent->runs, id);
	move(agent, run, AGENT_RUN_ASKED);
	agent_effect_new(agent, AGENT_TELL_START)->start.run = id;
	agent->effects[agent->n_effects - 1].start.order = event->start.order;
}

static void on_end(struct agent *agent, const struct agent_event *event, struct clocks now)
{
	const struct agent_end *end = &event->end;
	struct agent_effect *e;
	struct run *run;

	(void)now;
	if (!order_counts(agent, event, end->run, end->epoch))
		return;
	run = agent_runs_find(agent->runs, end->run);
	if (!run) {
		if (!runs_is_forgotten(agent->runs, end->run))
			doom(agent, end, NULL);
	} else if (states[run->state].final) {
		agent_mark_unsent(agent, run);
	} else if (run->state != AGENT_RUN_DOOMED) {
		e = agent_effect_new(agent, AGENT_TELL_END);
		e->end = *end;
		e->end.by_user = agent_keep(agent, xstrdup(end->by_user));
		e->end.by_account = agent_keep(agent, xstrdup(end->by_account));
		e->end.by_qos = agent_keep(agent, xstrdup(end->by_qos));
	}
}

/* May the launcher have this run as one that is not over? */
static bool may_be_alive(const struct agent *agent, struct run_id id)
{
	const struct run *run = agent_runs_find(agent->runs, id);

	return run && (run->state == AGENT_RUN_ASKED || run_is_alive(run));
}

static void on_suspend(struct agent *agent, const struct agent_event *event, struct clocks now)
{
	const struct agent_suspend *s = &event->suspend;

	(void)now;
	if (order_counts(agent, event, s->run, s->epoch) && may_be_alive(agent, s->run))
		agent_effect_new(agent, AGENT_TELL_SUSPEND)->suspend = *s;
}

static void on_signal(struct agent *agent, const struct agent_event *event, struct clocks now)
{
	struct agent_effect *e;

	(void)now;
	if (!order_counts(agent, event, event->signal.run, event->signal.epoch) ||
	        !may_be_alive(agent, event->signal.run))
		return;
	e = agent_effect_new(agent, AGENT_TELL_SIGNAL);
	COPY_FIELDS(&e->signal, &event->signal, run, epoch, signal, script_only);
}

static void on_forget(struct agent *agent, const struct agent_event *event, struct clocks now)
{
	(void)now;
	if (!session_counts(agent, event))
		return;
	for (size_t i = 0; i < event->forget.n; i++) {
		struct run_id id = event->forget.runs[i];
		struct run *run = agent_runs_find(agent->runs, id);

		if (!run) /* known already, or never known */
			continue;
		if (!states[run->state].final) {
			agent->orders_ignored++;
			add_note(agent, xasprintf(RUN " is %s and cannot be forgotten",
			                        RUN_ARGS(id), states[run->state].name));
			continue;
		}
		agent->orders_obeyed++;
		agent_effect_new(agent, AGENT_TELL_FORGET)->forget = id;
		assert(may_move(run->state, AGENT_RUN_FORGOTTEN));
		agent_runs_forget(agent->runs, run);
	}
}

/* --- session and registration ---------------------------------------------------------------- */

static void on_session_up(struct agent *agent, const struct agent_event *event, struct clocks now)
{
	(void)now;
	if (agent->session && agent->session != event->session)
		close_session(agent, "another session has taken its place");
	if (agent->session == event->session)
		return;
	forget_session(agent);
	agent->session = event->session;
}

static void on_session_gone(struct agent *agent, const struct agent_event *event, struct clocks now)
{
	(void)now;
	if (agent->session == event->session)
		forget_session(agent);
}

/* The end of this run was acknowledged here, and yet the controller does not know it: its database
 * is older than that (a restored backup). How the run ended is no longer known, but NEVER would be
 * wrong: it did run. */
static void recall(struct agent *agent, struct run_id id)
{
	struct run_report report = { .run = id,
		.state = REPORT_ENDED,
		.cause = END_LOST,
		.detail = "its end was acknowledged before, and is not kept on the node",
		.incarnation = agent->incarnation,
		.gpu_type = "",
		.progress = "",
		.node_trouble = "" };
	struct run *run;

	agent_runs_recall(agent->runs, id);
	run = agent_runs_add(agent->runs, id);
	run_set_report(run, &report);
	move(agent, run, AGENT_RUN_ENDED);
	agent_mark_unsent(agent, run);
}

static void on_registered(struct agent *agent, const struct agent_event *event, struct clocks now)
{
	if (!agent->session || event->session != agent->session || !agent->register_sent ||
	        agent->registered)
		return;
	agent->registered = true;
	agent->heartbeat = event->registered.heartbeat_ms
	                           ? (usec_t)event->registered.heartbeat_ms * 1000
	                           : AGENT_HEARTBEAT_DEFAULT;
	agent->heartbeat_at = now.mono + agent->heartbeat;
	agent->stale = event->registered.epoch < agent->max_epoch;
	if (agent->stale) {
		add_note(agent,
		        xasprintf("the controller is at epoch %llu, below %llu seen here: no "
		                  "order of it counts before gctld --takeover",
		                (unsigned long long)event->registered.epoch,
		                (unsigned long long)agent->max_epoch));
		return;
	}
	see_epoch(agent, event->registered.epoch, event->registered.signature_age_s);
	for (size_t i = 0; i < event->registered.n_wanted; i++) {
		struct run_id id = event->registered.wanted[i];
		struct agent_end end = end_of(id, event->registered.epoch);

		if (!id_is_sound(id) || agent_runs_find(agent->runs, id))
			continue;
		if (runs_is_forgotten(agent->runs, id)) {
			recall(agent, id);
			continue;
		}
		doom(agent, &end, xstrdup("the order to start it never came to the node"));
	}
}

/* --- the launcher ---------------------------------------------------------------------------- */

static bool report_is_sound(const struct run_report *r)
{
	return id_is_sound(r->run) && r->state >= REPORT_STARTING && r->state <= REPORT_NEVER;
}

static bool replica_changed(const struct replica_report *old, const struct replica_report *new)
{
	return new->health != old->health || new->ready_time != old->ready_time ||
	       strcmp(or_empty(new->text), old->text) != 0;
}

/* Does the new report of a run that was RUNNING already say anything new? */
static bool says_more(const struct run_report *old, const struct run_report *new)
{
	if (replica_changed(&old->replica, &new->replica))
		return true;
	return new->checkpoint_time != old->checkpoint_time || new->suspended != old->suspended ||
	       new->suspended_us != old->suspended_us ||
	       strcmp(new->progress, old->progress) != 0 || strcmp(new->detail, old->detail) != 0;
}

/* Take over the launcher's report of a run as our own. */
static void take_report(struct agent *agent, const struct run_report *report, struct clocks now)
{
	struct run_report copy = *report;
	enum agent_run_state to;
	struct run *run;

	if (!report_is_sound(report)) {
		add_note(agent, xasprintf(RUN ": a report of the launcher makes no sense",
		                        RUN_ARGS(report->run)));
		return;
	}
	if (runs_is_forgotten(agent->runs, report->run))
		return;
	run = agent_runs_find(agent->runs, report->run);
	if (!run)
		run = agent_runs_add(agent->runs, report->run);
	to = state_of_report[report->state];
	if (!may_move(run->state, to)) /* a late copy */
		return;
	copy.detail = or_empty(copy.detail);
	copy.incarnation = or_empty(copy.incarnation);
	copy.gpu_type = or_empty(copy.gpu_type);
	copy.progress = or_empty(copy.progress);
	copy.node_trouble = or_empty(copy.node_trouble);
	if (to == run->state && !says_more(&run->report, &copy))
		return;
	if (run->refusal && to == AGENT_RUN_NEVER)
		copy.detail = run->refusal;
	run_set_report(run, &copy);
	run->heard = now.mono;
	free(run->refusal);
	run->refusal = NULL;
	move(agent, run, to);
	agent_mark_unsent(agent, run);
	run->repeat_wait = 0;
	if (report->epoch > agent->max_epoch)
		agent->max_epoch = report->epoch;
	if (report->run.job > agent->max_job)
		agent->max_job = report->run.job;
}

static void on_launcher_run(struct agent *agent, const struct agent_event *event, struct clocks now)
{
	if (agent->launcher_up)
		take_report(agent, &event->report, now);
}

static void lose_launcher(struct agent *agent)
{
	if (agent->session)
		close_session(agent, "the launcher is gone");
	agent->launcher_up = false;
	agent_runs_clear(agent->runs);
	agent->any_unsent = false;
	agent->repeat_at = INT64_MAX;
}

static void on_launcher_gone(
        struct agent *agent, const struct agent_event *event, struct clocks now)
{
	(void)event;
	(void)now;
	lose_launcher(agent);
}

static void replace(char **at, const char *with)
{
	free(*at);
	*at = xstrdup(or_empty(with));
}

static void on_launcher_hello(
        struct agent *agent, const struct agent_event *event, struct clocks now)
{
	if (agent->launcher_up)
		lose_launcher(agent);
	agent->launcher_up = true;
	replace(&agent->incarnation, event->hello.incarnation);
	replace(&agent->boot_id, event->hello.boot_id);
	replace(&agent->containment, event->hello.containment);
	if (event->hello.max_job > agent->max_job)
		agent->max_job = event->hello.max_job;
	for (size_t i = 0; i < event->hello.n_runs; i++)
		take_report(agent, &event->hello.runs[i], now);
	/* The launcher may have died before it could save an epoch that we know. */
	if (agent->max_epoch > event->hello.max_epoch)
		agent_effect_new(agent, AGENT_TELL_EPOCH)->epoch = agent->max_epoch;
	else
		agent->max_epoch = event->hello.max_epoch;
}

/* --- time ------------------------------------------------------------------------------------ */

static void on_clock(struct agent *agent, const struct agent_event *event, struct clocks now)
{
	(void)event;
	if (agent->register_sent && !agent->registered && now.mono >= agent->register_deadline)
		close_session(agent, "the controller did not answer the registration in time");
	if (!agent->registered)
		return;
	if (now.mono >= agent->heartbeat_at) {
		agent_effect_new(agent, AGENT_SEND_HEARTBEAT)->session = agent->session;
		agent->heartbeat_at = now.mono + agent->heartbeat;
	}
	if (now.mono >= agent->repeat_at)
		agent_repeat_ends(agent, now);
}

usec_t agent_next_timer(const struct agent *agent)
{
	if (!agent->register_sent)
		return INT64_MAX;
	if (!agent->registered)
		return agent->register_deadline;
	return agent->heartbeat_at < agent->repeat_at ? agent->heartbeat_at : agent->repeat_at;
}

/* --- the whole ------------------------------------------------------------------------------- */

struct agent *agent_new(void)
{
	struct agent *agent = xcalloc(1, sizeof(*agent));

	agent->runs = agent_runs_new();
	agent->incarnation = xstrdup("");
	agent->boot_id = xstrdup("");
	agent->containment = xstrdup("");
	agent->repeat_at = INT64_MAX;
	return agent;
}

void agent_free(struct agent *agent)
{
	if (!agent)
		return;
	agent_effects_clear(agent);
	free(agent->effects);
	free(agent->kept);
	agent_runs_free(agent->runs);
	free(agent->incarnation);
	free(agent->boot_id);
	free(agent->containment);
	free(agent);
}

void agent_apply(struct agent *agent, const struct agent_event *event, struct clocks now)
{
	static void (*const handlers[AGENT_EVENT_COUNT])(
	        struct agent *agent, const struct agent_event *event, struct clocks now) = {
		[AGENT_LAUNCHER_HELLO] = on_launcher_hello,
		[AGENT_LAUNCHER_GONE] = on_launcher_gone,
		[AGENT_LAUNCHER_RUN] = on_launcher_run,
		[AGENT_SESSION_UP] = on_session_up,
		[AGENT_SESSION_GONE] = on_session_gone,
		[AGENT_REGISTERED] = on_registered,
		[AGENT_START] = on_start,
		[AGENT_END] = on_end,
		[AGENT_SIGNAL] = on_signal,
		[AGENT_SUSPEND] = on_suspend,
		[AGENT_FORGET] = on_forget,
		[AGENT_CLOCK] = on_clock,
	};

	assert(agent->n_effects == 0 && event->kind < AGENT_EVENT_COUNT);
	handlers[event->kind](agent, event, now);
	agent_flush(agent, now);
}

/* --- queries --------------------------------------------------------------------------------- */

const char *agent_run_state_name(enum agent_run_state state)
{
	return state < AGENT_RUN_STATES ? states[state].name : "NONE";
}

enum agent_run_state agent_run_state(const struct agent *agent, struct run_id id)
{
	const struct run *run = agent_runs_find(agent->runs, id);

	if (run)
		return run->state;
	return runs_is_forgotten(agent->runs, id) ? AGENT_RUN_FORGOTTEN : AGENT_RUN_NONE;
}

void agent_stats(const struct agent *agent, struct agent_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	for (int state = 0; state < AGENT_RUN_STATES; state++)
		stats->runs[state] = agent_runs_count(agent->runs, state);
	COPY_FIELDS(stats, agent, session, launcher_up, registered, stale, max_epoch, max_job,
	        orders_obeyed, orders_ignored);
}

bool agent_state_is_final(enum agent_run_state state)
{
	return states[state].final;
}

bool agent_state_is_reported(enum agent_run_state state, enum run_report_state as)
{
	return as >= REPORT_STARTING && as <= REPORT_NEVER && state_of_report[as] == state;
}
