/* accounts.h - the tree of accounts, who uses it, and how much
 *
 * An *assoc* is a user in an account: a leaf of the fair-share tree, and the place where his use is
 * added up. It is made when first wanted and stays while something refers to it or it has usage.
 * Usage is durable, one row for each assoc (TABLE_USAGE):
 *
 *	gpu_us, cpu_us, runs, cost   of all runs that are over: sums of integers, so they agree
 *	                             exactly with the runs they were added up from
 *	decayed at decayed_time      cost, of which half is forgotten every half_life (usage.h)
 *
 * A run is billed once, when it is over; what a late and truer record of it changes is one more
 * bill. While it is alive a *meter* counts it in the ranking, not in the sums.
 *
 * Accounts are those of the present configuration. What was used in an account that left stays
 * under its name, outside the tree, and comes back with it. Where no accounts are configured any
 * name will do, and every user has one share, whatever the names he uses.
 */
#ifndef CTLD_CORE_ACCOUNTS_H
#define CTLD_CORE_ACCOUNTS_H

#include "common/conf.h"
#include "common/error.h"
#include "common/run.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/util/strings.h"

struct accounts;
struct assoc;
struct share_view;

struct accounts *accounts_new(struct strings *strings, struct dirty *dirty, uint64_t seed);
void accounts_free(struct accounts *as); /* NULL is fine */

/* Another configuration (also the first): accounts are matched by name. Borrowed until the next.
 * Assocs stay where they are; ranks are those of the new tree at once. */
void accounts_configure(struct accounts *as, const struct conf *conf, struct clocks now);

/* The assoc of a user in an account of that name, one more reference to it. */
struct assoc *accounts_want(
        struct accounts *as, const char *account, uint32_t uid, const char *user);
void assoc_drop(struct accounts *as, struct assoc *assoc); /* NULL is fine */
uint32_t assoc_account(const struct assoc *assoc); /* index; CONF_NONE: no such account (now) */
/* The index of an account by its name; CONF_NONE. */
uint32_t accounts_find(const struct accounts *as, const char *name);

/* --- usage ----------------------------------------------------------------------------------- */

/* What is added; below 0 to correct an earlier bill. */
struct usage_bill {
	int64_t gpu_us; /* GPUs x microseconds */
	int64_t cpu_us;
	int64_t cost_u; /* millionths of the currency, QOS usage factor included */
	int64_t runs;   /* 1: the run's first bill; 0: a correction of it */
};
/* What they add up to. 64 bits hold 7 years of 80,000 GPUs. */
struct usage_sums {
	uint64_t gpu_us, cpu_us, cost_u, runs;
};
void accounts_bill(
        struct accounts *as, struct assoc *assoc, const struct usage_bill *bill, usec_t wall);

/* A run alive: what it costs an hour, since when. Keep the values: they take it off again. */
struct usage_meter {
	uint64_t rate_u; /* millionths of the currency an hour */
	usec_t since;    /* mono */
};
void accounts_meter_on(struct accounts *as, struct assoc *assoc, const struct usage_meter *meter);
void accounts_meter_off(struct accounts *as, struct assoc *assoc, const struct usage_meter *meter);

/* --- fair-share ------------------------------------------------------------------------------ */

/* Rank all users anew by what has been used until now (fairtree.h), for accounts_next(). The order of
 * jobs stays. O(users log users): call it when accounts_stale() says that it could change something. */
void accounts_rank(struct accounts *as, struct clocks now);
bool accounts_stale(const struct accounts *as);

/* The same for assoc_fair_share(), where something has changed. The caller orders all jobs anew, and
 * nothing else may change what they are ordered by: at most once a second. */
void accounts_order(struct accounts *as, struct clocks now);

/* 0..1 as of the last accounts_order(); a user who came after it counts as one without usage in its
 * account would; 0 in an account that is not configured. */
double assoc_fair_share(const struct assoc *assoc);

/* --- rows ------------------------------------------------------------------------------------ */

int accounts_load(struct accounts *as, const struct row *row, struct error *err);
void assoc_encode(const struct assoc *assoc, struct row *row, enum row_change change);
uint64_t accounts_hash(const struct accounts *as);

/* --- looking --------------------------------------------------------------------------------- */

/* Every assoc, in no order. Start with *cursor 0. */
const struct assoc *accounts_each(const struct accounts *as, size_t *cursor);
const char *assoc_name(const struct assoc *assoc); /* of its account; kept */
uint32_t assoc_uid(const struct assoc *assoc);

/* All that was billed, and (volatile, for checks) what of it is of runs that went to history: after
 * loading that is all of it, until assoc_retire(.., false) says which runs did not. */
void assoc_sums(const struct assoc *assoc, struct usage_sums *all, struct usage_sums *retired);
void assoc_retire(struct assoc *assoc, const struct usage_sums *sums, bool retired);

/* The tree, depth first: an account, its users by name, the accounts below it. Start with *cursor
 * 0; false: no more. Good until the next call that changes anything. Sums are of now, shares and
 * ranks of the last accounts_rank(). */
bool accounts_next(const struct accounts *as, size_t *cursor, struct share_view *view);

#endif
