/* become_user.c - see become_user.h */
#include "noded/exec/become_user.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/xalloc.h"

#define GROUPS_MAX 65536 /* the kernel's NGROUPS_MAX */

/* --- the system's calls ----------------------------------------------------------------------- */

static int sys_set_groups(size_t n, const gid_t *groups)
{
	return setgroups(n, groups);
}

/* If the kernel has no keys, or a sandbox forbids them, there is no keyring to replace. */
static int sys_new_keyring(void)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS &&
	        errno != EPERM)
		return -1;
	return 0;
}

/* EINVAL: the first capability number that this kernel does not know. */
static int sys_clear_bounding(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return -1;
	}
	return 0;
}

static int sys_get_bounding(int *any)
{
	int in;

	*any = 0;
	for (int cap = 0; (in = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) >= 0; cap++)
		*any |= in;
	return 0;
}

/* Kernel ABI [capget(2)]; libcap's cap_t would allocate and know names that we do not need. */
static int sys_clear_caps(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_capset, &head, data);
}

static int sys_get_caps(uint64_t *any)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	*any = data[0].effective | data[0].permitted | data[0].inheritable | data[1].effective |
	       data[1].permitted | data[1].inheritable;
	/* Ambient capabilities are a subset of the permitted ones [capabilities(7)]. */
	return 0;
}

static uid_t sys_get_fsuid(void)
{
	return (uid_t)setfsuid((uid_t)-1);
}

static gid_t sys_get_fsgid(void)
{
	return (gid_t)setfsgid((gid_t)-1);
}

const struct become_user_calls become_user_system_calls = {
	.set_groups = sys_set_groups,
	.set_gids = setresgid,
	.new_keyring = sys_new_keyring,
	.clear_bounding = sys_clear_bounding,
	.set_uids = setresuid,
	.clear_caps = sys_clear_caps,
	.get_groups = getgroups,
	.get_gids = getresgid,
	.get_uids = getresuid,
	.get_fsuid = sys_get_fsuid,
	.get_fsgid = sys_get_fsgid,
	.get_caps = sys_get_caps,
	.get_bounding = sys_get_bounding,
};

/* --- the proof -------------------------------------------------------------------------------- */

static int failed(struct error *err, const char *what)
{
	return error_set(err, ERR_LAUNCH, "cannot become the user: %s: %s", what, strerror(errno));
}

static int wrong(struct error *err, const char *what)
{
	return error_set(err, ERR_LAUNCH, "did not become the user: %s", what);
}

static int gid_order(const void *a, const void *b)
{
	gid_t x = *(const gid_t *)a, y = *(const gid_t *)b;

	return x < y ? -1 : x > y;
}

/* The same set? Both are sorted in place. */
static int groups_equal(gid_t *a, size_t n, const struct become_user_to *to)
{
	gid_t *b = xcalloc(to->n_groups + 1, sizeof(*b));
	int equal;

	for (size_t i = 0; i < to->n_groups; i++)
		b[i] = (gid_t)to->groups[i];
	qsort(b, to->n_groups, sizeof(*b), gid_order);
	qsort(a, n, sizeof(*a), gid_order);
	equal = n == to->n_groups && memcmp(a, b, n * sizeof(*a)) == 0;
	free(b);
	return equal;
}

static int prove_groups(
        const struct become_user_calls *calls, const struct become_user_to *to, struct error *err)
{
	gid_t *groups = xcalloc(GROUPS_MAX, sizeof(*groups));
	int n = calls->get_groups(GROUPS_MAX, groups);
	int equal = n >= 0 && groups_equal(groups, (size_t)n, to);

	free(groups);
	return equal ? 0 : wrong(err, "supplementary groups differ");
}

static int prove_ids(
        const struct become_user_calls *calls, const struct become_user_to *to, struct error *err)
{
	uid_t ru, eu, su;
	gid_t rg, eg, sg;

	if (calls->get_uids(&ru, &eu, &su) < 0 || ru != to->uid || eu != to->uid || su != to->uid)
		return wrong(err, "user ids differ");
	if (calls->get_gids(&rg, &eg, &sg) < 0 || rg != to->gid || eg != to->gid || sg != to->gid)
		return wrong(err, "group ids differ");
	if (calls->get_fsuid() != to->uid || calls->get_fsgid() != to->gid)
		return wrong(err, "file system ids differ");
	return 0;
}

int become_user_prove(
        const struct become_user_calls *calls, const struct become_user_to *to, struct error *err)
{
	uint64_t caps = 0;

	if (prove_ids(calls, to, err) < 0)
		return -1;
	if (to->uid == 0)
		return 0;
	if (calls->get_caps(&caps) < 0 || caps != 0)
		return wrong(err, "capabilities are left");
	if (calls->set_uids(0, 0, 0) == 0 || calls->set_uids((uid_t)-1, 0, (uid_t)-1) == 0)
		return wrong(err, "root can be regained");
	return prove_ids(calls, to, err);
}

int become_user_for_good(
        const struct become_user_calls *calls, const struct become_user_to *to, struct error *err)
{
	gid_t *groups = xcalloc(to->n_groups + 1, sizeof(*groups));
	int r, bounding;

	for (size_t i = 0; i < to->n_groups; i++)
		groups[i] = (gid_t)to->groups[i];
	r = calls->set_groups(to->n_groups, groups);
	free(groups);
	if (r < 0)
		return failed(err, "setgroups");
	if (calls->set_gids(to->gid, to->gid, to->gid) < 0)
		return failed(err, "setresgid");
	/* Still as root: the keyring counts as one of root's keys, of which there may be a
	 * million, and not as one of the user's 200. */
	if (calls->new_keyring() < 0)
		return failed(err, "a session keyring");
	if (to->uid != 0 && calls->clear_bounding() < 0)
		return failed(err, "bounding set");
	if (calls->set_uids(to->uid, to->uid, to->uid) < 0)
		return failed(err, "setresuid");
	if (to->uid != 0 && calls->clear_caps() < 0)
		return failed(err, "capset");
	if (prove_groups(calls, to, err) < 0)
		return -1;
	if (to->uid != 0 && (calls->get_bounding(&bounding) < 0 || bounding))
		return wrong(err, "the bounding set is not empty");
	return become_user_prove(calls, to, err);
}
