/* sim_samples.h - what the GPUs of a simulated node seem to do
 *
 * Values that could be: a GPU that a running run holds is busy, with most of its memory, much power
 * and a high temperature, a little different for each GPU and at each time; one that no run holds
 * idles. Energy is the sum of the power. Pure, as sim_launcher.h.
 */
#ifndef NODED_SIM_SAMPLES_H
#define NODED_SIM_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "common/gpusched.pb-c.h"
#include "common/job/run.h"

#define SIM_NODE_GPUS_MAX 64

struct sim_launcher;

struct sim_gpu_samples {
	uint32_t n;
	usec_t taken; /* mono: of the last samples; 0: none */
	struct {
		uint64_t mem_mb, energy_mj;
	} v[SIM_NODE_GPUS_MAX];
};

/* As the controller has them configured. */
void sim_gpu_samples_configure(struct sim_gpu_samples *g, const Gpusched__Registered *m);
/* A sample of each, by index; returns how many. */
size_t sim_gpu_samples_take(struct sim_gpu_samples *g, const struct sim_launcher *l,
        struct clocks now, Gpusched__GpuSample out[SIM_NODE_GPUS_MAX]);

#endif
