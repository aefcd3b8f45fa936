/* idle.c - see idle.h
 *
 * Of each living run is known (struct run_idle): for how long its GPUs have been idle without a
 * break, and what CPU time it had when that began. A report that shows use above the mark sets the
 * time to 0. Every report ends with the question for the whole job; a job that is reported as idle
 * stays `told`, so that each job is noted once, also over a restart (the note is in the run's row).
 */
#include "ctld/core/jobs/idle.h"

#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "common/job/mail_types.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/jobs/life.h"
#include "ctld/core/jobs/notifications.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/run_orders.h"

/* The CPU time that the run has had, and the time it waited for a CPU. With the latter a run that
 * is limited by its CPUs is recognized also on a full node, or where a job has a tenth of a CPU. */
static uint64_t cpu_wanted_us(const struct run_used *used)
{
	return used->cpu_time_us + used->cpu_wait_us;
}

/* The first report on a run after a controller start says nothing about when the use happened. */
static void count(const struct conf_idle *c, struct run *run, const struct run_used *before)
{
	const struct run_used *now = run_used(run);
	unsigned gpus = (unsigned)__builtin_popcountll(run_info(run)->gpus);
	struct run_idle *idle = run_idle(run);
	uint64_t seen, busy;

	if (!gpus || !before->gpu_seen_us || now->gpu_seen_us <= before->gpu_seen_us ||
	        now->gpu_busy_us < before->gpu_busy_us || run_past(run)->suspend_time)
		return;
	seen = now->gpu_seen_us - before->gpu_seen_us;
	busy = now->gpu_busy_us - before->gpu_busy_us;
	/* gpu_seen_us and gpu_busy_us are sums over the run's GPUs. Two products, so that none
	 * overflows. */
	if (busy >= seen / 100 * c->below_pct + seen % 100 * c->below_pct / 100) {
		idle->us = 0;
		return;
	}
	if (!idle->us)
		idle->cpu_us = cpu_wanted_us(before);
	idle->us += seen / gpus;
}

/* The setting that applies to a run of a job in this partition; NULL: none. */
static const struct conf_idle *policy_of(
        const struct core *core, const struct run *run, uint32_t partition)
{
	const struct conf_idle *c = &core->conf->partitions[partition].idle;
	const struct node *node = run_link_of(run)->node;
	uint32_t index = node ? node_link_of(node)->index : NODE_LEFT;

	if (!c->given && index != NODE_LEFT)
		c = &core->conf->nodes[index].idle;
	return c->given ? c : NULL;
}

/* The ranks of a gang may be on nodes with different settings: the mildest applies to the job. */
static bool milder(const struct conf_idle *a, const struct conf_idle *b)
{
	return a->action != b->action ? a->action < b->action
	                              : !a->end_cpu_bound && b->end_cpu_bound;
}

/* Has each living run of the job been idle for the set time? Returns the setting that says what to
 * do; else NULL. */
static const struct conf_idle *job_idle(
        const struct core *core, const struct job *job, uint32_t partition)
{
	const struct conf_idle *mildest = NULL, *c;

	for (struct run *run = job_run(job); run; run = run_next_rank(run)) {
		if (!run_lives(run))
			continue;
		c = policy_of(core, run, partition);
		if (!c || run_idle(run)->us < (uint64_t)c->for_s * USEC_PER_S)
			return NULL;
		if (!mildest || milder(c, mildest))
			mildest = c;
	}
	return mildest;
}

/* Has a run had, or waited for, at least half a CPU all the time that its GPUs were idle? */
static bool job_wants_cpu(const struct job *job)
{
	for (struct run *run = job_run(job); run; run = run_next_rank(run)) {
		uint64_t cpu = cpu_wanted_us(run_used(run));

		if (run_lives(run) && cpu > run_idle(run)->cpu_us &&
		        cpu - run_idle(run)->cpu_us >= run_idle(run)->us / 2)
			return true;
	}
	return false;
}

/* True: this was already reported, since this start of the controller or before. */
static bool mark_told(struct core *core, struct job *job, const char *note)
{
	bool told = false;

	for (struct run *run = job_run(job); run; run = run_next_rank(run)) {
		told |= run_idle(run)->told || !strcmp(run_past(run)->detail, note);
		run_idle(run)->told = true;
		if (!told)
			run_set_detail(core->runs, run, note);
	}
	return told;
}

static void act(struct core *core, struct job *job, const struct conf_idle *c)
{
	bool cpu = job_wants_cpu(job);
	bool end = c->action == CONF_IDLE_END && (!cpu || c->end_cpu_bound), told;
	char note[100], text[160], time[UNITS_TEXT];

	snprintf(note, sizeof(note), "GPUs computed less than %u%% for %s", c->below_pct,
	        duration_format(time, c->for_s));
	told = mark_told(core, job, note);
	if (told && !end)
		return;
	snprintf(text, sizeof(text), "%s%s%s", note, cpu ? ", while it used CPUs or waited for them" : "",
	        end ? ": ended" : "");
	audit_note(core, "job.idle", NULL, job_ref(job), "", text);
	if (!told && c->action == CONF_IDLE_MAIL)
		job_mail_always(core, job, MAIL_IDLE);
	if (end)
		job_stop(core, job, &(struct stop){ .cause = END_IDLE });
}

void idle_look(struct core *core, struct run *run, const struct run_used *before)
{
	struct job *job = run_link(run)->job;
	uint32_t partition = job ? job_partition(core, job) : CONF_NONE;
	const struct conf_idle *c;

	if (partition == CONF_NONE || job_info(job)->state != JOB_RUNNING || !run_lives(run))
		return;
	c = policy_of(core, run, partition);
	if (!c)
		return;
	count(c, run, before);
	c = job_idle(core, job, partition);
	if (c)
		act(core, job, c);
}
