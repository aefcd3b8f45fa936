/* test_rest.c - what a query chooses, events for many streams, that streams end, Slurm's list of
 * jobs, and the OpenAPI document */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

#include "cmds/web/http_impl.h"
#include "cmds/web/pages/change_events.h"
#include "cmds/web/rest/events.h"
#include "cmds/web/rest/openapi.h"
#include "cmds/web/rest/rest.h"
#include "cmds/web/rest/rest_query.h"
#include "cmds/web/rest/slurmrest_impl.h"
#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/web/web_fixture.h"

/* So much later is it than it is. */
static int64_t later_s;

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	int rc = __real_clock_gettime(clock, t);

	t->tv_sec += later_s;
	return rc;
}

/* --- queries ---------------------------------------------------------------------------------- */

/* A request with that query, without a server. */
struct asked {
	struct http_call call;
	struct http_request r;
};

static struct asked *ask(const char *target)
{
	struct asked *a = xcalloc(1, sizeof(*a));

	assert_true(http_query_read(target, &a->call.query));
	a->r = (struct http_request){ .call = &a->call, .viewer = viewer_nobody(false, false) };
	return a;
}

static void done(struct asked *a)
{
	http_query_free(&a->call.query);
	free(a);
}

static int code_of(const char *target, unsigned allowed)
{
	struct error err = { .code = ERR_NONE };
	struct asked *a = ask(target);
	struct rest_query q;

	if (rest_query_read(&a->r, allowed, &q, &err) == 0)
		rest_query_clear(&q);
	done(a);
	return err.code;
}

static void queries(void **state)
{
	static const char *const wrong[] = { "/?state=WHAT", "/?user=", "/?user=a,,b", "/?limit=0",
		"/?limit=1001", "/?limit=-1", "/?limit=1x", "/?ids=0x1", "/?ids=", "/?node=n[1-",
		"/?stat=R", "/?user=a&user=b", "/?after=99999999999999999999", "/?since=1&x=2" };
	unsigned all = REST_JOBS | REST_PAGE | REST_SINCE | REST_CURSOR;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (code_of(wrong[i], all) != ERR_USAGE)
			fail_msg("%s", wrong[i]);
	assert_int_equal(code_of("/", 0), 0);
	assert_int_equal(code_of("/?state=R,PD,all&user=a,b&limit=1000&after=0", all), 0);
	assert_int_equal(code_of("/?cursor=18446744073709551615&since=1700000000", all), 0);
	assert_int_equal(code_of("/?user=a", REST_PARTITION), ERR_USAGE); /* not here */
}

struct fixture {
	struct snapshots *s;
	struct snapshot_texts *texts;
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

static const struct job_like likes[] = {
	{ .id = 1, .user = "ana", .account = "red", .name = "a" },
	{ .id = 2, .user = "bob", .account = "blue", .name = "b", .partition = "p,q" },
	{ .id = 3,
	        .user = "ana",
	        .account = "red",
	        .name = "b",
	        .state = "RUNNING",
	        .start_time = 5 },
	{ .id = 4,
	        .user = "bob",
	        .account = "lab",
	        .name = "c",
	        .state = "COMPLETED",
	        .start_time = 5,
	        .end_time = 6 },
};

/* lab, and red below it; blue beside them. */
static struct messages *shares(void)
{
	static const struct {
		const char *account;
		uint32_t depth;
	} v[] = { { "lab", 0 }, { "red", 1 }, { "blue", 0 } };
	struct messages *m = messages_new();
	Gpusched__Share s;

	for (size_t i = 0; i < 3; i++) {
		gpusched__share__init(&s);
		s.account = fixture_text(v[i].account, "");
		s.depth = v[i].depth;
		messages_add(m, &s.base);
	}
	return m;
}

static int64_t taken_us = 1;

static void publish(struct fixture *f, const struct job_like *jobs, size_t n, uint64_t cursor)
{
	struct snapshot_draft d = { .cursor = cursor, .taken_us = taken_us };

	d.lists[LIST_SHARES] = shares();
	fixture_publish(f->s, f->texts, &d, jobs, n);
}

static void chosen(struct fixture *f, const char *target, const char *want)
{
	struct snapshot *snap = snapshot_get(f->s);
	struct asked *a = ask(target);
	struct rest_query q;
	struct error err;
	char got[64] = "";

	assert_int_equal(rest_query_read(&a->r, REST_JOBS, &q, &err), 0);
	rest_query_bind(&q, snap);
	for (size_t i = 0; i < snap->n_jobs; i++)
		if (rest_query_has(&q, snap->jobs[i]))
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%d",
			        *got ? " " : "", (int)snap->jobs[i]->id);
	if (strcmp(got, want) != 0)
		fail_msg("%s: %s, not %s", target, got, want);
	rest_query_clear(&q);
	done(a);
	snapshot_put(snap);
}

static void what_a_query_chooses(void **state)
{
	struct fixture *f = *state;

	publish(f, likes, 4, 1);
	chosen(f, "/", "1 2 3");
	chosen(f, "/?state=all", "1 2 3 4");
	chosen(f, "/?state=R", "3");
	chosen(f, "/?state=CD,PD", "1 2 4");
	chosen(f, "/?user=ana", "1 3");
	chosen(f, "/?user=ana,bob&name=b", "2 3");
	chosen(f, "/?partition=q", "2");
	chosen(f, "/?partition=p,batch", "1 2 3");
	chosen(f, "/?account=lab&state=all", "1 3 4");
	chosen(f, "/?account=red", "1 3");
	chosen(f, "/?account=none", "");
	chosen(f, "/?ids=4,1", "1 4");
}

static void same_queries_have_one_key(void **state)
{
	struct asked *a = ask("/?user=b,a&state=R"), *b = ask("/?state=RUNNING&user=a,b");
	struct asked *c = ask("/?user=a,b&state=PD");
	struct rest_query q[3];
	struct error err;
	char *keys[3];

	(void)state;
	assert_int_equal(rest_query_read(&a->r, REST_JOBS, &q[0], &err), 0);
	assert_int_equal(rest_query_read(&b->r, REST_JOBS, &q[1], &err), 0);
	assert_int_equal(rest_query_read(&c->r, REST_JOBS, &q[2], &err), 0);
	for (int i = 0; i < 3; i++) {
		keys[i] = rest_query_key(&q[i]);
		rest_query_clear(&q[i]);
	}
	assert_string_equal(keys[0], keys[1]);
	assert_string_not_equal(keys[0], keys[2]);
	for (int i = 0; i < 3; i++)
		free(keys[i]);
	done(a);
	done(b);
	done(c);
}

/* --- events ------------------------------------------------------------------------------------ */

static struct viewer *viewer_of(uid_t uid)
{
	Gpusched__LookAsResult told = GPUSCHED__LOOK_AS_RESULT__INIT;

	return viewer_new(uid, &told);
}

static struct http_stream *open_as(
        const struct viewer *viewer, struct rest *rest, struct fixture *f, const char *target)
{
	struct asked *a = ask(target);
	struct http_answer answer = { .status = 200 };

	a->r.viewer = viewer;
	a->r.arg = rest;
	a->r.snap = snapshot_get(f->s);
	a->r.trouble = "";
	rest_watch(&a->r, &answer);
	assert_int_equal(answer.status, 200);
	for (size_t i = 0; i < answer.n_headers; i++)
		free(answer.headers[i].value);
	snapshot_put((struct snapshot *)(uintptr_t)a->r.snap);
	done(a);
	return answer.stream;
}

static struct http_stream *open_stream(struct rest *rest, struct fixture *f, const char *target)
{
	return open_as(viewer_nobody(false, false), rest, f, target);
}

/* All that the stream has to say now, in pieces of `max`. */
static char *hear(struct http_stream *s, struct fixture *f, size_t max)
{
	struct snapshot *snap = snapshot_get(f->s);
	struct strbuf out = { 0 };
	char buf[4096];
	ssize_t n;

	while ((n = s->read(s, snap, false, buf, max)) > 0)
		strbuf_add(&out, buf, (size_t)n);
	assert_int_equal(n, 0);
	snapshot_put(snap);
	return strbuf_take(&out);
}

static void hears_by(struct http_stream *s, struct fixture *f, size_t max, const char *first,
        const char *second)
{
	char *text = hear(s, f, max);

	if (!strstr(text, first) || !strstr(text, second))
		fail_msg("%s and %s are not in: %s", first, second, text);
	free(text);
}

static void hears(struct http_stream *s, struct fixture *f, const char *first, const char *second)
{
	hears_by(s, f, 7, first, second);
}

static void hears_nothing(struct http_stream *s, struct fixture *f)
{
	char *text = hear(s, f, 4096);

	assert_string_equal(text, "");
	free(text);
}

static void events(void **state)
{
	struct fixture *f = *state;
	struct rest rest = { .events = events_new() };
	struct job_like more[] = { { .id = 9, .user = "ana", .name = "nine" },
		{ .id = 10, .user = "bob", .name = "ten", .submit_time = 1 } };
	struct http_stream *all, *same, *of_bob, *late, *lost;
	struct job_like many[1500];

	publish(f, likes, 4, 100);
	all = open_stream(&rest, f, "/");
	same = open_stream(&rest, f, "/?state=all");
	of_bob = open_stream(&rest, f, "/?user=bob");
	hears(all, f, "event: hello", "id: 100\n");
	hears(of_bob, f, "event: hello", "\"cursor\":100");
	hears_nothing(all, f);
	publish(f, more, 1, 101);
	hears(all, f, "event: jobs", "\"id\":9,");
	hears_nothing(of_bob, f);
	more[0].reason = "Priority";
	publish(f, more, 2, 102);
	hears(of_bob, f, "id: 102\n", "\"name\":\"ten\"");
	hears(all, f, "\"id\":9,", "\"id\":10,");
	hears(same, f, "event: hello", "id: 102\n"); /* it was slow: all of it is in the greeting */

	late = open_stream(&rest, f, "/?cursor=101");
	hears(late, f, "\"id\":9,", "\"id\":10,");
	lost = open_stream(&rest, f, "/?cursor=7");
	hears(lost, f, "event: fresh", "id: 102\n");

	for (size_t i = 0; i < 1500; i++)
		many[i] = (struct job_like){ .id = 1000 + i, .submit_time = 1 };
	publish(f, many, 1500, 103);
	hears(all, f, "event: fresh", "id: 103\n"); /* they are new, all of them */
	hears(of_bob, f, "\"jobs\":[]", "\"more\":true");
	taken_us = INT64_C(3600000000);
	for (size_t i = 0; i < 1500; i++)
		many[i].reason = "Resources"; /* they have waited for an hour, and wait for another reason */
	many[7] = (struct job_like){ .id = 1007, .state = "RUNNING", .start_time = 2 };
	publish(f, many, 1500, 104);
	hears(all, f, "\"id\":1007,", "\"more\":true");
	for (int i = 0; i < 70; i++) {
		more[0].submit_time = 10 + i;
		publish(f, more, 1, 110 + (uint64_t)i);
	}
	hears(all, f, "event: fresh", "id: 179\n"); /* more snapshots than are known back */
	all->free(all);
	same->free(same);
	of_bob->free(of_bob);
	late->free(late);
	lost->free(lost);
	events_free(rest.events);
}

static void refuses(const struct viewer *viewer, struct rest *rest, const char *target)
{
	struct http_answer answer = { .status = 200 };
	struct asked *a = ask(target);

	a->r.viewer = viewer;
	a->r.arg = rest;
	rest_watch(&a->r, &answer);
	assert_int_equal(answer.status, 503);
	strbuf_free(&answer.body);
	done(a);
}

/* Filters are bounded, of a user and in all; streams of one that is watched already are not. */
static void too_many_filters(void **state)
{
	struct fixture *f = *state;
	struct rest rest = { .events = events_new() };
	struct viewer *users[EVENTS_CHANNELS / EVENTS_CHANNELS_A_USER + 1];
	struct http_stream *v[EVENTS_CHANNELS + 1];
	char target[64];

	publish(f, likes, 4, 1);
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		users[i] = viewer_of(1 + (uid_t)i);
	for (int i = 0; i < EVENTS_CHANNELS; i++) {
		snprintf(target, sizeof(target), "/?name=n%d", i);
		if (i == EVENTS_CHANNELS_A_USER)
			refuses(users[0], &rest, target);
		v[i] = open_as(users[i / EVENTS_CHANNELS_A_USER], &rest, f, target);
	}
	v[EVENTS_CHANNELS] = open_as(users[0], &rest, f, "/?name=n7");
	refuses(users[EVENTS_CHANNELS / EVENTS_CHANNELS_A_USER], &rest, "/?name=another");
	for (int i = 0; i <= EVENTS_CHANNELS; i++)
		v[i]->free(v[i]);
	v[0] = open_as(users[0], &rest, f, "/?name=another");
	v[0]->free(v[0]);
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		viewer_put(users[i]);
	events_free(rest.events);
}

/* Events of so many jobs, of which about MANY_FILTERS find room together. */
#define MANY_JOBS    1000
#define MANY_FILTERS 40

static void publish_many(struct fixture *f, uint64_t cursor)
{
	struct job_like v[MANY_JOBS];

	for (size_t i = 0; i < MANY_JOBS; i++)
		v[i] = (struct job_like){
			.id = 1 + i, .state = "RUNNING", .start_time = (int64_t)cursor
		};
	publish(f, v, MANY_JOBS, cursor);
}

static ssize_t read_once(struct http_stream *s, struct fixture *f, size_t max)
{
	struct snapshot *snap = snapshot_get(f->s);
	char buf[256];
	ssize_t n = s->read(s, snap, false, buf, max);

	snapshot_put(snap);
	return n;
}

/* One user watches by so many filters that its events find no room: others are told of each change
 * all the same, also by a filter of which that user has a stream, and where none of its streams is
 * read. */
static void many_events_of_one_user(void **state)
{
	struct fixture *f = *state;
	struct rest rest = { .events = events_new() };
	struct viewer *ana = viewer_of(1), *bob = viewer_of(2);
	struct http_stream *flood[MANY_FILTERS], *own, *common, *third;
	char target[64], *text;
	size_t told = 0, broken = 0;

	publish_many(f, 1);
	third = open_as(ana, &rest, f, "/");
	common = open_as(bob, &rest, f, "/");
	own = open_as(bob, &rest, f, "/?user=ana");
	hears(third, f, "event: hello", "");
	hears(common, f, "event: hello", "");
	hears(own, f, "event: hello", "");
	for (size_t i = 0; i < MANY_FILTERS; i++) {
		snprintf(target, sizeof(target), "/?name=job,n%zu", i);
		flood[i] = open_as(ana, &rest, f, target);
		hears(flood[i], f, "event: hello", "");
	}
	publish_many(f, 2);
	for (size_t i = 0; i < MANY_FILTERS; i++) {
		text = hear(flood[i], f, 4096);
		told += strstr(text, "event: jobs") != NULL;
		free(text);
	}
	assert_in_range(told, 4, MANY_FILTERS - 1); /* or there is room for all */
	hears_by(own, f, 4096, "event: jobs", "\"id\":1000,");
	hears_by(common, f, 4096, "event: jobs", "\"id\":1000,");
	for (uint64_t cursor = 3; cursor < (fewer() > 1 ? 6 : 10); cursor++) {
		publish_many(f, cursor);
		for (size_t i = 0; i < MANY_FILTERS; i++)
			if (i % 7 == cursor - 3)
				assert_int_equal(read_once(flood[i], f, 7), 7);
		hears_by(own, f, 4096, "event: jobs", "\"id\":1000,");
		hears_by(common, f, 4096, "event: jobs", "\"id\":1000,");
	}
	for (size_t i = 0; i < MANY_FILTERS; i++) {
		broken += read_once(flood[i], f, 7) == -2;
		flood[i]->free(flood[i]);
	}
	assert_in_range(broken, 1, MANY_FILTERS - 1);
	third->free(third);
	common->free(common);
	own->free(own);
	viewer_put(ana);
	viewer_put(bob);
	events_free(rest.events);
}

/* Also while each snapshot has something for it; and an event that is taken slowly does not last
 * for ever. */
static void streams_end(void **state)
{
	struct fixture *f = *state;
	struct rest rest = { .events = events_new() };
	struct http_answer answer = { .status = 200 };
	struct http_stream *idle, *slow;
	struct asked *a = ask("/changes");

	publish(f, likes, 4, 1);
	changes_get(&a->r, &answer);
	idle = open_stream(&rest, f, "/");
	slow = open_stream(&rest, f, "/");
	hears(idle, f, "event: hello", "id: 1\n");
	assert_true(read_once(answer.stream, f, 256) > 0);
	assert_int_equal(read_once(slow, f, 7), 7);
	publish(f, likes, 3, 2);
	later_s = HTTP_STREAM_LIFE_S + 1;
	assert_int_equal(read_once(answer.stream, f, 256), -1);
	assert_int_equal(read_once(idle, f, 256), -1);
	assert_int_equal(read_once(slow, f, 7), 7);
	later_s += HTTP_ANSWER_S;
	assert_int_equal(read_once(slow, f, 7), -2);
	later_s = 0;
	answer.stream->free(answer.stream);
	idle->free(idle);
	slow->free(slow);
	done(a);
	events_free(rest.events);
}

/* --- Slurm's list of jobs ----------------------------------------------------------------------- */

static struct http_stream *open_list(struct fixture *f)
{
	struct asked *a = ask("/slurm/v0.0.40/jobs");
	struct http_answer answer = { .status = 200 };

	a->r.path = "/slurm/v0.0.40/jobs";
	a->r.snap = snapshot_get(f->s);
	slurm_jobs(&a->r, &answer);
	assert_non_null(answer.stream);
	snapshot_put((struct snapshot *)(uintptr_t)a->r.snap);
	done(a);
	return answer.stream;
}

/* Read once; what came is added. */
static ssize_t read_list(struct http_stream *s, struct fixture *f, struct strbuf *text)
{
	struct snapshot *snap = snapshot_get(f->s);
	char buf[4096];
	ssize_t n = s->read(s, snap, false, buf, sizeof(buf));

	if (n > 0)
		strbuf_add(text, buf, (size_t)n);
	snapshot_put(snap);
	return n;
}

static json_t *rest_of_list(struct http_stream *s, struct fixture *f, struct strbuf *text)
{
	json_t *list;

	while (read_list(s, f, text) > 0)
		;
	s->free(s);
	list = json_loads(text->s, 0, NULL);
	strbuf_free(text);
	return list;
}

/* These and no others, in order. */
static void lists_jobs(json_t *list, json_int_t first, json_int_t last)
{
	const json_t *jobs = json_object_get(list, "jobs"), *job;
	size_t i;

	assert_int_equal(json_array_size(jobs), last - first + 1);
	json_array_foreach(jobs, i, job) assert_int_equal(
	        json_integer_value(json_object_get(job, "job_id")), first + (json_int_t)i);
	json_decref(list);
}

/* Tasks 0 to 9 of array 10 run as jobs 11 to 20 and the others wait, but for the task that has begun
 * as job 21. */
static void publish_array(struct fixture *f, const char *waiting, const char *begun)
{
	const uint64_t arrays[] = { 10 };
	struct snapshot_draft d = { .arrays = arrays, .n_arrays = 1 };
	struct job_like v[12] = { { .id = 10, .raw_id = 10, .tasks = waiting, .several = true } };
	char tasks[10][2];
	size_t n = 1;

	for (; n <= 10; n++) {
		snprintf(tasks[n - 1], sizeof(tasks[0]), "%d", (int)n - 1);
		v[n] = (struct job_like){ .id = 10,
			.raw_id = 10 + n,
			.tasks = tasks[n - 1],
			.state = "RUNNING",
			.start_time = 5 };
	}
	if (begun) {
		v[n] = v[n - 1];
		v[n].raw_id++;
		v[n++].tasks = begun;
	}
	fixture_publish(f->s, f->texts, &d, v, n);
}

static void a_task_is_listed_once(void **state)
{
	struct fixture *f = *state;
	struct http_stream *s;
	struct strbuf text = { 0 };

	publish_array(f, "10-19", NULL);
	s = open_list(f);
	while (!text.s || !strstr(text.s, "\"10-19\""))
		assert_true(read_list(s, f, &text) > 0);
	publish_array(f, "10-14,16-19", "15");
	lists_jobs(rest_of_list(s, f, &text), 10, 20);
	lists_jobs(rest_of_list(open_list(f), f, &text), 10, 21);
}

static void a_list_ends(void **state)
{
	struct fixture *f = *state;
	struct http_stream *s;
	struct strbuf text = { 0 };

	publish_array(f, "10-19", NULL);
	s = open_list(f);
	assert_true(read_list(s, f, &text) > 0);
	later_s = HTTP_STREAM_LIFE_S + 1;
	assert_int_equal(read_list(s, f, &text), -2);
	later_s = 0;
	s->free(s);
	strbuf_free(&text);
}

/* --- OpenAPI ------------------------------------------------------------------------------------ */

static void refs_lead_somewhere(const json_t *value, const json_t *schemas)
{
	const char *key, *ref;
	json_t *inner;
	size_t i;

	if (json_is_array(value))
		json_array_foreach(value, i, inner) refs_lead_somewhere(inner, schemas);
	if (!json_is_object(value))
		return;
	ref = json_string_value(json_object_get(value, "$ref"));
	if (ref && !json_object_get(schemas, strrchr(ref, '/') + 1))
		fail_msg("%s", ref);
	json_object_foreach((json_t *)(uintptr_t)value, key, inner)
	        refs_lead_somewhere(inner, schemas);
}

static void openapi(void **state)
{
	char *text = openapi_text();
	json_t *doc = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	const json_t *paths = json_object_get(doc, "paths");
	const json_t *schemas = json_object_get(json_object_get(doc, "components"), "schemas");

	(void)state;
	assert_non_null(doc);
	refs_lead_somewhere(doc, schemas);
	assert_non_null(json_object_get(json_object_get(paths, "/v1/job/{name}/why"), "get"));
	assert_non_null(json_object_get(json_object_get(paths, "/v1/jobs"), "post"));
	for (const struct rest_resource *r = rest_resources; r->method; r++)
		if (r->item && !json_object_get(schemas, r->item->short_name))
			fail_msg("%s", r->item->short_name);
	json_decref(doc);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries),
		cmocka_unit_test_setup_teardown(what_a_query_chooses, set_up, tear_down),
		cmocka_unit_test(same_queries_have_one_key),
		cmocka_unit_test_setup_teardown(events, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_filters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_events_of_one_user, set_up, tear_down),
		cmocka_unit_test_setup_teardown(streams_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_task_is_listed_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_list_ends, set_up, tear_down),
		cmocka_unit_test(openapi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
