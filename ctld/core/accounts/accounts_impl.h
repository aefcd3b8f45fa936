/* accounts_impl.h - the inside of the accounts
 *
 *	accounts.c    the tree, what its users have used, rows
 *	fair_share.c  the rank of each user, and the factor by which jobs are sorted
 */
#ifndef CTLD_CORE_ACCOUNTS_IMPL_H
#define CTLD_CORE_ACCOUNTS_IMPL_H

#include "ctld/core/accounts/accounts.h"

struct table;

/* The values of a node of the tree at the last ranking. */
struct standing {
	double usage; /* decayed to that moment, with what is running */
	double norm, effective, level_fs, factor;
	uint32_t rank;
};

struct assoc {
	struct mark mark;
	/* durable */
	const char *account, *user; /* kept */
	uint32_t uid;
	struct usage_sums sums;
	uint64_t decayed_u;
	usec_t decayed_time;
	/* volatile */
	bool row; /* was billed: has a row */
	struct usage_sums retired;
	uint32_t refs, index; /* of its account; CONF_NONE */
	double scaled;        /* decayed_u as of the common moment */
	/* Of all meters: the rate, and rate x since (s), modulo 2^64: the difference that is
	 * needed is small. */
	uint64_t rate_u, rate_since;
	uint32_t meters;
	struct standing standing;
	double fair_share; /* the factor at the last ordering, by which its jobs are sorted */
};

/* One of the configuration. */
struct account {
	const char *name; /* kept */
	uint32_t index;
	struct usage_sums sums; /* of all assocs here and below */
	struct standing standing;
};

/* A line of accounts_next(): an account, or a user. */
struct line {
	uint32_t account; /* CONF_NONE: a user */
	const struct assoc *assoc;
};

struct accounts {
	struct strings *strings;
	struct dirty *dirty;
	struct table *table;
	const struct conf *conf;
	struct account *v; /* in the order of the configuration */
	size_t n;
	uint32_t *by_name;  /* indices, by the address of the kept name */
	uint32_t *order;    /* indices, depth first */
	usec_t epoch;       /* the common moment */
	uint64_t meters;    /* that are on */
	bool stale;         /* something has changed since the last ranking */
	bool disordered;    /* and since the last accounts_order() */
	struct line *lines; /* as of the last ranking */
	size_t n_lines;
	/* Also of the last ranking, and valid for the next one if no assoc was added or removed. */
	bool regroup;
	struct assoc **placed; /* all, by their place */
	size_t n_placed;
	uint32_t *met; /* the numbers of the nodes of the tree as they were met */
};

void assoc_free(struct accounts *as, struct assoc *assoc);
/* Take a new common moment, and each assoc's decayed cost as of it. */
void accounts_scale_all(struct accounts *as, usec_t wall);
/* fair_share.c: the factor of an assoc that was just made. It has used nothing, and so comes before
 * all others of its account. */
double fair_share_of_new(const struct accounts *as, const struct assoc *assoc);

#endif
