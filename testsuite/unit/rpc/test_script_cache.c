/* test_script_cache.c - signed bytes are at hand, then in a batch, then read again; and numbers to
 * pointers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/util/idmap.h"
#include "ctld/loop/script_cache.h"

static struct budget *budget;

/* A store that only notes what it is asked for. */
struct store_batch {
	uint64_t blobs[64], signed_anew[64], wants[64];
	void *tags[64];
	size_t n_blobs, n_signed, n_wants;
};

void store_batch_blob(struct store_batch *batch, const struct store_blob *blob)
{
	batch->blobs[batch->n_blobs++] = blob->job;
}

void store_batch_sign(struct store_batch *batch, const struct store_blob *blob)
{
	assert_memory_equal(blob->credential, "MUNGE:y:", blob->credential_len);
	if (blob->job == 2)
		assert_memory_equal(blob->spec, "changed", blob->spec_len);
	else
		assert_null(blob->spec);
	batch->signed_anew[batch->n_signed++] = blob->job;
}

void store_batch_want_blob(struct store_batch *batch, uint64_t job, void *tag)
{
	batch->wants[batch->n_wants] = job;
	batch->tags[batch->n_wants++] = tag;
}

static void test_new_jobs(void **state)
{
	struct store_batch batch = { .n_blobs = 0 };
	struct script_cache *b = script_cache_new(budget);
	char spec1[] = "first", spec2[] = "second", script[] = "#!/bin/sh", cred[] = "MUNGE:x:";
	struct store_blob v[] = {
		{ .job = 1,
		        .spec = spec1,
		        .spec_len = 5,
		        .script = script,
		        .script_len = 9,
		        .credential = cred,
		        .credential_len = 8 },
		{ .job = 2,
		        .spec = spec2,
		        .spec_len = 6,
		        .script = script,
		        .script_len = 9,
		        .credential = cred,
		        .credential_len = 8 },
	};
	const struct store_blob *one, *two;

	(void)state;
	assert_true(script_cache_is_clean(b));
	script_cache_put(b, v, 0);
	assert_true(script_cache_is_clean(b));
	script_cache_put(b, v, 2);
	memset(spec1, 0, sizeof(spec1)); /* they are copies */
	memset(spec2, 0, sizeof(spec2));
	memset(script, 0, sizeof(script));
	memset(cred, 0, sizeof(cred));
	assert_false(script_cache_is_clean(b));
	assert_true(script_cache_pending_bytes(b) >= 5 + 6 + 9 + 8);
	one = script_cache_get(b, 1);
	two = script_cache_get(b, 2);
	assert_int_equal(two->job, 2);
	assert_memory_equal(one->spec, "first", 5);
	assert_memory_equal(two->spec, "second", 6);
	assert_memory_equal(two->script, "#!/bin/sh", 9);
	assert_memory_equal(two->credential, "MUNGE:x:", 8);
	assert_ptr_equal(one->script, two->script);
	assert_ptr_equal(one->credential, two->credential);
	assert_null(script_cache_get(b, 3));
	script_cache_seal(b, &batch);
	assert_int_equal(batch.n_blobs, 2);
	assert_int_equal(batch.blobs[0], 1);
	assert_true(script_cache_is_clean(b));
	assert_int_equal(script_cache_pending_bytes(b), 0);
	assert_int_equal(script_cache_get(b, 1)->job, 1);
	script_cache_free(b);
}

static void put(struct script_cache *b, uint64_t job, const void *bytes, size_t len)
{
	struct store_blob blob = { .job = job, .spec = bytes, .spec_len = len };

	script_cache_put(b, &blob, 1);
}

static size_t kept_bytes(const struct script_cache *b)
{
	struct script_cache_stats stats;

	script_cache_stats(b, &stats);
	return stats.kept_bytes;
}

/* Only so many are kept; the longest unused goes first; what is not in a batch never goes. */
static void test_old_ones_go(void **state)
{
	struct store_batch batch = { .n_blobs = 0 };
	const size_t len = SCRIPT_CACHE_KEPT_BYTES / 10 * 3;
	struct script_cache *b = script_cache_new(budget);
	char *bytes = xcalloc(1, len);

	(void)state;
	for (uint64_t job = 1; job <= 4; job++) {
		put(b, job, bytes, len);
		if (job == 2)
			script_cache_seal(b, &batch);
		if (job == 3)
			assert_non_null(script_cache_get(b, 1));
	}
	assert_true(kept_bytes(b) >= 2 * len && kept_bytes(b) < 3 * len);
	assert_true(script_cache_pending_bytes(b) >= 2 * len);
	assert_non_null(script_cache_get(b, 3));
	assert_non_null(script_cache_get(b, 4));
	script_cache_seal(b, &batch);
	assert_non_null(script_cache_get(b, 1)); /* it was used after 2 */
	assert_null(script_cache_get(b, 2));
	assert_true(kept_bytes(b) >= 3 * len && kept_bytes(b) <= SCRIPT_CACHE_KEPT_BYTES);
	script_cache_free(b);
	free(bytes);
}

/* The memory of jobs that came together goes when the last of them does, and counts until then. */
static void test_a_group_goes_together(void **state)
{
	struct store_batch batch = { .n_blobs = 0 };
	const size_t len = SCRIPT_CACHE_KEPT_BYTES / 10 * 4;
	struct script_cache *b = script_cache_new(budget);
	char *bytes = xcalloc(1, len);
	struct store_blob v[] = { { .job = 1, .spec = bytes, .spec_len = len },
		{ .job = 2, .spec = bytes, .spec_len = len } };

	(void)state;
	script_cache_put(b, v, 2);
	script_cache_seal(b, &batch);
	put(b, 3, bytes, len);
	script_cache_seal(b, &batch);
	assert_null(script_cache_get(b, 1));
	assert_null(script_cache_get(b, 2));
	assert_non_null(script_cache_get(b, 3));
	assert_true(kept_bytes(b) >= len && kept_bytes(b) < 2 * len);
	script_cache_free(b);
	free(bytes);
}

/* What was signed anew is not at hand with its old signature, wherever it is. */
static void test_signed_anew(void **state)
{
	struct store_batch batch = { .n_blobs = 0 };
	char spec[] = "changed";
	const uint64_t jobs[] = { 1, 2, 3 };
	const struct script_signed signings[] = { { .job = 1 }, { 2, spec, 7 }, { .job = 3 } };
	struct script_cache *b = script_cache_new(budget);
	char cred[] = "MUNGE:y:";

	(void)state;
	put(b, 1, "one", 3);
	put(b, 4, "four", 4);
	script_cache_seal(b, &batch);
	put(b, 2, "two", 3);
	script_cache_sign(b, 0, signings, 0, cred, 8);
	assert_non_null(script_cache_get(b, 1));
	script_cache_sign(b, 0, signings, 3, cred, 8);
	memset(cred, 0, sizeof(cred)); /* they are copies */
	memset(spec, 0, sizeof(spec));
	assert_false(script_cache_is_clean(b));
	assert_null(script_cache_get(b, 1));
	assert_null(script_cache_get(b, 2)); /* nor is it while it waits for its batch */
	batch.n_blobs = 0;
	script_cache_seal(b, &batch);
	assert_int_equal(batch.n_blobs, 1);
	assert_int_equal(batch.n_signed, 3);
	assert_memory_equal(batch.signed_anew, jobs, sizeof(jobs));
	assert_null(script_cache_get(b, 2));
	assert_non_null(script_cache_get(b, 4));
	assert_true(script_cache_is_clean(b));
	assert_int_equal(script_cache_pending_bytes(b), 0);
	put(b, 5, "five", 4);
	script_cache_sign(b, 0, signings, 3, "MUNGE:y:", 8);
	script_cache_free(b);
}

struct got {
	uint64_t job;
	int calls;
	bool ended;
};

static void note_got(void *arg, const struct store_blob *blob)
{
	struct got *g = arg;

	g->calls++;
	if (blob)
		g->job = blob->job;
	else
		g->ended = true;
}

static void test_reading(void **state)
{
	struct store_batch first = { .n_blobs = 0 }, second = { .n_blobs = 0 };
	struct store_blob answers[] = { { .job = 7, .spec = "7", .spec_len = 1 },
		{ .job = 8, .spec = "8", .spec_len = 1 } };
	struct script_cache *b = script_cache_new(budget);
	struct got got[4] = { { 0 } };
	struct store_result result = { .blobs = answers, .n_blobs = 2 };

	(void)state;
	script_cache_want(b, 7, note_got, &got[0]);
	script_cache_want(b, 8, note_got, &got[1]);
	assert_false(script_cache_is_clean(b));
	script_cache_seal(b, &first);
	assert_true(script_cache_is_clean(b));
	script_cache_want(b, 9, note_got, &got[2]); /* while the batch is in flight */
	assert_int_equal(first.n_wants, 2);
	result.tags = first.tags;
	script_cache_arrived(b, &result);
	assert_int_equal(got[0].job, 7);
	assert_int_equal(got[1].job, 8);
	assert_int_equal(got[2].calls, 0);
	script_cache_seal(b, &second);
	assert_int_equal(second.wants[0], 9);
	script_cache_want(b, 10, note_got, &got[3]);
	script_cache_free(b);
	assert_true(got[2].ended && got[3].ended);
	for (int i = 0; i < 4; i++)
		assert_int_equal(got[i].calls, 1);
}

/* Against an array: numbers far apart come and go in any order. */
static void test_numbers_to_pointers(void **state)
{
	static int values[2000];
	static bool there[2000];
	struct idmap *m = idmap_new();
	uint32_t seed = 7;
	size_t n = 0;

	(void)state;
	for (unsigned step = 0; step < 200000; step++) {
		unsigned k;
		uint64_t id;

		seed = seed * 1664525 + 1013904223;
		k = (seed >> 8) % 2000;
		id = (uint64_t)k * 4096 + 1;
		assert_ptr_equal(idmap_find(m, id), there[k] ? &values[k] : NULL);
		if (seed >> 31) {
			if (!there[k])
				idmap_insert(m, id, &values[k]);
			n += !there[k];
			there[k] = true;
		} else {
			assert_ptr_equal(idmap_take(m, id), there[k] ? &values[k] : NULL);
			n -= there[k];
			there[k] = false;
		}
		assert_int_equal(idmap_count(m), n);
	}
	assert_null(idmap_find(m, 0));
	for (; idmap_take_any(m); n--)
		;
	assert_int_equal(n, 0);
	idmap_free(m);
}

/* What is on its way is charged as it came, and what is stored as the store says. */
static void test_charges(void **state)
{
	struct script_cache *b = script_cache_new(budget);
	struct store_batch batch = { .n_blobs = 0 };
	char script[] = "#!/bin/sh";
	struct store_blob v[] = {
		{ .job = 1, .uid = 7, .spec = "a", .spec_len = 1, .script = script, .script_len = 9 },
		{ .job = 2, .uid = 7, .spec = "bc", .spec_len = 2, .script = script, .script_len = 9 },
	};
	const struct store_stored first[] = { { 7, 10 }, { 8, 100 } }, erased[] = { { 7, -10 } };
	struct store_result result = { .stored = first, .n_stored = 2 };

	(void)state;
	assert_int_equal(script_cache_bytes(v, 2), 1 + 2 + 9);
	script_cache_put(b, v, 2);
	assert_int_equal(budget_used(budget, 7, BUDGET_SCRIPTS), 12);
	script_cache_seal(b, &batch);
	v[0].job = 3; /* comes while the batch is on its way */
	script_cache_put(b, v, 1);
	assert_int_equal(budget_used(budget, 7, BUDGET_SCRIPTS), 12 + 10);
	script_cache_arrived(b, &result);
	assert_int_equal(budget_used(budget, 7, BUDGET_SCRIPTS), 10 + 10);
	assert_int_equal(budget_used(budget, 8, BUDGET_SCRIPTS), 100);
	script_cache_seal(b, &batch);
	result = (struct store_result){ .stored = erased, .n_stored = 1 };
	script_cache_arrived(b, &result);
	assert_int_equal(budget_used(budget, 7, BUDGET_SCRIPTS), 0);
	script_cache_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_jobs),
		cmocka_unit_test(test_old_ones_go),
		cmocka_unit_test(test_a_group_goes_together),
		cmocka_unit_test(test_signed_anew),
		cmocka_unit_test(test_reading),
		cmocka_unit_test(test_charges),
		cmocka_unit_test(test_numbers_to_pointers),
	};
	int failed;

	budget = budget_new();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	budget_free(budget);
	return failed;
}
