/* event.h - what goes into the core, and what comes out
 *
 * Events are what happened in the world: a submit, a report of a node, the passing of time. They
 * are borrowed for the call; the core copies what it keeps. Effects are what the world must do:
 * send a reply, send an order to a node, run the fence program. They are plain values too; the
 * pointers in them are valid until core_effects_clear(). The world carries out an effect only when
 * the change with which it was made has been committed.
 */
#ifndef CTLD_CORE_EVENT_H
#define CTLD_CORE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/taskset.h"
#include "common/conf/conf.h"
#include "common/job/run.h"
#include "ctld/core/rows/service_policy.h"

/* A user's role, by the configuration (roles.h). */
enum role { ROLE_USER, ROLE_OPERATOR, ROLE_ADMIN, ROLE_WEB };

/* The source of a request. `reply` is the world's own number for the request; replies carry it
 * back. */
struct caller {
	uint64_t reply;
	uint32_t uid;
	enum role role;
	const char *user;          /* login name; "uid N" if the name service has none */
	const char *host;          /* the host of the session, for the audit trail */
	const char *const *groups; /* Unix groups of the user, for membership in accounts */
	size_t n_groups;
};

struct gpu_request {
	const char *type; /* "" any */
	uint32_t count;
};

#define MAX_GPU_ALTERNATIVES 8
#define TIME_LIMIT_NONE      UINT32_MAX /* --time=unlimited */

/* Whether a job whose dependency can never be satisfied is ended, or waits to be changed. */
enum kill_invalid { KILL_AS_CONFIGURED, KILL_YES, KILL_NO };
#define SUBMIT_JOBS_MAX 1000000 /* of one event, or of a bulk; the protocol's Submit has 64 */

/* One job of a submit. Signature, hashes and sizes were checked by ctld/rpc. */
struct submit_service;
struct submit_job {
	const struct submit_service *service; /* NULL: of none */
	const char *replica_of; /* the service whose replica it is; NULL or "": none */
	uint32_t ports;         /* of a node's ports for replicas */
	const char *name, *partition, *account, *submit_host; /* "" where not given */
	const char *array;
	const char *cwd, *output, *error;
	const char *qos;        /* "" the default */
	const char *constraint; /* features that a node must have: "nvlink&ib|fast" */
	const char *prefer;     /* preferred features, where there is a choice */
	const char *nodelist;   /* hostlist: on all of these */
	const char *exclude;    /* hostlist: on none of these */
	const char *licences;   /* "trtllm:2,other" */
	const char *depends;    /* "afterok:12,singleton"; NULL: none, UPDATE: as it is */
	uint32_t gid;
	struct gpu_request gpus[MAX_GPU_ALTERNATIVES]; /* in the order of preference */
	size_t n_gpus;
	uint32_t nodes_min, nodes_max;  /* 0: one node; max 0: the same as min. As many as fit */
	bool gpus_per_node;             /* counts in `gpus` are for each node, else for the whole
					 * job */
	uint64_t gpu_mem_min_mb;        /* a GPU's nominal memory; 0: any */
	uint64_t tmp_mb;                /* a node's disk for temporary data; 0: any */
	uint32_t gpu_link;              /* enum near_link */
	uint64_t gpu_mem_mb;            /* memory of each GPU, which is shared; 0: see
					 * gpu_share_milli */
	uint64_t gpu_mem_burst_mb;      /* memory that it may use while no other run needs it; 0:
					 * no more than gpu_mem_mb */
	uint32_t gpu_share_milli;       /* thousandths of the compute of each GPU; both 0: whole
					 * GPUs */
	bool exclusive;                 /* no other job on its nodes; it gets all they have */
	uint32_t max_wait_s;            /* it should start within this time; 0: as its QOS says */
	uint32_t cpus;                  /* on each node; 0: default */
	uint64_t mem_mb;                /* on each node; 0: default */
	uint32_t time_limit_s;          /* 0: default; TIME_LIMIT_NONE: none */
	const char *remark, *mail_user; /* NULL: none */
	const char *requeue_on;         /* common/job/requeue_on.h; NULL: none */
	uint32_t requeue_delay_s;
	uint32_t mail_types;         /* common/job/mail_types.h */
	usec_t begin_time, deadline; /* wall; not before, not after; 0: no limit */
	uint8_t kill_invalid;        /* enum kill_invalid */
	uint32_t warn_signal, warn_before_s;
	uint32_t max_attempts; /* attempts that a launcher has begun; 0 counts as 1 */
	uint8_t steps; /* Gpusched__Steps__Mode: its script runs on the first node, srun starts
			* tasks; 0: on each node */
	bool hold, requeue, show_output;
	int32_t nice;
	const struct label *labels;
	size_t n_labels;
	uint32_t array_at_once; /* UPDATE_AT_ONCE; 0: any number */
	uint8_t nonce[16];
	uint8_t spec_hash[32];
	usec_t sign_time;
};

/* The hash of a job's serialised spec. */
struct spec_hash {
	uint8_t b[32];
};

/* The parts of its spec that an owner may change by signing another one: X(symbol, name of its
 * option). */
#define RESPEC_FIELDS(X)                   \
	X(RESPEC_NAME, "job-name")         \
	X(RESPEC_CWD, "chdir")             \
	X(RESPEC_INPUT, "input")           \
	X(RESPEC_OUTPUT, "output")         \
	X(RESPEC_ERROR, "error")           \
	X(RESPEC_APPEND, "open-mode")      \
	X(RESPEC_NO_SUMMARY, "no-summary") \
	X(RESPEC_ARGS, "arguments")        \
	X(RESPEC_ENV, "export")            \
	X(RESPEC_UMASK, "umask")           \
	X(RESPEC_ATTEMPTS, "max-attempts") \
	X(RESPEC_SHOW_OUTPUT, "show-output")
#define X(sym, name) sym,
enum respec_field { RESPEC_FIELDS(X) RESPEC_FIELD_COUNT };
#undef X

/* A spec in place of another (replace_spec.h). */
struct respec {
	struct spec_hash was, is;
	uint32_t fields;  /* the differing fields: bits 1 << enum respec_field; 0: none */
	const char *told; /* "job-name a -> b, export changed", for the audit trail */
	const char *name, *cwd, *output, *error;
	uint32_t max_attempts;
	bool show_output;
};

/* The step for the next jobs of the bulk that is being accepted: bulk.h. */
enum bulk_step { BULK_CHECK, BULK_MAKE, BULK_SHOW, BULK_UNDO };

/* What a job counts as in a slice of a bulk: 1, and more for long texts, which take time to read,
 * to add and to remove. */
unsigned bulk_weight(const struct submit_job *job);

enum job_verb {
	JOB_CANCEL = 1,
	JOB_HOLD,
	JOB_RELEASE,
	JOB_SIGNAL,
	JOB_REQUEUE,
	JOB_SUSPEND,
	JOB_RESUME,
	JOB_UPDATE,
	JOB_RESIGN, /* by MSG_RESIGN, not by a JobControl */
	JOB_REQUEUE_HOLD,
};
#define JOB_VERB_LAST JOB_REQUEUE_HOLD

/* Progress through the records of an array that is controlled in pieces; all 0 at first. */
struct array_walk {
	uint32_t next;  /* the part to examine next; 0: the array parent */
	uint32_t round; /* the mark of records that have been processed */
	bool done;      /* the verb was applied to some of its records */
	bool refused;   /* it was refused for some of its records, and this was reported */
};

/* The fields of event.job.change that a JOB_UPDATE changes; it changes no others. */
enum job_update {
	UPDATE_PARTITION = 1 << 0,
	UPDATE_QOS = 1 << 1,
	UPDATE_ACCOUNT = 1 << 2,
	UPDATE_GPUS = 1 << 3,  /* gpus, n_gpus, gpus_per_node */
	UPDATE_NODES = 1 << 4, /* nodes_min, nodes_max */
	UPDATE_CPUS = 1 << 5,
	UPDATE_MEM = 1 << 6,
	UPDATE_TIME = 1 << 7,
	UPDATE_NICE = 1 << 8,
	UPDATE_CONSTRAINT = 1 << 9,
	UPDATE_PREFER = 1 << 10,
	UPDATE_NODELIST = 1 << 11,
	UPDATE_EXCLUDE = 1 << 12,
	UPDATE_LICENCES = 1 << 13,
	UPDATE_EXCLUSIVE = 1 << 14,
	UPDATE_MAX_WAIT = 1 << 15,
	UPDATE_GPU_MEM_MIN = 1 << 16,
	UPDATE_GPU_MEM = 1 << 17,
	UPDATE_GPU_SHARE = 1 << 18,
	UPDATE_GPU_MEM_BURST = 1 << 19,
	UPDATE_BEGIN = 1 << 20,
	UPDATE_DEADLINE = 1 << 21,
	UPDATE_DEPENDENCY = 1 << 22,
	UPDATE_KILL_INVALID_DEP = 1 << 23,
	UPDATE_REMARK = 1 << 24,
	UPDATE_MAIL_TYPE = 1 << 25,
	UPDATE_MAIL_USER = 1 << 26,
	UPDATE_REQUEUE_ON = 1 << 27,
	UPDATE_REQUEUE_DELAY = 1 << 28,
	UPDATE_AT_ONCE = 1 << 30, /* array_at_once, of a whole array, also while it runs */
};
/* More fields than an enum can hold. */
#define UPDATE_NO_REQUEUE (UINT64_C(1) << 31)
#define UPDATE_WARNING    (UINT64_C(1) << 32) /* warn_signal, warn_before_s */
#define UPDATE_GPU_LINK   (UINT64_C(1) << 34)
#define UPDATE_TMP        (UINT64_C(1) << 35)
#define UPDATE_LABELS     (UINT64_C(1) << 33) /* labels, n_labels: all of them */

enum node_verb { NODE_DRAIN = 1, NODE_RESUME, NODE_DOWN, NODE_CLEAR };

enum event_kind {
	EV_SUBMIT,            /* -> EFFECT_SUBMITTED or EFFECT_REPLY */
	EV_BULK,              /* -> EFFECT_BULK */
	EV_JOB_CONTROL,       /* -> EFFECT_CONTROLLED */
	EV_NODE_CONTROL,      /* -> EFFECT_REPLY */
	EV_PARTITION_CONTROL, /* -> EFFECT_REPLY */
	EV_WAIT_JOB,    /* -> EFFECT_JOB_ENDED (at once if it has ended) or EFFECT_REPLY with an
			 * error */
	EV_WAIT_START,  /* the same as soon as the job runs, has ended or could not be started */
	EV_WAIT_CANCEL, /* the waiting session has gone */
	EV_AGENT_UP,    /* an agent has registered -> EFFECT_REGISTERED or EFFECT_CLOSE_AGENT */
	EV_AGENT_GONE,  /* its session has ended */
	EV_HEARTBEAT,
	EV_RUN_REPORT, /* -> EFFECT_FORGET_RUN once an end is applied */
	EV_RUNS_USED,  /* the present use of runs: shown, and kept until they end */
	EV_GPU_REPORT, /* which GPU faults there are, and which no longer -> EFFECT_ACK_GPUS */
	EV_STEP_REPORTS, /* what is new of steps of a job -> EFFECT_REPLY */
	EV_SERVICE_CONTROL, /* -> EFFECT_REPLY */
	EV_RUNS_LOAD, /* the present load of replicas */
	EV_FENCED,     /* the fence program has ended */
	EV_DISK_FREE,  /* free space of the state directory */
	EV_NOTE,       /* the world did something without the core: for the audit trail */
	EV_ENDING,     /* the controller ends in order: ids that were leased and not used are
		        * returned */
	EV_CLOCK,      /* time has passed: timers */
};

/* A GPU that an agent found, or a MIG instance. */
struct gpu_found {
	const char *type, *uuid;
	const char *trouble; /* why it cannot be used; NULL or "": it can */
	const char *name;    /* the maker's name for it; NULL or "": not reported */
	const char *of;      /* of a MIG instance: the type of its GPU; NULL or "": not reported */
	const char *near;    /* its place, by near_place_write(); NULL or "": not reported */
	uint64_t mem_mb;
	uint32_t host; /* number of the physical GPU */
	bool mig;
};

/* What a run has used so far, as its node reports. */
struct run_use {
	struct run_id run;
	struct run_used used;
};

/* What a GPU of a node does, as its node sampled it: the message GpuSample. 0: not known. */
struct gpu_sample {
	const char *uuid; /* "": `index` says which */
	uint32_t index;
	bool sm_known;
	uint32_t sm_pct, temp_c, power_mw, sm_clock_mhz, mem_clock_mhz, last_xid;
	uint64_t fb_used_mb, fb_free_mb, energy_mj;
	usec_t last_xid_time; /* wall */
};

/* A fault of a GPU (gpu_faults.h). */
struct gpu_fault {
	uint64_t seq; /* grows within an incarnation of the node */
	const char *uuid;
	uint32_t kind;    /* enum gpu_fault_kind, or a kind that is not known here */
	uint32_t code;    /* an Xid */
	const char *text; /* "": the text of the table */
};

/* The result of a requested check of a GPU. */
struct gpu_looked {
	const char *uuid;
	const char *trouble; /* "": nothing is wrong with it */
};

/* What is new of a step of a job (job_steps.h). Texts are within their limits and plain. */
struct step_report {
	uint32_t step;        /* its number within the attempt */
	const char *name, *nodelist;
	uint32_t nodes, tasks, cpus, gpus;
	usec_t start_time, end_time; /* wall; end 0: it runs */
	uint32_t exit_code, exit_signal;
	bool cancelled, timeout; /* of one that has ended */
	uint64_t cpu_time_us;    /* of its tasks that have ended */
	uint64_t max_rss_kb;     /* of the largest task */
};

/* A job that is a generation of a service (services.h). */
struct submit_service {
	const char *name, *burst_qos; /* "" */
	const char *spec;             /* its ServiceSpec in hexadecimal, for listings */
	struct service_policy policy; /* as asked for: 0 is the default */
	uint32_t drain_s, valid_days;
	bool update; /* the next generation of one that there is */
};

enum service_verb {
	SERVICE_SCALE = 1,
	SERVICE_PAUSE,
	SERVICE_RESUME,
	SERVICE_UNDO,
	SERVICE_WAKE,
	SERVICE_STOP
};
#define SERVICE_VERB_LAST SERVICE_STOP

struct core_event {
	enum event_kind kind;
	struct caller caller; /* SUBMIT, JOB_CONTROL, NODE_CONTROL, WAIT_JOB, STEP_REPORTS, NOTE:
			       * complete; BULK: complete for CHECK, else only `reply` */
	union {
		struct {
			const struct submit_job *jobs; /* all or none are accepted */
			size_t n;
			bool test_only;
		} submit;
		struct {
			enum bulk_step step;
			const struct submit_job *jobs; /* CHECK */
			size_t n; /* number of them; for other steps: the largest weight of jobs in
				   * the step */
		} bulk;
		struct {
			enum job_verb verb;
			/* Refs (job.h), which the world has selected with a filter. An array's id
			 * stands for all of the array. */
			const uint64_t *ids;
			/* For each id NULL, or for an array's id these tasks of it; NULL: no id
			 * has any. */
			const struct taskset *const *tasks;
			size_t n;
			/* How much work to do in this event, in records examined; 0: all. The rest
			 * is done by another event, with the ids from EFFECT_CONTROLLED's `at` on,
			 * and its `walk`. */
			uint32_t most;
			struct array_walk walk; /* through the first of the ids */
			uint32_t signal;
			bool script_only; /* SIGNAL: not to the processes that the script started */
			bool steps_only;  /* SIGNAL: of a job with steps, to these alone */
			const char *reason;
			const struct submit_job *change; /* UPDATE: as in a submit */
			uint64_t fields;                 /* UPDATE: bits of enum job_update */
			/* RESIGN: the specs that a fresh credential of the caller signs, and since
			 * when. */
			const struct spec_hash *hashes;
			size_t n_hashes;
			usec_t sign_time;
			/* RESIGN: one for each id, or none: the specs stay as they are. */
			const struct respec *respecs;
			size_t n_respecs;
		} job;
		struct {
			enum node_verb verb;
			const uint32_t *nodes; /* indices into conf.nodes */
			size_t n;
			const char *gpu; /* DRAIN, RESUME: that GPU (gpu_drains.h); NULL or "": the
			                  * node */
			const char *reason;
			bool confirmed_off;
		} node;
		struct {
			uint32_t partition; /* index into conf.partitions */
			enum conf_partition_state state;
			const char *reason;
		} partition;
		struct {
			const char *kind; /* "controller.backup" */
			const char *text;
			bool nobody; /* the controller itself did it, not the caller */
		} note;
		uint64_t wait; /* WAIT_JOB: the ref. WAIT_CANCEL: the reply number */
		struct {
			uint32_t node;    /* index into conf.nodes */
			uint64_t session; /* the world's number of the session; never 0, never
					   * reused */
			const char *boot_id, *incarnation, *version, *containment;
			const char *containment_why; /* NULL or "": not reported */
			uint32_t cpus;
			uint64_t mem_mb;
			/* The GPUs that it found, if it has searched; else they are as
			 * configured. */
			const struct gpu_found *gpus;
			size_t n_gpus;
			bool gpus_asked;
			const char *gpu_trouble; /* why it could not search; NULL or "": it could */
			const char *health;      /* what its own health check has found; NULL or
						  * "": nothing */
			bool tells_faults;       /* it sends GPU_REPORTs */
			bool no_settings;        /* it does not understand NodeSettings */
			bool no_programs;        /* or none that contain programs */
			bool no_health_check;    /* or none that contain a health check */
			bool no_private_tmp;     /* or none that contain private_tmp */
			bool share_users_one;    /* it keeps users apart on a GPU, whatever is
						  * ordered */
			bool no_services;        /* it starts no replicas */
			uint32_t service_ports;  /* number of its ports for replicas */
			uint64_t tmp_mb;         /* its disk for temporary data; 0: not
						  * reported */
			bool pretended;
			const struct run_report *runs; /* all runs alive or not yet forgotten */
			size_t n_runs;
			bool more_runs; /* there are more, which come as reports of their own */
			uint64_t max_epoch, max_job;
		} agent_up;
		struct {
			uint32_t node;
			uint64_t session; /* an event of an old session is ignored */
		} agent;                  /* AGENT_GONE, HEARTBEAT */
		struct {
			uint32_t node;
			uint64_t session;
			struct run_report report;
		} run;
		struct {
			uint32_t node;
			uint64_t session;
			const struct run_use *runs;
			size_t n;
			const struct gpu_sample *gpus;
			size_t n_gpus;
		} used;
		struct {
			uint32_t node;
			uint64_t session;
			const struct gpu_fault *faults;
			size_t n_faults;
			const struct gpu_looked *looked;
			size_t n_looked;
		} gpus;
		struct {
			uint64_t job; /* of an array the array's id, and: */
			uint32_t task;
			uint32_t attempt;
			const struct step_report *v;
			size_t n;
		} steps;
		struct {
			uint32_t node;
			uint64_t session;
			const struct run_load *runs;
			size_t n;
		} load;
		struct {
			enum service_verb verb;
			const char *name, *reason;
			uint32_t min, max, kept; /* SCALE; kept UINT32_MAX: as it is, or min */
			uint32_t held;           /* WAKE: requests that wait for it */
		} service;
		struct {
			uint32_t node;
			bool off; /* true: the program reported success, the node is off */
		} fenced;
		uint64_t disk_free_mb;
	};
};

enum effect_kind {
	EFFECT_REPLY,     /* error or plain success for caller.reply */
	EFFECT_SUBMITTED, /* ids; test_only: the verdict */
	EFFECT_BULK,      /* a step of a bulk was done, or (CHECK) a job refused */
	EFFECT_CONTROLLED,
	EFFECT_JOB_ENDED,   /* for a waiter; of EV_WAIT_START: the job runs, or did not start */
	EFFECT_REGISTERED,  /* to an agent: the wanted set */
	EFFECT_CLOSE_AGENT, /* the session was superseded or refused: text says why */
	EFFECT_START_RUN,   /* to an agent; the world adds signed bytes, script, credential */
	EFFECT_END_RUN,
	EFFECT_SIGNAL_RUN,
	EFFECT_SUSPEND_RUN,
	EFFECT_FORGET_RUN,
	EFFECT_ACK_GPUS,    /* to an agent: faults up to this one are committed */
	EFFECT_CHECK_GPUS,  /* to an agent: check these GPUs -> EV_GPU_REPORT */
	EFFECT_MAIL,        /* to the job's owner, about an event of the job */
	EFFECT_FENCE,       /* start the site's fence program for a node */
	EFFECT_JOB_CHANGED, /* a job's state, or a decision about it, has changed (watchers; the
			     * debug log) */
};

struct job_error {
	uint64_t job; /* its ref */
	struct error error;
};

/* What a trial submission has found, for one node. */
struct test_place {
	uint32_t node; /* index into conf.nodes */
	uint64_t gpus; /* bit set of host indices */
};
struct job_why; /* core.h */

struct effect {
	enum effect_kind kind;
	uint64_t change;  /* released when this change is committed */
	uint64_t reply;   /* REPLY, SUBMITTED, BULK, CONTROLLED, JOB_ENDED */
	uint32_t node;    /* to agents: index into conf.nodes */
	uint64_t session; /* to agents: the order is valid only within this session */
	union {
		const struct error *error; /* REPLY: code ERR_NONE is success */
		struct {
			const uint64_t *ids;
			const bool *known; /* of a repeated submit: that job existed already */
			size_t n;
			/* Which partitions of its list refuse a job, the first of which this is
			 * so, and why; NULL: none. */
			const char *left_out;
			bool test_only;
			/* test_only, of the first job: */
			uint64_t next_job;
			bool would_start_now;
			const struct test_place *places; /* where */
			size_t n_places;
			const char *gpu_type;      /* there; "" none */
			const char *partition;     /* of a list: where it would start first */
			const struct job_why *why; /* the reason that it would not start now */
			double cost_max; /* by the prices, if it runs to its limit; < 0: it has no
					  * limit */
		} submitted;
		struct {
			enum bulk_step step;
			const struct error *error; /* NULL: none */
			bool more;                 /* there is more of the same step; CHECK:
						    * never */
			const char *left_out; /* CHECK: as in `submitted` */
			/* MAKE: as in `submitted`. Their signed bytes must be in a commit no later
			 * than that of the last step of MAKE */
			const uint64_t *ids;
			const bool *known;
			size_t n;
		} bulk;
		struct {
			uint32_t done;
			uint32_t arrays, tasks; /* of `done`, the number of arrays and tasks; the
						 * number of their tasks */
			const struct job_error *errors; /* at most 1000 */
			size_t n;
			/* So many of the ids are finished: fewer than all if the event's limit was
			 * reached. Of the next one, some records may be finished. `error` is why
			 * the first of these was refused (NULL: none was); it is no error of the
			 * job if the verb applies to any of its later records. */
			size_t at;
			struct array_walk walk;
			const struct error *first;
		} controlled;
		uint64_t job; /* JOB_ENDED, JOB_CHANGED: its ref */
		struct {
			const struct run_id *wanted;
			size_t n;
		} registered;
		struct {
			uint64_t job;  /* a ref: of an array all of it, or the task */
			uint32_t type; /* enum mail_type */
		} mail;
		const char *text; /* CLOSE_AGENT */
		uint64_t ack;     /* ACK_GPUS */
		struct {
			const char *const *uuids;
			size_t n;
		} check; /* CHECK_GPUS */
		struct {
			struct run_id run;
			uint32_t signal;      /* SIGNAL_RUN; END_RUN: 0 is TERM */
			enum end_cause cause; /* END_RUN */
			uint32_t grace_s;     /* END_RUN */
			const char *by_user;  /* END_RUN; for which job's user it is ended; "" and
					       * 0: for none */
			const char *by_account, *by_qos;
			uint64_t by_job;
			bool requeue;     /* END_RUN */
			bool suspend;     /* SUSPEND_RUN; false: resume it */
			uint32_t limit_s; /* SUSPEND_RUN; 0: unchanged; TIME_LIMIT_NONE */
			bool script_only; /* SIGNAL_RUN */
			bool steps_only;  /* SIGNAL_RUN */
		} run;                    /* START_RUN (details: core_run_view), *_RUN */
	};
};

#endif
