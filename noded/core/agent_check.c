/* agent_check.c - what must always hold in the agent's core; see agent.h */
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

static uint64_t hash_number(uint64_t h, uint64_t n)
{
	for (int i = 0; i < 8; i++, n >>= 8)
		h = (h ^ (n & 0xff)) * 0x100000001b3u;
	return h;
}

static uint64_t hash_text(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	return hash_number(h, 0);
}

static uint64_t hash_run(uint64_t h, const struct run *run)
{
	const struct run_report *r = &run->report;
	const uint64_t numbers[] = { run->id.job, run->id.task, run->id.attempt, run->id.rank,
		run->state, run->unsent, (uint64_t)run->repeat_at, (uint64_t)run->repeat_wait,
		(uint64_t)r->start_time, (uint64_t)r->end_time, r->elapsed_us, r->exit_code,
		r->exit_signal, r->cause, r->epoch, r->gpus, r->cpus, r->mem_mb, r->cpu_time_us,
		r->max_rss_kb, r->uid, r->nodes, (uint64_t)r->checkpoint_time, (uint64_t)run->heard,
		r->suspended, r->suspended_us, r->share_charge, r->share_milli, r->share_mb,
		r->share_burst_mb, r->used.mem_peak_mb, r->used.read_bytes, r->used.written_bytes,
		r->used.gpu_seen_us, r->used.gpu_busy_us, r->used.gpu_idle_us,
		r->used.gpu_mem_peak_mb, r->used.gpu_mem_mbs, r->used.energy_mj,
		r->signature_refused, r->replica.health, (uint64_t)r->replica.ready_time,
		r->replica.ready_us, r->replica.n_ports, r->replica.ports[0], r->replica.requests,
		r->replica.tokens };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		h = hash_number(h, numbers[i]);
	h = hash_text(h, or_empty(r->detail));
	h = hash_text(h, or_empty(r->incarnation));
	h = hash_text(h, or_empty(r->gpu_type));
	h = hash_text(h, or_empty(r->progress));
	h = hash_text(h, or_empty(r->node_trouble));
	h = hash_text(h, or_empty(r->owner.user));
	h = hash_text(h, or_empty(r->owner.account));
	h = hash_text(h, or_empty(r->replica.text));
	h = hash_text(h, or_empty(r->replica.address));
	return hash_text(h, or_empty(run->refusal));
}

uint64_t agent_hash(const struct agent *agent)
{
	const uint64_t numbers[] = { agent->launcher_up, agent->max_epoch, agent->max_job,
		agent->session, agent->register_sent, agent->registered, agent->stale,
		(uint64_t)agent->register_deadline, (uint64_t)agent->heartbeat,
		(uint64_t)agent->heartbeat_at, (uint64_t)agent->repeat_at, agent->any_unsent };
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		h = hash_number(h, numbers[i]);
	h = hash_text(h, agent->incarnation);
	h = hash_text(h, agent->boot_id);
	h = hash_text(h, agent->containment);
	for (struct run *run = agent_runs_first(agent->runs); run; run = run->next)
		h = hash_run(h, run);
	for (size_t i = 0; i < agent_runs_count(agent->runs, AGENT_RUN_FORGOTTEN); i++) {
		struct run_id id = agent_runs_forgotten(agent->runs, i);

		h = hash_number(hash_number(h, id.job), (uint64_t)id.task << 32 | id.attempt);
		h = hash_number(h, id.rank);
	}
	return h;
}
