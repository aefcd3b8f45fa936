/* test_stream_access.c - noded/stream/stream_access.h: which user may have what of a run */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "noded/stream/stream_access.h"

enum { OWNER = 1000, OTHER = 1001, WEB = 990, WEB_2 = 991 };

static const struct output_readers none, one = { { WEB }, 1 }, both = { { WEB, WEB_2 }, 2 };

/* Each user, with each of the two consents there and not. */
static void the_whole_table(void **state)
{
	static const struct {
		const struct output_readers *readers;
		bool agreed;
		uid_t uid;
		enum stream_access access;
		const char *why;
	} v[] = {
		{ &none, false, OWNER, STREAM_OWNER, NULL },
		{ &both, true, OWNER, STREAM_OWNER, NULL },
		{ &none, false, 0, STREAM_OUTPUT, NULL },
		{ &both, true, 0, STREAM_OUTPUT, NULL },
		{ &none, false, WEB, STREAM_REFUSED, "this agent has no --output-readers" },
		{ &none, true, WEB, STREAM_REFUSED, "this agent has no --output-readers" },
		{ &one, false, WEB, STREAM_REFUSED, "gsubmit --show-output" },
		{ &one, true, WEB, STREAM_TAIL, NULL },
		{ &one, true, WEB_2, STREAM_REFUSED, "uid 991 may not read the output of run 7_0_1" },
		{ &both, true, WEB_2, STREAM_TAIL, NULL },
		{ &one, false, OTHER, STREAM_REFUSED, "uid 1001 may not read the output of run 7_0_1" },
		{ &one, true, OTHER, STREAM_REFUSED, "uid 1001 may not read the output of run 7_0_1" },
		{ &none, true, OTHER, STREAM_REFUSED, "uid 1001 may not read the output of run 7_0_1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		Gpusched__OutputRecord run = GPUSCHED__OUTPUT_RECORD__INIT;
		struct error err = { .code = ERR_NONE };

		run.uid = OWNER;
		run.show_output = v[i].agreed;
		if (stream_access(v[i].readers, &run, "7_0_1", v[i].uid, &err) != v[i].access)
			fail_msg("row %zu", i);
		if (!v[i].why)
			continue;
		assert_int_equal(err.code, ERR_NOT_PERMITTED);
		if (!strstr(err.text, v[i].why))
			fail_msg("row %zu: %s", i, err.text);
	}
}

/* A reader that is the owner of the run needs no agreement, and root's jobs are root's. */
static void the_owner_comes_first(void **state)
{
	Gpusched__OutputRecord run = GPUSCHED__OUTPUT_RECORD__INIT;
	struct error err;

	(void)state;
	run.uid = WEB;
	assert_int_equal(stream_access(&one, &run, "7_0_1", WEB, &err), STREAM_OWNER);
	run.uid = 0;
	assert_int_equal(stream_access(&one, &run, "7_0_1", 0, &err), STREAM_OWNER);
	assert_int_equal(stream_access(&one, &run, "7_0_1", WEB, &err), STREAM_REFUSED);
}

/* What an older agent has written of a run says nothing of it. */
static void an_older_record_is_not_shown(void **state)
{
	const ProtobufCMessageDescriptor *d = &gpusched__output_record__descriptor;
	Gpusched__OutputRecord run = GPUSCHED__OUTPUT_RECORD__INIT;
	struct error err;

	(void)state;
	assert_string_equal(d->fields[d->n_fields - 1].name, "show_output");
	assert_false(run.show_output);
	run.uid = OWNER;
	assert_int_equal(stream_access(&one, &run, "7_0_1", WEB, &err), STREAM_REFUSED);
}

static void the_option(void **state)
{
	static const struct {
		const char *names, *why; /* NULL: taken */
		size_t n;
	} v[] = {
		{ "4000000000", NULL, 1 },
		{ "4000000000,4000000001", NULL, 2 },
		{ "daemon,4000000000", NULL, 2 },
		{ "root", "root reads all output anyway", 0 },
		{ "0", "there is no user '0'", 0 },
		{ "", "there is no user ''", 0 },
		{ "4000000000,", "there is no user ''", 0 },
		{ "no-such-user-here", "there is no user 'no-such-user-here'", 0 },
		{ "4294967295", "there is no user '4294967295'", 0 }, /* (uid_t)-1 */
		{ "-1", "there is no user '-1'", 0 },
		{ "2000000001,2000000002,2000000003,2000000004,2000000005,2000000006,2000000007,"
		  "2000000008,2000000009",
		        "at most 8", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct output_readers readers;
		struct error err;
		int rc = output_readers_parse(v[i].names, &readers, &err);

		if (rc != (v[i].why ? -1 : 0))
			fail_msg("'%s': %d", v[i].names, rc);
		if (!v[i].why)
			assert_int_equal(readers.n, v[i].n);
		else if (!strstr(err.text, v[i].why))
			fail_msg("'%s': %s", v[i].names, err.text);
	}
}

/* As many as begin in the life of one are there at most. */
static void tails_are_bounded(void **state)
{
	static struct tails t;
	const usec_t second = 1000000, life = TAIL_LIFE_S * second;
	struct error err;

	(void)state;
	for (int i = 0; i < TAILS_MAX; i++)
		assert_int_equal(tails_begin(&t, OWNER + (uid_t)i / TAILS_OF_ONE, 5 * second + i, &err), 0);
	assert_int_equal(tails_begin(&t, OTHER + 100, 5 * second + TAILS_MAX, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(tails_begin(&t, OTHER + 100, 5 * second + life - 1, &err), -1);
	/* The first two are gone. */
	assert_int_equal(tails_begin(&t, OTHER + 100, 5 * second + life + 1, &err), 0);
	assert_int_equal(tails_begin(&t, OTHER + 100, 5 * second + life + 1, &err), 0);
	assert_int_equal(tails_begin(&t, OTHER + 100, 5 * second + life + 1, &err), -1);
	for (int i = 0; i < 10 * TAILS_MAX; i++)
		assert_int_equal(tails_begin(&t, OWNER, 100 * second + i * life, &err), 0);
}

/* What is read of one owner's outputs leaves room for others'. */
static void one_owner_does_not_have_all(void **state)
{
	static struct tails t;
	struct error err;

	(void)state;
	for (int i = 0; i < TAILS_OF_ONE; i++)
		assert_int_equal(tails_begin(&t, OWNER, 1000 + i, &err), 0);
	assert_int_equal(tails_begin(&t, OWNER, 2000, &err), -1);
	assert_string_equal(err.text, "16 ends of this owner's outputs were read here in 10 s: try again");
	assert_int_equal(tails_begin(&t, OTHER, 2000, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_table),
		cmocka_unit_test(the_owner_comes_first),
		cmocka_unit_test(an_older_record_is_not_shown),
		cmocka_unit_test(the_option),
		cmocka_unit_test(tails_are_bounded),
		cmocka_unit_test(one_owner_does_not_have_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
