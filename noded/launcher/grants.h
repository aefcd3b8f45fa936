/* grants.h - which device files a run may open, by the GPUs that it was given
 *
 * Where the node knows its GPUs' device files and the kernel's filter works (devfilter.h), a run
 * opens those of its own GPUs, what every NVIDIA program needs besides (nvidiactl, nvidia-uvm, ...)
 * if it has any of those, and what the site grants to all. Everything else is denied, and GPU
 * numbers begin at 0 in each run, since that is how CUDA counts what it can open.
 *
 * Where the files are not known nothing is filtered: a filter would keep runs from their own GPUs.
 */
#ifndef NODED_GRANTS_H
#define NODED_GRANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "noded/contain/devfilter.h"

#define GRANTS_GPUS_MAX 64
#define GRANTS_ALL_MAX  64

struct grants_wish {
	const char *gpus; /* "/dev/nvidia[0-7]", in order of index; NULL: not known */
	bool gpus_told;   /* by the controller: character devices, no two of them the same */
	const char *all[GRANTS_ALL_MAX]; /* paths for every run */
	size_t n_all;
	const char *told[GRANTS_ALL_MAX]; /* the same, by the controller: none of them a GPU's */
	size_t n_told;
};

struct grants;

/* NULL with ERR_USAGE: `gpus` is no list of device files. */
struct grants *grants_new(const struct grants_wish *wish, struct error *err);
void grants_free(struct grants *g); /* NULL is fine */

/* The device file of GPU `index`, as it was named; NULL: there is none. */
const char *grants_file(const struct grants *g, size_t index);

bool grants_know_gpus(const struct grants *g);
bool grants_told_gpus(const struct grants *g); /* by the controller */

/* The files are looked at now: drivers make them late. -1 with ERR_LAUNCH: a GPU's file is not
 * there. What the site grants to all may be missing. */
int grants_of(const struct grants *g, const uint32_t *gpus, size_t n_gpus,
        struct device out[DEVFILTER_MAX], size_t *n, struct error *err);

/* The same for NVIDIA's GPUs that were found (lgpus.c): minors of the GPUs, and of the capabilities
 * of MIG instances. Their device files need not be there yet. -1 with ERR_LAUNCH besides: the
 * driver has capabilities, and not those of each instance are known; or they are, and it has none.
 */
struct grants_nvidia {
	const uint32_t *minors, *caps;
	size_t n_minors, n_caps;
	const char *closed; /* a MIG instance whose two capabilities are not known; NULL: none */
};
int grants_of_nvidia(const struct grants *g, const struct grants_nvidia *found,
        struct device out[DEVFILTER_MAX], size_t *n, struct error *err);

#endif
