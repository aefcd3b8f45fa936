/* launcher_state.h - struct launcher: where the parts of the launcher find each other
 *
 * Each part is a file of runs/, confine/, watch/ or launcher/, which stand on each other in this
 * order; its header says what it is and what others may call. The part's state is in its .c, except
 * for launcher_dirs.h and containment_active.h, whose fields other parts read, and for struct run
 * (runs.h). What a part must cause in a part above it is a hook. launcher.c makes the parts in
 * order and frees them. A part that is NULL is not made yet.
 *
 * There is one thread; blocking work runs in a pool. Functions return nothing if their errors go to
 * the log only; the function that decides what an error means logs it.
 */
#ifndef NODED_LAUNCHER_STATE_H
#define NODED_LAUNCHER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/run.h"

struct event_base;
struct gpus;
struct launcher;
struct launcher_options;
struct effective_limits;
struct run;
struct worker_pool;

/* Each kind of query has its own queue in `pool`, so that none waits for another. */
enum pool_key { POOL_KEY_DECODE = 1, POOL_KEY_USER, POOL_KEY_MAKE };

/* What happens in one part and concerns parts above it (launcher/upcalls.c). */
struct launcher_hooks {
	void (*run_executed)(struct run *r); /* its program was executed */
	void (*run_lost)(struct run *r);     /* its shepherd is gone without an exit record */
	void (*run_lost_due)(struct run *r); /* the same, and its timer has fired */
	void (*run_over)(struct run *r, uint64_t gpus); /* it has ended; the GPUs that it had */
	void (*run_due)(struct run *r);                 /* its timer has fired */
	void (*run_freed)(struct run *r);               /* it is about to be freed */
	void (*start_cancelled)(struct run *r);         /* it will never start: run.start ends */
	void (*gpus_probed)(struct launcher *l, const struct gpus *old, const struct gpus *now);
	void (*gpus_sampled)(struct launcher *l, usec_t asked); /* shared GPUs; asked: mono */
	void (*gpus_freed)(struct launcher *l, uint64_t gpus);  /* no run or daemon is on them */
	void (*node_changed)(struct launcher *l); /* its GPUs, health or containment: report it */
};

struct launcher {
	const struct launcher_options *options; /* a copy */
	const struct launcher_hooks *hooks;
	const struct effective_limits *limits; /* of options and settings (node_settings.c) */
	bool root;                 /* it runs as root */
	bool closing;              /* it ends: no part begins anything new */
	struct event_base *base;
	struct worker_pool *pool; /* for what may block on other processes */
	struct worker_pool *disk; /* one thread, for what may block on a disk */

	struct launcher_loop *loop; /* launcher.c's own events */
	struct launcher_dirs *dirs;
	struct streams *streams;
	struct settings *settings;
	struct containment *containment;
	struct agent_channel *agent;
	struct node_report *node_report;
	struct munge_queries *munge_queries;
	struct user_lookup *user_lookup;
	struct signature_uses *signature_uses;
	struct runs *runs;
	struct replicas *replicas;
	struct service_ports *service_ports;
	struct starts *starts;
	struct spool_full *spool_full;
	struct template_client *template_client;
	struct mps_pool *mps_pool;
	struct health *health;
	struct usage_sampling *usage_sampling;
	struct gpu_inventory *gpu_inventory;
	struct gpu_faults *gpu_faults;
	struct gpu_checks *gpu_checks;
	struct gpu_leftovers *gpu_leftovers;
	struct gpu_reclaim *gpu_reclaim;
	struct gpu_job_files *gpu_job_files; /* NULL: not wanted */
};

/* A run has ended, or processes of a run did not die: remove leftovers (recover.h) soon. */
void launcher_sweep_later(struct launcher *l);

#endif
