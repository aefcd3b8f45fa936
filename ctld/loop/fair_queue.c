/* fair_queue.c - see fair_queue.h */
#include "ctld/loop/fair_queue.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "common/base/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/util/idmap.h"
#include "ctld/ctld.h"
#include "ctld/loop/slice.h"

struct piece {
	STAILQ_ENTRY(piece) next;
	const struct tick_work *work;
	void *arg;
};

/* Of one user. */
struct line {
	TAILQ_ENTRY(line) next; /* in the ring, unless it is empty */
	uid_t uid;
	usec_t used; /* processor time, counted on from where the others were when it came */
	STAILQ_HEAD(, piece) pieces;
};

struct fair_queue {
	struct ctld *c;
	struct idmap *map;            /* by uid + 1; lines stay, to know what was used lately */
	TAILQ_HEAD(ring, line) ring; /* of lines with pieces: the least used first */
	usec_t reached;              /* `used` of the last that had a turn */
};

struct fair_queue *fair_queue_new(struct ctld *c)
{
	struct fair_queue *t = xcalloc(1, sizeof(*t));

	t->c = c;
	t->map = idmap_new();
	TAILQ_INIT(&t->ring);
	return t;
}

/* Behind those with equal use. */
static void line_up(struct fair_queue *t, struct line *line)
{
	struct line *before = TAILQ_LAST(&t->ring, ring);

	while (before && before->used > line->used)
		before = TAILQ_PREV(before, ring, next);
	if (before)
		TAILQ_INSERT_AFTER(&t->ring, before, line, next);
	else
		TAILQ_INSERT_HEAD(&t->ring, line, next);
}

/* The first piece of the first line. */
static struct piece *take_piece(struct fair_queue *t, struct line **of)
{
	struct line *line = *of = TAILQ_FIRST(&t->ring);
	struct piece *p = STAILQ_FIRST(&line->pieces);

	STAILQ_REMOVE_HEAD(&line->pieces, next);
	if (STAILQ_EMPTY(&line->pieces))
		TAILQ_REMOVE(&t->ring, line, next);
	return p;
}

void fair_queue_free(struct fair_queue *t)
{
	struct line *line;
	struct piece *p;

	if (!t)
		return;
	while (!TAILQ_EMPTY(&t->ring)) {
		p = take_piece(t, &line);
		tick_work_drop(p->work, p->arg);
		free(p);
	}
	while ((line = idmap_take_any(t->map)))
		free(line);
	idmap_free(t->map);
	free(t);
}

/* The work of a user has taken so long. */
static void charge(struct fair_queue *t, struct line *line, usec_t took)
{
	t->reached = line->used > t->reached ? line->used : t->reached;
	line->used += took;
	budget_add(core_budget(t->c->core), line->uid, BUDGET_TIME, took);
	if (STAILQ_EMPTY(&line->pieces))
		return;
	TAILQ_REMOVE(&t->ring, line, next);
	line_up(t, line);
}

static void run_one(struct ctld *c, void *arg, struct clocks now)
{
	struct fair_queue *t = arg;
	usec_t begin = thread_cpu_time();
	struct line *line;
	struct piece *p = take_piece(t, &line);

	p->work->run(c, p->arg, now);
	free(p);
	charge(t, line, thread_cpu_time() - begin);
}

/* What is left is dropped by fair_queue_free(). */
static const struct tick_work token = { run_one, NULL };

static struct line *line_of(struct fair_queue *t, uid_t uid)
{
	struct line *line = idmap_find(t->map, (uint64_t)uid + 1);

	if (line)
		return line;
	line = xcalloc(1, sizeof(*line));
	line->uid = uid;
	STAILQ_INIT(&line->pieces);
	idmap_insert(t->map, (uint64_t)uid + 1, line);
	return line;
}

void fair_queue_post(struct fair_queue *t, uid_t uid, const struct tick_work *work, void *arg)
{
	struct line *line = line_of(t, uid);
	struct piece *p = xcalloc(1, sizeof(*p));
	bool comes = STAILQ_EMPTY(&line->pieces);

	p->work = work;
	p->arg = arg;
	STAILQ_INSERT_TAIL(&line->pieces, p, next);
	if (comes) {
		if (line->used < t->reached - FAIR_QUEUE_CREDIT_US)
			line->used = t->reached - FAIR_QUEUE_CREDIT_US;
		line_up(t, line);
	}
	tick_post_user(t->c->tick, &token, t);
}
