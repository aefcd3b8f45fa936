/* checker_gpus.c - who has which GPU, or what part of it, and what is wrong with them; see
 * checker_impl.h */
#include <inttypes.h>
#include <string.h>

#include "testsuite/sim/checker_impl.h"

#define MILLI 1000 /* all of a GPU's compute */

/* --- who has them ---------------------------------------------------------------------------- */

/* A run may be told of before its start: what it will have, that it is to end. */
void fact_share(struct checker *c, const struct words *f)
{
	struct run *run = checker_run(c, f->u + 1);

	run->shares = true;
	run->milli = f->u[5];
	run->mib = run->used = f->u[6];
	run->burst = f->u[7];
}

void fact_card(struct checker *c, const struct words *f)
{
	struct node *node = checker_node(c, f->w[1]);

	if (f->u[2] < MAX_GPUS)
		node->cards[f->u[2]].size = f->u[3];
}

void fact_apart(struct checker *c, const struct words *f)
{
	checker_node(c, f->w[1])->apart = true;
}

static void take(struct checker *c, struct node *node, int g, struct run *run)
{
	struct card *card = &node->cards[g];

	if (card->runs && (card->whole || !run->shares))
		checker_violated(c,
		        "I4: GPU %d of %s is held by %s.%" PRIu64 " and given to %s.%" PRIu64, g,
		        node->name, task_label(card->last->task), card->last->key.attempt,
		        task_label(run->task), run->key.attempt);
	if (card->runs && node->apart)
		run->beside = card->last;
	card->last = run;
	card->runs++;
	card->whole |= !run->shares;
	card->milli += run->milli;
	card->mib += run->mib;
	if (card->milli > MILLI || (card->size && card->mib > card->size))
		checker_violated(c,
		        "I4: of GPU %d of %s %" PRIu64 " thousandths and %" PRIu64
		        " MiB are given away with %s.%" PRIu64,
		        g, node->name, card->milli, card->mib, task_label(run->task),
		        run->key.attempt);
}

bool gpus_are_well(const struct node *node, const struct run *run)
{
	return !node->closed && !(node->drained & run->gpus);
}

void gpus_take(struct checker *c, struct node *node, struct run *run)
{
	/* Where jobs go on so does one whose order had come, and that waited for memory. */
	if (!gpus_are_well(node, run) && !(run->was_well && !node->stops))
		checker_violated(c,
		        "I21: job %s starts on GPUs %" PRIx64 " of %s, of which %" PRIx64
		        " are out of use%s",
		        task_label(run->task), run->gpus, node->name, node->drained & run->gpus,
		        node->closed ? ", as all of it is" : "");
	for (int g = 0; g < MAX_GPUS; g++) {
		if (run->gpus >> g & 1)
			take(c, node, g, run);
	}
}

void gpus_over(struct checker *c)
{
	struct run *run;

	STAILQ_FOREACH (run, &c->runs, later) {
		const struct job *job = run->task->job;
		const struct job *other = run->beside ? run->beside->task->job : job;

		if (job->submitted && other->submitted && job->uid != other->uid)
			checker_violated(c,
			        "I4: %s was given a GPU of %s that %s of another user had a part "
			        "of",
			        task_label(run->task), run->node, task_label(run->beside->task));
	}
}

void gpus_give_back(struct node *node, struct run *run)
{
	for (int g = 0; g < MAX_GPUS; g++) {
		struct card *card = &node->cards[g];

		if (!(run->gpus >> g & 1) || !card->runs)
			continue;
		card->runs--;
		card->milli -= run->milli;
		card->mib -= run->mib;
		card->whole &= card->runs > 0;
	}
}

/* --- what is wrong with them ----------------------------------------------------------------- */

void fact_health(struct checker *c, const struct words *f)
{
	checker_node(c, f->w[1])->stops = strcmp(f->w[2], "run") != 0;
}

void fact_fault(struct checker *c, const struct words *f)
{
	checker_node(c, f->w[1])->faulty |= f->u[2];
}

/* What ran on these GPUs knows by now that it is to end. */
static void check_told(struct checker *c, const struct node *node, uint64_t gpus)
{
	struct run *run;

	if (!node->stops)
		return;
	STAILQ_FOREACH (run, &c->runs, later) {
		if (run_alive(run) && !run->told && (run->gpus & gpus) &&
		        !strcmp(run->node, node->name))
			checker_violated(c,
			        "I22: job %s was not told to end, and GPU %" PRIx64
			        " of %s is out of use",
			        task_label(run->task), run->gpus & gpus, node->name);
	}
}

void fact_drained(struct checker *c, const struct words *f)
{
	struct node *node = checker_node(c, f->w[1]);

	node->drained |= f->u[2];
	check_told(c, node, f->u[2]);
}

void fact_closed(struct checker *c, const struct words *f)
{
	struct node *node = checker_node(c, f->w[1]);

	node->closed = true;
	check_told(c, node, UINT64_MAX);
}

void fact_returned(struct checker *c, const struct words *f)
{
	checker_node(c, f->w[1])->drained &= ~f->u[2];
}

void fact_opened(struct checker *c, const struct words *f)
{
	checker_node(c, f->w[1])->closed = false;
}

bool faults_may_end(struct checker *c, const struct task *task, uint64_t attempt)
{
	for (const struct run *run = task->runs; run; run = run->next) {
		const struct node *node;

		if (run->key.attempt != attempt || !run->gpus)
			continue;
		node = checker_node(c, run->node);
		if (node->stops && (node->faulty & run->gpus))
			return true;
	}
	return false;
}

/* Some rank of the attempt was on such a GPU; of one that never started nobody knows where. */
void fact_told(struct checker *c, const struct words *f)
{
	struct run *run = checker_run(c, f->u + 1), *other;
	uint64_t started = 0;

	run->told = true;
	if (strcmp(f->w[5], "drain") != 0 || !run->started)
		return;
	for (other = run->task->runs; other; other = other->next)
		started += other->started && other->key.attempt == run->key.attempt;
	if (started == run->nodes && !faults_may_end(c, run->task, run->key.attempt))
		checker_violated(c,
		        "I22: job %s was told to end for a fault of a GPU that it has not",
		        task_label(run->task));
}

void fact_kept(struct checker *c, const struct words *f)
{
	if (f->u[2])
		checker_violated(c, "I23: GPUs %" PRIx64 " of %s are out of use for no reason",
		        f->u[2], f->w[1]);
}
