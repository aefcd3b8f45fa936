/* device_grants.h - which device files a run may open, derived from the GPUs that it was given
 *
 * If the node knows its GPUs' device files and the kernel's filter works (devfilter.h), a run can
 * open the files of its own GPUs, the files that every NVIDIA program needs besides (nvidiactl,
 * nvidia-uvm, ...) if it has any NVIDIA GPU, and those that the site grants to all runs. Everything
 * else is denied, and GPU numbers begin at 0 in each run, since CUDA counts the GPUs that it can
 * open.
 *
 * If the files are not known there is no filter: it would keep runs from their own GPUs.
 */
#ifndef NODED_DEVICE_GRANTS_H
#define NODED_DEVICE_GRANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "noded/contain/devfilter.h"

#define DEVICE_GRANTS_GPUS_MAX 64
#define DEVICE_GRANTS_ALL_MAX  64

struct device_grants_wish {
	const char *gpus; /* "/dev/nvidia[0-7]", in order of index; NULL: not known */
	bool gpus_told;   /* named by the controller: character devices, all different */
	const char *all[DEVICE_GRANTS_ALL_MAX]; /* paths for every run */
	size_t n_all;
	/* the same, named by the controller: no GPU's file */
	const char *told[DEVICE_GRANTS_ALL_MAX];
	size_t n_told;
};

struct device_grants;

/* NULL with ERR_USAGE: `gpus` is no list of device files. */
struct device_grants *device_grants_new(const struct device_grants_wish *wish, struct error *err);
void device_grants_free(struct device_grants *g); /* NULL is fine */

/* The device file of GPU `index`, as given; NULL: there is none. */
const char *device_grants_file(const struct device_grants *g, size_t index);

bool device_grants_know_gpus(const struct device_grants *g);
bool device_grants_told_gpus(const struct device_grants *g); /* they were named by the controller */

/* The files are examined at this call, since drivers create them late. -1 with ERR_LAUNCH: a GPU's
 * file does not exist. Files that the site grants to all runs may be missing. */
int device_grants_of(const struct device_grants *g, const uint32_t *gpus, size_t n_gpus,
        struct device out[DEVFILTER_MAX], size_t *n, struct error *err);

/* The same for NVIDIA GPUs that were found (gpu_inventory.c), given by the minors of the GPUs and
 * of the capabilities of MIG instances. Their device files need not exist yet. Also -1 with
 * ERR_LAUNCH: the driver has capabilities and those of some instance are unknown; or they are known
 * and the driver has none. */
struct device_grants_nvidia {
	const uint32_t *minors, *caps;
	size_t n_minors, n_caps;
	const char *closed; /* a MIG instance whose two capabilities are not known; NULL: none */
};
int device_grants_of_nvidia(const struct device_grants *g, const struct device_grants_nvidia *found,
        struct device out[DEVFILTER_MAX], size_t *n, struct error *err);

#endif
