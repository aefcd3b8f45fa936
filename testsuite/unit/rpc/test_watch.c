/* What changed since a cursor, and who is told of it. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>

#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/watch.h"

static struct ctld c;

/* What a watch needs of others. Who is woken takes that long, and is sent so much. */
static unsigned woken;
static usec_t mono, takes;
static size_t sends;
void call_slice_now(struct ctld *ctld, struct call *call)
{
	(void)call;
	woken++;
	mono += takes;
	watch_sent(ctld->watch, sends);
}

usec_t ctld_mono(void)
{
	return mono;
}

static struct watch *new_watch(void)
{
	struct watch *w;

	c.epoch = 7;
	c.base = event_base_new();
	w = c.watch = watch_new(&c, NULL);
	assert_non_null(w);
	takes = 1;
	sends = 0;
	return w;
}

static void free_watch(struct watch *w)
{
	watch_free(w);
	event_base_free(c.base);
}

/* All changes until now are this round's. */
static void new_round(struct watch *w)
{
	struct watcher watcher = { 0 };

	watch_wait(w, &watcher, NULL, watch_cursor(w) - 1);
	for (woken = 0; !woken;)
		event_base_loop(c.base, EVLOOP_ONCE);
	woken = 0;
}

static void told_once_in_order(void **state)
{
	struct watch *w = new_watch();
	struct watch_change v[WATCH_READ_MAX];
	uint64_t cursor = watch_cursor(w), before;

	(void)state;
	assert_true(cursor > 0);
	assert_int_equal(watch_read(w, &cursor, v), 0);
	watch_changed(w, 9, 7);
	watch_changed(w, 4, 7);
	watch_changed(w, 9, 7);
	assert_int_equal(watch_read(w, &cursor, v), 0);
	new_round(w);
	before = cursor;
	assert_int_equal(watch_read(w, &cursor, v), 2);
	assert_int_equal(v[0].job, 9);
	assert_int_equal(v[0].user, 7);
	assert_int_equal(v[0].cursor, before + 1);
	assert_int_equal(v[1].job, 4);
	assert_int_equal(cursor, watch_cursor(w));
	watch_changed(w, 9, 7);
	assert_int_equal(watch_read(w, &cursor, v), 0); /* of the next round */
	new_round(w);
	assert_int_equal(watch_read(w, &cursor, v), 1);
	free_watch(w);
}

static void long_absence(void **state)
{
	struct watch *w = new_watch();
	struct watch_change v[WATCH_READ_MAX];
	uint64_t start = watch_cursor(w), cursor = start, sum = 0, i;
	size_t n = 0, got;

	(void)state;
	for (i = 1; i <= WATCH_KEPT; i++)
		watch_changed(w, i, 7);
	assert_true(watch_knows(w, cursor));
	new_round(w);
	while (cursor != watch_cursor(w)) {
		got = watch_read(w, &cursor, v);
		assert_in_range(got, 1, WATCH_READ_MAX);
		for (i = 0; i < got; i++)
			sum += v[i].job;
		n += got;
	}
	assert_int_equal(n, WATCH_KEPT);
	assert_int_equal(sum, (uint64_t)WATCH_KEPT * (WATCH_KEPT + 1) / 2);
	watch_changed(w, 1, 7);
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
	watch_changed(w, 1, 7);
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
	watch_changed(w, 1, 7);
	watch_changed(w, 2, 7);
	watch_wait(w, &b, NULL, before); /* it is behind already */
	event_base_loop(c.base, EVLOOP_ONCE);
	assert_int_equal(woken, 2);
	assert_int_equal(watch_count(w), 0);
	watch_wait(w, &a, NULL, watch_cursor(w));
	watch_stop(w, &a);
	watch_stop(w, &a);
	watch_changed(w, 3, 7);
	assert_int_equal(event_base_loop(c.base, EVLOOP_NONBLOCK), 1); /* nothing to wait for */
	assert_int_equal(woken, 2);
	free_watch(w);
}

/* One after another, and after WATCH_WORK_US the others have the loop. */
static void woken_at_a_pace(void **state)
{
	struct watch *w = new_watch();
	struct watcher v[20] = { { 0 } }, late = { 0 };
	uint64_t before = watch_cursor(w);
	unsigned steps = 0;

	(void)state;
	for (int by_bytes = 0; by_bytes < 2; by_bytes++) {
		takes = by_bytes ? 1 : WATCH_WORK_US / 5;
		sends = by_bytes ? (size_t)WATCH_WORK_US * WATCH_SENDS / 5 : 0;
		for (int i = 0; i < 20; i++)
			watch_wait(w, &v[i], NULL, watch_cursor(w));
		watch_changed(w, 1, 7);
		for (woken = steps = 0; woken < 20; steps++) {
			event_base_loop(c.base, EVLOOP_ONCE);
			assert_int_equal(woken, 5 * (steps + 1));
			if (!by_bytes) /* of the next round, which waits for all of this one */
				watch_changed(w, 2, 7);
		}
		assert_int_equal(watch_round(w), before + 1);
		/* Who comes back for more of this round has its turn. */
		watch_wait(w, &late, NULL, before);
		while (woken < 21)
			assert_int_equal(event_base_loop(c.base, EVLOOP_ONCE), 0);
		assert_int_equal(watch_round(w), before + 1);
		new_round(w);
		before = watch_cursor(w);
	}
	free_watch(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_once_in_order),
		cmocka_unit_test(long_absence),
		cmocka_unit_test(foreign_cursors),
		cmocka_unit_test(woken_together),
		cmocka_unit_test(woken_at_a_pace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
