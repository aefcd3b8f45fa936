/* test_commit_gate.c - frames wait for their change, in order, and for nothing else */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/loop/commit_gate.h"

/* What was sent, as "SESSION:TEXT " pieces. */
struct wire {
	char log[8192];
};

static void on_send(void *arg, uint64_t session, const uint8_t *frames, size_t len)
{
	struct wire *w = arg;
	size_t n = strlen(w->log);

	snprintf(w->log + n, sizeof(w->log) - n, "%u:%.*s ", (unsigned)session, (int)len,
	        (const char *)frames);
}

static void put(struct commit_gate *g, uint64_t session, uint64_t change, const char *text)
{
	commit_gate_put(
	        g, COMMIT_GATE_AGENTS, session, change, (uint8_t *)xstrdup(text), strlen(text));
}

static void test_waits_for_its_change(void **state)
{
	struct wire w = { "" };
	struct commit_gate *g = commit_gate_new(on_send, &w);
	struct commit_gate_stats s;

	(void)state;
	put(g, 1, 0, "old");
	assert_string_equal(w.log, "1:old ");
	put(g, 1, 1, "a");
	put(g, 2, 2, "b");
	put(g, 1, 3, "c");
	assert_string_equal(w.log, "1:old ");
	commit_gate_stats(g, &s);
	assert_int_equal(s.held, 3);
	assert_int_equal(s.held_bytes, 3);
	commit_gate_release(g, 2);
	assert_string_equal(w.log, "1:old 1:a 2:b ");
	assert_int_equal(commit_gate_committed(g), 2);
	commit_gate_release(g, 3);
	assert_string_equal(w.log, "1:old 1:a 2:b 1:c ");
	put(g, 1, 3, "d");
	assert_string_equal(w.log, "1:old 1:a 2:b 1:c 1:d ");
	commit_gate_stats(g, &s);
	assert_int_equal(s.held, 0);
	assert_int_equal(s.held_bytes, 0);
	assert_int_equal(s.max_held, 3);
	assert_int_equal(s.sent, 5);
	assert_int_equal(s.sent_at_once, 2);
	commit_gate_free(g);
}

static void test_a_reserved_place_is_not_overtaken(void **state)
{
	struct wire w = { "" };
	struct commit_gate *g = commit_gate_new(on_send, &w);
	struct commit_gate_slot *start, *never;

	(void)state;
	put(g, 1, 1, "a");
	start = commit_gate_reserve(g, COMMIT_GATE_AGENTS, 7, 1);
	never = commit_gate_reserve(g, COMMIT_GATE_AGENTS, 8, 1);
	put(g, 7, 1, "end");
	commit_gate_release(g, 1);
	assert_string_equal(w.log, "1:a ");
	put(g, 9, 0 + 1, "committed already, still behind");
	assert_string_equal(w.log, "1:a ");
	commit_gate_fill(start, (uint8_t *)xstrdup("start"), 5);
	assert_string_equal(w.log, "1:a ");
	commit_gate_release(g, 1);
	assert_string_equal(w.log, "1:a 7:start ");
	commit_gate_fill(never, NULL, 0);
	commit_gate_release(g, 1);
	assert_string_equal(w.log, "1:a 7:start 7:end 9:committed already, still behind ");
	commit_gate_free(g);
}

/* No more than a slice at a time; what comes meanwhile stays behind it. */
static void test_releases_in_slices(void **state)
{
	struct wire w = { "" };
	struct commit_gate *g = commit_gate_new(on_send, &w);
	struct commit_gate_stats s;

	(void)state;
	for (unsigned i = 0; i < 2 * COMMIT_GATE_SLICE; i++)
		put(g, 1, 1, "x");
	put(g, 1, 2, "y");
	assert_true(commit_gate_release(g, 1));
	put(g, 1, 2, "z");
	commit_gate_stats(g, &s);
	assert_int_equal(s.sent, COMMIT_GATE_SLICE);
	assert_false(commit_gate_release(g, 1)); /* what is left is not due */
	commit_gate_stats(g, &s);
	assert_int_equal(s.sent, 2 * COMMIT_GATE_SLICE);
	w.log[0] = '\0';
	assert_false(commit_gate_release(g, 2));
	assert_string_equal(w.log, "1:y 1:z ");
	commit_gate_free(g);
}

static void put_of(struct commit_gate *g, uid_t uid, uint64_t change, const char *text)
{
	commit_gate_put(
	        g, commit_gate_user(uid), uid, change, (uint8_t *)xstrdup(text), strlen(text));
}

/* One frame of a user is not behind thousands of another's, nor behind what an agent waits for. */
static void test_users_take_turns(void **state)
{
	struct wire w = { "" };
	struct commit_gate *g = commit_gate_new(on_send, &w);

	(void)state;
	(void)commit_gate_reserve(g, COMMIT_GATE_AGENTS, 9, 1); /* never filled */
	for (unsigned i = 0; i < 2 * COMMIT_GATE_SLICE; i++)
		put_of(g, 1, 1, "x");
	put_of(g, 2, 1, "short");
	for (unsigned i = 0; i < COMMIT_GATE_SLICE; i++)
		put_of(g, 3, 2, "later");
	assert_true(commit_gate_release(g, 1));
	assert_non_null(strstr(w.log, "2:short "));
	put_of(g, 2, 1, "again"); /* its line is empty: at once */
	assert_non_null(strstr(w.log, "2:again "));
	assert_true(commit_gate_release(g, 1));
	assert_false(commit_gate_release(g, 1));
	assert_null(strstr(w.log, "later"));
	w.log[0] = '\0';
	assert_false(commit_gate_release(g, 2));
	assert_non_null(strstr(w.log, "3:later "));
	commit_gate_free(g);
}

/* Agents have half of each slice, however many users there are. */
static void test_agents_have_half(void **state)
{
	struct wire w = { "" };
	struct commit_gate *g = commit_gate_new(on_send, &w);
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 4 * COMMIT_GATE_SLICE; i++)
		put_of(g, 1 + i % 64, 1, "x");
	for (unsigned i = 0; i < COMMIT_GATE_SLICE; i++)
		put(g, 9, 1, "order");
	commit_gate_release(g, 1);
	for (const char *at = w.log; (at = strstr(at, "order")); at++)
		n++;
	assert_int_equal(n, COMMIT_GATE_SLICE / 2);
	commit_gate_free(g);
}

static void test_free_drops_what_is_held(void **state)
{
	struct wire w = { "" };
	struct commit_gate *g = commit_gate_new(on_send, &w);

	(void)state;
	put(g, 1, 5, "held");
	(void)commit_gate_reserve(g, COMMIT_GATE_AGENTS, 1, 6);
	commit_gate_free(g);
	assert_string_equal(w.log, "");
	commit_gate_free(NULL);
}

/* Whatever the order of births, fills and commits: never early, never out of order, all in the end.
 */
static void test_random_orders(void **state)
{
	uint32_t seed = 12345;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct wire w = { "" };
		struct commit_gate *g = commit_gate_new(on_send, &w);
		struct commit_gate_slot *open[64];
		unsigned n_open = 0, born = 0;
		uint64_t change = 0, committed = 0;
		char want[8192] = "";

		while (born < 40) {
			char text[32];

			seed = seed * 1664525 + 1013904223;
			snprintf(text, sizeof(text), "%u@%u", born, (unsigned)change);
			switch (seed >> 29) {
			case 0:
				change++;
				break;
			case 1:
				if (committed < change)
					commit_gate_release(g, ++committed);
				break;
			case 2:
				open[n_open++] =
				        commit_gate_reserve(g, COMMIT_GATE_AGENTS, 1, change);
				break;
			case 3:
				if (n_open)
					commit_gate_fill(open[--n_open], NULL, 0);
				break;
			default:
				put(g, 1, change, text);
				snprintf(want + strlen(want), sizeof(want) - strlen(want), "1:%s ",
				        text);
				born++;
			}
			/* what was sent is a beginning of what is to be sent, and committed */
			assert_memory_equal(w.log, want, strlen(w.log));
			for (const char *at = w.log; (at = strchr(at, '@')); at++)
				assert_true(strtoul(at + 1, NULL, 10) <= committed);
		}
		while (n_open)
			commit_gate_fill(open[--n_open], NULL, 0);
		commit_gate_release(g, change);
		assert_string_equal(w.log, want);
		commit_gate_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_for_its_change),
		cmocka_unit_test(test_a_reserved_place_is_not_overtaken),
		cmocka_unit_test(test_releases_in_slices),
		cmocka_unit_test(test_users_take_turns),
		cmocka_unit_test(test_agents_have_half),
		cmocka_unit_test(test_free_drops_what_is_held),
		cmocka_unit_test(test_random_orders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
