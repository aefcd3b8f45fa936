/* node_state.c - see node_state.h
 *
 * What runs and nodes/ both need lies here, because nodes/ stands above this folder.
 */
#include "ctld/core/runs/node_state.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ctld/core/attempts/attempt_outcome.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/rows/view.h"
#include "ctld/core/sched/sched.h"

/* A booking on the node stays whatever it accepts. The scheduler is told last, when the ledger is
 * as it will be. */
void node_settle(struct core *core, struct node *node)
{
	uint32_t index = node_link(node)->index;
	bool accept = node_accepts(node);

	core->ledger_seen++;
	if (index == NODE_LEFT)
		return;
	ledger_inventory(core->ledger, index, node_info(node)->cpus, node_info(node)->mem_mb);
	ledger_offers(core->ledger, index, &node_link(node)->offers);
	ledger_gpus_out(core->ledger, index, node_link(node)->gpus_out);
	node_runs_changed(node); /* the end of what has a GPU that is out gives none back */
	ledger_accept(core->ledger, index, accept);
	node_count_gpus(core, node);
	if (accept)
		sched_node_returned(core->sched, index);
	else
		sched_node_changed(core->sched, index, "a node was lost");
}

void node_hardware_due(struct core *core)
{
	usec_t earliest = core->hardware_made + USEC_PER_S;

	if (core->hardware_due != INT64_MAX)
		return;
	core->hardware_due = core->now.mono;
	if (core->hardware_made && earliest > core->now.mono)
		core->hardware_due = earliest;
}

void node_hardware_freed(struct core *core, struct node *node)
{
	if (node_link(node)->unsettled && node_link(node)->session && !core->suspended)
		node_hardware_due(core);
}

void node_launch_failed(struct core *core, const struct run *run)
{
	struct node *node = nodes_find(core->nodes, run_info(run)->node);
	struct node_link *l = node_link(node);
	char text[300];

	l->others_failed |= l->launch_failures && l->failed_uid != run_info(run)->uid;
	l->failed_uid = run_info(run)->uid;
	if (++l->launch_failures < LAUNCH_TRIES || !l->others_failed || node_info(node)->drain)
		return;
	snprintf(text, sizeof(text), "%u launches in a row failed, the last: %.200s",
	        l->launch_failures, run_past(run)->detail);
	node_set_admin(core->nodes, node, true, node_info(node)->down, text, CORE_BY_ITSELF,
	        core->now.wall);
	audit_note(core, "node.drain", NULL, 0, node_info(node)->name, text);
	node_settle(core, node);
}

void node_in_trouble(struct core *core, struct node *node, const char *trouble)
{
	if (!trouble || !*trouble || !node || node_info(node)->drain)
		return;
	node_set_admin(core->nodes, node, true, node_info(node)->down, trouble, CORE_BY_ITSELF,
	        core->now.wall);
	audit_note(core, "node.drain", NULL, 0, node_info(node)->name, trouble);
	node_settle(core, node);
}
