/* store_model.c - see store_model.h */
#include "testsuite/unit/lib/store_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testsuite/unit/lib/store_fixture.h"

#define MODEL_LIVE_NONCES 7
#define NODES             3

static void put(struct store_batch *batch, enum row_table table, uint64_t key, unsigned version)
{
	struct fixture_room room;
	struct row row;

	fixture_row(&row, &room, table, key, version);
	store_batch_row(batch, &row);
}

static void change(
        struct store_batch *batch, enum row_table table, uint64_t key, enum row_change what)
{
	struct fixture_room room;
	struct row row;

	fixture_row(&row, &room, table, key, 0);
	row.n = fixture_tables[table].n_keys;
	row.change = what;
	store_batch_row(batch, &row);
}

static void put_number(struct store_batch *batch, uint64_t i)
{
	char text[24];
	struct row row = { .table = TABLE_META, .change = ROW_PUT, .n = 2 };

	snprintf(text, sizeof(text), "%llu", (unsigned long long)i);
	row.v[0] = (struct value){ .type = VALUE_TEXT, .p = "commit", .n = 6 };
	row.v[1] = (struct value){ .type = VALUE_TEXT, .p = text, .n = strlen(text) };
	store_batch_row(batch, &row);
}

/* Scripts repeat with a period of 4, and are small for every third job. */
static struct store_blob blob_of(uint64_t job, char *room, size_t size)
{
	size_t script_len = job % 3 ? 600 + job % 4 : 100;
	char *spec = room, *script = room + 100, *credential = room + 1000;

	assert_true(size >= 1100);
	memset(script, 'a' + (int)(job % 4), script_len);
	return (struct store_blob){
		.job = job,
		.spec = spec,
		.spec_len = (size_t)snprintf(spec, 100, "spec of %llu", (unsigned long long)job),
		.script = script,
		.script_len = script_len,
		.credential = credential,
		.credential_len = (size_t)snprintf(
		        credential, 100, "signature %llu", (unsigned long long)(job / 3)),
	};
}

struct store_batch *model_batch(struct store *store, uint64_t i)
{
	struct store_batch *batch = store_batch_new(store);
	struct store_blob blob;
	char room[1100];

	put_number(batch, i);
	put(batch, TABLE_NODE, i % NODES + 1, (unsigned)i);
	put(batch, TABLE_JOB, i, 0);
	if (i > 1)
		put(batch, TABLE_JOB, i - 1, 1);
	put(batch, TABLE_RUN, i, 0);
	put(batch, TABLE_NONCE, i, 0);
	put(batch, TABLE_EVENT, i, 0);
	if (i > MODEL_LIVE_JOBS) {
		change(batch, TABLE_JOB, i - MODEL_LIVE_JOBS, ROW_RETIRE);
		change(batch, TABLE_RUN, i - MODEL_LIVE_JOBS, ROW_RETIRE);
	}
	if (i > MODEL_LIVE_NONCES)
		change(batch, TABLE_NONCE, i - MODEL_LIVE_NONCES, ROW_DELETE);
	blob = blob_of(i, room, sizeof(room));
	store_batch_blob(batch, &blob);
	if (i > 1) { /* signed again, with the same: shares what the batch has just brought */
		blob = blob_of(i - 1, room, sizeof(room));
		store_batch_blob(batch, &blob);
	}
	return batch;
}

uint64_t model_work(struct store *store, struct event_base *base, uint64_t first, uint64_t last,
        uint64_t *acknowledged, struct error *err)
{
	uint64_t i = first;

	while (i <= last &&
	        fixture_commit(store, base, model_batch(store, i), NULL, NULL, err) == 0)
		*acknowledged = i++;
	return i - 1;
}

struct contents {
	uint64_t commit; /* 0: none */
	uint64_t n[TABLE_COUNT];
};

static uint64_t first_live(uint64_t commit, uint64_t live)
{
	return commit > live ? commit - live + 1 : 1;
}

/* The version of a node: the last commit that put it. */
static uint64_t node_version(uint64_t commit, uint64_t key)
{
	while (commit % NODES + 1 != key)
		commit--;
	return commit;
}

static int take(void *arg, const struct row *row, struct error *err)
{
	struct contents *c = arg;
	struct fixture_room room;
	struct row want;
	uint64_t nth = c->n[row->table]++, key = 0, version = 0;

	(void)err;
	switch (row->table) {
	case TABLE_META:
		if (nth == 0)
			assert_memory_equal(row->v[0].p, "cluster", 7);
		else
			c->commit = strtoull(row->v[1].p, NULL, 10);
		return 0;
	case TABLE_NODE:
		key = c->commit >= NODES ? nth + 1 : (uint64_t)strtoull(row->v[0].p, NULL, 10);
		version = node_version(c->commit, key);
		break;
	case TABLE_JOB:
		key = first_live(c->commit, MODEL_LIVE_JOBS) + nth;
		version = key < c->commit;
		break;
	case TABLE_RUN:
		key = first_live(c->commit, MODEL_LIVE_JOBS) + nth;
		break;
	case TABLE_NONCE:
		key = first_live(c->commit, MODEL_LIVE_NONCES) + nth;
		break;
	default:
		fail_msg("a row of table %d", row->table);
	}
	fixture_row(&want, &room, row->table, key, (unsigned)version);
	assert_true(fixture_rows_equal(row, &want));
	return 0;
}

static uint64_t at_most(uint64_t n, uint64_t max)
{
	return n < max ? n : max;
}

static void look_at_blobs(void *arg, const struct store_result *result)
{
	const uint64_t commit = *(const uint64_t *)arg;
	char room[1100];

	for (size_t i = 0; i < result->n_blobs; i++) {
		const struct store_blob *got = &result->blobs[i];
		struct store_blob want = blob_of(got->job, room, sizeof(room));

		if (got->job > commit || got->job < first_live(commit, MODEL_LIVE_JOBS)) {
			assert_null(got->spec);
			continue;
		}
		assert_int_equal(got->spec_len, want.spec_len);
		assert_memory_equal(got->spec, want.spec, want.spec_len);
		assert_int_equal(got->script_len, want.script_len);
		assert_memory_equal(got->script, want.script, want.script_len);
		assert_int_equal(got->credential_len, want.credential_len);
		assert_memory_equal(got->credential, want.credential, want.credential_len);
	}
}

uint64_t model_check(struct store *store, struct event_base *base)
{
	struct contents c = { 0 };
	struct store_batch *batch;
	struct error err;

	assert_int_equal(store_load(store, take, &c, &err), 0);
	assert_int_equal(c.n[TABLE_META], c.commit ? 2 : 1);
	assert_int_equal(c.n[TABLE_NODE], at_most(c.commit, NODES));
	assert_int_equal(c.n[TABLE_JOB], at_most(c.commit, MODEL_LIVE_JOBS));
	assert_int_equal(c.n[TABLE_RUN], at_most(c.commit, MODEL_LIVE_JOBS));
	assert_int_equal(c.n[TABLE_NONCE], at_most(c.commit, MODEL_LIVE_NONCES));
	batch = store_batch_new(store);
	for (uint64_t job = first_live(c.commit, MODEL_LIVE_JOBS + 2); job <= c.commit + 1; job++)
		store_batch_want_blob(batch, job, NULL);
	assert_int_equal(fixture_commit(store, base, batch, look_at_blobs, &c.commit, &err), 0);
	return c.commit;
}
