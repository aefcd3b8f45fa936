/* quota_impl.h - the inside of quotas: quota.c what is held and kept, quota_lending.c what is lent
 */
#ifndef CTLD_CORE_QUOTA_IMPL_H
#define CTLD_CORE_QUOTA_IMPL_H

#include "ctld/core/limits/quota.h"

#define NO_DIM UINT32_MAX

struct sum {
	uint64_t all, below; /* all: here and below; below: the part of it held through children */
};

struct cell {
	uint64_t guaranteed, reserved;
	uint64_t held; /* here and below */
	uint64_t guarded; /* of it: of replicas that are kept, of the account itself; quota_guard() */
	struct sum leaving, coming;
	uint64_t below;       /* guaranteed to children */
	uint64_t held_below;  /* of it: held through children */
	uint64_t reserve;     /* what must stay free for the account */
	uint64_t reserve_sum; /* of its children's reserves */
	uint32_t keepers;     /* children with a reserve */
	bool cohort;          /* some child has a guarantee */
	bool kept;            /* of the root: some account keeps what it does not lend */
	unsigned imagined;    /* of the root: quota_imagine() that have begun and not ended */
};

struct quota {
	const struct conf *conf;
	uint32_t *dim_of; /* by type; the last: all types. NO_DIM: no account has a quota */
	uint32_t *slots;  /* the inverse: the type of a dimension, n_gpu_types for all */
	uint32_t n_dims;
	uint64_t *capacity; /* of a type; the last: of all types */
	struct cell *cells; /* [account][dimension] */
	uint64_t *versions; /* by uppermost account: changes of what it and all below it hold */
	uint32_t *uppermost; /* by account: the uppermost account above it, or itself */
	uint64_t releases;
	uint64_t changes; /* of what is held, and of the capacity */
	struct quota_lending *lending; /* as of `lent_at` changes; NULL: not asked for yet */
	uint64_t lent_at;
	bool any_reserved;
};

static inline struct cell *quota_cell(const struct quota *q, uint32_t account, uint32_t dim)
{
	uint32_t row = account == CONF_NONE ? (uint32_t)q->conf->n_accounts : account;

	return &q->cells[(size_t)row * q->n_dims + dim];
}

static inline uint32_t quota_parent(const struct quota *q, uint32_t account)
{
	return q->conf->accounts[account].parent;
}

static inline uint32_t quota_slot(const struct conf *conf, uint16_t type)
{
	return type == CONF_ANY_TYPE ? (uint32_t)conf->n_gpu_types : type;
}

/* One member of a cohort: an account, or what is held directly in the account above. */
struct member {
	uint64_t guaranteed, held, leaving, coming;
	uint64_t reserve; /* what must stay free for it */
	double weight;
};

/* A member of the cohort of the children of `above`: `child`, or (CONF_NONE) the jobs directly in
 * `above`. False: no member has a guarantee. */
bool quota_member(
        const struct quota *q, uint32_t above, uint32_t child, uint32_t dim, struct member *m);

#endif
