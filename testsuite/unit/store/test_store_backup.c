/* test_store_backup.c - a backup made while commits go on; batches handed over one from another */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "testsuite/unit/lib/store_place.h"

struct copied {
	struct event_base *base;
	bool done, failed;
	struct error error;
	uint64_t pages, told; /* of the progress: the last, and how often */
};

static void on_copied(void *arg, const struct store_result *result, const struct error *err)
{
	struct copied *c = arg;

	assert_int_equal(result->n_blobs, 0);
	c->done = true;
	c->failed = err != NULL;
	if (err)
		c->error = *err;
}

static void on_progress(void *arg, uint64_t pages, uint64_t all)
{
	struct copied *c = arg;

	assert_false(c->done);
	assert_true(pages > 0 && pages >= c->pages && pages <= all);
	c->pages = pages;
	c->told++;
}

static bool is_copied(void *arg)
{
	return ((struct copied *)arg)->done;
}

/* A backup made while commits go on is whole, and is what a new store can start from. */
static void test_backup(void **state)
{
	struct place *p = *state;
	struct store *store = fixture_open(p->dir, NULL, false, p->base);
	char *copy = xasprintf("%s/copy", p->dir), *other = fixture_mkdir(),
	     *path = xasprintf("%s/state.db", other);
	struct copied done = { .base = p->base }, second = { 0 };
	struct expected all = { .version = { [TABLE_JOB] = 1 }, .n = { [TABLE_JOB] = 3000 } };
	struct error err;

	for (uint64_t key = 1; key <= 3000;) {
		struct store_batch *batch = store_batch_new(store);

		for (uint64_t end = key + 100; key < end; key++)
			put(batch, TABLE_JOB, key, 0);
		assert_int_equal(fixture_commit(store, p->base, batch, NULL, NULL, &err), 0);
	}
	store_backup(store, path, on_copied, &done);
	store_backup_progress(store, on_progress);
	store_backup(store, copy, on_copied, &second);
	assert_true(second.done && second.failed);
	assert_int_equal(second.error.code, ERR_BUSY);
	for (uint64_t key = 1; key <= 3000;) {
		struct store_batch *batch = store_batch_new(store);

		for (uint64_t end = key + 100; key < end; key++)
			put(batch, TABLE_JOB, key, 1);
		assert_int_equal(fixture_commit(store, p->base, batch, NULL, NULL, &err), 0);
	}
	wait_until(p, is_copied, &done);
	assert_false(done.failed);
	assert_true(done.told > 0);
	/* never onto something that is there, never to a relative path */
	for (int i = 0; i < 2; i++) {
		done = (struct copied){ .base = p->base };
		store_backup(store, i ? "copy" : path, on_copied, &done);
		wait_until(p, is_copied, &done);
		assert_true(done.failed);
		assert_non_null(strstr(done.error.text, i ? "absolute" : "exists"));
	}
	done = (struct copied){ .base = p->base };
	store_backup(store, copy, on_copied, &done);
	wait_until(p, is_copied, &done);
	assert_false(done.failed);
	store_close(store);

	/* a copy in which commits of all times are mixed would not be one of a moment */
	assert_int_equal(ask(other, "state.db", "SELECT count(*) FROM job"), 3000);
	assert_int_equal(ask(other, "state.db",
	                         "SELECT count(*) FROM pragma_quick_check WHERE "
	                         "quick_check = 'ok'"),
	        1);
	unlink(path);
	assert_int_equal(rename(copy, path), 0);
	store = fixture_open(other, NULL, false, p->base);
	assert_non_null(store);
	check_load(store, &all);
	store_close(store);
	fixture_rmdir(other);
	free(copy);
	free(path);
}

/* The callback may hand over the next batch; closing finishes what is in flight. */
struct chain {
	struct store *store;
	uint64_t done, last;
};

static void on_link(void *arg, const struct store_result *result, const struct error *err)
{
	struct chain *chain = arg;
	struct store_batch *batch;

	(void)result;
	assert_null(err);
	assert_false(store_busy(chain->store));
	if (++chain->done >= chain->last)
		return;
	batch = store_batch_new(chain->store);
	put(batch, TABLE_JOB, chain->done + 1, 0);
	store_commit(chain->store, batch, on_link, chain);
	assert_true(store_busy(chain->store));
}

static bool is_chained(void *arg)
{
	return ((struct chain *)arg)->done >= 50;
}

static void test_chain_and_close(void **state)
{
	struct place *p = *state;
	struct chain chain = { .store = fixture_open(p->dir, NULL, false, p->base), .last = 50 };
	struct expected all = { .n = { [TABLE_JOB] = 51 } };
	struct store_batch *batch = store_batch_new(chain.store);

	put(batch, TABLE_JOB, 1, 0);
	store_commit(chain.store, batch, on_link, &chain);
	wait_until(p, is_chained, &chain);
	batch = store_batch_new(chain.store);
	put(batch, TABLE_JOB, 51, 0);
	store_commit(chain.store, batch, on_link, &chain);
	store_close(chain.store);
	assert_int_equal(chain.done, 51);
	chain.store = fixture_open(p->dir, NULL, false, p->base);
	check_load(chain.store, &all);
	store_close(chain.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_backup, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_chain_and_close, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
