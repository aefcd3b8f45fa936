/* lused.h - what the launcher knows of one run's use: made by lwatch.c, sample after sample
 *
 * It is in the run (lrun.used) from the first sample on. If several launchers have sampled a run
 * their results form one sum: it begins with the values of the `used` record.
 */
#ifndef NODED_LUSED_H
#define NODED_LUSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/runused.h"
#include "noded/launcher/lpriv.h"
#include "noded/usage/meter.h"
#include "noded/usage/overmem.h"
#include "noded/usage/used.h"

struct lused {
	struct run_used used, told;
	char *leaf, *memory; /* its cgroups; "" none */
	struct used_gpu *gpus;
	size_t n_gpus;
	bool looked;         /* its GPUs were sampled at least once */
	usec_t sampled;      /* mono: last successful sample of its GPUs; 0: never */
	uint64_t allowed_mb; /* of each GPU's memory, at most; 0: all of it */
	bool over_told;      /* its use of more than that was reported */
	struct meter meter;
	uint64_t waited_us; /* the previous meter.wait_us, a sum that may fall; UINT64_MAX: none */
	bool fresh;         /* not reported yet */
	bool kept;          /* a record is needed: the kernel does not remember all of it */
};

/* From the run's records: an earlier launcher may have started it. */
struct lused *lused_new(const struct lrun *r);

/* Has the run only a part of its GPUs' memory? */
bool lused_is_guarded(const struct lused *u);
/* Call lrun_over_memory() if the run uses more than it may. */
void lused_check_memory(struct lrun *r);

/* Write its `used` record. On a full tmpfs the previous record stays. */
void lused_keep(const struct lrun *r);
/* The message to send; *used borrows *id. */
void lused_message(const struct lrun *r, Gpusched__RunUsed *used, Gpusched__RunId *id);

#endif
