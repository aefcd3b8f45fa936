/* conf.h - gpusched.conf, read, checked and expanded
 *
 * The file is libconfig syntax (man/gpusched.conf.5). Every key is one row of the tables in
 * conf_keys.c: name, type, unit, default, limits, reloadable, one line of help. Parsing, checks,
 * `--show-config`, the comparison at reload and the manual's list of keys all come from the rows.
 *
 * `struct conf` is plain data: the cores read it too (they call nothing declared here). A conf is
 * never changed after conf_load(); a reload makes a new one. Names are unique within their list;
 * indices (partition -> node, node -> GPU type) are positions in the arrays of the same conf.
 */
#ifndef COMMON_CONF_H
#define COMMON_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/error.h"
#include "common/conf/nodewords.h"
#include "common/gpu/gpuset.h"

#define CONF_MAX_NODES         65536 /* named nodes of a cluster; the design's aim is 12,500 */
#define CONF_MAX_GPUS_PER_NODE GPUSET_MAX
#define CONF_MAX_PARTITIONS    1024
#define CONF_MAX_GPU_TYPES     256
#define CONF_MAX_ACCOUNTS      4096
#define CONF_MAX_ACCOUNT_DEPTH 32 /* accounts within one another */
#define CONF_MAX_QOS           256
#define CONF_MAX_LICENCES      256
#define CONF_MAX_SWITCHES      4096
#define CONF_NO_LIMIT          0          /* a time limit of 0 is none ("unlimited") */
#define CONF_NONE              UINT32_MAX /* an index: none; a limit: not given */

/* A number of GPUs of one type on one node. */
struct conf_gpu_count {
	uint16_t type; /* index into conf.gpu_types */
	uint16_t count;
	uint16_t mig; /* 1 + the number of the one GPU that the MIG instances are on; 0: on any */
};

/* GPUs of a node that are to be cut up alike. They are numbered as on the host, not as jobs' GPUs.
 */
struct conf_mig {
	char *gpus;                    /* as written: "0-3,6" */
	struct conf_gpu_count *layout; /* what each of them is cut into */
	size_t n_layout;
	uint64_t set; /* the same GPUs, as bits */
};

struct conf_gpu_type {
	char *name;
	uint64_t mem_mb;         /* nominal memory of one; 0: not given */
	double price;            /* of one for an hour */
	char *match;             /* what its makers call it, with "*" and "?"; "": not given */
	char *mig_of;            /* it is a MIG instance of GPUs of that type; "": a whole GPU */
	uint64_t mem_reserve_mb; /* of each, that shares do not get */
};

/* Names and the like; owned. */
struct conf_texts {
	char **v;
	size_t n;
};

/* GPUs by type as in quotas and limits: "h100:48", "any:8". */
#define CONF_ANY_TYPE UINT16_MAX /* all types together */
struct conf_gpu_amount {
	uint16_t type; /* index into conf.gpu_types, or CONF_ANY_TYPE */
	uint32_t count;
};
struct conf_gpu_amounts {
	struct conf_gpu_amount *v;
	size_t n;
};

/* Limits, in the one form that all sections use. A limit that is not given is CONF_NONE (64 bits:
 * UINT64_MAX; gpus: n is 0) and has no effect. */
struct conf_limits {
	struct conf_gpu_amounts gpus;
	uint64_t gpu_mem_mb, mem_mb;
	uint32_t cpus, nodes, running, queued, time_s;
	uint64_t gpu_hours; /* within any gpu_hours_window_s: "500 / 30d" */
	uint32_t gpu_hours_window_s;
};

/* GPUs of an account among its siblings (its cohort): what is guaranteed may be borrowed while it
 * is idle, up to `lend`, and is taken back by preempting borrowers. */
struct conf_quota {
	bool given;
	struct conf_gpu_amounts guaranteed;
	struct conf_gpu_amounts limit; /* a type not listed: no limit */
	struct conf_gpu_amounts lend;  /* a type not listed: all of the guaranteed */
	double weight;                 /* for what is over quota; 1 */
};

/* In conf.accounts an account is followed by all below it, siblings in the file's order: parents
 * come before their children, whatever their order in the file. */
struct conf_account {
	char *name, *parent_name;
	uint32_t parent; /* index; CONF_NONE: under the root */
	uint32_t depth;  /* 0: under the root */
	uint32_t shares;
	uint32_t rank; /* its place in the file: the first that lists a user is his default */
	struct conf_texts members;      /* users, "@group", "*" */
	struct conf_texts coordinators; /* the same; of its jobs and of those below it */
	struct conf_texts required_labels;
	struct conf_quota quota;
	struct conf_limits limits, per_user, per_job;
};

struct conf_qos {
	char *name;
	bool is_default;
	int32_t priority;
	uint32_t max_wait_s; /* 0: none */
	struct conf_texts preempts_names, accounts_names;
	uint32_t *preempts; /* indices into conf.qos, with all that those preempt in turn */
	size_t n_preempts;
	uint32_t level;     /* above that of every QOS it preempts; 0: preempts none */
	uint32_t *accounts; /* accounts that may use it, with all accounts below; none: all
			     * accounts */
	size_t n_accounts;
	double usage_factor;
	uint32_t min_run_s; /* protected from preemption for so long; CONF_NONE: as the partition */
	struct conf_limits limits, per_user, per_job;
};

enum conf_preempt { CONF_PREEMPT_OFF, CONF_PREEMPT_REQUEUE, CONF_PREEMPT_CANCEL };
/* May the GPUs of a node be shared, and by what are the runs separated? */
enum conf_share { CONF_SHARE_NO, CONF_SHARE_WATCH, CONF_SHARE_MPS };

/* Which users' runs may share one of its GPUs at a time. */
enum conf_users { CONF_USERS_ANY, CONF_USERS_ONE };
enum conf_place { CONF_PLACE_PACK, CONF_PLACE_SPREAD };
enum conf_partition_state {
	CONF_PARTITION_UP,      /* takes and starts jobs */
	CONF_PARTITION_DRAIN,   /* takes none, starts what waits */
	CONF_PARTITION_DOWN,    /* takes jobs, starts none */
	CONF_PARTITION_INACTIVE /* neither */
};

struct conf_priority {
	uint32_t age, fair_share, size, partition, qos, wait_target; /* weights */
	uint32_t age_max_s;
	uint32_t half_life_s; /* of usage; 0: usage does not decay */
};

struct conf_prices {
	char *currency;
	double cpu, mem_gb; /* an hour */
};

struct conf_licence {
	char *name;
	uint32_t count;
};

/* A switch with nodes is a leaf; one with switches joins them. */
struct conf_switch {
	char *name, *node_names;
	uint32_t *nodes; /* ascending */
	size_t n_nodes;
	struct conf_texts switches_names;
	uint32_t parent; /* index; CONF_NONE */
};

/* The rule for jobs on a GPU that a fault has drained: they go on, are requeued, or end. */
enum conf_health_jobs { CONF_HEALTH_RUN, CONF_HEALTH_REQUEUE, CONF_HEALTH_END };

/* A program of the site: one around runs, or the health check. */
struct conf_program {
	char *path;          /* absolute; "": not said */
	uint32_t timeout_ms; /* 0: as the agent says */
};

/* The settings that a node's agent gets. The agent combines them with its own options, and the
 * stricter of both counts (noded/confine/effective_limits.h). A setting that is not given is not
 * sent. */
struct conf_agent {
	struct conf_texts containment;   /* CONTAIN_WORDS that nothing is started without */
	struct conf_texts private_kinds; /* PRIVATE_WORDS */
	struct conf_texts rlimits;       /* as rlimit_parse() takes them, each once */
	char *gpu_devices;          /* the GPUs' device files, in order, as a list; "": not said */
	struct conf_texts devices;  /* device files that every run may open */
	uint64_t private_tmp_mb;    /* of a run, in memory; 0: not said */
	uint32_t max_processes;     /* of a run; 0: not said */
	uint32_t kill_wait_ms;      /* a killed process counts as stuck after this; 0: not said */
	uint32_t gpu_recheck_ms;    /* between two looks at the GPUs, at most; 0: not said */
	uint64_t spool_min_free_mb; /* a run that leaves less free space in the spool is ended; 0:
				     * not said */
	char *over_memory;          /* one of OVERMEM_WORDS; "": not said */
	uint32_t sample_ms;         /* between two looks at what runs use, at most; 0: not said */
	uint32_t idle_sample_ms;    /* between two samples of GPUs that no run holds; 0: not said */
	struct conf_program programs[PROGRAM_KINDS];
	uint32_t health_interval_s; /* between two health checks; 0: not said */
};

/* Of runs that leave their GPUs idle: compute use, never memory (ctld/core/jobs/idle.h). */
enum conf_idle_action { CONF_IDLE_NOTE, CONF_IDLE_MAIL, CONF_IDLE_END };
struct conf_idle {
	bool given;
	uint32_t below_pct, for_s;
	enum conf_idle_action action;
	bool end_cpu_bound; /* END applies also to a run that wants CPUs meanwhile */
};

/* One node; `nodes` entries with hostlists are expanded and node_defaults filled in. What is 0 is
 * taken as the agent finds it; what is given is demanded of the node. GPU indices are handed out in
 * the order of `gpus`: type gpus[0] has 0..count-1, and so on. The core adds what `mig` demands
 * (ctld/core/nodes/discovered_hardware.h). */
struct conf_node {
	char *name;
	uint32_t cpus;
	uint64_t mem_mb;
	struct conf_gpu_count *gpus; /* NULL: as the agent finds them; without entries: none */
	size_t n_gpus;               /* entries, not devices */
	struct conf_mig *mig;        /* no GPU is in two of them */
	size_t n_mig;
	struct conf_texts gpu_near; /* near_said_read(): by the numbers of the host, as `mig` */
	struct conf_texts features;
	struct conf_agent agent;
	uint32_t leaf; /* index into conf.switches; CONF_NONE */
	enum conf_share share;
	enum conf_users share_users;
	enum conf_health_jobs health_jobs;
	uint32_t health_recheck_ms;      /* 0: never */
	struct conf_texts health_events; /* gpu_fault_rule_parse() */
	struct conf_idle idle;           /* for runs here if their partition has none */
};

struct conf_partition {
	char *name;
	uint32_t *nodes; /* ascending indices into conf.nodes */
	size_t n_nodes;
	char *node_names; /* as a hostlist, for people */
	bool is_default;
	uint32_t tier;           /* higher is served first */
	uint32_t default_time_s; /* for jobs that ask for none; 0: the partition's max_time */
	uint32_t max_time_s;     /* 0: unlimited */
	uint32_t grace_s;        /* from TERM to KILL */
	uint32_t default_mem_mb; /* for each job that asks for none; 0: none is booked */
	enum conf_partition_state state;
	uint32_t priority;              /* counts as its share of the largest partition priority */
	enum conf_preempt preempt_mode; /* of what runs here */
	uint32_t min_run_s;             /* protected from preemption for so long */
	enum conf_place place;
	uint32_t plan_depth; /* so many blocked classes get a planned start */
	bool require_gpu;
	bool services; /* it takes services, which have no time limit */
	uint32_t per_gpu_cpus;   /* for each GPU of a job that asks for none; 0: not given */
	uint64_t per_gpu_mem_mb; /* the same */
	struct conf_idle idle;
	struct conf_texts accounts_names;
	uint32_t *accounts; /* accounts that may use it, with all accounts below; none: all
			     * accounts */
	size_t n_accounts;
	struct conf_limits limits, per_user, per_job; /* per_job: at most */
	struct conf_limits per_job_min;
};

/* The roles of users. Root and the controller's user are always administrators. */
struct conf_roles {
	struct conf_texts admins, operators; /* users, "@group" */
	struct conf_texts web_users;         /* the same: what gweb runs as */
	struct conf_texts private_data;
	bool private_jobs, private_usage; /* private_data names it: users see only their own */
};

struct conf_controller {
	char *host;
	uint32_t port;
	char *listen;     /* address to listen on; "" is all */
	char *user;       /* gctld runs as this user; credentials are restricted to it */
	char *agent_user; /* only this user (and root) may speak for a node */
	char *state_dir;
	char *pid_file;     /* "": none */
	char *log;          /* "stderr", "syslog" or a path */
	char *log_level;    /* error, warning, info, debug */
	char *munge_socket; /* "": munge's own default */
	char *munge_socket_2; /* "": none */
	char *mail_program; /* called: PROGRAM -s SUBJECT ADDRESS; "": none */
	char *fence;        /* program to make sure a node is off; "": none. Called: FENCE NODE */
	uint32_t fence_timeout_s;
	uint32_t heartbeat_ms;
	uint32_t node_timeout_s;   /* not heard from for so long: unknown */
	uint32_t unknown_is_off_s; /* 0: never assume that an unknown node is off */
	uint32_t signature_age_s;  /* how old a job's signature may be at a start */
	uint32_t max_jobs;         /* jobs held in memory */
	uint32_t max_steps;        /* of an attempt of a job */
	uint64_t max_script_kb;
	bool kill_invalid_dep;   /* cancel jobs with a dependency that can never be satisfied */
	uint32_t keep_ended_s;   /* ended jobs stay visible to gqueue --all for so long */
	uint32_t keep_scripts_s; /* scripts and environments are erased so long after the end */
	uint32_t keep_history_s, keep_events_s; /* in history.db; 0: for ever */
	uint64_t min_free_mb;                   /* below: submits are refused */
	uint32_t workers;                       /* helper threads */
	uint32_t max_sessions;                  /* of users, all together */
	/* What one user may hold (ctld/core/records/per_user_budget.h); sizes in bytes. */
	uint32_t sessions_per_user, streams_per_user;
	uint64_t requests_per_user, waits_per_user, unread_per_user, memory_per_user;
	uint64_t scripts_per_user;
};

struct conf {
	char *cluster;
	struct conf_controller controller;
	struct conf_roles roles;
	struct conf_gpu_type *gpu_types;
	size_t n_gpu_types;
	struct conf_node *nodes;
	size_t n_nodes;
	struct conf_partition *partitions;
	size_t n_partitions;
	uint32_t default_partition; /* index; UINT32_MAX: none */
	struct conf_account *accounts;
	size_t n_accounts; /* 0: any name will do as an account, and none is limited */
	char *default_account_name;
	uint32_t default_account; /* for users that no account lists; CONF_NONE: they are refused */
	struct conf_qos *qos;
	size_t n_qos;
	uint32_t default_qos; /* CONF_NONE: none */
	struct conf_priority priority;
	struct conf_prices prices;
	struct conf_licence *licences;
	size_t n_licences;
	struct conf_switch *switches; /* section `topology` */
	size_t n_switches;
};

/* All mistakes of one reading, in file order. A syntax error is reported alone. */
struct conf_problem {
	char *file;
	unsigned line;
	char *text; /* "partitions[0].max_tme: unknown key; did you mean 'max_time'?" */
};
struct conf_problems {
	struct conf_problem *v;
	size_t n;
};

/* Read and check `path` (with its @include files). NULL on failure: `problems` then has at least
 * one entry (a file that cannot be read is one too). Blocks; call it from a helper thread. */
struct conf *conf_load(const char *path, struct conf_problems *problems);

/* The same from memory, for tests and fuzzing; `name` stands for the file in problems. */
struct conf *conf_parse(const char *text, const char *name, struct conf_problems *problems);

void conf_free(struct conf *conf);                        /* NULL is fine */
void conf_problems_clear(struct conf_problems *problems); /* frees the entries */

/* One line each: "FILE:LINE: TEXT", or "FILE: TEXT" for what concerns the file as a whole. */
void conf_problems_print(const struct conf_problems *problems, FILE *out);

/* Print every effective value in the file's own syntax, so that it can be read back. */
void conf_print(const struct conf *conf, FILE *out);

/* Print the keys of the tables: one row a key (path, type, default, limits, reloadable, help). The
 * manual's list is compared with it. */
void conf_print_keys(FILE *out);

/* What changed, as lines "partitions.batch.max_time 2-00:00:00 -> 1-00:00:00", named by name and
 * not by position. Returns the number of lines, -1 with `err` when a key that cannot be reloaded
 * was changed (all such keys are named). Caller frees *lines and each line. */
int conf_diff(const struct conf *from, const struct conf *to, char ***lines, struct error *err);

/* What agents and commands need to find their controller, from (first wins) the variables
 * GPUSCHED_CONTROLLER (host[:port]), GPUSCHED_CLUSTER, GPUSCHED_CONTROLLER_USER,
 * GPUSCHED_MUNGE_SOCKET, then the file GPUSCHED_CONF or SYSCONFDIR/gpusched/client.conf or
 * SYSCONFDIR/gpusched/gpusched.conf. A client.conf holds `cluster` and `controller` alone; the
 * reader takes these two from either file and skips the rest, fast (each command pays it). */
struct conf_client {
	char *cluster;
	char *host;
	uint32_t port;
	char *controller_user;
	char *agent_user;   /* the user that the agents run as: greetings to runs are for it */
	char *munge_socket; /* "": default */
	char *munge_socket_2; /* "": none */
};
int conf_client_load(const char *path_or_null, struct conf_client *client, struct error *err);
void conf_client_clear(struct conf_client *client);

#endif
