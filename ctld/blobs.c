/* blobs.c - see blobs.h */
#include "ctld/blobs.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/xalloc.h"
#include "ctld/byid.h"

struct blob_source {
	unsigned refs;
	void (*release)(void *arg);
	void *arg;
};

struct entry {
	TAILQ_ENTRY(entry) next; /* in `pending` or in `kept`, the longest unused first */
	struct store_blob blob;
	struct blob_source *src;
	bool pending;
};

TAILQ_HEAD(entries, entry);

struct want {
	STAILQ_ENTRY(want) next;
	uint64_t job;
	blobs_got_fn *got;
	void *arg;
};

STAILQ_HEAD(wants, want);

struct blobs {
	struct byid *map;
	struct entries pending, kept;
	struct wants wanted, asked; /* for the next batch; in the batch in flight, in its order */
	size_t pending_bytes;
	struct blobs_stats stats;
};

/* --- shared memory ------------------------------------------------------------------------- */

struct blob_source *blob_source_new(void (*release)(void *arg), void *arg)
{
	struct blob_source *src = xcalloc(1, sizeof(*src));

	src->refs = 1;
	src->release = release;
	src->arg = arg;
	return src;
}

void blob_source_drop(struct blob_source *src)
{
	if (--src->refs > 0)
		return;
	src->release(src->arg);
	free(src);
}

/* --- entries ------------------------------------------------------------------------------- */

static size_t size_of(const struct store_blob *b)
{
	return b->spec_len + b->script_len + b->credential_len + sizeof(struct entry);
}

struct blobs *blobs_new(void)
{
	struct blobs *b = xcalloc(1, sizeof(*b));

	b->map = byid_new();
	TAILQ_INIT(&b->pending);
	TAILQ_INIT(&b->kept);
	STAILQ_INIT(&b->wanted);
	STAILQ_INIT(&b->asked);
	return b;
}

static void forget(struct blobs *b, struct entry *e)
{
	if (e->pending) {
		TAILQ_REMOVE(&b->pending, e, next);
		b->pending_bytes -= size_of(&e->blob);
	} else {
		TAILQ_REMOVE(&b->kept, e, next);
		b->stats.kept--;
		b->stats.kept_bytes -= size_of(&e->blob);
	}
	byid_take(b->map, e->blob.job);
	blob_source_drop(e->src);
	free(e);
}

static void wants_clear(struct wants *wants)
{
	struct want *w;

	while ((w = STAILQ_FIRST(wants))) {
		STAILQ_REMOVE_HEAD(wants, next);
		w->got(w->arg, NULL);
		free(w);
	}
}

void blobs_free(struct blobs *b)
{
	if (!b)
		return;
	while (!TAILQ_EMPTY(&b->pending))
		forget(b, TAILQ_FIRST(&b->pending));
	while (!TAILQ_EMPTY(&b->kept))
		forget(b, TAILQ_FIRST(&b->kept));
	wants_clear(&b->wanted);
	wants_clear(&b->asked);
	byid_free(b->map);
	free(b);
}

void blobs_put(struct blobs *b, const struct store_blob *blob, struct blob_source *src)
{
	struct entry *e = xcalloc(1, sizeof(*e));

	e->blob = *blob;
	e->src = src;
	e->pending = true;
	src->refs++;
	TAILQ_INSERT_TAIL(&b->pending, e, next);
	b->pending_bytes += size_of(blob);
	byid_put(b->map, blob->job, e);
}

const struct store_blob *blobs_get(struct blobs *b, uint64_t job)
{
	struct entry *e = byid_get(b->map, job);

	if (!e)
		return NULL;
	b->stats.hits++;
	if (!e->pending) {
		TAILQ_REMOVE(&b->kept, e, next);
		TAILQ_INSERT_TAIL(&b->kept, e, next);
	}
	return &e->blob;
}

void blobs_want(struct blobs *b, uint64_t job, blobs_got_fn *got, void *arg)
{
	struct want *w = xcalloc(1, sizeof(*w));

	w->job = job;
	w->got = got;
	w->arg = arg;
	STAILQ_INSERT_TAIL(&b->wanted, w, next);
}

/* --- for the tick -------------------------------------------------------------------------- */

bool blobs_is_clean(const struct blobs *b)
{
	return TAILQ_EMPTY(&b->pending) && STAILQ_EMPTY(&b->wanted);
}

void blobs_seal(struct blobs *b, struct store_batch *batch)
{
	struct entry *e;
	struct want *w;

	while ((e = TAILQ_FIRST(&b->pending))) {
		store_batch_blob(batch, &e->blob);
		TAILQ_REMOVE(&b->pending, e, next);
		e->pending = false;
		b->pending_bytes -= size_of(&e->blob);
		TAILQ_INSERT_TAIL(&b->kept, e, next);
		b->stats.kept++;
		b->stats.kept_bytes += size_of(&e->blob);
	}
	while (b->stats.kept_bytes > BLOBS_KEPT_BYTES)
		forget(b, TAILQ_FIRST(&b->kept));
	STAILQ_FOREACH (w, &b->wanted, next) {
		store_batch_want_blob(batch, w->job, w);
		b->stats.reads++;
	}
	STAILQ_CONCAT(&b->asked, &b->wanted);
}

void blobs_arrived(struct blobs *b, const struct store_result *result)
{
	for (size_t i = 0; i < result->n_blobs; i++) {
		struct want *w = STAILQ_FIRST(&b->asked);

		assert(w && w == result->tags[i]); /* they come in the order asked */
		STAILQ_REMOVE_HEAD(&b->asked, next);
		w->got(w->arg, &result->blobs[i]);
		free(w);
	}
}

size_t blobs_pending_bytes(const struct blobs *b)
{
	return b->pending_bytes;
}

void blobs_stats(const struct blobs *b, struct blobs_stats *out)
{
	*out = b->stats;
}
