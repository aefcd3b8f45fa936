/* checker_runs.c - what really ran, as the nodes saw it; see checker_impl.h */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "testsuite/sim/checker_impl.h"

struct run *checker_run(struct checker *c, const uint64_t *id)
{
	struct run_key key = { id[0], id[1], id[2], id[3] };
	struct task *task = checker_task(c, id[0], id[1]);
	struct run *run = checker_find(&c->run_tree, &key, by_run);

	if (!run) {
		run = checker_make(&c->run_tree, &key, sizeof(key), sizeof(*run), by_run);
		run->task = task;
		run->next = task->runs;
		task->runs = run;
		STAILQ_INSERT_TAIL(&c->runs, run, later);
	}
	return run;
}

struct node *checker_node(struct checker *c, const char *name)
{
	struct node *node = checker_find(&c->node_tree, name, by_name);

	if (!node) {
		char key[NAME_LEN];

		snprintf(key, sizeof(key), "%s", name);
		node = checker_make(&c->node_tree, key, strlen(key) + 1, sizeof(*node), by_name);
		STAILQ_INSERT_TAIL(&c->nodes, node, later);
	}
	return node;
}

static void node_time(struct checker *c, struct node *node, uint64_t time)
{
	if (time < node->last)
		checker_violated(c, "I6: time on %s goes back from %" PRIu64 " to %" PRIu64,
		        node->name, node->last, time);
	node->last = time;
}

/* Against the other runs of its task. */
static void check_beside(struct checker *c, const struct task *task, const struct run *run)
{
	for (const struct run *other = task->runs; other; other = other->next) {
		if (other == run || !other->started)
			continue;
		if (other->key.attempt != run->key.attempt) {
			if (run_alive(other))
				checker_violated(c,
				        "I3: job %s runs twice: attempts %" PRIu64
				        " on %s, %" PRIu64 " on %s",
				        task_label(task), other->key.attempt, other->node,
				        run->key.attempt, run->node);
			continue;
		}
		if (other->nodes != run->nodes)
			checker_violated(c,
			        "I14: job %s: rank %" PRIu64 " is one of %" PRIu64 ", rank %" PRIu64
			        " one of %" PRIu64,
			        task_label(task), other->key.rank, other->nodes, run->key.rank,
			        run->nodes);
		if (!strcmp(other->node, run->node))
			checker_violated(c, "I14: job %s: ranks %" PRIu64 " and %" PRIu64 " on %s",
			        task_label(task), other->key.rank, run->key.rank, run->node);
	}
	if (run->key.rank >= run->nodes)
		checker_violated(c, "I14: job %s: rank %" PRIu64 " of %" PRIu64, task_label(task),
		        run->key.rank, run->nodes);
}

void fact_start(struct checker *c, const struct words *f)
{
	struct run *run = checker_run(c, f->u + 1);
	struct task *task = run->task;
	struct node *node = checker_node(c, f->w[6]);

	node_time(c, node, f->u[9]);
	if (run->started)
		checker_violated(c,
		        "I3: run %" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu64
		        " started on %s and on %s",
		        f->u[1], f->u[2], f->u[3], f->u[4], run->node, f->w[6]);
	if (task->final[0] && !task_reopen(task))
		checker_violated(c, "I5: job %s was %s and a run of it starts", task_label(task),
		        task->final);
	if (f->u[7] < node->epoch)
		checker_violated(c, "I12: %s obeys epoch %" PRIu64 " after %" PRIu64, node->name,
		        f->u[7], node->epoch);
	node->epoch = f->u[7];
	run->started = true;
	run->nodes = f->u[5];
	run->gpus = f->u[8];
	run->start = f->u[9];
	snprintf(run->node, sizeof(run->node), "%s", f->w[6]);
	check_beside(c, task, run);
	gpus_take(c, node, run);
	burst_started(c, run);
	waits_started(c, run);
}

void fact_stale(struct checker *c, const struct words *f)
{
	checker_violated(c,
	        "I26: run %" PRIu64 ".%" PRIu64 ".%" PRIu64
	        " was ordered, and its signature is too old",
	        f->u[1], f->u[2], f->u[3]);
}

static void run_over(struct run *run, struct node *node, uint64_t time)
{
	run->ended = true;
	run->end = time;
	gpus_give_back(node, run);
}

void fact_end(struct checker *c, const struct words *f)
{
	struct run *run = checker_run(c, f->u + 1);
	struct node *node = checker_node(c, f->w[5]);

	node_time(c, node, f->u[8]);
	if (!run->started || run->ended)
		checker_violated(c, "I3: run %" PRIu64 ".%" PRIu64 ".%" PRIu64 " ended %s", f->u[1],
		        f->u[2], f->u[3], run->ended ? "twice" : "without a start");
	run->code = f->u[6];
	run->signal = f->u[7];
	run_over(run, node, f->u[8]);
}

void fact_stop(struct checker *c, const struct words *f)
{
	struct run *run = checker_run(c, f->u + 1);

	if (!run_alive(run))
		checker_violated(c,
		        "I3: run %" PRIu64 ".%" PRIu64 ".%" PRIu64 " is stopped and not alive",
		        f->u[1], f->u[2], f->u[3]);
	run->stopped = true;
}

void fact_gone(struct checker *c, const struct words *f)
{
	struct run *run = checker_run(c, f->u + 1);
	struct node *node = checker_node(c, f->w[5]);

	node_time(c, node, f->u[6]);
	if (!run->started)
		checker_violated(c,
		        "I3: run %" PRIu64 ".%" PRIu64 ".%" PRIu64 " is gone without a start",
		        f->u[1], f->u[2], f->u[3]);
	if (run->ended)
		return;
	run->rebooted = true;
	run_over(run, node, f->u[6]);
}

void fact_reboot(struct checker *c, const struct words *f)
{
	struct node *node = checker_node(c, f->w[1]);
	struct run *run;

	node_time(c, node, f->u[2]);
	node->boot = f->u[2];
	STAILQ_FOREACH (run, &c->runs, later) {
		if (run_alive(run) && !strcmp(run->node, node->name)) {
			run->rebooted = true;
			run_over(run, node, f->u[2]);
		}
	}
}

void fact_usage(struct checker *c, const struct words *f)
{
	struct run *run = checker_run(c, f->u + 1);
	uint64_t true_us = run->end - run->start, slack = 50000 + true_us / 20;

	if (run->ended && !run->rebooted &&
	        (f->u[5] > true_us + slack || f->u[5] + slack < true_us))
		checker_violated(c,
		        "I6: run %" PRIu64 ".%" PRIu64 ".%" PRIu64 " took %" PRIu64
		        " us and is accounted for %" PRIu64,
		        f->u[1], f->u[2], f->u[3], true_us, f->u[5]);
}

void fact_owed(struct checker *c, const struct words *f)
{
	checker_run(c, f->u + 1)->owed = true;
}

void fact_unowed(struct checker *c, const struct words *f)
{
	checker_run(c, f->u + 1)->owed = false;
}

void fact_billed(struct checker *c, const struct words *f)
{
	struct run *run = checker_run(c, f->u + 1);

	run->billed = true;
	run->billed_us = f->u[5];
}

void fact_copied(struct checker *c, const struct words *f)
{
	struct run *run;

	(void)f;
	STAILQ_FOREACH (run, &c->runs, later) {
		run->copied = run->billed;
		run->copied_us = run->billed_us;
	}
}

void accounts_restored(struct checker *c)
{
	struct run *run;

	STAILQ_FOREACH (run, &c->runs, later) {
		run->billed = run->copied;
		run->billed_us = run->copied_us;
	}
}

void accounts_over(struct checker *c)
{
	const struct run *run;

	STAILQ_FOREACH (run, &c->runs, later) {
		uint64_t true_us = run->end - run->start, slack = 50000 + true_us / 20;

		if (!run->owed || !run->started || !run->ended || run->rebooted)
			continue;
		c->n_owed++;
		if (!run->billed || run->billed_us > true_us + slack ||
		        run->billed_us + slack < true_us)
			checker_violated(c,
			        "I28: run %s.%" PRIu64 ".%" PRIu64 " on %s took %" PRIu64
			        " us, its node told of it after the restore, and it is %s %" PRIu64,
			        task_label(run->task), run->key.attempt, run->key.rank, run->node,
			        true_us, run->billed ? "accounted for" : "not accounted for",
			        run->billed_us);
	}
}

void fact_left(struct checker *c, const struct words *f)
{
	checker_violated(c,
	        "I8: something of run %" PRIu64 ".%" PRIu64 ".%" PRIu64 " is left after its end",
	        f->u[1], f->u[2], f->u[3]);
}
