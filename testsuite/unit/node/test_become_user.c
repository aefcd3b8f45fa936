/* test_become_user.c - noded/exec/become_user.h: each call fails once, or lies once; nothing may
 * slip through */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "noded/exec/become_user.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* A process that exists only here: root to begin with. */
static struct {
	uid_t ru, eu, su, fsu;
	gid_t rg, eg, sg, fsg;
	gid_t groups[8];
	int n_groups;
	uint64_t caps;
	int bounding;
	int keyrings; /* new ones */
	int calls;
	int fail_at; /* the call with this number fails */
	int lie_at;  /* this one says that it worked and did nothing */
} p;

/* -1: fail, 1: do nothing, 0: go on */
static int turn(void)
{
	p.calls++;
	if (p.calls == p.fail_at) {
		errno = EPERM;
		return -1;
	}
	return p.calls == p.lie_at;
}

static int fake_set_groups(size_t n, const gid_t *groups)
{
	int t = turn();

	if (t)
		return t < 0 ? -1 : 0;
	memcpy(p.groups, groups, n * sizeof(*groups));
	p.n_groups = (int)n;
	return 0;
}

static int fake_set_gids(gid_t r, gid_t e, gid_t s)
{
	int t = turn();

	if (t)
		return t < 0 ? -1 : 0;
	p.rg = r;
	p.eg = p.fsg = e;
	p.sg = s;
	return 0;
}

static int fake_new_keyring(void)
{
	int t = turn();

	if (!t)
		p.keyrings++;
	return t < 0 ? -1 : 0;
}

static int fake_clear_bounding(void)
{
	int t = turn();

	if (p.ru || p.eu || p.su) {
		errno = EPERM;
		return -1;
	}
	if (!t)
		p.bounding = 0;
	return t < 0 ? -1 : 0;
}

static int fake_get_bounding(int *any)
{
	*any = p.bounding;
	return turn() < 0 ? -1 : 0;
}

static int fake_set_uids(uid_t r, uid_t e, uid_t s)
{
	int t = turn();
	int root = p.ru == 0 || p.eu == 0 || p.su == 0;

	if (t)
		return t < 0 ? -1 : 0;
	if (!root) {
		errno = EPERM;
		return -1;
	}
	if (r != (uid_t)-1)
		p.ru = r;
	if (e != (uid_t)-1)
		p.eu = p.fsu = e;
	if (s != (uid_t)-1)
		p.su = s;
	return 0;
}

static int fake_clear_caps(void)
{
	int t = turn();

	if (t)
		return t < 0 ? -1 : 0;
	p.caps = 0;
	return 0;
}

static int fake_get_groups(int n, gid_t *groups)
{
	(void)n;
	if (turn() < 0)
		return -1;
	memcpy(groups, p.groups, (size_t)p.n_groups * sizeof(*groups));
	return p.n_groups;
}

static int fake_get_uids(uid_t *r, uid_t *e, uid_t *s)
{
	if (turn() < 0)
		return -1;
	*r = p.ru;
	*e = p.eu;
	*s = p.su;
	return 0;
}

static int fake_get_gids(gid_t *r, gid_t *e, gid_t *s)
{
	if (turn() < 0)
		return -1;
	*r = p.rg;
	*e = p.eg;
	*s = p.sg;
	return 0;
}

static uid_t fake_get_fsuid(void)
{
	return p.fsu;
}

static gid_t fake_get_fsgid(void)
{
	return p.fsg;
}

static int fake_get_caps(uint64_t *any)
{
	if (turn() < 0)
		return -1;
	*any = p.caps;
	return 0;
}

static const struct become_user_calls fake = {
	.set_groups = fake_set_groups,
	.set_gids = fake_set_gids,
	.new_keyring = fake_new_keyring,
	.clear_bounding = fake_clear_bounding,
	.set_uids = fake_set_uids,
	.clear_caps = fake_clear_caps,
	.get_groups = fake_get_groups,
	.get_gids = fake_get_gids,
	.get_uids = fake_get_uids,
	.get_fsuid = fake_get_fsuid,
	.get_fsgid = fake_get_fsgid,
	.get_caps = fake_get_caps,
	.get_bounding = fake_get_bounding,
};

static const uint32_t groups[] = { 1000, 27, 44 };
static const struct become_user_to ana = {
	.uid = 1000, .gid = 1000, .groups = groups, .n_groups = LEN(groups)
};

static void become_root(void)
{
	memset(&p, 0, sizeof(p));
	p.groups[0] = 0;
	p.n_groups = 1;
	p.caps = ~(uint64_t)0;
	p.bounding = 1;
}

static void all_ids_change(void **state)
{
	struct error err;

	(void)state;
	become_root();
	assert_int_equal(become_user_for_good(&fake, &ana, &err), 0);
	assert_true(p.ru == 1000 && p.eu == 1000 && p.su == 1000);
	assert_true(p.rg == 1000 && p.eg == 1000 && p.sg == 1000);
	assert_int_equal(p.n_groups, 3);
	assert_int_equal(p.keyrings, 1);
	assert_true(p.caps == 0 && p.bounding == 0);
}

/* The calls that must succeed are those before the two that must not: setting root again. */
static void no_call_may_fail(void **state)
{
	struct error err;
	int n;

	(void)state;
	become_root();
	assert_int_equal(become_user_for_good(&fake, &ana, &err), 0);
	n = p.calls;
	assert_int_equal(n, 15);
	for (int i = 1; i <= n; i++) {
		int may = i == 12 || i == 13; /* setresuid(0): refused is what we want */

		become_root();
		p.fail_at = i;
		assert_int_equal(become_user_for_good(&fake, &ana, &err), may ? 0 : -1);
		if (!may)
			assert_int_equal(err.code, ERR_LAUNCH);
	}
}

/* setgroups, setresgid, the bounding set, setresuid, capset that claim to have worked; and a
 * setresuid(0) that does.
 */
static void no_call_may_lie(void **state)
{
	struct error err;

	(void)state;
	for (int i = 1; i <= 6; i++) {
		if (i == 3) /* a session keyring: nothing would show it */
			continue;
		become_root();
		p.lie_at = i;
		assert_int_equal(become_user_for_good(&fake, &ana, &err), -1);
	}
	for (int i = 12; i <= 13; i++) {
		become_root();
		p.lie_at = i;
		assert_int_equal(become_user_for_good(&fake, &ana, &err), -1);
	}
}

static void proof_alone(void **state)
{
	struct error err;

	(void)state;
	become_root();
	assert_int_equal(become_user_prove(&fake, &ana, &err), -1);
	assert_int_equal(become_user_for_good(&fake, &ana, &err), 0);
	assert_int_equal(become_user_prove(&fake, &ana, &err), 0);
	p.fsu = 0;
	assert_int_equal(become_user_prove(&fake, &ana, &err), -1);
	p.fsu = 1000;
	p.caps = 1 << 21;
	assert_int_equal(become_user_prove(&fake, &ana, &err), -1);
}

static void root_stays_root(void **state)
{
	static const uint32_t wheel[] = { 0 };
	struct become_user_to root = { .uid = 0, .gid = 0, .groups = wheel, .n_groups = 1 };

	(void)state;
	become_root();
	assert_int_equal(become_user_for_good(&fake, &root, NULL), 0);
	assert_true(p.caps != 0 && p.bounding);
}

/* The real calls, read only: this process is who it is. */
static void real_calls_read(void **state)
{
	struct become_user_to me = { .uid = getuid(), .gid = getgid() };
	struct error err;
	uint64_t caps;

	(void)state;
	assert_int_equal(become_user_system_calls.get_caps(&caps), 0);
	assert_int_equal(become_user_prove(&become_user_system_calls, &me, &err), 0);
	me.uid++;
	assert_int_equal(become_user_prove(&become_user_system_calls, &me, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_ids_change),
		cmocka_unit_test(no_call_may_fail),
		cmocka_unit_test(no_call_may_lie),
		cmocka_unit_test(proof_alone),
		cmocka_unit_test(root_stays_root),
		cmocka_unit_test(real_calls_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
