/* dirty.c - see dirty.h
 *
 * Objects begin with a `struct mark`, and a list links those that were changed since the last
 * seal, each once however often it was changed. A seal walks that list, so its cost is that of
 * what changed and not of what there is. An object that goes stays linked until the seal has
 * written its deletion; only then it is freed.
 */
#include "ctld/core/rows/dirty.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

struct dirty {
	struct mark **v;
	size_t n, size, bytes;
	bool touched, draining;
};

struct dirty *dirty_new(void)
{
	return xcalloc(1, sizeof(struct dirty));
}

void dirty_free(struct dirty *d)
{
	if (!d)
		return;
	free(d->v);
	free(d);
}

/* Once, however often it changes. Nothing may change during a seal. */
static void list(struct dirty *d, struct mark *mark)
{
	assert(!d->draining);
	d->touched = true;
	if (mark->listed)
		return;
	*XADD(d->v, d->n, d->size) = mark;
	mark->listed = true;
	d->bytes += mark->bytes ? mark->bytes : DIRTY_ROW;
}

void dirty_put(struct dirty *d, struct mark *mark)
{
	assert(!mark->gone);
	list(d, mark);
	mark->put = true;
}

void dirty_gone(struct dirty *d, struct mark *mark)
{
	assert(!mark->gone);
	list(d, mark);
	mark->gone = true;
}

void dirty_touch(struct dirty *d)
{
	d->touched = true;
}

bool dirty_touched(struct dirty *d)
{
	bool touched = d->touched;

	d->touched = false;
	return touched;
}

/* Memory that a large burst took is given back. */
void dirty_drain(struct dirty *d, dirty_each_fn *each, void *arg)
{
	d->draining = true;
	for (size_t i = 0; i < d->n; i++) {
		struct mark *mark = d->v[i];
		bool put = mark->put, gone = mark->gone;

		mark->listed = mark->put = mark->gone = false;
		each(arg, mark, put, gone);
	}
	d->draining = false;
	d->n = d->bytes = 0;
	if (d->size > 1 << 13) {
		free(d->v);
		d->v = NULL;
		d->size = 0;
	}
}

size_t dirty_count(const struct dirty *d)
{
	return d->n;
}

size_t dirty_bytes(const struct dirty *d)
{
	return d->bytes;
}
