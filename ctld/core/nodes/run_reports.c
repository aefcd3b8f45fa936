/* run_reports.c - what a node says of one run
 *
 * Reports come late, doubled and in registrations; each is applied at most once: the run's own
 * state decides what is new. A run that is not known and has ended is of no interest any more,
 * unless the state was restored from a backup and cannot know it. One that is not known and alive
 * holds GPUs: it is adopted.
 */
#include "ctld/core/nodes/run_reports.h"

#include <string.h>

#include "ctld/core/jobs/array_split.h"
#include "ctld/core/jobs/idle.h"
#include "ctld/core/jobs/life.h"
#include "ctld/core/jobs/missing_runs.h"
#include "ctld/core/jobs/run_states.h"
#include "ctld/core/nodes/gpu_samples.h"
#include "ctld/core/nodes/node_silence.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/rows/state.h"

typedef void says_fn(struct core *core, struct run *run, const struct run_report *report);

static const struct {
	bool alive;
	says_fn *says;
} states[] = {
	[REPORT_STARTING] = { true, run_says_starting },
	[REPORT_RUNNING] = { true, run_says_running },
	[REPORT_ENDED] = { false, run_says_ended },
	[REPORT_NEVER] = { false, run_says_never },
};

/* The node may drop its record: it is of no interest here. */
static void forget_unknown(struct core *core, const struct node *node, struct run_id id)
{
	struct effect *e = effects_add(core->effects, EFFECT_FORGET_RUN);

	e->node = node_link_of(node)->index;
	e->session = node_link_of(node)->session;
	e->run.run = id;
}

/* Did the ended run happen after the backup that the state was restored from? Its job was submitted
 * since, or was restored and is in memory: all earlier runs of a job in memory are known. */
static bool is_news(const struct core *core, const struct run_report *report)
{
	uint64_t job = report->run.job;

	return meta_is_foreign(core->meta, job) ||
	       (meta_was_restored(core->meta, job, report->epoch) &&
	               jobs_of_run(core->jobs, report->run));
}

/* A run that is not in the database: adopt it if it is there, or if its job waits for its end. What
 * does not come with a registration is the late copy of an old report, except after a restore:
 * then it may be an end for which the registration had no room. */
static struct run *unknown(
        struct core *core, struct node *node, const struct run_report *report, bool whole)
{
	bool ended = report->state == REPORT_ENDED;
	bool missed = ended && meta_was_restored(core->meta, report->run.job, report->epoch);
	const struct job *job = whole || missed ? array_of_run(core, report->run) : NULL;

	if ((whole && states[report->state].alive) || (ended && job && job_takes(job, report)))
		return run_adopt(core, node, report);
	if (ended && is_news(core, report))
		return run_learn(core, node, report);
	if (!states[report->state].alive)
		forget_unknown(core, node, report->run);
	return NULL;
}

/* States, causes and numbers that cannot be are ignored: an agent may send anything. */
void report_apply(struct core *core, struct node *node, const struct run_report *report, bool whole)
{
	struct run *run = runs_find(core->runs, report->run);
	bool alive;

	if (report->state < REPORT_STARTING || report->state > REPORT_NEVER ||
	        report->cause > END_CAUSE_LAST || !report->run.job || !report->run.attempt ||
	        (report->nodes && report->run.rank >= report->nodes))
		return;
	alive = states[report->state].alive;
	if (!run)
		run = unknown(core, node, report, whole);
	/* Only the node it was ordered to may speak for a run. */
	if (!run || run_info(run)->node != node_info(node)->name)
		return;
	if (!run_link(run)->job)
		run_set_owner(core->runs, run, &report->owner);
	/* Once its node has said that it is over it is. But others may have said so too early. */
	if (alive && run_over(run)) {
		if (run_info(run)->end_cause != END_NODE_FAIL ||
		        strcmp(report->incarnation, node_info(node)->incarnation))
			return;
		run_orphan(core, run, report);
	}
	states[report->state].says(core, run, report);
}

void run_report_apply(struct core *core, const struct core_event *e)
{
	struct node *node = nodes_at(core->nodes, e->run.node);

	if (!node || !e->run.session || node_link(node)->session != e->run.session ||
	        core->suspended)
		return;
	heartbeat_apply(core, e->run.node, e->run.session);
	report_apply(core, node, &e->run.report, false);
}

/* What runs use is volatile until they end (run_set_used()). */
void runs_used_apply(struct core *core, const struct core_event *e)
{
	struct node *node = nodes_at(core->nodes, e->used.node);

	if (!node || !e->used.session || node_link(node)->session != e->used.session ||
	        core->suspended)
		return;
	heartbeat_apply(core, e->used.node, e->used.session);
	gpu_samples_apply(node, e->used.gpus, e->used.n_gpus, core->now);
	for (size_t i = 0; i < e->used.n; i++) {
		struct run *run = runs_find(core->runs, e->used.runs[i].run);

		/* Only the node it was ordered to may speak for a run. */
		if (run && run_info(run)->node == node_info(node)->name && !run_over(run)) {
			struct run_used before = *run_used(run);

			run_set_used(run, &e->used.runs[i].used);
			idle_look(core, run, &before);
		}
	}
}
