/* test_top_screens.c - cmds/top/grid.h, screens/: what is on the screen, read without a terminal */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/top/model/gpu_map.h"
#include "cmds/top/screens/frame.h"
#include "cmds/top/screens/keys.h"
#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"
#include "testsuite/unit/lib/top.h"

#define S      INT64_C(1000000)
#define NOW_US (INT64_C(1795000000) * S)

/* --- the grid --------------------------------------------------------------------------------- */

static void expect_line(const struct grid *g, unsigned row, const char *want)
{
	char *line = grid_line(g, row);

	assert_string_equal(line, want);
	free(line);
}

static void test_text(void **state)
{
	struct grid g = { 0 };

	(void)state;
	grid_resize(&g, 2, 10);
	assert_int_equal(grid_text(&g, 0, 2, 8, LOOK_PLAIN, "abc"), 3);
	expect_line(&g, 0, "  abc");
	grid_text(&g, 0, 0, 5, LOOK_PLAIN, "abcdefgh");
	expect_line(&g, 0, "abcd+");
	grid_right(&g, 1, 0, 10, LOOK_BAD, "12");
	expect_line(&g, 1, "        12");
	grid_right(&g, 1, 0, 3, LOOK_BAD, "12345");
	expect_line(&g, 1, "12+     12");
	assert_int_equal(grid_text(&g, 2, 0, 5, LOOK_PLAIN, "x"), 0); /* outside */
	assert_int_equal(grid_text(&g, 0, 10, 5, LOOK_PLAIN, "x"), 0);
	assert_int_equal(grid_text(&g, 0, 0, 0, LOOK_PLAIN, "x"), 0);
	assert_int_equal(grid_text(&g, 0, 8, 99, LOOK_PLAIN, "xyz"), 2);
	expect_line(&g, 0, "abcd+   x+");
	grid_look(&g, 1, 5, 99, LOOK_DIM);
	grid_mark(&g, 7, 7, 7);
	grid_free(&g);
}

static void test_hostile_text(void **state)
{
	struct grid g = { 0 };

	(void)state;
	grid_resize(&g, 1, 30);
	grid_text(&g, 0, 0, 30, LOOK_PLAIN, "a\033[2J\n\tb\x7f\xff");
	expect_line(&g, 0, "a\\x1B[2J\\x0A\\x09b\\x7F\\xFF");
	grid_clear(&g);
	grid_text(&g, 0, 0, 30, LOOK_PLAIN, "x\xe2\x80\xaey"); /* right to left from here */
	expect_line(&g, 0, "x\\xE2\\x80\\xAEy");
	grid_free(&g);
}

/* Characters of two columns, and of none. */
static void test_wide_text(void **state)
{
	struct grid g = { 0 };

	(void)state;
	grid_resize(&g, 1, 8);
	assert_int_equal(grid_text(&g, 0, 0, 8, LOOK_PLAIN, "日本"), 4);
	expect_line(&g, 0, "日本");
	grid_text(&g, 0, 1, 1, LOOK_PLAIN, "x"); /* half of the first is gone */
	expect_line(&g, 0, " x本");
	grid_clear(&g);
	assert_int_equal(grid_text(&g, 0, 0, 4, LOOK_PLAIN, "日本語"), 3);
	expect_line(&g, 0, "日+");
	grid_clear(&g);
	assert_int_equal(grid_text(&g, 0, 0, 8, LOOK_PLAIN, "e\xcc\x81x"), 2);
	expect_line(&g, 0, "e\xcc\x81x");
	grid_free(&g);
}

/* --- a cluster -------------------------------------------------------------------------------- */

struct sent {
	struct command last;
	size_t n; /* without COMMAND_LOOK */
	size_t shown;
};

static void note_command(const struct command *c, void *arg)
{
	struct sent *sent = arg;

	if (c->kind == COMMAND_LOOK) {
		sent->shown = c->n_shown;
		return;
	}
	sent->last = *c;
	sent->n++;
}

struct screen_test {
	struct state s;
	struct grid g;
	struct sent sent;
};

static const struct top_job_say jobs[] = {
	{ .id = 4690,
	        .state = "RUNNING",
	        .name = "rerank",
	        .user = "ana",
	        .account = "vision",
	        .gpus = 2,
	        .nodes = "h1",
	        .elapsed_s = 3600,
	        .limit_s = 7200,
	        .uid = 7 },
	{ .id = 4700,
	        .state = "RUNNING",
	        .name = "ocr",
	        .user = "li",
	        .gpus = 1,
	        .nodes = "h1",
	        .elapsed_s = 60,
	        .limit_s = 600,
	        .uid = 8 },
	{ .id = 4812,
	        .state = "PENDING",
	        .name = "embed",
	        .user = "ana",
	        .uid = 7,
	        .order = 1,
	        .submit_us = NOW_US - 700 * S },
	{ .id = 4813,
	        .state = "PENDING",
	        .name = "\033]0;pwned\a",
	        .user = "li",
	        .uid = 8,
	        .order = 2,
	        .submit_us = NOW_US - 60 * S },
	{ .id = 4900,
	        .state = "PENDING",
	        .name = "pages",
	        .user = "ana",
	        .uid = 7,
	        .order = 3,
	        .tasks = "3-9",
	        .several = true,
	        .task_count = 7,
	        .submit_us = NOW_US },
};
static const struct top_gpu_say h1[] = {
	{ .state = "whole", .job = 4690, .known = true, .pct = 93 },
	{ .state = "whole", .job = 4690, .known = true, .pct = 0 },
	{ .state = "whole", .job = 4700 },
	{ .state = "free" },
};
static const struct top_gpu_say h2[] = { { .state = "drained" }, { .state = "missing" },
	{ .state = "shared" }, { .state = "free" } };

static void add_nodes(struct state *s, size_t more)
{
	struct update *u = update_new(UPDATE_NODES, NOW_US);

	update_add(u, &top_make_node("h1", "mixed", h1, 4)->base);
	update_add(u, &top_make_node("h2", "mixed", h2, 4)->base);
	for (size_t i = 0; i < more; i++) {
		char name[32];

		snprintf(name, sizeof(name), "x%04zu", i);
		update_add(u, &top_make_node(name, i % 9 ? "idle" : "down", h1 + 3, 1)->base);
	}
	state_apply(s, u);
}

static void begin(struct screen_test *t, unsigned rows, unsigned cols)
{
	struct update *u = update_new(UPDATE_LINK, NOW_US);

	*t = (struct screen_test){ .g = { 0 } };
	state_begin(&t->s, 7, "lab");
	t->s.now_us = NOW_US;
	t->s.send = note_command;
	t->s.send_arg = &t->sent;
	u->ok = true;
	state_apply(&t->s, u);
	state_apply(
	        &t->s, top_jobs_update(jobs, sizeof(jobs) / sizeof(jobs[0]), true, true, NOW_US));
	add_nodes(&t->s, 0);
	grid_resize(&t->g, rows, cols);
}

static void end(struct screen_test *t)
{
	state_clear(&t->s);
	grid_free(&t->g);
}

/* Keys one after another, each with a picture in between, as on a terminal. */
static void press(struct screen_test *t, const char *keys)
{
	frame_draw(&t->s, &t->g);
	for (; *keys; keys++) {
		keys_press(&t->s, *keys == '\n'     ? KEY_IS_ENTER
		                  : *keys == '\033' ? KEY_IS_ESCAPE
		                                    : *keys);
		frame_draw(&t->s, &t->g);
	}
}

static char *picture(const struct screen_test *t)
{
	struct strbuf b = { 0 };

	for (unsigned row = 0; row < t->g.rows; row++) {
		char *line = grid_line(&t->g, row);

		strbuf_addf(&b, "%s\n", line);
		free(line);
	}
	return strbuf_take(&b);
}

static void expect(const struct screen_test *t, const char *words)
{
	char *text = picture(t);

	if (!strstr(text, words))
		fail_msg("'%s' is not in:\n%s", words, text);
	free(text);
}

static void expect_not(const struct screen_test *t, const char *words)
{
	char *text = picture(t);

	if (strstr(text, words))
		fail_msg("'%s' is in:\n%s", words, text);
	free(text);
}

/* --- screens ---------------------------------------------------------------------------------- */

static void test_map(void **state)
{
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	press(&t, "");
	expect(&t, "gtop lab");
	expect(&t, "live");
	expect(&t, "GPUs  h100 4/8 held (1 idle), 2 free, most 1 on h1, 1 drained, 1 missing");
	expect(&t, "Jobs  2 running, 9 waiting (oldest 11:40); 4700 ends within 9:00");
	expect(&t, "[1 Map]  2 Queue");
	expect(&t, "h1   Bih.  h2   d!s.");
	expect(&t, "h1 mixed: 1 of 4 GPUs free");
	expect(&t, ". free  B busy  i idle  h held  s shared  d drained  ! missing  ? lost");
	end(&t);
}

/* The letters have colours too; those of other users' jobs fade. */
static void test_map_looks(void **state)
{
	struct screen_test t;
	const struct grid_cell *first;

	(void)state;
	begin(&t, 24, 80);
	press(&t, "");
	first = &t.g.cells[4 * 80 + 5];
	assert_int_equal(first[0].ch[0], L'B');
	assert_int_equal(first[0].look, LOOK_BUSY);
	assert_int_equal(first[1].look, LOOK_IDLE);
	assert_int_equal(first[3].look, LOOK_FREE);
	press(&t, "uli\n");
	first = &t.g.cells[4 * 80 + 5];
	assert_int_equal(first[0].look, LOOK_DIM);
	assert_int_equal(first[2].look, LOOK_BUSY);
	end(&t);
}

/* What does not fit is a letter a node; z says otherwise. */
static void test_map_folds(void **state)
{
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	add_nodes(&t.s, 1000);
	press(&t, "");
	expect(&t, "h1    1!?........?........?");
	expect(&t, ". all  1-9 free  B busy");
	expect(&t, "? lost");
	press(&t, "z"); /* every GPU */
	expect(&t, "h1    Bih.  h2    d!s.  x0000 ?");
	press(&t, "G");
	expect(&t, "x0999");
	press(&t, "g");
	expect(&t, "h1    Bih.");
	press(&t, "jl\n"); /* a line down, a node to the right */
	expect(&t, "[6 Node]");
	end(&t);
}

static void test_queue(void **state)
{
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	press(&t, "2");
	expect(&t, "JOBID PARTITION NAME");
	expect(&t, "NODELIST(REASO+");
	expect(&t, "   4812 batch     embed      ana      PD        0:00 -        (Resources)");
	expect(&t, "4900_[3-9]");
	expect(&t, "   4690 batch     rerank     ana      R      1:00:00 any:2    h1");
	expect(&t, "\\x1B]0;pw+"); /* inert */
	t.s.now_us += 5 * S;
	press(&t, "");
	expect(&t, "1:00:05");
	keys_tell_shown(&t.s);
	assert_int_equal(t.sent.shown, 5);
	end(&t);
}

static void test_running(void **state)
{
	struct screen_test t;

	(void)state;
	begin(&t, 24, 100);
	press(&t, "3");
	expect(&t, "USE IDLE GPU-MEM");
	expect(&t, "46%");
	expect_not(&t, "4812");
	end(&t);
}

static void add_share(struct update *u, const char *account, const char *user, uint32_t depth,
        uint64_t lent, uint64_t borrowed)
{
	Gpusched__Share s = GPUSCHED__SHARE__INIT;
	Gpusched__ShareGpus gpus = GPUSCHED__SHARE_GPUS__INIT, *all[] = { &gpus };

	s.account = (char *)account;
	s.user = (char *)user;
	s.depth = depth;
	s.gpus = all;
	s.n_gpus = 1;
	gpus.type = (char *)"h100";
	gpus.lent_milli = lent;
	gpus.borrowed_milli = borrowed;
	update_add(u, msg_copy(&s.base));
}

/* What an account has lent and borrowed is there beside all that it holds. */
static void test_account_list(void **state)
{
	struct update *u = update_new(UPDATE_SHARES, NOW_US);
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	add_share(u, "vision", "", 0, 2500, 0);
	add_share(u, "speech", "", 0, 0, 2500);
	add_share(u, "speech", "ana", 1, 0, 0);
	state_apply(&t.s, u);
	press(&t, "4");
	expect(&t, "HELD RUN WAIT LENT     BORROWED SHARES");
	expect(&t, "vision           2   1    - h100:2.5               0");
	expect(&t, "speech           -   -    -          h100:2.5      0");
	end(&t);
}

static void test_node(void **state)
{
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	press(&t, "6");
	expect(&t, "h1 mixed: 0 of 64 CPUs free");
	expect(&t, "B h1:0");
	press(&t, "l");
	expect(&t, "! h2:1");
	press(&t, "h");
	expect(&t, "B h1:0");
	press(&t, "w");
	assert_int_equal(t.sent.last.kind, COMMAND_WHY);
	assert_int_equal(t.sent.last.key.id, 4690);
	end(&t);
}

/* Of any size nothing is written outside, and there is always something. */
static void test_sizes(void **state)
{
	static const char screens[] = "123456";
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	add_nodes(&t.s, 200);
	for (unsigned rows = 1; rows < 64; rows += 1 + rows / 4)
		for (unsigned cols = 1; cols < 220; cols += 1 + cols / 4) {
			grid_resize(&t.g, rows, cols);
			for (const char *c = screens; *c; c++)
				press(&t, (char[]){ *c, '\0' });
			press(&t, "?\0332w\0332s\033/");
			press(&t, "\0332c");
			press(&t, "n1");
		}
	grid_resize(&t.g, 10, 40);
	press(&t, "2");
	expect(&t, "JOBID");
	expect(&t, "[2 Queue] 3 4 5 6");
	expect(&t, "(Resources)"); /* why it waits is there on a narrow terminal too */
	grid_resize(&t.g, 3, 40);
	press(&t, "");
	expect(&t, "too small");
	end(&t);
}

/* --- keys ------------------------------------------------------------------------------------- */

static void test_filter_keys(void **state)
{
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	press(&t, "2/emb");
	expect(&t, "filter (part of any column): emb");
	expect(&t, "4813"); /* not yet */
	press(&t, "\n");
	expect(&t, "only /emb");
	expect(&t, "4812");
	expect_not(&t, "4813");
	press(&t, "uli\n");
	expect(&t, "no job fits the filter");
	press(&t, "\033");
	expect(&t, "4813");
	press(&t, "uann\bx\033"); /* typed, and given up */
	expect_not(&t, "only");
	end(&t);
}

static void test_sort_keys(void **state)
{
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	press(&t, "2s");
	expect(&t, "* next to start");
	press(&t, "j\n"); /* by JOBID */
	assert_int_equal(t.s.jobs[SCREEN_QUEUE].rows.v[0].id, 4690);
	press(&t, "s\n"); /* the other way round */
	assert_int_equal(t.s.jobs[SCREEN_QUEUE].rows.v[0].id, 4900);
	press(&t, "1s");
	expect(&t, "this screen has one order");
	end(&t);
}

/* The cursor stays with its job while the list changes. */
static void test_follow(void **state)
{
	const struct top_job_say more[] = { { .id = 1, .state = "PENDING", .name = "first" } };
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	press(&t, "2s");
	press(&t, "j\nj"); /* by JOBID, on the second */
	assert_int_equal(t.s.jobs[SCREEN_QUEUE].on.id, 4700);
	state_apply(&t.s, top_jobs_update(more, 1, false, true, NOW_US));
	t.s.now_us += S;
	press(&t, "");
	assert_int_equal(t.s.jobs[SCREEN_QUEUE].on.id, 4700);
	assert_int_equal(t.s.lists[SCREEN_QUEUE].cursor.index, 2);
	end(&t);
}

static void test_cancel(void **state)
{
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	press(&t, "2c");
	expect(&t, "Cancel job 4812 embed (PD)? y/N");
	press(&t, "n");
	assert_int_equal(t.sent.n, 0);
	press(&t, "cy");
	assert_int_equal(t.sent.n, 1);
	assert_int_equal(t.sent.last.kind, COMMAND_CANCEL);
	assert_int_equal(t.sent.last.key.id, 4812);
	assert_string_equal(t.sent.last.tasks, "");
	press(&t, "jc"); /* another user's */
	expect(&t, "job 4813 is li's");
	assert_int_equal(t.sent.n, 1);
	press(&t, "jcy");
	assert_string_equal(t.sent.last.tasks, "3-9");
	press(&t, "h");
	assert_int_equal(t.sent.last.kind, COMMAND_HOLD);
	press(&t, "r");
	assert_int_equal(t.sent.last.kind, COMMAND_RELEASE);
	end(&t);
}

/* The question is about the job that was there when c was pressed. */
static void test_question_stays(void **state)
{
	const struct top_job_say gone[] = { { .id = 4812, .state = "COMPLETED" } };
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	press(&t, "2c");
	state_apply(&t.s, top_jobs_update(gone, 1, false, true, NOW_US));
	t.s.now_us += S;
	press(&t, "y");
	assert_int_equal(t.sent.last.key.id, 4812);
	end(&t);
}

static struct update *why_update(void)
{
	struct update *u = update_new(UPDATE_WHY, NOW_US);
	Gpusched__WhyResult r = GPUSCHED__WHY_RESULT__INIT;
	Gpusched__Why why = GPUSCHED__WHY__INIT;
	Gpusched__Job job = GPUSCHED__JOB__INIT;
	Gpusched__Blocker blocker = GPUSCHED__BLOCKER__INIT, *blockers[] = { &blocker };
	Gpusched__Change change = GPUSCHED__CHANGE__INIT, *changes[] = { &change };

	job.id = 4812;
	job.name = "embed";
	job.state = "PENDING";
	blocker.reason = "Resources";
	blocker.text = "needs 8 on one node";
	change.option = "--gpus=4";
	change.effect = "on h1";
	why.blockers = blockers;
	why.n_blockers = 1;
	why.changes = changes;
	why.n_changes = 1;
	r.job = &job;
	r.why = &why;
	update_add(u, msg_copy(&r.base));
	return u;
}

static void test_why(void **state)
{
	struct update *u;
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	press(&t, "2\n");
	assert_int_equal(t.sent.last.kind, COMMAND_WHY);
	expect(&t, "asking the controller");
	state_apply(&t.s, why_update());
	press(&t, "");
	expect(&t, "HELD BY");
	expect(&t, "needs 8 on one node");
	expect(&t, "--gpus=4");
	grid_resize(&t.g, 24, 40); /* its text is wrapped anew */
	press(&t, "");
	expect(&t, "--gpus=4");
	press(&t, "q");
	expect(&t, "[2 Queue]");
	u = update_new(UPDATE_WHY, NOW_US);
	u->text = xstrdup("no such job");
	press(&t, "w");
	state_apply(&t.s, u);
	press(&t, "");
	expect(&t, "no such job");
	end(&t);
}

static void test_help(void **state)
{
	struct screen_test t;

	(void)state;
	begin(&t, 60, 80);
	press(&t, "?");
	expect(&t, "cancel the job, after a question");
	expect(&t, "Letters of the map");
	press(&t, "q");
	assert_false(t.s.quit);
	press(&t, "q");
	assert_true(t.s.quit);
	end(&t);
}

/* --- a controller that is gone ---------------------------------------------------------------- */

static void test_age(void **state)
{
	struct update *u = update_new(UPDATE_LINK, NOW_US + 10 * S);
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	t.s.now_us = NOW_US + 4 * S;
	press(&t, "");
	expect(&t, "live");
	u->text = xstrdup("no connection to h:7320: refused");
	state_apply(&t.s, u);
	t.s.now_us = NOW_US + 75 * S;
	press(&t, "");
	expect(&t, "NO ANSWER: 1:15 old");
	expect(&t, "refused");
	expect(&t, "h1   Bih."); /* what was known stays */
	u = update_new(UPDATE_LINK, t.s.now_us);
	u->ok = true;
	state_apply(&t.s, u);
	state_apply(&t.s, update_new(UPDATE_HEARD, t.s.now_us));
	press(&t, "");
	expect(&t, "live");
	end(&t);
}

static void test_pause(void **state)
{
	struct screen_test t;

	(void)state;
	begin(&t, 24, 80);
	press(&t, "2 ");
	assert_int_equal(t.sent.last.kind, COMMAND_PAUSE);
	t.s.now_us += 60 * S;
	press(&t, "");
	expect(&t, "PAUSED at");
	expect(&t, "1:00:00"); /* times stand still */
	press(&t, " ");
	assert_int_equal(t.sent.last.kind, COMMAND_RESUME);
	expect(&t, "1:01:00");
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_wide_text),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_looks),
		cmocka_unit_test(test_map_folds),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_running),
		cmocka_unit_test(test_account_list),
		cmocka_unit_test(test_node),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_filter_keys),
		cmocka_unit_test(test_sort_keys),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_question_stays),
		cmocka_unit_test(test_why),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_pause),
	};

	setenv("TZ", "UTC", 1);
	if (!setlocale(LC_ALL, "C.UTF-8"))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
