/* nvml_usage.c - see nvml_usage.h */
#include "noded/gpu/nvml_usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "noded/gpu/nvml.h"

#define SAMPLES_MAX 256 /* of the driver's: it keeps about 100 */
#define MIB         (1024 * 1024)

struct slot {
	nvml_device device;
	uint32_t gpu; /* NVML's index */
	bool mig;
	char uuid[GPUS_TEXT];
	unsigned long long seen, procs_seen; /* the driver's time of the last sample */
};

struct gpu_sampling {
	struct nvml nvml;
	struct discover_at *at;
	uint32_t gpu; /* the present one */
	uint32_t n;
	struct slot slots[GPUS_MAX];
};

static void asking(struct gpu_sampling *s, const char *call)
{
	snprintf(s->at->call, sizeof(s->at->call), "%s", call);
	s->at->gpu = s->gpu;
}

#define ASK(s, call, ...)  \
	(asking(s, #call), \
	        (s)->nvml.call ? (s)->nvml.call(__VA_ARGS__) : (int)NVML_FUNCTION_NOT_FOUND)

/* --- finding the slots ----------------------------------------------------------------------- */

static void add_slot(struct gpu_sampling *s, nvml_device device, bool mig)
{
	struct slot *slot = &s->slots[s->n];

	*slot = (struct slot){ .device = device, .gpu = s->gpu, .mig = mig };
	if (ASK(s, nvmlDeviceGetUUID, device, slot->uuid, sizeof(slot->uuid)) == NVML_SUCCESS)
		s->n++;
}

static void find_instances(struct gpu_sampling *s, nvml_device device)
{
	nvml_device mig = NULL;
	unsigned n = 0;

	if (ASK(s, nvmlDeviceGetMaxMigDeviceCount, device, &n) != NVML_SUCCESS)
		n = 0;
	for (unsigned i = 0; i < n && s->n < GPUS_MAX; i++) {
		if (ASK(s, nvmlDeviceGetMigDeviceHandleByIndex, device, i, &mig) == NVML_SUCCESS)
			add_slot(s, mig, true);
	}
}

static void find_slots(struct gpu_sampling *s)
{
	unsigned now = 0, pending;
	nvml_device device = NULL;

	if (ASK(s, nvmlDeviceGetHandleByIndex, s->gpu, &device) != NVML_SUCCESS)
		return;
	if (ASK(s, nvmlDeviceGetMigMode, device, &now, &pending) == NVML_SUCCESS && now)
		find_instances(s, device);
	else
		add_slot(s, device, false);
}

struct gpu_sampling *gpu_sampling_new(uint64_t skip, struct discover_at *at)
{
	struct gpu_sampling *s = xcalloc(1, sizeof(*s));
	unsigned n = 0;

	s->at = at;
	s->gpu = DISCOVER_NO_GPU;
	if (nvml_open(&s->nvml, NULL) < 0) {
		free(s);
		return NULL;
	}
	if (ASK(s, nvmlInit) == NVML_SUCCESS && ASK(s, nvmlDeviceGetCount, &n) == NVML_SUCCESS) {
		for (s->gpu = 0; s->gpu < n && s->gpu < GPUS_HOST_MAX && s->n < GPUS_MAX;
		        s->gpu++) {
			if (!(skip >> s->gpu & 1))
				find_slots(s);
		}
		s->gpu = DISCOVER_NO_GPU;
		return s;
	}
	nvml_close(&s->nvml); /* what is asked last is what did not work */
	free(s);
	return NULL;
}

/* --- sampling -------------------------------------------------------------------------------- */

static double value_of(const struct nvml_sample *v, int type)
{
	switch (type) {
	case NVML_UINT:
		return v->value.u;
	case NVML_ULONG:
		return (double)v->value.ul;
	case NVML_ULONGLONG:
		return (double)v->value.ull;
	default:
		return v->value.d;
	}
}

static uint32_t thousandths(double percent)
{
	return !(percent > 0) ? 0 : percent >= 100 ? USE_FULL : (uint32_t)(percent * 10 + 0.5);
}

/* The mean of the driver's samples since our previous one. */
static bool take_samples(struct gpu_sampling *s, struct slot *slot, struct gpu_use *use)
{
	static struct nvml_sample v[SAMPLES_MAX];
	unsigned n = SAMPLES_MAX, counted = 0;
	int type = NVML_UINT;
	double sum = 0;

	if (ASK(s, nvmlDeviceGetSamples, slot->device, NVML_GPU_UTILIZATION_SAMPLES, slot->seen,
	            &type, &n, v) != NVML_SUCCESS)
		return false;
	for (unsigned i = 0; i < n && i < SAMPLES_MAX; i++) {
		double percent = value_of(&v[i], type);

		if (v[i].time <= slot->seen || !(percent >= 0 && percent <= 100))
			continue;
		sum += percent;
		counted++;
	}
	for (unsigned i = 0; i < n && i < SAMPLES_MAX; i++) {
		if (v[i].time > slot->seen)
			slot->seen = v[i].time;
	}
	if (counted)
		use->compute = thousandths(sum / counted);
	return counted > 0;
}

static void take_compute(struct gpu_sampling *s, struct slot *slot, struct gpu_use *use)
{
	struct nvml_utilization u = { 0 };

	if (!take_samples(s, slot, use)) {
		if (ASK(s, nvmlDeviceGetUtilizationRates, slot->device, &u) != NVML_SUCCESS)
			return;
		use->compute = thousandths(u.gpu);
	}
	use->known |= USE_COMPUTE;
}

static void take_processes(struct gpu_sampling *s, const struct slot *slot, struct gpu_use *use)
{
	struct nvml_process v[USE_PROCS];
	unsigned n = USE_PROCS;

	memset(v, 0, sizeof(v));
	if (ASK(s, nvmlDeviceGetComputeRunningProcesses, slot->device, &n, v) != NVML_SUCCESS ||
	        n > USE_PROCS)
		return;
	for (unsigned i = 0; i < n; i++) {
		if (v[i].used == NVML_NO_VALUE) /* as inside a container's own namespace */
			return;
		use->procs[i] = (struct gpu_proc){ v[i].pid, USE_NOT_KNOWN, v[i].used / MIB };
	}
	use->n_procs = n;
	use->known |= USE_PROCESSES;
}

/* The share of each process. The driver reports each process's use since an earlier call. */
static void take_shares(struct gpu_sampling *s, struct slot *slot, struct gpu_use *use)
{
	static struct nvml_process_use v[SAMPLES_MAX];
	unsigned n = SAMPLES_MAX;
	int r = ASK(s, nvmlDeviceGetProcessUtilization, slot->device, v, &n, slot->procs_seen);

	if (r != NVML_SUCCESS && r != NVML_NOT_FOUND) /* NOT_FOUND: no process did anything */
		return;
	for (uint32_t p = 0; p < use->n_procs; p++) {
		unsigned sum = 0, counted = 0;

		for (unsigned i = 0; r == NVML_SUCCESS && i < n && i < SAMPLES_MAX; i++) {
			if (v[i].pid != use->procs[p].pid)
				continue;
			sum += v[i].sm;
			counted++;
		}
		use->procs[p].compute = counted ? thousandths((double)sum / counted) : 0;
	}
	for (unsigned i = 0; r == NVML_SUCCESS && i < n && i < SAMPLES_MAX; i++) {
		if (v[i].time > slot->procs_seen)
			slot->procs_seen = v[i].time;
	}
}

/* Drivers before 510 count what they keep for themselves as used; later ones tell it apart. */
static bool ask_memory(struct gpu_sampling *s, nvml_device device, struct nvml_memory *memory)
{
	struct nvml_memory_parts parts = { .version = NVML_MEMORY_PARTS_VERSION };

	if (ASK(s, nvmlDeviceGetMemoryInfo_v2, device, &parts) != NVML_SUCCESS)
		return ASK(s, nvmlDeviceGetMemoryInfo, device, memory) == NVML_SUCCESS;
	memory->used = parts.used;
	memory->free = parts.free;
	return true;
}

static void take_memory(struct gpu_sampling *s, const struct slot *slot, struct gpu_use *use)
{
	struct nvml_memory memory = { 0 };

	memset(use, 0, sizeof(*use));
	memcpy(use->uuid, slot->uuid, sizeof(use->uuid));
	s->gpu = slot->gpu;
	if (ask_memory(s, slot->device, &memory)) {
		use->used_mb = memory.used / MIB;
		use->free_mb = memory.free / MIB;
		use->known |= USE_MEMORY;
	}
	take_processes(s, slot, use);
}

static uint32_t value_or_none(int r, unsigned value)
{
	return r == NVML_SUCCESS ? value : 0;
}

static void take_state(struct gpu_sampling *s, const struct slot *slot, struct gpu_use *use)
{
	unsigned value = 0;
	int r;

	r = ASK(s, nvmlDeviceGetTemperature, slot->device, NVML_TEMPERATURE_GPU, &value);
	use->temp_c = value_or_none(r, value);
	r = ASK(s, nvmlDeviceGetPowerUsage, slot->device, &value);
	use->power_mw = value_or_none(r, value);
	r = ASK(s, nvmlDeviceGetClockInfo, slot->device, NVML_CLOCK_SM, &value);
	use->sm_clock_mhz = value_or_none(r, value);
	r = ASK(s, nvmlDeviceGetClockInfo, slot->device, NVML_CLOCK_MEM, &value);
	use->mem_clock_mhz = value_or_none(r, value);
}

static void take_slot(struct gpu_sampling *s, struct slot *slot, struct gpu_use *use)
{
	unsigned long long energy = 0;

	take_memory(s, slot, use);
	if (slot->mig)
		return;
	take_compute(s, slot, use);
	if (use->n_procs > 1)
		take_shares(s, slot, use);
	take_state(s, slot, use);
	if (ASK(s, nvmlDeviceGetTotalEnergyConsumption, slot->device, &energy) == NVML_SUCCESS) {
		use->energy_mj = energy;
		use->known |= USE_ENERGY;
	}
}

void gpu_sampling_take(struct gpu_sampling *s, struct gpu_uses *out)
{
	for (uint32_t i = 0; i < s->n; i++)
		take_slot(s, &s->slots[i], &out->v[i]);
	out->n = s->n;
	s->gpu = DISCOVER_NO_GPU;
}

void gpu_sampling_take_memory(
        struct gpu_sampling *s, const char (*uuids)[GPUS_TEXT], uint32_t n, struct gpu_uses *out)
{
	out->n = 0;
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t k = 0; k < n; k++)
			if (strcmp(s->slots[i].uuid, uuids[k]) == 0) {
				take_memory(s, &s->slots[i], &out->v[out->n++]);
				break;
			}
	s->gpu = DISCOVER_NO_GPU;
}

/* --- what can be ----------------------------------------------------------------------------- */

static uint32_t or_none(uint32_t value, uint32_t most)
{
	return value <= most ? value : 0;
}

static void settle_use(struct gpu_use *g)
{
	g->uuid[sizeof(g->uuid) - 1] = '\0';
	if (g->n_procs > USE_PROCS)
		g->n_procs = USE_PROCS;
	if (g->compute > USE_FULL)
		g->compute = USE_FULL;
	if (g->used_mb > USE_MB_MAX || g->free_mb > USE_MB_MAX)
		g->known &= ~(uint32_t)USE_MEMORY;
	if (g->energy_mj > USE_ENERGY_MAX)
		g->known &= ~(uint32_t)USE_ENERGY;
	for (uint32_t p = 0; p < g->n_procs; p++) {
		if (g->procs[p].mem_mb > USE_MB_MAX)
			g->known &= ~(uint32_t)USE_PROCESSES;
	}
	g->temp_c = or_none(g->temp_c, USE_TEMP_MAX);
	g->power_mw = or_none(g->power_mw, USE_POWER_MAX);
	g->sm_clock_mhz = or_none(g->sm_clock_mhz, USE_CLOCK_MAX);
	g->mem_clock_mhz = or_none(g->mem_clock_mhz, USE_CLOCK_MAX);
}

void gpu_uses_settle(struct gpu_uses *u)
{
	if (u->n > GPUS_MAX)
		u->n = GPUS_MAX;
	for (uint32_t i = 0; i < u->n; i++)
		settle_use(&u->v[i]);
}
