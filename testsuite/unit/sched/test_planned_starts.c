/* test_planned_starts.c - planned starts: ctld/core/sched/planned_starts.c, blocked_search.c and
 * reservations_ahead_changed.c
 *
 * A world makes jobs that wait; the functions of the planner are called on its scheduler.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/rows/state.h"
#include "ctld/core/sched/earliest_start.h"
#include "ctld/core/sched/sched_impl.h"
#include "testsuite/unit/lib/core_world.h"

#define HOUR ((usec_t)3600 * 1000000)

/* Two nodes of 8 GPUs; the best two blocked classes get a planned start. */
static const char conf[] =
        "cluster = \"test\"; controller = { host = \"h\"; node_timeout = \"1d\"; };\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
        "nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:8\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; plan_depth = 2; } "
        ");\n";

struct scene {
	struct world *w;
	struct sched *s;
	uint64_t runs[2]; /* each has a node */
};

static uint64_t submit(struct scene *sc, const char *gpus, uint32_t hours, int32_t nice)
{
	struct submit_job job = world_job(sc->w, gpus);
	uint64_t id;

	job.time_limit_s = hours * 3600;
	job.nice = nice;
	id = world_submit_job(sc->w, &job, 1000);
	assert_true(id > 0);
	return id;
}

static int setup(void **state)
{
	static struct scene sc;
	unsigned i;

	sc = (struct scene){ .w = world_new(conf) };
	sc.w->unchecked = true; /* what is done to the planner here is not done to the rest */
	world_register_all(sc.w);
	sc.s = sc.w->core->sched;
	for (i = 0; i < 2; i++) {
		sc.runs[i] = submit(&sc, "h100:8", 1 + i, 0);
		world_run_starts(sc.w, sc.runs[i]);
	}
	*state = &sc;
	return 0;
}

static int teardown(void **state)
{
	world_free(((struct scene *)*state)->w);
	return 0;
}

static struct class *class_of(struct scene *sc, uint64_t id)
{
	return job_link(jobs_find(sc->w->core->jobs, id))->queued.class;
}

static struct class_link *link_of(struct scene *sc, uint64_t id)
{
	return class_link(class_of(sc, id));
}

/* --- which classes have one ------------------------------------------------------------------ */

static void the_best_have_a_planned_start(void **state)
{
	struct scene *sc = *state;
	uint64_t first = submit(sc, "h100:8", 1, 10), second = submit(sc, "h100:8", 1, 20);
	uint64_t third = submit(sc, "h100:8", 1, 30);
	const struct reservation *r = link_of(sc, first)->reservation;
	struct class *out = NULL;

	assert_non_null(r);
	assert_int_equal(r->places.v[0].node, world_node_of(sc->w, sc->runs[0]));
	assert_true(r->start > sc->s->view.now.mono + HOUR - HOUR / 60);
	assert_non_null(link_of(sc, second)->reservation);
	assert_null(link_of(sc, third)->reservation);
	assert_false(planner_has_room(sc->s, class_of(sc, third), &out));
	/* A better class takes the place of the worst. */
	link_of(sc, third)->key.b = 0;
	assert_true(planner_has_room(sc->s, class_of(sc, third), &out));
	assert_ptr_equal(out, class_of(sc, second));
	planner_drop(sc->s, class_of(sc, first), 0);
	assert_true(planner_has_room(sc->s, class_of(sc, third), &out));
	assert_null(out);
}

static void a_better_class_takes_the_place(void **state)
{
	struct scene *sc = *state;
	uint64_t first = submit(sc, "h100:8", 1, 10), second = submit(sc, "h100:8", 1, 20);
	uint64_t best = submit(sc, "h100:8", 1, 0);

	assert_non_null(link_of(sc, best)->reservation);
	assert_non_null(link_of(sc, first)->reservation);
	assert_null(link_of(sc, second)->reservation);
	assert_string_equal(link_of(sc, second)->broken, "Priority");
	assert_int_equal(link_of(sc, second)->broken_by, best);
}

/* --- what ends one --------------------------------------------------------------------------- */

static void what_is_broken_keeps_its_cause(void **state)
{
	struct scene *sc = *state;
	uint64_t id = submit(sc, "h100:8", 1, 10);
	struct class_link *l = link_of(sc, id);
	uint64_t broken = sc->s->stats.broken;

	planner_break(sc->s, class_of(sc, id), "a node was lost", 7);
	assert_null(l->reservation);
	assert_string_equal(l->broken, "a node was lost");
	assert_int_equal(l->broken_by, 7);
	assert_int_equal(sc->s->stats.broken, broken + 1);
	assert_int_equal(plan_count(sc->s->view.plan), 0);
	/* With the next one it is the cause of that. */
	wake(sc->s, class_of(sc, id));
	world_schedule(sc->w);
	assert_non_null(l->reservation);
	assert_null(l->broken);
	assert_string_equal(l->cause, "a node was lost");
	assert_int_equal(l->cause_job, 7);
	assert_int_equal(sc->s->stats.unexplained, 0);
}

static void a_dropped_one_leaves_no_cause(void **state)
{
	struct scene *sc = *state;
	uint64_t id = submit(sc, "h100:8", 1, 10);

	planner_drop(sc->s, class_of(sc, id), 0);
	assert_null(link_of(sc, id)->reservation);
	assert_null(link_of(sc, id)->broken);
	planner_drop(sc->s, class_of(sc, id), 0); /* it has none: nothing happens */
}

static void a_closed_limit_ends_it(void **state)
{
	struct scene *sc = *state;
	uint64_t id = submit(sc, "h100:8", 1, 10);
	struct class_link *l = link_of(sc, id);

	planner_close(sc->s, class_of(sc, id));
	assert_non_null(l->reservation);
	l->last = (struct decision){ .verdict = VERDICT_LIMIT, .limit = { .reason = "Licenses" } };
	planner_close(sc->s, class_of(sc, id));
	assert_null(l->reservation);
	assert_string_equal(l->broken, "Licenses");
}

/* A reservation that has no room any more is broken, and its class is tried. */
static void what_has_no_room_is_broken(void **state)
{
	struct scene *sc = *state;
	uint64_t id = submit(sc, "h100:8", 1, 10);
	uint32_t node = world_node_of(sc->w, sc->runs[0]);

	planner_recheck(sc->s, node, "lost", 0);
	assert_non_null(link_of(sc, id)->reservation);
	ledger_accept(sc->s->view.ledger, node, false);
	plan_node_changed(sc->s->view.plan, node);
	planner_recheck(sc->s, node, "lost", 3);
	assert_null(link_of(sc, id)->reservation);
	assert_string_equal(link_of(sc, id)->broken, "lost");
	assert_true(class_ready(class_of(sc, id)));
	ledger_accept(sc->s->view.ledger, node, true);
	plan_node_changed(sc->s->view.plan, node);
}

static void a_late_start_without_a_cause_is_counted(void **state)
{
	struct scene *sc = *state;
	uint64_t id = submit(sc, "h100:8", 1, 10);
	struct class_link *l = link_of(sc, id);
	struct candidate who = sched_candidate(sc->s, class_of(sc, id));
	struct plan_want want = planner_want(sc->s, &who);
	struct reservation found;

	assert_true(decide_later(&sc->s->view, &who, &want, &found));
	planner_drop(sc->s, class_of(sc, id), 0);
	l->planned = found.start - 2 * 1000000;
	planner_enter(sc->s, class_of(sc, id), &want, &found);
	assert_int_equal(sc->s->stats.unexplained, 1);
	assert_non_null(l->reservation);
	assert_int_equal(l->planned, l->reservation->start);
}

/* --- what stands before a key ---------------------------------------------------------------- */

static void other_starts_before_it_are_noticed(void **state)
{
	struct scene *sc = *state;
	uint64_t first = submit(sc, "h100:8", 1, 10), second = submit(sc, "h100:8", 1, 20);
	struct heap_key before = link_of(sc, first)->key, after = link_of(sc, second)->key;
	uint64_t both, one;

	before.b--;
	after.b++;
	assert_int_equal(ahead_of(sc->s, before), 0);
	both = ahead_of(sc->s, after);
	one = ahead_of(sc->s, link_of(sc, second)->key);
	assert_int_equal(one, ahead_of(sc->s, (struct heap_key){ before.a, before.b + 2 }));
	assert_true(one && both && one != both);
	/* One of them comes to stand behind: seen once that was said. */
	link_of(sc, first)->reservation->key.b = after.b + 1;
	ahead_changed(sc->s);
	assert_int_equal(ahead_of(sc->s, after), both - one);
	link_of(sc, first)->reservation->preempts = true; /* that stands before all */
	ahead_changed(sc->s);
	assert_int_equal(ahead_of(sc->s, before), one);
	link_of(sc, first)->reservation->preempts = false;
	planner_drop(sc->s, class_of(sc, first), 0); /* the plan itself says what comes and goes */
	assert_int_equal(ahead_of(sc->s, after), both - one);
}

static void a_class_is_woken_if_others_stand_before_it(void **state)
{
	struct scene *sc = *state;
	uint64_t first = submit(sc, "h100:8", 9, 10), second = submit(sc, "h100:8", 9, 20);
	struct class *class = class_of(sc, second);
	struct class_link *l = class_link(class);

	assert_non_null(link_of(sc, first)->reservation);
	l->last.planned = true;
	l->ahead = ahead_of(sc->s, l->key);
	planner_wake_if_risen(sc->s, class);
	assert_false(class_ready(class));
	planner_drop(sc->s, class_of(sc, first), 0);
	l->last.planned = false; /* it was not held back by any */
	planner_wake_if_risen(sc->s, class);
	assert_false(class_ready(class));
	l->last.planned = true;
	planner_wake_if_risen(sc->s, class);
	assert_true(class_ready(class));
}

/* --- searches -------------------------------------------------------------------------------- */

static void a_search_has_one_class(void **state)
{
	struct scene *sc = *state;
	uint64_t first = submit(sc, "h100:8", 1, 10), second = submit(sc, "h100:8", 1, 20);
	struct class *a = class_of(sc, first), *b = class_of(sc, second);

	planner_drop(sc->s, a, 0);
	planner_drop(sc->s, b, 0);
	sched_search_step(sc->s, 0);
	assert_int_equal(search_start(sc->s, a), PLAN_MORE);
	assert_ptr_equal(search_class(sc->s), a);
	assert_true(search_planning(sc->s, a));
	assert_false(search_planning(sc->s, b));
	/* Another class takes over, and the first is tried again. */
	assert_int_equal(search_start(sc->s, b), PLAN_MORE);
	assert_ptr_equal(search_class(sc->s), b);
	assert_true(class_ready(a));
	search_end(sc->s, a);
	assert_ptr_equal(search_class(sc->s), b);
	search_end(sc->s, b);
	assert_null(search_class(sc->s));
	sched_search_step(sc->s, SEARCH_STEP);
	assert_int_equal(search_start(sc->s, b), PLAN_FOUND);
	assert_non_null(class_link(b)->reservation);
	assert_int_equal(search_start(sc->s, b), PLAN_NOWHERE); /* it has one */
}

static void a_retry_is_due_at_the_earliest(void **state)
{
	struct scene *sc = *state;
	uint64_t first = submit(sc, "h100:8", 1, 10), second = submit(sc, "h100:8", 1, 20);

	sc->s->retry = INT64_MAX;
	planner_retry_at(sc->s, class_of(sc, first), 500);
	planner_retry_at(sc->s, class_of(sc, second), 900);
	assert_int_equal(sc->s->retry, 500);
	assert_int_equal(link_of(sc, second)->retry, 900);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_best_have_a_planned_start),
		TEST(a_better_class_takes_the_place),
		TEST(what_is_broken_keeps_its_cause),
		TEST(a_dropped_one_leaves_no_cause),
		TEST(a_closed_limit_ends_it),
		TEST(what_has_no_room_is_broken),
		TEST(a_late_start_without_a_cause_is_counted),
		TEST(other_starts_before_it_are_noticed),
		TEST(a_class_is_woken_if_others_stand_before_it),
		TEST(a_search_has_one_class),
		TEST(a_retry_is_due_at_the_earliest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
