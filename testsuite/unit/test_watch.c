/* What changed since a cursor, and who is told of it. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>

#include "ctld/calls.h"
#include "ctld/ctld.h"
#include "ctld/watch.h"

/* The one function of calls.c that a watch needs. */
static unsigned woken;
void call_go_on(struct ctld *c, struct call *call)
{
	(void)c;
	(void)call;
	woken++;
}

static struct ctld c;

static struct watch *new_watch(void)
{
	struct watch *w;

	c.epoch = 7;
	c.base = event_base_new();
	w = watch_new(&c, NULL);
	assert_non_null(w);
	return w;
}

static void free_watch(struct watch *w)
{
	watch_free(w);
	event_base_free(c.base);
}

static void told_once_in_order(void **state)
{
	struct watch *w = new_watch();
	uint64_t cursor = watch_cursor(w), ids[WATCH_READ_MAX];

	(void)state;
	assert_true(cursor > 0);
	assert_int_equal(watch_read(w, &cursor, ids), 0);
	watch_changed(w, 9);
	watch_changed(w, 4);
	watch_changed(w, 9);
	assert_int_equal(watch_read(w, &cursor, ids), 2);
	assert_int_equal(ids[0], 9);
	assert_int_equal(ids[1], 4);
	assert_int_equal(cursor, watch_cursor(w));
	watch_changed(w, 9);
	assert_int_equal(watch_read(w, &cursor, ids), 1);
	free_watch(w);
}

static void long_absence(void **state)
{
	struct watch *w = new_watch();
	uint64_t start = watch_cursor(w), cursor = start, ids[WATCH_READ_MAX], sum = 0, i;
	size_t n = 0, got;

	(void)state;
	for (i = 1; i <= WATCH_KEPT; i++)
		watch_changed(w, i);
	assert_true(watch_knows(w, cursor));
	while (cursor != watch_cursor(w)) {
		got = watch_read(w, &cursor, ids);
		assert_in_range(got, 1, WATCH_READ_MAX);
		for (i = 0; i < got; i++)
			sum += ids[i];
		n += got;
	}
	assert_int_equal(n, WATCH_KEPT);
	assert_int_equal(sum, (uint64_t)WATCH_KEPT * (WATCH_KEPT + 1) / 2);
	watch_changed(w, 1);
	assert_false(watch_knows(w, start));
	assert_true(watch_knows(w, start + 1));
	free_watch(w);
}

/* Numbers that were never told: of the future, of another term, invented. */
static void foreign_cursors(void **state)
{
	struct watch *w = new_watch();
	uint64_t now;

	(void)state;
	watch_changed(w, 1);
	now = watch_cursor(w);
	assert_true(watch_knows(w, now));
	assert_false(watch_knows(w, now + 1));
	assert_false(watch_knows(w, 0));
	assert_false(watch_knows(w, UINT64_MAX));
	c.epoch = 8; /* as a controller that was started again */
	assert_false(watch_knows(w, now));
	assert_true(watch_cursor(w) > now);
	free_watch(w);
}

static void woken_together(void **state)
{
	struct watch *w = new_watch();
	struct watcher a = { 0 }, b = { 0 };
	uint64_t before = watch_cursor(w);

	(void)state;
	woken = 0;
	watch_wait(w, &a, NULL, before);
	event_base_loop(c.base, EVLOOP_NONBLOCK);
	assert_int_equal(woken, 0);
	watch_changed(w, 1);
	watch_changed(w, 2);
	watch_wait(w, &b, NULL, before); /* it is behind already */
	event_base_loop(c.base, EVLOOP_ONCE);
	assert_int_equal(woken, 2);
	assert_int_equal(watch_count(w), 0);
	watch_wait(w, &a, NULL, watch_cursor(w));
	watch_stop(w, &a);
	watch_stop(w, &a);
	watch_changed(w, 3);
	assert_int_equal(event_base_loop(c.base, EVLOOP_NONBLOCK), 1); /* nothing to wait for */
	assert_int_equal(woken, 2);
	free_watch(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_once_in_order),
		cmocka_unit_test(long_absence),
		cmocka_unit_test(foreign_cursors),
		cmocka_unit_test(woken_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
