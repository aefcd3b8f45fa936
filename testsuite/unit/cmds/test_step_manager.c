/* test_step_manager.c - cmds/steps/manager.h: clients and nodes are played, messages are looked at
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/steps/manager.h"

#include <signal.h>
#include <stdio.h>

#include "common/base/wirenum.h"

static const char *const names[] = { "n1", "n2" };

struct lab {
	struct manager *m;
	char log[8192]; /* what the manager sent: "c1 CREATED 0 n1 2; n0 START 0: 0 1; ..." */
	size_t n;
	int64_t now;
	unsigned reports;
	uint32_t quit;
};

static void note(struct lab *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void note(struct lab *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	l->n += (size_t)vsnprintf(l->log + l->n, sizeof(l->log) - l->n, fmt, ap);
	va_end(ap);
	assert_true(l->n < sizeof(l->log));
}

static void expect(struct lab *l, const char *text)
{
	assert_string_equal(l->log, text);
	l->n = 0;
	l->log[0] = '\0';
}

static void to_client(
        void *arg, uint64_t client, unsigned kind, uint32_t step, const void *data, size_t len)
{
	struct lab *l = arg;
	Gpusched__StepState *s;
	Gpusched__StepEnd *e;

	switch (kind) {
	case STEP_STATE:
		s = gpusched__step_state__unpack(NULL, len, data);
		if (s->state == GPUSCHED__STEP_STATE__STATE__CREATED)
			note(l, "c%d created %u %s %u; ", (int)client, step, s->nodelist, s->tasks);
		else
			note(l, "c%d state %d %s; ", (int)client, (int)s->state, s->text);
		gpusched__step_state__free_unpacked(s, NULL);
		break;
	case STEP_END:
		e = gpusched__step_end__unpack(NULL, len, data);
		note(l, "c%d end %u %u; ", (int)client, e->exit_code, e->exit_signal);
		gpusched__step_end__free_unpacked(e, NULL);
		break;
	case STEP_OUT:
		note(l, "c%d out %.*s; ", (int)client, (int)len - 4, (const char *)data + 4);
		break;
	case STEP_IN_TAKEN:
		note(l, "c%d took %u; ", (int)client, get_u32(data));
		break;
	default:
		note(l, "c%d kind %u; ", (int)client, kind);
	}
}

static void note_pmix(struct lab *l, uint32_t rank, const void *data, size_t len)
{
	static const char *const kinds[] = { "none", "fence", "fetch", "found" };
	Gpusched__StepPmix *p = gpusched__step_pmix__unpack(NULL, len, data);

	note(l, "n%u %s %u%s", rank, kinds[p->kind], (unsigned)p->id, p->failed ? " failed" : "");
	if (p->n_tasks)
		note(l, " of %u", p->tasks[0]);
	note(l, ": %.*s; ", (int)p->data.len, (const char *)p->data.data);
	gpusched__step_pmix__free_unpacked(p, NULL);
}

static void to_node(
        void *arg, uint32_t rank, unsigned kind, uint32_t step, const void *data, size_t len)
{
	struct lab *l = arg;
	Gpusched__StepTasks *t;

	switch (kind) {
	case STEP_START:
		t = gpusched__step_tasks__unpack(NULL, len, data);
		note(l, "n%u start %u:", rank, step);
		for (size_t i = 0; i < t->n_ids; i++)
			note(l, " %u", t->ids[i]);
		note(l, "; ");
		gpusched__step_tasks__free_unpacked(t, NULL);
		break;
	case STEP_SIGNAL:
		note(l, "n%u signal %u; ", rank, get_u32(data));
		break;
	case STEP_TAKEN:
		note(l, "n%u taken %u; ", rank, get_u32(data));
		break;
	case STEP_IN:
		note(l, "n%u in %zu; ", rank, len - 4);
		break;
	case STEP_PMIX:
		note_pmix(l, rank, data, len);
		break;
	default:
		note(l, "n%u kind %u; ", rank, kind);
	}
}

static void need_node(void *arg, uint32_t rank)
{
	note(arg, "need %u; ", rank);
}

static void report(void *arg, const Gpusched__StepReport *r)
{
	((struct lab *)arg)->reports += r->nodes > 0;
}

static void quit(void *arg, uint32_t code)
{
	((struct lab *)arg)->quit = code;
}

static int64_t now_ms(void *arg)
{
	return ((struct lab *)arg)->now;
}

static uint64_t random_number(void *arg)
{
	(void)arg;
	return 7;
}

static void lab_begin(struct lab *l, size_t nodes)
{
	struct manager_ops ops = { to_client, to_node, need_node, report, quit, now_ms, now_ms,
		random_number, l };

	*l = (struct lab){ .now = 1000 };
	l->m = manager_new(&ops, names, nodes);
	manager_node_known(l->m, 0, 2, 0);
	expect(l, "");
}

static void client_says(
        struct lab *l, uint64_t client, unsigned kind, uint32_t step, const void *data, size_t len)
{
	struct steplink_message m = { kind, step, data, len };

	assert_int_equal(manager_client(l->m, client, &m, NULL), 0);
}

static void node_says(
        struct lab *l, uint32_t rank, unsigned kind, uint32_t step, const void *data, size_t len)
{
	struct steplink_message m = { kind, step, data, len };

	assert_int_equal(manager_node(l->m, rank, &m, NULL), 0);
}

static void ask(struct lab *l, uint64_t client, Gpusched__StepRequest *r)
{
	uint8_t args[] = "true", data[512];
	ProtobufCBinaryData arg = { 4, args };

	r->n_args = 1;
	r->args = &arg;
	r->cwd = (ProtobufCBinaryData){ 1, (uint8_t *)(uintptr_t) "/" };
	client_says(l, client, STEP_NEW, STEP_NONE, data, gpusched__step_request__pack(r, data));
}

static void ask_tasks(struct lab *l, uint64_t client, uint32_t tasks)
{
	Gpusched__StepRequest r = GPUSCHED__STEP_REQUEST__INIT;

	r.tasks = tasks;
	ask(l, client, &r);
}

static void task_ends(struct lab *l, uint32_t rank, uint32_t step, uint32_t task, uint32_t code)
{
	Gpusched__StepTask t = GPUSCHED__STEP_TASK__INIT;
	uint8_t data[128];

	t.task = task;
	t.ended = true;
	t.exit_code = code;
	node_says(l, rank, STEP_TASK, step, data, gpusched__step_task__pack(&t, data));
}

static void test_one_step_after_another(void **state)
{
	struct lab l;

	(void)state;
	lab_begin(&l, 1);
	ask_tasks(&l, 1, 2);
	expect(&l, "c1 created 0 n1 2; n0 start 0: 0 1; ");
	ask_tasks(&l, 2, 1);
	ask_tasks(&l, 3, 2);
	expect(&l, "c2 state 1 Requested nodes are busy; c3 state 1 Requested nodes are busy; ");
	task_ends(&l, 0, 0, 1, 3);
	task_ends(&l, 0, 0, 0, 0);
	expect(&l, "c1 kind 18; c1 kind 18; ");
	node_says(&l, 0, STEP_DONE, 0, NULL, 0);
	expect(&l, "c1 end 3 0; c2 created 1 n1 1; n0 start 1: 0; ");
	manager_client_gone(l.m, 3);
	node_says(&l, 0, STEP_DONE, 1, NULL, 0);
	expect(&l, "c2 end 0 0; ");
	assert_int_equal(manager_steps(l.m), 0);
	assert_int_equal(l.reports, 4);
	manager_free(l.m);
}

static void test_what_never_fits_is_refused(void **state)
{
	Gpusched__StepRequest r = GPUSCHED__STEP_REQUEST__INIT;
	struct lab l;

	(void)state;
	lab_begin(&l, 1);
	ask_tasks(&l, 1, 3);
	expect(&l, "c1 state 3 More processors requested than permitted; ");
	r.nodelist = (char *)(uintptr_t) "n1,n7";
	ask(&l, 2, &r);
	expect(&l, "c2 state 3 Requested node configuration is not available; ");
	ask_tasks(&l, 3, 1);
	r.nodelist = (char *)(uintptr_t) "n1";
	r.immediate = true;
	ask(&l, 4, &r);
	expect(&l, "c3 created 0 n1 1; n0 start 0: 0; c4 state 3 Requested nodes are busy; ");
	manager_free(l.m);
}

static void test_other_nodes_are_asked_for(void **state)
{
	struct lab l;

	(void)state;
	lab_begin(&l, 2);
	ask_tasks(&l, 1, 3);
	expect(&l, "need 1; ");
	manager_node_known(l.m, 1, 2, 0);
	expect(&l, "c1 created 0 n[1-2] 3; n0 start 0: 0 1; n1 start 0: 2; ");
	node_says(&l, 1, STEP_DONE, 0, NULL, 0);
	node_says(&l, 0, STEP_DONE, 0, NULL, 0);
	expect(&l, "c1 end 0 0; ");
	manager_free(l.m);
}

static void test_output_is_credited_where_it_came_from(void **state)
{
	uint8_t n[4];
	struct lab l;

	(void)state;
	lab_begin(&l, 2);
	manager_node_known(l.m, 1, 2, 0);
	ask_tasks(&l, 1, 4);
	l.n = 0;
	node_says(&l, 0, STEP_OUT, 0, "\0\0\0\0abc", 7);
	node_says(&l, 1, STEP_OUT, 0, "\0\0\0\2de", 6);
	node_says(&l, 0, STEP_OUT, 0, "\0\0\0\1f", 5);
	expect(&l, "c1 out abc; c1 out de; c1 out f; ");
	put_u32(n, 4);
	client_says(&l, 1, STEP_TAKEN, 0, n, 4);
	expect(&l, "n0 taken 3; n1 taken 1; ");
	/* nobody reads the rest, and the tasks are told to end */
	manager_client_gone(l.m, 1);
	expect(&l,
	        "n1 taken 1; n0 taken 1; n0 signal 18; n1 signal 18; n0 signal 15; n1 signal 15; ");
	node_says(&l, 0, STEP_OUT, 0, "\0\0\0\1gh", 6);
	expect(&l, "n0 taken 2; ");
	assert_int_equal(manager_wait_ms(l.m), MANAGER_KILL_MS);
	l.now += MANAGER_KILL_MS;
	manager_tick(l.m);
	expect(&l, "n0 signal 9; n1 signal 9; ");
	manager_free(l.m);
}

static void test_input_is_taken_when_all_nodes_have_it(void **state)
{
	uint8_t n[4];
	struct lab l;

	(void)state;
	lab_begin(&l, 2);
	manager_node_known(l.m, 1, 2, 0);
	ask_tasks(&l, 1, 4);
	l.n = 0;
	client_says(&l, 1, STEP_IN, 0, "\377\377\377\377hello", 9);
	put_u32(n, 5);
	node_says(&l, 0, STEP_IN_TAKEN, 0, n, 4);
	put_u32(n, 2);
	node_says(&l, 1, STEP_IN_TAKEN, 0, n, 4);
	expect(&l, "n0 in 5; n1 in 5; c1 took 2; ");
	node_says(&l, 1, STEP_DONE, 0, NULL, 0);
	expect(&l, "c1 took 3; ");
	manager_free(l.m);
}

static void test_parts_are_one_step(void **state)
{
	Gpusched__StepRequest a = GPUSCHED__STEP_REQUEST__INIT, b = GPUSCHED__STEP_REQUEST__INIT;
	struct lab l;

	(void)state;
	lab_begin(&l, 2);
	manager_node_known(l.m, 1, 2, 0);
	a.tasks = 1;
	a.parts_follow = 1;
	b.tasks = 2;
	ask(&l, 1, &a);
	expect(&l, "");
	ask(&l, 1, &b);
	expect(&l, "c1 created 0 n1 3; n0 start 0: 0; n0 start 0: 1; n1 start 0: 2; ");
	node_says(&l, 0, STEP_DONE, 0, NULL, 0);
	node_says(&l, 1, STEP_DONE, 0, NULL, 0);
	expect(&l, "c1 end 0 0; ");
	manager_free(l.m);
}

static void test_a_lost_node_ends_its_steps(void **state)
{
	struct lab l;

	(void)state;
	lab_begin(&l, 2);
	manager_node_known(l.m, 1, 2, 0);
	ask_tasks(&l, 1, 4);
	ask_tasks(&l, 2, 4);
	l.n = 0;
	manager_node_lost(l.m, 1);
	/* which has no room for the other one any more */
	expect(&l, "n0 signal 18; n1 signal 18; n0 signal 15; n1 signal 15; "
	           "c2 state 3 More processors requested than permitted; ");
	node_says(&l, 0, STEP_DONE, 0, NULL, 0);
	expect(&l, "c1 end 1 0; ");
	manager_free(l.m);
}

static void test_controls(void **state)
{
	Gpusched__StepControl c = GPUSCHED__STEP_CONTROL__INIT;
	Gpusched__StepRequest r = GPUSCHED__STEP_REQUEST__INIT;
	uint8_t data[64];
	struct lab l;

	(void)state;
	lab_begin(&l, 1);
	r.time_limit_s = 10;
	ask(&l, 1, &r);
	l.n = 0;
	c.verb = GPUSCHED__STEP_CONTROL__VERB__SIGNAL;
	c.step = 0;
	c.signal = SIGUSR1;
	client_says(&l, 2, STEP_CONTROL, STEP_NONE, data, gpusched__step_control__pack(&c, data));
	expect(&l, "n0 signal 10; c2 kind 26; ");
	ask(&l, 3, &r);
	expect(&l, "c3 state 1 Requested nodes are busy; ");
	c.verb = GPUSCHED__STEP_CONTROL__VERB__LIST;
	client_says(&l, 2, STEP_CONTROL, STEP_NONE, data, gpusched__step_control__pack(&c, data));
	expect(&l, "c2 created 0 n1 1; c2 state 1 Requested nodes are busy; c2 kind 26; ");
	manager_client_gone(l.m, 3);
	c.verb = GPUSCHED__STEP_CONTROL__VERB__SIGNAL;
	c.signal = SIGKILL;
	client_says(&l, 2, STEP_CONTROL, STEP_NONE, data, gpusched__step_control__pack(&c, data));
	expect(&l, "c1 state 4 ; n0 signal 9; c2 kind 26; ");
	l.now += 10000;
	manager_tick(l.m);
	expect(&l, "c1 state 5 ; n0 signal 18; n0 signal 15; ");
	c.verb = GPUSCHED__STEP_CONTROL__VERB__QUIT;
	c.exit_code = 7;
	client_says(&l, 2, STEP_CONTROL, STEP_NONE, data, gpusched__step_control__pack(&c, data));
	assert_int_equal(l.quit, 7);
	manager_free(l.m);
}

static void test_as_many_at_once_as_may(void **state)
{
	Gpusched__StepRequest r = GPUSCHED__STEP_REQUEST__INIT;
	struct lab l;
	uint64_t client = 0;

	(void)state;
	lab_begin(&l, 1);
	r.overlap = true;
	r.tasks = 1;
	for (size_t i = 0; i < MANAGER_STEPS_MAX; i++) {
		ask(&l, ++client, &r);
		l.n = 0;
	}
	r.overlap = false;
	r.immediate = true;
	ask(&l, ++client, &r);
	expect(&l, "c1025 state 3 Requested nodes are busy; ");
	r.immediate = false;
	for (size_t i = 0; i < MANAGER_WAITING_MAX - MANAGER_STEPS_MAX; i++) {
		ask(&l, ++client, &r);
		l.n = 0;
	}
	ask(&l, ++client, &r);
	expect(&l, "c16386 state 3 More steps wait than may; ");
	/* The first that waits has the place of one that ends. */
	node_says(&l, 0, STEP_DONE, 0, NULL, 0);
	assert_non_null(strstr(l.log, "c1 end 0 0; "));
	manager_free(l.m);
}

/* What a node's server says; -1: the manager does not take it. */
static int server_says(struct lab *l, uint32_t rank, Gpusched__StepPmix__Kind kind, uint64_t id,
        const char *tasks, const char *text)
{
	Gpusched__StepPmix p = GPUSCHED__STEP_PMIX__INIT;
	uint32_t list[8];
	uint8_t data[256];
	struct steplink_message m = { STEP_PMIX_ASK, 0, data, 0 };
	struct error err;

	p.kind = kind;
	p.id = id;
	p.tasks = list;
	for (; tasks[p.n_tasks]; p.n_tasks++)
		list[p.n_tasks] = (uint32_t)(tasks[p.n_tasks] - '0');
	p.data = (ProtobufCBinaryData){ strlen(text), (uint8_t *)(uintptr_t)text };
	m.len = gpusched__step_pmix__pack(&p, data);
	return manager_node(l->m, rank, &m, &err);
}

/* Tasks 0 and 1 on the first node, 2 and 3 on the second. */
static void lab_begin_pmix(struct lab *l)
{
	Gpusched__StepRequest r = GPUSCHED__STEP_REQUEST__INIT;

	lab_begin(l, 2);
	manager_node_known(l->m, 1, 2, 0);
	r.tasks = 4;
	r.mpi = (char *)(uintptr_t) "pmix";
	ask(l, 1, &r);
	l->n = 0;
	l->log[0] = '\0';
}

#define FENCE GPUSCHED__STEP_PMIX__KIND__FENCE
#define FETCH GPUSCHED__STEP_PMIX__KIND__FETCH
#define FOUND GPUSCHED__STEP_PMIX__KIND__FOUND

static void test_fences_of_pmix(void **state)
{
	struct lab l;

	(void)state;
	lab_begin_pmix(&l);
	/* one of all tasks, one of two of them, one within a node, at the same time */
	assert_int_equal(server_says(&l, 1, FENCE, 11, "", "b"), 0);
	assert_int_equal(server_says(&l, 1, FENCE, 12, "02", "d"), 0);
	expect(&l, "");
	assert_int_equal(server_says(&l, 1, FENCE, 13, "23", "e"), 0);
	expect(&l, "n1 fence 13: e; ");
	assert_int_equal(server_says(&l, 0, FENCE, 1, "", "a"), 0);
	expect(&l, "n0 fence 1: ba; n1 fence 11: ba; ");
	assert_int_equal(server_says(&l, 0, FENCE, 2, "02", "c"), 0);
	expect(&l, "n0 fence 2: dc; n1 fence 12: dc; ");
	/* the same tasks meet again */
	assert_int_equal(server_says(&l, 0, FENCE, 3, "", ""), 0);
	assert_int_equal(server_says(&l, 1, FENCE, 14, "", ""), 0);
	expect(&l, "n0 fence 3: ; n1 fence 14: ; ");
	assert_int_equal(server_says(&l, 0, FENCE, 4, "", ""), 0);
	manager_free(l.m); /* with one that was not met */
}

static void test_fetches_of_pmix(void **state)
{
	struct lab l;

	(void)state;
	lab_begin_pmix(&l);
	assert_int_equal(server_says(&l, 0, FETCH, 7, "3", ""), 0);
	assert_int_equal(server_says(&l, 1, FETCH, 7, "0", ""), 0);
	expect(&l, "n1 fetch 1 of 3: ; n0 fetch 2 of 0: ; ");
	assert_int_equal(server_says(&l, 0, FOUND, 2, "", "zero"), 0);
	assert_int_equal(server_says(&l, 1, FOUND, 1, "", "three"), 0);
	expect(&l, "n1 found 7: zero; n0 found 7: three; ");
	assert_int_equal(server_says(&l, 1, GPUSCHED__STEP_PMIX__KIND__ABORT, 0, "", ""), 0);
	expect(&l, "n0 signal 18; n1 signal 18; n0 signal 15; n1 signal 15; ");
	assert_int_equal(server_says(&l, 1, FETCH, 8, "1", ""), 0);
	manager_free(l.m); /* with one that was not answered */
}

static void test_what_no_server_says(void **state)
{
	static const struct {
		Gpusched__StepPmix__Kind kind;
		const char *tasks;
	} rows[] = { { FENCE, "4" }, { FENCE, "20" }, { FENCE, "00" }, { FENCE, "23" }, { FETCH, "" },
		{ FETCH, "01" }, { FETCH, "4" }, { FOUND, "" }, { 0, "" },
		{ GPUSCHED__STEP_PMIX__KIND__ENVIRONMENT, "0" } };
	struct lab l;

	(void)state;
	lab_begin_pmix(&l);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(server_says(&l, 0, rows[i].kind, 1, rows[i].tasks, ""), -1);
	assert_int_equal(server_says(&l, 0, FENCE, 1, "", ""), 0);
	assert_int_equal(server_says(&l, 0, FENCE, 2, "", ""), -1); /* twice */
	assert_int_equal(server_says(&l, 0, FETCH, 1, "3", ""), 0);
	assert_int_equal(server_says(&l, 0, FOUND, 1, "", ""), -1); /* another node was asked */
	manager_free(l.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_step_after_another),
		cmocka_unit_test(test_what_never_fits_is_refused),
		cmocka_unit_test(test_other_nodes_are_asked_for),
		cmocka_unit_test(test_output_is_credited_where_it_came_from),
		cmocka_unit_test(test_input_is_taken_when_all_nodes_have_it),
		cmocka_unit_test(test_parts_are_one_step),
		cmocka_unit_test(test_a_lost_node_ends_its_steps),
		cmocka_unit_test(test_controls),
		cmocka_unit_test(test_as_many_at_once_as_may),
		cmocka_unit_test(test_fences_of_pmix),
		cmocka_unit_test(test_fetches_of_pmix),
		cmocka_unit_test(test_what_no_server_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
