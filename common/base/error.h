/* error.h - the one idiom for failure
 *
 * A function that can fail returns 0 or more on success and -1 on failure, and takes a `struct
 * error *err` as its last argument (NULL: the caller does not need it). On success `err` is
 * untouched, on failure the outputs are. Texts are short and factual, name the wrong value and say
 * what would be right; advice that helps but is not the fault itself goes in the hint. The code
 * that decides what to do about an error logs it, once; common/ and the cores never log.
 *
 * Codes are rows of one table (error.c): a stable dotted name for JSON and scripts, and the exit
 * status that a command ends with. To add one: a row in ERROR_CODES, and the manual follows (man/
 * takes the list from `gctl --list-errors`).
 */
#ifndef COMMON_ERROR_H
#define COMMON_ERROR_H

#include <stddef.h>

/* Exit statuses of all commands (interface: fixed). */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_REFUSED = 1,
	EXIT_USAGE = 2,
	EXIT_NO_OBJECT = 3,
	EXIT_NO_CONTROLLER = 4,
	EXIT_NOT_PERMITTED = 5,
	EXIT_OWN_FAILURE = 125, /* --wait: our own failure, not the job's */
};

/* X(symbol, dotted name, exit status, what it means). The numbers travel on the wire, so rows are
 * only ever appended. */
#define ERROR_CODES(X)                                                                             \
	X(ERR_NONE, "ok", EXIT_DONE, "no error")                                                   \
	X(ERR_INTERNAL, "internal", EXIT_REFUSED, "a fault of gpusched itself")                    \
	X(ERR_USAGE, "usage", EXIT_USAGE, "an option or argument that cannot be understood")       \
	X(ERR_SYSTEM, "system", EXIT_REFUSED, "the operating system refused something")            \
	X(ERR_CONFIG, "config", EXIT_REFUSED, "a mistake in a configuration file")                 \
	X(ERR_PROTOCOL, "protocol", EXIT_NO_CONTROLLER, "a peer sent what the protocol forbids")   \
	X(ERR_VERSION, "protocol.version", EXIT_NO_CONTROLLER, "the peer's protocol is too new or old") \
	X(ERR_UNREACHABLE, "controller.unreachable", EXIT_NO_CONTROLLER, "no connection")          \
	X(ERR_TIMEOUT, "controller.timeout", EXIT_NO_CONTROLLER, "no answer in time")              \
	X(ERR_MUNGE_DOWN, "munge.down", EXIT_NO_CONTROLLER, "the munge daemon does not answer")    \
	X(ERR_MUNGE_KEY, "munge.key", EXIT_NO_CONTROLLER, "the munge keys of the hosts differ")    \
	X(ERR_MUNGE_CLOCK, "munge.clock", EXIT_NO_CONTROLLER, "the clocks of the hosts differ")    \
	X(ERR_MUNGE_REPLAY, "munge.replay", EXIT_NO_CONTROLLER, "a credential was used twice")     \
	X(ERR_AUTH, "auth", EXIT_NOT_PERMITTED, "the peer's credential is not acceptable")         \
	X(ERR_CLUSTER, "auth.cluster", EXIT_NO_CONTROLLER, "that controller serves another cluster") \
	X(ERR_NOT_PERMITTED, "permission", EXIT_NOT_PERMITTED, "the user may not do that")         \
	X(ERR_BUSY, "busy", EXIT_NO_CONTROLLER, "too much work at hand; try again later")          \
	X(ERR_NO_SPACE, "disk.full", EXIT_REFUSED, "the controller's disk is (nearly) full")       \
	X(ERR_NO_JOB, "job.unknown", EXIT_NO_OBJECT, "no such job")                                \
	X(ERR_NO_NODE, "node.unknown", EXIT_NO_OBJECT, "no such node")                             \
	X(ERR_NO_PARTITION, "partition.unknown", EXIT_NO_OBJECT, "no such partition")              \
	X(ERR_NO_GPU_TYPE, "gpu_type.unknown", EXIT_NO_OBJECT, "no such GPU type")                 \
	X(ERR_JOB_STATE, "job.state", EXIT_REFUSED, "the job's state does not allow that")         \
	X(ERR_NODE_STATE, "node.state", EXIT_REFUSED, "the node's state does not allow that")      \
	X(ERR_JOB_SPEC, "job.spec", EXIT_REFUSED, "the job's specification is not acceptable")     \
	X(ERR_JOB_NEVER, "job.never", EXIT_REFUSED, "the job could never start on this cluster")   \
	X(ERR_TIME_LIMIT, "limit.partition.time", EXIT_REFUSED, "over the partition's max_time")   \
	X(ERR_TOKEN, "job.token", EXIT_REFUSED, "the token was used for a different job")          \
	X(ERR_SIGNATURE, "job.signature", EXIT_NOT_PERMITTED, "the job's signature does not fit")  \
	X(ERR_LIMIT_JOBS, "limit.jobs", EXIT_REFUSED, "the controller holds as many jobs as it may") \
	X(ERR_EPOCH, "epoch", EXIT_REFUSED, "an order of a controller no longer in charge")        \
	X(ERR_LAUNCH, "launch", EXIT_REFUSED, "a run could not be started on its node")            \
	X(ERR_LIMIT_ACCOUNT_GPUS, "limit.account.gpus", EXIT_REFUSED, "over an account's limit of GPUs") \
	X(ERR_LIMIT_ACCOUNT_GPU_MEM, "limit.account.gpu_mem", EXIT_REFUSED, "over an account's limit of GPU memory") \
	X(ERR_LIMIT_ACCOUNT_CPUS, "limit.account.cpus", EXIT_REFUSED, "over an account's limit of CPUs") \
	X(ERR_LIMIT_ACCOUNT_MEM, "limit.account.mem", EXIT_REFUSED, "over an account's limit of memory") \
	X(ERR_LIMIT_ACCOUNT_NODES, "limit.account.nodes", EXIT_REFUSED, "over an account's limit of nodes") \
	X(ERR_LIMIT_ACCOUNT_RUNNING, "limit.account.running", EXIT_REFUSED, "over an account's limit of running jobs") \
	X(ERR_LIMIT_ACCOUNT_QUEUED, "limit.account.queued", EXIT_REFUSED, "over an account's limit of jobs that wait or run") \
	X(ERR_LIMIT_ACCOUNT_TIME, "limit.account.time", EXIT_REFUSED, "over an account's limit of time") \
	X(ERR_LIMIT_ACCOUNT_GPU_HOURS, "limit.account.gpu_hours", EXIT_REFUSED, "over an account's limit of GPU-hours") \
	X(ERR_LIMIT_QOS_GPUS, "limit.qos.gpus", EXIT_REFUSED, "over a QOS's limit of GPUs") \
	X(ERR_LIMIT_QOS_GPU_MEM, "limit.qos.gpu_mem", EXIT_REFUSED, "over a QOS's limit of GPU memory") \
	X(ERR_LIMIT_QOS_CPUS, "limit.qos.cpus", EXIT_REFUSED, "over a QOS's limit of CPUs") \
	X(ERR_LIMIT_QOS_MEM, "limit.qos.mem", EXIT_REFUSED, "over a QOS's limit of memory") \
	X(ERR_LIMIT_QOS_NODES, "limit.qos.nodes", EXIT_REFUSED, "over a QOS's limit of nodes") \
	X(ERR_LIMIT_QOS_RUNNING, "limit.qos.running", EXIT_REFUSED, "over a QOS's limit of running jobs") \
	X(ERR_LIMIT_QOS_QUEUED, "limit.qos.queued", EXIT_REFUSED, "over a QOS's limit of jobs that wait or run") \
	X(ERR_LIMIT_QOS_TIME, "limit.qos.time", EXIT_REFUSED, "over a QOS's limit of time") \
	X(ERR_LIMIT_QOS_GPU_HOURS, "limit.qos.gpu_hours", EXIT_REFUSED, "over a QOS's limit of GPU-hours") \
	X(ERR_LIMIT_PARTITION_GPUS, "limit.partition.gpus", EXIT_REFUSED, "over a partition's limit of GPUs") \
	X(ERR_LIMIT_PARTITION_GPU_MEM, "limit.partition.gpu_mem", EXIT_REFUSED, "over a partition's limit of GPU memory") \
	X(ERR_LIMIT_PARTITION_CPUS, "limit.partition.cpus", EXIT_REFUSED, "over a partition's limit of CPUs") \
	X(ERR_LIMIT_PARTITION_MEM, "limit.partition.mem", EXIT_REFUSED, "over a partition's limit of memory") \
	X(ERR_LIMIT_PARTITION_NODES, "limit.partition.nodes", EXIT_REFUSED, "over a partition's limit of nodes") \
	X(ERR_LIMIT_PARTITION_RUNNING, "limit.partition.running", EXIT_REFUSED, "over a partition's limit of running jobs") \
	X(ERR_LIMIT_PARTITION_QUEUED, "limit.partition.queued", EXIT_REFUSED, "over a partition's limit of jobs that wait or run") \
	X(ERR_LIMIT_PARTITION_GPU_HOURS, "limit.partition.gpu_hours", EXIT_REFUSED, "over a partition's limit of GPU-hours") \
	X(ERR_LIMIT_LICENCES, "limit.licences", EXIT_REFUSED, "more licences than there are")                 \
	X(ERR_PARTITION_STATE, "partition.state", EXIT_REFUSED, "the partition takes no jobs now") \
	X(ERR_NO_ACCOUNT, "account.unknown", EXIT_NO_OBJECT, "no such account")                    \
	X(ERR_ACCOUNT_MEMBER, "account.member", EXIT_NOT_PERMITTED, "the user is no member of the account") \
	X(ERR_ACCOUNT_LABELS, "account.labels", EXIT_REFUSED, "a label that the account requires is missing") \
	X(ERR_NO_QOS, "qos.unknown", EXIT_NO_OBJECT, "no such QOS")                                \
	X(ERR_QOS_ACCOUNT, "qos.account", EXIT_NOT_PERMITTED, "the account may not use the QOS")   \
	X(ERR_PARTITION_ACCOUNT, "partition.account", EXIT_NOT_PERMITTED, "the account may not use the partition") \
	X(ERR_REQUIRE_GPU, "partition.require_gpu", EXIT_REFUSED, "the partition is for jobs with GPUs") \
	X(ERR_BULK, "bulk.parts", EXIT_NO_CONTROLLER, "not all parts of a bulk submit have arrived") \
	X(ERR_ANSWER_SIZE, "answer.size", EXIT_REFUSED, "an answer that is larger than a message may be") \
	X(ERR_BUDGET, "limit.user", EXIT_REFUSED, "over what one user may hold of the controller") \
	X(ERR_SESSIONS, "limit.sessions", EXIT_NO_CONTROLLER, "as many connections as one user may have, none of them idle") \
	X(ERR_LIMIT_STEPS, "limit.steps", EXIT_REFUSED, "more steps than an attempt of a job may have") \
	X(ERR_NO_SERVICE, "service.unknown", EXIT_NO_OBJECT, "no such service")

#define X(sym, name, exit, help) sym,
enum error_code { ERROR_CODES(X) ERR_COUNT };
#undef X

struct error {
	int code;	/* enum error_code */
	char text[512]; /* one line, no trailing newline or full stop */
	char hint[256]; /* "" or one line of advice */
};

/* Fill `err` (unless NULL), clear its hint, return -1: `return error_set(err, ERR_USAGE, ...);` */
int error_set(struct error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Add advice to an error that is set. Returns -1, so it can end a function too. */
int error_hint(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "CONTEXT: " before the text: error_wrap(err, "partition '%s'", name). Returns -1. */
int error_wrap(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Another mistake of the same request: its text goes behind that of `err` as far as there is room,
 * and its hint if `err` has none; the code stays the first one's. An `err` of code ERR_NONE becomes
 * `more`. Returns -1. */
int error_also(struct error *err, const struct error *more);

const char *error_name(int code);   /* dotted name; "internal" for an unknown code */
int error_exit_status(int code);    /* enum exit_status */
const char *error_meaning(int code); /* one line for manuals */

#endif
