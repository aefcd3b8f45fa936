/* core.h - everything the controller decides
 *
 * Plain C: no I/O, no clock, no threads, no chance but the seed. The daemon (ctld/), the simulator
 * and the fault tests are worlds around the same core. A world
 *
 *	1. makes a core from a configuration, feeds it the rows of the database, calls core_start();
 *	2. applies events (core_apply) as they happen and lets the scheduler work in bounded slices
 *	   (core_schedule) while there is more to do;
 *	3. takes the effects (core_effects), holding each back until its change is committed;
 *	4. when the store is idle, seals the dirty rows (core_seal) and commits them as one batch.
 *
 * Invariants, checked by the fault simulation after every commit:
 *	- a core loaded from the rows sealed so far has the same core_hash() as the living one;
 *	- no GPU is booked by two runs; what a node has free is what it has less what its runs hold;
 *	- verdicts, priorities and capacity buckets are derived, never stored.
 *
 * An illegal transition or a broken invariant is a bug and asserts: the world dies and restarts
 * from what is on disk. Running out of memory does the same. Bad input never asserts.
 */
#ifndef CTLD_CORE_CORE_H
#define CTLD_CORE_CORE_H

#include "common/near.h"
#include "ctld/core/nodes/devices.h"
#include "ctld/core/nodes/health.h"
#include "ctld/core/place/cards.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/rows/row.h"

struct budget;
struct core;

/* `conf` is borrowed until core_reconfigure() or core_free(). */
struct core *core_new(const struct conf *conf, uint64_t seed);
void core_free(struct core *core);

/* Take one row of the database, tables in the order of enum row_table. Jobs or runs that name
 * nodes, partitions or types that the configuration no longer has are kept (the job waits with a
 * reason, the run stays booked under the old name). -1: the row makes no sense (ERR_INTERNAL). */
int core_load(struct core *core, const struct row *row, struct error *err);

/* All rows are in: check them against each other, take the next epoch, lease job ids. Refuses when
 * the database belongs to another cluster. */
int core_start(struct core *core, struct clocks now, struct error *err);

/* Apply what happened. Never blocks, never fails: refusals are effects. */
void core_apply(struct core *core, const struct core_event *event, struct clocks now);

/* Let the scheduler decide: at most `budget` classes or placements looked at. Returns true when
 * there is more to do at once. */
bool core_schedule(struct core *core, struct clocks now, unsigned budget);

/* When EV_CLOCK is wanted next (mono); INT64_MAX: never. */
usec_t core_next_timer(const struct core *core);

/* Effects born since the last clear, oldest first. */
const struct effect *core_effects(const struct core *core, size_t *n);
void core_effects_clear(struct core *core);

/* The number of the last audit event; those of one commit are all below those of the next. */
uint64_t core_last_event(const struct core *core);

/* The number of the last change of state: grows with every event that changed a durable field. */
uint64_t core_change(const struct core *core);

/* Hand every dirty row to `sink` by value and forget that it was dirty. Returns the rows. NULL:
 * nobody wants them, and none is made. */
typedef void core_row_sink(void *arg, const struct row *row);
size_t core_seal(struct core *core, core_row_sink *sink, void *arg);
size_t core_dirty_bytes(const struct core *core); /* estimate; too many: stop reading sockets */

/* Over all durable fields; the order of rows does not matter. Audit events (TABLE_EVENT) are not
 * part of it. */
uint64_t core_hash(const struct core *core);

/* Switch to another configuration, as a whole. Waiting jobs that no longer fit keep waiting with a
 * reason; runs go on. After it returns the old conf is no longer referred to, and node and
 * partition indices are those of the new one; agents of nodes that left are closed. */
void core_reconfigure(struct core *core, const struct conf *conf, struct clocks now);
/* The same with the GPUs that were found, where it leaves them open. Until the next call that
 * changes the core; nodes and partitions have the same indices. */
const struct conf *core_conf(const struct core *core);
/* What each user holds: of jobs here, and of whatever else the world charges (budget.h). */
struct budget *core_budget(const struct core *core);

/* Was a submit of this user with that token (NONCE_BYTES) taken in? */
bool core_knows_token(const struct core *core, uint32_t uid, const uint8_t *nonce);

/* An agent reported an epoch or job id above ours (a restored backup): no orders go out. `text`
 * says so in one line. `gctld --takeover` calls core_takeover() after core_start(): both are raised
 * above the given and all later reported numbers; of events a billion numbers are left out. */
bool core_is_suspended(const struct core *core, const char **text);
void core_takeover(struct core *core, uint64_t epoch_above, uint64_t job_above);

/* Do all invariants hold? For tests, and after each event in a debug build. */
int core_check(const struct core *core, struct error *err);

/* -------------------------------------------------------------------------------------------
 * Views: how listings read the core. Values by copy, pointers borrowed until the next call that
 * changes the core. Iterate by asking for the next id above the last one, in bounded slices. */

struct job_view {
	uint64_t id;
	uint64_t ref;        /* of this record: job.h. What waits of an array has one of its own */
	const char *array;   /* the set that was signed; "" it is no array */
	const char *tasks;   /* "7", or "3-9,12" of those that have no record alone; "" no array */
	bool several;        /* `tasks` may be many, and none of them runs */
	const struct taskset *set; /* these; good until the core changes; NULL: not several */
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
	bool requeue;
	const char *qos;
	uint32_t nodes_min, nodes_max; /* asked for; 1, 1 where nothing was */
	bool gpus_per_node, exclusive;
	uint64_t gpu_mem_min_mb, gpu_mem_mb, gpu_mem_burst_mb;
	enum near_link gpu_link;
	uint32_t gpu_share_milli;
	const char *constraint, *prefer, *nodelist, *exclude, *licences; /* "" not given */
	uint32_t max_wait_s;
	const char *nodes;           /* hostlist of the present or last run; "" none */
	uint32_t n_nodes;            /* in `nodes` */
	usec_t begin_time, deadline; /* wall; 0: none */
	const char *remark, *mail_user, *requeue_on;
	uint32_t mail_types, requeue_delay_s;
	char dependency[512];    /* what has not come true; "..." at its end: cut */
	uint64_t suspended_s;    /* so long was its present or last run; not in elapsed_s */
	usec_t checkpoint_time;  /* wall: its work up to here is safe, it says; 0: not said */
	const char *progress;    /* what its program says of itself; "" nothing */
	uint32_t gpus_held;      /* on all of them; `node` and `gpu_set` are of rank 0 */
	usec_t planned_start;    /* wall; 0: none is planned */
	usec_t first_planned;    /* wall; the first it was given, started or not; 0: none */
	char planned_nodes[128]; /* hostlist; "" none */
	/* Among those that wait in its partition; 0: behind another that asks for the same. */
	uint32_t position, position_of;
	uint32_t order; /* `position` of the first that asks for the same; 0: has none */
	/* Reasons that hold it, `reason` being the first. Of jobs that no limit holds those of a
	 * few classes a second are counted, the others keep the number that they had: at first 1.
	 */
	uint32_t n_blockers;
	double cost_max; /* by the prices, if it runs to its limit; < 0: no limit */
};

/* "job-name": as the option is called that a struct respec is made of. */
const char *respec_name(enum respec_field field);

/* The first job after the one with that ref, in the order of ids; of an array first what waits
 * without records of its own, as one, then each record. False: none. O(log n) or better. */
bool core_job_next(
        const struct core *core, uint64_t after, struct clocks now, struct job_view *view);
/* The same with what jobs are chosen by: ids and refs, names of user, account, partition, QOS and
 * job, state, nodes, `set`, and `tasks` of one that is not several. Costs little, whatever the job
 * is. */
bool core_job_next_brief(const struct core *core, uint64_t after, struct job_view *view);
bool core_job_brief(const struct core *core, uint64_t ref, struct job_view *view);
/* Its user's name alone; "": no such job. */
const char *core_job_user(const struct core *core, uint64_t ref);
/* Of a task that waits without a record of its own: what it waits under. */
bool core_job_view(const struct core *core, uint64_t ref, struct clocks now, struct job_view *view);
/* The ref of a task, as far as it has a record; of a run's job. */
uint64_t core_task_ref(uint64_t id, uint32_t task);
uint64_t core_run_ref(const struct core *core, struct run_id run);

/* All that holds a job, and what would start it. Lists are in the order to be shown. */
#define WHY_BLOCKERS 24
#define WHY_CHANGES  8

struct why_blocker {
	const char *reason;    /* "AssocGrpGRES", ...: a literal */
	char text[256];        /* "vision: limit h100:32, holds 28, +8" */
	usec_t clears;         /* wall; 0: not known */
	char clears_text[128]; /* "4690 must end"; "" nothing to say */
};

struct why_change {
	char option[128]; /* as gsubmit and gctl update take it: "--gpus=h100:4" */
	char effect[160]; /* "on h07, within the limit (32 of 32)" */
};

struct job_why {
	struct why_blocker blockers[WHY_BLOCKERS];
	size_t n_blockers;     /* 0: nothing is known to hold it */
	uint32_t position, of; /* in the order of its partition; 0: has none */
	usec_t planned_start;  /* wall; 0: none */
	usec_t first_planned;  /* wall; the first that it was ever given; 0: none */
	char planned_nodes[256];
	char planned_why[256]; /* a listed cause if it is later than the first; "" */
	struct why_change changes[WHY_CHANGES]; /* each alone would start it now; smallest first */
	size_t n_changes;
	char tried[512]; /* what was tried without success; "" nothing was */
	bool cut_short;  /* there was more to try */
};

/* Why a PENDING job waits. Changes are tried on the ledger itself, and undone; not while there is
 * more to schedule: what would start it now may be for others then. False: no such job, or it does
 * not wait. */
bool core_job_why(struct core *core, uint64_t ref, struct clocks now, struct job_why *why);

/* What a job's priority is made of. Points are factors times weights; their sum less `nice` is
 * `total`. */
struct prio_view {
	struct {
		double age, fair_share, size, partition, qos, wait; /* each 0..1 */
	} factor;
	struct {
		int64_t age, fair_share, size, partition, qos, wait, nice, total;
	} points;
};
/* False: no such job, or it does not wait. */
bool core_job_prio(
        const struct core *core, uint64_t ref, struct clocks now, struct prio_view *view);

/* The tree of accounts and who uses them, depth first. Start with *cursor 0; false: no more. Good
 * for one walk between two calls that change the core. */
struct share_view {
	const char *account;
	const char *user; /* "": the account itself */
	uint32_t depth;   /* 0: right under the root */
	uint32_t shares;
	double norm;             /* shares among its siblings, 0..1 */
	uint64_t gpu_us, cpu_us; /* all time it used them, GPUs times microseconds */
	double cost;             /* by the prices; not decayed */
	double usage;            /* decayed */
	double effective;        /* usage among its siblings, 0..1 */
	double level_fs;         /* norm / effective; INFINITY: no usage */
	double fair_share;       /* users: their factor, 0..1 */
	uint32_t rank;           /* users: 1 is the first; 0: an account */
};
bool core_share_next(const struct core *core, size_t *cursor, struct share_view *view);

/* One run of a job. */
struct run_view {
	struct run_id id;
	const char *node, *state, *gpu_type, *incarnation;
	const char *nodes; /* hostlist of its attempt, in the order of ranks */
	uint32_t n_nodes;  /* of its attempt */
	uint64_t gpus;
	struct share share;      /* of each of them; charge 0: all of it */
	bool share_mps;          /* MPS is to hold it to that */
	uint64_t share_burst_mb; /* so much memory while nobody else has it; 0: no more */
	bool comes_again;        /* if it is ended for what it has borrowed of that */
	bool unnamed;            /* jobs are private */
	const char *gpu_uuids;   /* of the node, by index (devices.h) */
	uint32_t cpus, grace_s, uid;
	uint64_t mem_mb, epoch, gpu_mem_mb; /* gpu_mem_mb: nominal, each */
	uint64_t cost_hour_u; /* of all runs of its attempt that are booked, millionths */
	usec_t order_time, start_time, end_time;
	uint64_t elapsed_s;
	uint32_t exit_code, exit_signal;
	enum end_cause cause;        /* END_NONE: it has not ended */
	const char *detail;          /* how it ended, for people; "" */
	const struct run_used *used; /* so far; NULL: not known */
};
bool core_run_view(
        const struct core *core, struct run_id id, struct clocks now, struct run_view *view);
/* The run of the next rank of a job's present or last attempt; *rank is the one to begin with, and
 * goes on. False: no more. */
bool core_job_run_next(const struct core *core, uint64_t ref, uint32_t *rank, struct clocks now,
        struct run_view *view);

/* The rows of a job and of all its runs in memory, as they would be stored if what is alive had
 * ended now: what it has used until now stands in the row of a running one, as if it had been
 * billed. Returns how many; 0: no such job. */
size_t core_job_rows(
        const struct core *core, uint64_t ref, struct clocks now, core_row_sink *sink, void *arg);

struct gpu_use {
	const char *type;
	uint32_t total, free, largest; /* largest: the most that one job can get on one node now */
	const char *largest_node;      /* "" none */
	struct gpu_shared {            /* those that runs share */
		uint32_t gpus, granted_milli;    /* granted: the sums of all shares */
		uint64_t mem_mb, granted_mem_mb; /* mem_mb: that can be given of them all */
		uint64_t largest_mem_mb;         /* left of one, where work is accepted */
		const char *largest_node;        /* "" none */
	} shared;
};

#define NODE_VIEW_GPUS      16
#define PARTITION_VIEW_GPUS 64

/* In place of a uid: no user did it. */
#define CORE_BY_ITSELF UINT32_MAX

struct node_view {
	const char *name;
	const char *state; /* idle mixed allocated draining drained unknown down invalid */
	const char *reason;
	uint32_t reason_uid;            /* CORE_BY_ITSELF: the controller's own doing */
	usec_t reason_time, last_heard; /* wall */
	uint32_t cpus, cpus_free;
	uint64_t mem_mb, mem_free_mb;
	struct gpu_use gpus[NODE_VIEW_GPUS];
	size_t n_gpus;
	const char *boot_id, *version, *containment;
	bool pretended;
	const char *gpu_note; /* how its GPUs differ from what is demanded; "" */
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
	uint32_t uid;   /* drained: by whom */
	bool by_nobody; /* drained: by no operator */
	usec_t since;   /* wall; 0: none */
	usec_t recheck; /* wall: when it is looked at whether it may come back; 0: it is not */
	/* with what gives it back, where nothing soon does */
	char reason[2 * GPU_REASON_MAX];
	uint64_t mem_mb;       /* nominal; 0: not known */
	bool use_known;        /* of the one run that has it, with whatever GPUs it has */
	uint32_t util_pct;     /* their mean */
	uint64_t mem_used_mb;  /* the most on one of them */
	uint32_t card;         /* 1 + number of the physical GPU on its host; 0: not known */
	uint64_t parts_mem_mb; /* that can be given in parts; 0: none, or not known */
};
/* False: it has no such index, and none above it. */
bool core_gpu_view(const struct core *core, uint32_t node, uint32_t index, struct gpu_view *view);
/* How close the two of these GPUs (bit set of indices) are that are the farthest from each other; 0:
 * not known, or there are no two. */
near_t core_gpus_apart(const struct core *core, uint32_t node, uint64_t gpus);

/* How close it is to each GPU of its node, by index: "X,NV4,PIX" (common/near.h); "": not known. */
#define GPU_NEAR_TEXT (CONF_MAX_GPUS_PER_NODE * NEAR_WORD)
void core_gpu_near(
        const struct core *core, uint32_t node, uint32_t index, char text[GPU_NEAR_TEXT]);
/* A run that has it, or a part of it. */
struct gpu_run_view {
	struct run_id run;
	struct share share; /* charge 0: all of it */
	uint64_t burst_mb;  /* of its memory it may use so much; 0: its share */
};
/* Up to `max` of them; returns how many. */
size_t core_gpu_runs(const struct core *core, uint32_t node, uint32_t index,
        struct gpu_run_view *runs, size_t max);
/* Up to `max` runs of a node; returns how many there are. */
size_t core_node_runs(const struct core *core, uint32_t node, struct run_id *runs, size_t max);

struct partition_view {
	const struct conf_partition *conf;
	const char *state; /* "up", "drain", ...: by gctl partition, or as configured */
	uint32_t nodes_ok, nodes_drain, nodes_down; /* sum: all of its nodes */
	uint32_t jobs_pending, jobs_running;
	struct gpu_use gpus[PARTITION_VIEW_GPUS];
	size_t n_gpus;
};
bool core_partition_view(const struct core *core, uint32_t partition, struct partition_view *view);

/* Counters for `gctl stats`. */
struct core_stats {
	uint64_t epoch, change, next_job;
	uint64_t jobs, jobs_pending, jobs_running, runs, classes, classes_parked;
	uint64_t events, passes, placements_tried, started, ended;
	uint64_t nodes, nodes_up;
};
void core_stats(const struct core *core, struct core_stats *stats);

#endif
