/* test_core_bulk.c - many jobs in slices: all of them or none, whatever happens in between
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/records/job.h"
#include "testsuite/unit/lib/core_world.h"

#define JOBS  10
#define SLICE 3

static const char conf_text[] =
        "cluster = \"test\"; controller = { host = \"h\"; max_jobs = 40; keep_ended = \"1s\"; };\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true;\n"
        "  max_time = \"2-00:00:00\"; default_time = \"1:00:00\"; per_user = { queued = %d; }; } "
        ");\n";

/* A bulk, and what the core has said of it so far. */
struct bulk_of {
	struct world *w;
	struct submit_job jobs[JOBS];
	char names[JOBS][8];
	size_t checked;
	uint64_t ids[JOBS];
	bool known[JOBS];
	size_t n_ids;
	struct error error;
	bool more;
};

static void hear(void *arg, const struct effect *e)
{
	struct bulk_of *b = arg;

	if (e->kind != EFFECT_BULK)
		return;
	b->more = e->bulk.more;
	if (e->bulk.error)
		b->error = *e->bulk.error;
	for (size_t i = 0; i < e->bulk.n; i++) {
		b->ids[b->n_ids] = e->bulk.ids[i];
		b->known[b->n_ids++] = e->bulk.known[i];
	}
}

static struct world *begin(struct bulk_of *b, int queued)
{
	char text[sizeof(conf_text) + 16];

	snprintf(text, sizeof(text), conf_text, queued);
	*b = (struct bulk_of){ .w = world_new(text) };
	for (int i = 0; i < JOBS; i++) {
		b->jobs[i] = world_job(b->w, "h100:1");
		b->jobs[i].hold = true;
		snprintf(b->names[i], sizeof(b->names[i]), "%s", i % 2 ? "a1" : "b0");
		b->jobs[i].name = b->names[i];
	}
	b->w->hook = hear;
	b->w->hook_arg = b;
	return b->w;
}

static void step(struct bulk_of *b, enum bulk_step which)
{
	struct core_event e = { .kind = EV_BULK, .caller = world_user(1000) };

	e.bulk.step = which;
	e.bulk.n = SLICE;
	if (which == BULK_CHECK) {
		e.bulk.jobs = b->jobs + b->checked;
		if (b->checked + SLICE > JOBS)
			e.bulk.n = JOBS - b->checked;
		b->checked += e.bulk.n;
	}
	world_apply(b->w, &e);
	world_schedule(b->w);
}

static void check_all(struct bulk_of *b)
{
	b->checked = b->n_ids = 0;
	while (b->checked < JOBS && !b->error.code)
		step(b, BULK_CHECK);
}

static void all_of(struct bulk_of *b, enum bulk_step which)
{
	do
		step(b, which);
	while (b->more);
}

static size_t have(struct world *w)
{
	struct core_stats stats;

	core_stats(w->core, &stats);
	return stats.jobs;
}

/* --- all or none ----------------------------------------------------------------------------- */

/* Steps and seals of a bulk; the crash comes after `lives` of them. True: it was over before. */
static bool until_crash(struct bulk_of *b, int lives)
{
	while (b->checked < JOBS) {
		step(b, BULK_CHECK);
		world_seal(b->w);
		if (!--lives)
			return false;
	}
	do {
		step(b, BULK_MAKE);
		if (!--lives)
			return false;
		world_seal(b->w);
		if (!--lives)
			return false;
	} while (b->more);
	do {
		step(b, BULK_SHOW);
		world_seal(b->w);
		if (!--lives)
			return false;
	} while (b->more);
	return true;
}

/* A crash between any two steps leaves all jobs or none; and the ids of those that were lost are
 * not used again, since their rows may be there. */
static void crash_anywhere(void **state)
{
	bool over = false, were_none = false, were_all = false;

	(void)state;
	for (int lives = 1; !over; lives++) {
		struct bulk_of b;
		struct world *w = begin(&b, 100);
		size_t n;
		uint64_t id;

		over = until_crash(&b, lives);
		world_crash(w);
		n = have(w);
		assert_true(n == 0 || n == JOBS);
		/* Once all rows and their promise are sealed: four MAKEs, each with its seal. */
		assert_int_equal(n, lives >= 4 + 8 || over ? JOBS : 0);
		were_none |= n == 0;
		were_all |= n == JOBS;
		world_restart(w);
		assert_int_equal(have(w), n);
		id = world_submit(w, "");
		for (size_t i = 0; lives > 5 && i < b.n_ids; i++)
			assert_true(id > b.ids[i]);
		/* The same again: the ids of then, or new ones. */
		memset(&b.error, 0, sizeof(b.error));
		check_all(&b);
		all_of(&b, BULK_MAKE);
		all_of(&b, BULK_SHOW);
		for (size_t i = 0; i < JOBS; i++)
			assert_true(b.known[i] == (n == JOBS));
		assert_int_equal(have(w) - 1, JOBS);
		world_restart(w);
		world_free(w);
	}
	assert_true(were_none && were_all);
}

/* Others come in between: their jobs are there at once, and each finds its place. */
static void others_in_between(void **state)
{
	struct bulk_of b;
	struct world *w = begin(&b, 100);
	struct submit_job other;
	uint64_t before, between[8];
	size_t n = 0;

	(void)state;
	world_register_all(w);
	before = world_submit(w, "h100:1");
	check_all(&b);
	do {
		step(&b, BULK_MAKE);
		other = world_job(w, "h100:1");
		other.name = n % 2 ? "a1" : "b0"; /* as those of the bulk */
		between[n] = world_submit_job(w, &other, 1000);
		assert_true(between[n++] > before);
		world_seal(w);
	} while (b.more);
	for (size_t i = 0; i < JOBS; i++) {
		assert_int_equal(b.ids[i], before + 1 + i);
		assert_string_equal(world_state(w, b.ids[i]), "none");
	}
	assert_string_equal(world_state(w, between[0]), "CONFIGURING");
	do {
		step(&b, BULK_SHOW);
		/* One that a list has as its last late one goes. */
		world_control(w, world_user(1000), JOB_CANCEL, b.ids[2]);
		world_seal(w);
	} while (b.more);
	world_control(w, world_user(1000), JOB_RELEASE, b.ids[5]);
	assert_string_equal(world_state(w, b.ids[2]), "CANCELLED");
	assert_string_equal(world_state(w, b.ids[9]), "PENDING");
	world_restart(w);
	assert_string_equal(world_state(w, b.ids[9]), "PENDING");
	world_free(w);
}

/* A job with a long text counts as several: a slice has fewer jobs then. */
static void long_texts_weigh(void **state)
{
	static const size_t made[] = { 3, 4, 7, 10 };
	struct bulk_of b;
	struct world *w = begin(&b, 100);
	char after[1024];
	size_t len = 0;

	(void)state;
	world_submit(w, "");
	len += (size_t)snprintf(after, sizeof(after), "afterany:1");
	while (len < 600)
		len += (size_t)snprintf(after + len, sizeof(after) - len, ":1");
	b.jobs[3].depends = after;
	assert_int_equal(bulk_weight(&b.jobs[0]), 1);
	assert_int_equal(bulk_weight(&b.jobs[3]), 3);
	check_all(&b);
	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
		step(&b, BULK_MAKE);
		assert_int_equal(b.n_ids, made[i]);
		assert_int_equal(b.more, b.n_ids < JOBS);
	}
	step(&b, BULK_SHOW);
	step(&b, BULK_SHOW);
	assert_string_equal(world_state(w, b.ids[3]), "PENDING");
	assert_string_equal(world_state(w, b.ids[4]), "none");
	all_of(&b, BULK_SHOW);
	assert_int_equal(have(w), JOBS + 1);
	world_free(w);
}

/* --- refused --------------------------------------------------------------------------------- */

static void undone(struct bulk_of *b, const char *error, const char *text)
{
	assert_string_equal(error_name(b->error.code), error);
	if (!strstr(b->error.text, text))
		fail_msg("said: %s", b->error.text);
	all_of(b, BULK_UNDO);
	memset(&b->error, 0, sizeof(b->error));
	assert_int_equal(have(b->w), 0);
	world_seal(b->w);
}

/* One bad job, and there is nothing of the others: no id, no count, no nonce. */
static void refused(void **state)
{
	struct bulk_of b;
	struct world *w = begin(&b, JOBS);
	uint64_t id;

	(void)state;
	b.jobs[7].partition = "none";
	check_all(&b);
	undone(&b, "partition.unknown", "job 8 of the submit: --partition=none");
	b.jobs[7].partition = "";
	memcpy(b.jobs[9].nonce, b.jobs[0].nonce, sizeof(b.jobs[9].nonce));
	check_all(&b);
	undone(&b, "job.spec", "two jobs");
	b.jobs[9].nonce[15] = 1;
	b.jobs[9].array = "0-1";
	check_all(&b);
	undone(&b, "limit.partition.queued", "job 10 of the submit");
	b.jobs[9].array = "";
	check_all(&b);
	assert_int_equal(b.error.code, 0);
	all_of(&b, BULK_UNDO); /* who asked has gone */
	id = world_submit(w, "");
	assert_int_equal(id, 1);
	world_control(w, world_user(1000), JOB_CANCEL, id);
	world_pass(w, 10);
	check_all(&b);
	all_of(&b, BULK_MAKE);
	all_of(&b, BULK_SHOW);
	assert_int_equal(b.ids[0], id + 1);
	assert_int_equal(have(w), JOBS);
	world_free(w);
}

/* What it holds counts for others already, also in another configuration. */
static void counts_meanwhile(void **state)
{
	struct bulk_of b;
	struct world *w = begin(&b, JOBS);
	char text[sizeof(conf_text) + 16];
	struct submit_job again;

	(void)state;
	check_all(&b);
	again = world_job(w, "");
	assert_int_equal(world_submit_job(w, &again, 1000), 0);
	assert_string_equal(error_name(w->error.code), "limit.partition.queued");
	again = b.jobs[4];
	assert_int_equal(world_submit_job(w, &again, 1000), 0);
	assert_string_equal(error_name(w->error.code), "busy");
	snprintf(text, sizeof(text), conf_text, JOBS + 1);
	world_reconfigure(w, text);
	step(&b, BULK_MAKE);
	again = world_job(w, "");
	again.hold = true;
	assert_int_equal(world_submit_job(w, &again, 1000), JOBS + 1);
	again = world_job(w, "");
	assert_int_equal(world_submit_job(w, &again, 1000), 0);
	all_of(&b, BULK_MAKE);
	step(&b, BULK_SHOW);
	snprintf(text, sizeof(text), conf_text, JOBS + 2);
	world_reconfigure(w, text);
	all_of(&b, BULK_SHOW);
	assert_int_not_equal(world_submit_job(w, &again, 1000), 0);
	again = world_job(w, "");
	assert_int_equal(world_submit_job(w, &again, 1000), 0);
	world_free(w);
}

/* --- what they wait for ---------------------------------------------------------------------- */

/* The job that they name ends well and leaves memory before they have their places. */
static void what_they_wait_for_has_gone(void **state)
{
	struct bulk_of b;
	struct world *w = begin(&b, 100);
	char after[64];
	uint64_t on;

	(void)state;
	world_register_all(w);
	on = world_submit(w, "h100:1");
	world_run_starts(w, on);
	snprintf(after, sizeof(after), "afterok:%llu", (unsigned long long)on);
	for (int i = 0; i < JOBS; i++) {
		b.jobs[i].depends = after;
		b.jobs[i].hold = false;
	}
	b.jobs[1].kill_invalid = KILL_YES;
	snprintf(b.names[1], sizeof(b.names[1]), "not");
	check_all(&b);
	world_run_ends(w, on, 0);
	all_of(&b, BULK_MAKE);
	world_pass(w, 10);
	world_seal(w);
	assert_string_equal(world_state(w, on), "none");
	all_of(&b, BULK_SHOW);
	assert_string_equal(world_state(w, b.ids[0]), "CONFIGURING");
	assert_string_equal(world_state(w, b.ids[9]), "PENDING");
	assert_string_equal(world_reason(w, b.ids[9]), "Resources");
	world_restart(w);
	world_free(w);
}

/* Somebody who was the first of his name when they got their ids is behind them once they are
 * shown. */
static void before_one_that_could_start(void **state)
{
	struct bulk_of b;
	struct world *w = begin(&b, 100);
	struct submit_job job = world_job(w, "h100:1");
	struct job_view v;
	uint64_t id;

	(void)state;
	check_all(&b);
	all_of(&b, BULK_MAKE);
	job.name = b.names[0];
	job.depends = "singleton";
	id = world_submit_job(w, &job, 1000);
	assert_true(id > b.ids[0] && core_job_view(w->core, id, w->now, &v));
	assert_string_not_equal(v.reason, "Dependency");
	all_of(&b, BULK_SHOW);
	assert_true(core_job_view(w->core, id, w->now, &v));
	assert_string_equal(v.reason, "Dependency");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crash_anywhere),
		cmocka_unit_test(others_in_between),
		cmocka_unit_test(long_texts_weigh),
		cmocka_unit_test(before_one_that_could_start),
		cmocka_unit_test(refused),
		cmocka_unit_test(counts_meanwhile),
		cmocka_unit_test(what_they_wait_for_has_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
