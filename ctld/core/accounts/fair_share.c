/* fair_share.c - the fair-share factor of each user: ranks, and that of a user without usage
 *
 * A ranking (fairtree.h) is made when it is asked for and something has changed (`stale`). Jobs are
 * sorted by the factors of the last *ordering* (accounts_order()), which the scheduler asks for
 * when it makes its own: two decisions between orderings use the same factors. The tree is grouped
 * anew only if an assoc was added or removed (`regroup`).
 */
#include "ctld/core/accounts/accounts_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "ctld/core/accounts/cost_and_decay.h"
#include "ctld/core/accounts/fairtree.h"
#include "ctld/core/util/table.h"

/* Sums from times farther than this many half-lives from the common time are scaled again. */
#define EPOCH_LIVES 64

/* A new user has used nothing, and so comes before all others of the account. */
double fair_share_of_new(const struct accounts *as, const struct assoc *new)
{
	double best = 1;
	bool met = false;

	for (size_t i = 0; i < as->n_lines; i++) {
		const struct assoc *a = as->lines[i].assoc;
		bool like = a && (as->n ? a->index == new->index : a->uid == new->uid);

		if (like && (!met || a->fair_share > best))
			best = a->fair_share;
		met |= like;
	}
	return best;
}

/* The cost of what runs, until now, in millionths. */
static double running_u(const struct assoc *a, usec_t mono)
{
	uint64_t rate_s = a->rate_u * (uint64_t)(mono / 1000000) - a->rate_since;

	/* Below 0 if a meter begins in the future. */
	return (int64_t)rate_s > 0 ? (double)rate_s / 3600 : 0;
}

/* Accounts in their order, in each users by name; outside the tree by uid and account. */
static int by_place(const void *x, const void *y)
{
	const struct assoc *a = *(const struct assoc *const *)x,
	                   *b = *(const struct assoc *const *)y;
	int order;

	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	order = a->index == CONF_NONE ? 0 : strcmp(a->user, b->user);
	if (order)
		return order;
	if (a->uid != b->uid)
		return a->uid < b->uid ? -1 : 1;
	return strcmp(a->account, b->account);
}

/* All assocs in that order, those outside the tree last. Frees those that are not needed. */
static void place_all(struct accounts *as)
{
	size_t cursor = 0, n = 0, i;
	struct assoc **v, *a;

	v = as->placed = xrealloc(as->placed, table_count(as->table) + 1, sizeof(struct assoc *));
	while ((a = table_each(as->table, &cursor)))
		v[n++] = a;
	as->n_placed = 0;
	for (i = 0; i < n; i++) {
		if (v[i]->refs || v[i]->row) {
			v[as->n_placed++] = v[i];
			continue;
		}
		table_remove(as->table, v[i]);
		assoc_free(as, v[i]);
	}
	qsort(v, as->n_placed, sizeof(struct assoc *), by_place);
}

/* The lines of the tree, then those outside it. */
static void list(struct accounts *as)
{
	struct assoc *const *v = as->placed;
	size_t n_accounts = as->n, n = as->n_placed, i = 0, a;
	size_t *first = xcalloc(n_accounts + 1, sizeof(*first)); /* user of an account, in v */

	for (a = 0; a <= n_accounts; a++) {
		while (i < n && v[i]->index < a)
			i++;
		first[a] = i;
	}
	free(as->lines);
	as->lines = xcalloc(n_accounts + n, sizeof(*as->lines));
	as->n_lines = 0;
	for (a = 0; a < n_accounts; a++) {
		uint32_t account = as->order[a];

		as->lines[as->n_lines++] = (struct line){ account, NULL };
		for (i = first[account]; i < first[account + 1]; i++)
			as->lines[as->n_lines++] = (struct line){ CONF_NONE, v[i] };
	}
	for (i = first[n_accounts]; i < n; i++)
		as->lines[as->n_lines++] = (struct line){ CONF_NONE, v[i] };
	free(first);
}

static double usage_at(const struct assoc *a, struct clocks now, struct usage_factor f)
{
	return a->scaled + usage_by(f, a->meters ? running_u(a, now.mono) : 0);
}

/* The tree as of now. leaves[i]: the node of placed[i], FAIR_ROOT for none. Returns how many nodes.
 */
static size_t snapshot(const struct accounts *as, struct clocks now, struct usage_factor f,
        struct fair_node *nodes, uint32_t *leaves)
{
	struct assoc *const *v = as->placed;
	size_t n_nodes = as->n, i;

	for (i = 0; i < n_nodes; i++)
		nodes[i] = (struct fair_node){ .parent = as->conf->accounts[i].parent,
			.shares = as->conf->accounts[i].shares };
	for (i = 0; i < as->n_placed; i++) {
		leaves[i] = FAIR_ROOT;
		if (v[i]->index == CONF_NONE && as->n)
			continue;
		/* Without accounts a user has one leaf for all names. */
		if (i && v[i]->index == CONF_NONE && v[i]->uid == v[i - 1]->uid) {
			leaves[i] = leaves[i - 1];
		} else {
			leaves[i] = (uint32_t)n_nodes;
			nodes[n_nodes++] = (struct fair_node){
				.parent = v[i]->index, .user = true, .shares = 1
			};
		}
		nodes[leaves[i]].usage += usage_at(v[i], now, f);
	}
	return n_nodes;
}

/* `since`: from the common moment to now. */
static struct standing standing_of(const struct fair_node *node, double since)
{
	struct standing s = { .usage = node->usage / since / USAGE_MICRO };

	COPY_FIELDS(&s, node, norm, effective, level_fs, factor, rank);
	return s;
}

/* What the tree has found, back to accounts and assocs, with usage as of now. */
static void take_standings(struct accounts *as, const struct fair_node *nodes,
        const uint32_t *leaves, struct usage_factor f)
{
	double since = usage_by(f, 1);

	for (size_t i = 0; i < as->n; i++)
		as->v[i].standing = standing_of(&nodes[i], since);
	for (size_t i = 0; i < as->n_placed; i++) {
		if (leaves[i] != FAIR_ROOT)
			as->placed[i]->standing = standing_of(&nodes[leaves[i]], since);
		else
			as->placed[i]->standing = (struct standing){ 0 };
	}
}

/* The nodes are not those of the last time: start from no order. */
static void forget_met(struct accounts *as, size_t n)
{
	as->met = xrealloc(as->met, n ? n : 1, sizeof(*as->met));
	for (size_t i = 0; i < n; i++)
		as->met[i] = (uint32_t)i;
}

/* Costs one pass over accounts and assocs, and a sort that begins with the last order. Only if an
 * assoc came or went they are placed and listed anew. */
void accounts_rank(struct accounts *as, struct clocks now)
{
	usec_t far = (usec_t)as->conf->priority.half_life_s * 1000000 * EPOCH_LIVES;
	struct usage_factor f;
	struct fair_node *nodes;
	uint32_t *leaves;
	size_t n;

	if (far && (now.wall > as->epoch + far || now.wall < as->epoch - far))
		accounts_scale_all(as, now.wall);
	f = usage_factor(now.wall, as->epoch, as->conf->priority.half_life_s);
	if (as->regroup) {
		place_all(as);
		list(as);
	}
	nodes = xcalloc(as->n + as->n_placed, sizeof(*nodes));
	leaves = xcalloc(as->n_placed, sizeof(*leaves));
	n = snapshot(as, now, f, nodes, leaves);
	if (as->regroup)
		forget_met(as, n);
	fairtree_rank(nodes, n, as->met);
	take_standings(as, nodes, leaves, f);
	as->stale = as->regroup = false;
	free(nodes);
	free(leaves);
}

bool accounts_stale(const struct accounts *as)
{
	return as->stale || as->meters;
}

void accounts_order(struct accounts *as, struct clocks now)
{
	if (!as->disordered && !as->meters)
		return;
	accounts_rank(as, now);
	for (size_t i = 0; i < as->n_placed; i++)
		as->placed[i]->fair_share = as->placed[i]->standing.factor;
	as->disordered = false;
}

double assoc_fair_share(const struct assoc *assoc)
{
	return assoc->fair_share;
}
