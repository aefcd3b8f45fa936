/* dcgm_exporter.c - /metrics/gpus: GPUs under the names of dcgm-exporter, for its dashboards
 *
 * What the nodes sampled, of GPUs held or idle. hpc_job is the job that holds the GPU, "" of one
 * that is free; one that several jobs share has their numbers with "," between, as long as they are
 * few.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmds/web/metrics/rows.h"
#include "cmds/web/snapshot.h"

#define LABELS   "gpu,UUID,device,modelName,Hostname,GPU_I_ID,GPU_I_PROFILE,hpc_job"
#define JOBS_MAX 8

/* Sixty minutes after it an error of a GPU is of the past. */
#define XID_S 3600

enum what { UTIL, USED, FREE, TEMP, POWER, ENERGY, XID, SM_CLOCK, MEM_CLOCK };

/* False: it is not known. */
static bool value_of(const struct metric_out *o, const Gpusched__NodeGpu *gpu, double *value)
{
	bool recent =
	        gpu->last_xid_time && o->in->now_us - gpu->last_xid_time < XID_S * INT64_C(1000000);
	const struct {
		bool known;
		double value;
	} v[] = {
		[UTIL] = { gpu->sm_known, gpu->sm_pct },
		[USED] = { gpu->fb_used_mb || gpu->fb_free_mb, (double)gpu->fb_used_mb },
		[FREE] = { gpu->fb_used_mb || gpu->fb_free_mb, (double)gpu->fb_free_mb },
		[TEMP] = { gpu->temp_c != 0, gpu->temp_c },
		[POWER] = { gpu->power_mw != 0, gpu->power_mw / 1e3 },
		[ENERGY] = { gpu->energy_mj != 0, (double)gpu->energy_mj },
		[XID] = { true, recent ? gpu->last_xid : 0 },
		[SM_CLOCK] = { gpu->sm_clock_mhz != 0, gpu->sm_clock_mhz },
		[MEM_CLOCK] = { gpu->mem_clock_mhz != 0, gpu->mem_clock_mhz },
	};

	*value = v[o->metric->what].value;
	return gpu->sample_known && v[o->metric->what].known;
}

static void write_jobs(const Gpusched__NodeGpu *gpu, char *buf, size_t size)
{
	size_t len = 0;

	*buf = '\0';
	for (size_t i = 0; i < gpu->n_runs && i < JOBS_MAX && len < size; i++)
		len += (size_t)snprintf(
		        buf + len, size - len, "%s%" PRIu64, i ? "," : "", gpu->runs[i]->job);
}

/* MIG instances have a UUID of their own, and of their GPU no number of the driver's is known. */
static bool is_instance(const Gpusched__NodeGpu *gpu)
{
	return !strncmp(gpu->uuid, "MIG-", 4);
}

static void put(struct metric_out *o, const Gpusched__Node *node, const Gpusched__NodeGpu *gpu)
{
	uint32_t card = gpu->card ? gpu->card - 1 : gpu->index;
	char number[16], device[24], instance[16] = "", jobs[24 * JOBS_MAX];
	double value;

	if (!value_of(o, gpu, &value))
		return;
	snprintf(number, sizeof(number), "%" PRIu32, card);
	snprintf(device, sizeof(device), "nvidia%" PRIu32, card);
	if (is_instance(gpu))
		snprintf(instance, sizeof(instance), "%" PRIu32, gpu->index);
	write_jobs(gpu, jobs, sizeof(jobs));
	metric_put(o, value, number, gpu->uuid, device, gpu->type, node->name, instance,
	        *instance ? gpu->type : "", jobs);
}

static void each(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;

	for (size_t i = 0; snap && i < snap->n_nodes; i++)
		for (size_t k = 0; k < snap->nodes[i]->n_devices; k++)
			put(o, snap->nodes[i], snap->nodes[i]->devices[k]);
}

#define ROW(name, type, help, what)                                 \
	{                                                           \
		"DCGM_FI_DEV_" name, type, LABELS, help, each, what \
	}

const struct metric metrics_gpus[] = {
	ROW("SM_CLOCK", "gauge", "Clock of the multiprocessors, in MHz", SM_CLOCK),
	ROW("MEM_CLOCK", "gauge", "Clock of the memory, in MHz", MEM_CLOCK),
	ROW("GPU_TEMP", "gauge", "Temperature, in degrees Celsius", TEMP),
	ROW("POWER_USAGE", "gauge", "Power, in watts", POWER),
	ROW("TOTAL_ENERGY_CONSUMPTION", "counter",
	        "Energy since the driver was loaded, in millijoules", ENERGY),
	ROW("GPU_UTIL", "gauge", "Compute use since the sample before, in per cent", UTIL),
	ROW("XID_ERRORS", "gauge", "The last Xid, for an hour after it; 0: none", XID),
	ROW("FB_FREE", "gauge", "Memory that is free, in MiB", FREE),
	ROW("FB_USED", "gauge", "Memory that is used, in MiB", USED),
	METRICS_END,
};
