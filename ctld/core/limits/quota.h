/* quota.h - GPUs guaranteed to accounts, lent while they are idle, and taken back
 *
 * Accounts with the same parent are a *cohort*. For a GPU type (or "any": all types together) an
 * account may have a guarantee g, a cap on what it lends (none: all of g) and a weight; the hard
 * limit of a quota is a limit like other limits (limits.h).
 *
 *	keeps    g - lend is never lent: whatever other accounts do, so much is free for the
 *	         account or held by it. Every account may borrow the rest of an idle guarantee
 *	over     what an account holds beyond g is over quota. Accounts that are over quota are
 *	         served after those within theirs, the least over per weight first, and are
 *	         reclaimed from first
 *
 * The semantics are those of Kueue's cohorts (nominalQuota, borrowingLimit, lendingLimit,
 * reclaimWithinCohort) with capacity instead of a sum of quotas: what is guaranteed to no account
 * is for all of them. Cohorts nest: an account with children holds what they hold. The jobs
 * directly in it are one more member of the cohort of its children; the guarantee of that member is
 * what the children's guarantees leave of the account's. In a cohort without a guarantee of that
 * type no member is over quota.
 *
 * The *reserve* of an account is what must stay free for it and all accounts below it: the larger
 * of what it keeps less what it holds, and the sum of its children's reserves. A job passes if the
 * free GPUs cover the sum of all reserves afterwards, or if its own reserves shrink by all that it
 * takes. So what an account keeps is free for it, in every state that was reached with enough
 * capacity. Whether any GPU is free at all is not checked here.
 *
 * All amounts but the capacity are in thousandths of a GPU: a share counts as the part that it is.
 */
#ifndef CTLD_CORE_QUOTA_H
#define CTLD_CORE_QUOTA_H

#include "common/conf/conf.h"
#include "ctld/core/request/gpu_share.h"

struct quota;

struct quota *quota_new(const struct conf *conf); /* borrowed until quota_free() */
void quota_free(struct quota *q);                 /* NULL is fine */

/* The GPUs of a type that the cluster has now: all on nodes that accept work, and those in use on
 * nodes that do not. Until it is called there are none. */
void quota_capacity(struct quota *q, uint16_t type, uint32_t total);

/* Add so many to the capacity (with CONF_ANY_TYPE: to that of all types), or undo that: to try what
 * would be. */
void quota_lift(struct quota *q, uint16_t type, uint64_t milli, bool lift);

/* Exact inverses. `account` CONF_NONE: held by no account with a quota. */
void quota_take(struct quota *q, uint32_t account, uint16_t type, uint64_t milli);
void quota_release(struct quota *q, uint32_t account, uint16_t type, uint64_t milli);

/* Begin or end to imagine that the account holds so many more, or fewer. Until all of it has ended,
 * nothing may be taken or released, and quota_over() may not be asked. */
void quota_imagine(
        struct quota *q, uint32_t account, uint16_t type, uint64_t milli, bool more, bool imagine);

/* Leaving: so much of what the account holds will be given back, because its runs were told to end.
 * Coming: so much more will be held, because runs were told to end for it. Only quota_reclaims()
 * uses them. Exact inverses. */
void quota_leaving(struct quota *q, uint32_t account, uint16_t type, uint64_t milli, bool leaving);
void quota_coming(struct quota *q, uint32_t account, uint16_t type, uint64_t milli, bool coming);

/* So much of what the account holds is guarded from preemption, if the account has a guarantee that
 * covers it beside what is guarded already; false: it does not, and nothing changed.
 * quota_unguard() is the exact inverse. */
bool quota_guard(struct quota *q, uint32_t account, uint16_t type, uint64_t milli);
void quota_unguard(struct quota *q, uint32_t account, uint16_t type, uint64_t milli);

/* How much must be kept free of this type and of all types together, as far as that is for one of
 * the uppermost accounts alone. When it falls, classes that wait on limits_guarantee() may be able
 * to start: what is still kept may be for their own account only, and then the ledger decides what
 * is free. (A gang that has lost a node holds all of its GPUs until it has ended; so less may be
 * free here than in the ledger.) */
uint64_t quota_reserved(const struct quota *q, uint16_t type);

/* The blocker: the free GPUs are kept for other accounts. It passes when borrowers have given
 * back. */
struct quota_block {
	uint32_t account;  /* the account that most is kept for */
	uint16_t type;     /* or CONF_ANY_TYPE */
	uint64_t free;     /* free thousandths */
	uint64_t kept;     /* thousandths that must stay free for other accounts */
	uint64_t short_by; /* thousandths that must be given back */
};

/* `block` may be NULL. Limits are not checked here. Where nothing is kept at present it passes,
 * however many are held. While something is imagined that is so only where no account ever keeps
 * anything: then a start that takes the last of what is kept makes nothing pass. */
bool quota_check(const struct quota *q, uint32_t account, uint16_t type, uint64_t milli,
        struct quota_block *block);

/* How far over quota the account would be with so many more; 0: within, or there is no quota. The
 * number is only for comparison: accounts are compared level by level from the root, at each level
 * by (over / weight), so what happens inside a cohort orders only its members. Three levels
 * count. */
double quota_over(const struct quota *q, uint32_t account, uint16_t type, uint64_t milli);

/* The version grows with each take and release below the account's uppermost account: while it is
 * unchanged, so is quota_over() for the account. The number of releases grows with each release in
 * any account: while it is unchanged, quota_over() has not fallen for any account. */
uint64_t quota_version(const struct quota *q, uint32_t account);
uint64_t quota_releases(const struct quota *q);

/* May a job in `account` take so many back from a run in `victim`? The two paths from the root part
 * at one level. There the account's side must stay within its guarantee with these GPUs and with
 * what is coming to it, and the victim's side must be over its guarantee now, without what is
 * leaving. (For the type and for all types together: within in both, over in one.) So no account
 * can take back what was taken back from it. */
bool quota_reclaims(
        const struct quota *q, uint32_t account, uint32_t victim, uint16_t type, uint64_t milli);

bool quota_any_reserved(const struct quota *q); /* does any account keep what it does not lend? */
bool quota_given(const struct quota *q, uint16_t type); /* has any account a guarantee? */

/* What the account is promised, and what it and all accounts below it hold; for listings.
 * CONF_NONE: what all hold. A type that no account has a guarantee of is not counted. */
struct quota_use {
	uint64_t guaranteed, reserved, held;
};
void quota_use(const struct quota *q, uint32_t account, uint16_t type, struct quota_use *use);

/* What of the guarantees is lent, so that an account can be told what it would have to take back.
 *
 * If every account of a cohort had all it is guaranteed, but for what is kept for it alone, some of
 * it would have to come from accounts over their guarantees: that is what the cohort lends. GPUs
 * that are guaranteed to no account, and free ones, come first: what they cover is not lent. So it
 * is
 *
 *	the sum over its members of the larger of what they use and what they are guaranteed,
 *	less all that the cohort has
 *
 * where a member uses what it holds and what must stay free for it (its reserve), the uppermost
 * cohort has the capacity, and the children of an account have what that account uses or is
 * guaranteed, whichever is more. Since no GPU is a certain guarantee's, each member has lent in
 * proportion to what it is guaranteed and does not use, and borrowed in proportion to what it uses
 * beyond its guarantee. What an account with children has lent to the accounts beside it, or
 * borrowed from them, its children have too.
 *
 * Over the members of a cohort, what is lent is as much more than what is borrowed as the account
 * above has lent or borrowed itself; over those at the top both are the same. GPUs held beyond a
 * guarantee and not borrowed are guaranteed to no account. A type counts by itself, and so do all
 * together. Never more is lent than idle, or than used beyond guarantees: where nodes are away,
 * that can be less than the sum above. */
struct quota_lent {
	uint64_t lent, borrowed;
};

/* Of an account; CONF_NONE: `borrowed` by jobs outside of all accounts. The first call after a
 * change costs a walk over all accounts. */
void quota_lent(struct quota *q, uint32_t account, uint16_t type, struct quota_lent *lent);

#endif
