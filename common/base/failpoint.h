/* failpoint.h - named points at which a test can kill the process
 *
 * FAILPOINT(name) is nothing unless built with --enable-failpoints. Then GPUSCHED_FAILPOINT in the
 * environment, "NAME" or "NAME:N", makes the process kill itself with SIGKILL at the Nth pass (the
 * first by default) of that point, in whatever thread. Recovery is what the test then looks at.
 *
 * To add a point: a row here, FAILPOINT(name) in the code, a line in the crash tests that walk
 * through `gctld --list-failpoints`. Include config.h before this header.
 */
#ifndef COMMON_FAILPOINT_H
#define COMMON_FAILPOINT_H

#include <stdio.h>

/* X(name, where it is) */
#define FAILPOINTS(X)                                                                          \
	X(store_before_batch, "a batch has reached the store, nothing of it is written")       \
	X(store_before_commit, "all rows of a batch are written, COMMIT is not")               \
	X(store_after_commit, "a batch is durable, nobody knows yet")                          \
	X(store_before_done, "the loop knows of a commit, its effects are not released")       \
	X(store_after_done, "the effects of a commit are released")                            \
	X(store_before_checkpoint, "a checkpoint is due")                                      \
	X(store_after_checkpoint, "a checkpoint is done")                                      \
	X(store_reserve_unlinked, "the disk was full, the reserve is gone, no second try yet") \
	X(history_before_commit, "a slice is in history.db, not committed")                    \
	X(history_after_commit, "a slice is in both databases")                                \
	X(history_before_delete, "a copied slice is deleted from state.db, not committed")     \
	X(history_after_delete, "a slice has moved")                                           \
	X(archive_before_commit, "a slice is in the archive, not committed")                   \
	X(archive_after_commit, "a slice is in the archive and in history.db")                 \
	X(archive_before_drop, "an archived slice is deleted from history.db, not committed")  \
	X(archive_after_drop, "an archived slice has left history.db")                         \
	X(backup_between_slices, "a part of a backup is in its file")                          \
	X(backup_before_rename, "a backup is whole, it has not got its name")                  \
	X(backup_after_rename, "a backup has its name, nobody knows")                          \
	X(ctld_before_apply, "something has happened, the core has not seen it")               \
	X(ctld_after_apply, "the core has applied an event, nothing is sealed")                \
	X(ctld_before_seal, "rows are dirty, no batch has them")                               \
	X(ctld_after_seal, "a batch is made, the store has not got it")                        \
	X(ctld_before_release, "a batch is durable, nobody was told")                          \
	X(ctld_after_release, "who waited for a batch was told")                               \
	X(ctld_before_reply, "an answer to a user may leave and has not")                      \
	X(ctld_after_reply, "an answer to a user is on its way")                               \
	X(ctld_before_order, "an order to an agent may leave and has not")                     \
	X(ctld_after_order, "an order to an agent is on its way")                              \
	X(launcher_before_record, "a start is verified, nothing of it is written")             \
	X(launcher_after_record, "the launch record is written, RUN_DIR is not made")          \
	X(launcher_before_spawn, "everything is there, the shepherd is not")                   \
	X(launcher_after_spawn, "the shepherd was started, nobody was told")                   \
	X(launcher_before_told, "the launcher has read of an end and told nobody")             \
	X(shepherd_before_epilog, "nothing is left of the run, the epilog has not begun")      \
	X(shepherd_after_epilog, "the epilog has ended, there is no exit record")              \
	X(shepherd_before_fork, "the shepherd is about to fork the user's process")            \
	X(shepherd_before_exec, "the user's process is about to execute")                      \
	X(shepherd_before_started, "the program was executed, there is no record of it")       \
	X(shepherd_before_exit_record, "nothing is left of the run, there is no exit record")  \
	X(shepherd_after_exit_record, "the exit record is there")                              \
	X(shepherd_before_news, "a record is written, the launcher is not told")               \
	X(agent_before_register, "the agent knows its runs, the controller does not")          \
	X(agent_after_register, "a registration is queued")                                    \
	X(agent_before_tell_start, "a start has come, the launcher does not know")             \
	X(agent_after_tell_start, "a start is queued for the launcher")                        \
	X(agent_before_report, "a change of a run has come, it is not reported")               \
	X(agent_after_report, "a report is queued")                                            \
	X(agent_before_tell_forget, "an end was acknowledged, the launcher does not know")

#define X(name, help) FP_##name,
enum failpoint { FAILPOINTS(X) FAILPOINT_COUNT };
#undef X

#ifdef ENABLE_FAILPOINTS
#define FAILPOINT(name) failpoint_pass(FP_##name)
#else
#define FAILPOINT(name) ((void)0)
#endif

/* Count a pass; does not return where the environment says so. Use the macro. */
void failpoint_pass(enum failpoint point);

/* Print "NAME<tab>where it is" for each point. */
void failpoint_list(FILE *out);

#endif
