/* run_usage.c - see run_usage.h
 *
 * How much of a GPU's memory a run with a part of it may use is computed after each sample, since
 * runs come and go: its own part, and of its burst what no other run has booked. Using more is
 * handled once (gpu_memory_limit.h), or, if others have come, by gpu_reclaim.c.
 */
#include "config.h"

#include "noded/watch/run_usage.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/each.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "common/job/runused.h"
#include "noded/confine/effective_limits.h"
#include "noded/contain/cgroup_limits.h"
#include "noded/record/record.h"
#include "noded/runs/agent_channel.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/run_orders.h"
#include "noded/runs/run_records.h"
#include "noded/runs/runs.h"
#include "noded/usage/gpu_memory_limit.h"
#include "noded/usage/usage_per_run.h"
#include "noded/watch/gpu_inventory.h"

static void read_record(const struct run *r, const char *name,
        const ProtobufCMessageDescriptor *desc, ProtobufCMessage **m)
{
	int dir = run_dir(r, false);

	*m = NULL;
	if (dir >= 0 && record_read(dir, name, desc, m, NULL) != 1)
		*m = NULL;
	fd_close(dir);
}

static void take_launch(struct run_usage *u, const Gpusched__LaunchRecord *m)
{
	u->leaf = record_string(&m->cgroup);
	for (size_t i = 0; i < m->n_limits; i++) {
		if (m->limits[i]->kind == LIMIT_MEMORY && m->limits[i]->own_leaf) {
			free(u->memory);
			u->memory = record_string(&m->limits[i]->dir);
		}
	}
	u->n_gpus = m->n_gpu_uuids < GPU_INDEX_MAX ? m->n_gpu_uuids : GPU_INDEX_MAX;
	u->gpus = xcalloc(u->n_gpus, sizeof(*u->gpus));
	u->allowed_mb = m->gpu_mem_allowed_mb;
	for (size_t i = 0; i < u->n_gpus; i++) {
		strncpy(u->gpus[i].uuid, m->gpu_uuids[i], sizeof(u->gpus[i].uuid) - 1);
		if (m->report && i < m->report->n_gpus && m->report->gpus[i] < GPU_INDEX_MAX)
			u->gpus[i].index = m->report->gpus[i];
	}
}

/* From the run's records: an earlier launcher may have started it. */
struct run_usage *run_usage_new(const struct run *r)
{
	struct run_usage *u = xcalloc(1, sizeof(*u));
	ProtobufCMessage *m;

	u->fresh = true;
	u->waited_us = UINT64_MAX;
	read_record(r, RECORD_LAUNCH, &gpusched__launch_record__descriptor, &m);
	if (m)
		take_launch(u, (Gpusched__LaunchRecord *)m);
	else
		u->gpus = xcalloc(1, sizeof(*u->gpus));
	if (!u->leaf)
		u->leaf = xstrdup("");
	if (!u->memory)
		u->memory = xstrdup("");
	if (m)
		protobuf_c_message_free_unpacked(m, NULL);
	read_record(r, RECORD_USED, &gpusched__run_used__descriptor, &m);
	if (m) {
		run_used_from_message((Gpusched__RunUsed *)m, &u->used);
		protobuf_c_message_free_unpacked(m, NULL);
	}
	return u;
}

void run_usage_free(struct run_usage *u)
{
	if (!u)
		return;
	free(u->leaf);
	free(u->memory);
	free(u->gpus);
	free(u);
}

const struct run_used *run_usage_of(const struct run *r)
{
	return r->used ? &r->used->used : NULL;
}

/* --- memory of its GPUs ---------------------------------------------------------------------- */

bool run_usage_is_guarded(const struct run_usage *u)
{
	return u->allowed_mb && u->n_gpus;
}

struct others {
	const struct run *r;
	uint64_t bit, mb;
};

static void add_other(struct run *r, void *arg)
{
	struct others *o = arg;

	if (r != o->r && r->gpus & o->bit && r->has_parts)
		o->mb += r->share_mb;
}

/* As of now: memory that others have booked meanwhile belongs to them. */
static void set_allowed(struct run *r)
{
	const Gpusched__RunReport *b = r->report;
	struct run_usage *u = r->used;

	for (size_t i = 0; i < u->n_gpus; i++) {
		struct used_gpu *gpu = &u->gpus[i];
		struct others others = { .r = r, .bit = (uint64_t)1 << gpu->index };

		gpu->allowed_before_mb = gpu->allowed_mb;
		gpu->allowed_mb = u->allowed_mb;
		if (u->allowed_mb <= b->share_mb)
			continue;
		runs_each(r->l, add_other, &others);
		gpu->allowed_mb = overmem_allowed(b->share_mb, u->allowed_mb,
		        gpu_inventory_mem_mb(r->l->gpu_inventory, gpu->uuid), others.mb);
	}
}

/* The run uses more of its burst than is left. Has it taken that since the limit fell, or have
 * other runs come whose memory that is? In the second case it is asked to give back
 * (gpu_reclaim.c), and so is a run that had more at its first sample.
 */
static bool others_came(const struct run *r, const struct used_gpu *gpu)
{
	const struct run_usage *u = r->used;

	if (u->allowed_mb <= r->share_mb || gpu->own_mb > u->allowed_mb)
		return false;
	return r->burst_time || !u->looked || gpu->own_mb <= gpu->own_before_mb ||
	       gpu->allowed_mb < gpu->allowed_before_mb;
}

/* A run that is to be ended for this stays so until it has ended. */
void run_usage_check_memory(struct run *r)
{
	struct run_usage *u = r->used;
	enum overmem_policy policy = r->l->limits->over_memory;
	char text[OVERMEM_TEXT];
	int i;

	if (!run_usage_is_guarded(u))
		return;
	set_allowed(r);
	for (size_t k = 0; k < u->n_gpus; k++)
		u->gpus[k].asked_back = policy == OVERMEM_END && others_came(r, &u->gpus[k]);
	i = overmem_find(u->gpus, u->n_gpus);
	u->looked = true;
	if (i < 0 || (u->over_told && policy != OVERMEM_END))
		return;
	overmem_text(text, &u->gpus[i], u->allowed_mb);
	if (!u->over_told)
		log_warning("run %s: %s", r->name, text);
	u->over_told = true;
	run_over_memory(r, policy, text);
}

static const struct used_gpu *gpu_of(const struct run *r, unsigned index)
{
	for (size_t i = 0; r->used && i < r->used->n_gpus; i++) {
		if (r->used->gpus[i].index == index)
			return &r->used->gpus[i];
	}
	return NULL;
}

uint64_t run_usage_own_mb(const struct run *r, unsigned index)
{
	const struct used_gpu *gpu = gpu_of(r, index);

	if (gpu && gpu->own_known)
		return gpu->own_mb;
	return r->state == RUN_RUNNING && r->burst_time ? r->report->share_burst_mb : 0;
}

uint64_t run_usage_gpu_mb(const struct run *r, unsigned index)
{
	const struct used_gpu *gpu = gpu_of(r, index);

	return gpu ? gpu_inventory_mem_mb(r->l->gpu_inventory, gpu->uuid) : 0;
}

void run_usage_text(const struct run *r, unsigned index, char out[OVERMEM_TEXT])
{
	const struct used_gpu *gpu = gpu_of(r, index);

	*out = '\0';
	if (gpu)
		overmem_text(out, gpu, r->used->allowed_mb);
}

/* --- reports and records ---------------------------------------------------------------------- */

void run_usage_keep(const struct run *r)
{
	Gpusched__RunUsed m;
	int dir = run_dir(r, false);

	run_used_to_message(&r->used->used, &m);
	/* On a full tmpfs the previous record stays: its peaks are a little older then. */
	if (dir >= 0)
		record_write(dir, RECORD_USED, &m.base, 0, NULL);
	fd_close(dir);
}

void run_usage_message(const struct run *r, Gpusched__RunUsed *used, Gpusched__RunId *id)
{
	static const struct run_used nothing;

	run_used_to_message(r->used ? &r->used->used : &nothing, used);
	gpusched__run_id__init(id);
	COPY_FIELDS(id, &r->id, job, task, attempt, rank);
	used->run = id;
	used->burst_job = r->burst_job;
	used->burst_time = r->burst_time;
}

void run_usage_send(const struct run *r)
{
	Gpusched__RunsUsed m = GPUSCHED__RUNS_USED__INIT;
	Gpusched__RunUsed used, *list = &used;
	Gpusched__RunId id;

	run_usage_message(r, &used, &id);
	m.n_runs = 1;
	m.runs = &list;
	agent_send(r->l, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_USED, &m.base);
}
