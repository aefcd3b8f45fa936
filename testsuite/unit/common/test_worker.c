/* test_worker.c - helper threads: order, fairness, bounds, cancellation, end */
#include <arpa/inet.h>
#include <event2/event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/net/worker.h"

/* A gate that jobs wait at, so that tests decide when a thread is busy. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool open_gate;
static int at_gate, ran;
static pthread_t loop_thread;

static char order[1024]; /* names in the order of done() */
static int dones, drops;

struct job {
	char name;
	bool waits;
	bool has_run;
};

static void job_run(void *arg)
{
	struct job *j = arg;

	pthread_mutex_lock(&lock);
	if (j->waits) {
		at_gate++;
		pthread_cond_broadcast(&changed);
		while (!open_gate)
			pthread_cond_wait(&changed, &lock);
	}
	j->has_run = true;
	order[ran++] = j->name;
	pthread_mutex_unlock(&lock);
}

static void job_done(void *arg)
{
	struct job *j = arg;

	assert_true(pthread_equal(pthread_self(), loop_thread));
	assert_true(j->has_run);
	dones++;
	free(j);
}

static void job_drop(void *arg)
{
	assert_true(pthread_equal(pthread_self(), loop_thread));
	drops++;
	free(arg);
}

static const struct worker_ops ops = { job_run, job_done, job_drop };

static struct worker_job *submit(
        struct worker_pool *p, uint64_t key, char name, bool waits, struct error *err)
{
	struct job *j = calloc(1, sizeof(*j));
	struct worker_job *w;

	j->name = name;
	j->waits = waits;
	w = worker_submit(p, key, &ops, j, err);
	if (!w)
		free(j);
	return w;
}

static void wait_at_limit(int n)
{
	pthread_mutex_lock(&lock);
	while (at_gate < n)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void set_limit(bool open)
{
	pthread_mutex_lock(&lock);
	open_gate = open;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static struct event_base *base;

static struct worker_pool *pool(unsigned threads, unsigned queued, unsigned per_key)
{
	struct worker_limits l = { threads, queued, per_key };
	struct worker_pool *p;

	base = event_base_new();
	loop_thread = pthread_self();
	open_gate = false;
	at_gate = ran = dones = drops = 0;
	memset(order, 0, sizeof(order));
	p = worker_pool_new(base, &l, NULL);
	assert_non_null(p);
	return p;
}

static void end(struct worker_pool *p)
{
	worker_pool_free(p);
	event_base_free(base);
}

/* Run the loop until n jobs were given back. */
static void loop_until(int n)
{
	while (dones + drops < n)
		event_base_loop(base, EVLOOP_ONCE);
}

static void test_all_done(void **state)
{
	struct worker_pool *p = pool(4, 1000, 1000);

	(void)state;
	for (int i = 0; i < 500; i++)
		assert_non_null(submit(p, (uint64_t)i % 7, 'a', false, NULL));
	loop_until(500);
	assert_int_equal(dones, 500);
	assert_int_equal(drops, 0);
	end(p);
}

/* One thread: first in first out within a key, keys in turn. */
static void test_fair_queue(void **state)
{
	struct worker_pool *p = pool(1, 100, 100);

	(void)state;
	submit(p, 0, '.', true, NULL);
	wait_at_limit(1);
	for (const char *s = "AAAABBCa"; *s; s++)
		submit(p, (uint64_t)(*s | 0x20), *s, false, NULL);
	set_limit(true);
	loop_until(9);
	assert_string_equal(order, ".ABCABAAa");
	end(p);
}

/* A key whose jobs hang does not hold the last thread. */
static void test_hung_key(void **state)
{
	struct worker_pool *p = pool(3, 100, 100);

	(void)state;
	for (int i = 0; i < 10; i++)
		submit(p, 1, 'x', true, NULL);
	wait_at_limit(2);
	submit(p, 2, 'y', false, NULL);
	loop_until(1);
	assert_string_equal(order, "y");
	assert_int_equal(at_gate, 2);
	set_limit(true);
	loop_until(11);
	end(p);
}

static void test_bounds(void **state)
{
	struct worker_pool *p = pool(1, 5, 3);
	struct worker_stats st;
	struct error err = { 0 };

	(void)state;
	submit(p, 9, '.', true, NULL);
	wait_at_limit(1);
	for (int i = 0; i < 3; i++)
		assert_non_null(submit(p, 1, 'a', false, NULL));
	assert_null(submit(p, 1, 'a', false, &err));
	assert_int_equal(err.code, ERR_BUSY);
	assert_non_null(submit(p, 2, 'b', false, NULL));
	assert_non_null(submit(p, 3, 'c', false, NULL));
	assert_null(submit(p, 4, 'd', false, &err));
	worker_pool_stats(p, &st);
	assert_int_equal(st.queued, 5);
	assert_int_equal(st.running, 1);
	assert_int_equal(st.refused, 2);
	set_limit(true);
	loop_until(6);
	assert_non_null(submit(p, 1, 'a', false, NULL));
	loop_until(7);
	end(p);
}

static void test_cancel(void **state)
{
	struct worker_pool *p = pool(1, 100, 100);
	struct worker_job *running, *waiting;

	(void)state;
	running = submit(p, 1, 'r', true, NULL);
	waiting = submit(p, 1, 'w', false, NULL);
	submit(p, 1, 'k', false, NULL);
	wait_at_limit(1);
	worker_cancel(waiting); /* dropped at once, never run */
	assert_int_equal(drops, 1);
	worker_cancel(running); /* dropped when it has ended */
	assert_int_equal(drops, 1);
	set_limit(true);
	loop_until(3);
	assert_int_equal(drops, 2);
	assert_int_equal(dones, 1);
	assert_string_equal(order, "rk");
	end(p);
}

/* Freed with jobs waiting, running and finished but not yet delivered. */
static void test_pool_free(void **state)
{
	struct worker_pool *p = pool(2, 100, 100);

	(void)state;
	submit(p, 1, 'f', false, NULL);
	for (int i = 0; i < 20; i++)
		submit(p, (uint64_t)i, 'x', true, NULL);
	wait_at_limit(2);
	set_limit(true);
	end(p);
	assert_int_equal(dones, 0);
	assert_int_equal(drops, 21);
	worker_pool_free(NULL);
}

static void test_address_keys(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{ "10.0.0.1", "10.0.0.1", true },
		{ "10.0.0.1", "10.0.0.2", false },
		{ "2001:db8:1:1::1", "2001:db8:1:1::2", true }, /* one /64 */
		{ "2001:db8:1:1::1", "2001:db8:1:2::1", false },
		{ "::ffff:10.0.0.1", "::ffff:10.0.0.2", false },
		{ "::1", "::ffff:10.0.0.1", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sockaddr_storage s[2] = { 0 };

		for (int k = 0; k < 2; k++) {
			const char *text = k ? rows[i].b : rows[i].a;
			struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&s[k];
			struct sockaddr_in *v4 = (struct sockaddr_in *)&s[k];

			s[k].ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
			assert_int_equal(inet_pton(s[k].ss_family, text,
			                         s[k].ss_family == AF_INET6 ? (void *)&v6->sin6_addr
			                                                    : &v4->sin_addr),
			        1);
			v6->sin6_port = (in_port_t)(k * 1000);
		}
		assert_int_equal(worker_key_address((struct sockaddr *)&s[0]) ==
		                         worker_key_address((struct sockaddr *)&s[1]),
		        rows[i].same);
	}
}

#define DEADLINE_S 60 /* SIGALRM ends a test that hangs */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_done),
		cmocka_unit_test(test_fair_queue),
		cmocka_unit_test(test_hung_key),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_pool_free),
		cmocka_unit_test(test_address_keys),
	};

	alarm(DEADLINE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
