/* launcher_options.h - the agent's own options, which the launcher obeys
 *
 * The site's own minimum for this node: confine/effective_limits.h says what the controller may
 * add.
 */
#ifndef NODED_LAUNCHER_OPTIONS_H
#define NODED_LAUNCHER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/gpusched.pb-c.h"
#include "noded/contain/device_grants.h"
#include "noded/exec/rlimits.h"
#include "noded/exec/site_program_allowed.h"
#include "noded/stream/stream_access.h"
#include "noded/usage/gpu_memory_limit.h"

#define LAUNCHER_MPS             "/usr/bin/nvidia-cuda-mps-control"
#define LAUNCHER_MAX_PROCESSES   16384
#define LAUNCHER_SIGNATURE_AGE_S (14 * 86400) /* default of signature_age_s */
#define LAUNCHER_SERVICE_AGE_S   (90 * 86400) /* default of service_age_s */
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
	uint64_t service_age_s;     /* the same of a service, if its owner did not allow less; 0:
	                             * LAUNCHER_SERVICE_AGE_S. The controller has no say in it */
	uint32_t service_port_low, service_port_high; /* for replicas; 0: none */
	/* a killed process counts as stuck after this; 0: not reported */
	uint64_t kill_wait_ms;
	uint64_t launch_timeout_ms; /* until a run's program is executed; 0: CHILD_LAUNCH_MS */
	uint64_t spool_min_free_mb; /* a run that leaves less in the spool is ended; 0: none is */
	uint64_t gpu_timeout_ms;    /* for one probe of the GPUs; 0: PROBE_TIMEOUT_MS */
	uint64_t gpu_recheck_ms;    /* between two probes; 0: there is only one */
	uint64_t sample_ms;         /* between two samples of what runs use; 0: none */
	uint64_t idle_sample_ms;    /* between two samples of GPUs that no run holds; 0: none */
	const char *gpu_jobs; /* folder that tells which jobs are on which GPU; NULL or "": none */
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
	struct output_readers readers;      /* the site's consent: --output-readers */
	uint64_t max_processes;             /* of one run, threads too; 0: LAUNCHER_MAX_PROCESSES */
	struct device_grants_wish devices; /* strings as long as the process, as of `containment` */
	const char *containment; /* "devices,memory": run no job with less; NULL: no minimum */
};

#endif
