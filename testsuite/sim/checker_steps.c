/* checker_steps.c - steps of jobs: what their owners report, and what the controller makes of it;
 * see checker_impl.h */
#include <inttypes.h>
#include <string.h>

#include "testsuite/sim/checker_impl.h"

/* Its key is that of a run, with its number for a rank. */
static struct step *step_of(struct checker *c, const uint64_t *id)
{
	struct run_key key = { id[0], id[1], id[2], id[3] };
	struct step *step = checker_find(&c->step_tree, &key, by_run);

	if (!step) {
		step = checker_make(&c->step_tree, &key, sizeof(key), sizeof(*step), by_run);
		step->task = checker_task(c, id[0], id[1]);
		STAILQ_INSERT_TAIL(&c->steps, step, later);
	}
	return step;
}

/* "12_3.0 of attempt 2" */
static const char *label(const struct step *step)
{
	static char text[96];

	snprintf(text, sizeof(text), "%s.%" PRIu64 " of attempt %" PRIu64, task_label(step->task),
	        step->key.rank, step->key.attempt);
	return text;
}

void fact_max_steps(struct checker *c, const struct words *f)
{
	c->max_steps = f->u[1];
}

static void check_number(struct checker *c, const struct step *step, const char *what)
{
	if (c->max_steps && step->key.rank >= c->max_steps)
		checker_violated(c, "I31: step %s is %s; the limit is %" PRIu64, label(step), what,
		        c->max_steps);
}

/* --- what owners report ---------------------------------------------------------------------- */

void fact_step(struct checker *c, const struct words *f)
{
	step_of(c, f->u + 1)->told = true;
}

void fact_step_runs(struct checker *c, const struct words *f)
{
	step_of(c, f->u + 1)->runs_in = c->lives;
}

void fact_step_ends(struct checker *c, const struct words *f)
{
	struct step *step = step_of(c, f->u + 1);

	step->told = step->ends = true;
	snprintf(step->end.state, sizeof(step->end.state), "%s", f->w[5]);
	step->end.code = f->u[6];
	step->end.signal = f->u[7];
	step->end.looks = f->u[8];
}

void fact_step_done(struct checker *c, const struct words *f)
{
	step_of(c, f->u + 1)->done = true;
}

void fact_begun(struct checker *c, const struct words *f)
{
	(void)f;
	c->lives++;
}

/* --- what the controller lists --------------------------------------------------------------- */

/* A client was shown the task's end, with that attempt or a later one; or a later one has begun. */
static bool attempt_is_over(const struct step *step)
{
	if (step->task->over >= step->key.attempt)
		return true;
	for (const struct run *run = step->task->runs; run; run = run->next)
		if (run->started && run->key.attempt > step->key.attempt)
			return true;
	return false;
}

void fact_lists(struct checker *c, const struct words *f)
{
	const struct step *step = step_of(c, f->u + 1);

	c->step_counts.listed++;
	check_number(c, step, "listed");
	if (!step->told)
		checker_violated(
		        c, "I30: step %s is listed, and nobody has reported it", label(step));
	else if (step->done)
		checker_violated(
		        c, "I30: step %s is listed, and its end was answered", label(step));
	if (attempt_is_over(step))
		checker_violated(
		        c, "I30: step %s is listed, and that attempt is over", label(step));
}

/* --- what is kept ---------------------------------------------------------------------------- */

static bool is_as_reported(const struct step *step, const struct step_end *end)
{
	return step->ends && !strcmp(step->end.state, end->state) && step->end.code == end->code &&
	       step->end.signal == end->signal && step->end.looks == end->looks;
}

static const struct run *run_that_lives(const struct step *step)
{
	const struct run *run = step->task->runs;

	while (run && !(run_alive(run) && run->key.attempt == step->key.attempt))
		run = run->next;
	return run;
}

/* Not what its owner said: then the attempt has ended, and the step with it. */
static void check_end_of_attempt(
        struct checker *c, const struct step *step, const struct step_end *end)
{
	const struct run *lives = run_that_lives(step);

	if (!step->told)
		checker_violated(
		        c, "I29: step %s is kept, and nobody has reported it", label(step));
	else if (strcmp(end->state, "CANCELLED") != 0 || end->code || end->signal)
		checker_violated(c,
		        "I29: step %s is kept as %s %" PRIu64 ":%" PRIu64 " %" PRIx64
		        ", its owner said %s %" PRIu64 ":%" PRIu64 " %" PRIx64,
		        label(step), end->state, end->code, end->signal, end->looks,
		        step->ends ? step->end.state : "nothing", step->end.code, step->end.signal,
		        step->end.looks);
	else if (lives)
		checker_violated(c, "I29: step %s has ended with its attempt, which lives on %s",
		        label(step), lives->node);
}

/* The word of state.db is younger than that of history.db. */
void fact_kept_step(struct checker *c, const struct words *f)
{
	struct step *step = step_of(c, f->u + 2);
	struct step_end end = { .code = f->u[7], .signal = f->u[8], .looks = f->u[9] };
	uint64_t *look = !strcmp(f->w[1], "state") ? &step->in_state : &step->in_history;

	snprintf(end.state, sizeof(end.state), "%s", f->w[6]);
	check_number(c, step, "kept");
	if (*look == c->step_looks + 1)
		checker_violated(c, "I29: step %s is twice in %s.db", label(step), f->w[1]);
	*look = c->step_looks + 1;
	step->owners_now = is_as_reported(step, &end);
	if (!step->owners_now)
		check_end_of_attempt(c, step, &end);
}

/* At this look. */
static void check_kept(struct checker *c, const struct step *step, bool kept)
{
	if ((step->done || step->owners || step->cut) && !kept)
		checker_violated(c, "I29: step %s has ended and is lost", label(step));
	else if (step->owners && !step->owners_now)
		checker_violated(c, "I29: step %s had ended as its owner said, and ends again",
		        label(step));
	else if (step->done && !step->owners_now)
		checker_violated(c, "I29: the end of step %s was answered, and another one is kept",
		        label(step));
}

void fact_counted(struct checker *c, const struct words *f)
{
	uint64_t look = ++c->step_looks;
	struct step *step;

	(void)f;
	STAILQ_FOREACH (step, &c->steps, later) {
		bool kept = step->in_state == look || step->in_history == look;

		check_kept(c, step, kept);
		c->step_counts.late += step->cut && kept && step->owners_now;
		step->cut = kept && !step->owners_now;
		step->owners = kept && step->owners_now;
	}
}

void steps_over(struct checker *c)
{
	const struct step *step;

	STAILQ_FOREACH (step, &c->steps, later) {
		bool kept = c->step_looks && step->in_history == c->step_looks;

		if ((step->done || step->owners || step->cut) && !kept)
			checker_violated(
			        c, "I29: step %s has ended and is not in history.db", label(step));
		else if (step->runs_in && step->runs_in == c->lives && !kept)
			checker_violated(c,
			        "I29: step %s ran when its attempt ended, and is not kept",
			        label(step));
		c->step_counts.done += step->done;
		c->step_counts.cut += step->cut;
	}
}

struct checker_steps checker_steps(const struct checker *c)
{
	return c->step_counts;
}
