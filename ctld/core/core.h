/* core.h - everything the controller decides
 *
 * Plain C: no I/O, no clock, no threads, and no randomness except the seed. The daemon (ctld/),
 * the simulator and the fault tests are worlds around the same core. A world
 *
 *	1. makes a core from a configuration, feeds it the rows of the database, calls core_start();
 *	2. applies events (core_apply) as they happen and lets the scheduler work in bounded slices
 *	   (core_schedule) while there is more to do;
 *	3. reads the effects (core_effects), and keeps each back until its change is committed;
 *	4. when the store is idle, seals the dirty rows (core_seal) and commits them as one batch.
 *
 * Invariants, checked by the fault simulation after every commit:
 *	- a core loaded from the rows sealed so far has the same core_hash() as the living one;
 *	- no GPU is booked by two runs; the free resources of a node are what it has less what is
 *	  booked for its runs;
 *	- verdicts, priorities and capacity buckets are derived, never stored.
 *
 * An illegal transition or a broken invariant is a bug and asserts: the world aborts and restarts
 * from what is on disk. Running out of memory does the same. Bad input never asserts.
 */
#ifndef CTLD_CORE_CORE_H
#define CTLD_CORE_CORE_H

#include "common/gpu/gpu_topology.h"
#include "ctld/core/nodes/devices_list.h"
#include "ctld/core/nodes/gpu_drains.h"
#include "ctld/core/request/gpu_share.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/rows/row.h"
#include "ctld/core/rows/view.h"

struct budget;
struct core;

/* `conf` is borrowed until core_reconfigure() or core_free(). */
struct core *core_new(const struct conf *conf, uint64_t seed);
void core_free(struct core *core);

/* Load one row of the database, tables in the order of enum row_table. Jobs or runs that name
 * nodes, partitions or types that the configuration no longer has are kept (the job waits with a
 * reason, the run stays booked under the old name). -1: the row is not valid (ERR_INTERNAL). */
int core_load(struct core *core, const struct row *row, struct error *err);

/* All rows are in: check them against each other, take the next epoch, lease job ids. Refuses when
 * the database belongs to another cluster. */
int core_start(struct core *core, struct clocks now, struct error *err);

/* Apply an event. Never blocks, never fails: refusals are effects. */
void core_apply(struct core *core, const struct core_event *event, struct clocks now);

/* Let the scheduler decide: it examines at most `budget` classes or placements. Returns true if it
 * has more to do at once. */
bool core_schedule(struct core *core, struct clocks now, unsigned budget);

/* When the next EV_CLOCK is due (mono); INT64_MAX: never. */
usec_t core_next_timer(const struct core *core);

/* The effects since the last clear, oldest first. */
const struct effect *core_effects(const struct core *core, size_t *n);
void core_effects_clear(struct core *core);

/* The number of the last audit event; those of one commit are all below those of the next. */
uint64_t core_last_event(const struct core *core);

/* The number of the last change of state: grows with every event that changed a durable field. */
uint64_t core_change(const struct core *core);

/* Hand every dirty row to `sink` by value and forget that it was dirty. Returns the number of
 * rows. `sink` NULL: the rows are not made. */
size_t core_seal(struct core *core, core_row_sink *sink, void *arg);
size_t core_dirty_bytes(const struct core *core); /* estimate; if it is large, stop reading
						   * sockets */

/* Over all durable fields; the order of rows does not matter. Audit events (TABLE_EVENT) are not
 * part of it. */
uint64_t core_hash(const struct core *core);

/* Switch to another configuration, as a whole. Waiting jobs that no longer fit keep waiting
 * with a reason; runs continue. Afterwards the core no longer refers to the old conf, and node
 * and partition indices are those of the new one; agents of nodes that are not in it are
 * disconnected. */
void core_reconfigure(struct core *core, const struct conf *conf, struct clocks now);
/* The same configuration, with the GPUs that were found where it leaves them open. Valid until the
 * next call that changes the core; nodes and partitions have the same indices. */
const struct conf *core_conf(const struct core *core);
/* The accounts of each user: the core charges the jobs in memory, the world all else
 * (per_user_budget.h). */
struct budget *core_budget(const struct core *core);

/* Was a submit of this user with that token (NONCE_BYTES) accepted? */
bool core_knows_token(const struct core *core, uint32_t uid, const uint8_t *nonce);

/* An agent has reported an epoch or job id above those of this state (from a restored backup): no
 * orders go out. `text` says so in one line. `gctld --takeover` calls core_takeover() after
 * core_start(): both are raised above the given and all later reported numbers; a billion event
 * numbers are skipped. */
bool core_is_suspended(const struct core *core, const char **text);
void core_takeover(struct core *core, uint64_t epoch_above, uint64_t job_above);

/* Do all invariants hold? For tests, and after each event in a debug build. */
int core_check(const struct core *core, struct error *err);

/* -------------------------------------------------------------------------------------------
 * Views: how listings read the core. Values by copy, pointers borrowed until the next call that
 * changes the core. Iterate by asking for the next id above the last one, in bounded slices. */

struct job_view {
	uint64_t id;
	uint64_t raw_id;     /* of an array's task its own id; else `id` */
	uint64_t ref;        /* of this record: job.h. The waiting tasks of an array have one of
			      * their own */
	const char *array;   /* the task set as it was signed; "": no array */
	const char *tasks;   /* "7", or "3-9,12" for tasks without a record of their own; "": no
			      * array */
	bool several;        /* `tasks` may be many tasks, and none of them runs */
	const struct taskset *set; /* the same tasks; valid until the core changes; NULL: not
				    * several */
	uint32_t task_count; /* in `tasks` */
	uint32_t at_once, tasks_running, tasks_ended, tasks_failed; /* of the whole array */
	uint32_t uid, gid;
	const char *name, *user, *account, *partition;
	const char *state;      /* "PENDING" */
	const char *state_code; /* "PD" */
	bool ended;             /* a terminal state */
	const char *reason;     /* "Resources", "Priority", "JobHeldUser", ...; "" none (yet) */
	char reason_text[256];  /* the same for people, with numbers */
	struct gpu_request gpus[MAX_GPU_ALTERNATIVES];
	size_t n_gpus;
	uint32_t cpus, time_limit_s;
	uint64_t mem_mb;
	usec_t submit_time, start_time, end_time; /* wall; 0 where it does not apply */
	uint64_t elapsed_s;
	uint32_t exit_code, exit_signal;
	const char *node, *gpu_type; /* of the present or last run; "" none */
	uint64_t gpu_set;
	uint32_t attempt, max_attempts;
	uint32_t warn_signal, warn_before_s;
	int64_t priority;
	int32_t nice;
	const struct label *labels;
	size_t n_labels;
	const char *cwd, *output, *error, *submit_host, *comment;
	bool requeue, show_output;
	usec_t eligible_time; /* wall: since when it is, or was at its first start, eligible; 0: it
			       * is not, or not known */
	uint64_t eligible_s;  /* up to its first start; 0: not known */
	const char *qos;
	uint32_t nodes_min, nodes_max; /* as requested; 1, 1 by default */
	bool gpus_per_node, exclusive;
	uint64_t gpu_mem_min_mb, gpu_mem_mb, gpu_mem_burst_mb, tmp_mb;
	enum near_link gpu_link;
	uint32_t gpu_share_milli;
	const char *constraint, *prefer, *nodelist, *exclude, *licences; /* "" not given */
	uint32_t max_wait_s, wait_target_s; /* of its own; its own, else its QOS's */
	const char *nodes;           /* hostlist of the present or last run; "" none */
	uint32_t n_nodes;            /* in `nodes` */
	usec_t begin_time, deadline; /* wall; 0: none */
	const char *remark, *mail_user, *requeue_on;
	uint32_t mail_types, requeue_delay_s;
	char dependency[512];    /* the unsatisfied dependencies; ends in "..." if it is cut */
	uint64_t suspended_s;    /* how long its present or last run was suspended; not in
				  * elapsed_s */
	usec_t checkpoint_time;  /* wall: its program says that its work up to here is safe; 0: not
				  * said */
	const char *progress;    /* progress reported by its program; "": none */
	uint32_t gpus_held;      /* on all its nodes; `node` and `gpu_set` are of rank 0 */
	usec_t planned_start;    /* wall; 0: none is planned */
	usec_t first_planned;    /* wall; the first planned start it was given, started or not; 0:
				  * none */
	char planned_nodes[128]; /* hostlist; "" none */
	/* Its position among the waiting jobs of its partition; 0: it is behind another job with
	 * the same request. */
	uint32_t position, position_of;
	uint32_t order; /* `position` of the first job with the same request; 0: it has none */
	/* Number of reasons that keep it from starting, `reason` being the first. For jobs that no
	 * limit blocks it is counted for a few classes a second; until then it keeps the previous
	 * value, at first 1.
	 */
	uint32_t n_blockers;
	double cost_max; /* by the prices, if it runs to its limit; < 0: it has no limit */
	uint32_t steps_running;
};

/* "job-name": the name of the option for this field of a struct respec. */
const char *respec_name(enum respec_field field);

/* The first job after the one with that ref, in the order of ids; of an array first the waiting
 * tasks without a record of their own, as one job, then each record. False: none. O(log n) or
 * better. */
bool core_job_next(
        const struct core *core, uint64_t after, struct clocks now, struct job_view *view);
/* The same with only the fields that jobs are selected by: ids and refs, names of user, account,
 * partition, QOS and job, state, nodes, labels, `set`, and `tasks` of a record of one task. The
 * cost is small for any job. */
bool core_job_next_brief(const struct core *core, uint64_t after, struct job_view *view);
bool core_job_brief(const struct core *core, uint64_t ref, struct job_view *view);
/* Only its user's name; "": the job does not exist. */
const char *core_job_user(const struct core *core, uint64_t ref);
/* For a task that waits without a record of its own: the record that it is under. */
bool core_job_view(const struct core *core, uint64_t ref, struct clocks now, struct job_view *view);
/* Is the id, which no job has, that of a task of an array in memory (job.h)? If not, nothing is
 * written. */
bool core_raw_task(const struct core *core, uint64_t raw_id, uint64_t *array, uint32_t *task);
/* The ref of a task, whether or not it has a record; the ref of a run's job. */
uint64_t core_task_ref(uint64_t id, uint32_t task);
uint64_t core_run_ref(const struct core *core, struct run_id run);

/* Why a PENDING job waits. Changes are tried on the ledger itself, and undone; not while there is
 * more to schedule, because resources that are free now may be for other jobs. False: the job does
 * not exist, or does not wait. */
bool core_job_why(struct core *core, uint64_t ref, struct clocks now, struct job_why *why);

/* False: the job does not exist, or does not wait. */
bool core_job_prio(
        const struct core *core, uint64_t ref, struct clocks now, struct prio_view *view);

/* The tree of accounts and their users, depth first. Start with *cursor 0; false: no more. Valid
 * for one walk between two calls that change the core. */
bool core_share_next(const struct core *core, size_t *cursor, struct share_view *view);
/* What an account (share_view.index) is guaranteed and has, type by type: of those that any
 * account has a guarantee of. Likewise. */
bool core_share_gpus(const struct core *core, uint32_t account, size_t *cursor,
        struct share_gpus *view);

/* One run of a job. */
struct run_view {
	struct run_id id;
	const char *node, *state, *gpu_type, *incarnation;
	const char *nodes; /* hostlist of its attempt, in the order of ranks */
	uint32_t n_nodes;  /* of its attempt */
	uint64_t gpus;
	struct share share;      /* of each of its GPUs; charge 0: all of it */
	bool share_mps;          /* MPS enforces the share */
	uint64_t share_burst_mb; /* memory that it may use while no other run needs it; 0: no more
				  * than its share */
	bool comes_again;        /* the job is requeued if the run is ended to reclaim that
				  * memory */
	bool unnamed;            /* jobs are private */
	const char *gpu_uuids;   /* of the node, by index (devices.h) */
	uint32_t cpus, grace_s, uid;
	uint64_t mem_mb, epoch, gpu_mem_mb; /* gpu_mem_mb: nominal, each */
	uint64_t cost_hour_u; /* of all booked runs of its attempt together, millionths */
	usec_t order_time, start_time, end_time;
	uint64_t elapsed_s;
	uint32_t exit_code, exit_signal;
	enum end_cause cause;        /* END_NONE: it has not ended */
	const char *detail;          /* how it ended, for people; "" */
	const struct run_used *used; /* so far; NULL: not known */
};
bool core_run_view(
        const struct core *core, struct run_id id, struct clocks now, struct run_view *view);
/* The run of rank *rank, or of the next known one, of a job's present or last attempt; advances
 * *rank. False: no more. */
bool core_job_run_next(const struct core *core, uint64_t ref, uint32_t *rank, struct clocks now,
        struct run_view *view);

/* The step that runs of a record with that ref, the next after number `after` (at first -1).
 * Borrowed until the core changes. NULL: no more. */
const struct step_report *core_step_next(const struct core *core, uint64_t ref, int64_t after);

/* The rows of a job and of all its runs in memory, as they would be stored if its living runs had
 * ended now: the row of a living run has its use until now, as if it had been billed. Returns the
 * number of rows; 0: the job does not exist. */
size_t core_job_rows(
        const struct core *core, uint64_t ref, struct clocks now, core_row_sink *sink, void *arg);

struct gpu_use {
	const char *type;
	uint32_t total, free, largest; /* largest: the most that one job can get on one node now */
	const char *largest_node;      /* "" none */
	struct gpu_shared {            /* the GPUs that runs share */
		uint32_t gpus, granted_milli;    /* granted: the sums of all shares */
		uint64_t mem_mb, granted_mem_mb; /* mem_mb: the memory that can be given, of all of
						  * them */
		uint64_t largest_mem_mb;         /* the most that is left of one GPU, on nodes that
						  * accept work */
		const char *largest_node;        /* "" none */
	} shared;
};

#define NODE_VIEW_GPUS      16
#define PARTITION_VIEW_GPUS 64

struct node_view {
	const char *name;
	const char *state; /* idle mixed allocated draining drained unknown down invalid */
	const char *reason;
	uint32_t reason_uid;            /* CORE_BY_ITSELF: the controller itself */
	usec_t reason_time, last_heard; /* wall */
	uint32_t cpus, cpus_free;
	uint64_t mem_mb, mem_free_mb;
	uint64_t tmp_mb; /* its disk for temporary data; 0: not known */
	struct gpu_use gpus[NODE_VIEW_GPUS];
	size_t n_gpus;
	const char *boot_id, *version, *containment;
	bool pretended;
	const char *gpu_note; /* how its GPUs differ from what is demanded; "": they do not */
	uint64_t session;     /* 0: not connected */
	size_t n_runs;
};
bool core_node_view(
        const struct core *core, uint32_t node, struct clocks now, struct node_view *view);

/* One GPU of a node. */
struct gpu_view {
	uint32_t index;
	const char *type, *state; /* free whole shared draining drained missing trouble */
	char uuid[DEVICE_UUID_MAX];
	uint32_t uid;   /* drained: by this user */
	bool by_nobody; /* drained: not by an operator, but for a fault */
	usec_t since;   /* wall; 0: none */
	usec_t recheck; /* wall: the time of the next check whether it may come back; 0: there is
			 * none */
	/* with what returns it to use, if that will not happen soon by itself */
	char reason[2 * GPU_REASON_MAX];
	uint64_t mem_mb;       /* nominal; 0: not known */
	bool use_known;        /* the following is known, of the one run that has it, for all the
			        * run's GPUs */
	uint32_t util_pct;     /* their mean */
	uint64_t mem_used_mb;  /* the largest of one of them */
	uint32_t card;         /* 1 + number of the physical GPU on its host; 0: not known */
	uint64_t parts_mem_mb; /* memory that can be given in shares; 0: none, or not known */
	const struct gpu_sample *sample; /* the last; NULL: none. Good until the next call */
	uint32_t sample_age_s;
};
/* False: the node has no such index, and no higher one. */
bool core_gpu_view(const struct core *core, uint32_t node, uint32_t index, struct gpu_view *view);
/* How close the two GPUs of this set (bits by index) are that are the farthest from each other; 0:
 * not known, or there are not two. */
near_t core_gpus_apart(const struct core *core, uint32_t node, uint64_t gpus);

/* How close it is to each GPU of its node, by index: "X,NV4,PIX" (common/gpu/gpu_topology.h); "":
 * not known. */
#define GPU_NEAR_TEXT (CONF_MAX_GPUS_PER_NODE * NEAR_WORD)
void core_gpu_near(
        const struct core *core, uint32_t node, uint32_t index, char text[GPU_NEAR_TEXT]);
/* A run that uses the GPU, or a share of it. */
struct gpu_run_view {
	struct run_id run;
	struct share share; /* charge 0: all of it */
	uint64_t burst_mb;  /* GPU memory that it may use in all; 0: only its share */
};
/* Up to `max` of them; returns their number. */
size_t core_gpu_runs(const struct core *core, uint32_t node, uint32_t index,
        struct gpu_run_view *runs, size_t max);
/* Up to `max` runs of a node; returns how many runs the node has. */
size_t core_node_runs(const struct core *core, uint32_t node, struct run_id *runs, size_t max);

struct partition_view {
	const struct conf_partition *conf;
	const char *state; /* "up", "drain", ...: by gctl partition, or as configured */
	uint32_t nodes_ok, nodes_drain, nodes_down; /* sum: all of its nodes */
	uint32_t jobs_pending, jobs_running;
	struct gpu_use gpus[PARTITION_VIEW_GPUS];
	size_t n_gpus;
};
/* Services: services/services.h. NULL: none; after NULL: the first by name. */
struct service;
const struct service *core_service(const struct core *core, const char *name);
const struct service *core_service_after(const struct core *core, const char *after);

bool core_partition_view(const struct core *core, uint32_t partition, struct partition_view *view);

/* Counters for `gctl stats`. */
struct core_stats {
	uint64_t epoch, change, next_job;
	uint64_t jobs, jobs_pending, jobs_running, runs, classes, classes_parked;
	uint64_t events, passes, placements_tried, started, ended;
	uint64_t preempted_tier, preempted_qos, preempted_reclaim; /* jobs, by what allowed it */
	uint64_t nodes, nodes_up;
};
void core_stats(const struct core *core, struct core_stats *stats);

#endif
