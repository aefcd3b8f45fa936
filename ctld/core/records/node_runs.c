/* node_runs.c - see node_runs.h */
#include "ctld/core/records/node_runs.h"

#include <assert.h>
#include <stddef.h>

#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"

void node_link_run(struct node *node, struct run *run)
{
	struct run_link *l = run_link(run);

	assert(!l->node);
	l->node = node;
	l->prev_of_node = NULL;
	l->next_of_node = node_link(node)->runs;
	if (l->next_of_node)
		run_link(l->next_of_node)->prev_of_node = run;
	node_link(node)->runs = run;
	node_link(node)->n_runs++;
	node_link(node)->n_orphans += run_info(run)->state == RUN_ORPHAN;
	node_runs_changed(node);
}

/* Before its state changes to ENDED or NEVER. */
void node_unlink_run(struct run *run)
{
	struct run_link *l = run_link(run);
	struct node *node = l->node;

	*(l->prev_of_node ? &run_link(l->prev_of_node)->next_of_node : &node_link(node)->runs) =
	        l->next_of_node;
	if (l->next_of_node)
		run_link(l->next_of_node)->prev_of_node = l->prev_of_node;
	l->node = NULL;
	l->next_of_node = l->prev_of_node = NULL;
	node_link(node)->n_runs--;
	node_link(node)->n_orphans -= run_info(run)->state == RUN_ORPHAN;
	node_runs_changed(node);
}
