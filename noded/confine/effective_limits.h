/* effective_limits.h - what a node's runs must keep to: the agent's own options and the
 * controller's settings together, the stricter of both
 *
 * The options of gnoded are the site's own minimum for this node. NodeSettings is what
 * gpusched.conf says for it, sent by the controller, which may have been taken over by an attacker.
 * So settings add to the options and never weaken what they say:
 *
 *	containment     both lists
 *	private         both, and those that the containment demands
 *	private_tmp     the smaller; with it goes `tmp`
 *	rlimits         the lower number of each, soft and hard; if the agent names none the soft
 *	                limit may be anything up to the table's hard one (common/job/rlimit.h),
 *	                since any process may raise its own so far
 *	max_processes   the lower
 *	sample_every    the shorter, and on even if the agent says off; gpu_recheck and idle_sample
 *	                too
 *	kill_wait       the shorter
 *	spool_min_free  the larger
 *	over_memory     the stricter; the built-in value if neither names one
 *	share_users     `one` if either says so
 *	gpu_devices     only if the agent names none; used where no GPUs are found
 *	                (device_grants.h)
 *	devices         added, unless the agent's own --containment has `devices`: then its
 *	                --device options are the whole list. Never a GPU's file (device_grants.h)
 *	programs        only kinds for which the agent names no program, and only from one folder
 *	                that root owns (program_told()). If such a program may not be run it is
 *	                not skipped: no run is started meanwhile. The health check is one of them
 *	health_interval of a health check that the settings name
 *
 * Settings that make no sense are left out and reported.
 */
#ifndef NODED_EFFECTIVE_LIMITS_H
#define NODED_EFFECTIVE_LIMITS_H

#include <stdint.h>

#include "common/base/strbuf.h"
#include "common/gpusched.pb-c.h"
#include "noded/runs/launcher_options.h"

/* Bounds of the controller's values. */
#define LIMITS_SAMPLE_MIN_MS         100
#define LIMITS_IDLE_SAMPLE_MIN_MS    5000
#define LIMITS_KILL_WAIT_MIN_MS      100
#define LIMITS_GPU_RECHECK_MIN_MS    1000
#define LIMITS_HEALTH_INTERVAL_MAX_S (30 * 86400)

struct effective_program {
	char *path; /* NULL: none; owned */
	uint64_t timeout_ms;
};

struct effective_limits {
	char *containment; /* CONTAIN_WORDS between commas; owned */
	uint32_t private_kinds;
	Gpusched__RunRlimit rlimits[RLIMITS_MAX]; /* each kind once */
	size_t n_rlimits;
	uint64_t max_processes, sample_ms, idle_sample_ms, kill_wait_ms, gpu_recheck_ms;
	uint64_t private_tmp_mb, spool_min_free_mb; /* 0: on disk; 0: no run is ended */
	enum overmem_policy over_memory;
	bool share_users_one;
	struct effective_program programs[PROGRAM_KINDS];
	uint64_t health_interval_s;             /* 0: there is only one check */
	char programs_why[PROGRAM_TROUBLE_MAX]; /* why one of them may not be run; "": all may */
	struct device_grants_wish devices;      /* strings belong to the options and the settings */
};

/* `told` NULL: no settings. The strings of `devices` are good as long as both arguments. What was
 * left out is added to `refused`, for people. */
void effective_limits_make(const struct launcher_options *own, const Gpusched__NodeSettings *told,
        struct effective_limits *out, struct strbuf *refused);
/* Make only the programs again: the files on the node may have changed. */
void effective_limits_make_programs(const struct launcher_options *own,
        const Gpusched__NodeSettings *told, struct effective_limits *out);
void effective_limits_clear(struct effective_limits *limits);

#endif
