/* strand.c - see strand.h */
#include "ctld/core/strand.h"

#include "ctld/core/requests.h"

static bool type_does(uint16_t want, uint16_t type)
{
	return want == TYPE_ANY || want == type;
}

/* Does the card do for it now? */
static bool card_does(const struct strand_node *n, const struct strand_card *c, uint16_t type,
        const struct share_wish *wish)
{
	struct share share;

	if (!type_does(type, c->type))
		return false;
	if (!share_wished(wish))
		return !c->card.runs;
	return n->shares && share_of(wish, c->card.mem_mb, &share) && card_holds(&c->card, &share);
}

/* What of the node the task cannot use. */
static uint64_t fragments(const struct strand_node *n, const struct mix_task *task, uint64_t all)
{
	uint64_t usable = 0;
	uint32_t cards = 0, i;

	if (task->cpus > n->cpus)
		return all;
	for (i = 0; i < n->n; i++) {
		if (!card_does(n, &n->v[i], task->type, &task->wish))
			continue;
		usable += n->v[i].left;
		cards++;
	}
	return cards < task->gpus ? all : all - usable;
}

int64_t strand_now(const struct mix *mix, const struct strand_node *node)
{
	uint64_t all = 0, sum = 0, weight = 0, cpus, milli, served;
	const struct mix_typical *v;
	size_t n, i;

	v = mix_typical(mix, &n);
	for (i = 0; i < node->n; i++)
		all += node->v[i].left;
	for (i = 0; i < n; i++) {
		sum += v[i].weight * fragments(node, &v[i].task, all);
		weight += v[i].weight;
	}
	mix_cpus(mix, &cpus, &milli);
	served = cpus ? node->cpus * milli / cpus : all;
	if (all > served)
		sum += weight * (all - served);
	return (int64_t)sum;
}

static void card_give(struct strand_card *c, const struct share *share)
{
	if (!share->charge) {
		c->left = 0;
		c->card.runs = 1;
		c->card.milli_used = CARD_MILLI;
		c->card.mem_used = c->card.mem_mb;
		return;
	}
	card_book(&c->card, share, true);
	c->left = card_left(&c->card);
}

static bool like_before(const struct strand_node *n, uint32_t i, uint64_t taken)
{
	uint32_t k;

	for (k = 0; k < i; k++) {
		const struct strand_card *x = &n->v[k], *y = &n->v[i];

		if (!(taken >> k & 1) && x->type == y->type && x->left == y->left &&
		        !x->card.runs == !y->card.runs && x->card.mem_mb == y->card.mem_mb &&
		        x->card.mem_used == y->card.mem_used &&
		        x->card.milli_used == y->card.milli_used && x->card.user == y->card.user)
			return true;
	}
	return false;
}

/* One more card for it, the one that leaves the least stranded; of equal ones the fullest. */
static bool give_one(const struct mix *mix, struct strand_node *node,
        const struct strand_want *want, uint64_t *taken)
{
	int64_t best = STRAND_NEVER, cost;
	uint32_t at = 0, i;
	struct share share;

	for (i = 0; i < node->n; i++) {
		struct strand_card before = node->v[i];

		if (*taken >> i & 1 || !card_does(node, &before, want->type, &want->wish) ||
		        like_before(node, i, *taken))
			continue;
		share_of(&want->wish, before.card.mem_mb, &share);
		if (!share.charge) { /* free cards are all alike */
			at = i;
			best = 0;
			break;
		}
		card_give(&node->v[i], &share);
		cost = strand_now(mix, node);
		node->v[i] = before;
		if (best == STRAND_NEVER || cost < best ||
		        (cost == best && before.left < node->v[at].left)) {
			best = cost;
			at = i;
		}
	}
	if (best == STRAND_NEVER)
		return false;
	share_of(&want->wish, node->v[at].card.mem_mb, &share);
	card_give(&node->v[at], &share);
	*taken |= (uint64_t)1 << at;
	return true;
}

int64_t strand_cost(const struct mix *mix, const struct strand_node *node,
        const struct strand_want *want, uint64_t *gpus)
{
	struct strand_node after = *node;
	uint64_t taken = 0;
	uint32_t i;

	*gpus = 0;
	if (node->cpus < want->cpus)
		return STRAND_NEVER;
	after.cpus -= want->cpus;
	for (i = 0; i < want->gpus; i++) {
		if (!give_one(mix, &after, want, &taken))
			return STRAND_NEVER;
	}
	for (i = 0; i < after.n; i++)
		*gpus |= taken >> i & 1 ? (uint64_t)1 << after.v[i].index : 0;
	return strand_now(mix, &after) - strand_now(mix, node);
}

int64_t strand_cost_of(const struct mix *mix, const struct strand_node *node,
        const struct strand_want *want, uint64_t gpus)
{
	struct strand_node after = *node;
	struct share share;
	uint32_t i;

	after.cpus -= want->cpus;
	for (i = 0; i < after.n; i++) {
		if (!(gpus >> after.v[i].index & 1))
			continue;
		share_of(&want->wish, after.v[i].card.mem_mb, &share);
		card_give(&after.v[i], &share);
	}
	return strand_now(mix, &after) - strand_now(mix, node);
}
