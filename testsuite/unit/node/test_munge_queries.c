/* test_munge_queries.c - noded/runs/munge_queries.h and noded/runs/user_lookup.h, over a stand-in
 * for munge */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <event2/event.h>
#include <stdio.h>

#include "noded/runs/munge_queries.h"
#include "noded/runs/user_lookup.h"
#include "testsuite/sim/fake_munge.h"

#define WAIT_S 20

struct world {
	struct event_base *base;
	struct worker_pool *pool;
	struct fake_munge *munge, *old;
	struct mcred_ops *client, *old_client, *both;
	struct munge_queries *asked;
	struct user_lookup *users;
	int answers;
	struct error err;
	int last; /* 1: answered with something, -1: with err */
	uid_t uid;
	char text[64];
};

static int world_make(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct worker_limits limits = { .threads = 4, .max_queued = 100, .max_per_key = 100 };

	w->base = event_base_new();
	w->pool = worker_pool_new(w->base, &limits, NULL);
	w->munge = fake_munge_new(1);
	w->old = fake_munge_new(2);
	w->client = fake_munge_client(w->munge, 1000, 1000);
	w->old_client = fake_munge_client(w->old, 1000, 1000);
	w->both = mcred_pair_new(fake_munge_client(w->munge, 1000, 1000),
	        fake_munge_client(w->old, 1000, 1000));
	w->asked = munge_queries_new(w->base, w->pool, w->both);
	w->users = user_lookup_new(w->pool);
	*state = w;
	return w->asked && w->users ? 0 : -1;
}

static int world_free(void **state)
{
	struct world *w = *state;

	munge_queries_free(w->asked);
	user_lookup_free(w->users);
	worker_pool_free(w->pool);
	mcred_ops_free(w->client);
	mcred_ops_free(w->old_client);
	mcred_ops_free(w->both);
	fake_munge_free(w->munge);
	fake_munge_free(w->old);
	event_base_free(w->base);
	free(w);
	return 0;
}

static void on_cred(const struct mcred *cred, const struct error *err, void *arg)
{
	struct world *w = arg;

	w->answers++;
	w->last = cred ? 1 : -1;
	if (cred)
		w->uid = cred->uid;
	else
		w->err = *err;
}

static void on_user(const struct node_user *user, const struct error *err, void *arg)
{
	struct world *w = arg;

	w->answers++;
	w->last = user ? 1 : -1;
	if (!user)
		w->err = *err;
	else
		strncpy(w->text, user->name, sizeof(w->text) - 1);
}

static void on_made(const char *cred, const struct error *err, void *arg)
{
	struct world *w = arg;

	w->answers++;
	w->last = cred ? 1 : -1;
	if (cred)
		strncpy(w->text, cred, sizeof(w->text) - 1);
	else
		w->err = *err;
}

/* Run the loop until there are so many answers. */
static void wait_answers(struct world *w, int n)
{
	const struct timeval limit = { .tv_sec = WAIT_S };

	event_base_loopexit(w->base, &limit);
	while (w->answers < n && !event_base_got_exit(w->base))
		event_base_loop(w->base, EVLOOP_ONCE);
	assert_int_equal(w->answers, n);
}

static char *make(struct mcred_ops *ops, const char *payload)
{
	char *cred;

	assert_int_equal(ops->encode(ops, payload, strlen(payload), MCRED_ANY_UID, &cred, NULL), 0);
	return cred;
}

/* A thousand tasks of an array cost one decode, however they come. */
static void one_decode_for_one_credential(void **state)
{
	struct world *w = *state;
	char *cred = make(w->client, "x");

	for (int i = 0; i < 100; i++)
		munge_query_decode(w->asked, cred, strlen(cred), on_cred, w);
	wait_answers(w, 100);
	for (int i = 0; i < 100; i++)
		munge_query_decode(w->asked, cred, strlen(cred), on_cred, w);
	assert_int_equal(w->answers, 200); /* at once */
	assert_int_equal(fake_munge_decodes(w->munge), 1);
	assert_int_equal(w->last, 1);
	assert_int_equal(w->uid, 1000);
	free(cred);
}

/* By exact bytes: a prefix, a longer one and an altered one are others. */
static void another_byte_is_another_credential(void **state)
{
	struct world *w = *state;
	char *cred = make(w->client, "x");
	size_t n = strlen(cred);

	munge_query_decode(w->asked, cred, n, on_cred, w);
	wait_answers(w, 1);
	munge_query_decode(w->asked, cred, n - 1, on_cred, w);
	wait_answers(w, 2);
	assert_int_equal(w->last, -1);
	cred[n / 2] ^= 1;
	munge_query_decode(w->asked, cred, n, on_cred, w);
	wait_answers(w, 3);
	assert_int_equal(w->last, -1);
	free(cred);
}

static void refusals_are_not_remembered(void **state)
{
	struct world *w = *state;

	for (int i = 1; i <= 3; i++) {
		munge_query_decode(w->asked, "rubbish", 7, on_cred, w);
		wait_answers(w, i);
		assert_int_equal(w->last, -1);
	}
	assert_int_equal(fake_munge_decodes(w->munge), 3);
	munge_query_decode(w->asked, "", 0, on_cred, w);
	munge_query_decode(w->asked, "a\0b", 3, on_cred, w);
	assert_int_equal(w->answers, 5); /* not even asked */
	assert_int_equal(fake_munge_decodes(w->munge), 3);
	assert_int_equal(w->err.code, ERR_SIGNATURE);
}

static void the_second_daemon_has_the_old_key(void **state)
{
	struct world *w = *state;
	char *cred = make(w->old_client, "x");

	munge_query_decode(w->asked, cred, strlen(cred), on_cred, w);
	wait_answers(w, 1);
	assert_int_equal(w->last, 1);
	assert_int_equal(fake_munge_decodes(w->old), 1);
	free(cred);
}

static void bring_up(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	fake_munge_set_down(((struct world *)arg)->munge, false);
}

static void a_daemon_that_is_down_is_asked_again(void **state)
{
	static const struct timeval soon = { .tv_usec = 100000 };
	struct world *w = *state;
	char *cred = make(w->client, "x");

	fake_munge_set_down(w->munge, true);
	event_base_once(w->base, -1, EV_TIMEOUT, bring_up, w, &soon);
	munge_query_decode(w->asked, cred, strlen(cred), on_cred, w);
	wait_answers(w, 1);
	assert_int_equal(w->last, 1);
	free(cred);
}

/* munge hangs: users are found and credentials of others are known all the same. */
static void nobody_waits_for_a_stalled_daemon(void **state)
{
	struct world *w = *state;
	char *known = make(w->client, "known"), *cred = make(w->client, "x");

	munge_query_decode(w->asked, known, strlen(known), on_cred, w);
	wait_answers(w, 1);
	fake_munge_set_stalled(w->munge, true, 2000);
	munge_query_decode(w->asked, cred, strlen(cred), on_cred, w);
	user_lookup_find(w->users, "root", 0, 0, on_user, w);
	wait_answers(w, 2);
	assert_string_equal(w->text, "root");
	munge_query_decode(w->asked, known, strlen(known), on_cred, w);
	assert_int_equal(w->answers, 3);
	fake_munge_set_stalled(w->munge, false, 0);
	wait_answers(w, 4);
	free(known);
	free(cred);
}

static void many_credentials_push_the_oldest_out(void **state)
{
	struct world *w = *state;
	char *first = make(w->client, "first");
	unsigned before;

	munge_query_decode(w->asked, first, strlen(first), on_cred, w);
	wait_answers(w, 1);
	for (int i = 0; i < MUNGE_CACHE_MAX; i++) {
		char payload[16], *cred;

		snprintf(payload, sizeof(payload), "%d", i);
		cred = make(w->client, payload);
		munge_query_decode(w->asked, cred, strlen(cred), on_cred, w);
		wait_answers(w, i + 2);
		free(cred);
	}
	before = fake_munge_decodes(w->munge);
	munge_query_decode(w->asked, first, strlen(first), on_cred, w);
	wait_answers(w, MUNGE_CACHE_MAX + 2);
	assert_int_equal(fake_munge_decodes(w->munge), before + 1);
	assert_int_equal(w->last, 1); /* seen before: munge vouches all the same */
	free(first);
}

static void users(void **state)
{
	static const struct {
		const char *name;
		uid_t uid;
		int last;
		const char *text;
	} rows[] = {
		{ "root", 0, 1, NULL },
		{ "", 0, 1, NULL },
		{ "root", 1, -1,
		        "user 'root' has uid 0 on this node, the job was signed by uid 1" },
		{ "no-such-user", 54321, -1,
		        "user 'no-such-user' (uid 54321) does not exist on this node" },
		{ "", 54321, -1, "user '' (uid 54321) does not exist on this node" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		user_lookup_find(w->users, rows[i].name, rows[i].uid, 0, on_user, w);
		wait_answers(w, (int)i + 1);
		assert_int_equal(w->last, rows[i].last);
		if (rows[i].text)
			assert_string_equal(w->err.text, rows[i].text);
		else
			assert_string_equal(w->text, "root");
	}
	user_lookup_find(w->users, "root", 0, 0, on_user, w);
	assert_int_equal(w->answers, 6); /* known by now */
}

static void credentials_are_made(void **state)
{
	struct world *w = *state;

	munge_query_make(w->asked, "payload", 7, 1000, on_made, w);
	wait_answers(w, 1);
	assert_int_equal(w->last, 1);
	assert_true(w->text[0] != '\0');
	fake_munge_set_down(w->munge, true);
	munge_query_make(w->asked, "payload", 7, 1000, on_made, w);
	wait_answers(w, 2);
	assert_int_equal(w->last, -1);
	assert_int_equal(w->err.code, ERR_MUNGE_DOWN);
}

/* Freed while questions are open: no answer, no leak, no use of what is gone. */
static void freed_in_the_middle(void **state)
{
	struct world *w = *state;
	char *cred = make(w->client, "x");

	fake_munge_set_stalled(w->munge, true, 200);
	munge_query_decode(w->asked, cred, strlen(cred), on_cred, w);
	munge_query_decode(w->asked, cred, strlen(cred), on_cred, w);
	user_lookup_find(w->users, "root", 0, 0, on_user, w);
	munge_query_make(w->asked, "payload", 7, 1000, on_made, w);
	munge_queries_free(w->asked);
	user_lookup_free(w->users);
	w->asked = NULL;
	w->users = NULL;
	worker_pool_free(w->pool);
	w->pool = NULL;
	assert_int_equal(w->answers, 0);
	free(cred);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_make, world_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_decode_for_one_credential),
		TEST(another_byte_is_another_credential),
		TEST(refusals_are_not_remembered),
		TEST(the_second_daemon_has_the_old_key),
		TEST(a_daemon_that_is_down_is_asked_again),
		TEST(nobody_waits_for_a_stalled_daemon),
		TEST(many_credentials_push_the_oldest_out),
		TEST(users),
		TEST(credentials_are_made),
		TEST(freed_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
