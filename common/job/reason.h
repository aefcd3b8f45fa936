/* reason.h - the words that say why a job waits, or why it did not end well
 *
 * Slurm's words wherever it has one. Scripts compare them, so they never change their meaning. The
 * core says them, `gctl list-reasons` and gqueue(1) list them.
 */
#ifndef COMMON_REASON_H
#define COMMON_REASON_H

#include <stdbool.h>
#include <stddef.h>

#define REASON_WORDS(X)                                                                          \
	/* why it waits */                                                                       \
	X(REASON_NONE, "None", "it has just come")                                               \
	X(REASON_PRIORITY, "Priority", "jobs that come first are to have what is free")          \
	X(REASON_RESOURCES, "Resources", "what it asks for is not free")                         \
	X(REASON_NODE_NOT_AVAIL, "ReqNodeNotAvail",                                              \
	        "all nodes that could run it are down, drained or not heard of")                 \
	X(REASON_PARTITION_DOWN, "PartitionDown", "its partition starts nothing now")            \
	X(REASON_BAD_CONSTRAINTS, "BadConstraints",                                              \
	        "since the configuration changed no node could ever run it")                     \
	X(REASON_LICENSES, "Licenses", "licences that it asks for are in use")                   \
	X(REASON_BEGIN_TIME, "BeginTime",                                                        \
	        "it is not to start before a time, or not so soon again")                        \
	X(REASON_DEPENDENCY, "Dependency", "it waits for other jobs")                            \
	X(REASON_NEVER_SATISFIED, "DependencyNeverSatisfied",                                    \
	        "it waits for what can never come true any more")                                \
	X(REASON_HELD_USER, "JobHeldUser", "held by its owner")                                  \
	X(REASON_HELD_ADMIN, "JobHeldAdmin", "held by a coordinator, operator or administrator") \
	X(REASON_ARRAY_LIMIT, "JobArrayTaskLimit",                                               \
	        "as many of its array's tasks run as may at a time")                             \
	X(REASON_ATTEMPT_ALIVE, "AttemptAlive", "its last attempt has not ended everywhere")     \
	X(REASON_SIGNATURE_EXPIRED, "SignatureExpired",                                          \
	        "its owner's signature is too old: gctl renew")                                 \
	X(REASON_SIGNATURE_REFUSED, "SignatureRefused",                                          \
	        "its node refused its owner's signature, made with another key: gctl renew")    \
	X(REASON_SUSPENDED, "ControllerSuspended", "the controller starts nothing now")          \
	/* how it ended, or what became of it */                                                 \
	X(REASON_LAUNCH_FAILURE, "JobLaunchFailure",                                             \
	        "it could not be started: it is held, or failed if its owner must mend the cause")  \
	X(REASON_EXIT_CODE, "NonZeroExitCode", "it ended with an exit code or a signal")         \
	X(REASON_TIME_LIMIT, "TimeLimit", "it reached its time limit")                           \
	X(REASON_DEADLINE, "DeadLine", "it could not end by its deadline")                       \
	X(REASON_OUT_OF_MEMORY, "OutOfMemory",                                                   \
	        "it used more host memory than it asked for, or its node had no more")           \
	X(REASON_GPU_MEMORY, "GpuMemory", "it used more of a shared GPU's memory than it may")   \
	X(REASON_GPU_BURST, "GpuBurst",                                                          \
	        "memory of a GPU that was borrowed is needed by whose it is")                    \
	X(REASON_IDLE, "Idle", "it did not use its GPUs")                                        \
	X(REASON_SPOOL, "SpoolFull", "its files on the node filled the spool")                   \
	X(REASON_PREEMPTED, "Preempted", "it was stopped for another job")                       \
	X(REASON_NODE_DOWN, "NodeDown", "a node of it is off, or came back without it")          \
	X(REASON_NODE_UNKNOWN, "NodeUnknown", "its node is not heard of: nothing is known")

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
