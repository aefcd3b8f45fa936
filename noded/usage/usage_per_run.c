/* usage_per_run.c - see usage_per_run.h */
#include "noded/usage/usage_per_run.h"

#include <stdlib.h>
#include <string.h>

#include "noded/usage/cpu_memory_io.h"

#define ENERGY_MJ_PER_US 100 /* 100 kW */

static const struct gpu_use *find_use(const struct gpu_uses *uses, const char *uuid)
{
	for (uint32_t i = 0; i < uses->n; i++) {
		if (strcmp(uses->v[i].uuid, uuid) == 0)
			return &uses->v[i];
	}
	return NULL;
}

static int by_pid(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return a < b ? -1 : a > b;
}

static bool is_mine(struct used_pids mine, uint32_t pid)
{
	return mine.n && bsearch(&pid, mine.pids, mine.n, sizeof(pid), by_pid);
}

static uint64_t memory_of(const struct gpu_use *use, bool alone, struct used_pids mine)
{
	uint64_t mb = 0;

	if (!(use->known & USE_PROCESSES))
		return alone && use->known & USE_MEMORY ? use->used_mb : 0;
	for (uint32_t p = 0; p < use->n_procs; p++) {
		if (alone || is_mine(mine, use->procs[p].pid))
			mb += use->procs[p].mem_mb;
	}
	return mb;
}

/* In thousandths; USE_NOT_KNOWN. */
static uint32_t compute_of(const struct gpu_use *use, bool alone, struct used_pids mine)
{
	uint32_t sum = 0;

	if (!(use->known & USE_COMPUTE))
		return USE_NOT_KNOWN;
	if (alone)
		return use->compute;
	if (!(use->known & USE_PROCESSES))
		return USE_NOT_KNOWN;
	for (uint32_t p = 0; p < use->n_procs; p++) {
		if (!is_mine(mine, use->procs[p].pid))
			continue;
		/* The only process of all runs that share the GPU: the GPU's use is its own. */
		if (use->procs[p].compute == USE_NOT_KNOWN)
			return use->n_procs == 1 ? use->compute : USE_NOT_KNOWN;
		sum += use->procs[p].compute;
	}
	return sum > USE_FULL ? USE_FULL : sum;
}

/* A counter that jumps by more than any GPU can use in that time has not counted. */
static void add_energy(struct run_used *used, struct used_gpu *gpu, const struct gpu_use *use,
        bool alone, uint64_t us)
{
	bool known = use && use->known & USE_ENERGY;

	if (known && gpu->energy_known && alone && use->energy_mj > gpu->energy_mj &&
	        use->energy_mj - gpu->energy_mj <= us * ENERGY_MJ_PER_US)
		used->energy_mj += use->energy_mj - gpu->energy_mj;
	gpu->energy_known = known;
	gpu->energy_mj = known ? use->energy_mj : 0;
}

/* A value that the driver does not report now keeps its last value. */
static void add_own(struct used_gpu *gpu, const struct gpu_use *use, struct used_pids mine)
{
	gpu->own_before_mb = gpu->own_mb;
	if (!use || !(use->known & USE_PROCESSES))
		return;
	gpu->own_known = true;
	gpu->own_mb = 0;
	for (uint32_t p = 0; p < use->n_procs; p++)
		gpu->own_mb += is_mine(mine, use->procs[p].pid) ? use->procs[p].mem_mb : 0;
}

void used_add_gpu_memory(struct run_used *used, struct used_gpu *gpus, const bool *alone, size_t n,
        const struct gpu_uses *uses, struct used_pids mine)
{
	used->gpu_mem_now_mb = 0;
	for (size_t i = 0; i < n; i++) {
		const struct gpu_use *use = find_use(uses, gpus[i].uuid);

		gpus[i].mem_mb = use ? memory_of(use, alone[i], mine) : 0;
		add_own(&gpus[i], use, mine);
		if (gpus[i].mem_mb > used->gpu_mem_now_mb)
			used->gpu_mem_now_mb = gpus[i].mem_mb;
	}
	if (used->gpu_mem_now_mb > used->gpu_mem_peak_mb)
		used->gpu_mem_peak_mb = used->gpu_mem_now_mb;
}

/* The memory of a sample counts for the time since the sample before. */
static uint64_t mb_seconds(uint64_t mb, uint64_t us)
{
	return (mb * us + 500000) / 1000000;
}

void used_add_gpus(struct run_used *used, struct used_gpu *gpus, const bool *alone, size_t n,
        const struct gpu_uses *uses, struct used_pids mine, uint64_t us)
{
	uint64_t seen = 0, sum = 0;

	used_add_gpu_memory(used, gpus, alone, n, uses, mine);
	for (size_t i = 0; i < n; i++) {
		const struct gpu_use *use = find_use(uses, gpus[i].uuid);
		uint32_t compute = use ? compute_of(use, alone[i], mine) : USE_NOT_KNOWN;

		add_energy(used, &gpus[i], use, alone[i], us);
		used->gpu_mem_mbs += mb_seconds(gpus[i].mem_mb, us);
		if (compute == USE_NOT_KNOWN)
			continue;
		seen++;
		sum += compute;
		used->gpu_seen_us += us;
		used->gpu_busy_us += us * compute / USE_FULL;
		if (compute * 100 < RUN_USED_IDLE_PCT * USE_FULL)
			used->gpu_idle_us += us;
	}
	used->gpu_now_pct = seen ? (uint32_t)((sum * 100 / seen + USE_FULL / 2) / USE_FULL) : 0;
}

static void raise_to(uint64_t *value, uint64_t to)
{
	if (to > *value)
		*value = to;
}

void used_add_processes(struct run_used *used, const struct process_usage *m)
{
	raise_to(&used->cpu_time_us, m->cpu_us);
	raise_to(&used->cpu_wait_us, m->wait_us);
	raise_to(&used->read_bytes, m->read_bytes);
	raise_to(&used->written_bytes, m->written_bytes);
	used->mem_now_mb = m->mem_kb / 1024;
	raise_to(&used->mem_peak_mb,
	        (m->mem_kb > m->mem_peak_kb ? m->mem_kb : m->mem_peak_kb) / 1024);
}

bool used_differ(const struct run_used *a, const struct run_used *b)
{
	return a->cpu_time_us / 1000000 != b->cpu_time_us / 1000000 ||
	       a->cpu_wait_us / 1000000 != b->cpu_wait_us / 1000000 ||
	       a->mem_now_mb != b->mem_now_mb || a->mem_peak_mb != b->mem_peak_mb ||
	       a->read_bytes >> 20 != b->read_bytes >> 20 ||
	       a->written_bytes >> 20 != b->written_bytes >> 20 ||
	       a->gpu_seen_us != b->gpu_seen_us || a->gpu_mem_now_mb != b->gpu_mem_now_mb ||
	       a->gpu_mem_peak_mb != b->gpu_mem_peak_mb || a->gpu_mem_mbs != b->gpu_mem_mbs ||
	       a->energy_mj != b->energy_mj;
}
