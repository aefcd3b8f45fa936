/* test_auth.c - gweb's links, sessions, tokens and signed requests; what a viewer sees */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmds/web/auth/sessions.h"
#include "cmds/web/auth/viewer_cache.h"

#define SESSION_S 3600
#define ANA       1000
#define BOB       1001

static struct auth *new_auth(void)
{
	struct auth_config config = { .session_s = SESSION_S };

	memset(config.key, 7, sizeof(config.key));
	return auth_new(&config);
}

/* A session of the user; the time is seconds. */
static void open_session(struct auth *a, uid_t uid, int64_t now, char session[AUTH_SECRET])
{
	char link[AUTH_SECRET];
	struct error err;

	auth_link(a, uid, now, link);
	assert_int_equal(auth_redeem(a, link, now, session, &err), 0);
}

static bool is_of(struct auth *a, const char *session, int64_t now, uid_t want)
{
	uid_t uid;

	return auth_session(a, session, now, &uid) && uid == want;
}

static void a_link_opens_once(void **state)
{
	struct auth *a = new_auth();
	char link[AUTH_SECRET], session[AUTH_SECRET], other[AUTH_SECRET];
	struct error err;

	(void)state;
	auth_link(a, ANA, 100, link);
	assert_int_equal(strlen(link), 32);
	assert_false(is_of(a, link, 100, ANA)); /* a link is no session */
	assert_int_equal(auth_redeem(a, link, 100 + AUTH_LINK_S - 1, session, &err), 0);
	assert_true(is_of(a, session, 200, ANA));
	assert_int_equal(auth_redeem(a, link, 101, other, &err), -1);
	assert_int_equal(err.code, ERR_AUTH);
	assert_int_equal(auth_redeem(a, session, 101, other, &err), -1); /* nor the other way */
	auth_free(a);
}

static void a_link_expires(void **state)
{
	struct auth *a = new_auth();
	char link[AUTH_SECRET], session[AUTH_SECRET];
	struct error err;

	(void)state;
	auth_link(a, ANA, 100, link);
	assert_int_equal(auth_redeem(a, link, 100 + AUTH_LINK_S, session, &err), -1);
	assert_int_equal(auth_redeem(a, "", 100, session, &err), -1);
	assert_int_equal(auth_redeem(a, "nothing of ours", 100, session, &err), -1);
	auth_free(a);
}

static void a_session_ends(void **state)
{
	struct auth *a = new_auth();
	char session[AUTH_SECRET], second[AUTH_SECRET];

	(void)state;
	open_session(a, ANA, 0, session);
	open_session(a, ANA, 10, second);
	assert_string_not_equal(session, second);
	assert_true(is_of(a, session, SESSION_S - 1, ANA));
	assert_false(is_of(a, session, SESSION_S, ANA));
	assert_true(is_of(a, second, SESSION_S, ANA));
	auth_logout(a, second);
	assert_false(is_of(a, second, 11, ANA));
	auth_logout(a, second);
	auth_logout(a, "");
	auth_free(a);
}

/* One user's sessions push out none of another's. */
static void sessions_are_bounded(void **state)
{
	struct auth *a = new_auth();
	char of_bob[AUTH_SECRET], v[AUTH_SESSIONS_PER_USER + 3][AUTH_SECRET];
	size_t n = AUTH_SESSIONS_PER_USER + 3;

	(void)state;
	open_session(a, BOB, 0, of_bob);
	for (size_t i = 0; i < n; i++)
		open_session(a, ANA, (int64_t)i, v[i]);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(is_of(a, v[i], 50, ANA), i >= 3);
	assert_true(is_of(a, of_bob, 50, BOB));
	for (uid_t u = 0; u < AUTH_SESSIONS_MAX; u++)
		open_session(a, 10000 + u, 60, v[0]);
	assert_false(is_of(a, of_bob, 60, BOB)); /* the oldest of all */
	assert_true(is_of(a, v[0], 60, 10000 + AUTH_SESSIONS_MAX - 1));
	auth_free(a);
}

static void links_are_bounded(void **state)
{
	struct auth *a = new_auth();
	char v[AUTH_LINKS_PER_USER + 1][AUTH_SECRET], session[AUTH_SECRET];
	struct error err;

	(void)state;
	for (int i = 0; i <= AUTH_LINKS_PER_USER; i++)
		auth_link(a, ANA, 0, v[i]);
	assert_int_equal(auth_redeem(a, v[0], 1, session, &err), -1);
	for (int i = 1; i <= AUTH_LINKS_PER_USER; i++)
		assert_int_equal(auth_redeem(a, v[i], 1, session, &err), 0);
	auth_free(a);
}

static void proofs(void **state)
{
	struct auth *a = new_auth(), *b = new_auth();
	char one[AUTH_SECRET], two[AUTH_SECRET], proof[AUTH_SECRET], other[AUTH_SECRET];

	(void)state;
	open_session(a, ANA, 0, one);
	open_session(a, ANA, 0, two);
	auth_proof(a, one, proof);
	assert_true(auth_proof_holds(a, one, proof));
	assert_false(auth_proof_holds(a, two, proof));
	assert_false(auth_proof_holds(a, one, ""));
	assert_false(auth_proof_holds(a, one, one));
	auth_proof(b, one, other); /* of another process */
	assert_false(auth_proof_holds(a, one, other));
	proof[0] ^= 1;
	assert_false(auth_proof_holds(a, one, proof));
	auth_free(a);
	auth_free(b);
}

static void tokens(void **state)
{
	struct auth_config other_key = { .session_s = 1 };
	struct auth *a = new_auth(), *same = new_auth(), *other = auth_new(&other_key);
	char token[AUTH_TOKEN], changed[2 * AUTH_TOKEN];
	struct error err;
	uid_t uid = 0;

	(void)state;
	auth_token(a, ANA, 5000, token);
	assert_int_equal(auth_token_uid(a, token, 4999, &uid, &err), 0);
	assert_int_equal(uid, ANA);
	assert_int_equal(auth_token_uid(same, token, 4999, &uid, &err), 0); /* after a restart */
	assert_int_equal(auth_token_uid(a, token, 5000, &uid, &err), -1);
	assert_int_equal(auth_token_uid(other, token, 4999, &uid, &err), -1);
	for (size_t i = 0; token[i]; i++) {
		memcpy(changed, token, sizeof(token));
		changed[i] ^= 1;
		assert_int_equal(auth_token_uid(a, changed, 4999, &uid, &err), -1);
		memcpy(changed, token, sizeof(token));
		changed[i] = '\0';
		assert_int_equal(auth_token_uid(a, changed, 4999, &uid, &err), -1);
	}
	snprintf(changed, sizeof(changed), "%s0", token);
	assert_int_equal(auth_token_uid(a, changed, 4999, &uid, &err), -1);
	snprintf(changed, sizeof(changed), "gweb1.+1000.5000.%s", strrchr(token, '.') + 1);
	assert_int_equal(auth_token_uid(a, changed, 4999, &uid, &err), -1);
	auth_free(a);
	auth_free(same);
	auth_free(other);
}

/* Whatever differs makes another text. */
static void signed_texts(void **state)
{
	static const char *const v[][4] = {
		{ "GET", "/v1/jobs", "h:1", "" },
		{ "POST", "/v1/jobs", "h:1", "" },
		{ "GET", "/v1/jobs?a=b", "h:1", "" },
		{ "GET", "/v1/jobs", "h:2", "" },
		{ "GET", "/v1/jobs", "h:1", "x" },
	};
	char *texts[5];

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		texts[i] = auth_signed_text(v[i][0], v[i][1], v[i][2], v[i][3], strlen(v[i][3]));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(texts[i], texts[k]);
	}
	for (size_t i = 0; i < 5; i++)
		free(texts[i]);
}

static struct viewer *viewer_of(uid_t uid, const char *name, bool staff, bool private_data)
{
	char *accounts[] = { (char *)(uintptr_t) "red", (char *)(uintptr_t) "blue" };
	Gpusched__LookAsResult m = GPUSCHED__LOOK_AS_RESULT__INIT;

	m.user = (char *)(uintptr_t)name;
	m.staff = staff;
	m.private_jobs = m.private_usage = private_data;
	m.accounts = accounts;
	m.n_accounts = uid == BOB ? 2 : 0;
	return viewer_new(uid, &m);
}

static void what_a_viewer_sees(void **state)
{
	struct viewer *open = viewer_of(ANA, "ana", false, false);
	struct viewer *ana = viewer_of(ANA, "ana", false, true);
	struct viewer *bob = viewer_of(BOB, "bob", false, true);
	struct viewer *op = viewer_of(5, "op", true, true);
	const struct viewer *nobody = viewer_nobody(true, true);

	(void)state;
	assert_true(viewer_sees(open, BOB, "x"));
	assert_true(viewer_sees(viewer_nobody(false, false), BOB, "x"));
	assert_true(viewer_sees(ana, ANA, "x"));
	assert_false(viewer_sees(ana, BOB, "x"));
	assert_false(viewer_sees(ana, BOB, "red"));
	assert_true(viewer_sees(bob, ANA, "red"));
	assert_true(viewer_sees(bob, ANA, "blue"));
	assert_false(viewer_sees(bob, ANA, "green"));
	assert_true(viewer_sees(op, ANA, "green"));
	assert_false(viewer_sees(nobody, 0, "red")); /* its uid is not 0's */
	assert_true(viewer_sees_usage(ana, "x", "ana"));
	assert_true(viewer_sees_usage(ana, "x", ""));
	assert_false(viewer_sees_usage(ana, "x", "bob"));
	assert_true(viewer_sees_usage(bob, "red", "ana"));
	assert_false(viewer_sees_usage(nobody, "red", "ana"));
	assert_true(viewer_same_jobs(open, op));
	assert_false(viewer_same_jobs(ana, bob));
	assert_false(viewer_same_jobs(ana, op));
	assert_true(viewer_same_jobs(ana, ana));
	viewer_put(open);
	viewer_put(ana);
	viewer_put(bob);
	viewer_put(op);
	viewer_put(NULL);
	viewer_put(viewer_get(nobody));
}

static void kept_viewers(void **state)
{
	struct viewers *vs = viewers_new();
	struct viewer *ana = viewer_of(ANA, "ana", false, false), *v;
	bool fresh;

	(void)state;
	assert_null(viewers_find(vs, ANA, 0, &fresh));
	assert_false(fresh);
	viewers_set(vs, ANA, ana, 0);
	viewer_put(ana);
	v = viewers_find_name(vs, "ana", VIEWERS_FRESH_S - 1, &fresh);
	assert_true(v && fresh && v->uid == ANA);
	viewer_put(v);
	v = viewers_find(vs, ANA, VIEWERS_FRESH_S, &fresh);
	assert_true(v && !fresh);
	viewers_set(vs, ANA, NULL, 1);
	assert_null(viewers_find(vs, ANA, 1, &fresh));
	assert_string_equal(v->name, "ana"); /* a reference outlives it */
	viewer_put(v);
	for (uid_t u = 0; u <= VIEWERS_MAX; u++) {
		v = viewer_of(u, "u", false, false);
		viewers_set(vs, u, v, 2);
		viewer_put(v);
	}
	assert_null(viewers_find(vs, 0, 2, &fresh));
	v = viewers_find(vs, VIEWERS_MAX, 2, &fresh);
	assert_non_null(v);
	viewer_put(v);
	viewers_free(vs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_opens_once),
		cmocka_unit_test(a_link_expires),
		cmocka_unit_test(a_session_ends),
		cmocka_unit_test(sessions_are_bounded),
		cmocka_unit_test(links_are_bounded),
		cmocka_unit_test(proofs),
		cmocka_unit_test(tokens),
		cmocka_unit_test(signed_texts),
		cmocka_unit_test(what_a_viewer_sees),
		cmocka_unit_test(kept_viewers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
