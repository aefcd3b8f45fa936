/* node_silence.c - see node_silence.h
 *
 * A node is SILENT when its session has ended, and UNKNOWN when nothing has come from it for
 * node_timeout. Its runs stay booked all that time, because they may live: that ends when the node
 * registers, when the fence reports success, or after `unknown_is_off`. Only then node_is_off()
 * ends them. A fence that failed or does not answer is ordered again; one heap holds what is due
 * when.
 *
 *	HEARD --- its session ends ---> SILENT --- node_timeout ---> UNKNOWN --- fenced, or
 *	  ^                               |                            |         unknown_is_off:
 *	  +------ it registers -----------+----------------------------+         its runs are over
 */
#include "ctld/core/nodes/node_silence.h"

#include <stdio.h>

#include "common/conf/conf.h"
#include "ctld/core/jobs/missing_runs.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/service.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/node_state.h"
#include "ctld/core/util/heap.h"

static usec_t seconds(uint32_t s)
{
	return (usec_t)s * USEC_PER_S;
}

/* Mono: node_timeout after anything came from the node. */
static usec_t silent_until(const struct core *core, const struct node *node)
{
	return node_link_of(node)->heard_mono + seconds(core->conf->controller.node_timeout_s);
}

/* What is next for an UNKNOWN node: the fence again, or the time after which it counts as off. */
static usec_t unknown_until(const struct core *core, const struct node *node, bool *off)
{
	const struct conf_controller *c = &core->conf->controller;
	const struct node_link *l = node_link_of(node);
	usec_t fence = INT64_MAX, gone = INT64_MAX;

	if (l->off || l->hearing != NODE_UNKNOWN || !l->runs)
		return INT64_MAX;
	if (l->fence == FENCE_FAILED)
		fence = l->fenced_mono + seconds(c->node_timeout_s);
	else if (l->fence == FENCE_ASKED)
		fence = l->fenced_mono + seconds(c->fence_timeout_s) + seconds(c->node_timeout_s);
	if (c->unknown_is_off_s)
		gone = l->heard_mono + seconds(c->unknown_is_off_s);
	*off = gone <= fence;
	return *off ? gone : fence;
}

void node_tell_services(struct core *core, const struct node *node)
{
	const struct run *run = node_link_of(node)->runs;

	for (; run; run = run_link_of(run)->next_of_node) {
		const struct job *job = run_link_of(run)->job;

		if (job && job_service(job))
			services_touch(core->services, job_service(job));
	}
}

/* Nothing has come for node_timeout: nothing is known of its runs any more, and nothing starts
 * there. */
static void silent(struct core *core, struct node *node)
{
	char text[100];

	snprintf(text, sizeof(text), "no response for %u s", core->conf->controller.node_timeout_s);
	node_hear(core->nodes, node, NODE_UNKNOWN, core->now);
	node_tell_services(core, node);
	node_settle(core, node);
	if (node_link(node)->runs)
		audit_note(core, "node.unknown", NULL, 0, node_info(node)->name, text);
	node_fence(core, node);
	node_timer_set(core, node);
}

void node_moved(void *item, uint32_t index)
{
	node_link(item)->slot = index;
}

void node_timer_set(struct core *core, struct node *node)
{
	struct node_link *l = node_link(node);
	bool off;
	usec_t due = unknown_until(core, node, &off);

	if (l->slot != HEAP_NOWHERE)
		heap_remove(core->node_timers, l->slot);
	if (due != INT64_MAX && l->index != NODE_LEFT)
		heap_put(core->node_timers,
		        (struct heap_key){ due < 0 ? 0 : (uint64_t)due, l->index }, node);
}

void unknown_nodes_apply(struct core *core)
{
	struct node *node;

	for (unsigned n = 0; n < TIMER_SLICE && (node = heap_first(core->node_timers)); n++) {
		bool off;

		if (heap_first_key(core->node_timers).a > (uint64_t)core->now.mono)
			break;
		if (unknown_until(core, node, &off) <= core->now.mono) {
			if (off) {
				node_is_off(
				        core, node, "the node did not respond for unknown_is_off");
			} else {
				node_link(node)->fence = FENCE_NONE;
				node_fence(core, node);
			}
		}
		/* Heard again, or without runs by now: then nothing is due any more. */
		node_timer_set(core, node);
	}
}

/* The node that was silent for the longest time is first in the list, so that only lost ones are
 * looked at. */
void node_silence_apply(struct core *core)
{
	struct node *node;

	for (unsigned n = 0; n < TIMER_SLICE && (node = nodes_oldest(core->nodes)); n++) {
		if (silent_until(core, node) > core->now.mono)
			break;
		silent(core, node);
	}
}

usec_t node_silence_next(const struct core *core)
{
	const struct node *node = nodes_oldest(core->nodes);

	return node ? silent_until(core, node) : INT64_MAX;
}

usec_t unknown_nodes_next(const struct core *core)
{
	return heap_first(core->node_timers) ? (usec_t)heap_first_key(core->node_timers).a
	                                     : INT64_MAX;
}

void heartbeat_apply(struct core *core, uint32_t index, uint64_t session)
{
	struct node *node = nodes_at(core->nodes, index);
	bool back;

	if (!node || !session || node_link(node)->session != session)
		return;
	back = node_link(node)->hearing != NODE_HEARD;
	node_hear(core->nodes, node, NODE_HEARD, core->now);
	if (back) {
		node_link(node)->fence = FENCE_NONE;
		node_settle(core, node);
	}
}

/* --- off ------------------------------------------------------------------------------------- */

void node_close(struct core *core, struct node *node, const char *why)
{
	struct node_link *l = node_link(node);

	if (!l->session)
		return;
	effects_close_agent(core->effects, l->index, l->session, why);
	l->session = 0;
	if (l->hearing == NODE_HEARD)
		node_hear(core->nodes, node, NODE_SILENT, core->now);
	node_settle(core, node);
}

/* The one place where runs are given up without a word from their node. */
void node_is_off(struct core *core, struct node *node, const char *why)
{
	struct node_link *l = node_link(node);

	l->off = true;
	l->fence = FENCE_NONE;
	node_close(core, node, why);
	if (!core->suspended)
		node_runs_gone(core, node, why);
}

/* Only a node on which something may run is worth it; one order at a time. */
void node_fence(struct core *core, struct node *node)
{
	struct node_link *l = node_link(node);
	struct effect *e;

	if (!*core->conf->controller.fence || !l->runs || l->index == NODE_LEFT ||
	        core->suspended || l->fence == FENCE_ASKED)
		return;
	l->fence = FENCE_ASKED;
	l->fenced_mono = core->now.mono;
	e = effects_add(core->effects, EFFECT_FENCE);
	e->node = l->index;
	node_timer_set(core, node);
	audit_note(core, "node.fence", NULL, 0, node_info(node)->name, "asked for");
}

void fenced_apply(struct core *core, uint32_t index, bool off)
{
	struct node *node = nodes_at(core->nodes, index);
	struct node_link *l = node ? node_link(node) : NULL;

	/* A node that has registered since was off, or was not: it has said itself what it runs. */
	if (!l || l->fence != FENCE_ASKED || core->suspended)
		return;
	l->fenced_mono = core->now.mono;
	if (!off) {
		l->fence = FENCE_FAILED;
		node_timer_set(core, node);
		audit_note(core, "node.fence", NULL, 0, node_info(node)->name, "failed");
		return;
	}
	audit_note(
	        core, "node.fence", NULL, 0, node_info(node)->name, "succeeded: the node is off");
	node_is_off(core, node, "the node was fenced");
}
