/* sim_samples.c - see sim_samples.h */
#include "noded/sim/sim_samples.h"

#include <stdbool.h>

#include "noded/sim/sim_launcher.h"

#define SECOND     ((usec_t)1000000)
#define MEM_MB     (80 * 1024) /* of a GPU whose type has no memory */
#define DRIVER_MB  600
#define IDLE_W     70
#define BUSY_W     520
#define IDLE_C     33
#define BUSY_C     64
#define IDLE_MHZ   345
#define BUSY_MHZ   1755
#define MEMORY_MHZ 2619

void sim_gpu_samples_configure(struct sim_gpu_samples *g, const Gpusched__Registered *m)
{
	g->n = m->n_gpus < SIM_NODE_GPUS_MAX ? (uint32_t)m->n_gpus : SIM_NODE_GPUS_MAX;
	for (uint32_t i = 0; i < g->n; i++)
		g->v[i].mem_mb = m->gpus[i]->mem_mb ? m->gpus[i]->mem_mb : MEM_MB;
}

static uint64_t held_by_running(const struct sim_launcher *l)
{
	const struct run_report *r;
	const void *at = NULL;
	uint64_t gpus = 0;

	while ((r = sim_launcher_each(l, &at)))
		gpus |= r->state == REPORT_RUNNING && !r->suspended ? r->gpus : 0;
	return gpus;
}

/* 0 to 19, another for each GPU and minute. */
static uint32_t wave(uint32_t index, usec_t mono)
{
	uint32_t h = (index + 1) * 2654435761u ^ (uint32_t)(mono / (60 * SECOND)) * 40503u;

	return (h >> 8) % 20;
}

static void fill(Gpusched__GpuSample *m, uint32_t index, uint64_t mem_mb, bool busy, usec_t mono)
{
	uint32_t some = wave(index, mono);

	gpusched__gpu_sample__init(m);
	m->index = index;
	m->sm_known = true;
	m->sm_pct = busy ? 75 + some : 0;
	m->fb_used_mb = busy ? mem_mb * (70 + some) / 100 : DRIVER_MB < mem_mb ? DRIVER_MB : 0;
	m->fb_free_mb = mem_mb - m->fb_used_mb;
	m->temp_c = (busy ? BUSY_C : IDLE_C) + some / 4;
	m->power_mw = ((busy ? BUSY_W : IDLE_W) + some) * 1000;
	m->sm_clock_mhz = busy ? BUSY_MHZ : IDLE_MHZ;
	m->mem_clock_mhz = MEMORY_MHZ;
}

size_t sim_gpu_samples_take(struct sim_gpu_samples *g, const struct sim_launcher *l,
        struct clocks now, Gpusched__GpuSample out[SIM_NODE_GPUS_MAX])
{
	uint64_t held = held_by_running(l);
	usec_t us = g->taken && now.mono > g->taken ? now.mono - g->taken : 0;

	for (uint32_t i = 0; i < g->n; i++) {
		fill(&out[i], i, g->v[i].mem_mb, held >> i & 1, now.mono);
		g->v[i].energy_mj += (uint64_t)us * out[i].power_mw / 1000000;
		out[i].energy_mj = g->v[i].energy_mj;
	}
	g->taken = now.mono;
	return g->n;
}
