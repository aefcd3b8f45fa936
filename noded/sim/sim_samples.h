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

#define SIM_CARDS_MAX 64

struct sim_launcher;

struct sim_cards {
	uint32_t n;
	usec_t taken; /* mono: of the last samples; 0: none */
	struct {
		uint64_t mem_mb, energy_mj;
	} v[SIM_CARDS_MAX];
};

/* As the controller has them configured. */
void sim_cards_configure(struct sim_cards *g, const Gpusched__Registered *m);
/* A sample of each, by index; returns how many. */
size_t sim_cards_sample(struct sim_cards *g, const struct sim_launcher *l, struct clocks now,
        Gpusched__GpuSample out[SIM_CARDS_MAX]);

#endif
