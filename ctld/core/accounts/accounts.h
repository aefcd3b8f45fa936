/* accounts.h - the tree of accounts, its users, and what they have used
 *
 * An *assoc* is a user in an account: a leaf of the fair-share tree, where the user's use is added
 * up. It is made when first needed and stays while something refers to it or it has usage. Usage
 * is durable, one row for each assoc (TABLE_USAGE):
 *
 *	gpu_us, cpu_us, runs, cost   of all runs that are over: sums of integers, so they agree
 *	                             exactly with the runs they were added up from
 *	decayed at decayed_time      cost, halved every half_life (cost_and_decay.h)
 *
 * A run is billed once, when it is over. A late and more accurate record of it adds a second bill
 * with the difference. While the run is alive, a *meter* counts it in the ranking, not in the
 * sums.
 *
 * The accounts are those of the present configuration. The usage of an account that left the
 * configuration stays under its name, outside the tree, and counts again when the account comes
 * back. Where no accounts are configured, any account name is accepted, and every user has one
 * share, whatever names the user's jobs use.
 */
#ifndef CTLD_CORE_ACCOUNTS_H
#define CTLD_CORE_ACCOUNTS_H

#include "common/base/error.h"
#include "common/conf/conf.h"
#include "common/job/run.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/util/strings.h"

struct accounts;
struct assoc;
struct share_view;

struct accounts *accounts_new(struct strings *strings, struct dirty *dirty, uint64_t seed);
void accounts_free(struct accounts *as); /* NULL is fine */

/* Use another configuration (also the first): accounts are matched by name. It is borrowed until
 * the next call. Assocs stay where they are; ranks are those of the new tree at once. */
void accounts_configure(struct accounts *as, const struct conf *conf, struct clocks now);

/* The assoc of a user in an account of that name, with one more reference. */
struct assoc *accounts_want(
        struct accounts *as, const char *account, uint32_t uid, const char *user);
void assoc_drop(struct accounts *as, struct assoc *assoc); /* NULL is fine */
uint32_t assoc_account(const struct assoc *assoc); /* index; CONF_NONE: the account is not
						    * configured now */
/* The index of an account by its name; CONF_NONE: there is none. */
uint32_t accounts_find(const struct accounts *as, const char *name);

/* --- usage ----------------------------------------------------------------------------------- */

/* Amounts to add; negative to correct an earlier bill. */
struct usage_bill {
	int64_t gpu_us; /* GPUs x microseconds */
	int64_t cpu_us;
	int64_t cost_u; /* millionths of the currency, QOS usage factor included */
	int64_t runs;   /* 1: the run's first bill; 0: a correction of it */
};
/* The sums of such amounts. 64 bits hold 7 years of 80,000 GPUs. */
struct usage_sums {
	uint64_t gpu_us, cpu_us, cost_u, runs;
};
void accounts_bill(
        struct accounts *as, struct assoc *assoc, const struct usage_bill *bill, usec_t wall);

/* The hourly cost of a living run, and since when it counts. Keep the values: taking the meter off
 * needs the same ones. */
struct usage_meter {
	uint64_t rate_u; /* millionths of the currency an hour */
	usec_t since;    /* mono */
};
void accounts_meter_on(struct accounts *as, struct assoc *assoc, const struct usage_meter *meter);
void accounts_meter_off(struct accounts *as, struct assoc *assoc, const struct usage_meter *meter);

/* --- fair-share (fair_share.c) --------------------------------------------------------------- */

/* Rank all users by their use until now (fairtree.h), for accounts_next(). The order of jobs
 * stays. O(users log users): call it when accounts_stale() says that the ranks may have changed. */
void accounts_rank(struct accounts *as, struct clocks now);
bool accounts_stale(const struct accounts *as);

/* The same for assoc_fair_share(), if something has changed. The caller then sorts all jobs again,
 * and no other call may change their sort keys. Call it at most once a second. */
void accounts_order(struct accounts *as, struct clocks now);

/* 0..1 as of the last accounts_order(). A user added since counts as one without usage in that
 * account. 0 in an account that is not configured. */
double assoc_fair_share(const struct assoc *assoc);

/* --- rows ------------------------------------------------------------------------------------ */

int accounts_load(struct accounts *as, const struct row *row, struct error *err);
void assoc_encode(const struct assoc *assoc, struct row *row, enum row_change change);
uint64_t accounts_hash(const struct accounts *as);

/* --- looking --------------------------------------------------------------------------------- */

/* Every assoc, in no order. Start with *cursor 0. */
const struct assoc *accounts_each(const struct accounts *as, size_t *cursor);
const char *assoc_name(const struct assoc *assoc); /* the name of its account; interned */
uint32_t assoc_uid(const struct assoc *assoc);

/* All that was billed, and the part of it that belongs to runs in history (volatile, for checks).
 * After loading, all of it counts as history, until assoc_retire(.., false) names the runs that
 * are in memory. */
void assoc_sums(const struct assoc *assoc, struct usage_sums *all, struct usage_sums *retired);
void assoc_retire(struct assoc *assoc, const struct usage_sums *sums, bool retired);

/* The tree, depth first: an account, its users by name, the accounts below it. Start with *cursor
 * 0; false: no more. *view is valid until the next call that changes anything. Sums are current;
 * shares and ranks are those of the last accounts_rank(). */
bool accounts_next(const struct accounts *as, size_t *cursor, struct share_view *view);

#endif
