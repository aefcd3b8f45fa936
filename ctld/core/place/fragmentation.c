/* fragmentation.c - see fragmentation.h
 *
 * The cost of a place is the worth of the node before, less its worth after. The GPUs of the place
 * are chosen on the way (give_one()), one after another, each the one that leaves the most worth. A
 * GPU that is equal to one that was tried (like_before()) is not tried again: on most nodes two or
 * three of eight differ.
 */
#include "ctld/core/place/fragmentation.h"

#include "ctld/core/request/requests.h"

static bool type_does(uint16_t want, uint16_t type)
{
	return want == TYPE_ANY || want == type;
}

/* Can the GPU satisfy the request now? */
static bool gpu_does(const struct fragmentation_node *n, const struct fragmentation_gpu *c,
        uint16_t type, const struct share_wish *wish)
{
	struct share share;

	if (!type_does(type, c->type))
		return false;
	if (!share_wished(wish))
		return !c->gpu.runs;
	return n->shares && share_of(wish, c->gpu.mem_mb, &share) &&
	       shared_gpu_holds(&c->gpu, &share);
}

/* The least that the task can use. */
static uint64_t need(const struct profile_task *task)
{
	return task->gpus * (uint64_t)(share_wished(&task->wish) ? task->wish.milli : GPU_MILLI);
}

/* What the task can use of GPUs of that type, of which so much is left: fine. */
static uint64_t usable(const struct fragmentation_node *n, const struct profile_task *task,
        uint16_t type, uint64_t left)
{
	uint64_t sum = 0, served;
	uint32_t gpu_set = 0, each = GPU_MILLI, i;
	struct share share;

	if (task->cpus > n->cpus || left < need(task))
		return 0;
	for (i = 0; i < n->n; i++) {
		if (!gpu_does(n, &n->v[i], type, &task->wish))
			continue;
		if (!gpu_set && share_of(&task->wish, n->v[i].gpu.mem_mb, &share) && share.charge)
			each = share.charge;
		sum += n->v[i].left;
		gpu_set++;
	}
	if (gpu_set < task->gpus)
		return 0;
	sum *= FRAGMENTATION_FINE;
	served = task->cpus
	                 ? FRAGMENTATION_FINE * (uint64_t)n->cpus * task->gpus * each / task->cpus
	                 : sum;
	return sum < served ? sum : served;
}

/* Of what is left of that type. */
static uint64_t worth_of(const struct profile *profile, const struct fragmentation_node *node,
        uint16_t type, uint64_t left)
{
	const struct profile_typical *v;
	uint64_t sum = 0;
	size_t n, i;

	v = profile_typical(profile, type, &n);
	for (i = 0; i < n; i++)
		sum += v[i].weight * usable(node, &v[i].task, type, left);
	return sum;
}

/* Has a GPU before that one the same type? */
static bool type_before(const struct fragmentation_node *node, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++) {
		if (node->v[i].type == node->v[at].type)
			return true;
	}
	return false;
}

static uint64_t left_of(const struct fragmentation_node *node, uint16_t type)
{
	uint64_t left = 0;

	for (uint32_t i = 0; i < node->n; i++)
		left += node->v[i].type == type ? node->v[i].left : 0;
	return left;
}

/* The sum over the node's types of what typical tasks can use of what is left; less what is left
 * without the CPUs that tasks need beside it. In weights of the profile times
 * FRAGMENTATION_FINE. */
int64_t fragmentation_worth(const struct profile *profile, const struct fragmentation_node *node)
{
	uint64_t all = 0, cpus, milli, served, weights = 0;
	int64_t worth = 0;

	for (uint32_t i = 0; i < node->n; i++) {
		uint16_t type = node->v[i].type;
		uint64_t left;

		if (type_before(node, i))
			continue;
		left = left_of(node, type);
		all += left;
		weights += left * profile_weight(profile, type);
		worth += (int64_t)worth_of(profile, node, type, left);
	}
	profile_cpus(profile, &cpus, &milli);
	if (!all)
		return worth;
	served = cpus ? FRAGMENTATION_FINE * node->cpus * milli / cpus : all * FRAGMENTATION_FINE;
	if (all * FRAGMENTATION_FINE > served)
		worth -= (int64_t)(weights / all * (all * FRAGMENTATION_FINE - served));
	return worth;
}

/* What is lost of the worth, rounded. */
static int64_t cost_of(const struct profile *profile, int64_t before, int64_t after)
{
	int64_t unit = (int64_t)(profile_weight_of_all(profile) *
	                         (FRAGMENTATION_FINE / FRAGMENTATION_UNIT));
	int64_t lost = before - after + unit / 2;

	if (!unit)
		return 0;
	return lost >= 0 ? lost / unit : -((unit - 1 - lost) / unit);
}

/* As if one more run were on it: with a share, or with the whole GPU. */
static void gpu_give(struct fragmentation_gpu *c, const struct share *share)
{
	if (!share->charge) {
		c->left = 0;
		c->gpu.runs = 1;
		c->gpu.milli_used = GPU_MILLI;
		c->gpu.mem_used = c->gpu.mem_mb;
		return;
	}
	shared_gpu_book(&c->gpu, share, true);
	c->left = shared_gpu_left(&c->gpu);
}

/* Is there an equal GPU with a lower index that was not taken either? Then that one has been
 * tried. */
static bool like_before(const struct fragmentation_node *n, uint32_t i, uint64_t taken)
{
	for (uint32_t k = 0; k < i; k++) {
		const struct fragmentation_gpu *x = &n->v[k], *y = &n->v[i];

		if (!(taken >> k & 1) && x->type == y->type && x->left == y->left &&
		        !x->gpu.runs == !y->gpu.runs && x->gpu.mem_mb == y->gpu.mem_mb &&
		        x->gpu.mem_used == y->gpu.mem_used &&
		        x->gpu.milli_used == y->gpu.milli_used && x->gpu.user == y->gpu.user)
			return true;
	}
	return false;
}

/* One more GPU for it, the one that leaves the least stranded; of equal ones the fullest. */
static bool give_one(const struct profile *profile, struct fragmentation_node *node,
        const struct fragmentation_want *want, uint64_t *taken)
{
	int64_t worth, most = 0;
	bool found = false;
	uint32_t at = 0, i;
	struct share share;

	for (i = 0; i < node->n; i++) {
		struct fragmentation_gpu before = node->v[i];

		if (*taken >> i & 1 || !gpu_does(node, &before, want->type, &want->wish) ||
		        like_before(node, i, *taken))
			continue;
		share_of(&want->wish, before.gpu.mem_mb, &share);
		if (!share.charge) { /* free GPUs are all alike */
			at = i;
			found = true;
			break;
		}
		gpu_give(&node->v[i], &share);
		worth = fragmentation_worth(profile, node);
		node->v[i] = before;
		if (!found || worth > most || (worth == most && before.left < node->v[at].left)) {
			most = worth;
			at = i;
		}
		found = true;
	}
	if (!found)
		return false;
	share_of(&want->wish, node->v[at].gpu.mem_mb, &share);
	gpu_give(&node->v[at], &share);
	*taken |= (uint64_t)1 << at;
	return true;
}

/* Greedy: the best GPU for the first, then the best beside it, and so on. */
int64_t fragmentation_cost(const struct profile *profile, const struct fragmentation_node *node,
        const struct fragmentation_want *want, uint64_t *gpus)
{
	struct fragmentation_node after = *node;
	uint64_t taken = 0;

	*gpus = 0;
	if (node->cpus < want->cpus)
		return FRAGMENTATION_NEVER;
	after.cpus -= want->cpus;
	for (uint32_t i = 0; i < want->gpus; i++) {
		if (!give_one(profile, &after, want, &taken))
			return FRAGMENTATION_NEVER;
	}
	for (uint32_t i = 0; i < after.n; i++)
		*gpus |= taken >> i & 1 ? (uint64_t)1 << after.v[i].index : 0;
	return cost_of(
	        profile, fragmentation_worth(profile, node), fragmentation_worth(profile, &after));
}

int64_t fragmentation_cost_of(const struct profile *profile, const struct fragmentation_node *node,
        const struct fragmentation_want *want, uint64_t gpus)
{
	struct fragmentation_node after = *node;
	struct share share;

	after.cpus -= want->cpus;
	for (uint32_t i = 0; i < after.n; i++) {
		if (!(gpus >> after.v[i].index & 1))
			continue;
		share_of(&want->wish, after.v[i].gpu.mem_mb, &share);
		gpu_give(&after.v[i], &share);
	}
	return cost_of(
	        profile, fragmentation_worth(profile, node), fragmentation_worth(profile, &after));
}
