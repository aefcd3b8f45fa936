/* plan_node_order.c - see plan_impl.h: nodes in the order in which they have so many GPUs free
 *
 * An order is made when it is first wanted, and is then updated by what has changed on nodes.
 * Changes are noted in a log, and each order keeps its position in it: a change on many nodes costs
 * nothing until an order is used.
 *
 * The scheduler searches in steps of counted work, and users ask questions between two steps. So
 * questions have their own orders and log: which orders the scheduler has, when they were made and
 * where its steps end does not depend on questions, and a tape that is played without them leads to
 * the same plan.
 *
 * Looking at all nodes of a large cluster takes long, so that counts as work too: an order is made
 * and updated in as many steps as it takes.
 *
 * Invariant: an order that is up to date (`upto` is the end of its log, and its sweep is over) has
 * for each node of its partition the time that free_at() gives. Updating one node is logarithmic in
 * the nodes (soonest.h).
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/base/xalloc.h"
#include "ctld/core/plan/plan_impl.h"

#define PER_GPU ((int64_t)65536) /* so many CPUs weigh as much as a GPU: more than a node has */

/* --- what has changed ------------------------------------------------------------------------ */

static void log_init(struct plan_log *log, size_t n_nodes)
{
	for (log->size = 64; log->size < 2 * n_nodes; log->size *= 2)
		;
	log->v = xcalloc(log->size, sizeof(*log->v));
	log->noted = xcalloc(n_nodes, sizeof(*log->noted));
}

void plan_orders_init(struct plan *p)
{
	log_init(&p->real.log, p->conf->n_nodes);
	log_init(&p->asked.log, p->conf->n_nodes);
}

static void orders_free(struct plan_orders *orders)
{
	for (size_t k = 0; k < orders->n; k++)
		soonest_free(orders->v[k].soonest);
	free(orders->v);
	free(orders->log.v);
	free(orders->log.noted);
}

void plan_orders_free(struct plan *p)
{
	orders_free(&p->real);
	orders_free(&p->asked);
}

/* The ring overwrites its oldest notes; a reader that has missed some finds out by
 * plan_log_lost(). */
static void note(struct plan_log *log, uint32_t node)
{
	log->v[log->end++ & (log->size - 1)] = node;
	log->noted[node] = log->end;
}

void plan_log(struct plan *p, uint32_t node)
{
	note(&p->asked.log, node);
	if (!p->wondering)
		note(&p->real.log, node);
}

void plan_wonder(struct plan *p, bool on)
{
	p->wondering = on;
}

void plan_log_begin(const struct plan_log *log, uint64_t *upto)
{
	*upto = log->end;
}

bool plan_log_lost(const struct plan_log *log, uint64_t upto)
{
	return log->end - upto > log->size;
}

/* Of several notes on one node only the latest is read. */
bool plan_log_next(const struct plan_log *log, uint64_t *upto, uint32_t *node)
{
	while (*upto != log->end) {
		*node = log->v[(*upto)++ & (log->size - 1)];
		if (log->noted[*node] == *upto)
			return true;
	}
	return false;
}

/* --- one node -------------------------------------------------------------------------------- */

static int by_time(const void *x, const void *y)
{
	const usec_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* When so many GPUs of the kind are free on the node (mono). Reservations, CPUs, memory and the
 * users that share GPUs may make it later. */
static usec_t free_at(struct plan *p, uint32_t node, const struct plan_kind *kind, uint32_t gpus)
{
	const struct node_timeline *s = plan_timeline(p, node);
	usec_t when[CONF_MAX_GPUS_PER_NODE];
	struct plan_room now;
	int64_t have;
	uint32_t i, n;

	if (!ledger_accepts(p->ledger, node))
		return SOONEST_NEVER;
	plan_room_now(p, node, kind, &now);
	have = kind->type == TYPE_NONE ? now.cpus > 0 : now.gpus;
	if (have >= (kind->type == TYPE_NONE ? 1 : (int64_t)gpus))
		return INT64_MIN;
	if (kind->type != TYPE_NONE && (s->shared || share_wished(&kind->wish))) {
		n = plan_gpus_when(p, node, kind, when);
		if (have + n < gpus)
			return SOONEST_NEVER;
		qsort(when, n, sizeof(*when), by_time);
		return when[gpus - have - 1];
	}
	for (i = 0; i < s->n; i++) {
		have += s->releases[i].type == kind->type ? s->releases[i].gpus : 0;
		if (kind->type == TYPE_NONE || have >= (int64_t)gpus)
			return s->releases[i].end;
	}
	return SOONEST_NEVER;
}

/* By binary search: a partition's nodes are sorted by number. */
bool plan_member(const struct plan *p, uint32_t partition, uint32_t node, size_t *member)
{
	const struct conf_partition *conf = &p->conf->partitions[partition];
	size_t at;

	BISECT(at, conf->n_nodes, conf->nodes[at] < node);
	*member = at;
	return at < conf->n_nodes && conf->nodes[at] == node;
}

int64_t plan_offers(const struct plan *p, uint16_t type, uint32_t node)
{
	return __builtin_popcountll(ledger_gpus_of(p->ledger, node, type)) * PER_GPU +
	       ledger_cpus(p->ledger, node);
}

void plan_pay(size_t *work, size_t cost)
{
	*work -= *work < cost ? *work : cost;
}

size_t plan_cost(struct plan *p, uint32_t node)
{
	return 1 + plan_timeline(p, node)->n / 8;
}

/* --- orders ---------------------------------------------------------------------------------- */

/* Drop the least recently used order. */
static void drop_order(const struct plan *p, struct plan_orders *orders)
{
	struct order *oldest = &orders->v[0];

	for (size_t k = 1; k < orders->n; k++)
		oldest = orders->v[k].used < oldest->used ? &orders->v[k] : oldest;
	orders->ordered -= p->conf->partitions[oldest->partition].n_nodes;
	soonest_free(oldest->soonest);
	*oldest = orders->v[--orders->n];
}

static struct order *new_order(const struct plan *p, struct plan_orders *orders, uint32_t partition,
        const struct plan_kind *kind, uint32_t gpus)
{
	size_t n = p->conf->partitions[partition].n_nodes;
	struct order *o;

	while (orders->n == MAX_ORDERS ||
	        (orders->n >= MIN_ORDERS && orders->ordered + n > MAX_ORDERED))
		drop_order(p, orders);
	orders->v = xrealloc(orders->v, orders->n + 1, sizeof(*orders->v));
	o = &orders->v[orders->n++];
	orders->ordered += n;
	*o = (struct order){ .partition = partition,
		.gpus = gpus,
		.kind = *kind,
		.least = INT64_MAX,
		.soonest = soonest_new(n),
		.number = ++orders->number,
		.whole = true };
	plan_log_begin(&orders->log, &o->upto);
	return o;
}

/* Users are left out of the kind: the order is the same for all of them, and may be too early for
 * some. */
static struct order *find_order(
        const struct plan *p, struct plan_orders *orders, const struct plan_want *w)
{
	uint32_t gpus = w->ask.gpus->n ? request_part_gpus(w->ask.gpus, w->find.alternative) : 0;
	struct plan_kind kind = plan_kind(w);

	kind.wish.user = 0;
	for (size_t k = 0; k < orders->n; k++) {
		if (orders->v[k].partition == w->partition && orders->v[k].gpus == gpus &&
		        plan_same_kind(&orders->v[k].kind, &kind))
			return &orders->v[k];
	}
	return new_order(p, orders, w->partition, &kind, gpus);
}

static void set_member(struct plan *p, struct order *o, size_t member, uint32_t node, size_t *work)
{
	plan_pay(work, plan_cost(p, node));
	soonest_set(o->soonest, member, free_at(p, node, &o->kind, o->gpus));
}

/* Begin a sweep. What is noted from now on is read from the log. */
static void start_sweep(const struct plan_log *log, struct order *o, bool whole, uint64_t since)
{
	o->member = 0;
	o->whole = whole;
	o->since = since;
	o->again = false;
	plan_log_begin(log, &o->upto);
}

/* The log has overwritten what the order had not read. A sweep in progress goes on, because it
 * would never end otherwise where nodes change fast; another one follows it. */
static void log_lost(const struct plan *p, const struct plan_log *log, struct order *o)
{
	if (o->member == p->conf->partitions[o->partition].n_nodes) {
		start_sweep(log, o, false, o->upto);
		return;
	}
	o->again_since = o->again ? o->again_since : o->upto;
	o->again = true;
	plan_log_begin(log, &o->upto);
}

/* False: there is more to do than this step may. */
static bool sweep(struct plan *p, const struct plan_log *log, struct order *o, size_t *work)
{
	const struct conf_partition *conf = &p->conf->partitions[o->partition];

	while (o->member < conf->n_nodes && *work) {
		uint32_t node = conf->nodes[o->member];
		int64_t offer = plan_offers(p, o->kind.type, node);

		if (o->whole || log->noted[node] > o->since)
			set_member(p, o, o->member, node, work);
		else
			plan_pay(work, 1);
		if (offer / PER_GPU >= o->gpus && offer < o->least)
			o->least = offer;
		if (++o->member < conf->n_nodes)
			continue;
		o->whole = false;
		if (o->again)
			start_sweep(log, o, false, o->again_since);
	}
	return o->member == conf->n_nodes;
}

/* Read the log. False: there is more to do than this step may. */
static bool bring_up(struct plan *p, const struct plan_log *log, struct order *o, size_t *work)
{
	uint32_t node;
	size_t member;

	if (plan_log_lost(log, o->upto))
		log_lost(p, log, o);
	if (!sweep(p, log, o, work))
		return false;
	while (*work) {
		if (!plan_log_next(log, &o->upto, &node))
			return true;
		if (plan_member(p, o->partition, node, &member))
			set_member(p, o, member, node, work);
		else
			plan_pay(work, 1);
	}
	return false;
}

/* Normally an order is used only when it is up to date. Where nodes change faster than steps can
 * follow (MAX_BEHIND), half of each step goes on with it as it is, or a search would never
 * begin. */
const struct order *plan_order(struct plan *p, const struct plan_want *w, size_t *work)
{
	struct plan_orders *orders = p->wondering ? &p->asked : &p->real;
	const struct plan_log *log = &orders->log;
	struct order *o = find_order(p, orders, w);
	size_t left = o->behind < MAX_BEHIND ? *work : (*work + 1) / 2, part = left;

	o->used = ++orders->uses;
	if (bring_up(p, log, o, &left))
		o->behind = 0;
	else
		o->behind += o->behind < MAX_BEHIND;
	plan_pay(work, part - left);
	return o->behind && (o->whole || o->behind < MAX_BEHIND) ? NULL : o;
}
