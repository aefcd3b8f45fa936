/* look.h - one look at all GPUs, through NVML and sysfs
 *
 * Every call here may hang or crash: it is made in a process of its own (probe.h). What is known is
 * written to `out` as it becomes known, and what is being asked to `at`, both in memory that the
 * other process reads when this one has ended or is given up.
 *
 * What a GPU must say to be usable: its name, UUID, PCI address, device minor, memory and whether
 * it is in MIG mode; a MIG instance: its name or shares, UUID, memory and what opens it. The rest
 * is left out where it is not answered (NVLink of a GPU that has none).
 */
#ifndef NODED_GPU_LOOK_H
#define NODED_GPU_LOOK_H

#include "noded/gpu/gpus.h"

#define LOOK_NO_GPU UINT32_MAX

struct look_at {
	volatile uint32_t gpu; /* NVML's index, or LOOK_NO_GPU */
	char call[80];
	volatile uint32_t enough; /* all is known that must be: the rest only makes it better */
};

/* A GPU not to be asked, and why. */
struct look_skip {
	uint32_t gpu;
	char why[160];
};

/* `root` is put before /proc and /sys. What GPUs have between them is asked of the bus, and then,
 * with `pairs`, pair by pair of the driver, which knows better. */
void look(const char *root, const struct look_skip *skips, uint32_t n_skips, bool pairs,
        struct gpus *out, struct look_at *at);

#endif
