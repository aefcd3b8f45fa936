/* nonce.c - see nonce.h
 *
 * One table by (uid, nonce), and one heap by expiry. A nonce is *staged* while its job is being
 * checked (it has no id, no row, and does not expire), *settled* with its job. It goes when its
 * time is up and its job has left memory, whichever is later: until then a repeat of the submit
 * gets the id instead of a second job.
 */
#include "ctld/core/rows/nonce.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/heap.h"
#include "ctld/core/util/table.h"

struct nonces {
	struct dirty *dirty;
	struct table *table;
	struct heap *expiring; /* by expiry on the monotonic clock */
};

struct key {
	uint32_t uid;
	const uint8_t *nonce;
};

static uint64_t key_hash(uint32_t uid, const uint8_t *nonce, uint64_t seed)
{
	return hash_bytes(nonce, NONCE_BYTES, seed + uid);
}

static uint64_t nonce_hash(const void *item, uint64_t seed)
{
	const struct nonce *n = item;

	return key_hash(n->uid, n->nonce, seed);
}

static bool nonce_equal(const void *item, const void *key)
{
	const struct nonce *n = item;
	const struct key *k = key;

	return n->uid == k->uid && !memcmp(n->nonce, k->nonce, NONCE_BYTES);
}

static void nonce_moved(void *item, uint32_t index)
{
	((struct nonce *)item)->slot = index;
}

struct nonces *nonces_new(struct dirty *dirty, uint64_t seed)
{
	struct nonces *ns = xcalloc(1, sizeof(*ns));

	ns->dirty = dirty;
	ns->table = table_new(nonce_hash, seed);
	ns->expiring = heap_new(nonce_moved);
	return ns;
}

void nonces_free(struct nonces *ns)
{
	size_t cursor = 0;
	void *item;

	if (!ns)
		return;
	while ((item = table_each(ns->table, &cursor)))
		nonce_free(item);
	table_free(ns->table);
	heap_free(ns->expiring);
	free(ns);
}

/* A nonce is its user's: the same bytes of another user are another nonce. */
static struct nonce *find(const struct nonces *ns, uint32_t uid, const uint8_t *nonce)
{
	struct key key = { uid, nonce };

	return table_find(
	        ns->table, key_hash(uid, nonce, table_seed(ns->table)), nonce_equal, &key);
}

const struct nonce *nonces_find(const struct nonces *ns, uint32_t uid, const uint8_t *nonce)
{
	return find(ns, uid, nonce);
}

static struct nonce *add(struct nonces *ns, uint32_t uid, const uint8_t *nonce,
        const uint8_t *spec_hash, uint64_t job)
{
	struct nonce *n = xcalloc(1, sizeof(*n));

	n->mark.table = TABLE_NONCE;
	n->uid = uid;
	n->slot = HEAP_NOWHERE;
	memcpy(n->nonce, nonce, NONCE_BYTES);
	memcpy(n->spec_hash, spec_hash, HASH_BYTES);
	n->job = job;
	table_add(ns->table, n);
	return n;
}

static void expire_at(struct nonces *ns, struct nonce *n, usec_t mono)
{
	heap_put(ns->expiring, (struct heap_key){ (uint64_t)(mono < 0 ? 0 : mono), n->job }, n);
}

const struct nonce *nonces_stage(
        struct nonces *ns, uint32_t uid, const uint8_t *nonce, const uint8_t *spec_hash)
{
	return add(ns, uid, nonce, spec_hash, 0);
}

/* Others only read them. */
static struct nonce *own(const struct nonce *nonce)
{
	return (struct nonce *)(uintptr_t)nonce;
}

/* The job is there: repeats of its submit are answered with it from now on, for NONCE_KEEP at
 * least. */
void nonces_settle(struct nonces *ns, const struct nonce *nonce, uint64_t job, struct clocks now)
{
	struct nonce *n = own(nonce);

	n->job = job;
	n->expires = now.wall + NONCE_KEEP;
	expire_at(ns, n, now.mono + NONCE_KEEP);
}

void nonces_unstage(struct nonces *ns, const struct nonce *nonce)
{
	table_remove(ns->table, own(nonce));
	nonce_free(own(nonce));
}

const struct nonce *nonces_add(struct nonces *ns, uint32_t uid, const uint8_t *nonce,
        const uint8_t *spec_hash, uint64_t job, struct clocks now)
{
	const struct nonce *n = nonces_stage(ns, uid, nonce, spec_hash);

	nonces_settle(ns, n, job, now);
	return n;
}

bool nonce_is_of(const struct nonce *n, const uint8_t *spec_hash)
{
	return !memcmp(n->spec_hash, spec_hash, HASH_BYTES) ||
	       (n->changed && !memcmp(n->changed + HASH_BYTES, spec_hash, HASH_BYTES));
}

/* The first hash stays beside the new one, so that a repeat of the submit is still known. */
void nonces_respec(const struct nonce *nonce, const uint8_t *spec_hash)
{
	struct nonce *n = own(nonce);

	if (!n->changed) {
		n->changed = xcalloc(2, HASH_BYTES);
		memcpy(n->changed + HASH_BYTES, n->spec_hash, HASH_BYTES);
	}
	memcpy(n->changed, spec_hash, HASH_BYTES);
	memcpy(n->spec_hash, spec_hash, HASH_BYTES);
}

struct value nonce_hashes(const struct nonce *n)
{
	return n->changed ? value_blob(n->changed, (size_t)2 * HASH_BYTES)
	                  : value_blob(n->spec_hash, HASH_BYTES);
}

bool nonce_hashes_fit(const struct value *v)
{
	return v->n == HASH_BYTES || v->n == (size_t)2 * HASH_BYTES;
}

/* From a row. */
static struct nonce *add_read(struct nonces *ns, uint32_t uid, const uint8_t *nonce,
        const struct value *hashes, uint64_t job)
{
	struct nonce *n = add(ns, uid, nonce, hashes->p, job);

	if (hashes->n > HASH_BYTES)
		n->changed = xmemdup(hashes->p, hashes->n);
	return n;
}

static void remove_nonce(struct nonces *ns, struct nonce *n)
{
	table_remove(ns->table, n);
	dirty_gone(ns->dirty, &n->mark);
}

/* Until it expires, the nonce has a row of its own. */
void nonces_job_gone(struct nonces *ns, const struct nonce *nonce)
{
	struct nonce *n = own(nonce);

	n->job_gone = true;
	if (n->slot == HEAP_NOWHERE)
		remove_nonce(ns, n);
	else
		dirty_put(ns->dirty, &n->mark);
}

usec_t nonces_next(const struct nonces *ns)
{
	const struct nonce *n = heap_first(ns->expiring);

	return n ? (usec_t)heap_first_key(ns->expiring).a : INT64_MAX;
}

void nonces_expire(struct nonces *ns, struct clocks now, unsigned max)
{
	for (; max && nonces_next(ns) <= now.mono; max--) {
		struct nonce *n = heap_first(ns->expiring);

		heap_remove(ns->expiring, n->slot);
		if (n->job_gone)
			remove_nonce(ns, n);
	}
}

const struct nonce *nonces_load_job(struct nonces *ns, uint32_t uid, const uint8_t *nonce,
        const struct value *hashes, uint64_t job, usec_t submit_time, struct error *err)
{
	struct nonce *n = find(ns, uid, nonce);

	if (n) {
		error_set(err, ERR_INTERNAL, "jobs %llu and %llu: the same uid and nonce",
		        (unsigned long long)n->job, (unsigned long long)job);
		return NULL;
	}
	n = add_read(ns, uid, nonce, hashes, job);
	n->expires = submit_time + NONCE_KEEP;
	return n;
}

int nonces_load(struct nonces *ns, const struct row *row, struct error *err)
{
	const struct value *v = row->v;
	struct nonce *n;
	uint32_t uid;

	if (v[COL_NONCE_uid].i < 0 || v[COL_NONCE_uid].i > UINT32_MAX)
		return row_error(row, COL_NONCE_uid, err, "does not fit");
	if (v[COL_NONCE_nonce].n != NONCE_BYTES)
		return row_error(row, COL_NONCE_nonce, err, "wrong length");
	if (!nonce_hashes_fit(&v[COL_NONCE_spec_hash]))
		return row_error(row, COL_NONCE_spec_hash, err, "wrong length");
	uid = (uint32_t)v[COL_NONCE_uid].i;
	n = find(ns, uid, v[COL_NONCE_nonce].p);
	if (!n) {
		n = add_read(ns, uid, v[COL_NONCE_nonce].p, &v[COL_NONCE_spec_hash],
		        (uint64_t)v[COL_NONCE_job].i);
		n->job_gone = true;
	} else if (n->job != (uint64_t)v[COL_NONCE_job].i ||
	           !nonce_is_of(n, v[COL_NONCE_spec_hash].p)) {
		return row_error(row, COL_NONCE_job, err, "says otherwise than the job's row");
	}
	n->expires = v[COL_NONCE_expires].i;
	return 0;
}

/* Expiries are wall times in rows, and become mono times here. */
void nonces_start(struct nonces *ns, struct clocks now)
{
	size_t cursor = 0;
	struct nonce *n;

	while ((n = table_each(ns->table, &cursor))) {
		usec_t left = n->expires - now.wall;

		if (left <= 0 && !n->job_gone)
			continue;
		/* The clock may have been set back while the controller was down. */
		left = left < 0 ? 0 : left > NONCE_KEEP ? NONCE_KEEP : left;
		expire_at(ns, n, now.mono + left);
	}
}

void nonce_encode(const struct nonce *n, struct row *row, enum row_change change)
{
	row_begin(row, TABLE_NONCE, change);
	row->v[COL_NONCE_uid] = value_int(n->uid);
	row->v[COL_NONCE_nonce] = value_blob(n->nonce, NONCE_BYTES);
	row->v[COL_NONCE_spec_hash] = nonce_hashes(n);
	row->v[COL_NONCE_job] = value_int((int64_t)n->job);
	row->v[COL_NONCE_expires] = value_int(n->expires);
}

void nonce_free(struct nonce *nonce)
{
	free(nonce->changed);
	free(nonce);
}

uint64_t nonces_hash(const struct nonces *ns)
{
	size_t cursor = 0;
	const struct nonce *n;
	struct row row;
	uint64_t sum = 0;

	while ((n = table_each(ns->table, &cursor))) {
		if (!n->job_gone)
			continue; /* it is in its job's row */
		nonce_encode(n, &row, ROW_PUT);
		sum += row_hash(&row);
	}
	return sum;
}
