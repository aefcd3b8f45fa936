/* gates.h - the numbers that may block a job
 *
 * A *gate* is one number with a limit: the h100 GPUs that the jobs of an account hold, the jobs of
 * a user that run in a QOS, the licences in use. A job starts only if it passes all gates on its
 * path:
 *
 *	limits    of its account and of all accounts above, of its QOS, of its partition; each for
 *	          all jobs together (`limits`), for each user (`per_user`; in an account: what the
 *	          user holds there and in all accounts below) and for each job (`per_job`)
 *	quota     guarantees of other accounts must stay covered (quota.h); the hard limits of a
 *	          quota are limits of the account like others
 *	GPU-hours used within a sliding time (`gpu_hours`, hours.h), also in these three scopes:
 *	          while they are at their limit nothing with GPUs starts; what runs goes on
 *	licences  that the job asks for
 *
 * Only what the configuration limits is counted. A gate does not block a job that takes nothing of
 * it. Time limits are no gates: they are checked when the job is submitted.
 *
 * Gates belong to one configuration. For another one the caller makes new gates and paths, and
 * takes again for all jobs that run: usage may then exceed a limit that was lowered, and running
 * jobs are not affected.
 *
 * The path of a class is computed once, as a `gate_path`; the counters of a user exist while a path
 * leads through them. Each call costs O(gates on the path).
 */
#ifndef CTLD_CORE_GATES_H
#define CTLD_CORE_GATES_H

#include "common/conf/conf.h"
#include "ctld/core/accounts/hours.h"
#include "ctld/core/limits/quota.h"
#include "ctld/core/request/requests.h"

struct gates;
struct gate_path;

/* What a job takes, with all of its nodes. `type` is the one GPU type of the alternative that is
 * tried; TYPE_NONE without GPUs; TYPE_ANY (gates_submit() only): not known yet. */
struct need {
	uint16_t type;
	uint16_t n_licences;
	uint32_t gpus, charge; /* charge: thousandths of a GPU that each counts as; 0: whole GPUs */
	uint32_t cpus, nodes;
	uint64_t gpu_mem_mb; /* of all its GPUs */
	uint64_t mem_mb;
	const struct licence_need *licences; /* each licence once */
};

/* GPUs are counted in thousandths everywhere in gates and quotas. */
static inline uint64_t need_milli(const struct need *need)
{
	return (uint64_t)need->gpus * (need->charge ? need->charge : CARD_MILLI);
}

/* A gate that blocks a job. */
struct gate_block {
	uint32_t gate;
	const char *reason; /* AssocGrpGRES, QOSMaxJobsPerUserLimit, Licenses, ...: a literal */
	char text[200];     /* "vision: limit h100:32, holds 28, +8" */
	uint64_t short_by;  /* how much must be released there */
	bool reclaim;       /* kept for other accounts: opens when borrowers give back */
};

struct gates *gates_new(const struct conf *conf, uint64_t seed); /* borrowed until gates_free() */
void gates_free(struct gates *g); /* NULL is fine; its paths must have been freed */

/* What was used within a sliding time (borrowed). Each gates_time() forgets the part that has
 * become too old, so classes that wait at such a gate may be able to start. */
void gates_hours(struct gates *g, struct hours *hours);
void gates_time(struct gates *g, struct clocks now);

/* The path of a user's jobs. The numbers are indices into the configuration; CONF_NONE: none. */
struct gate_path *gates_path(
        struct gates *g, uint32_t account, uint32_t uid, uint32_t qos, uint32_t partition);
void gate_path_free(struct gates *g, struct gate_path *path); /* NULL is fine */

uint32_t gate_path_account(const struct gate_path *path); /* CONF_NONE: none */

/* May the job start? If not, `first` (may be NULL) is the first gate that blocks it. */
bool gates_check(const struct gates *g, const struct gate_path *path, const struct need *need,
        struct gate_block *first);
/* Every gate that blocks it, up to `max`; returns how many there are. */
size_t gates_check_all(const struct gates *g, const struct gate_path *path, const struct need *need,
        struct gate_block *v, size_t max);

/* How much of a need counts at the gate of a block. */
uint64_t gates_amount(
        const struct gates *g, const struct gate_block *block, const struct need *need);

/* Exact inverses. A caller that only tries something takes and releases too. */
void gates_take(struct gates *g, const struct gate_path *path, const struct need *need);
void gates_release(struct gates *g, const struct gate_path *path, const struct need *need);

/* Count a need as if a planned start had taken it: at all gates except the guarantees of
 * quotas, because what the start will hold is not free yet. For claims see quota_imagine(). */
void gates_reserve(
        struct gates *g, const struct gate_path *path, const struct need *need, bool reserve);

/* Widen the limit of a block by what it lacked (for all users alike), or undo that: to try what
 * would be. */
void gates_lift(struct gates *g, const struct gate_block *block, bool lift);

/* The gates of which `need` takes something: when it is released, classes that wait at one of them
 * may be able to start. Valid until the next call. Ids are less than gates_count(), which may grow
 * with a new path; an id means the same gate while a path leads through it. */
const uint32_t *gates_of(
        struct gates *g, const struct gate_path *path, const struct need *need, size_t *n);
/* The same for limits of GPU-hours. Those are not released; but when a run is billed, its use may
 * turn out lower than was counted. */
const uint32_t *gates_of_hours(struct gates *g, const struct gate_path *path, size_t *n);
size_t gates_count(const struct gates *g);

/* The guarantees: to set the capacity (after that, classes that wait on gates_kept() may be able to
 * start) and to ask which accounts are over quota. */
struct quota *gates_quota(struct gates *g);
uint32_t gates_kept(const struct gates *g, uint16_t type); /* or CONF_ANY_TYPE */

/* --- at submit ------------------------------------------------------------------------------- */

/* Count jobs and tasks that have not ended, for the limit `queued`: +1 for a new one, -1 when it
 * ends. The path may be another one of the same user. Without any such limit nothing needs to be
 * counted. */
void gates_queued(struct gates *g, const struct gate_path *path, int delta);
bool gates_count_queued(const struct gates *g);
uint64_t gates_queued_now(
        const struct gates *g, const struct gate_path *path); /* sum; for checks */

/* The tightest `time` limit on the path, in seconds; CONF_NONE: none. */
uint32_t gates_time_s(const struct gates *g, const struct gate_path *path);

/* May such a job be taken in? It is refused (limit.SCOPE.WHAT, naming limit, value and use) if it
 * is over a `per_job` limit, under the partition's `per_job_min` or over a `time` limit, if it
 * exceeds a limit by itself and so could never start, or if `jobs` more jobs are too many for
 * `queued`. Of several limits on the same thing the tightest is named. time_s 0: unlimited. */
int gates_submit(const struct gates *g, const struct gate_path *path, const struct need *need,
        uint32_t time_s, uint32_t jobs, struct error *err);

#endif
