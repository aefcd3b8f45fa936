/* node_control.c - EV_NODE_CONTROL, EV_PARTITION_CONTROL: what operators say about nodes and
 * partitions
 *
 * An operation on several nodes is checked for all of them and then done for all, so it is done as
 * a whole or not at all. The drain of a node and its being down are durable and stay until an
 * operator takes them back, whatever the node reports.
 */
#include "ctld/core/nodes/node_control.h"

#include <stdio.h>
#include <string.h>

#include "ctld/core/accounts/roles.h"
#include "ctld/core/nodes/gpu_by_uuid.h"
#include "ctld/core/nodes/gpu_drains.h"
#include "ctld/core/nodes/gpu_use.h"
#include "ctld/core/nodes/node_silence.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/partition.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/node_state.h"
#include "ctld/core/runs/run_orders.h"
#include "ctld/core/sched/sched.h"

/* --- verbs ----------------------------------------------------------------------------------- */

/* The one that was asked for; it was checked. */
static uint32_t asked_gpu(
        const struct core *core, const struct node *node, const struct core_event *e)
{
	struct error err;
	uint32_t index = 0;

	(void)gpu_index(core, node, e->node.gpu, &index, &err);
	return index;
}

/* Is one GPU meant and not the whole node? */
static bool of_gpu(const struct core_event *e)
{
	return e->node.gpu && *e->node.gpu;
}

/* Nothing new starts there; what runs goes on. */
static int drain(struct core *core, struct node *node, const struct core_event *e)
{
	struct gpu_drain drain = { .uid = e->caller.uid, .since = core->now.wall };

	if (of_gpu(e)) {
		gpu_reason(drain.reason, e->node.reason);
		gpu_drain(core, node, asked_gpu(core, node, e), &drain);
		return 0;
	}
	node_set_admin(core->nodes, node, true, node_info(node)->down, e->node.reason,
	        e->caller.uid, core->now.wall);
	node_settle(core, node);
	return 0;
}

/* The failed launches that may have drained the node are forgotten, too. */
static int resume(struct core *core, struct node *node, const struct core_event *e)
{
	if (of_gpu(e)) {
		gpu_return(core, node, asked_gpu(core, node, e));
		return 0;
	}
	if (!node_info(node)->drain && !node_info(node)->down)
		return 0;
	node_set_admin(core->nodes, node, false, false, "", e->caller.uid, core->now.wall);
	node_link(node)->launch_failures = 0;
	node_link(node)->others_failed = false;
	node_settle(core, node);
	return 0;
}

/* The node is not used. Its runs stay booked unless the operator confirms that it is off. */
static int down(struct core *core, struct node *node, const struct core_event *e)
{
	node_set_admin(core->nodes, node, node_info(node)->drain, true, e->node.reason,
	        e->caller.uid, core->now.wall);
	node_settle(core, node);
	if (e->node.confirmed_off)
		node_is_off(core, node, "an operator confirmed that the node is off");
	return 0;
}

/* Ends the runs of unknown attempts. The agent gets the order now or when it registers. */
static int clear(struct core *core, struct node *node, const struct core_event *e)
{
	struct run *run = node_link(node)->runs;

	for (; run; run = run_link(run)->next_of_node) {
		if (run_info(run)->state != RUN_ORPHAN)
			continue;
		run_set_end_wanted(core->runs, run, END_CANCEL);
		end_run_order(core, run, &(struct stop){ .by_user = e->caller.user });
	}
	return 0;
}

static const struct {
	const char *kind;
	bool reason; /* one is needed */
	int (*apply)(struct core *core, struct node *node, const struct core_event *e);
} verbs[] = {
	[NODE_DRAIN] = { "node.drain", true, drain },
	[NODE_RESUME] = { "node.resume", false, resume },
	[NODE_DOWN] = { "node.down", true, down },
	[NODE_CLEAR] = { "node.clear", true, clear },
};

/* Everything is checked before anything is done. */
static int check(const struct core *core, const struct core_event *e, struct error *err)
{
	uint32_t index;

	if (!verb_permits(VERB_NODE, standing(&e->caller)))
		return verb_refuse(VERB_NODE, err);
	if (core->suspended)
		return error_set(err, ERR_EPOCH, "%s", core->suspended);
	if (e->node.verb < NODE_DRAIN || e->node.verb > NODE_CLEAR)
		return error_set(err, ERR_USAGE, "unknown verb %d", (int)e->node.verb);
	if (verbs[e->node.verb].reason && (!e->node.reason || !*e->node.reason))
		return error_set(err, ERR_USAGE, "a reason is needed");
	if (of_gpu(e) && e->node.verb != NODE_DRAIN && e->node.verb != NODE_RESUME)
		return error_set(err, ERR_USAGE, "a GPU can be drained and resumed");
	for (size_t i = 0; i < e->node.n; i++) {
		const struct node *node = nodes_at(core->nodes, e->node.nodes[i]);

		if (!node)
			return error_set(err, ERR_NO_NODE, "there is no node %u", e->node.nodes[i]);
		if (of_gpu(e) && gpu_index(core, node, e->node.gpu, &index, err) < 0)
			return -1;
		if (e->node.confirmed_off && node_link_of(node)->hearing == NODE_HEARD)
			return error_set(err, ERR_NODE_STATE,
			        "node %s is not off: its agent is connected and was heard just now",
			        node_info(node)->name);
	}
	return 0;
}

void node_control_apply(struct core *core, const struct core_event *e)
{
	struct error err = { 0 };

	if (check(core, e, &err) < 0) {
		effects_reply(core->effects, e->caller.reply, &err);
		return;
	}
	for (size_t i = 0; i < e->node.n; i++) {
		struct node *node = nodes_at(core->nodes, e->node.nodes[i]);
		const char *reason = e->node.reason ? e->node.reason : "";
		char text[400];

		snprintf(text, sizeof(text), "%s%.*s%s%.260s",
		        e->node.confirmed_off ? "confirmed off: " : "",
		        of_gpu(e) ? DEVICE_UUID_MAX : 0, of_gpu(e) ? e->node.gpu : "",
		        of_gpu(e) && *reason ? ": " : "", reason);
		audit_note(
		        core, verbs[e->node.verb].kind, &e->caller, 0, node_info(node)->name, text);
		verbs[e->node.verb].apply(core, node, e);
	}
	effects_done(core->effects, e->caller.reply);
}

/* --- partitions ------------------------------------------------------------------------------ */

static int check_partition(const struct core *core, const struct core_event *e, struct error *err)
{
	if (!verb_permits(VERB_PARTITION, standing(&e->caller)))
		return verb_refuse(VERB_PARTITION, err);
	if (core->suspended)
		return error_set(err, ERR_EPOCH, "%s", core->suspended);
	if (e->partition.partition >= core->conf->n_partitions)
		return error_set(
		        err, ERR_NO_PARTITION, "there is no partition %u", e->partition.partition);
	if (e->partition.state > CONF_PARTITION_INACTIVE)
		return error_set(err, ERR_USAGE, "unknown state %d", (int)e->partition.state);
	return 0;
}

/* Jobs that run are not touched; those that wait are all tried again. */
void partition_control_apply(struct core *core, const struct core_event *e)
{
	const char *reason = e->partition.reason ? e->partition.reason : "";
	struct error err = { 0 };
	char text[600];

	if (check_partition(core, e, &err) < 0) {
		effects_reply(core->effects, e->caller.reply, &err);
		return;
	}
	snprintf(text, sizeof(text), "%.255s: %s%s%.300s",
	        core->conf->partitions[e->partition.partition].name,
	        partition_state_name(e->partition.state), *reason ? ": " : "", reason);
	audit_note(core, "partition.state", &e->caller, 0, "", text);
	partition_set_state(core->partitions, e->partition.partition, e->partition.state);
	sched_wake_all(core->sched);
	effects_done(core->effects, e->caller.reply);
}
