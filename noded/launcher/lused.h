/* lused.h - what the launcher knows of one run's use: made by lwatch.c, round after round
 *
 * It is in the run (lrun.used) once it was looked at. What several launchers have seen of a run is
 * one sum: it begins with what the `used` record says.
 */
#ifndef NODED_LUSED_H
#define NODED_LUSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/runused.h"
#include "noded/launcher/lpriv.h"
#include "noded/usage/meter.h"
#include "noded/usage/overmem.h"
#include "noded/usage/used.h"

struct lused {
	struct run_used used, told;
	char *leaf, *memory; /* its cgroups; "" none */
	struct used_gpu *gpus;
	size_t n_gpus;
	bool looked;         /* at what they use of its GPUs, once at least */
	usec_t sampled;      /* mono: its GPUs, with success; 0: never */
	uint64_t allowed_mb; /* of each GPU's memory, at most; 0: all of it */
	bool over_told;      /* that it uses more */
	struct meter meter;
	uint64_t waited_us; /* meter.wait_us of before, a sum that may fall; UINT64_MAX: none */
	bool fresh;         /* not told yet */
	bool kept;          /* a record is needed: the kernel does not remember all of it */
};

/* By its records: it may have been started by a launcher before us. */
struct lused *lused_new(const struct lrun *r);

/* Has it a part of its GPUs' memory only? */
bool lused_is_guarded(const struct lused *u);
/* Does it use more than it may? Then lrun_over_memory(). */
void lused_check_memory(struct lrun *r);

/* Its `used` record. On a full tmpfs the one of before stays. */
void lused_keep(const struct lrun *r);
/* As it is told; *used borrows *id. */
void lused_message(const struct lrun *r, Gpusched__RunUsed *used, Gpusched__RunId *id);

#endif
