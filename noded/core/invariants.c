/* invariants.c - what must always hold in the agent's core; see agent.h */
#include "noded/core/agent_impl.h"

static int check_run(const struct agent *agent, const struct run *run, struct error *err)
{
	if (run->id.job > agent->max_job && run_is_alive(run))
		return error_set(err, ERR_INTERNAL, RUN " is above max_job", RUN_ARGS(run->id));
	if (run->report.epoch > agent->max_epoch)
		return error_set(err, ERR_INTERNAL, RUN " is above max_epoch", RUN_ARGS(run->id));
	if (run->unsent && !agent->any_unsent)
		return error_set(err, ERR_INTERNAL, RUN ": unsent, unnoticed", RUN_ARGS(run->id));
	if (run->unsent && agent->registered)
		return error_set(err, ERR_INTERNAL, RUN " is kept back", RUN_ARGS(run->id));
	if (agent->registered && agent_state_is_final(run->state) &&
	        run->repeat_at < agent->repeat_at)
		return error_set(err, ERR_INTERNAL, RUN " is not repeated", RUN_ARGS(run->id));
	if (run->state >= AGENT_RUN_STARTING && run->state <= AGENT_RUN_NEVER &&
	        !agent_state_is_reported(run->state, run->report.state))
		return error_set(err, ERR_INTERNAL, RUN ": state %s is not as reported",
		        RUN_ARGS(run->id), agent_run_state_name(run->state));
	return 0;
}

int agent_check(const struct agent *agent, struct error *err)
{
	uint64_t gpus = 0, whole = 0;

	if (agent_runs_check(agent->runs, err) < 0)
		return -1;
	if (!agent->launcher_up && (agent->register_sent || agent_runs_first(agent->runs)))
		return error_set(err, ERR_INTERNAL, "runs or a registration without a launcher");
	if ((agent->registered && !agent->register_sent) || (agent->stale && !agent->registered) ||
	        (agent->register_sent && !agent->session))
		return error_set(err, ERR_INTERNAL, "a registration without a session");
	if (agent->launcher_up && agent->session && !agent->register_sent)
		return error_set(err, ERR_INTERNAL, "a session without a registration");
	for (struct run *run = agent_runs_first(agent->runs); run; run = run->next) {
		if (check_run(agent, run, err) < 0)
			return -1;
		bool share = run->report.share_charge;

		if (run_is_alive(run) && ((share ? whole : gpus) & run->report.gpus))
			return error_set(err, ERR_INTERNAL, RUN " holds a GPU of another run",
			        RUN_ARGS(run->id));
		if (run_is_alive(run))
			gpus |= run->report.gpus;
		if (run_is_alive(run) && !share)
			whole |= run->report.gpus;
	}
	return 0;
}
