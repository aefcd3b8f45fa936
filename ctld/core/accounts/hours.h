/* hours.h - GPU-hours used within a sliding time, for the limits `gpu_hours`
 *
 * "500 / 30d" limits what an account, a QOS or a partition (or each user in it) used within any 30
 * days. What was used is kept in pieces of a 32nd of that time; a piece counts until all of it is
 * older than the time, so up to a 32nd too long and never too short. A run is spread over the
 * pieces in which it ran when it is billed; until then it counts by what it has used so far.
 *
 * Time goes on here by hours_time() alone. Between two of these the use only grows, unless a bill
 * is corrected: so whoever waits for it to fall need only be looked at then.
 *
 * Only what is limited is kept. A limit that is new, or longer than before, begins with what is
 * known. Pieces are durable (TABLE_HOURS) and belong to names, not to a configuration.
 */
#ifndef CTLD_CORE_HOURS_H
#define CTLD_CORE_HOURS_H

#include "common/conf.h"
#include "common/error.h"
#include "common/run.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/util/strings.h"

struct hours;

enum hours_scope { HOURS_ACCOUNT, HOURS_QOS, HOURS_PARTITION, HOURS_SCOPES };
#define HOURS_ALL UINT32_MAX /* instead of a user: all together */

struct hours *hours_new(struct strings *strings, struct dirty *dirty, uint64_t seed);
void hours_free(struct hours *h); /* NULL is fine */

/* Another configuration (also the first); borrowed until the next. Whatever runs is to be metered
 * again. */
void hours_configure(struct hours *h, const struct conf *conf, struct clocks now);
void hours_time(struct hours *h, struct clocks now);
bool hours_limited(const struct hours *h); /* is anything? */

/* Who ran: names, "" none; with an account all above it are meant. */
struct hours_of {
	const char *account, *qos, *partition;
	uint32_t uid;
};

/* So many thousandths of GPUs were used from `begin` to `end` (wall). */
void hours_bill(struct hours *h, const struct hours_of *of, uint32_t milli, usec_t begin, usec_t end,
        usec_t wall);
/* It was less than billed by so much. */
void hours_unbill(struct hours *h, const struct hours_of *of, uint64_t gpu_us);

/* So many thousandths of GPUs are in use since `since` (mono). Returns since when they count, to take them off
 * again with. */
usec_t hours_meter_on(struct hours *h, const struct hours_of *of, uint32_t milli, usec_t since);
void hours_meter_off(struct hours *h, const struct hours_of *of, uint32_t milli, usec_t since);

/* GPU-microseconds within the time of the limit of an account, QOS or partition, of a user or of
 * HOURS_ALL; 0 where nothing is limited. */
uint64_t hours_used(const struct hours *h, enum hours_scope scope, uint32_t index, uint32_t uid);

/* --- rows ------------------------------------------------------------------------------------ */

struct piece;
int hours_load(struct hours *h, const struct row *row, struct error *err);
void piece_encode(const struct piece *piece, struct row *row, enum row_change change);
void piece_free(struct hours *h, struct piece *piece); /* one that is gone */
uint64_t hours_hash(const struct hours *h);

#endif
