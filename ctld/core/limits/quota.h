/* quota.h - GPUs guaranteed to accounts, lent while they are idle, and taken back
 *
 * Accounts with the same parent are a *cohort*. For a GPU type (or "any": all types together) an
 * account may have a guarantee g, a cap on what it lends (none: all of g) and a weight; the hard
 * limit of a quota is a gate like other limits (gates.h).
 *
 *	keeps    g - lend is never lent: whatever others do, so much is free for the account or
 *	         held by it. Beyond that, idle guarantees may be borrowed by anybody
 *	over     what is held beyond g is over quota. It is served after those who stay within
 *	         theirs, least over per weight first, and it is reclaimed first
 *
 * The semantics are those of Kueue's cohorts (nominalQuota, borrowingLimit, lendingLimit,
 * reclaimWithinCohort) with capacity instead of a sum of quotas: what nobody was promised can be
 * had by all. Cohorts nest: an account that has children holds what they hold; jobs directly in it
 * are one more member of the cohort of its children, with that part of its guarantee which the
 * children were not given. In a cohort nobody of which has a guarantee of that type nobody is over.
 *
 * What must stay free for an account and all below it, its *reserve*, is the larger of what it
 * keeps less what it holds, and the sum of its children's reserves. A job passes if afterwards the
 * free GPUs cover the sum of all reserves, or if its own reserves shrink by all that it takes; this
 * keeps the promise of `keeps` in every state that was reached with enough capacity. Whether
 * anything is free at all is not asked here.
 *
 * All amounts but the capacity are thousandths of GPUs: a share counts as the part that it is.
 */
#ifndef CTLD_CORE_QUOTA_H
#define CTLD_CORE_QUOTA_H

#include "common/conf.h"
#include "ctld/core/place/cards.h"

struct quota;

struct quota *quota_new(const struct conf *conf); /* borrowed until quota_free() */
void quota_free(struct quota *q);                 /* NULL is fine */

/* GPUs of a type that the cluster has now: all of nodes that accept work, and those in use on nodes
 * that do not. Without it there are none. */
void quota_capacity(struct quota *q, uint16_t type, uint32_t total);

/* As if there were so many more (of CONF_ANY_TYPE: in all) than quota_capacity() says, or no
 * longer: for whoever wonders. */
void quota_lift(struct quota *q, uint16_t type, uint64_t milli, bool lift);

/* Exact inverses. `account` CONF_NONE: held by nobody who has a quota. */
void quota_take(struct quota *q, uint32_t account, uint16_t type, uint64_t milli);
void quota_release(struct quota *q, uint32_t account, uint16_t type, uint64_t milli);

/* Of what is held: so much will be given back, because it was told to end; and so much more will be
 * held, because others were told to end for it. Only quota_reclaims() asks. Exact inverses. */
void quota_leaving(struct quota *q, uint32_t account, uint16_t type, uint64_t milli, bool leaving);
void quota_coming(struct quota *q, uint32_t account, uint16_t type, uint64_t milli, bool coming);

/* How much must be kept free of this type and of all types together, as far as that is for one of
 * the uppermost accounts alone. When it is less, whoever waits on gates_kept() may have become
 * startable: nothing may be kept any more but for himself, and it is for the ledger to say what is
 * free. (A gang of which a node is lost holds all of its GPUs until it has ended; so less may be
 * free here than there.) */
uint64_t quota_keeps(const struct quota *q, uint16_t type);

/* Why not: what is free is kept for others. It passes when borrowers have given back. */
struct quota_block {
	uint32_t account;  /* for whom most is kept */
	uint16_t type;     /* or CONF_ANY_TYPE */
	uint64_t free;     /* that are free */
	uint64_t kept;     /* so many must stay free for others */
	uint64_t short_by; /* so many must be given back */
};

/* `block` may be NULL. Limits are not looked at. */
bool quota_check(const struct quota *q, uint32_t account, uint16_t type, uint64_t milli,
        struct quota_block *block);

/* How far over quota the account would be with so many more; 0: within, or there is no quota. Only
 * for comparing: accounts are compared level by level from the root, at each by (over / weight), so
 * that a cohort's quarrel is its own. Three levels count. */
double quota_over(const struct quota *q, uint32_t account, uint16_t type, uint64_t milli);

/* Counts on with each take and release below the uppermost account that this one belongs to: while
 * it stays, so does quota_over() for the account. And with each release anywhere: while that stays,
 * quota_over() has only grown. */
uint64_t quota_version(const struct quota *q, uint32_t account);
uint64_t quota_releases(const struct quota *q);

/* May a job in `account` take so many back from one in `victim`? Where the ways from the root to
 * the two part, the account's side must stay within its guarantee with them and with what is coming
 * to it, and the victim's side be over its own now, without what is leaving (of the type, or of all
 * types: within in both, over in one). So nobody can take back what was taken back from him. */
bool quota_reclaims(
        const struct quota *q, uint32_t account, uint32_t victim, uint16_t type, uint64_t milli);

bool quota_any_kept(const struct quota *q); /* does anybody keep what he does not lend? */
bool quota_given(const struct quota *q, uint16_t type); /* has anybody a guarantee of it? */

/* What the account is promised, and what it and all below it hold; for listings. CONF_NONE: what
 * all hold. Of a type of which nobody has a guarantee nothing is counted. */
struct quota_use {
	uint64_t guaranteed, keeps, held;
};
void quota_use(const struct quota *q, uint32_t account, uint16_t type, struct quota_use *use);

#endif
