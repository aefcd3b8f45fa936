/* test_programs.c - what is told of a program of the site: only what is known of it */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <event2/event.h>
#include <cmocka.h>

#include "ctld/site/programs.h"

struct told {
	struct event_base *base;
	struct programs *programs;
	bool succeeded;
	char text[PROGRAM_END_TEXT_MAX];
	unsigned done, room;
};

static void on_done(void *arg, const struct program_end *end)
{
	struct told *t = arg;

	t->succeeded = program_succeeded(end);
	program_end_text(end, t->text);
	t->done++;
}

static void on_room(void *arg)
{
	struct told *t = arg;

	t->room++;
	event_base_loopbreak(t->base);
}

/* Start it and wait until it has gone. */
static void run(struct told *t, const char *script, uint32_t timeout_s)
{
	char path[] = "/bin/sh", option[] = "-c", text[100];
	char *argv[] = { path, option, text, NULL }, *env[] = { NULL };

	*t = (struct told){ .base = event_base_new() };
	t->programs = programs_new(t->base, 1, on_room, t);
	strncpy(text, script, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_true(programs_have_space(t->programs));
	assert_int_equal(programs_start(t->programs, argv, env, timeout_s, on_done, t, NULL), 0);
	assert_false(programs_have_space(t->programs));
	event_base_dispatch(t->base);
	assert_int_equal(t->done, 1);
	assert_int_equal(t->room, 1);
	assert_true(programs_have_space(t->programs));
	programs_free(t->programs);
	event_base_free(t->base);
}

static void test_ends(void **state)
{
	static const struct {
		const char *script, *text;
	} rows[] = {
		{ "exit 3", "failed (exit status 3)" },
		{ "kill -HUP $$", "failed (signal 1)" },
		{ "exec sleep 1000", "did not end in time and was killed" },
		{ "echo no route >&2; echo more >&2; exit 3", "failed (exit status 3): no route" },
		{ "echo no route >&2; exec sleep 1000",
		        "did not end in time and was killed: no route" },
		{ "echo many >&2; yes | head -c 3000000 >&2; exit 4",
		        "failed (exit status 4): many" },
		{ "exec 2>&-; exit 5", "failed (exit status 5)" },
	};
	struct told t;

	(void)state;
	run(&t, "exit 0", 0);
	assert_true(t.succeeded);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		run(&t, rows[i].script, 1);
		assert_false(t.succeeded);
		assert_string_equal(t.text, rows[i].text);
	}
}

/* Whoever has started us may ignore the ends of children, and the kernel then keeps none: that a
 * node is off must not be the word of a program that said no. */
static void test_whose_end_nobody_knows(void **state)
{
	struct told t;

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	run(&t, "sleep 0.1; exit 1", 0);
	assert_false(t.succeeded);
	assert_string_equal(t.text, "ended, and how is not known");
	signal(SIGCHLD, SIG_DFL);
}

static void test_cannot_be_started(void **state)
{
	struct event_base *base = event_base_new();
	struct programs *p = programs_new(base, 1, on_room, NULL);
	char path[] = "/nowhere", *argv[] = { path, NULL }, *env[] = { NULL };
	struct error err;

	(void)state;
	assert_int_equal(programs_start(p, argv, env, 1, on_done, NULL, &err), -1);
	assert_string_equal(err.text, "/nowhere: No such file or directory");
	assert_true(programs_have_space(p));
	programs_free(p);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_whose_end_nobody_knows),
		cmocka_unit_test(test_cannot_be_started),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
