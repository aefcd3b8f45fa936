/* run.h - a run, as both cores speak of it
 *
 * The words that the controller's core and the agent's core share: time, the name of a run, how it
 * ended, what a node says of it. Plain values; the strings are borrowed, never NULL, "" for none.
 * The numbers of the enums are those of gpusched.proto (noded/net/convert_messages.c compares them
 * when it is compiled).
 */
#ifndef COMMON_RUN_H
#define COMMON_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int64_t usec_t; /* microseconds */

/* Both clocks at one moment. Durations use mono; what people see uses wall. */
struct clocks {
	usec_t wall; /* UTC since 1970; may jump */
	usec_t mono; /* since any point; never goes back within one core's life */
};

/* One attempt of a job, or of a task of it, may have many runs, one a node: they have ranks. */
struct run_id {
	uint64_t job;
	uint32_t task;    /* 0 for a job that is no array */
	uint32_t attempt; /* 1 for the first */
	uint32_t rank;    /* 0 to one less than the attempt has nodes */
};

static inline int run_id_order(const struct run_id *x, const struct run_id *y)
{
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->attempt != y->attempt)
		return x->attempt < y->attempt ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static inline bool run_id_equal(const struct run_id *x, const struct run_id *y)
{
	return x->job == y->job && x->task == y->task && x->attempt == y->attempt &&
	       x->rank == y->rank;
}

/* How far --nice may move a job, down or (by operators) up, as in sbatch. */
#define NICE_MAX 2147483645

struct label {
	const char *key, *value;
};

/* Why a run ended. Numbers equal EndCause of gpusched.proto. */
enum end_cause {
	END_NONE,
	END_EXIT,
	END_TIME_LIMIT,
	END_CANCEL,
	END_PREEMPT,
	END_NODE_FAIL,
	END_LAUNCH,
	END_LOST,
	END_OUT_OF_MEMORY,
	END_DRAIN,
	END_PEER,    /* another run of its attempt ended badly */
	END_RECLAIM, /* preempted: its GPUs are guaranteed to another account, or what it had
	              * borrowed of one to another job (noded/usage/borrowed_gpu_memory.h) */
	END_DEADLINE,
	END_GPU_MEMORY, /* it used more memory of a GPU than it may */
	END_IDLE,       /* it left its GPUs idle for longer than idle_gpu allows */
	END_SPOOL,      /* its files have filled the node's spool */
	/* As END_LAUNCH, and the cause is its owner's: a folder, a file, the interpreter. */
	END_LAUNCH_OWNER,
	END_SIGNATURE, /* its node refused its owner's signature */
	END_SCALE,     /* its service needs fewer replicas */
	END_ROLL,      /* a replica of the next generation takes its place */
};
#define END_CAUSE_LAST END_ROLL

/* Nothing of the run's program was ever executed. */
static inline bool end_is_launch(enum end_cause cause)
{
	return cause == END_LAUNCH || cause == END_LAUNCH_OWNER;
}

#define RUN_PROGRESS_MAX 80 /* bytes of run_report.progress */

/* Numbers equal RunReport.State of gpusched.proto. */
enum run_report_state { REPORT_STARTING = 1, REPORT_RUNNING, REPORT_ENDED, REPORT_NEVER };

/* What a run has used on its node, and uses now: the message RunUsed. What is not known is 0. */
struct run_used {
	uint64_t cpu_time_us;
	uint64_t cpu_wait_us;             /* it wanted a CPU and got none (cpu_memory_io.h) */
	uint64_t mem_now_mb, mem_peak_mb; /* host memory of all its processes */
	uint64_t read_bytes, written_bytes;
	/* GPU-time, summed over its GPUs: known, busy (an integral), under RUN_USED_IDLE_PCT */
	uint64_t gpu_seen_us, gpu_busy_us, gpu_idle_us;
	uint64_t gpu_mem_now_mb, gpu_mem_peak_mb; /* the most on one of its GPUs */
	uint64_t gpu_mem_mbs;                     /* the integral over all of them: MiB x seconds */
	uint64_t energy_mj;
	uint32_t gpu_now_pct; /* mean of its GPUs; known if gpu_seen_us */
	/* Not started yet: it waits for memory of a GPU that this job has borrowed. Else: that job
	 * needs what it has borrowed itself (borrowed_gpu_memory.h). 0: neither. Never durable. */
	uint64_t burst_job;
	usec_t burst_time; /* wall: then the borrower is ended */
};

#define RUN_USED_IDLE_PCT 5

/* Facts of a run's job, from the order that started it: for a controller that was restored from a
 * backup and does not know the job. Texts are NULL or "" where an older agent does not say it. */
struct run_owner {
	const char *user, *account, *partition, *qos, *name;
	const char *array; /* "": none */
	uint32_t gid;
};

/* Numbers equal Replica.Health of gpusched.proto. */
enum replica_health { HEALTH_NONE, HEALTH_LOADING, HEALTH_READY, HEALTH_UNREADY };
#define HEALTH_LAST HEALTH_UNREADY

#define REPLICA_PORTS_MAX 8
#define REPLICA_TEXT_MAX  480 /* bytes of replica_report.text: a line of gprobe has 512 */

/* The report of a node on a run that is a replica of a service: the message Replica. HEALTH_NONE:
 * the run is no replica, or its health is not known yet. */
struct replica_report {
	enum replica_health health;
	const char *text;    /* what the last probe found; ENDED: why gprobe ended it; NULL or "":
	                      * nothing */
	usec_t ready_time;   /* wall: when it was READY first; 0: not yet */
	uint64_t ready_us;   /* so long was it READY, all in all */
	const char *address; /* for its clients; NULL or "": not said */
	uint32_t ports[REPLICA_PORTS_MAX];
	size_t n_ports;
	uint64_t requests, tokens; /* answered, generated; 0: not known */
};

/* The load of a replica: the message RunLoad. */
struct run_load {
	struct run_id run;
	bool known;
	uint32_t kv_milli;
	uint64_t running_milli, waiting_milli; /* thousandths of a request */
	uint64_t requests, tokens;
};

/* Is the load the same, of whatever run? */
static inline bool run_load_equal(const struct run_load *x, const struct run_load *y)
{
	return x->known == y->known && x->kv_milli == y->kv_milli &&
	       x->running_milli == y->running_milli && x->waiting_milli == y->waiting_milli &&
	       x->requests == y->requests && x->tokens == y->tokens;
}

/* One run as its node knows it. */
struct run_report {
	struct run_id run;
	enum run_report_state state;
	usec_t start_time, end_time;
	uint64_t elapsed_us; /* RUNNING, ENDED: since its start */
	uint32_t exit_code, exit_signal;
	enum end_cause cause;
	const char *detail;      /* NEVER and launch failures: what was wrong; RUNNING: what was
	                          * noted; for people */
	const char *incarnation; /* under which it was started */
	uint64_t epoch;          /* under which it was ordered */
	uint64_t gpus;           /* bit set of host indices */
	uint32_t share_charge;   /* as what part of a GPU each counts, in thousandths; 0: all */
	uint32_t share_milli;    /* its part of the compute of each */
	uint64_t share_mb;       /* and of the memory */
	uint64_t share_burst_mb; /* memory that it may use while no other run needs it; 0:
				  * share_mb */
	const char *gpu_type;
	uint32_t cpus;
	uint64_t mem_mb;
	uint64_t cpu_time_us, max_rss_kb;
	uint32_t uid;
	uint32_t nodes;         /* of its attempt; 0: not said */
	usec_t checkpoint_time; /* wall: the work up to here is safe; 0: it has not said so */
	const char *progress;   /* RUNNING: a line of the program's for people */
	bool suspended;         /* RUNNING: every process of it is stopped */
	uint64_t suspended_us;  /* so much of elapsed_us */
	const char
	        *node_trouble; /* why the node is to be drained; NULL or "": it is not. Before its
	                        * end: what of it cannot be killed, and `detail` is the same */
	bool signature_refused; /* NEVER: that is why */
	struct run_owner owner;
	struct run_used used;   /* ENDED */
	struct replica_report replica;
};

#endif
