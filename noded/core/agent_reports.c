/* agent_reports.c - reports runs to the controller, and repeats each end until Forget
 *
 * A changed run is first marked, and sent after the event if the session is registered. A
 * registration carries all living runs and the ends that fit; the other ends stay marked. The end
 * of a run is repeated after AGENT_REPEAT_FIRST, then after twice as long each time, up to
 * AGENT_REPEAT_MAX: so it arrives even if the controller missed earlier reports.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "noded/core/agent_impl.h"

void agent_mark_unsent(struct agent *agent, struct run *run)
{
	run->unsent = true;
	agent->any_unsent = true;
}

/* Bring the durations of the launcher's report up to now. */
static void run_refresh(struct run *run, struct clocks now)
{
	uint64_t passed = (uint64_t)(now.mono - run->heard);

	if (run->state == AGENT_RUN_RUNNING) {
		run->report.elapsed_us += passed;
		run->report.replica.ready_us +=
		        run->report.replica.health == HEALTH_READY ? passed : 0;
		run->report.suspended_us += run->report.suspended ? passed : 0;
	}
	run->heard = now.mono;
}

static void told(struct agent *agent, struct run *run, struct clocks now)
{
	run->unsent = false;
	if (!agent_state_is_final(run->state))
		return;
	run->repeat_wait = run->repeat_wait ? 2 * run->repeat_wait : AGENT_REPEAT_FIRST;
	if (run->repeat_wait > AGENT_REPEAT_MAX)
		run->repeat_wait = AGENT_REPEAT_MAX;
	run->repeat_at = now.mono + run->repeat_wait;
	if (run->repeat_at < agent->repeat_at)
		agent->repeat_at = run->repeat_at;
}

/* A little more than the report needs on the wire. */
static size_t report_bytes(const struct run_report *r)
{
	const struct run_owner *o = &r->owner;

	return 310 + 2 * (size_t)__builtin_popcountll(r->gpus) + strlen(r->detail) +
	       strlen(r->replica.text) + strlen(r->replica.address) + strlen(r->incarnation) +
	       strlen(r->gpu_type) + strlen(r->progress) + strlen(r->node_trouble) +
	       strlen(o->user) + strlen(o->account) + strlen(o->partition) + strlen(o->qos) +
	       strlen(o->name) + strlen(o->array);
}

/* Living runs first, then the ends, as many as one message may hold; the rest stays unsent and
 * follows as reports of their own. */
static size_t gather_reports(struct agent *agent, struct run_report *reports, struct clocks now)
{
	size_t n = 0, bytes = 0;

	for (int ends = 0; ends <= 1; ends++) {
		for (struct run *run = agent_runs_first(agent->runs); run; run = run->next) {
			if (ends ? !agent_state_is_final(run->state) : !run_is_alive(run))
				continue;
			run_refresh(run, now);
			bytes += report_bytes(&run->report);
			if (bytes > AGENT_REGISTER_BYTES) {
				agent_mark_unsent(agent, run);
				continue;
			}
			reports[n++] = run->report;
			run->repeat_wait = 0;
			told(agent, run, now);
		}
	}
	return n;
}

static void send_register(struct agent *agent, struct clocks now)
{
	struct agent_effect *e = agent_effect_new(agent, AGENT_SEND_REGISTER);
	struct run_report *reports;
	size_t max = 0;

	for (int state = AGENT_RUN_STARTING; state <= AGENT_RUN_NEVER; state++)
		max += agent_runs_count(agent->runs, state);
	reports = agent_keep(agent, xcalloc(max, sizeof(*reports)));
	agent->any_unsent = false;
	agent->register_sent = true;
	agent->register_deadline = now.mono + AGENT_REGISTER_TIMEOUT;
	e->session = agent->session;
	COPY_FIELDS(&e->reg, agent, incarnation, boot_id, containment, max_epoch, max_job);
	e->reg.runs = reports;
	e->reg.n_runs = gather_reports(agent, reports, now);
	e->reg.more_runs = agent->any_unsent;
}

static void send_report(struct agent *agent, struct run *run, struct clocks now)
{
	struct agent_effect *e = agent_effect_new(agent, AGENT_SEND_REPORT);

	run_refresh(run, now);
	e->session = agent->session;
	e->report = run->report;
	told(agent, run, now);
}

/* Send all unsent reports, if the session is registered. */
void agent_flush(struct agent *agent, struct clocks now)
{
	if (!agent->launcher_up || !agent->session)
		return;
	if (!agent->register_sent)
		send_register(agent, now);
	if (!agent->registered || !agent->any_unsent)
		return;
	agent->any_unsent = false;
	for (struct run *run = agent_runs_first(agent->runs); run; run = run->next) {
		if (run->unsent)
			send_report(agent, run, now);
	}
}

void agent_repeat_ends(struct agent *agent, struct clocks now)
{
	agent->repeat_at = INT64_MAX;
	for (struct run *run = agent_runs_first(agent->runs); run; run = run->next) {
		if (!agent_state_is_final(run->state))
			continue;
		if (run->repeat_at <= now.mono)
			send_report(agent, run, now);
		else if (run->repeat_at < agent->repeat_at)
			agent->repeat_at = run->repeat_at;
	}
}
