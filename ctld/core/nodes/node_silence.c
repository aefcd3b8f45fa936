/* node_silence.c - see node_silence.h */
#include "ctld/core/nodes/node_silence.h"

#include <stdio.h>

#include "common/conf/conf.h"
#include "ctld/core/jobs/node_state.h"
#include "ctld/core/nodes/operate.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/node.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/heap.h"

static usec_t seconds(uint32_t s)
{
	return (usec_t)s * USEC_PER_S;
}

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

static void silent(struct core *core, struct node *node)
{
	char text[100];

	snprintf(text, sizeof(text), "not heard for %u s", core->conf->controller.node_timeout_s);
	node_hear(core->nodes, node, NODE_UNKNOWN, core->now);
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
	unsigned n;

	for (n = 0; n < TIMER_SLICE && (node = heap_first(core->node_timers)); n++) {
		bool off;

		if (heap_first_key(core->node_timers).a > (uint64_t)core->now.mono)
			break;
		if (unknown_until(core, node, &off) <= core->now.mono) {
			if (off) {
				node_is_off(
				        core, node, "the node was not heard of for unknown_is_off");
			} else {
				node_link(node)->fence = FENCE_NONE;
				node_fence(core, node);
			}
		}
		/* Heard again, or without runs by now: then nothing is due any more. */
		node_timer_set(core, node);
	}
}

void node_silence_apply(struct core *core)
{
	struct node *node;
	unsigned n;

	for (n = 0; n < TIMER_SLICE && (node = nodes_oldest(core->nodes)); n++) {
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
