/* quota_lending.c - what of the guarantees is lent: see quota_lent() in quota.h
 *
 * Children come after their parents: one walk adds up what the members of each cohort have idle and
 * use beyond their guarantees, a second one gives each member its part of what its cohort lends.
 * Parts are differences of rounded running sums, so they add up to exactly what is divided.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/limits/quota_impl.h"

/* What is divided among the members of a cohort by some weight of theirs. */
struct division {
	uint64_t amount;  /* divided */
	uint64_t weights; /* of all members; not less than the amount */
	uint64_t done;    /* weights of those that have their part */
};

/* Of one account (the last: the root) and dimension. */
struct quota_lending {
	struct quota_lent own;
	struct division lent, borrowed; /* among the members of the cohort below it */
};

static struct quota_lending *lending(const struct quota *q, uint32_t account, uint32_t dim)
{
	uint32_t row = account == CONF_NONE ? (uint32_t)q->conf->n_accounts : account;

	return &q->lending[(size_t)row * q->n_dims + dim];
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t used_by(const struct member *m)
{
	return m->held + m->reserve;
}

static void add_member(const struct quota *q, uint32_t above, uint32_t child, uint32_t dim)
{
	struct quota_lending *l = lending(q, above, dim);
	struct member m;

	if (!quota_member(q, above, child, dim, &m))
		return;
	l->lent.weights += less(m.guaranteed, used_by(&m));
	l->borrowed.weights += less(used_by(&m), m.guaranteed);
}

/* How much the cohort below an account lends: among its members, and by the account to others. */
static void divide(const struct quota *q, uint32_t account, uint32_t dim)
{
	const struct cell *c = quota_cell(q, account, dim);
	struct quota_lending *l = lending(q, account, dim);
	uint64_t has, wanted, within;

	/* Guarantees of all members, and what some use beyond them. */
	wanted = larger(c->guaranteed, c->below) + l->borrowed.weights;
	has = account == CONF_NONE ? q->capacity[q->slots[dim]]
	                           : larger(c->guaranteed, c->held + c->reserve);
	within = smaller(less(wanted, has), smaller(l->lent.weights, l->borrowed.weights));
	l->lent.amount = smaller(within + l->own.lent, l->lent.weights);
	l->borrowed.amount = smaller(within + l->own.borrowed, l->borrowed.weights);
}

/* a * b / c, rounded down, where a is at most c: bit by bit, since the product may not fit. */
static uint64_t scaled(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t quotient = 0, rest = 0;

	for (uint64_t bit = (uint64_t)1 << 63; bit; bit >>= 1) {
		rest = 2 * rest + (b & bit ? a : 0);
		quotient *= 2;
		for (; rest >= c; rest -= c)
			quotient++;
	}
	return quotient;
}

static uint64_t part(struct division *d, uint64_t weight)
{
	uint64_t before;

	if (!d->amount)
		return 0;
	before = scaled(d->amount, d->done, d->weights);
	d->done += weight;
	return scaled(d->amount, d->done, d->weights) - before;
}

static void give_parts(
        const struct quota *q, uint32_t above, uint32_t child, uint32_t dim, struct quota_lent *to)
{
	struct quota_lending *l = lending(q, above, dim);
	struct member m;

	if (!quota_member(q, above, child, dim, &m))
		return;
	to->lent = part(&l->lent, less(m.guaranteed, used_by(&m)));
	to->borrowed = part(&l->borrowed, less(used_by(&m), m.guaranteed));
}

static void lend(struct quota *q)
{
	uint32_t n = (uint32_t)q->conf->n_accounts, rows = n + 1, a, d;

	free(q->lending);
	q->lending = xcalloc((size_t)rows * q->n_dims, sizeof(*q->lending));
	q->lent_at = q->changes;
	for (d = 0; d < q->n_dims; d++) {
		for (a = 0; a < n; a++) {
			add_member(q, quota_parent(q, a), a, d);
			add_member(q, a, CONF_NONE, d);
		}
		add_member(q, CONF_NONE, CONF_NONE, d);
		divide(q, CONF_NONE, d);
		for (a = 0; a < n; a++) {
			give_parts(q, quota_parent(q, a), a, d, &lending(q, a, d)->own);
			divide(q, a, d);
		}
		/* The jobs outside of all accounts are the last member of the uppermost cohort. */
		give_parts(q, CONF_NONE, CONF_NONE, d, &lending(q, CONF_NONE, d)->own);
	}
}

void quota_lent(struct quota *q, uint32_t account, uint16_t type, struct quota_lent *lent)
{
	uint32_t dim = q->dim_of[quota_slot(q->conf, type)];

	*lent = (struct quota_lent){ 0 };
	if (dim == NO_DIM)
		return;
	if (!q->lending || q->lent_at != q->changes)
		lend(q);
	*lent = lending(q, account, dim)->own;
}
