/* strand.c - see strand.h */
#include "ctld/core/place/strand.h"

#include "ctld/core/request/requests.h"

static bool type_does(uint16_t want, uint16_t type)
{
	return want == TYPE_ANY || want == type;
}

/* Can the card satisfy the request now? */
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

/* The least that the task can use. */
static uint64_t need(const struct mix_task *task)
{
	return task->gpus * (uint64_t)(share_wished(&task->wish) ? task->wish.milli : CARD_MILLI);
}

/* What the task can use of GPUs of that type, of which so much is left: fine. */
static uint64_t usable(
        const struct strand_node *n, const struct mix_task *task, uint16_t type, uint64_t left)
{
	uint64_t sum = 0, served;
	uint32_t cards = 0, each = CARD_MILLI, i;
	struct share share;

	if (task->cpus > n->cpus || left < need(task))
		return 0;
	for (i = 0; i < n->n; i++) {
		if (!card_does(n, &n->v[i], type, &task->wish))
			continue;
		if (!cards && share_of(&task->wish, n->v[i].card.mem_mb, &share) && share.charge)
			each = share.charge;
		sum += n->v[i].left;
		cards++;
	}
	if (cards < task->gpus)
		return 0;
	sum *= STRAND_FINE;
	served = task->cpus ? STRAND_FINE * (uint64_t)n->cpus * task->gpus * each / task->cpus : sum;
	return sum < served ? sum : served;
}

/* Of what is left of that type. */
static uint64_t worth_of(
        const struct mix *mix, const struct strand_node *node, uint16_t type, uint64_t left)
{
	const struct mix_typical *v;
	uint64_t sum = 0;
	size_t n, i;

	v = mix_typical(mix, type, &n);
	for (i = 0; i < n; i++)
		sum += v[i].weight * usable(node, &v[i].task, type, left);
	return sum;
}

/* Has a GPU before that one the same type? */
static bool type_before(const struct strand_node *node, uint32_t at)
{
	uint32_t i;

	for (i = 0; i < at; i++) {
		if (node->v[i].type == node->v[at].type)
			return true;
	}
	return false;
}

static uint64_t left_of(const struct strand_node *node, uint16_t type)
{
	uint64_t left = 0;
	uint32_t i;

	for (i = 0; i < node->n; i++)
		left += node->v[i].type == type ? node->v[i].left : 0;
	return left;
}

int64_t strand_worth(const struct mix *mix, const struct strand_node *node)
{
	uint64_t all = 0, cpus, milli, served, weights = 0;
	int64_t worth = 0;
	uint32_t i;

	for (i = 0; i < node->n; i++) {
		uint16_t type = node->v[i].type;
		uint64_t left;

		if (type_before(node, i))
			continue;
		left = left_of(node, type);
		all += left;
		weights += left * mix_weight(mix, type);
		worth += (int64_t)worth_of(mix, node, type, left);
	}
	mix_cpus(mix, &cpus, &milli);
	if (!all)
		return worth;
	served = cpus ? STRAND_FINE * node->cpus * milli / cpus : all * STRAND_FINE;
	if (all * STRAND_FINE > served)
		worth -= (int64_t)(weights / all * (all * STRAND_FINE - served));
	return worth;
}

/* What is lost of the worth, rounded. */
static int64_t cost_of(const struct mix *mix, int64_t before, int64_t after)
{
	int64_t unit = (int64_t)(mix_weight_of_all(mix) * (STRAND_FINE / STRAND_UNIT));
	int64_t lost = before - after + unit / 2;

	if (!unit)
		return 0;
	return lost >= 0 ? lost / unit : -((unit - 1 - lost) / unit);
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
	int64_t worth, most = 0;
	bool found = false;
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
			found = true;
			break;
		}
		card_give(&node->v[i], &share);
		worth = strand_worth(mix, node);
		node->v[i] = before;
		if (!found || worth > most ||
		        (worth == most && before.left < node->v[at].left)) {
			most = worth;
			at = i;
		}
		found = true;
	}
	if (!found)
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
	return cost_of(mix, strand_worth(mix, node), strand_worth(mix, &after));
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
	return cost_of(mix, strand_worth(mix, node), strand_worth(mix, &after));
}
