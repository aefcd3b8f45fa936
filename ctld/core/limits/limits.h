/* limits.h - the numbers that may block a job
 *
 * A *limit* is one bounded number: the h100 GPUs that the jobs of an account hold, the jobs of
 * a user that run in a QOS, the licences in use. A job starts only if it passes all limits on its
 * chain:
 *
 *	limits    of its account and of all accounts above, of its QOS, of its partition; each for
 *	          all jobs together (`limits`), for each user (`per_user`; in an account: what the
 *	          user holds there and in all accounts below) and for each job (`per_job`)
 *	quota     guarantees of other accounts must stay covered (quota.h); the hard limits of a
 *	          quota are limits of the account like others
 *	GPU-hours used within a sliding time (`gpu_hours`; gpu_hours_window.h), in these three scopes
 *	          while they are at their limit nothing with GPUs starts; what runs goes on
 *	licences  that the job asks for
 *
 * Only what the configuration limits is counted. A limit does not block a job that takes nothing of
 * it. Time limits are not among them: they are checked when the job is submitted.
 *
 * Limits belong to one configuration. For another one the caller makes new limits and chains, and
 * takes again for all jobs that run: usage may then exceed a limit that was lowered, and running
 * jobs are not affected.
 *
 * The chain of a class is computed once, as a `limit_chain`; the counters of a user exist while a
 * chain leads through them. Each call costs O(limits on the chain).
 */
#ifndef CTLD_CORE_LIMITS_H
#define CTLD_CORE_LIMITS_H

#include "common/conf/conf.h"
#include "ctld/core/accounts/gpu_hours_window.h"
#include "ctld/core/limits/quota.h"
#include "ctld/core/request/requests.h"

struct limits;
struct limit_chain;

/* What a job takes, with all of its nodes. `type` is the one GPU type of the alternative that is
 * tried; TYPE_NONE without GPUs; TYPE_ANY (limits_submit() only): not known yet. */
struct need {
	uint16_t type;
	uint16_t n_licences;
	uint32_t gpus, charge; /* charge: thousandths of a GPU that each counts as; 0: whole GPUs */
	uint32_t cpus, nodes;
	uint64_t gpu_mem_mb; /* of all its GPUs */
	uint64_t mem_mb;
	const struct licence_need *licences; /* each licence once */
};

/* GPUs are counted in thousandths everywhere in limits and quotas. */
static inline uint64_t need_milli(const struct need *need)
{
	return (uint64_t)need->gpus * (need->charge ? need->charge : GPU_MILLI);
}

/* A limit that blocks a job. */
struct limit_block {
	uint32_t limit;
	const char *reason; /* AssocGrpGRES, QOSMaxJobsPerUserLimit, Licenses, ...: a literal */
	char text[200];     /* "vision: limit h100:32, holds 28, +8" */
	uint64_t short_by;  /* how much must be released there */
	bool reclaim;       /* kept for other accounts: opens when borrowers give back */
};

struct limits *limits_new(
        const struct conf *conf, uint64_t seed); /* borrowed until limits_free() */
void limits_free(struct limits *g);              /* NULL is fine; its chains must have been freed */

/* What was used within a sliding time (borrowed). Each limits_time() forgets the part that has
 * become too old, so classes that wait at such a limit may be able to start. */
void limits_set_hours(struct limits *g, struct hours *hours);
void limits_time(struct limits *g, struct clocks now);

/* The chain of a user's jobs. The numbers are indices into the configuration; CONF_NONE: none. */
struct limit_chain *limits_chain(
        struct limits *g, uint32_t account, uint32_t uid, uint32_t qos, uint32_t partition);
void limit_chain_free(struct limits *g, struct limit_chain *chain); /* NULL is fine */

uint32_t limit_chain_account(const struct limit_chain *chain); /* CONF_NONE: none */

/* May the job start? If not, `first` (may be NULL) is the first limit that blocks it. */
bool limits_check(const struct limits *g, const struct limit_chain *chain, const struct need *need,
        struct limit_block *first);
/* Every limit that blocks it, up to `max`; returns how many there are. */
size_t limits_check_all(const struct limits *g, const struct limit_chain *chain,
        const struct need *need, struct limit_block *v, size_t max);

/* How much of a need counts at the limit of a block. */
uint64_t limits_amount(
        const struct limits *g, const struct limit_block *block, const struct need *need);

/* Exact inverses. A caller that only tries something takes and releases too. */
void limits_take(struct limits *g, const struct limit_chain *chain, const struct need *need);
void limits_release(struct limits *g, const struct limit_chain *chain, const struct need *need);

/* Count a need as if a planned start had taken it: at all limits except the guarantees of
 * quotas, because what the start will hold is not free yet. For preemption reservations see
 * quota_imagine(). */
void limits_reserve(
        struct limits *g, const struct limit_chain *chain, const struct need *need, bool reserve);

/* Widen the limit of a block by what it lacked (for all users alike), or undo that: to try what
 * would be. */
void limits_lift(struct limits *g, const struct limit_block *block, bool lift);

/* The limits of which `need` takes something: when it is released, classes that wait at one of them
 * may be able to start. Valid until the next call. Ids are less than limits_count(), which may grow
 * with a new chain; an id means the same limit while a chain leads through it. */
const uint32_t *limits_of_need(
        struct limits *g, const struct limit_chain *chain, const struct need *need, size_t *n);
/* The same for limits of GPU-hours. Those are not released; but when a run is billed, its use may
 * turn out lower than was counted. */
const uint32_t *limits_of_hours(struct limits *g, const struct limit_chain *chain, size_t *n);
size_t limits_count(const struct limits *g);

/* The guarantees: to set the capacity (after that, classes that wait on limits_guarantee() may be
 * able to start) and to ask which accounts are over quota. */
struct quota *limits_quota(struct limits *g);
uint32_t limits_guarantee(const struct limits *g, uint16_t type); /* or CONF_ANY_TYPE */

/* --- at submit ------------------------------------------------------------------------------- */

/* Count jobs and tasks that have not ended, for the limit `queued`: +1 for a new one, -1 when it
 * ends. The chain may be another one of the same user. Without any such limit nothing needs to be
 * counted. */
void limits_queued(struct limits *g, const struct limit_chain *chain, int delta);
bool limits_count_queued(const struct limits *g);
uint64_t limits_queued_now(
        const struct limits *g, const struct limit_chain *chain); /* sum; for checks */

/* The tightest `time` limit on the chain, in seconds; CONF_NONE: none. */
uint32_t limits_time_s(const struct limits *g, const struct limit_chain *chain);

/* May such a job be taken in? It is refused (limit.SCOPE.WHAT, naming limit, value and use) if it
 * is over a `per_job` limit, under the partition's `per_job_min` or over a `time` limit, if it
 * exceeds a limit by itself and so could never start, or if `jobs` more jobs are too many for
 * `queued`. Of several limits on the same thing the tightest is named. time_s 0: unlimited. */
int limits_submit(const struct limits *g, const struct limit_chain *chain, const struct need *need,
        uint32_t time_s, uint32_t jobs, struct error *err);

#endif
