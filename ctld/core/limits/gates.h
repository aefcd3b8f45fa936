/* gates.h - the numbers that may hold a job back
 *
 * A *gate* is one number with a limit: what the jobs of an account hold of h100, how many jobs of a
 * user run in a QOS, how many licences are in use. A job passes all gates on its way or does not
 * start:
 *
 *	limits    of its account and of all accounts above, of its QOS, of its partition; each as
 *	          a whole (`limits`), for each user (`per_user`; in an account: of what he has
 *	          there and in all accounts below) and for each job (`per_job`)
 *	quota     guarantees of others must stay covered (quota.h); its hard limits are limits of
 *	          the account like others
 *	          and there, what was used within a sliding time (`gpu_hours`, hours.h): while
 *	          that is at its limit nothing with GPUs starts; what runs goes on
 *	licences  that it asks for
 *
 * Only what the configuration limits is counted. A gate of which a job takes nothing does not hold
 * it. Time limits are no gates: they are checked when the job is submitted.
 *
 * Gates belong to one configuration. After another one make new gates and paths, and take again
 * for all that runs: what is taken may then exceed a limit that was lowered, and nobody is hurt.
 *
 * The way of a class is worked out once, as a `gate_path`; counters of users exist while a path
 * leads through them. Everything here costs O(gates on the path).
 */
#ifndef CTLD_CORE_GATES_H
#define CTLD_CORE_GATES_H

#include "common/conf.h"
#include "ctld/core/accounts/hours.h"
#include "ctld/core/limits/quota.h"
#include "ctld/core/request/requests.h"

struct gates;
struct gate_path;

/* What a job (the whole of it, all nodes) takes. `type` is the one GPU type of the alternative that
 * is tried; TYPE_NONE without GPUs; TYPE_ANY (gates_submit() only): not known yet. */
struct need {
	uint16_t type;
	uint16_t n_licences;
	uint32_t gpus, charge; /* charge: each counts as so many thousandths; 0: all of it */
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

/* A gate that is too narrow. */
struct gate_block {
	uint32_t gate;
	const char *reason; /* AssocGrpGRES, QOSMaxJobsPerUserLimit, Licenses, ...: a literal */
	char text[200];     /* "vision: limit h100:32, holds 28, +8" */
	uint64_t short_by;  /* so much must be released there */
	bool reclaim;       /* what is free is kept for others: it opens when borrowers give back */
};

struct gates *gates_new(const struct conf *conf, uint64_t seed); /* borrowed until gates_free() */
void gates_free(struct gates *g); /* NULL is fine; its paths must have been freed */

/* What was used within a sliding time (borrowed). With each gates_time() some of it is forgotten:
 * who waits at such a gate may have become startable. */
void gates_hours(struct gates *g, struct hours *hours);
void gates_time(struct gates *g, struct clocks now);

/* The way of the jobs of a user: indices into the configuration, each of them CONF_NONE for none.
 */
struct gate_path *gates_path(
        struct gates *g, uint32_t account, uint32_t uid, uint32_t qos, uint32_t partition);
void gate_path_free(struct gates *g, struct gate_path *path); /* NULL is fine */

uint32_t gate_path_account(const struct gate_path *path); /* CONF_NONE: none */

/* May it start? If not, `first` (may be NULL) is the first gate that holds it. */
bool gates_check(const struct gates *g, const struct gate_path *path, const struct need *need,
        struct gate_block *first);
/* Every gate that holds it, up to `max`; returns how many there are. */
size_t gates_check_all(const struct gates *g, const struct gate_path *path, const struct need *need,
        struct gate_block *v, size_t max);

/* How much of a need counts at the gate of a block. */
uint64_t gates_amount(
        const struct gates *g, const struct gate_block *block, const struct need *need);

/* Exact inverses. Whoever only wonders takes and releases too. */
void gates_take(struct gates *g, const struct gate_path *path, const struct need *need);
void gates_release(struct gates *g, const struct gate_path *path, const struct need *need);

/* As if a planned start had taken it: of all gates but those of quotas, because what it will have
 * is not free yet. */
void gates_reserve(
        struct gates *g, const struct gate_path *path, const struct need *need, bool reserve);

/* As if the limit of a block were wider by what it lacked (for all users alike), or no longer: for
 * whoever wonders. */
void gates_lift(struct gates *g, const struct gate_block *block, bool lift);

/* The gates of which `need` takes something: who waits on one of these may have become startable
 * when it was released. Valid until the next call. Ids are less than gates_count(), which may grow
 * with a new path; an id means the same gate while a path leads through it. */
const uint32_t *gates_of(
        struct gates *g, const struct gate_path *path, const struct need *need, size_t *n);
/* The same of limits of GPU-hours. Those are not released; but when a run is billed, what it used
 * may be less than it was taken for. */
const uint32_t *gates_of_hours(struct gates *g, const struct gate_path *path, size_t *n);
size_t gates_count(const struct gates *g);

/* The guarantees: to tell it the capacity (then whoever waits on gates_kept() may have become
 * startable) and to ask who is over. */
struct quota *gates_quota(struct gates *g);
uint32_t gates_kept(const struct gates *g, uint16_t type); /* or CONF_ANY_TYPE */

/* --- at submit ------------------------------------------------------------------------------- */

/* Jobs and tasks that have not ended, for the limit `queued`: +1 for a new one, -1 when it ends.
 * The path may be another one, of the same user; without any such limit nothing needs to be
 * counted. */
void gates_queued(struct gates *g, const struct gate_path *path, int delta);
bool gates_count_queued(const struct gates *g);
uint64_t gates_queued_now(
        const struct gates *g, const struct gate_path *path); /* sum; for checks */

/* The tightest `time` on the way; CONF_NONE: none. */
uint32_t gates_time_s(const struct gates *g, const struct gate_path *path);

/* May such a job be taken in? Refused (limit.SCOPE.WHAT, naming limit, value and use) is what is
 * over a `per_job` or under the partition's `per_job_min`, over a `time`, what alone exceeds a
 * limit and so could never start, and what is too many for `queued`: so many `jobs` are to come. Of
 * several limits on the same thing the tightest is named. time_s 0: unlimited. */
int gates_submit(const struct gates *g, const struct gate_path *path, const struct need *need,
        uint32_t time_s, uint32_t jobs, struct error *err);

#endif
