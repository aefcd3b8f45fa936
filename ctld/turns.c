/* turns.c - see turns.h */
#include "ctld/turns.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "common/xalloc.h"
#include "ctld/byid.h"
#include "ctld/ctld.h"

struct piece {
	STAILQ_ENTRY(piece) next;
	const struct tick_work *work;
	void *arg;
};

/* Of one user; never empty. */
struct line {
	TAILQ_ENTRY(line) next;
	uid_t uid;
	STAILQ_HEAD(, piece) pieces;
};

struct turns {
	struct ctld *c;
	struct byid *map; /* by uid + 1 */
	TAILQ_HEAD(, line) ring;
};

struct turns *turns_new(struct ctld *c)
{
	struct turns *t = xcalloc(1, sizeof(*t));

	t->c = c;
	t->map = byid_new();
	TAILQ_INIT(&t->ring);
	return t;
}

/* The first of who is first, out of his line, who goes to the end of the ring or out of it. */
static struct piece *take(struct turns *t)
{
	struct line *line = TAILQ_FIRST(&t->ring);
	struct piece *p = STAILQ_FIRST(&line->pieces);

	STAILQ_REMOVE_HEAD(&line->pieces, next);
	TAILQ_REMOVE(&t->ring, line, next);
	if (!STAILQ_EMPTY(&line->pieces)) {
		TAILQ_INSERT_TAIL(&t->ring, line, next);
	} else {
		byid_take(t->map, (uint64_t)line->uid + 1);
		free(line);
	}
	return p;
}

void turns_free(struct turns *t)
{
	struct piece *p;

	if (!t)
		return;
	while (!TAILQ_EMPTY(&t->ring)) {
		p = take(t);
		p->work->drop(p->arg);
		free(p);
	}
	byid_free(t->map);
	free(t);
}

static void run_one(struct ctld *c, void *arg, struct clocks now)
{
	struct piece *p = take(arg);

	p->work->run(c, p->arg, now);
	free(p);
}

static void drop_none(void *arg)
{
	(void)arg; /* turns_free() does it */
}

static const struct tick_work token = { run_one, drop_none };

void turns_post(struct turns *t, uid_t uid, const struct tick_work *work, void *arg)
{
	struct line *line = byid_get(t->map, (uint64_t)uid + 1);
	struct piece *p = xcalloc(1, sizeof(*p));

	p->work = work;
	p->arg = arg;
	if (!line) {
		line = xcalloc(1, sizeof(*line));
		line->uid = uid;
		STAILQ_INIT(&line->pieces);
		byid_put(t->map, (uint64_t)uid + 1, line);
		TAILQ_INSERT_TAIL(&t->ring, line, next);
	}
	STAILQ_INSERT_TAIL(&line->pieces, p, next);
	tick_post(t->c->tick, &token, t);
}
