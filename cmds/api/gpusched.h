/* gpusched.h - the C API of gpusched: submit jobs and follow them
 *
 *	struct gpusched_error err;
 *	struct gpusched *g = gpusched_open(NULL, &err);
 *	struct gpusched_spec spec;
 *	uint64_t id;
 *
 *	gpusched_spec_init(&spec);
 *	spec.script = "#!/bin/sh\nexec ./infer --batch 7\n";
 *	spec.script_len = strlen(spec.script);
 *	spec.gpus = "h100:2|l40s:4";
 *	if (!g || gpusched_submit(g, &spec, 1, &id, &err) < 0)
 *		errx(1, "%s", err.text);
 *	printf("%llu\n", (unsigned long long)id);
 *	gpusched_close(g);
 *
 * Link with -lgpusched. A `struct gpusched` is one connection to one controller, used by one thread
 * at a time; make several for several threads. It is opened when it is first needed and again
 * after a break. Nothing here installs signal handlers, starts threads or writes to a stream.
 *
 * Errors: functions return 0 or more on success, -1 (or NULL) on failure, and then fill `err`
 * unless it is NULL. A code is a stable number with a dotted name (gpusched_error_name); the
 * numbers are those that the controller answers with.
 *
 * Running out of memory ends the process with a line on stderr.
 *
 * Breaks: whatever cannot be done twice by mistake is tried again with growing pauses, as long as
 * gpusched_set_retry() says: connecting, listing, waiting, and submitting, because each job
 * carries a nonce and the controller answers a repeat with the id of the first time.
 *
 * Compatibility: a program and a library of different versions work together, in both directions.
 * Structs only grow at their end, and each carries the size that its maker knew:
 *	- the caller's own (gpusched_spec, gpusched_filter) say how large the program's are. What an
 *	  older program does not know has its default. What a later program sets and this library does
 *	  not know is refused (usage), never ignored: a filter with a condition less would reach more
 *	  jobs;
 *	- those that the library fills for the caller (gpusched_pong, gpusched_verdict,
 *	  gpusched_submitted) are filled as far as both know them; the rest is 0;
 *	- those that the library owns (gpusched_job and such) say how large the library's are:
 *	  GPUSCHED_HAS(job, progress) is true if the library has filled that member.
 * Functions marked "inline" pass the size of the program's struct; other languages call the _sized
 * function behind. struct gpusched_error never changes. Symbols carry the version they came with.
 */
#ifndef GPUSCHED_H
#define GPUSCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpusched;

/* Is the member within what the maker of the struct has filled? */
#define GPUSCHED_HAS(p, member)                                                                    \
	((p)->size >= (size_t)((const char *)&(p)->member - (const char *)(p)) +                   \
	                      sizeof((p)->member))

struct gpusched_error {
	int code;
	char text[512]; /* one line, no newline at its end */
	char hint[256]; /* "" or one line of advice */
};

const char *gpusched_error_name(int code); /* "limit.jobs" */
int gpusched_error_exit(int code);         /* what the commands exit with: gsubmit(1) */
const char *gpusched_version(void);        /* "0.1.0" */

/* --- the connection ------------------------------------------------------------------------- */

/* Find the controller: the variables and files of gsubmit(1), or the file `conf` if not NULL.
 * Does not connect yet. */
struct gpusched *gpusched_open(const char *conf, struct gpusched_error *err);
void gpusched_close(struct gpusched *g); /* NULL is fine; requests in flight are forgotten */

/* For how long to try again, in milliseconds, until a failure is reported; 0: one try, < 0: for
 * ever. The variable GPUSCHED_RETRY or 5 s if never called. */
void gpusched_set_retry(struct gpusched *g, int64_t ms);

/* Called once in each stretch of failures that lasts more than a second, from inside the call that
 * is being tried again: to tell a user what the program waits for. */
void gpusched_on_retry(
        struct gpusched *g, void (*tell)(const struct gpusched_error *why, void *arg), void *arg);

/* Called with one line about what was accepted and will not be all that was asked for, such as mail
 * where none can be sent; from inside the call that gets the answer. */
void gpusched_on_warning(struct gpusched *g, void (*warn)(const char *text, void *arg), void *arg);

/* Called from inside gpusched_submit_bulk() now and then, with how many of all its jobs the
 * controller has; after a break all are sent again, and it begins again. */
void gpusched_on_progress(
        struct gpusched *g, void (*progress)(size_t done, size_t all, void *arg), void *arg);

/* The cluster that the configuration names. */
const char *gpusched_cluster(const struct gpusched *g);

struct gpusched_pong {
	size_t size;                          /* as filled */
	const char *cluster, *host, *version; /* until the next call with `g` */
	uint64_t epoch;                       /* grows each time a controller takes charge */
	int64_t time;                         /* the controller's, microseconds of UTC */
	uint32_t uid;                         /* the uid as which it sees this program */
};
int gpusched_ping_sized(
        struct gpusched *g, struct gpusched_pong *pong, size_t size, struct gpusched_error *err);
static inline int gpusched_ping(
        struct gpusched *g, struct gpusched_pong *pong, struct gpusched_error *err)
{
	return gpusched_ping_sized(g, pong, sizeof(*pong), err);
}

/* --- submitting ----------------------------------------------------------------------------- */

/* One job to be. Everything is borrowed for the call. What is 0, NULL or false has its default,
 * but for script and cwd. Texts are as the options of gsubmit(1) have them. */
struct gpusched_spec {
	size_t size;        /* of the program's struct: gpusched_spec_init() */
	const void *script; /* begins with "#!"; at most 4 MiB */
	size_t script_len;
	const char *const *args; /* the script's arguments; NULL-terminated; NULL: none */
	const char *const *env;  /* NAME=value; NULL-terminated; NULL: none at all */
	const char *name;
	const char *cwd;    /* absolute; NULL: the process's present one */
	const char *input;  /* NULL: /dev/null */
	const char *output; /* NULL: gpusched-%j.out, of an array gpusched-%A_%a.out */
	const char *error;  /* NULL: goes where output goes */
	bool append;        /* add to output files instead of emptying them */
	const char *partition;
	const char *account;
	const char *gpus; /* "4", "h100:2", "h100:2|l40s:4" */
	uint32_t cpus;
	uint64_t mem_mb;
	uint32_t time_limit_s; /* GPUSCHED_UNLIMITED: none */
	bool hold;
	bool no_requeue;
	uint32_t warn_signal;   /* before the time limit; 0: TERM */
	uint32_t warn_before_s; /* so long before; 0: no warning but the one at the limit */
	int32_t nice;
	const char *const *labels; /* "key=value"; NULL-terminated */
	const char *token;         /* names this submit: see below; NULL: a fresh one */
	int32_t umask;             /* -1: the process's present one */
	const char *qos;
	bool gpus_per_node;            /* `gpus` are a node's, else the whole job's */
	uint64_t gpu_mem_min_mb;       /* nominal memory of a GPU; 0: any */
	uint64_t tmp_mb;               /* a node's disk for temporary data; 0: any */
	unsigned gpu_link;             /* enum near_link: between each two GPUs of a node */
	uint64_t gpu_mem_mb;           /* so much of each GPU, which others share */
	uint64_t gpu_mem_burst_mb;     /* memory that it may use while no other run needs it; 0: no
				        * more */
	uint32_t gpu_share_milli;      /* thousandths of its compute; both 0: whole GPUs */
	uint32_t nodes_min, nodes_max; /* 0: one; max 0: as min */
	const char *constraint;        /* features that a node must have: "nvlink&ib|fast" */
	const char *prefer;            /* the same, where there is a choice */
	const char *nodelist;          /* on all of these: "h[01-04]" */
	const char *exclude;           /* on none of these */
	bool exclusive;                /* alone on its nodes, with all they have */
	const char *licences;          /* "trtllm:2,other" */
	uint32_t max_wait_s;           /* should start within this time; 0: the QOS's */
	int64_t begin_time;            /* not before; microseconds of UTC; 0: at once */
	int64_t deadline_time;         /* latest end; 0: whenever */
	const char *dependency;        /* "afterok:12:13,singleton": gsubmit(1); NULL: none */
	int32_t kill_invalid_dep;      /* when that can never come true: 0 as configured, 1 it is
	                                * cancelled, 2 it waits */
	const char *comment;           /* a remark for people */
	const char *mail_type;         /* "BEGIN,END", "ALL": gsubmit(1) */
	const char *mail_user;         /* an address; NULL: the user's name */
	const char *requeue_on;        /* "exit:75,signal:9" */
	uint32_t requeue_delay_s;      /* before it runs again after a failure */
	uint32_t max_attempts;         /* starts at most; 0: 100, or 1 with no_requeue */
	const char *array;             /* "0-9999:2%50"; NULL: it is no array */
	/* Its input and output are a client's, as grun(1) has them, and it has no files: 1 through
	 * pipes, 2 through a terminal of rows x cols. Started once, on one node, and ended when it
	 * had no client for patience_s (0: 30; GPUSCHED_UNLIMITED: it goes on). */
	uint32_t interactive, rows, cols, patience_s;
	bool no_summary; /* of a job with GPUs: nothing of what it used behind its output */
	/* The job has steps (srun): 1: its script runs once, on the first of its nodes; 2: it has
	 * no script, as salloc(1) makes it, and ends when it had no client for patience_s. */
	uint32_t steps;
	bool show_output; /* gweb may show its owner the end of what it writes */
};
#define GPUSCHED_UNLIMITED UINT32_MAX
#define GPUSCHED_GROUP_MAX 64

/* Everything at its default. The structs of an array have all one size. */
void gpusched_spec_init_sized(struct gpusched_spec *spec, size_t size);
static inline void gpusched_spec_init(struct gpusched_spec *spec)
{
	gpusched_spec_init_sized(spec, sizeof(*spec));
}

/* Submit 1 to GPUSCHED_GROUP_MAX jobs, signed together: all are accepted or none. Returns when
 * they are on the controller's disk; ids[i] is the job of specs[i].
 *
 * A token makes a repeat safe: submitting the same job with the same token again, even from another
 * process and after any crash, gives the same id and no second job; another job with it is refused
 * (job.token). It is known for an hour, and while the controller has the job. Without a
 * token, repeats within this call are safe all the same. */
int gpusched_submit(struct gpusched *g, const struct gpusched_spec *specs, size_t n, uint64_t *ids,
        struct gpusched_error *err);

/* Submit any number of jobs (up to a million): all are accepted, or none. They are
 * signed and sent in groups, many at a time. `token` is as above, for all of them together: specs
 * without one of their own get TOKEN/INDEX; NULL is a fresh one. Of a job that is refused *bad (if
 * not NULL) is the index, else it is `n`. */
int gpusched_submit_bulk(struct gpusched *g, const struct gpusched_spec *specs, size_t n,
        const char *token, uint64_t *ids, size_t *bad, struct gpusched_error *err);

/* Ask whether the job would be accepted, and would start now. Nothing is kept. */
struct gpusched_verdict {
	size_t size; /* as filled */
	bool would_start_now;
	const char *node, *gpu_type; /* where; until the next call with `g` */
	const uint32_t *gpus;        /* n_gpus of them: the host's numbers */
	size_t n_gpus;
	const char *reason; /* why not now, as in gqueue(1): the first of n_blockers */
	size_t n_nodes;     /* that it would start on; node and gpus are the first one's */
	size_t n_blockers;
	int64_t planned_start; /* microseconds of UTC; 0: none */
	double cost_max;       /* by the configured prices, to its time limit; < 0: it has none */
};
int gpusched_test_sized(struct gpusched *g, const struct gpusched_spec *spec,
        struct gpusched_verdict *verdict, size_t size, struct gpusched_error *err);
static inline int gpusched_test(struct gpusched *g, const struct gpusched_spec *spec,
        struct gpusched_verdict *verdict, struct gpusched_error *err)
{
	return gpusched_test_sized(g, spec, verdict, sizeof(*verdict), err);
}

/* gpusched_submit() in two halves, so that many groups are under way at once: each send is answered
 * by one receive, in the order of sending. Sending never waits for an answer (but for room in the
 * network); at most GPUSCHED_PIPELINE_MAX groups may wait for their answer. */
#define GPUSCHED_PIPELINE_MAX 1024

/* `tag` comes back with the answer. -1: nothing was sent. */
int gpusched_submit_send(struct gpusched *g, const struct gpusched_spec *specs, size_t n,
        uint64_t tag, struct gpusched_error *err);

struct gpusched_submitted {
	size_t size; /* as filled */
	uint64_t tag;
	const uint64_t *ids; /* n of them, until the next call; NULL if the group was refused */
	size_t n;
	struct gpusched_error error; /* code 0, or why the group was refused */
};

/* 1: *out is the answer to the oldest group; 0: none came within timeout_ms (< 0: no limit), or
 * nothing is under way; -1: the controller could not be reached in the time that
 * gpusched_set_retry() gives: groups without answer stay under way, and the next call goes on. */
int gpusched_submit_receive_sized(struct gpusched *g, struct gpusched_submitted *out, size_t size,
        int timeout_ms, struct gpusched_error *err);
static inline int gpusched_submit_receive(struct gpusched *g, struct gpusched_submitted *out,
        int timeout_ms, struct gpusched_error *err)
{
	return gpusched_submit_receive_sized(g, out, sizeof(*out), timeout_ms, err);
}

/* For a loop of one's own that also serves others: once gpusched_submit_receive(g, &out, 0, ...)
 * has returned 0, poll(2) the descriptor that this returns for *events and call that again when it
 * is ready. -1: there is nothing to poll for; nothing is under way, or there is no connection, and
 * the next call makes one. Making it, and trying it again, is the one thing that takes time even
 * so: gpusched_set_retry() says how much. */
int gpusched_submit_poll(const struct gpusched *g, short *events);

/* --- jobs ----------------------------------------------------------------------------------- */

/* A job as gqueue(1) shows it. Strings are never NULL; "" or 0 where it does not apply. Borrowed
 * until the callback returns. */
struct gpusched_job {
	size_t size; /* as filled */
	uint64_t id;
	const char *name, *user, *account, *partition;
	const char *state;       /* "PENDING", "RUNNING", "COMPLETED", ... */
	const char *reason;      /* why it waits, or how it ended */
	const char *reason_text; /* the same for people */
	const char *gpus;        /* asked for: "h100:2|l40s:4" */
	uint32_t uid, cpus;
	uint64_t mem_mb;
	uint32_t time_limit_s;
	int64_t submit_time, start_time, end_time; /* microseconds of UTC */
	uint64_t elapsed_s;
	uint32_t exit_code, exit_signal;
	const char *node, *gpu_type;
	const uint32_t *gpu_indices; /* n_gpu_indices of them: the host's numbers */
	size_t n_gpu_indices;
	uint32_t attempt;
	int64_t priority;
	const char *comment;
	const char *qos;
	uint32_t nodes_min, nodes_max; /* asked for */
	uint32_t n_nodes;              /* of the present or last run */
	const char *nodes;             /* which: "h[07-08]" */
	uint32_t n_blockers;           /* reasons that hold it; `reason` is the first */
	uint32_t position;             /* among those that wait in its partition; 0: not known */
	int64_t planned_start;         /* microseconds of UTC; 0: none */
	const char *planned_nodes;
	double cost_max;         /* by the configured prices, to its time limit; < 0: it has none */
	uint32_t gpus_held;      /* on all its nodes; `node` and gpu_indices are of the first */
	int64_t checkpoint_time; /* its work up to here is safe, it says; 0: it has not said so */
	const char *progress;    /* progress, as the job reports it */
};

/* Return 0 to go on; anything else ends the listing and is returned by it. */
typedef int gpusched_on_job(const struct gpusched_job *job, void *arg);

/* Which jobs. Lists are NULL-terminated (ids: n_ids); NULL does not restrict. */
struct gpusched_filter {
	size_t size; /* of the program's struct: gpusched_filter_init() */
	const uint64_t *ids;
	size_t n_ids;
	const char *const *users;
	const char *const *partitions;
	const char *const *states; /* long or short: "PENDING" or "PD" */
	const char *const *names;
	const char *const *nodes;
	bool ended; /* ended ones too, while the controller keeps them */
	const char *const *accounts; /* and those below them */
	const char *const *qos;
};
void gpusched_filter_init_sized(struct gpusched_filter *filter, size_t size);
static inline void gpusched_filter_init(struct gpusched_filter *filter)
{
	gpusched_filter_init_sized(filter, sizeof(*filter));
}

/* In order of id; the controller sends them in pieces, so the first come before the last are
 * ready. `filter` may be NULL. */
int gpusched_list_jobs(struct gpusched *g, const struct gpusched_filter *filter,
        gpusched_on_job *on_job, void *arg, struct gpusched_error *err);

/* Call on_job once for each job when it has ended; returns when all have. Goes on after a break of
 * the connection. An id that is not known: job.unknown, and nothing is waited for. */
int gpusched_wait(struct gpusched *g, const uint64_t *ids, size_t n, gpusched_on_job *on_job,
        void *arg, struct gpusched_error *err);

enum gpusched_verb {
	GPUSCHED_CANCEL = 1,
	GPUSCHED_HOLD,
	GPUSCHED_RELEASE,
	GPUSCHED_SIGNAL,
	GPUSCHED_REQUEUE,
	GPUSCHED_SUSPEND,
	GPUSCHED_RESUME,
	GPUSCHED_REQUEUE_HOLD = 10,
};

/* Apply the action to all jobs of the filter, which must have a condition; `sig` for
 * GPUSCHED_SIGNAL, `reason` may be NULL. Returns the number of jobs changed; -1 with the first
 * error if there was any (the other jobs are changed all the same: *done, if not NULL, is their
 * number). */
int gpusched_control(struct gpusched *g, enum gpusched_verb verb,
        const struct gpusched_filter *filter, int sig, const char *reason, uint32_t *done,
        struct gpusched_error *err);

/* --- the cluster ---------------------------------------------------------------------------- */

struct gpusched_gpu_use { /* never changes: there are arrays of it */
	const char *type;
	uint32_t total, free, largest; /* largest: the most that one job can get on one node now */
	const char *largest_node;
};

struct gpusched_node {
	size_t size; /* as filled */
	const char *name, *state, *reason;
	uint32_t cpus, cpus_free;
	uint64_t mem_mb, mem_free_mb;
	const struct gpusched_gpu_use *gpus;
	size_t n_gpus;
	int64_t last_heard; /* microseconds of UTC */
};
typedef int gpusched_on_node(const struct gpusched_node *node, void *arg);

/* `names` NULL-terminated, or NULL for all. */
int gpusched_list_nodes(struct gpusched *g, const char *const *names, gpusched_on_node *on_node,
        void *arg, struct gpusched_error *err);

struct gpusched_partition {
	size_t size; /* as filled */
	const char *name, *state, *nodes; /* nodes: "h[01-16]" */
	bool is_default;
	uint32_t tier, default_time_s, max_time_s;
	uint32_t nodes_total, nodes_ok, nodes_drain, nodes_down;
	uint32_t jobs_pending, jobs_running;
	const struct gpusched_gpu_use *gpus;
	size_t n_gpus;
};
typedef int gpusched_on_partition(const struct gpusched_partition *partition, void *arg);
int gpusched_list_partitions(struct gpusched *g, const char *const *names,
        gpusched_on_partition *on_partition, void *arg, struct gpusched_error *err);

/* Figures about the controller itself, as `gctl stats` shows them. */
struct gpusched_stat {
	size_t size; /* as filled */
	const char *name, *unit, *help;
	double value;
};
typedef int gpusched_on_stat(const struct gpusched_stat *stat, void *arg);
int gpusched_stats(
        struct gpusched *g, gpusched_on_stat *on_stat, void *arg, struct gpusched_error *err);

#ifdef __cplusplus
}
#endif
#endif
