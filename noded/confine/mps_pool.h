/* mps_pool.h - NVIDIA's MPS daemons, for runs with parts of a GPU
 *
 * There is one daemon for each user and GPU, from the user's first such run there to the end of the
 * last. Daemons outlive the launcher.
 */
#ifndef NODED_LAUNCHER_MPS_POOL_H
#define NODED_LAUNCHER_MPS_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "noded/runs/waiting_starts.h"

struct device;
struct launcher;
struct node_user;
struct mps_pool;

/* Find the daemons that an earlier launcher has started. */
struct mps_pool *mps_pool_start(struct launcher *l);
void mps_pool_free(struct mps_pool *m); /* NULL is fine; daemons that it has started live on */

/* All borrowed. */
struct mps_pool_wish {
	const struct node_user *user;
	uint32_t gpu; /* its index on the node */
	const char *gpu_uuid;
	const struct device *devices; /* that the daemon may open */
	size_t n_devices;
};

/* Make sure that the user has an MPS daemon on the GPU, for the run that needs it; its run.mps,
 * gpus and uid must be set already. `fn` is called later, with NULL or an error, unless the
 * launcher ends first. -1 with ERR_LAUNCH: it will not be called. */
int mps_pool_want(struct launcher *l, const struct mps_pool_wish *wish, waiting_start_fn *fn,
        void *arg, struct error *err);

/* The daemon's directory, which its clients need. The caller frees it. */
char *mps_pool_dir(const struct launcher *l, uint32_t uid, uint32_t gpu);

/* Has the user a daemon on the GPU, or is one still ending? Then processes of that user are on
 * it. */
bool mps_pool_has(const struct launcher *l, uint32_t uid, uint32_t gpu);

/* A run is over: it may have been the last one that needed its daemon. */
void mps_pool_run_over(struct launcher *l);

/* Is it the cgroup of a daemon that may exist? */
bool mps_pool_is_leaf(const struct launcher *l, const char *name);

#endif
