/* registration.c - see registration.h
 *
 * A registration is the whole truth about a node at that moment, and everything that could have
 * been lost before it is settled by it:
 *	- runs ordered under another incarnation are gone, unless the report has their record;
 *	- what the report says of runs is applied as if it had come alone (run_reports.c);
 *	- what we believe to be there and the report does not name is in the wanted set: the agent
 *	  answers NEVER for what it does not have, final for that attempt;
 *	- EndRuns that are due go out again.
 *
 * A node has one session at a time, and what comes in another one is ignored: so a late message of
 * an agent that was replaced changes nothing. While the core is suspended a registration is
 * answered, but nothing that it says of runs is applied.
 */
#include "ctld/core/nodes/registration.h"

#include <stdio.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "ctld/core/jobs/missing_runs.h"
#include "ctld/core/nodes/devices.h"
#include "ctld/core/nodes/discovered_hardware.h"
#include "ctld/core/nodes/gpu_checks.h"
#include "ctld/core/nodes/node_silence.h"
#include "ctld/core/nodes/registration_check.h"
#include "ctld/core/nodes/run_reports.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/foreign.h"
#include "ctld/core/runs/node_state.h"
#include "ctld/core/runs/run_orders.h"

/* Nothing is started any more until an operator has looked: a promise of the state was broken. */
static void suspend(
        struct core *core, const char *node, const char *what, uint64_t theirs, uint64_t ours)
{
	if (core->suspended)
		return;
	core->suspended = xasprintf("node %s has seen %s %llu, and the database knows only %llu: "
	                            "it is older than the cluster; see gctld --takeover",
	        node, what, (unsigned long long)theirs, (unsigned long long)ours);
}

/* Is the cluster ahead of the database? */
static void compare_numbers(
        struct core *core, const struct node *node, uint64_t epoch, uint64_t job)
{
	if (core->takeover) {
		meta_raise(core->meta, epoch, job);
		return;
	}
	if (epoch > meta_epoch(core->meta))
		suspend(core, node_info(node)->name, "epoch", epoch, meta_epoch(core->meta));
	else if (job >= meta_next_job(core->meta))
		suspend(core, node_info(node)->name, "job", job, meta_next_job(core->meta) - 1);
}

/* Nothing is started on a node whose own health check fails, until it reports success. The node
 * reports it in each registration, so it is not stored. */
static void take_health(struct core *core, struct node *node, const char *health)
{
	const char *was = node_link(node)->unwell;
	char well[300];

	if (!health)
		health = "";
	snprintf(well, sizeof(well), "no longer: %s", was);
	if (strcmp(was, health) != 0)
		audit_note(core, "node.health", NULL, 0, node_info(node)->name,
		        *health ? health : well);
	node_set_text(core->nodes, &node_link(node)->unwell, health);
}

/* --- registration ---------------------------------------------------------------------------- */

/* The configuration may have changed since the session began. */
static int refuse_agent(struct core *core, const struct core_event *e)
{
	if (nodes_at(core->nodes, e->agent_up.node))
		return 0;
	effects_close_agent(core->effects, e->agent_up.node, e->agent_up.session,
	        "the configuration has no such node");
	return -1;
}

/* NULL: the registration does not name the run. */
static const struct run_report *reported(const struct core_event *e, struct run_id id)
{
	for (size_t i = 0; i < e->agent_up.n_runs; i++) {
		if (run_id_equal(&e->agent_up.runs[i].run, &id))
			return &e->agent_up.runs[i];
	}
	return NULL;
}

/* Runs of an incarnation that is no more, and of which there is no record, died with it. */
static void end_old_incarnation(struct core *core, struct node *node, const struct core_event *e)
{
	struct run *run = node_link(node)->runs, *next;

	for (; run; run = next) {
		next = run_link(run)->next_of_node;
		if (!strcmp(run_info(run)->incarnation, e->agent_up.incarnation))
			continue;
		if (!reported(e, run_info(run)->id))
			run_gone(core, run, END_NODE_FAIL, "the node was rebooted under it");
	}
}

/* The state was restored from a backup: what it has running here and the node has no record of is
 * over. The agent would say so in a moment, but what runs on those GPUs is to get them now. */
static void end_restored(struct core *core, struct node *node, const struct core_event *e)
{
	struct run *run = node_link(node)->runs, *next;

	for (; run && !e->agent_up.more_runs; run = next) {
		next = run_link(run)->next_of_node;
		if (meta_before_takeover(core->meta, run_info(run)->epoch) &&
		        !reported(e, run_info(run)->id))
			run_gone(core, run, END_LOST,
			        "it has ended since the backup, and how is not kept on the node");
	}
}

/* The ends of known runs come first: they make room for runs that are not known. */
static void take_reports(struct core *core, struct node *node, const struct core_event *e)
{
	const struct run_report *r = e->agent_up.runs, *end = r + e->agent_up.n_runs;

	for (; r < end; r++) {
		if (r->state == REPORT_ENDED && runs_find(core->runs, r->run))
			report_apply(core, node, r, true);
	}
	for (r = e->agent_up.runs; r < end; r++)
		report_apply(core, node, r, true);
}

/* Tell the agent what should be there, and what is to end. */
static void answer(struct core *core, struct node *node)
{
	const struct node_link *l = node_link(node);
	size_t n = core->suspended ? 0 : l->n_runs, i = 0;
	struct run_id *wanted = effects_alloc(core->effects, n * sizeof(*wanted));
	struct effect *fx;

	for (struct run *run = l->runs; run && i < n; run = run_link(run)->next_of_node)
		wanted[i++] = run_info(run)->id;
	fx = effects_add(core->effects, EFFECT_REGISTERED);
	fx->node = l->index;
	fx->session = l->session;
	fx->registered.wanted = wanted;
	fx->registered.n = n;
	for (struct run *run = l->runs; run; run = run_link(run)->next_of_node) {
		const struct run_info *ri = run_info(run);

		if (ri->end_wanted)
			end_run_order(core, run, &(struct stop){ 0 });
		else if (ri->suspend_wanted != (run_past(run)->suspend_time != 0) ||
		         run_limit_changed(run))
			suspend_run_order(core, run);
	}
}

/* The order matters. First what the agent says of itself; then ends of runs, which make room; then
 * GPUs are bound; then what it says of its runs. Its answer comes last, with what is wanted after
 * all that, and then the ledger accepts work again. */
void agent_up_apply(struct core *core, const struct core_event *e)
{
	struct node *node = nodes_at(core->nodes, e->agent_up.node);
	struct node_link *l;

	if (refuse_agent(core, e) < 0)
		return;
	l = node_link(node);
	if (l->session && l->session != e->agent_up.session)
		effects_close_agent(core->effects, l->index, l->session,
		        "superseded: the node has registered in another session");
	l->session = e->agent_up.session;
	l->fence = FENCE_NONE;
	node_hear(core->nodes, node, NODE_HEARD, core->now);
	node_tell_services(core, node);
	compare_numbers(core, node, e->agent_up.max_epoch, e->agent_up.max_job);
	node_set_text(core->nodes, &l->version, e->agent_up.version);
	node_set_text(core->nodes, &l->containment, e->agent_up.containment);
	node_set_text(core->nodes, &l->containment_why,
	        e->agent_up.containment_why ? e->agent_up.containment_why : "");
	node_set_gpus(core->nodes, node, e->agent_up.gpus, e->agent_up.n_gpus);
	l->gpus_asked = e->agent_up.gpus_asked || e->agent_up.n_gpus;
	node_set_text(core->nodes, &l->gpu_trouble,
	        e->agent_up.gpu_trouble ? e->agent_up.gpu_trouble : "");
	COPY_FIELDS(l, &e->agent_up, pretended, tells_faults, no_settings, no_programs,
	        no_health_check, no_private_tmp, share_users_one);
	l->offers = (struct node_offers){ true, e->agent_up.no_services, e->agent_up.service_ports,
		e->agent_up.tmp_mb };
	take_health(core, node, e->agent_up.health);
	if (!core->suspended) {
		end_old_incarnation(core, node, e);
		l->rebooted |= strcmp(node_info(node)->boot_id, e->agent_up.boot_id) != 0;
		node_set_registered(core->nodes, node, e->agent_up.incarnation, e->agent_up.boot_id,
		        e->agent_up.cpus, e->agent_up.mem_mb);
		node_compare(core, node);
		end_restored(core, node, e);
		take_reports(core, node, e);
		foreign_forgotten(core, node, e);
	}
	answer(core, node);
	node_settle(core, node);
	if (!core->suspended)
		gpu_checks_order(core, node);
}

/* --- afterwards ------------------------------------------------------------------------------ */

/* Its runs stay as they are: only silence for node_timeout, or another registration, says more. */
void agent_gone_apply(struct core *core, uint32_t index, uint64_t session)
{
	struct node *node = nodes_at(core->nodes, index);

	if (!node || node_link(node)->session != session)
		return;
	node_link(node)->session = 0;
	if (node_link(node)->hearing == NODE_HEARD)
		node_hear(core->nodes, node, NODE_SILENT, core->now);
	node_settle(core, node);
}
