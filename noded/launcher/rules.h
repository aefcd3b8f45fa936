/* rules.h - what a node's runs are held to: the agent's own options, and what the controller adds
 *
 * The options of gnoded are the site's word on the node itself: a floor. NodeSettings is what
 * gpusched.conf says of it, told by the controller, which may have been taken over. So what it says
 * is only ever added:
 *
 *	containment     both lists
 *	private         both, and those that the containment demands
 *	private_tmp     the smaller; with it goes `tmp`
 *	rlimits         the lower number of each, soft and hard; where the agent says nothing the
 *	                soft one is free up to the table's hard one (common/rlimit.h): any process
 *	                may raise it so far itself
 *	max_processes   the lower
 *	sample_every    the shorter, and on where the agent says off; gpu_recheck too
 *	kill_wait       the shorter
 *	spool_min_free  the larger
 *	over_memory     the stricter; what is built in counts where nobody says
 *	share_users     one where either says so
 *	gpu_devices     only where the agent names none; used where no GPUs are found (grants.h)
 *	devices         added, unless the agent's own --containment has `devices`: then its --device
 *	                are all there are. Never a GPU's file (grants.h)
 *
 *	programs        those that the agent names none of; only out of one folder of root's, as it
 *	                says (program_told()). One that may not be run is not left out: nothing is
 *	                started meanwhile. The health check is one of them
 *	health_interval of a health check that it names
 *
 * What of it makes no sense is left out and told.
 */
#ifndef NODED_RULES_H
#define NODED_RULES_H

#include <stdint.h>

#include "common/gpusched.pb-c.h"
#include "common/strbuf.h"
#include "noded/launcher/launcher.h"

/* Of what the controller says. */
#define RULES_SAMPLE_MIN_MS         100
#define RULES_KILL_WAIT_MIN_MS      100
#define RULES_GPU_RECHECK_MIN_MS    1000
#define RULES_HEALTH_INTERVAL_MAX_S (30 * 86400)

struct rules_program {
	char *path; /* NULL: none; owned */
	uint64_t timeout_ms;
};

struct rules {
	char *containment; /* CONTAIN_WORDS between commas; owned */
	uint32_t private_kinds;
	Gpusched__RunRlimit rlimits[RLIMITS_MAX]; /* each kind once */
	size_t n_rlimits;
	uint64_t max_processes, sample_ms, kill_wait_ms, gpu_recheck_ms;
	uint64_t private_tmp_mb, spool_min_free_mb; /* 0: no bound; 0: nobody is ended */
	enum overmem_policy over_memory;
	bool share_users_one;
	struct rules_program programs[PROGRAM_KINDS];
	uint64_t health_interval_s;             /* 0: there is only one check */
	char programs_why[PROGRAM_TROUBLE_MAX]; /* one must not be run; "": all may */
	struct grants_wish devices;             /* strings of the options and of the settings */
};

/* `told` NULL: nothing. Texts of `devices` are good as long as both. What was left out is added to
 * `refused`, for people. */
void rules_make(const struct launcher_options *own, const Gpusched__NodeSettings *told,
        struct rules *out, struct strbuf *refused);
/* Its programs alone, anew: what lies on the node may have changed. */
void rules_make_programs(
        const struct launcher_options *own, const Gpusched__NodeSettings *told, struct rules *out);
void rules_clear(struct rules *rules);

#endif
