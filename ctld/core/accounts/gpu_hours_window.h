/* gpu_hours_window.h - GPU-hours used within a sliding time, for the limits `gpu_hours`
 *
 * "500 / 30d" limits what an account, a QOS or a partition (or each user in it) uses within any 30
 * days. The use is kept in pieces of a 32nd of that time. A piece counts until all of it is older
 * than the time: up to a 32nd too long, and never too short. When a run is billed its use is
 * spread over the pieces in which it ran; until then it counts by what it has used so far.
 *
 * Time advances here only in hours_time(). Between two such calls the use only grows, unless a
 * bill is corrected. So jobs that wait for it to fall need to be considered only after these
 * calls.
 *
 * Only limited use is kept. A limit that is new, or longer than before, starts with what is known.
 * Pieces are durable (TABLE_HOURS) and belong to names, not to a configuration.
 */
#ifndef CTLD_CORE_GPU_HOURS_WINDOW_H
#define CTLD_CORE_GPU_HOURS_WINDOW_H

#include "common/base/error.h"
#include "common/conf/conf.h"
#include "common/job/run.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/util/strings.h"

struct hours;

enum hours_scope { HOURS_ACCOUNT, HOURS_QOS, HOURS_PARTITION, HOURS_SCOPES };
#define HOURS_ALL UINT32_MAX /* instead of a user: all users together */

struct hours *hours_new(struct strings *strings, struct dirty *dirty, uint64_t seed);
void hours_free(struct hours *h); /* NULL is fine */

/* Use another configuration (also the first); it is borrowed until the next. The caller meters all
 * living runs again. */
void hours_configure(struct hours *h, const struct conf *conf, struct clocks now);
void hours_time(struct hours *h, struct clocks now);
bool hours_limited(const struct hours *h); /* is any use limited? */

/* The names that a run's use counts for; "": none. An account stands for itself and all above
 * it. */
struct hours_of {
	const char *account, *qos, *partition;
	uint32_t uid;
};

/* `milli` thousandths of GPUs were used from `begin` to `end` (wall). */
void hours_bill(struct hours *h, const struct hours_of *of, uint32_t milli, usec_t begin, usec_t end,
        usec_t wall);
/* The use was less than billed, by this much. */
void hours_unbill(struct hours *h, const struct hours_of *of, uint64_t gpu_us);

/* `milli` thousandths of GPUs have been in use since `since` (mono). Returns the time from which
 * they count; hours_meter_off() needs it. */
usec_t hours_meter_on(struct hours *h, const struct hours_of *of, uint32_t milli, usec_t since);
void hours_meter_off(struct hours *h, const struct hours_of *of, uint32_t milli, usec_t since);

/* GPU-microseconds used within the limit's time, for an account, a QOS or a partition, by one user
 * or by all (HOURS_ALL); 0 where nothing is limited. */
uint64_t hours_used(const struct hours *h, enum hours_scope scope, uint32_t index, uint32_t uid);

/* --- rows ------------------------------------------------------------------------------------ */

struct piece;
int hours_load(struct hours *h, const struct row *row, struct error *err);
void piece_encode(const struct piece *piece, struct row *row, enum row_change change);
void piece_free(struct hours *h, struct piece *piece); /* one that was removed */
uint64_t hours_hash(const struct hours *h);

#endif
