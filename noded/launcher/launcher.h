/* launcher.h - the half of the node agent that keeps its privileges
 *
 * gnoded forks the launcher before it drops privileges and communicates with it over a socket pair.
 * The launcher has no network. It does not trust the other half: every message is decoded with the
 * same limits as one from the network, and a run is started only as its owner signed it
 * (common/net/signedjob.h). The launcher owns the records of the runs (record.h) and starts, ends
 * and watches their shepherds; a run outlives agent and launcher.
 *
 * The socket pair carries unencrypted frames (common/net/frame.h, noise NULL, id 0); senders are
 * MSG_BY_LAUNCHER and MSG_BY_AGENT_LOCAL. The launcher sends the first message, LauncherHello, and
 * sends it once:
 *
 *      LauncherHello  ------------->           every run that is not forgotten, as found
 *                     <-------------  StartRun, EndRun, SignalRun, SuspendRun, ForgetRun,
 *                                      LauncherEpoch, NodeSettings
 *      RunReport (LAUNCHER_RUN) --->           whenever the state of a run has changed
 *                     <-------------  LauncherCred: a hello's payload
 *      LauncherCred   ------------->           the credential, or the error
 *                     <-------------  LauncherStream: a client's greeting to a run
 *      LauncherStream ------------->           the error, or a descriptor on the second pair
 *      LAUNCHER_GPUS  ------------->           Inventory: the GPUs, the node's health or what
 *                                              confines runs differ from the hello
 *      LAUNCHER_USED  ------------->           what runs use now
 *      RUNS_LOAD      ------------->           the load of replicas of services
 *      GPU_REPORT     ------------->           what is wrong with GPUs, until GPU_ACK
 *                     <-------------  GPU_ACK, GPU_CHECK: of the controller
 *
 * StartRun is answered with STARTING, then RUNNING, then ENDED, or with NEVER and the error. A
 * StartRun of a known run is answered with its present state and starts nothing. EndRun of an
 * unknown run writes a tombstone and is answered with NEVER. Ends are kept, and reported in each
 * hello, until ForgetRun. Orders with an epoch below the highest seen are not obeyed: a StartRun is
 * answered with NEVER, like every refused start; the others get no answer.
 *
 * The launcher ends when the socket pair is closed; runs go on. gnoded ends when the launcher does;
 * then the supervisor starts both again (supervise.h).
 *
 * As root the launcher starts runs of any user (root's own only with allow_root). Otherwise it
 * starts runs of its own user only, and says so in NEVER to all others.
 *
 * Files, all in directories that only the launcher's user can write to:
 *   RUNDIR/lock, incarnation, state, notify, faults, runs/ID/...   tmpfs; see record.h
 *   SPOOL/runs/ID     the run's RUN_DIR, private to its owner: script, interrupt, ack. On a file
 *                     system that allows to execute, which /run often does not.
 *   SPOOL/exits/ID    synced copies of exit records that were not acknowledged within a second
 *   SPOOL/outputs/ID  a run's owner and where its output went (stream_grants.c)
 *   SPOOL/mps/UID.GPU sockets and log of the user's MPS on the GPU (mps_daemon.h)
 *   SPOOL/settings    the controller's latest settings for runs (node_settings.c)
 *   SPOOL/state       highest epoch and job id; SPOOL/starts: how often a signature was used
 */
#ifndef NODED_LAUNCHER_H
#define NODED_LAUNCHER_H

#include <sys/types.h>

#include "common/base/error.h"
#include "noded/runs/launcher_options.h"

/* Exit status if the node cannot provide what the site demands: a restart would not help. */
#define LAUNCHER_NEVER 3

/* Prepare directories and lock, then fork the launcher. Returns the agent's end of the socket pair
 * (close-on-exec, not blocking), or -1 with ERR_SYSTEM or ERR_USAGE; the child is in *pid. *streams
 * (NULL: not wanted) is the agent's end of the pair for streams. It receives datagrams, each with a
 * descriptor: a stream's number (uint64) with the stream's socket, or LAUNCHER_LOG_LEN bytes with
 * the reopened log file. Call it early: before threads, an event base or descriptors that the
 * launcher must not have (it closes all but 0, 1, 2). Options are copied where needed. */
int launcher_fork(
        const struct launcher_options *options, int *streams, pid_t *pid, struct error *err);

#endif
