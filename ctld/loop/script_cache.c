/* script_cache.c - see script_cache.h */
#include "ctld/loop/script_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/xalloc.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/util/idmap.h"

struct entry {
	TAILQ_ENTRY(entry) next; /* in `pending` or in `kept`, the longest unused first */
	struct store_blob blob;
	struct group *group;
	bool pending;
	bool outdated; /* pending, and signed anew behind it */
};

/* The jobs of one submit: one allocation, with their bytes behind the entries. */
struct group {
	size_t size;
	size_t charged; /* until it is sealed: to its owner */
	unsigned refs; /* entries that are in use */
	struct entry entries[];
};

TAILQ_HEAD(entries, entry);

/* Jobs that were signed anew. */
struct signing {
	STAILQ_ENTRY(signing) next;
	uint32_t uid;
	size_t n, len;
	uint8_t *credential;
	struct script_signed jobs[]; /* their specs behind them, and then the credential */
};

STAILQ_HEAD(signings, signing);

struct want {
	STAILQ_ENTRY(want) next;
	uint64_t job;
	script_cache_got_fn *got;
	void *arg;
};

STAILQ_HEAD(wants, want);

/* Charged, and in the batch in flight. */
struct sealed {
	uint32_t uid;
	size_t bytes;
};

struct script_cache {
	struct budget *budget; /* the core's */
	struct sealed *sealed;
	size_t n_sealed, sealed_cap;
	struct idmap *map;
	struct entries pending, kept;
	struct signings signings;
	struct wants wanted, asked; /* for the next batch; in the batch in flight, in its order */
	struct wants looks;         /* for one of the next batches */
	size_t pending_bytes, pending_signings;
	bool erase;
	struct script_cache_stats stats;
};

/* --- entries ------------------------------------------------------------------------------- */

struct script_cache *script_cache_new(struct budget *budget)
{
	struct script_cache *b = xcalloc(1, sizeof(*b));

	b->budget = budget;
	b->map = idmap_new();
	TAILQ_INIT(&b->pending);
	TAILQ_INIT(&b->kept);
	STAILQ_INIT(&b->signings);
	STAILQ_INIT(&b->wanted);
	STAILQ_INIT(&b->asked);
	STAILQ_INIT(&b->looks);
	return b;
}

static void forget(struct script_cache *b, struct entry *e)
{
	struct group *g = e->group;

	if (e->pending) {
		TAILQ_REMOVE(&b->pending, e, next);
	} else {
		TAILQ_REMOVE(&b->kept, e, next);
		b->stats.kept--;
		if (g->refs == 1)
			b->stats.kept_bytes -= g->size;
	}
	idmap_take(b->map, e->blob.job);
	if (--g->refs == 0)
		free(g);
}

static void signing_free(struct script_cache *b, struct signing *s)
{
	STAILQ_REMOVE(&b->signings, s, signing, next);
	free(s);
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

void script_cache_free(struct script_cache *b)
{
	if (!b)
		return;
	while (!TAILQ_EMPTY(&b->pending))
		forget(b, TAILQ_FIRST(&b->pending));
	while (!TAILQ_EMPTY(&b->kept))
		forget(b, TAILQ_FIRST(&b->kept));
	while (!STAILQ_EMPTY(&b->signings))
		signing_free(b, STAILQ_FIRST(&b->signings));
	wants_clear(&b->wanted);
	wants_clear(&b->asked);
	wants_clear(&b->looks);
	idmap_free(b->map);
	free(b->sealed);
	free(b);
}

/* --- new ones ------------------------------------------------------------------------------- */

static bool same(const void *p, size_t n, const void *q, size_t m)
{
	return n == m && (n == 0 || p == q || !memcmp(p, q, n));
}

static bool same_script(const struct store_blob *a, const struct store_blob *b)
{
	return same(a->script, a->script_len, b->script, b->script_len);
}

static bool same_credential(const struct store_blob *a, const struct store_blob *b)
{
	return same(a->credential, a->credential_len, b->credential, b->credential_len);
}

/* Bytes that are not there with the one before: NULL for the first. */
static size_t own_bytes(const struct store_blob *blob, const struct store_blob *before)
{
	return blob->spec_len + (before && same_script(blob, before) ? 0 : blob->script_len) +
	       (before && same_credential(blob, before) ? 0 : blob->credential_len);
}

static const void *copy(uint8_t **to, const void *p, size_t n)
{
	uint8_t *at = *to;

	if (n)
		memcpy(at, p, n);
	*to += n;
	return at;
}

static struct store_blob copy_blob(
        uint8_t **to, const struct store_blob *blob, const struct store_blob *before)
{
	struct store_blob c = *blob;

	c.spec = copy(to, blob->spec, blob->spec_len);
	c.script = before && same_script(blob, before) ? before->script
	                                               : copy(to, blob->script, blob->script_len);
	c.credential = before && same_credential(blob, before)
	                       ? before->credential
	                       : copy(to, blob->credential, blob->credential_len);
	return c;
}

size_t script_cache_bytes(const struct store_blob *v, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += own_bytes(&v[i], i ? &v[i - 1] : NULL);
	return bytes;
}

void script_cache_put(struct script_cache *b, const struct store_blob *v, size_t n)
{
	size_t bytes = script_cache_bytes(v, n);
	size_t size = sizeof(struct group) + n * sizeof(struct entry) + bytes;
	struct group *g;
	uint8_t *to;

	if (n == 0)
		return;
	g = xcalloc(1, size);
	g->size = size;
	g->charged = bytes;
	budget_add(b->budget, v->uid, BUDGET_SCRIPTS, (int64_t)bytes);
	g->refs = (unsigned)n;
	to = (uint8_t *)&g->entries[n];
	for (size_t i = 0; i < n; i++) {
		struct entry *e = &g->entries[i];

		e->blob = copy_blob(&to, &v[i], i ? &g->entries[i - 1].blob : NULL);
		e->group = g;
		e->pending = true;
		TAILQ_INSERT_TAIL(&b->pending, e, next);
		idmap_insert(b->map, e->blob.job, e);
	}
	b->pending_bytes += size;
}

/* Pending jobs are stored as they were submitted; their new signatures follow them. */
void script_cache_sign(struct script_cache *b, uint32_t uid, const struct script_signed *jobs,
        size_t n, const void *credential, size_t len)
{
	size_t size = sizeof(struct signing) + n * sizeof(*jobs) + len;
	struct signing *s;
	uint8_t *to;

	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		size += jobs[i].spec_len;
	s = xcalloc(1, size);
	to = (uint8_t *)&s->jobs[n];
	s->uid = uid;
	s->n = n;
	for (size_t i = 0; i < n; i++) {
		struct entry *e = idmap_find(b->map, jobs[i].job);

		s->jobs[i] = jobs[i];
		if (jobs[i].spec)
			s->jobs[i].spec = copy(&to, jobs[i].spec, jobs[i].spec_len);
		if (e && e->pending)
			e->outdated = true;
		else if (e)
			forget(b, e);
	}
	s->len = len;
	s->credential = to;
	memcpy(to, credential, len);
	STAILQ_INSERT_TAIL(&b->signings, s, next);
	b->pending_signings += size;
}

/* --- using them ------------------------------------------------------------------------------ */

const struct store_blob *script_cache_get(struct script_cache *b, uint64_t job)
{
	struct entry *e = idmap_find(b->map, job);

	if (!e || e->outdated)
		return NULL;
	b->stats.hits++;
	if (!e->pending) {
		TAILQ_REMOVE(&b->kept, e, next);
		TAILQ_INSERT_TAIL(&b->kept, e, next);
	}
	return &e->blob;
}

static void add_want(struct wants *wants, uint64_t job, script_cache_got_fn *got, void *arg)
{
	struct want *w = xcalloc(1, sizeof(*w));

	w->job = job;
	w->got = got;
	w->arg = arg;
	STAILQ_INSERT_TAIL(wants, w, next);
}

void script_cache_want(struct script_cache *b, uint64_t job, script_cache_got_fn *got, void *arg)
{
	add_want(&b->wanted, job, got, arg);
}

void script_cache_want_read(
        struct script_cache *b, uint64_t job, script_cache_got_fn *got, void *arg)
{
	add_want(&b->looks, job, got, arg);
}

void script_cache_erase(struct script_cache *b)
{
	b->erase = true;
}

/* --- for the tick -------------------------------------------------------------------------- */

bool script_cache_is_clean(const struct script_cache *b)
{
	return TAILQ_EMPTY(&b->pending) && STAILQ_EMPTY(&b->signings) && STAILQ_EMPTY(&b->wanted) &&
	       STAILQ_EMPTY(&b->looks) && !b->erase;
}

static void seal_signing(struct script_cache *b, struct store_batch *batch, struct signing *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct script_signed *job = &s->jobs[i];
		struct store_blob blob = { .job = job->job,
			.uid = s->uid,
			.spec = job->spec,
			.spec_len = job->spec_len,
			.credential = s->credential,
			.credential_len = s->len };
		struct entry *e = idmap_find(b->map, job->job);

		store_batch_sign(batch, &blob);
		if (e)
			forget(b, e);
	}
	signing_free(b, s);
}

static void take_reads(struct script_cache *b)
{
	struct want *w;

	for (int n = 0; n < SCRIPT_CACHE_READS && (w = STAILQ_FIRST(&b->looks)); n++) {
		STAILQ_REMOVE_HEAD(&b->looks, next);
		STAILQ_INSERT_TAIL(&b->wanted, w, next);
	}
}

/* From now on the batch has the charge of the entry's group. */
static void seal_charge(struct script_cache *b, const struct entry *e)
{
	struct group *g = e->group;

	if (!g->charged)
		return;
	*XADD(b->sealed, b->n_sealed, b->sealed_cap) = (struct sealed){ e->blob.uid, g->charged };
	g->charged = 0;
}

/* Replaces what was charged at the submit by what the store has now. */
static void correct_charges(struct script_cache *b, const struct store_result *result)
{
	for (size_t i = 0; i < b->n_sealed; i++)
		budget_add(b->budget, b->sealed[i].uid, BUDGET_SCRIPTS,
		        -(int64_t)b->sealed[i].bytes);
	b->n_sealed = 0;
	for (size_t i = 0; i < result->n_stored; i++)
		budget_add(b->budget, result->stored[i].uid, BUDGET_SCRIPTS,
		        result->stored[i].bytes);
}

void script_cache_seal(struct script_cache *b, struct store_batch *batch)
{
	struct entry *e;
	struct want *w;

	while ((e = TAILQ_FIRST(&b->pending))) {
		store_batch_blob(batch, &e->blob);
		seal_charge(b, e);
		TAILQ_REMOVE(&b->pending, e, next);
		e->pending = false;
		TAILQ_INSERT_TAIL(&b->kept, e, next);
		b->stats.kept++;
	}
	b->stats.kept_bytes += b->pending_bytes; /* whole groups: they were put at once */
	b->pending_bytes = b->pending_signings = 0;
	while (!STAILQ_EMPTY(&b->signings))
		seal_signing(b, batch, STAILQ_FIRST(&b->signings));
	while (b->stats.kept_bytes > SCRIPT_CACHE_KEPT_BYTES)
		forget(b, TAILQ_FIRST(&b->kept));
	take_reads(b);
	STAILQ_FOREACH (w, &b->wanted, next) {
		store_batch_want_blob(batch, w->job, w);
		b->stats.reads++;
	}
	STAILQ_CONCAT(&b->asked, &b->wanted);
	b->erase = false;
}

void script_cache_arrived(struct script_cache *b, const struct store_result *result)
{
	correct_charges(b, result);
	for (size_t i = 0; i < result->n_blobs; i++) {
		struct want *w = STAILQ_FIRST(&b->asked);

		assert(w && w == result->tags[i]); /* they come in the order asked */
		STAILQ_REMOVE_HEAD(&b->asked, next);
		w->got(w->arg, &result->blobs[i]);
		free(w);
	}
}

size_t script_cache_pending_bytes(const struct script_cache *b)
{
	return b->pending_bytes + b->pending_signings;
}

void script_cache_stats(const struct script_cache *b, struct script_cache_stats *out)
{
	*out = b->stats;
}
