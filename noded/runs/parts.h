/* parts.h - struct launcher: where the parts of the launcher find each other
 *
 * Each part is one file of this folder; its header says what it is and what others may call. The
 * part's state is in its .c, except for places.h and containment.h, whose fields other parts read,
 * and for struct run (runs.h).
 * launcher.c makes the parts in order and frees them. A part that is NULL is not made yet.
 *
 * There is one thread; blocking work runs in a pool. Functions return nothing if their errors go to
 * the log only; the function that decides what an error means logs it.
 */
#ifndef NODED_PARTS_H
#define NODED_PARTS_H

#include <stdbool.h>
#include <time.h>

#include "common/job/run.h"

struct event_base;
struct launcher_options;
struct rules;
struct worker_pool;

struct launcher {
	const struct launcher_options *options; /* a copy */
	const struct rules *rules; /* the rules in force: options and settings (settings.c) */
	bool root;                 /* it runs as root */
	bool closing;              /* it ends: no part begins anything new */
	struct event_base *base;
	struct worker_pool *pool; /* for what may block on other processes */
	struct worker_pool *disk; /* one thread, for what may block on a disk */

	struct launcher_loop *loop; /* launcher.c's own events */
	struct places *places;
	struct streams *streams;
	struct settings *settings;
	struct containment *containment;
	struct protocol *protocol;
	struct lookup *lookup;
	struct sigcount *sigcount;
	struct runs *runs;
	struct starts *starts;
	struct spool_guard *spool_guard;
	struct template_client *template_client;
	struct mps_pool *mps_pool;
	struct health *health;
	struct usage_loop *usage_loop;
	struct gpu_inventory *gpu_inventory;
	struct gpu_faults *gpu_faults;
	struct gpu_occupants *gpu_occupants;
	struct gpu_reclaim *gpu_reclaim;
};

/* Microseconds of this clock. */
usec_t launcher_clock_us(clockid_t id);

/* A run has ended, or processes of a run did not die: remove leftovers (recover.h) soon. */
void launcher_sweep_later(struct launcher *l);

#endif
