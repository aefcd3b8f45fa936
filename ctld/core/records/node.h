/* node.h - the machines: what is stored about each, and what is known at present
 *
 * Three independent facts decide whether anything may start on a node:
 *	- what operators have set: drain, down (durable);
 *	- whether it reports (`hearing`): UNHEARD until its agent registers, HEARD while the session
 *	  lasts and heartbeats come, SILENT when the session has ended, UNKNOWN after node_timeout;
 *	- whether what it registered with meets the configuration (`invalid`).
 * Its runs stay booked through all of this, until it is known that they have ended.
 *
 * A node exists as long as the configuration names it, it has runs, or its row contains something.
 * A node that left the configuration has index NODE_LEFT, and nothing starts there.
 */
#ifndef CTLD_CORE_NODE_H
#define CTLD_CORE_NODE_H

#include "common/base/error.h"
#include "common/conf/conf.h"
#include "common/job/run.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/util/strings.h"

#define NODE_LEFT UINT32_MAX

#define NODE_HEARINGS(X)                                       \
	X(NODE_UNHEARD, 1u << NODE_HEARD | 1u << NODE_UNKNOWN) \
	X(NODE_HEARD, 1u << NODE_SILENT | 1u << NODE_UNKNOWN)  \
	X(NODE_SILENT, 1u << NODE_HEARD | 1u << NODE_UNKNOWN)  \
	X(NODE_UNKNOWN, 1u << NODE_HEARD)

#define X(sym, next) sym,
enum node_hearing { NODE_HEARINGS(X) NODE_HEARING_COUNT };
#undef X

enum node_fence { FENCE_NONE, FENCE_ASKED, FENCE_FAILED };

struct run_snapshot;
struct node;
struct nodes;
struct run;

/* Durable. Texts are interned. */
struct node_info {
	const char *name, *reason, *incarnation, *boot_id;
	const char *gpus;     /* UUIDs of its GPUs by index, with "," between (devices.h) */
	const char *health;   /* its drained GPUs (gpu_drains.h) */
	uint64_t faults_seen; /* the last fault applied, of this incarnation (gpu_faults.h) */
	const char *found;    /* its GPUs, if they are taken as found (discovered_hardware.h) */
	uint32_t reason_uid, cpus;
	uint64_t mem_mb;
	usec_t reason_time;
	bool drain, down;
};

/* A GPU that the agent found; texts are interned. */
struct node_gpu {
	const char *type; /* by the configuration (discovered_hardware.h), else as reported */
	const char *uuid, *trouble;
	const char *told, *name, *of, *near; /* as in struct gpu_found */
	uint64_t mem_mb;
	uint32_t host;
	bool mig;
};

/* What else it has for jobs, as its agent says. */
struct node_offers {
	bool known;       /* it has registered since this start of the controller */
	bool no_services; /* it starts no replicas of services */
	uint32_t ports;   /* for these */
	uint64_t tmp_mb;  /* its disk for temporary data; 0: not reported */
};

/* Volatile; the texts are owned by the node and set through node_set_text(). */
/* gpu_samples.h */
struct node_sample {
	bool known;
	usec_t mono; /* when it came */
	struct gpu_sample sample;
};

struct node_link {
	uint32_t index;     /* in conf.nodes; NODE_LEFT: no longer there */
	uint64_t session;   /* 0: none */
	usec_t heard_mono;  /* last message; at a start: the time of the start */
	usec_t heard_wall;  /* 0: no message since this start of the controller */
	usec_t fenced_mono; /* when the fence program was last requested */
	enum node_fence fence;
	uint32_t slot;        /* in the heap of unknown nodes with a due time (node_silence.c) */
	uint32_t check_slot;  /* in the heap of nodes whose GPUs are to be checked (gpu_checks.h) */
	usec_t check_due;     /* mono, if it is in that heap */
	bool tells_faults;    /* its agent reports faults */
	bool no_settings;     /* its agent does not understand settings for confining runs */
	bool no_programs;     /* nor settings with programs to run around runs */
	bool no_health_check; /* nor the site's health check */
	bool no_private_tmp;  /* nor the size of a private /tmp */
	bool share_users_one; /* its agent keeps users apart on a GPU, whatever is ordered */
	struct node_offers offers;
	bool off;             /* it is UNKNOWN, and what ran there was given up */
	bool pretended;
	bool others_failed;                        /* the launch failures are of more than one
						    * user */
	uint32_t launch_failures, failed_uid;      /* failures in a row; the user of the last one */
	const char *version, *invalid;             /* interned; invalid "": it is as the
						    * configuration demands */
	const char *containment, *containment_why; /* interned; why: the reason that it is not
						    * stricter */
	struct node_gpu *gpus;                     /* as registered; owned */
	size_t n_gpus;
	struct node_sample *samples; /* by index; owned */
	size_t n_samples;
	bool rebooted;           /* since its GPUs were last taken as found */
	bool stale;              /* core->conf does not have what was found yet */
	bool unsettled;          /* a run keeps an index from being bound to what is there now */
	bool gpus_asked;         /* the agent listed all its GPUs; if not, they are as configured */
	const char *gpu_trouble; /* interned; why they could not be listed; "": they could */
	const char *unwell;      /* interned; what its own health check has found; "": nothing */
	const char *gpu_note;    /* interned; how they differ from the configuration */
	uint64_t gpus_out;       /* indices with no GPU, or with a faulty one */
	struct run *runs;        /* booked here */
	struct run_snapshot *snapshot; /* what the scheduler knows of these runs, while it is valid
	                                * (run_snapshot.c); owned */
	uint32_t n_snapshots;
	bool snapshots_known;
	uint32_t n_runs, n_orphans;
	uint64_t counted; /* GPUs that count for quotas: all while the node accepts work, else
			   * those in use */
	enum node_hearing hearing; /* set only by node_hear() */
	bool expected;             /* nodes_expect() */
	struct node *prev, *next;  /* in the order of heard_mono, while not UNKNOWN */
};

const struct node_info *node_info(const struct node *node);
struct node_link *node_link(struct node *node);
const struct node_link *node_link_of(const struct node *node);

/* May runs be started there? */
bool node_accepts(const struct node *node);

struct nodes *nodes_new(struct strings *strings, struct dirty *dirty, uint64_t seed);
void nodes_free(struct nodes *ns); /* NULL is fine */

/* Follow a configuration: nodes by its indices; those it no longer names are NODE_LEFT. */
void nodes_configure(struct nodes *ns, const struct conf *conf, usec_t mono);

struct node *nodes_at(const struct nodes *ns, uint32_t index);     /* by index in conf.nodes */
struct node *nodes_find(const struct nodes *ns, const char *name); /* NULL: none */
/* The same; if it does not exist, it is made as NODE_LEFT: for the runs of a node that has left. */
struct node *nodes_want(struct nodes *ns, const char *name);
/* Every node, sorted by name. Caller frees the array. */
struct node **nodes_sorted(const struct nodes *ns, size_t *n);
struct node *nodes_each(const struct nodes *ns, size_t *cursor); /* in no order; NULL: the end */
size_t nodes_heard(const struct nodes *ns);                      /* how many are HEARD */
uint64_t nodes_hash(const struct nodes *ns);

/* --- movers ---------------------------------------------------------------------------------- */

void node_set_admin(struct nodes *ns, struct node *node, bool drain, bool down, const char *reason,
        uint32_t uid, usec_t wall);
void node_set_registered(struct nodes *ns, struct node *node, const char *incarnation,
        const char *boot_id, uint32_t cpus, uint64_t mem_mb);
void node_set_devices(struct nodes *ns, struct node *node, const char *gpus);
void node_set_found(struct nodes *ns, struct node *node, const char *found);
void node_set_health(struct nodes *ns, struct node *node, const char *health);
void node_set_faults_seen(struct nodes *ns, struct node *node, uint64_t seq);

/* --- volatile -------------------------------------------------------------------------------- */

/* A message of the node has arrived, or none for too long. Asserts that the move is legal. */
void node_hear(struct nodes *ns, struct node *node, enum node_hearing hearing, struct clocks now);
/* The node whose last message is the oldest, without UNKNOWN nodes. NULL: none. */
struct node *nodes_oldest(const struct nodes *ns);
/* Every node is UNHEARD, as of now. */
void nodes_start(struct nodes *ns, struct clocks now);
/* UNHEARD nodes with booked runs are expected to come back, until a message arrives or none has
 * arrived for too long. nodes_expected(): how many are left. */
void nodes_expect(struct nodes *ns);
size_t nodes_expected(const struct nodes *ns);
void node_set_text(struct nodes *ns, const char **field, const char *text);
void node_set_gpus(struct nodes *ns, struct node *node, const struct gpu_found *v, size_t n);

/* Something about its runs has changed that the plans use (struct run_snapshot). */
void node_runs_changed(struct node *node); /* NULL is fine */

/* --- rows ------------------------------------------------------------------------------------ */

int nodes_load(struct nodes *ns, const struct row *row, struct error *err);
void node_encode(const struct node *node, struct row *row, enum row_change change);

#endif
