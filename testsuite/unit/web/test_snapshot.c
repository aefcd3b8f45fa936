/* test_snapshot.c - snapshots: what they share, and what goes with which */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cmds/web/metrics/counters.h"
#include "common/net/msgjson.h"
#include "testsuite/unit/web/web_fixture.h"

struct fixture {
	struct snapshots *s;
	struct snapshot_texts *texts;
	unsigned made;
};

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->s = snapshots_new();
	f->texts = snapshot_texts_new();
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	snapshots_free(f->s);
	snapshot_texts_free(f->texts);
	free(f);
	return 0;
}

static void none_at_first(void **state)
{
	struct fixture *f = *state;
	char why[64];

	assert_null(snapshot_get(f->s));
	assert_false(snapshots_health(f->s, why, sizeof(why)));
	assert_string_not_equal(why, "");
	snapshots_tell(f->s, "");
	assert_true(snapshots_health(f->s, why, sizeof(why)));
}

static void a_job_is_whole(void **state)
{
	struct fixture *f = *state;
	struct snapshot_draft d = { .cursor = 7 };
	struct job_like like = { .id = 3, .name = "a <b>", .gpus = 2, .partition = "p,batch" };
	struct snapshot *snap;
	const struct snapshot_job *job;
	Gpusched__Job *m;

	fixture_publish(f->s, f->texts, &d, &like, 1);
	snap = snapshot_get(f->s);
	assert_int_equal(snap->cursor, 7);
	assert_string_equal(snap->cluster, "test");
	job = snapshot_job(snap, 3);
	assert_non_null(job);
	assert_string_equal(job->name, "a <b>");
	assert_string_equal(job->request->first_partition, "p");
	assert_true(job->status->waits && !job->status->runs && !job->status->ended);
	assert_int_equal(job->gpus, 2);
	m = snapshot_job_unpack(snap, job);
	assert_string_equal(m->partition, "p,batch");
	gpusched__job__free_unpacked(m, NULL);
	assert_null(snapshot_job(snap, 4));
	snapshot_put(snap);
}

/* An older snapshot has its jobs as they were, as long as it is held. */
static void older_ones_stay(void **state)
{
	struct fixture *f = *state;
	struct job_like likes[] = { { .id = 1 }, { .id = 2 }, { .id = 3 } };
	struct job_like later = { .id = 2, .state = "RUNNING", .held = 1, .start_time = 5 };
	struct snapshot *old, *mid, *now;

	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ 0 }, likes, 3);
	old = snapshot_get(f->s);
	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ 0 }, &later, 1);
	mid = snapshot_get(f->s);
	fixture_publish(
	        f->s, f->texts, &(struct snapshot_draft){ .all = true, .fresh = true }, likes, 1);
	now = snapshot_get(f->s);
	assert_int_equal(old->n_jobs, 3);
	assert_string_equal(snapshot_job(old, 2)->status->state, "PENDING");
	assert_string_equal(snapshot_job(mid, 2)->status->state, "RUNNING");
	assert_ptr_equal(snapshot_job(old, 1), snapshot_job(mid, 1)); /* shared */
	assert_int_equal(now->n_jobs, 1);
	assert_int_equal(mid->serial, old->serial + 1);
	/* In any order; under a sanitizer this says what is freed too early, or never. */
	snapshot_put(mid);
	assert_string_equal(snapshot_job(old, 3)->status->state, "PENDING");
	snapshot_put(old);
	snapshot_put(now);
}

/* A message in which each field says something. */
static void fill(Gpusched__Job *m)
{
	static uint32_t numbers[] = { 3, 4 };
	static char *texts[] = { (char *)"x" };
	const ProtobufCMessageDescriptor *d = m->base.descriptor;

	for (unsigned i = 0; i < d->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &d->fields[i];
		char *at = (char *)m + f->offset;

		if (f->label == PROTOBUF_C_LABEL_REPEATED) {
			if (f->type == PROTOBUF_C_TYPE_MESSAGE)
				continue;
			*(size_t *)(void *)((char *)m + f->quantifier_offset) = 1;
			*(void **)(void *)at =
			        f->type == PROTOBUF_C_TYPE_STRING ? (void *)texts : (void *)numbers;
		} else if (f->type == PROTOBUF_C_TYPE_STRING) {
			*(const char **)(void *)at = f->name;
		} else if (f->type == PROTOBUF_C_TYPE_UINT64 || f->type == PROTOBUF_C_TYPE_INT64) {
			*(int64_t *)(void *)at = i + 1;
		} else if (f->type == PROTOBUF_C_TYPE_DOUBLE) {
			*(double *)(void *)at = 0.5;
		} else {
			*(uint32_t *)(void *)at = f->type == PROTOBUF_C_TYPE_BOOL ? 1 : i + 1;
		}
	}
}

/* What is taken apart is the same when it is put together. */
static void no_field_is_lost(void **state)
{
	struct fixture *f = *state;
	Gpusched__Job m = GPUSCHED__JOB__INIT, *again;
	Gpusched__GpuCount gpus = GPUSCHED__GPU_COUNT__INIT, *counts[] = { &gpus };
	Gpusched__JobRun run = GPUSCHED__JOB_RUN__INIT, *runs[] = { &run };
	struct snapshot_job *job;
	json_t *before, *after;
	char *want, *got;

	fill(&m);
	m.gpus = counts;
	m.n_gpus = 1;
	m.runs = runs;
	m.n_runs = 1;
	job = snapshot_job_new(&m, f->texts);
	again = snapshot_job_unpack(NULL, job);
	assert_non_null(again);
	before = msgjson(&m.base, 0);
	after = msgjson(&again->base, 0);
	want = json_dumps(before, JSON_INDENT(1));
	got = json_dumps(after, JSON_INDENT(1));
	assert_string_equal(got, want);
	json_decref(before);
	json_decref(after);
	free(want);
	free(got);
	gpusched__job__free_unpacked(again, NULL);
	snapshot_job_free(job);
}

/* How long it could have started grows while it waits, and is no change of the job. */
static void eligible_time_goes_on(void **state)
{
	struct fixture *f = *state;
	struct job_like like = { .id = 1, .eligible_time = 5000000, .eligible_s = 2 };
	struct snapshot_draft d = { .taken_us = 7000000 };
	struct snapshot *one, *two;
	Gpusched__Job *m;

	fixture_publish(f->s, f->texts, &d, &like, 1);
	one = snapshot_get(f->s);
	like.eligible_s = 9;
	d = (struct snapshot_draft){ .taken_us = 14000000 };
	fixture_publish(f->s, f->texts, &d, &like, 1);
	two = snapshot_get(f->s);
	assert_ptr_equal(one->jobs[0], two->jobs[0]);
	m = snapshot_job_unpack(two, two->jobs[0]);
	assert_int_equal(m->eligible_s, 9);
	gpusched__job__free_unpacked(m, NULL);
	snapshot_put(one);
	snapshot_put(two);
}

/* Records that say the same are the old ones; of a job with another place request and status are. */
static void equal_records_are_shared(void **state)
{
	struct fixture *f = *state;
	struct job_like likes[] = { { .id = 1, .position = 1 }, { .id = 2, .position = 2 },
		{ .id = 3, .position = 3, .user = "li" } };
	struct snapshot *one, *two;

	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ 0 }, likes, 3);
	one = snapshot_get(f->s);
	likes[1].position = 4;
	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ .all = true }, likes, 3);
	two = snapshot_get(f->s);
	assert_ptr_equal(one->jobs[0], two->jobs[0]);
	assert_ptr_equal(one->jobs[2], two->jobs[2]);
	assert_ptr_not_equal(one->jobs[1], two->jobs[1]);
	assert_ptr_equal(one->jobs[1]->request, two->jobs[1]->request);
	assert_ptr_equal(one->jobs[1]->status, two->jobs[1]->status);
	assert_ptr_equal(one->jobs[0]->request, one->jobs[1]->request);
	assert_ptr_not_equal(one->jobs[0]->request, one->jobs[2]->request);
	assert_ptr_equal(one->jobs[0]->status, one->jobs[2]->status);
	assert_int_equal(two->deltas[two->n_deltas - 1]->n_jobs, 1);
	snapshot_put(one);
	snapshot_put(two);
}

/* Where very many jobs have another place, those that are new, ended, gone or requeued are named. */
static void long_deltas(void **state)
{
	enum { MANY = SNAPSHOT_CHANGES_MAX + 4 };
	static struct job_like likes[MANY];
	const int64_t now = INT64_C(1000000000);
	struct snapshot_draft d = { .taken_us = now };
	struct fixture *f = *state;
	const struct snapshot_delta *delta;
	struct snapshot *snap;

	for (uint64_t i = 0; i < MANY; i++)
		likes[i] = (struct job_like){ .id = i + 1, .position = 1, .submit_time = 1 };
	likes[2].state = "RUNNING";
	fixture_publish(f->s, f->texts, &d, likes, MANY - 1);
	for (uint64_t i = 0; i < MANY; i++)
		likes[i].position = 2;
	likes[2].state = NULL; /* requeued: it waits again */
	likes[1].state = "COMPLETED";
	likes[1].end_time = now;
	likes[MANY - 1].submit_time = now - 1000000;
	d = (struct snapshot_draft){ .taken_us = now, .all = true };
	fixture_publish(f->s, f->texts, &d, likes + 1, MANY - 1);
	snap = snapshot_get(f->s);
	delta = snap->deltas[snap->n_deltas - 1];
	assert_true(delta->more);
	assert_int_equal(delta->n_jobs, 4);
	assert_int_equal(delta->jobs[0].id, 1); /* gone */
	assert_int_equal(delta->jobs[1].id, 2);
	assert_int_equal(delta->jobs[2].id, 3);
	assert_int_equal(delta->jobs[3].id, MANY);
	assert_int_equal(snapshot_behind(snap, (struct snapshot_key){ 2, 2 }), 1);
	assert_int_equal(
	        snapshot_behind(snap, (struct snapshot_key){ MANY, UINT64_MAX }), snap->n_jobs);
	snapshot_put(snap);
}

static void not_the_newest_yet(const struct snapshot *made, void *arg)
{
	struct fixture *f = arg;
	struct snapshot *newest = snapshot_get(f->s);

	assert_int_equal(newest->serial + 1, made->serial);
	assert_non_null(snapshot_job(made, 2));
	snapshot_put(newest);
	f->made++;
}

/* A page that each scrape wants is there before the snapshot is: else a scrape would make it. */
static void what_is_made_comes_first(void **state)
{
	struct fixture *f = *state;
	struct job_like likes[] = { { .id = 1 }, { .id = 2 } };

	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ 0 }, likes, 1);
	fixture_publish(f->s, f->texts,
	        &(struct snapshot_draft){ .made = not_the_newest_yet, .arg = f }, likes + 1, 1);
	assert_int_equal(f->made, 1);
}

static void note_delta(const struct snapshot_delta *delta, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%s", delta->fresh ? "fresh" : "");
	for (size_t i = 0; i < delta->n_jobs; i++)
		sprintf(text + strlen(text), "%s%d", i ? "," : "", (int)delta->jobs[i].id);
	strcat(text, ";");
}

/* Calls `each` with each delta behind `serial`, oldest first, as events.c walks them. False: that is
 * longer ago than is known. */
static bool since(const struct snapshot *snap, uint64_t serial,
        void (*each)(const struct snapshot_delta *delta, void *arg), void *arg)
{
	uint64_t first = snap->n_deltas ? snap->deltas[0]->serial : snap->serial;

	if (serial > snap->serial || serial + 1 < first)
		return false;
	for (size_t i = 0; i < snap->n_deltas; i++)
		if (snap->deltas[i]->serial > serial)
			each(snap->deltas[i], arg);
	return true;
}

static void changes_are_told(void **state)
{
	struct fixture *f = *state;
	struct job_like likes[] = { { .id = 1 }, { .id = 2 }, { .id = 2, .state = "RUNNING" } };
	struct job_like other = { .id = 1, .reason = "Priority" };
	struct snapshot *first, *snap;
	char text[4096] = "";

	fixture_publish(
	        f->s, f->texts, &(struct snapshot_draft){ .all = true, .fresh = true }, likes, 1);
	first = snapshot_get(f->s);
	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ 0 }, likes + 1, 2);
	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ 0 }, likes, 1); /* the same */
	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ 0 }, &other, 1);
	snap = snapshot_get(f->s);
	assert_string_equal(
	        snapshot_job(snap, 2)->status->state, "RUNNING"); /* the later of two alike */
	assert_true(since(snap, first->serial, note_delta, text));
	assert_string_equal(text, "2;;1;");
	assert_true(since(snap, snap->serial, note_delta, text));
	assert_string_equal(text, "2;;1;");
	assert_false(since(snap, snap->serial + 1, note_delta, text));
	snapshot_put(snap);
	for (int i = 0; i < SNAPSHOT_DELTAS; i++)
		fixture_publish(f->s, f->texts, &(struct snapshot_draft){ 0 }, likes, 1);
	snap = snapshot_get(f->s);
	assert_false(since(snap, first->serial, note_delta, text));
	assert_true(since(snap, snap->serial - SNAPSHOT_DELTAS, note_delta, text));
	snapshot_put(snap);
	snapshot_put(first);
}

/* Of an array the records of waiting tasks are listed anew, and tasks of their own stay. */
static void arrays(void **state)
{
	struct fixture *f = *state;
	struct job_like before[] = {
		{ .id = 5, .tasks = "0-9", .several = true, .task_count = 10 },
		{ .id = 6 },
	};
	struct job_like after[] = {
		{ .id = 5, .tasks = "1-9", .several = true, .task_count = 9 },
		{ .id = 5, .raw_id = 17, .tasks = "0", .state = "RUNNING", .held = 1 },
	};
	const uint64_t array = 5;
	struct snapshot *snap;
	size_t n;

	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ 0 }, before, 2);
	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ .arrays = &array, .n_arrays = 1 },
	        after, 2);
	snap = snapshot_get(f->s);
	assert_int_equal(snap->n_jobs, 3);
	assert_non_null(snapshot_records(snap, 5, &n));
	assert_int_equal(n, 2);
	assert_string_equal(snapshot_job(snap, 17)->tasks, "0");
	assert_non_null(snapshot_keyed(snap, (struct snapshot_key){ 5, 17 }, &n));
	assert_int_equal(n, 1);
	assert_null(snapshot_records(snap, 7, &n));
	snapshot_put(snap);
	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ .arrays = &array, .n_arrays = 1 },
	        NULL, 0);
	snap = snapshot_get(f->s);
	assert_int_equal(snap->n_jobs, 2);
	assert_int_equal(snapshot_job(snap, 5)->raw_id, 17);
	snapshot_put(snap);
}

static void ended_ones_go(void **state)
{
	struct fixture *f = *state;
	struct job_like likes[6];
	struct snapshot *snap;

	for (int i = 0; i < 6; i++)
		likes[i] = (struct job_like){
			.id = (uint64_t)i + 1, .state = "COMPLETED", .end_time = 100 + i
		};
	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ .ended_max = 4 }, likes, 6);
	snap = snapshot_get(f->s);
	assert_int_equal(snap->n_jobs, 4);
	assert_int_equal(snap->jobs[0]->id, 3);
	snapshot_put(snap);
	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ .ended_since = 104 }, NULL, 0);
	snap = snapshot_get(f->s);
	assert_int_equal(snap->n_jobs, 2);
	assert_int_equal(snap->deltas[snap->n_deltas - 1]->n_jobs, 2);
	snapshot_put(snap);
}

static void lists_are_shared(void **state)
{
	struct fixture *f = *state;
	Gpusched__Partition p = GPUSCHED__PARTITION__INIT;
	struct snapshot_draft d = { 0 };
	struct snapshot *one, *two, *three;

	p.name = (char *)"batch";
	d.lists[LIST_PARTITIONS] = messages_new();
	messages_add(d.lists[LIST_PARTITIONS], &p.base);
	fixture_publish(f->s, f->texts, &d, NULL, 0);
	one = snapshot_get(f->s);
	assert_non_null(snapshot_partition(one, "batch"));
	d = (struct snapshot_draft){ 0 };
	d.lists[LIST_PARTITIONS] = messages_new();
	messages_add(d.lists[LIST_PARTITIONS], &p.base);
	fixture_publish(f->s, f->texts, &d, NULL, 0);
	two = snapshot_get(f->s);
	assert_ptr_equal(one->partitions, two->partitions); /* the same was said again */
	assert_int_equal(two->deltas[two->n_deltas - 1]->lists, 0);
	p.jobs_pending = 1;
	d = (struct snapshot_draft){ 0 };
	d.lists[LIST_PARTITIONS] = messages_new();
	messages_add(d.lists[LIST_PARTITIONS], &p.base);
	fixture_publish(f->s, f->texts, &d, NULL, 0);
	three = snapshot_get(f->s);
	assert_int_equal(snapshot_partition(one, "batch")->jobs_pending, 0);
	assert_int_equal(snapshot_partition(three, "batch")->jobs_pending, 1);
	assert_int_equal(three->deltas[three->n_deltas - 1]->lists, 1U << LIST_PARTITIONS);
	snapshot_put(one);
	snapshot_put(two);
	snapshot_put(three);
}

/* A job's texts are kept once for all, and there is an end to it. */
static void texts_are_bounded(void **state)
{
	struct fixture *f = *state;
	char text[32];

	assert_ptr_equal(snapshot_text(f->texts, "ana"), snapshot_text(f->texts, "ana"));
	for (int i = 0; i < SNAPSHOT_TEXTS_MAX; i++) {
		snprintf(text, sizeof(text), "t%d", i);
		snapshot_text(f->texts, text);
	}
	assert_string_equal(snapshot_text(f->texts, "one more"), "(other)");
	assert_string_equal(snapshot_text(f->texts, "ana"), "ana");
}

/* --- totals ----------------------------------------------------------------------------------- */

static void starts_and_ends(void **state)
{
	struct fixture *f = *state;
	struct counters *t = counters_new(f->texts);
	struct snapshot_job *waits = fixture_job(f->texts,
	        &(struct job_like){ .id = 1, .eligible_time = 1000000, .wait_target_s = 60 });
	struct snapshot_job *runs = fixture_job(f->texts, &(struct job_like){ .id = 1,
	                                                          .state = "RUNNING",
	                                                          .held = 1,
	                                                          .eligible_time = 1000000,
	                                                          .start_time = 101000000,
	                                                          .wait_target_s = 60 });
	struct snapshot_job *ends = fixture_job(f->texts, &(struct job_like){ .id = 1,
	                                                          .state = "COMPLETED",
	                                                          .eligible_time = 1000000,
	                                                          .start_time = 101000000,
	                                                          .end_time = 102000000,
	                                                          .wait_target_s = 60 });
	struct counters *copy;

	counters_job(t, NULL, waits);
	assert_int_equal(t->n_waits, 0);
	counters_job(t, waits, runs);
	counters_job(t, runs, runs);
	assert_int_equal(t->n_waits, 1);
	assert_int_equal(t->waits[0].count, 1);
	assert_true(t->waits[0].sum > 99.9 && t->waits[0].sum < 100.1);
	assert_int_equal(t->waits[0].buckets[4], 1); /* 60 to 300 s */
	assert_int_equal(t->in_target.n, 1);
	assert_string_equal(t->in_target.v[0].b, "no");
	copy = counters_copy(t);
	counters_job(t, runs, ends);
	counters_job(t, ends, ends);
	assert_int_equal(t->ended.n, 1);
	assert_true(t->ended.v[0].n > 0.5 && t->ended.v[0].n < 1.5);
	assert_int_equal(copy->ended.n, 0);
	counters_job(t, NULL, ends); /* started and ended between two snapshots */
	assert_int_equal(t->waits[0].count, 2);
	counters_job(t, runs, waits);
	assert_int_equal(t->requeued.n, 1);
	counters_free(copy);
	counters_free(t);
	snapshot_job_free(waits);
	snapshot_job_free(runs);
	snapshot_job_free(ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(none_at_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_job_is_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(older_ones_stay, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_field_is_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(eligible_time_goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(equal_records_are_shared, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_deltas, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_made_comes_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(changes_are_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(arrays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ended_ones_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lists_are_shared, set_up, tear_down),
		cmocka_unit_test_setup_teardown(texts_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(starts_and_ends, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
