/* launcher.h - the half of the node agent that keeps its privileges
 *
 * gnoded forks the launcher before it drops privileges and speaks with it over a socket pair. The
 * launcher has no network. It trusts nothing that comes from the other half: every message is
 * decoded with the same limits as one from the network, and what is started is what its owner
 * signed (common/signedjob.h). It owns the records of the runs (record.h) and starts, ends and
 * watches their shepherds; a run outlives agent and launcher.
 *
 * On the socket pair travel frames in the clear (common/frame.h, noise NULL, id 0); senders are
 * MSG_BY_LAUNCHER and MSG_BY_AGENT_LOCAL. The launcher speaks first and only once of itself:
 *
 *      launcher                        agent
 *      LauncherHello  ------------->           every run that is not forgotten, as found
 *                     <-------------  StartRun, EndRun, SignalRun, SuspendRun, ForgetRun,
 *                                      LauncherEpoch, NodeSettings
 *      RunReport (LAUNCHER_RUN) --->           whenever the state of a run has changed
 *                     <-------------  LauncherCred: a hello's payload
 *      LauncherCred   ------------->           the credential, or the error
 *                     <-------------  LauncherStream: a client's greeting to a run
 *      LauncherStream ------------->           the error, or a descriptor on the second pair
 *      LAUNCHER_GPUS  ------------->           Inventory: the GPUs, the node's health or what holds
 *                                              runs are not what the hello said
 *      LAUNCHER_USED  ------------->           what runs use now
 *      GPU_REPORT     ------------->           what is wrong with GPUs, until GPU_ACK
 *                     <-------------  GPU_ACK, GPU_CHECK: of the controller
 *
 * StartRun is answered with STARTING, then RUNNING, then ENDED, or with NEVER and what was wrong; a
 * StartRun of a run that is known already is answered with its present state and starts nothing.
 * EndRun of a run that is not known writes a tombstone and is answered with NEVER. Ends are kept,
 * and told in each hello, until ForgetRun. Orders with an epoch below the highest seen are not
 * obeyed (a StartRun is answered with NEVER, as each that is refused, the others with nothing).
 *
 * The launcher ends when the socket pair is closed; runs go on. gnoded ends when the launcher does:
 * the service manager starts both again.
 *
 * As root the launcher starts runs of any user (root's own only with allow_root). Otherwise it
 * starts runs of its own user only, and says so in NEVER to all others.
 *
 * Files, all in directories that only the launcher's user can write to:
 *   RUNDIR/lock, incarnation, state, notify, faults, runs/ID/...   tmpfs; see record.h
 *   SPOOL/runs/ID     the run's RUN_DIR, private to its owner: script, interrupt, ack. On a file
 *                     system that allows to execute, which /run often does not.
 *   SPOOL/exits/ID    copies of exit records that nobody acknowledged within a second, synced
 *   SPOOL/outputs/ID  whose a run is and where its output went (lstream.c)
 *   SPOOL/mps/UID.GPU sockets and log of the user's MPS on the GPU (mps.h)
 *   SPOOL/settings    what the controller said last of how runs are held (lsettings.c)
 *   SPOOL/state       highest epoch and job id; SPOOL/starts: how often a signature was used
 */
#ifndef NODED_LAUNCHER_H
#define NODED_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "noded/exec/private.h"
#include "noded/exec/rlimits.h"
#include "noded/launcher/grants.h"
#include "noded/shepherd/program.h"
#include "noded/usage/overmem.h"

#define LAUNCHER_MPS             "/usr/bin/nvidia-cuda-mps-control"
#define LAUNCHER_MAX_PROCESSES   16384
#define LAUNCHER_SIGNATURE_AGE_S (14 * 86400) /* default of signature_age_s */
/* Its exit status where what the site demands cannot be had: starting it again is of no use. */
#define LAUNCHER_NEVER 3

/* Of a datagram with the log's descriptor: no stream's number. */
#define LAUNCHER_LOG_LEN 1

struct launcher_options {
	const char *node;           /* its name in the configuration */
	const char *cluster;        /* cluster id: jobs signed for another are refused */
	const char *rundir;         /* made if missing; one launcher at a time (locked) */
	const char *spool;          /* made if missing; must not be mounted noexec */
	const char *munge_socket;   /* NULL or "": munge's own default */
	const char *munge_socket_2; /* NULL or "": none; asked for what has another key */
	const char *shepherd;       /* path of gshepherd */
	const char *cgroup;         /* NULL or "": chosen; "none": do not use cgroups; else a path
	                             * below the cgroup2 mount, delegated to us */
	uint64_t signature_age_s;   /* how old a signature may be; 0: LAUNCHER_SIGNATURE_AGE_S.
	                             * The controller may ask for less */
	uint64_t kill_wait_ms;      /* what was killed hangs after so long; 0: nobody is told */
	uint64_t launch_timeout_ms; /* until a run's program is executed; 0: CHILD_LAUNCH_MS */
	uint64_t spool_min_free_mb; /* who leaves less in the spool is ended; 0: nobody is */
	uint64_t gpu_timeout_ms;    /* for one look at the GPUs; 0: PROBE_TIMEOUT_MS */
	uint64_t gpu_recheck_ms;    /* between two; 0: there is only one */
	uint64_t sample_ms;         /* between two looks at what runs use; 0: there is none */
	enum overmem_policy over_memory;     /* of runs with a part of a GPU */
	bool over_memory_said;               /* by the site, and not what is built in */
	bool share_users_one;                /* one user's runs at a time share a GPU */
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
	struct grants_wish devices; /* strings as long as the process, as of `containment` */
	const char *containment; /* "devices,memory": not to run jobs with less; NULL: whatever */
};

/* Prepare directories and lock, then fork the launcher. Returns the agent's end of the socket pair
 * (close-on-exec, not blocking), that of the pair for streams in *streams (NULL: none), on which
 * come datagrams of a stream's number (uint64) with a descriptor, or of LAUNCHER_LOG_LEN bytes with
 * that of the log file, opened again; and the child in *pid, or -1 with
 * ERR_SYSTEM or ERR_USAGE and what is wrong. Call it early: before threads, an event base or
 * descriptors that the launcher must not have (it closes all but 0, 1, 2). Options are copied where
 * needed. */
int launcher_fork(
        const struct launcher_options *options, int *streams, pid_t *pid, struct error *err);

#endif
