/* checker_agree.c - whether the controller and its nodes know of the same runs; see checker_impl.h
 *
 * A start or an end is under way for a moment: then one of the two knows more. What differs is
 * noted with its time, and judged when it has differed for two heartbeats, all of which the two
 * have heard each other.
 */
#include <inttypes.h>
#include <string.h>

#include "testsuite/sim/checker_impl.h"

void fact_heartbeat(struct checker *c, const struct words *f)
{
	c->heartbeat = f->u[1];
}

void fact_contact(struct checker *c, const struct words *f)
{
	struct node *node = checker_node(c, f->w[1]);

	node->heard = true;
	node->heard_since = f->u[2];
}

void fact_parted(struct checker *c, const struct words *f)
{
	checker_node(c, f->w[1])->heard = false;
}

void fact_books(struct checker *c, const struct words *f)
{
	const struct node *node = checker_node(c, f->w[5]);

	checker_run(c, f->u + 1)->booked = (struct sighting){ node, node->looks };
}

void fact_tells(struct checker *c, const struct words *f)
{
	const struct node *node = checker_node(c, f->w[5]);

	checker_run(c, f->u + 1)->told_of = (struct sighting){ node, node->looks };
}

static bool has(const struct sighting *side, const struct node *node)
{
	return side->node == node && side->look == node->looks;
}

static void look_at(struct checker *c, const struct node *node, struct run *run, uint64_t time)
{
	bool lives = run_alive(run) && !strcmp(run->node, node->name);
	bool booked = has(&run->booked, node), told = has(&run->told_of, node);
	uint64_t since;

	if (lives == booked && booked == told) {
		if (run->differs_on == node)
			run->differs_on = NULL;
		return;
	}
	if (run->differs_on != node) {
		run->differs_on = node;
		run->differs_since = time;
	}
	since = run->differs_since > node->heard_since ? run->differs_since : node->heard_since;
	if (time < since + 2 * c->heartbeat)
		return;
	checker_violated(c,
	        "I24: for two heartbeats run %s.%" PRIu64 ".%" PRIu64
	        " %s on %s, the controller has it %s and the agent %s",
	        task_label(run->task), run->key.attempt, run->key.rank,
	        lives ? "lives" : "does not live", node->name, booked ? "booked" : "not booked",
	        told ? "has it to tell of" : "does not know it");
	run->differs_since = time; /* said once in two heartbeats */
}

void fact_looked(struct checker *c, const struct words *f)
{
	struct node *node = checker_node(c, f->w[1]);
	struct run *run;

	if (!c->heartbeat || !node->heard) {
		checker_violated(c, "I24: a look at %s, which %s", node->name,
		        node->heard ? "has no heartbeat" : "nobody hears");
		return;
	}
	c->n_looks += f->u[2] >= node->heard_since + 2 * c->heartbeat;
	STAILQ_FOREACH (run, &c->runs, later)
		look_at(c, node, run, f->u[2]);
	node->looks++;
}
