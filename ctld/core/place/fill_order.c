/* fill_order.c - see fill_order.h
 *
 * A treap (Seidel and Aragon, Algorithmica 16, 1996): a search tree by (free CPUs, member), and a
 * heap by a weight that is a hash of the member. So its shape depends on what is in it alone, not
 * on the order in which that came, and its depth is logarithmic: some 40 levels for 65,536 members,
 * which is how deep the recursion goes.
 *
 * Each subtree knows the most memory of one of its members, so fill_order_find() leaves out what
 * has too little. sum_up() is called for each member whose children have changed.
 */
#include "ctld/core/place/fill_order.h"

#include "ctld/core/util/hash.h"

static uint64_t weight(uint32_t member)
{
	return hash_u64(member, 0x6f72646572);
}

static bool before(const struct fill_order_link *pool, uint32_t x, uint32_t y)
{
	if (pool[x].cpus != pool[y].cpus)
		return pool[x].cpus < pool[y].cpus;
	return x < y;
}

static void sum_up(struct fill_order_link *pool, uint32_t m)
{
	struct fill_order_link *l = &pool[m];

	l->most_mem = l->mem;
	if (l->left != FILL_ORDER_NONE && pool[l->left].most_mem > l->most_mem)
		l->most_mem = pool[l->left].most_mem;
	if (l->right != FILL_ORDER_NONE && pool[l->right].most_mem > l->most_mem)
		l->most_mem = pool[l->right].most_mem;
}

/* Cut `root` into those before `member` and those after. */
static void split(struct fill_order_link *pool, uint32_t root, uint32_t member, uint32_t *less,
        uint32_t *more)
{
	if (root == FILL_ORDER_NONE) {
		*less = *more = FILL_ORDER_NONE;
	} else if (before(pool, root, member)) {
		split(pool, pool[root].right, member, &pool[root].right, more);
		*less = root;
		sum_up(pool, root);
	} else {
		split(pool, pool[root].left, member, less, &pool[root].left);
		*more = root;
		sum_up(pool, root);
	}
}

/* Join two trees; all of `less` come before all of `more`. */
static uint32_t merge(struct fill_order_link *pool, uint32_t less, uint32_t more)
{
	if (less == FILL_ORDER_NONE)
		return more;
	if (more == FILL_ORDER_NONE)
		return less;
	if (weight(less) > weight(more)) {
		pool[less].right = merge(pool, pool[less].right, more);
		sum_up(pool, less);
		return less;
	}
	pool[more].left = merge(pool, less, pool[more].left);
	sum_up(pool, more);
	return more;
}

/* Down to where its weight belongs; what is below is cut in two, which become its children. */
static uint32_t insert(struct fill_order_link *pool, uint32_t root, uint32_t member)
{
	if (root == FILL_ORDER_NONE)
		return member;
	if (weight(member) > weight(root)) {
		split(pool, root, member, &pool[member].left, &pool[member].right);
		sum_up(pool, member);
		return member;
	}
	if (before(pool, member, root))
		pool[root].left = insert(pool, pool[root].left, member);
	else
		pool[root].right = insert(pool, pool[root].right, member);
	sum_up(pool, root);
	return root;
}

void fill_order_add(
        struct fill_order_link *pool, uint32_t *root, uint32_t member, uint32_t cpus, uint64_t mem)
{
	pool[member] = (struct fill_order_link){ FILL_ORDER_NONE, FILL_ORDER_NONE, cpus, mem, mem };
	*root = insert(pool, *root, member);
}

static uint32_t take_out(struct fill_order_link *pool, uint32_t root, uint32_t member)
{
	if (root == member)
		return merge(pool, pool[root].left, pool[root].right);
	if (before(pool, member, root))
		pool[root].left = take_out(pool, pool[root].left, member);
	else
		pool[root].right = take_out(pool, pool[root].right, member);
	sum_up(pool, root);
	return root;
}

void fill_order_remove(struct fill_order_link *pool, uint32_t *root, uint32_t member)
{
	*root = take_out(pool, *root, member);
}

/* The first in the order (or the last) that has enough; members with too few CPUs are passed over
 * as whole subtrees. Where many members pass the numbers and fail the test, each of them is
 * asked. */
uint32_t fill_order_find(
        const struct fill_order_link *pool, uint32_t root, const struct fill_order_want *want)
{
	uint32_t found;

	if (root == FILL_ORDER_NONE || pool[root].most_mem < want->mem)
		return FILL_ORDER_NONE;
	if (pool[root].cpus < want->cpus)
		return fill_order_find(pool, pool[root].right, want);
	found = fill_order_find(pool, want->last ? pool[root].right : pool[root].left, want);
	if (found != FILL_ORDER_NONE)
		return found;
	if (pool[root].mem >= want->mem && (!want->test || want->test(want->arg, root)))
		return root;
	return fill_order_find(pool, want->last ? pool[root].left : pool[root].right, want);
}
