/* test_gprobe_messages.c - noded/shepherd/gprobe_messages.h: what gprobe says, and what of it is
 * passed on when */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "noded/shepherd/gprobe_messages.h"

#define S ((usec_t)1000000)

static struct clocks at(usec_t mono)
{
	return (struct clocks){ .wall = 1000 * S + mono, .mono = mono };
}

static bool say(struct replica *r, const char *line, usec_t mono)
{
	return replica_line(r, line, strlen(line), at(mono));
}

static void test_health(void **state)
{
	struct replica r;
	Gpusched__Replica m;

	(void)state;
	replica_init(&r, -1);
	assert_false(replica_due(&r, 100 * S)); /* LOADING is told by the launcher */
	assert_true(say(&r, "health loading 503 Service Unavailable", 100 * S));
	assert_true(replica_due(&r, 100 * S));
	replica_fill(&r, &m);
	assert_int_equal(m.health, HEALTH_LOADING);
	assert_string_equal(m.text, "503 Service Unavailable");
	replica_told(&r, 100 * S);
	/* Another text alone waits; READY does not. */
	assert_true(say(&r, "health loading 404", 101 * S));
	assert_false(replica_due(&r, 101 * S));
	assert_int_equal(replica_next(&r, 101 * S), 110 * S);
	assert_true(say(&r, "health ready", 102 * S));
	assert_true(replica_due(&r, 102 * S));
	replica_fill(&r, &m);
	assert_int_equal(m.health, HEALTH_READY);
	assert_string_equal(m.text, "");
	assert_int_equal(m.ready_time, 1102 * S);
	assert_int_equal(r.ready_since, 102 * S);
	replica_told(&r, 102 * S);
	assert_false(say(&r, "health loading again", 103 * S)); /* it was READY */
	assert_true(say(&r, "health unready timeout", 105 * S));
	replica_fill(&r, &m);
	assert_int_equal(m.health, HEALTH_UNREADY);
	assert_int_equal(m.ready_us, 3 * S);
	assert_int_equal(m.ready_time, 1102 * S);
	assert_int_equal(r.ready_since, 0);
	assert_true(say(&r, "health ready", 107 * S));
	replica_fill_end(&r, 108 * S, &m);
	assert_int_equal(m.ready_us, 4 * S);
	assert_string_equal(m.text, "");
	assert_true(say(&r, "end the live probe failed 3 times", 108 * S));
	replica_fill_end(&r, 108 * S, &m);
	assert_int_equal(m.health, HEALTH_READY);
	assert_string_equal(m.text, "the live probe failed 3 times");
}

/* A replica that changes without end is passed on once a second, and never in the wrong state. */
static void test_changes_are_bounded(void **state)
{
	struct replica r;
	unsigned told = 0;

	(void)state;
	replica_init(&r, -1);
	for (usec_t now = 50 * S; now < 60 * S; now += S / 20) {
		assert_true(say(&r, now / (S / 20) % 2 ? "health ready" : "health unready x", now));
		if (!replica_due(&r, now))
			continue;
		replica_told(&r, now);
		told++;
	}
	assert_in_range(told, 10, 10 + REPLICA_BURST);
	say(&r, "health ready", 61 * S);
	if (r.told != HEALTH_READY)
		assert_true(replica_next(&r, 61 * S) <= 63 * S);
}

static void test_hidden(void **state)
{
	static const char why[] = "it is to end";
	struct replica r;
	Gpusched__Replica m;

	(void)state;
	replica_init(&r, -1);
	replica_hide(&r, why, at(9 * S));
	replica_fill(&r, &m);
	assert_int_equal(m.health, HEALTH_LOADING);
	replica_hide(&r, NULL, at(9 * S));
	say(&r, "health ready", 10 * S);
	replica_told(&r, 10 * S);
	replica_hide(&r, why, at(12 * S));
	assert_true(replica_due(&r, 12 * S));
	replica_fill(&r, &m);
	assert_int_equal(m.health, HEALTH_UNREADY);
	assert_string_equal(m.text, why);
	assert_int_equal(m.ready_us, 2 * S);
	replica_told(&r, 12 * S);
	replica_hide(&r, NULL, at(20 * S));
	assert_int_equal(r.ready_since, 20 * S);
	replica_fill_end(&r, 21 * S, &m);
	assert_int_equal(m.ready_us, 3 * S);
}

static void test_load(void **state)
{
	struct replica r;
	Gpusched__RunLoad m;

	(void)state;
	replica_init(&r, -1);
	assert_false(replica_fill_load(&r, &m));
	assert_true(say(&r, "load 3.5 2 730 41 9000", 50 * S));
	assert_true(replica_due(&r, 50 * S));
	assert_true(replica_fill_load(&r, &m));
	assert_true(m.known && m.running > 3.4 && m.running < 3.6 && m.waiting > 1.9);
	assert_int_equal(m.kv_milli, 730);
	assert_int_equal(m.requests, 41);
	assert_int_equal(m.tokens, 9000);
	assert_int_equal(m.time, 1050 * S);
	replica_told(&r, 50 * S);
	/* The same is not told, until it is old. */
	assert_true(say(&r, "load 3.5 2 730 41 9000", 51 * S));
	assert_false(replica_due(&r, 52 * S));
	assert_true(say(&r, "load 3.5 2 730 41 9000", 60 * S));
	assert_true(replica_due(&r, 60 * S));
	replica_told(&r, 60 * S);
	assert_true(say(&r, "load 4 2 730 41 9000", 60 * S + 1));
	assert_false(replica_due(&r, 60 * S + 1));
	assert_int_equal(replica_next(&r, 60 * S + 1), 61 * S);
	assert_true(say(&r, "load unknown", 62 * S));
	replica_fill_load(&r, &m);
	assert_false(m.known);
	assert_int_equal(m.requests, 41);
}

static void test_nonsense(void **state)
{
	static const char *const lines[] = { "", " ", "health", "health ", "health none x",
		"health  ready", "healthy", "HEALTH ready", "load", "load ", "load 1",
		"load 1 2 3 4", "load 1 2 3 4 5 6", "load -1 0 0 0 0", "load nan 0 0 0 0",
		"load 1e9 0 0 0 0", "load 0x10 0 0 0 0", "load 1.2.3 0 0 0 0", "load . 0 0 0 0",
		"load 1 2 1001 0 0", "load 0 0 1.5 0 0", "load 0 0 0 18446744073709551615 0",
		"load 0 0 0 99999999999999999999 0", "load 2000000000 0 0 0 0", "load unknown ",
		"end", "stop now", "load 00000000000000000000000000000000001 0 0 0 0" };
	const struct replica untouched = {
		.fd = -1, .health = HEALTH_LOADING, .told = HEALTH_LOADING
	};
	struct replica r;

	(void)state;
	memset(&r, 0, sizeof(r));
	replica_init(&r, -1);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (say(&r, lines[i], S))
			fail_msg("'%s' was taken", lines[i]);
	assert_int_equal(r.health, untouched.health);
	assert_int_equal(r.load_time, 0);
	assert_string_equal(r.end, "");
	assert_string_equal(r.text, "");
	/* A text is made plain, and cut. */
	assert_true(replica_line(&r, "health unready \x1b[2J\0x", 21, at(S)));
	assert_null(strchr(r.text, '\x1b'));
	assert_non_null(strstr(r.text, "\\x1B"));
}

/* It reads so much at a time, and not again at once; what is cut in two becomes whole. */
static void test_reading(void **state)
{
	char flood[4096];
	struct replica r;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	replica_init(&r, ends[0]);
	assert_int_equal(replica_poll_fd(&r, S), ends[0]);
	assert_int_equal(write(ends[1], "health unready a\nhealth rea", 27), 27);
	replica_read(&r, at(S));
	assert_int_equal(r.health, HEALTH_UNREADY);
	assert_int_equal(replica_poll_fd(&r, S), -1);
	assert_int_equal(write(ends[1], "dy\n", 3), 3);
	replica_read(&r, at(S + 1));
	assert_int_equal(r.health, HEALTH_UNREADY);
	replica_told(&r, S);
	assert_int_equal(replica_next(&r, S + 1), S + REPLICA_READ_PAUSE);
	replica_read(&r, at(S + REPLICA_READ_PAUSE));
	assert_int_equal(r.health, HEALTH_READY);
	/* A line without end is not kept; the next line counts. */
	memset(flood, 'x', sizeof(flood));
	while (write(ends[1], flood, sizeof(flood)) > 0)
		;
	for (int i = 2; i < 10; i++)
		replica_read(&r, at(i * S));
	assert_int_equal(write(ends[1], "\nhealth unready b\n", 18), 18);
	replica_read(&r, at(11 * S));
	assert_string_equal(r.text, "b");
	close(ends[1]);
	replica_read(&r, at(12 * S));
	assert_int_equal(r.fd, -1);
	replica_read(&r, at(13 * S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_health),
		cmocka_unit_test(test_changes_are_bounded),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
