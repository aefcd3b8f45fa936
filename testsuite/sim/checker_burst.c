/* checker_burst.c - memory of GPUs that is borrowed, and given back; see checker_impl.h */
#include <inttypes.h>
#include <string.h>

#include "testsuite/sim/checker_impl.h"

/* --- a card ---------------------------------------------------------------------------------- */

/* Of this card: the parts of those who live or wait for it, and what was borrowed beyond them. */
static uint64_t given_away(struct checker *c, const struct node *node, int g)
{
	struct run *run;
	uint64_t sum = 0;

	STAILQ_FOREACH (run, &c->runs, later) {
		if ((run_alive(run) || run->needs) && (run->gpus >> g & 1) &&
		        !strcmp(run->node, node->name))
			sum += run->used > run->mib ? run->used : run->mib;
	}
	return sum;
}

/* One of its GPUs of which more is given away than it has; -1: none. */
static int short_of(struct checker *c, const struct run *run)
{
	const struct node *node = checker_node(c, run->node);

	for (int g = 0; g < MAX_GPUS; g++) {
		if ((run->gpus >> g & 1) && node->cards[g].size &&
		        given_away(c, node, g) > node->cards[g].size)
			return g;
	}
	return -1;
}

/* --- facts ----------------------------------------------------------------------------------- */

void fact_burst(struct checker *c, const struct words *f)
{
	checker_job(c, f->u[1])->burst = f->u[2];
}

void fact_reclaims(struct checker *c, const struct words *f)
{
	c->reclaims = true;
	c->reclaims_again = !strcmp(f->w[1], "requeue");
}

void fact_needs(struct checker *c, const struct words *f)
{
	struct run *run = checker_run(c, f->u + 1);

	run->needs = run->had_to_wait = true;
	snprintf(run->node, sizeof(run->node), "%s", f->w[5]);
	run->gpus = f->u[6];
	run->was_well = gpus_are_well(checker_node(c, run->node), run);
	run->mib = run->used = f->u[7];
}

void fact_waived(struct checker *c, const struct words *f)
{
	checker_run(c, f->u + 1)->needs = false;
}

void fact_uses(struct checker *c, const struct words *f)
{
	struct run *run = checker_run(c, f->u + 1);

	run->used = f->u[5];
	if (!run_alive(run) || (run->used > run->mib && run->used > run->burst))
		checker_violated(c, "I25: job %s uses %" PRIu64 " MiB of a burst of %" PRIu64 "%s",
		        task_label(run->task), run->used, run->burst,
		        run_alive(run) ? "" : ", and does not live");
}

void fact_asked(struct checker *c, const struct words *f)
{
	struct run *run = checker_run(c, f->u + 1);

	if (!run_alive(run) || !run->burst)
		checker_violated(c, "I25: job %s is asked to give back, %s", task_label(run->task),
		        run->burst ? "and does not live" : "and may not borrow anything");
	else if (run->used <= run->mib)
		checker_violated(c, "I25: job %s is asked to give back, and has borrowed nothing",
		        task_label(run->task));
	else if (short_of(c, run) < 0)
		checker_violated(c, "I25: job %s is asked to give back what nobody needs",
		        task_label(run->task));
	run->asked = run->was_asked = true;
}

void fact_excused(struct checker *c, const struct words *f)
{
	checker_run(c, f->u + 1)->asked = false;
}

void fact_reclaimed(struct checker *c, const struct words *f)
{
	struct run *run = checker_run(c, f->u + 1);

	run->reclaimed = true;
	if (!run->asked || run->used <= run->mib)
		checker_violated(c, "I25: job %s is ended for what it has borrowed, and %s",
		        task_label(run->task),
		        run->asked ? "has given it back" : "was not asked for it");
}

/* Of that attempt some run was asked, or had to wait for others. */
void fact_lent(struct checker *c, const struct words *f)
{
	struct task *task = checker_task(c, f->u[1], f->task[1]);
	bool ended = !strcmp(f->w[2], "PREEMPTED"), any = false;

	for (const struct run *run = task->runs; run; run = run->next)
		any |= run->key.attempt == f->u[3] &&
		       (run->reclaimed || (!ended && (run->was_asked || run->had_to_wait)));
	if (!any)
		checker_violated(c, "I25: job %s is shown as %s, GpuBurst, and nothing was lent",
		        task_label(task), f->w[2]);
	if (ended)
		task->lent = f->u[3];
}

/* --- what must hold -------------------------------------------------------------------------- */

void burst_started(struct checker *c, struct run *run)
{
	int g;

	run->needs = false;
	if (!run->shares)
		return;
	g = short_of(c, run);
	if (g >= 0)
		checker_violated(c,
		        "I25: job %s starts with %" PRIu64
		        " MiB of GPU %d of %s, and that is lent to others",
		        task_label(run->task), run->mib, g, run->node);
}

static const struct run *reclaimed_of(const struct task *task, uint64_t attempt)
{
	const struct run *run = task->runs;

	while (run && (run->key.attempt != attempt || !run->reclaimed))
		run = run->next;
	return run;
}

/* Of that attempt somebody else may have wanted an end too: then that can be the reason. */
static bool others_ended_it(struct checker *c, const struct task *task, uint64_t attempt)
{
	for (const struct run *run = task->runs; run; run = run->next)
		if (run->key.attempt == attempt && !ended_by_itself(c, run))
			return true;
	return false;
}

static void check_preempted(struct checker *c, const struct task *task)
{
	const struct job *job = task->job;

	if (!reclaimed_of(task, task->attempt))
		checker_violated(c, "I25: job %s is PREEMPTED, and nothing of it was reclaimed",
		        task_label(task));
	if (task->lent != task->attempt && !others_ended_it(c, task, task->attempt))
		checker_violated(
		        c, "I25: job %s is PREEMPTED, and nobody is told why", task_label(task));
	if (c->reclaims_again && job->attempts > 1 && last_attempt(task) < job->attempts &&
	        !task->kill && !faults_may_end(c, task, task->attempt))
		checker_violated(c,
		        "I25: job %s is PREEMPTED, and was to wait again: attempt %" PRIu64
		        " of %" PRIu64,
		        task_label(task), last_attempt(task), job->attempts);
}

/* What was ended on its only node, and heard of, does not come back where that is not wanted. */
static void check_again(struct checker *c, const struct task *task, const struct run *run)
{
	if (!run->reclaimed || run->nodes != 1 || c->reclaims_again || !ended_by_itself(c, run))
		return;
	if (last_attempt(task) > run->key.attempt)
		checker_violated(c,
		        "I25: job %s was ended for what it had borrowed, and is started again",
		        task_label(task));
}

void burst_over(struct checker *c, const struct task *task)
{
	if (c->reclaims && !strcmp(task->final, "PREEMPTED"))
		check_preempted(c, task);
	for (const struct run *run = task->runs; run; run = run->next) {
		check_again(c, task, run);
		if (run->started && run->shares && run->burst != task->job->burst)
			checker_violated(c,
			        "I25: attempt %" PRIu64 " of job %s has a burst of %" PRIu64
			        " MiB, not %" PRIu64,
			        run->key.attempt, task_label(task), run->burst, task->job->burst);
	}
}
