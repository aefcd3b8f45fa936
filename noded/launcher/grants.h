/* grants.h - which device files a run may open, derived from the GPUs that it was given
 *
 * If the node knows its GPUs' device files and the kernel's filter works (devfilter.h), a run can
 * open the files of its own GPUs, the files that every NVIDIA program needs besides (nvidiactl,
 * nvidia-uvm, ...) if it has any NVIDIA GPU, and those that the site grants to all runs. Everything
 * else is denied, and GPU numbers begin at 0 in each run, since CUDA counts the GPUs that it can
 * open.
 *
 * If the files are not known there is no filter: it would keep runs from their own GPUs.
 */
#ifndef NODED_GRANTS_H
#define NODED_GRANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "noded/contain/devfilter.h"

#define GRANTS_GPUS_MAX 64
#define GRANTS_ALL_MAX  64

struct grants_wish {
	const char *gpus; /* "/dev/nvidia[0-7]", in order of index; NULL: not known */
	bool gpus_told;   /* named by the controller: character devices, all different */
	const char *all[GRANTS_ALL_MAX]; /* paths for every run */
	size_t n_all;
	const char *told[GRANTS_ALL_MAX]; /* the same, named by the controller: no GPU's file */
	size_t n_told;
};

struct grants;

/* NULL with ERR_USAGE: `gpus` is no list of device files. */
struct grants *grants_new(const struct grants_wish *wish, struct error *err);
void grants_free(struct grants *g); /* NULL is fine */

/* The device file of GPU `index`, as given; NULL: there is none. */
const char *grants_file(const struct grants *g, size_t index);

bool grants_know_gpus(const struct grants *g);
bool grants_told_gpus(const struct grants *g); /* they were named by the controller */

/* The files are examined at this call, since drivers create them late. -1 with ERR_LAUNCH: a GPU's
 * file does not exist. Files that the site grants to all runs may be missing. */
int grants_of(const struct grants *g, const uint32_t *gpus, size_t n_gpus,
        struct device out[DEVFILTER_MAX], size_t *n, struct error *err);

/* The same for NVIDIA GPUs that were found (lgpus.c), given by the minors of the GPUs and of the
 * capabilities of MIG instances. Their device files need not exist yet. Also -1 with ERR_LAUNCH:
 * the driver has capabilities and those of some instance are unknown; or they are known and the
 * driver has none. */
struct grants_nvidia {
	const uint32_t *minors, *caps;
	size_t n_minors, n_caps;
	const char *closed; /* a MIG instance whose two capabilities are not known; NULL: none */
};
int grants_of_nvidia(const struct grants *g, const struct grants_nvidia *found,
        struct device out[DEVFILTER_MAX], size_t *n, struct error *err);

#endif
