/* run_orders.c - see run_orders.h */
#include "ctld/core/runs/run_orders.h"

#include <assert.h>

#include "common/conf/conf.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/attempt_outcome.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/service.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/run_booking.h"

/* An effect for the run's node; NULL: the node is not connected. It gets its orders when it
 * registers. */
static struct effect *order(
        struct core *core, enum effect_kind kind, const struct run *run, const struct node *node)
{
	const struct node_link *l = node ? node_link_of(node) : NULL;
	struct effect *e;

	if (!l || !l->session || core->suspended)
		return NULL;
	e = effects_add(core->effects, kind);
	e->node = l->index;
	e->session = l->session;
	e->run.run = run_info(run)->id;
	return e;
}

void end_run_order(struct core *core, struct run *run, const struct stop *stop)
{
	const struct job *job = run_link(run)->job;
	uint32_t p = job ? job_partition(core, job) : CONF_NONE;
	uint32_t grace = p == CONF_NONE ? NO_PARTITION_GRACE_S : core->conf->partitions[p].grace_s;
	struct effect *e = order(core, EFFECT_END_RUN, run, run_link(run)->node);

	if (job && grace < service_drain_s(job))
		grace = service_drain_s(job);
	run_stopping(core, run, grace);
	if (!e)
		return;
	e->run.cause = run_info(run)->end_wanted;
	e->run.grace_s = grace;
	e->run.by_user = effects_text(core->effects, stop->by_user ? stop->by_user : "");
	e->run.by_account = effects_text(core->effects, stop->by_account ? stop->by_account : "");
	e->run.by_qos = effects_text(core->effects, stop->by_qos ? stop->by_qos : "");
	e->run.by_job = stop->by_job;
	e->run.requeue = job && run_of_present(run) && run_lives(run) && job_comes_again(job);
}

/* One order for both: whether the run is suspended, and its time limit if that was changed. */
void suspend_run_order(struct core *core, const struct run *run)
{
	struct effect *e = order(core, EFFECT_SUSPEND_RUN, run, run_link_of(run)->node);
	const struct job *job = run_link_of(run)->job;

	if (!e)
		return;
	e->run.suspend = run_info(run)->suspend_wanted;
	if (run_limit_changed(run))
		e->run.limit_s =
		        job_info(job)->time_limit_s ? job_info(job)->time_limit_s : TIME_LIMIT_NONE;
}

bool run_limit_changed(const struct run *run)
{
	const struct job *job = run_link_of(run)->job;

	return job && run_of_present(run) && run_lives(run) && job_info(job)->limit_set;
}

void forget_run_order(struct core *core, const struct run *run, const struct node *node)
{
	order(core, EFFECT_FORGET_RUN, run, node);
}

/* The order is an effect of the event that makes the run, so it leaves when the run is on disk.
 * `ordered_session` tells later whether a node that says NEVER has refused the order or never got
 * it. */
void run_start(struct core *core, struct job *job, struct run_id id, uint32_t nodes,
        const struct place *place)
{
	struct node *node = nodes_at(core->nodes, place->node);
	struct run_info info = {
		.id = id,
		.node = node_info(node)->name,
		.account = job_info(job)->account,
		.gpu_type = place->gpus ? core->conf->gpu_types[place->type].name : "",
		.incarnation = node_info(node)->incarnation,
		.gpus = place->gpus,
		.mem_mb = place->mem_mb,
		.cpus = place->cpus,
		.epoch = meta_epoch(core->meta),
		.order_time = core->now.wall,
		.uid = job_info(job)->uid,
		.nodes = nodes,
		.state = RUN_ORDERED,
	};
	struct run *run;

	/* Never on a GPU that is drained, missing or faulty. */
	assert(!(place->gpus & node_link(node)->gpus_out));
	run = runs_add(core->runs, &info, &place->share);
	run_attach(job, run);
	run_book(core, run, node);
	run_link(run)->ordered_session = node_link(node)->session;
	order(core, EFFECT_START_RUN, run, node);
}
