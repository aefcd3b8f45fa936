/* gpu_faults.c - see gpu_faults.h
 *
 * The drain of a GPU is in the node's row (gpu_drains.h), with the kind of the fault and the boot
 * in which it happened. A later fault replaces the drain only if the GPU takes at least as long to
 * recover from it, so that a small fault does not bring back a GPU that needs a reset.
 */
#include "ctld/core/nodes/gpu_faults.h"

#include <stdio.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "common/gpu/gpufault.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/jobs/life.h"
#include "ctld/core/nodes/gpu_checks.h"
#include "ctld/core/nodes/gpu_drains.h"
#include "ctld/core/nodes/gpu_use.h"
#include "ctld/core/nodes/node_silence.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/rows/view.h"
#include "ctld/core/runs/node_state.h"
#include "ctld/core/runs/run_orders.h"

#define WHAT_MAX  (GPU_REASON_MAX + DEVICE_UUID_MAX + 40)
#define JOBS_SAID 4

static const struct conf_node *conf_of(const struct core *core, const struct node *node)
{
	return &core->conf->nodes[node_link_of(node)->index];
}

/* The index that is bound to a UUID. */
static bool index_of(const struct node *node, const char *gpu, uint32_t *index)
{
	char uuid[DEVICE_UUID_MAX];

	for (uint32_t i = 0; *gpu && i < CONF_MAX_GPUS_PER_NODE; i++) {
		device_uuid(node_info(node)->gpus, i, uuid);
		if (strcmp(uuid, gpu))
			continue;
		*index = i;
		return true;
	}
	return false;
}

/* --- the audit trail ------------------------------------------------------------------------- */

/* The jobs whose runs are on it: returns the job if it is one; for several also adds "; on it jobs
 * 4, 7". */
static uint64_t jobs_on(struct node *node, uint32_t index, struct strbuf *text)
{
	struct run *run = node_link(node)->runs;
	struct strbuf list = { 0 };
	char label[JOB_LABEL];
	uint64_t only = 0;
	unsigned n = 0;

	for (; run; run = run_link(run)->next_of_node) {
		const struct job *job = run_link(run)->job;

		if (!(run_info(run)->gpus >> index & 1) || !job || !run_lives(run))
			continue;
		only = job_ref(job);
		if (n++ < JOBS_SAID)
			strbuf_addf(&list, "%s%s", n > 1 ? ", " : "", job_label(job, label));
	}
	if (n > 1)
		strbuf_addf(text, "; on it jobs %s%s", list.s, n > JOBS_SAID ? ", ..." : "");
	strbuf_free(&list);
	return n == 1 ? only : 0;
}

/* "GPU 3: Xid 79: off the bus: the GPU is drained (GPU-6f1c...)", of the job that is on it. Without
 * an index, as of one that is not the configuration's, the UUID is in front. */
static void note_gpu(struct core *core, struct node *node, const char *kind, const char *uuid,
        const char *how, const char *what)
{
	struct strbuf s = { 0 };
	uint64_t job = 0;
	uint32_t index;

	if (index_of(node, uuid, &index)) {
		strbuf_addf(&s, "GPU %u%s: %s", index, how, what);
		job = jobs_on(node, index, &s);
		strbuf_addf(&s, " (%s)", uuid);
	} else {
		strbuf_addf(&s, "%s%s: %s", uuid, how, what);
	}
	audit_note(core, kind, NULL, job, node_info(node)->name, s.s);
	strbuf_free(&s);
}

/* --- looking again --------------------------------------------------------------------------- */

/* A look has found nothing wrong with it. */
static void looked_at(struct core *core, struct node *node, const struct gpu_looked *g)
{
	struct gpu_drain d;
	uint32_t index;

	if (*g->trouble || !index_of(node, g->uuid, &index) || !gpu_drained(node, index, &d) ||
	        !gpu_may_return(node, &d))
		return;
	note_gpu(core, node, "gpu.return", d.gpu, " is well again", d.reason);
	gpu_return(core, node, index);
}

/* --- faults ---------------------------------------------------------------------------------- */

/* What becomes of the jobs on these GPUs. */
static void stop_jobs(struct core *core, struct node *node, uint64_t gpus, const char *why)
{
	enum conf_health_jobs wish = conf_of(core, node)->health_jobs;
	struct run *run = node_link(node)->runs, *next;

	for (; run && wish != CONF_HEALTH_RUN; run = next) {
		struct job *job = run_link(run)->job;
		bool again = wish == CONF_HEALTH_REQUEUE;

		next = run_link(run)->next_of_node;
		if (!(run_info(run)->gpus & gpus) || !job || !run_lives(run) ||
		        run_info(run)->end_wanted || !run_of_present(run))
			continue;
		audit_note(core, again ? "job.requeue" : "job.end", NULL, job_ref(job),
		        node_info(node)->name, why);
		job_stop(core, job, &(struct stop){ .cause = END_DRAIN, .requeue = again });
	}
}

static void drain_gpu(
        struct core *core, struct node *node, const struct gpu_fault *f, const char *why)
{
	struct gpu_drain d, was;
	uint32_t index;

	if (!index_of(node, f->uuid, &index)) /* it is no GPU of the configuration's */
		return;
	d = (struct gpu_drain){
		.uid = GPU_NOBODY, .since = core->now.wall, .kind = f->kind, .code = f->code
	};
	gpu_boot(node, d.boot);
	snprintf(d.reason, sizeof(d.reason), "%s", why);
	if (!gpu_drained(node, index, &was) ||
	        (was.uid == GPU_NOBODY &&
	                gpu_fault_row((enum gpu_fault_kind)was.kind, was.code)->back <=
	                        gpu_fault_row((enum gpu_fault_kind)d.kind, d.code)->back))
		gpu_drain(core, node, index, &d);
	stop_jobs(core, node, UINT64_C(1) << index, why);
}

/* It was reset: as good as a boot of its node for what waits for that. */
static void was_reset(struct core *core, struct node *node, const char *uuid)
{
	struct gpu_drain d;
	uint32_t index;

	if (!index_of(node, uuid, &index) || !gpu_drained(node, index, &d) || d.uid != GPU_NOBODY)
		return;
	d.boot[0] = '\0';
	gpu_drain(core, node, index, &d);
}

/* A node that is drained already keeps its reason; its jobs are treated alike. */
static void drain_node(
        struct core *core, struct node *node, const struct gpu_fault *f, const char *why)
{
	char text[WHAT_MAX];

	snprintf(text, sizeof(text), "%s: %s", f->uuid, why);
	if (!node_info(node)->drain) {
		node_set_admin(core->nodes, node, true, node_info(node)->down, text, CORE_BY_ITSELF,
		        core->now.wall);
		audit_note(core, "node.drain", NULL, 0, node_info(node)->name, text);
		node_settle(core, node);
	}
	stop_jobs(core, node, UINT64_MAX, text);
}

/* The site's `health_events` may choose another action than the table does. */
static void fault(struct core *core, struct node *node, const struct gpu_fault *f)
{
	static const char *const done[] = { [GPU_FAULT_NOTE] = "noted",
		[GPU_FAULT_DRAIN_GPU] = "the GPU is drained",
		[GPU_FAULT_DRAIN_NODE] = "the node is drained" };
	const struct conf_node *conf = conf_of(core, node);
	enum gpu_fault_kind kind = (enum gpu_fault_kind)f->kind;
	enum gpu_fault_action action =
	        gpu_fault_action(kind, f->code, conf->health_events.v, conf->health_events.n);
	char why[GPU_REASON_MAX], text[WHAT_MAX];

	if (kind == GPU_FAULT_XID)
		snprintf(why, sizeof(why), "Xid %u: %s", f->code,
		        gpu_fault_row(kind, f->code)->text);
	else
		gpu_reason(why, *f->text ? f->text : gpu_fault_row(kind, f->code)->text);
	snprintf(text, sizeof(text), "%s: %s", why, done[action]);
	note_gpu(core, node, "gpu.fault", f->uuid, "", text);
	if (action == GPU_FAULT_DRAIN_GPU)
		drain_gpu(core, node, f, why);
	else if (action == GPU_FAULT_DRAIN_NODE)
		drain_node(core, node, f, why);
	else if (kind == GPU_FAULT_RESET)
		was_reset(core, node, f->uuid);
}

/* Faults come in order of their numbers. Those up to the last one applied are repeats, and only
 * acknowledged. */
void gpu_report_apply(struct core *core, const struct core_event *e)
{
	struct node *node = nodes_at(core->nodes, e->gpus.node);
	uint64_t seen;
	struct effect *ack;

	if (!node || !e->gpus.session || node_link(node)->session != e->gpus.session ||
	        core->suspended)
		return;
	heartbeat_apply(core, e->gpus.node, e->gpus.session);
	seen = node_info(node)->faults_seen;
	for (size_t i = 0; i < e->gpus.n_faults; i++) {
		if (e->gpus.faults[i].seq <= seen)
			continue;
		seen = e->gpus.faults[i].seq;
		fault(core, node, &e->gpus.faults[i]);
	}
	node_set_faults_seen(core->nodes, node, seen);
	for (size_t i = 0; i < e->gpus.n_looked; i++)
		looked_at(core, node, &e->gpus.looked[i]);
	gpu_checks_later(core, node);
	if (!e->gpus.n_faults)
		return;
	ack = effects_add(core->effects, EFFECT_ACK_GPUS);
	ack->node = node_link(node)->index;
	ack->session = node_link(node)->session;
	ack->ack = seen;
}
