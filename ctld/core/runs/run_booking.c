/* run_booking.c - see run_booking.h
 *
 * A run is linked to its node exactly while it is booked there, also if the node has left the
 * configuration and the ledger no longer knows it.
 */
#include "ctld/core/runs/run_booking.h"

#include "ctld/core/attempts/bill.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/node_runs.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/node_state.h"
#include "ctld/core/sched/sched.h"

struct place run_place(const struct run *run)
{
	const struct run_info *i = run_info(run);

	return (struct place){ .node = node_link_of(run_link_of(run)->node)->index,
		.cpus = i->cpus,
		.mem_mb = i->mem_mb,
		.ports = run_link_of(run)->booked_ports,
		.gpus = run_link_of(run)->booked,
		.share = *run_share(run) };
}

/* The time since its start, or since its order if it has not started, in microseconds. Taken from
 * the wall clock, once: that clock may jump. */
static usec_t run_age(const struct core *core, const struct run *run)
{
	const struct run_info *i = run_info(run);
	usec_t began = i->start_time ? i->start_time : i->order_time;

	return began && began < core->now.wall ? core->now.wall - began : 0;
}

void run_hold(struct core *core, struct run *run)
{
	uint32_t index = node_link(run_link(run)->node)->index;
	struct place place;

	core->ledger_seen++;
	run_link(run)->booked = run_info(run)->gpus;
	run_link(run)->booked_ports =
	        run_link(run)->job ? job_info(run_link(run)->job)->gpus->ports : 0;
	if (!run_link(run)->began)
		run_link(run)->began = core->now.mono - run_age(core, run);
	if (index == NODE_LEFT)
		return;
	/* An orphan run may still occupy GPUs that were given to another run: they are booked
	 * once. A part of a GPU may lie beside other parts, but not on a GPU that is booked as a
	 * whole. */
	run_link(run)->booked &=
	        ~(run_share(run)->charge ? ledger_gpus_used(core->ledger, index) &
	                                           ~ledger_gpus_shared(core->ledger, index)
	                                 : ledger_gpus_used(core->ledger, index));
	node_runs_changed(run_link(run)->node);
	place = run_place(run);
	ledger_take(core->ledger, &place);
	node_count_gpus(core, run_link(run)->node);
	sched_node_taken(core->sched, index, run_info(run)->id.job);
}

/* GPUs have become free. A run that occupies them but could not book them, because they were
 * booked for another run, books them now. */
static void book_rest(struct core *core, struct node *node)
{
	for (struct run *run = node_link(node)->runs; run; run = run_link(run)->next_of_node) {
		struct place place = run_place(run);

		if (run_link(run)->booked == run_info(run)->gpus)
			continue;
		ledger_release(core->ledger, &place);
		run_hold(core, run);
	}
}

/* It leaves its node's list before the others there book what it had, and the
 * scheduler hears of the release after that: it sees only what is free in the end. */
void run_unbook(struct core *core, struct run *run)
{
	struct node *node = run_link(run)->node;
	uint32_t index;

	if (!node)
		return;
	index = node_link(node)->index;
	core->ledger_seen++;
	if (index != NODE_LEFT) {
		struct place place = run_place(run);

		ledger_release(core->ledger, &place);
		node_count_gpus(core, node);
	}
	node_unlink_run(run);
	bill_stops(core, run);
	if (index != NODE_LEFT) {
		book_rest(core, node);
		sched_node_freed(core->sched, index);
		node_hardware_freed(core, node);
	}
}

void run_book(struct core *core, struct run *run, struct node *node)
{
	node_link_run(node, run);
	run_hold(core, run);
	bill_starts(core, run);
}
