/* reason.h - the words that say why a job waits, or why it did not end well
 *
 * Slurm's words wherever it has one. Scripts compare them, so they never change their meaning. The
 * core says them, `gctl list-reasons` and gqueue(1) list them.
 */
#ifndef COMMON_REASON_H
#define COMMON_REASON_H

#include <stdbool.h>
#include <stddef.h>

#define REASON_WORDS(X)                                                                           \
	/* why it waits */                                                                        \
	X(REASON_NONE, "None", "it has just been submitted")                                      \
	X(REASON_PRIORITY, "Priority", "the free resources are planned for jobs ahead of it")     \
	X(REASON_RESOURCES, "Resources", "the requested resources are not free")                  \
	X(REASON_NODE_NOT_AVAIL, "ReqNodeNotAvail",                                               \
	        "all nodes that could run it are down, drained or unreachable")                   \
	X(REASON_PARTITION_DOWN, "PartitionDown", "its partition currently starts no jobs")       \
	X(REASON_BAD_CONSTRAINTS, "BadConstraints",                                               \
	        "after a change of the configuration no node can ever run it")                    \
	X(REASON_LICENSES, "Licenses", "the requested licences are in use")                       \
	X(REASON_BEGIN_TIME, "BeginTime",                                                         \
	        "its earliest start time, or the delay of a requeue, has not been reached")       \
	X(REASON_DEPENDENCY, "Dependency", "it waits for other jobs")                             \
	X(REASON_NEVER_SATISFIED, "DependencyNeverSatisfied",                                     \
	        "it waits for a condition that can no longer be fulfilled")                       \
	X(REASON_HELD_USER, "JobHeldUser", "held by its owner")                                   \
	X(REASON_HELD_ADMIN, "JobHeldAdmin", "held by a coordinator, operator or administrator")  \
	X(REASON_ARRAY_LIMIT, "JobArrayTaskLimit",                                                \
	        "as many tasks of its array run as may run at the same time")                     \
	X(REASON_NOT_WANTED, "NotWanted",                                                         \
	        "a slot of a service that has as many replicas as it wants")                      \
	X(REASON_ATTEMPT_ALIVE, "AttemptAlive", "its last attempt has not ended on all nodes")    \
	X(REASON_SIGNATURE_EXPIRED, "SignatureExpired",                                           \
	        "its owner's signature is too old: gctl renew")                                   \
	X(REASON_SIGNATURE_REFUSED, "SignatureRefused",                                           \
	        "its node refused its owner's signature, made with another key: gctl renew")      \
	X(REASON_SUSPENDED, "ControllerSuspended", "the controller currently starts no jobs")     \
	/* how it ended, or what became of it */                                                  \
	X(REASON_LAUNCH_FAILURE, "JobLaunchFailure",                                              \
	        "it could not be started: it is held, or failed if its owner must fix the cause") \
	X(REASON_EXIT_CODE, "NonZeroExitCode", "it ended with an exit code or a signal")          \
	X(REASON_TIME_LIMIT, "TimeLimit", "it reached its time limit")                            \
	X(REASON_DEADLINE, "DeadLine", "it could not end by its deadline")                        \
	X(REASON_OUT_OF_MEMORY, "OutOfMemory",                                                    \
	        "it used more host memory than it asked for, or its node had no more")            \
	X(REASON_GPU_MEMORY, "GpuMemory", "it used more of a shared GPU's memory than it may")    \
	X(REASON_GPU_BURST, "GpuBurst", "another job needs the GPU memory that it has borrowed")  \
	X(REASON_IDLE, "Idle", "it did not use its GPUs")                                         \
	X(REASON_SPOOL, "SpoolFull", "its files on the node filled the spool")                    \
	X(REASON_PREEMPTED, "Preempted", "it was stopped for another job")                        \
	X(REASON_NODE_DOWN, "NodeDown", "one of its nodes is off, or came back without it")       \
	X(REASON_NODE_UNKNOWN, "NodeUnknown",                                                     \
	        "its node is unreachable: the state of the job is not known")

#define X(symbol, word, meaning) symbol,
enum reason { REASON_WORDS(X) REASONS };
#undef X

const char *reason_word(enum reason reason);

/* All words in turn, from `i` 0 on, those of limits behind the others; false: there are no more.
 * What a word means goes to `meaning`. */
#define REASON_TEXT 120
bool reason_list(size_t i, char word[REASON_TEXT], char meaning[REASON_TEXT]);

/* Is it one of them? */
bool reason_known(const char *word);

#endif
