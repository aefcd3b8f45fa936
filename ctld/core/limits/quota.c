/* quota.c - see quota.h
 *
 * A *dimension* is a GPU type, or all types together, that some account has a quota of; other types
 * cost nothing. There is one cell for each account (and the root, the last) and dimension.
 *
 * Cells are summed up along the tree: a booking changes the cell of its account and of all accounts
 * above it, and with each of them what must stay free for it (set_reserve()). So a check reads the
 * cells on one path (reserve_with()) and the root; its cost is the depth of the account.
 *
 * Amounts are thousandths of GPUs. Accounts are numbered so that children come after their parents.
 */
#include "ctld/core/limits/quota.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/limits/quota_impl.h"

#define DIMS 2 /* dimensions that one job can be in: its type, all types */

/* The dimensions that a job with GPUs of this type is in. */
static uint32_t dims_of(const struct quota *q, uint16_t type, uint32_t dims[DIMS])
{
	const uint16_t both[DIMS] = { type, CONF_ANY_TYPE };
	uint32_t n = 0, i;

	if (type >= q->conf->n_gpu_types)
		return 0; /* no GPUs, or a type that is gone */
	for (i = 0; i < DIMS; i++) {
		uint32_t dim = q->dim_of[quota_slot(q->conf, both[i])];

		if (dim != NO_DIM)
			dims[n++] = dim;
	}
	return n;
}

/* --- making ---------------------------------------------------------------------------------- */

static void number_dims(struct quota *q, const struct conf_gpu_amounts *amounts)
{
	for (size_t i = 0; i < amounts->n; i++) {
		uint32_t *dim = &q->dim_of[quota_slot(q->conf, amounts->v[i].type)];

		if (*dim == NO_DIM)
			*dim = q->n_dims++;
	}
}

static void fill_account(struct quota *q, uint32_t account)
{
	const struct conf_quota *c = &q->conf->accounts[account].quota;

	for (size_t i = 0; i < c->guaranteed.n; i++) {
		uint32_t dim = q->dim_of[quota_slot(q->conf, c->guaranteed.v[i].type)];
		struct cell *above = quota_cell(q, quota_parent(q, account), dim);

		uint64_t milli = (uint64_t)c->guaranteed.v[i].count * GPU_MILLI;

		quota_cell(q, account, dim)->guaranteed = milli;
		above->below += milli;
		above->cohort = true;
	}
	for (size_t i = 0; i < c->lend.n; i++) {
		uint32_t dim = q->dim_of[quota_slot(q->conf, c->lend.v[i].type)];
		struct cell *it = quota_cell(q, account, dim);

		uint64_t lent = (uint64_t)c->lend.v[i].count * GPU_MILLI;

		it->reserved = it->guaranteed > lent ? it->guaranteed - lent : 0;
		q->any_reserved |= it->reserved > 0;
		quota_cell(q, CONF_NONE, dim)->kept |= it->reserved > 0;
	}
}

/* What must stay free for an account: what it keeps and does not hold, but not less than what its
 * children need together, which counts for it too. */
static uint64_t reserve_of(const struct cell *c, uint32_t held, uint64_t below)
{
	uint64_t own = c->reserved > held ? c->reserved - held : 0;

	return own > below ? own : below;
}

/* The reserve of a cell follows what is held; the sum in the cell above follows it. */
static void set_reserve(struct cell *c, struct cell *above)
{
	above->reserve_sum -= c->reserve;
	above->keepers -= c->reserve > 0;
	c->reserve = reserve_of(c, c->held, c->reserve_sum);
	above->reserve_sum += c->reserve;
	above->keepers += c->reserve > 0;
}

struct quota *quota_new(const struct conf *conf)
{
	struct quota *q = xcalloc(1, sizeof(*q));

	q->conf = conf;
	q->dim_of = xcalloc(conf->n_gpu_types + 1, sizeof(*q->dim_of));
	memset(q->dim_of, 0xff, (conf->n_gpu_types + 1) * sizeof(*q->dim_of));
	for (size_t i = 0; i < conf->n_accounts; i++) {
		number_dims(q, &conf->accounts[i].quota.guaranteed);
	}
	q->slots = xcalloc(q->n_dims, sizeof(*q->slots));
	for (uint32_t d = 0; d <= conf->n_gpu_types; d++) {
		if (q->dim_of[d] != NO_DIM)
			q->slots[q->dim_of[d]] = d;
	}
	q->capacity = xcalloc(conf->n_gpu_types + 1, sizeof(*q->capacity));
	q->cells = xcalloc((conf->n_accounts + 1) * q->n_dims, sizeof(*q->cells));
	q->versions = xcalloc(conf->n_accounts + 1, sizeof(*q->versions));
	q->uppermost = xcalloc(conf->n_accounts + 1, sizeof(*q->uppermost));
	/* Children come after their parents. */
	for (size_t i = 0; i < conf->n_accounts; i++) {
		uint32_t parent = quota_parent(q, (uint32_t)i);

		q->uppermost[i] = parent == CONF_NONE ? (uint32_t)i : q->uppermost[parent];
		fill_account(q, (uint32_t)i);
	}
	for (size_t i = conf->n_accounts; i-- > 0;) {
		for (uint32_t d = 0; d < q->n_dims; d++) {
			struct cell *c = quota_cell(q, (uint32_t)i, d);

			set_reserve(c, quota_cell(q, quota_parent(q, (uint32_t)i), d));
		}
	}
	return q;
}

void quota_free(struct quota *q)
{
	if (!q)
		return;
	free(q->dim_of);
	free(q->slots);
	free(q->capacity);
	free(q->cells);
	free(q->versions);
	free(q->uppermost);
	free(q->lending);
	free(q);
}

/* --- holding --------------------------------------------------------------------------------- */

void quota_capacity(struct quota *q, uint16_t type, uint32_t total)
{
	uint64_t milli = (uint64_t)total * GPU_MILLI;

	q->capacity[q->conf->n_gpu_types] += milli - q->capacity[type];
	q->capacity[type] = milli;
	q->changes++;
}

void quota_lift(struct quota *q, uint16_t type, uint64_t milli, bool lift)
{
	q->capacity[quota_slot(q->conf, type)] += lift ? milli : -milli;
}

/* Adds to the account and all above it, up to the root. With what they hold their reserves
 * change. */
static void hold(struct quota *q, uint32_t account, uint32_t dim, uint64_t milli, bool more)
{
	struct cell *c;

	for (; account != CONF_NONE; account = quota_parent(q, account)) {
		struct cell *above = quota_cell(q, quota_parent(q, account), dim);

		c = quota_cell(q, account, dim);
		assert(more || c->held >= milli);
		c->held += more ? milli : -milli;
		above->held_below += more ? milli : -milli;
		set_reserve(c, above);
	}
	c = quota_cell(q, CONF_NONE, dim);
	assert(more || c->held >= milli);
	c->held += more ? milli : -milli;
}

static void hold_dims(struct quota *q, uint32_t account, uint16_t type, uint64_t milli, bool more)
{
	uint32_t dims[DIMS], n = dims_of(q, type, dims), i;

	for (i = 0; i < n && milli; i++)
		hold(q, account, dims[i], milli, more);
}

static void hold_all(struct quota *q, uint32_t account, uint16_t type, uint64_t milli, bool more)
{
	hold_dims(q, account, type, milli, more);
	if (account != CONF_NONE)
		q->versions[q->uppermost[account]]++;
	q->releases += !more;
	q->changes++;
}

void quota_take(struct quota *q, uint32_t account, uint16_t type, uint64_t milli)
{
	hold_all(q, account, type, milli, true);
}

void quota_release(struct quota *q, uint32_t account, uint16_t type, uint64_t milli)
{
	hold_all(q, account, type, milli, false);
}

/* As if so much more (or less) were held, without a new version: keys of classes do not move for
 * it. */
void quota_imagine(
        struct quota *q, uint32_t account, uint16_t type, uint64_t milli, bool more, bool imagine)
{
	uint32_t dims[DIMS], n = dims_of(q, type, dims), i;

	hold_dims(q, account, type, milli, more == imagine);
	for (i = 0; i < n; i++)
		quota_cell(q, CONF_NONE, dims[i])->imagined += imagine ? 1 : -1u;
}

/* `above`: the same sum of the parent, where it counts as held through a child. */
static void add(struct sum *sum, struct sum *above, uint64_t milli, bool more)
{
	assert(more || sum->all >= milli);
	sum->all += more ? milli : -milli;
	if (above)
		above->below += more ? milli : -milli;
}

static void count(
        struct quota *q, uint32_t account, uint16_t type, uint64_t milli, bool more, bool leaving)
{
	uint32_t dims[DIMS], n = dims_of(q, type, dims), i, a;
	struct cell *c, *up;

	for (i = 0; i < n; i++) {
		for (c = quota_cell(q, account, dims[i]), a = account; a != CONF_NONE; c = up) {
			a = quota_parent(q, a);
			up = quota_cell(q, a, dims[i]);
			add(leaving ? &c->leaving : &c->coming,
			        leaving ? &up->leaving : &up->coming, milli, more);
		}
		add(leaving ? &c->leaving : &c->coming, NULL, milli, more);
	}
}

void quota_leaving(struct quota *q, uint32_t account, uint16_t type, uint64_t milli, bool leaving)
{
	count(q, account, type, milli, leaving, true);
}

void quota_coming(struct quota *q, uint32_t account, uint16_t type, uint64_t milli, bool coming)
{
	count(q, account, type, milli, coming, false);
}

bool quota_guard(struct quota *q, uint32_t account, uint16_t type, uint64_t milli)
{
	uint32_t dims[DIMS], n = account == CONF_NONE ? 0 : dims_of(q, type, dims);
	bool guaranteed = false;

	for (uint32_t i = 0; i < n; i++) {
		const struct cell *c = quota_cell(q, account, dims[i]);

		guaranteed |= c->guaranteed > 0;
		if (c->guaranteed && c->guarded + milli > c->guaranteed)
			return false;
	}
	for (uint32_t i = 0; guaranteed && i < n; i++)
		quota_cell(q, account, dims[i])->guarded += milli;
	return guaranteed;
}

void quota_unguard(struct quota *q, uint32_t account, uint16_t type, uint64_t milli)
{
	uint32_t dims[DIMS], n = dims_of(q, type, dims);

	for (uint32_t i = 0; i < n; i++)
		quota_cell(q, account, dims[i])->guarded -= milli;
}

#define SEVERAL ((uint64_t)1 << 32)

uint64_t quota_reserved(const struct quota *q, uint16_t type)
{
	uint32_t dims[DIMS], n = dims_of(q, type, dims), i;
	uint64_t sum = 0;

	for (i = 0; i < n; i++) {
		const struct cell *root = quota_cell(q, CONF_NONE, dims[i]);

		sum += root->keepers > 1 ? SEVERAL : root->reserve_sum;
	}
	return sum;
}

/* --- may a job start? ------------------------------------------------------------------------ */

static uint16_t type_of(const struct quota *q, uint32_t dim)
{
	uint32_t slot = q->slots[dim];

	return slot == q->conf->n_gpu_types ? CONF_ANY_TYPE : (uint16_t)slot;
}

/* The sum of all reserves if the account held so many more. */
static uint64_t reserve_with(const struct quota *q, uint32_t account, uint32_t dim, uint64_t milli)
{
	uint64_t was = 0, is = 0;

	for (; account != CONF_NONE; account = quota_parent(q, account)) {
		const struct cell *c = quota_cell(q, account, dim);

		is = reserve_of(c, c->held + milli, c->reserve_sum - was + is);
		was = c->reserve;
	}
	return quota_cell(q, CONF_NONE, dim)->reserve_sum - was + is;
}

/* The account that most is kept for, among those that this account does not belong to. */
static uint32_t keeper(const struct quota *q, uint32_t account, uint32_t dim)
{
	uint32_t best = CONF_NONE, a, up;
	uint64_t most = 0;

	for (a = 0; a < q->conf->n_accounts; a++) {
		const struct cell *c = quota_cell(q, a, dim);
		uint64_t own = c->reserved > c->held ? c->reserved - c->held : 0;

		for (up = account; up != CONF_NONE && up != a; up = quota_parent(q, up))
			;
		if (up == CONF_NONE && own > most) {
			most = own;
			best = a;
		}
	}
	return best;
}

/* One dimension: are the free GPUs enough for the request and for all that must stay free
 * afterwards? Or does the request itself lessen what must stay free by all that it takes? */
static bool covered(const struct quota *q, uint32_t account, uint32_t dim, uint64_t milli,
        struct quota_block *block)
{
	const struct cell *root = quota_cell(q, CONF_NONE, dim);
	uint64_t now = root->reserve_sum, then = reserve_with(q, account, dim, milli);
	uint64_t capacity = q->capacity[q->slots[dim]], want = root->held + milli + then;

	if (want <= capacity || then + milli <= now)
		return true;
	/* If nothing is kept, the ledger decides what is free. */
	if (!then && !(root->imagined && root->kept))
		return true;
	if (block)
		*block = (struct quota_block){ .account = keeper(q, account, dim),
			.type = type_of(q, dim),
			.free = capacity > root->held ? capacity - root->held : 0,
			.kept = then,
			.short_by = want - capacity };
	return false;
}

bool quota_check(const struct quota *q, uint32_t account, uint16_t type, uint64_t milli,
        struct quota_block *block)
{
	uint32_t dims[DIMS], n = dims_of(q, type, dims), i;

	for (i = 0; i < n && milli; i++) {
		if (!covered(q, account, dims[i], milli, block))
			return false;
	}
	return true;
}

/* --- accounts over quota, and reclaims ------------------------------------------------------- */

bool quota_member(
        const struct quota *q, uint32_t above, uint32_t child, uint32_t dim, struct member *m)
{
	const struct cell *up = quota_cell(q, above, dim);

	if (!up->cohort)
		return false;
	if (child != CONF_NONE) {
		const struct cell *c = quota_cell(q, child, dim);

		*m = (struct member){ c->guaranteed, c->held, c->leaving.all, c->coming.all,
			c->reserve, q->conf->accounts[child].quota.weight };
	} else {
		*m = (struct member){ up->guaranteed > up->below ? up->guaranteed - up->below : 0,
			up->held - up->held_below, up->leaving.all - up->leaving.below,
			up->coming.all - up->coming.below, 0, 1 };
	}
	return true;
}

/* Sixteen bits that keep the order of positive numbers from 2^-12 to 2^20: the exponent and the
 * first eleven bits of the fraction of the double. 0 for 0. */
static uint16_t rough(double x)
{
	const uint64_t lowest = (uint64_t)(1023 - 12) << 11;
	union {
		double x;
		uint64_t bits;
	} u = { .x = x };
	uint64_t top = u.bits >> 41;

	if (x <= 0)
		return 0;
	if (top <= lowest)
		return 1;
	return top - lowest > UINT16_MAX ? UINT16_MAX : (uint16_t)(top - lowest);
}

/* By how many GPUs a weight of 1 the member is over its guarantee, in the dimension where that is
 * most; as 16 bits that keep the order. */
static uint16_t over_at(const struct quota *q, uint32_t above, uint32_t child, const uint32_t *dims,
        uint32_t n, uint64_t milli, bool *cohort)
{
	uint16_t most = 0;
	struct member m;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t held;
		uint16_t over;

		if (!quota_member(q, above, child, dims[i], &m))
			continue;
		*cohort = true;
		held = (uint64_t)m.held + milli;
		over = held > m.guaranteed
		               ? rough((double)(held - m.guaranteed) / GPU_MILLI / m.weight)
		               : 0;
		most = over > most ? over : most;
	}
	return most;
}

#define OVER_LEVELS 3

double quota_over(const struct quota *q, uint32_t account, uint16_t type, uint64_t milli)
{
	uint32_t dims[DIMS], n = dims_of(q, type, dims), child = CONF_NONE, a;
	uint16_t levels[OVER_LEVELS] = { 0 };
	double sum = 0;

	/* From the job up to the root: the last levels found are those nearest to the root. */
	for (a = account;; a = quota_parent(q, a)) {
		bool cohort = false;
		uint16_t over = over_at(q, a, child, dims, n, milli, &cohort);

		if (cohort) {
			memmove(levels + 1, levels, sizeof(levels) - sizeof(levels[0]));
			levels[0] = over;
		}
		if (a == CONF_NONE)
			break;
		child = a;
	}
	for (size_t i = 0; i < OVER_LEVELS; i++)
		sum = sum * 65536 + levels[i];
	return sum;
}

uint64_t quota_version(const struct quota *q, uint32_t account)
{
	return q->versions[q->uppermost[account]];
}

uint64_t quota_releases(const struct quota *q)
{
	return q->releases;
}

static uint32_t depth_of(const struct quota *q, uint32_t account)
{
	return account == CONF_NONE ? 0 : q->conf->accounts[account].depth + 1;
}

/* The two accounts are compared where their paths to the root meet: as members of one cohort. The
 * claimant must stay within its guarantee there, and the other one be over its own, with what is
 * leaving already taken off. */
bool quota_reclaims(
        const struct quota *q, uint32_t account, uint32_t victim, uint16_t type, uint64_t milli)
{
	uint32_t dims[DIMS], n = dims_of(q, type, dims), i;
	uint32_t a = account, b = victim, side = CONF_NONE, other = CONF_NONE;
	struct member mine, theirs;
	bool over = false;

	/* Go up in turn, from the deeper one first; the last step of each leads to where the paths
	 * meet. */
	while (a != b) {
		if (depth_of(q, a) >= depth_of(q, b)) {
			side = a;
			a = quota_parent(q, a);
		} else {
			other = b;
			b = quota_parent(q, b);
		}
	}
	if (side == other)
		return false;
	/* The account must be within its guarantee in all dimensions with a quota; otherwise
	 * another account could take the GPUs back in one of them. */
	for (i = 0; i < n; i++) {
		if (!quota_member(q, a, side, dims[i], &mine))
			continue;
		if ((uint64_t)mine.held + mine.coming + milli > mine.guaranteed)
			return false;
		quota_member(q, a, other, dims[i], &theirs);
		over |= theirs.held > (uint64_t)theirs.guaranteed + theirs.leaving;
	}
	return over;
}

bool quota_any_reserved(const struct quota *q)
{
	return q->any_reserved;
}

bool quota_given(const struct quota *q, uint16_t type)
{
	return q->dim_of[quota_slot(q->conf, type)] != NO_DIM;
}

void quota_use(const struct quota *q, uint32_t account, uint16_t type, struct quota_use *use)
{
	uint32_t dim = q->dim_of[quota_slot(q->conf, type)];

	*use = (struct quota_use){ 0 };
	if (dim != NO_DIM)
		*use = (struct quota_use){ quota_cell(q, account, dim)->guaranteed,
			quota_cell(q, account, dim)->reserved, quota_cell(q, account, dim)->held };
}
