/* engine.c - see engine.h */
#include "testsuite/sim/engine.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/splitmix.h"
#include "common/base/xalloc.h"

struct timer {
	usec_t time;
	uint64_t order;
	engine_fn *fn;
	void *arg;
	void *own;
};

struct message {
	int type;
	size_t n;
	uint64_t link;
	enum side to;
	unsigned char bytes[];
};

struct ending {
	uint64_t link;
	enum side side;
};

struct link {
	const struct link_ops *ops[2];
	void *owner[2];
	bool up[2];       /* this end is still there and has not been told of the break */
	bool broken;      /* nothing more is sent */
	usec_t last[2];   /* delivery time of the last message to each side */
	usec_t lost_from; /* messages due later than this were lost in the break */
	usec_t stalled_until;
	struct link_faults faults;
};

struct engine {
	usec_t mono, wall_offset;
	uint64_t random[4]; /* the state of xoshiro256** (Blackman and Vigna, public domain) */
	uint64_t trace, order;
	struct timer *heap;
	size_t n_heap, max_heap;
	struct link *links; /* number - 1 */
	size_t n_links, max_links;
};

struct engine *engine_new(uint64_t seed)
{
	struct engine *e = xcalloc(1, sizeof(*e));

	for (int i = 0; i < 4; i++)
		e->random[i] = splitmix_next(&seed);
	e->wall_offset = (usec_t)1750000000 * SEC;
	e->trace = 0xcbf29ce484222325u;
	return e;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->n_heap; i++)
		free(e->heap[i].own);
	free(e->heap);
	free(e->links);
	free(e);
}

struct clocks engine_now(const struct engine *e)
{
	return (struct clocks){ .wall = e->mono + e->wall_offset, .mono = e->mono };
}

void engine_jump(struct engine *e, usec_t by)
{
	e->wall_offset += by;
}

static bool before(const struct timer *a, const struct timer *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void engine_at(struct engine *e, usec_t after, engine_fn *fn, void *arg, void *own)
{
	struct timer t = { e->mono + (after > 0 ? after : 0), e->order++, fn, arg, own };
	size_t i = e->n_heap++;

	if (e->n_heap > e->max_heap) {
		e->max_heap = e->max_heap ? e->max_heap * 2 : 256;
		e->heap = xrealloc(e->heap, e->max_heap, sizeof(*e->heap));
	}
	for (; i && before(&t, &e->heap[(i - 1) / 2]); i = (i - 1) / 2)
		e->heap[i] = e->heap[(i - 1) / 2];
	e->heap[i] = t;
}

static struct timer heap_pop(struct engine *e)
{
	struct timer top = e->heap[0], last = e->heap[--e->n_heap];
	size_t i = 0;

	for (;;) {
		size_t child = i * 2 + 1;

		if (child >= e->n_heap)
			break;
		if (child + 1 < e->n_heap && before(&e->heap[child + 1], &e->heap[child]))
			child++;
		if (!before(&e->heap[child], &last))
			break;
		e->heap[i] = e->heap[child];
		i = child;
	}
	e->heap[i] = last;
	return top;
}

uint64_t engine_run(struct engine *e, usec_t until)
{
	uint64_t n = 0;

	while (e->n_heap && e->heap[0].time <= until) {
		struct timer t = heap_pop(e);

		e->mono = t.time;
		t.fn(t.arg, &t.own);
		free(t.own);
		n++;
	}
	if (e->mono < until)
		e->mono = until;
	return n;
}

static uint64_t rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

uint64_t engine_random(struct engine *e)
{
	uint64_t *s = e->random, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

uint64_t engine_below(struct engine *e, uint64_t n)
{
	return engine_random(e) % n;
}

bool engine_chance(struct engine *e, unsigned per_million)
{
	return engine_below(e, 1000000) < per_million;
}

usec_t engine_between(struct engine *e, usec_t low, usec_t high)
{
	return high > low ? low + (usec_t)engine_below(e, (uint64_t)(high - low)) : low;
}

/* FNV-1a, over 64-bit time first so that two histories differ when only the timing does. */
void engine_trace(struct engine *e, const void *p, size_t n)
{
	const unsigned char *b = p;

	e->trace = (e->trace ^ (uint64_t)e->mono) * 0x100000001b3u;
	for (size_t i = 0; i < n; i++)
		e->trace = (e->trace ^ b[i]) * 0x100000001b3u;
}

uint64_t engine_trace_hash(const struct engine *e)
{
	return e->trace;
}

/* --- links ----------------------------------------------------------------------------------- */

static struct link *link_get(struct engine *e, uint64_t number)
{
	return &e->links[number - 1];
}

uint64_t link_open(struct engine *e, const struct link_faults *faults,
        const struct link_ops *ops[2], void *owners[2])
{
	struct link *l;

	if (e->n_links == e->max_links) {
		e->max_links = e->max_links ? e->max_links * 2 : 64;
		e->links = xrealloc(e->links, e->max_links, sizeof(*e->links));
	}
	l = &e->links[e->n_links++];
	memset(l, 0, sizeof(*l));
	for (int i = 0; i < 2; i++) {
		l->ops[i] = ops[i];
		l->owner[i] = owners[i];
		l->up[i] = true;
	}
	l->lost_from = INT64_MAX;
	l->faults = *faults;
	return e->n_links;
}

static void deliver(void *arg, void **own)
{
	struct engine *e = arg;
	struct message *m = *own;
	struct link *l = link_get(e, m->link);

	if (e->mono < l->stalled_until) {
		*own = NULL;
		engine_at(e, l->stalled_until - e->mono, deliver, e, m);
		return;
	}
	if (!l->up[m->to] || e->mono > l->lost_from)
		return;
	engine_trace(e, m->bytes, m->n);
	l->ops[m->to]->message(l->owner[m->to], m->link, m->type, m->bytes, m->n);
}

static void queue(
        struct engine *e, uint64_t number, enum side to, int type, const void *bytes, size_t n)
{
	struct link *l = link_get(e, number);
	struct message *m = xcalloc(1, sizeof(*m) + n);
	usec_t due = e->mono + engine_between(e, l->faults.delay_low, l->faults.delay_high);

	/* In order: never before the one sent earlier. */
	if (due <= l->last[to])
		due = l->last[to] + 1;
	l->last[to] = due;
	m->type = type;
	m->n = n;
	m->link = number;
	m->to = to;
	if (n)
		memcpy(m->bytes, bytes, n);
	engine_at(e, due - e->mono, deliver, e, m);
}

void link_send(
        struct engine *e, uint64_t number, enum side side, int type, const void *bytes, size_t n)
{
	struct link *l = link_get(e, number);
	struct link_faults faults = l->faults;

	if (l->broken)
		return;
	queue(e, number, !side, type, bytes, n);
	if (engine_chance(e, faults.twice_ppm))
		queue(e, number, !side, type, bytes, n);
	if (engine_chance(e, faults.break_ppm))
		link_break(e, number, 5 * SEC);
}

static void tell_gone(void *arg, void **own)
{
	struct engine *e = arg;
	struct ending *end = *own;
	struct link *l = link_get(e, end->link);

	if (!l->up[end->side])
		return;
	l->up[end->side] = false;
	l->ops[end->side]->gone(l->owner[end->side], end->link);
}

void link_break(struct engine *e, uint64_t number, usec_t within)
{
	struct link *l = link_get(e, number);
	usec_t last = l->last[0] > l->last[1] ? l->last[0] : l->last[1];

	if (l->broken)
		return;
	l->broken = true;
	l->lost_from = engine_between(e, e->mono, last > e->mono ? last + 1 : e->mono + 1);
	for (int i = 0; i < 2; i++) {
		struct ending *end = xcalloc(1, sizeof(*end));

		end->link = number;
		end->side = (enum side)i;
		engine_at(e, engine_between(e, 0, within), tell_gone, e, end);
	}
}

void link_drop_end(struct engine *e, uint64_t number, enum side side, usec_t within)
{
	link_get(e, number)->up[side] = false;
	link_break(e, number, within);
}

void link_stall(struct engine *e, uint64_t number, usec_t how_long)
{
	struct link *l = link_get(e, number);

	if (l->stalled_until < e->mono + how_long)
		l->stalled_until = e->mono + how_long;
}

bool link_flows(const struct engine *e, uint64_t number)
{
	const struct link *l = link_get((struct engine *)(uintptr_t)e, number);

	return l->up[SIDE_CONTROLLER] && l->up[SIDE_NODE] && !l->broken &&
	       e->mono >= l->stalled_until;
}
