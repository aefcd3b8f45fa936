/* batch_items.c - see batch_items.h and batch.h
 *
 * An item is a head and what follows it, unaligned:
 *	row	head {BATCH_ROW, table, change, number of values}, then the values: a byte of type,
 *		then 8 bytes of integer, or 4 bytes of length and the bytes
 *	blob	head {BATCH_BLOB, script share, credential share, 0}, the job, three lengths of 4
 *		bytes, spec, script, credential
 *	sign	the same, BATCH_SIGN, without script, and without spec where that stays
 *	want	head {BATCH_WANT, 0, 0, 0}, the job, the tag
 */
#include "ctld/store/batch_items.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define BATCH_FIRST (64 * 1024)
#define BATCH_KEEP  (8 * 1024 * 1024) /* a larger one is not kept for the next time */

enum { HEAD_KIND, HEAD_A, HEAD_B, HEAD_N, HEAD_SIZE };

struct store_batch *batch_new(void)
{
	struct store_batch *batch = xcalloc(1, sizeof(*batch));

	batch->last.head = SIZE_MAX;
	batch->erase_before = INT64_MAX;
	batch->trim = (struct store_trim){ INT64_MIN, INT64_MIN };
	return batch;
}

void batch_free(struct store_batch *batch)
{
	if (!batch)
		return;
	free(batch->bytes);
	free(batch);
}

void batch_reset(struct store_batch *batch)
{
	if (batch->cap > BATCH_KEEP) {
		free(batch->bytes);
		batch->bytes = NULL;
		batch->cap = 0;
	}
	batch->len = batch->n_rows = batch->n_blobs = batch->n_wanted = 0;
	batch->erase_before = INT64_MAX;
	batch->trim = (struct store_trim){ INT64_MIN, INT64_MIN };
	batch->last.head = SIZE_MAX;
}

/* Room for `n` more bytes. */
static uint8_t *batch_room(struct store_batch *batch, size_t n)
{
	if (batch->cap - batch->len < n) {
		size_t cap = batch->cap ? batch->cap : BATCH_FIRST;

		while (cap - batch->len < n)
			cap *= 2;
		batch->bytes = xrealloc(batch->bytes, cap, 1);
		batch->cap = cap;
	}
	return batch->bytes + batch->len;
}

static uint8_t *put_head(uint8_t *p, uint8_t kind, uint8_t a, uint8_t b, uint8_t n)
{
	p[HEAD_KIND] = kind;
	p[HEAD_A] = a;
	p[HEAD_B] = b;
	p[HEAD_N] = n;
	return p + HEAD_SIZE;
}

static uint8_t *put_u64(uint8_t *p, uint64_t u)
{
	memcpy(p, &u, sizeof(u));
	return p + sizeof(u);
}

static uint8_t *put_bytes(uint8_t *p, const void *bytes, size_t n)
{
	if (n)
		memcpy(p, bytes, n);
	return p + n;
}

static uint8_t *put_len(uint8_t *p, size_t n)
{
	uint32_t len = (uint32_t)n;

	assert(n <= UINT32_MAX);
	memcpy(p, &len, sizeof(len));
	return p + sizeof(len);
}

void store_batch_row(struct store_batch *batch, const struct row *row)
{
	size_t need = HEAD_SIZE;
	uint8_t *p;

	assert(row->table < TABLE_COUNT && row->n <= ROW_MAX_COLUMNS);
	for (size_t i = 0; i < row->n; i++)
		need += 1 + (row->v[i].type == VALUE_INT ? 8 : 4 + row->v[i].n);
	p = batch_room(batch, need);
	p = put_head(p, BATCH_ROW, row->table, row->change, (uint8_t)row->n);
	for (size_t i = 0; i < row->n; i++) {
		const struct value *v = &row->v[i];

		*p++ = v->type;
		if (v->type == VALUE_INT)
			p = put_u64(p, (uint64_t)v->i);
		else
			p = put_bytes(put_len(p, v->n), v->p, v->n);
	}
	batch->len += need;
	batch->n_rows++;
	/* What the last blob shares may go with this job. */
	if (row->table == TABLE_JOB && row->change != ROW_PUT)
		batch->last.head = SIZE_MAX;
}

/* Are the `n` bytes at `p` what the last blob has at `offset`? Empty is never shared. */
static bool same_as_last(
        const struct store_batch *batch, size_t offset, size_t len, const void *p, size_t n)
{
	return n && n == len && !memcmp(batch->bytes + offset, p, n);
}

static void put_blob(struct store_batch *batch, enum batch_kind kind, const struct store_blob *blob)
{
	bool its = batch->last.head != SIZE_MAX && batch->last.uid == blob->uid;
	bool script = its && same_as_last(batch, batch->last.script, batch->last.script_len,
	                             blob->script, blob->script_len);
	bool credential = its && same_as_last(batch, batch->last.credential,
	                                 batch->last.credential_len, blob->credential,
	                                 blob->credential_len);
	size_t script_len = script ? 0 : blob->script_len;
	size_t credential_len = credential ? 0 : blob->credential_len;
	size_t need = HEAD_SIZE + 8 + 4 * 4 + blob->spec_len + script_len + credential_len;
	uint8_t *p = batch_room(batch, need);

	if (script)
		batch->bytes[batch->last.head + HEAD_A] |= SHARE_NEXT;
	if (credential)
		batch->bytes[batch->last.head + HEAD_B] |= SHARE_NEXT;
	batch->last.head = batch->len;
	batch->last.uid = blob->uid;
	p = put_head(p, kind, script ? SHARE_LAST : 0, credential ? SHARE_LAST : 0, 0);
	p = put_u64(p, blob->job);
	p = put_len(p, blob->uid);
	p = put_len(put_len(put_len(p, blob->spec_len), script_len), credential_len);
	p = put_bytes(p, blob->spec, blob->spec_len);
	if (!script) {
		batch->last.script = (size_t)(p - batch->bytes);
		batch->last.script_len = script_len;
		p = put_bytes(p, blob->script, script_len);
	}
	if (!credential) {
		batch->last.credential = (size_t)(p - batch->bytes);
		batch->last.credential_len = credential_len;
		p = put_bytes(p, blob->credential, credential_len);
	}
	batch->len += need;
	batch->n_blobs++;
}

void store_batch_blob(struct store_batch *batch, const struct store_blob *blob)
{
	put_blob(batch, BATCH_BLOB, blob);
}

void store_batch_sign(struct store_batch *batch, const struct store_blob *blob)
{
	struct store_blob signature = { .job = blob->job,
		.uid = blob->uid,
		.spec = blob->spec,
		.spec_len = blob->spec ? blob->spec_len : 0,
		.credential = blob->credential,
		.credential_len = blob->credential_len };

	put_blob(batch, BATCH_SIGN, &signature);
}

void store_batch_erase(struct store_batch *batch, int64_t before)
{
	batch->erase_before = before;
}

void store_batch_trim(struct store_batch *batch, struct store_trim before)
{
	batch->trim = before;
}

void store_batch_want_blob(struct store_batch *batch, uint64_t job, void *tag)
{
	uint8_t *p = batch_room(batch, HEAD_SIZE + 16);

	p = put_head(p, BATCH_WANT, 0, 0, 0);
	put_u64(put_u64(p, job), (uintptr_t)tag);
	batch->len += HEAD_SIZE + 16;
	batch->n_wanted++;
}

size_t store_batch_bytes(const struct store_batch *batch)
{
	return batch->len;
}

bool store_batch_empty(const struct store_batch *batch)
{
	return batch->len == 0;
}

static const uint8_t *get_u64(const uint8_t *p, uint64_t *u)
{
	memcpy(u, p, sizeof(*u));
	return p + sizeof(*u);
}

static const uint8_t *get_len(const uint8_t *p, size_t *n)
{
	uint32_t len;

	memcpy(&len, p, sizeof(len));
	*n = len;
	return p + sizeof(len);
}

static const uint8_t *get_row(const uint8_t *p, const uint8_t *head, struct row *row)
{
	row->table = head[HEAD_A];
	row->change = head[HEAD_B];
	row->n = head[HEAD_N];
	for (size_t i = 0; i < row->n; i++) {
		struct value *v = &row->v[i];

		v->type = *p++;
		if (v->type == VALUE_INT) {
			uint64_t u;

			p = get_u64(p, &u);
			v->i = (int64_t)u;
			continue;
		}
		p = get_len(p, &v->n);
		v->p = p;
		p += v->n;
	}
	return p;
}

static const uint8_t *get_blob(const uint8_t *p, const uint8_t *head, struct batch_item *item)
{
	struct store_blob *blob = &item->blob;
	size_t uid;

	item->script_share = head[HEAD_A];
	item->credential_share = head[HEAD_B];
	p = get_u64(p, &blob->job);
	p = get_len(p, &uid);
	blob->uid = (uint32_t)uid;
	p = get_len(get_len(get_len(p, &blob->spec_len), &blob->script_len), &blob->credential_len);
	blob->spec = p;
	blob->script = p + blob->spec_len;
	blob->credential = p + blob->spec_len + blob->script_len;
	return p + blob->spec_len + blob->script_len + blob->credential_len;
}

bool batch_next(const struct store_batch *batch, size_t *offset, struct batch_item *item)
{
	const uint8_t *head, *p;
	uint64_t tag;

	if (*offset >= batch->len)
		return false;
	head = batch->bytes + *offset;
	p = head + HEAD_SIZE;
	item->kind = head[HEAD_KIND];
	switch (item->kind) {
	case BATCH_ROW:
		p = get_row(p, head, &item->row);
		break;
	case BATCH_BLOB:
	case BATCH_SIGN:
		p = get_blob(p, head, item);
		break;
	case BATCH_WANT:
		p = get_u64(get_u64(p, &item->blob.job), &tag);
		item->tag = (void *)(uintptr_t)tag;
		break;
	}
	*offset = (size_t)(p - batch->bytes);
	return true;
}
