/* nvml_discovery.h - one probe of all GPUs, through NVML and sysfs
 *
 * Every call here may hang or crash, so a separate process makes it (probe_watchdog.h). That
 * process writes results to `out` as it gets them, and the present call to `at`; both are in memory
 * that the other process reads when this one has ended or is abandoned.
 *
 * A GPU is usable if its name, UUID, PCI address, device minor, memory and MIG mode can be read; a
 * MIG instance if its name or shares, UUID, memory and device files can be. Other values are left
 * out if they cannot be read (NVLink of a GPU that has none).
 */
#ifndef NODED_NVML_DISCOVERY_H
#define NODED_NVML_DISCOVERY_H

#include "noded/gpu/gpus.h"

#define DISCOVER_NO_GPU UINT32_MAX

struct discover_at {
	volatile uint32_t gpu; /* NVML's index, or DISCOVER_NO_GPU */
	char call[80];
	volatile uint32_t enough; /* all required values are known; the rest is optional */
};

/* A GPU that must not be queried, and why. */
struct discover_skip {
	uint32_t gpu;
	char why[160];
};

/* `root` is a prefix of /proc and /sys. The connections between GPUs are read from the bus and
 * then, with `pairs`, from the driver, pair by pair, which is more exact. */
void discover_gpus(const char *root, const struct discover_skip *skips, uint32_t n_skips,
        bool pairs, struct gpus *out, struct discover_at *at);

#endif
