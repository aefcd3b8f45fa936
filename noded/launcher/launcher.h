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
 *   SPOOL/outputs/ID  a run's owner and where its output went (streams.c)
 *   SPOOL/mps/UID.GPU sockets and log of the user's MPS on the GPU (mps_daemon.h)
 *   SPOOL/settings    the controller's latest settings for runs (settings.c)
 *   SPOOL/state       highest epoch and job id; SPOOL/starts: how often a signature was used
 */
#ifndef NODED_LAUNCHER_H
#define NODED_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "noded/contain/device_grants.h"
#include "noded/contain/private.h"
#include "noded/exec/program.h"
#include "noded/exec/rlimits.h"
#include "noded/usage/overmem.h"

#define LAUNCHER_MPS             "/usr/bin/nvidia-cuda-mps-control"
#define LAUNCHER_MAX_PROCESSES   16384
#define LAUNCHER_SIGNATURE_AGE_S (14 * 86400) /* default of signature_age_s */
/* Exit status if the node cannot provide what the site demands: a restart would not help. */
#define LAUNCHER_NEVER 3

/* Length of a datagram that carries the log's descriptor; a stream's number is longer. */
#define LAUNCHER_LOG_LEN 1

struct launcher_options {
	const char *node;           /* its name in the configuration */
	const char *cluster;        /* cluster id: jobs signed for another are refused */
	const char *rundir;         /* made if missing; one launcher at a time (locked) */
	const char *spool;          /* made if missing; must not be mounted noexec */
	const char *munge_socket;   /* NULL or "": munge's own default */
	const char *munge_socket_2; /* NULL or "": none; asked for credentials of another key */
	const char *shepherd;       /* path of gshepherd */
	const char *cgroup;         /* NULL or "": chosen; "none": do not use cgroups; else a path
	                             * below the cgroup2 mount, delegated to us */
	uint64_t signature_age_s;   /* how old a signature may be; 0: LAUNCHER_SIGNATURE_AGE_S.
	                             * The controller may ask for less */
	/* a killed process counts as stuck after this; 0: not reported */
	uint64_t kill_wait_ms;
	uint64_t launch_timeout_ms; /* until a run's program is executed; 0: CHILD_LAUNCH_MS */
	uint64_t spool_min_free_mb; /* a run that leaves less in the spool is ended; 0: none is */
	uint64_t gpu_timeout_ms;    /* for one probe of the GPUs; 0: PROBE_TIMEOUT_MS */
	uint64_t gpu_recheck_ms;    /* between two probes; 0: there is only one */
	uint64_t sample_ms;         /* between two samples of what runs use; 0: none */
	enum overmem_policy over_memory;     /* of runs with a part of a GPU */
	bool over_memory_said;               /* set by the site, not the built-in default */
	bool share_users_one;                /* only one user's runs share a GPU at a time */
	const char *mps;                     /* NULL: LAUNCHER_MPS. As long as the process */
	bool allow_root;                     /* run root's jobs (only matters when we are root) */
	const char *programs[PROGRAM_KINDS]; /* the site's; NULL: none. As long as the process */
	const char *programs_of;     /* the folder of those that gpusched.conf may name; NULL:
	                              * none are. As long as the process */
	uint64_t program_timeout_ms; /* of each; 0: PROGRAM_TIMEOUT_MS */
	uint64_t health_interval_s;  /* between two health checks; 0: there is only one */
	uint32_t private_kinds;      /* bits of enum private_kind */
	uint64_t private_tmp_mb;     /* of each, in memory; 0: on disk */
	const Gpusched__RunRlimit *rlimits; /* the site's; as long as the process */
	size_t n_rlimits;                   /* at most RLIMITS_MAX */
	uint64_t max_processes;             /* of one run, threads too; 0: LAUNCHER_MAX_PROCESSES */
	struct device_grants_wish devices; /* strings as long as the process, as of `containment` */
	const char *containment; /* "devices,memory": not to run jobs with less; NULL: whatever */
};

/* Prepare directories and lock, then fork the launcher. Returns the agent's end of the socket pair
 * (close-on-exec, not blocking), or -1 with ERR_SYSTEM or ERR_USAGE; the child is in *pid. *streams
 * (NULL: not wanted) is the agent's end of the pair for streams. It receives datagrams, each with a
 * descriptor: a stream's number (uint64) with the stream's socket, or LAUNCHER_LOG_LEN bytes with
 * the reopened log file. Call it early: before threads, an event base or descriptors that the
 * launcher must not have (it closes all but 0, 1, 2). Options are copied where needed. */
int launcher_fork(
        const struct launcher_options *options, int *streams, pid_t *pid, struct error *err);

#endif
