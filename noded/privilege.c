/* privilege.c - see privilege.h */
#include "noded/privilege.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "noded/exec/become_user.h"

#define GROUPS_MAX 65536

#define SECURE_ALL                                                        \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |  \
	        SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | \
	        SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static int failed(struct error *err, const char *call)
{
	return error_set(err, ERR_SYSTEM, "cannot drop privileges: %s: %s", call, strerror(errno));
}

/* Stay uid 0 without capabilities: only root's files remain accessible. */
static int drop_capabilities(struct error *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	uint64_t left = 0;

	if (become_user_system_calls.clear_bounding() < 0)
		return failed(err, "bounding set");
	if (prctl(PR_SET_SECUREBITS, SECURE_ALL, 0, 0, 0) < 0)
		return failed(err, "securebits");
	if (setgroups(0, NULL) < 0)
		return failed(err, "setgroups");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return failed(err, "ambient set");
	if (syscall(SYS_capset, &head, data) < 0)
		return failed(err, "capset");
	if (become_user_system_calls.get_caps(&left) < 0 || left)
		return error_set(err, ERR_SYSTEM, "cannot drop privileges: capabilities are left");
	return 0;
}

static int become(const struct passwd *pw, struct error *err)
{
	gid_t *groups = xcalloc(GROUPS_MAX, sizeof(*groups));
	int n = GROUPS_MAX, rc;
	struct become_user_to to = { .uid = pw->pw_uid, .gid = pw->pw_gid };

	if (getgrouplist(pw->pw_name, pw->pw_gid, groups, &n) < 0) {
		free(groups);
		return error_set(err, ERR_SYSTEM, "user %s is in too many groups", pw->pw_name);
	}
	to.groups = groups;
	to.n_groups = (size_t)n;
	rc = become_user_for_good(&become_user_system_calls, &to, err);
	free(groups);
	return rc;
}

/* Take a uid and gid that no user and no group has. */
static int become_nobody_else(struct error *err)
{
	struct become_user_to to = { 0 };

	for (uid_t id = PRIVILEGE_LAST; id >= PRIVILEGE_FIRST && !to.uid; id--) {
		if (!getpwuid(id) && !getgrgid(id))
			to.uid = to.gid = id;
	}
	if (!to.uid)
		return error_set(err, ERR_SYSTEM,
		        "there is no user " PRIVILEGE_USER ", and each number from %d to %d is a "
		        "user's or a group's: make that user, or name another (--user=NAME)",
		        PRIVILEGE_FIRST, PRIVILEGE_LAST);
	if (become_user_for_good(&become_user_system_calls, &to, err) < 0)
		return error_wrap(err, "as uid %u (--user=NAME names another)", (unsigned)to.uid);
	log_warning("there is no user " PRIVILEGE_USER ": the network half is uid %u; make that "
	            "user (systemd-sysusers, or useradd --system), or name another (--user=NAME)",
	        (unsigned)to.uid);
	return 0;
}

static int drop_as_root(const struct passwd *pw, struct error *err)
{
	if (!pw)
		return become_nobody_else(err);
	return pw->pw_uid == 0 ? drop_capabilities(err) : become(pw, err);
}

int privilege_drop(const char *user, struct error *err)
{
	bool named = user && *user, root = geteuid() == 0;
	struct passwd *pw = NULL;

	errno = 0;
	if (named || root)
		pw = getpwnam(named ? user : PRIVILEGE_USER);
	if (named && !pw)
		return error_set(err, ERR_USAGE, "--user=%s: %s", user,
		        errno ? strerror(errno) : "no such user");
	if (root && drop_as_root(pw, err) < 0)
		return -1;
	if (!root && pw && pw->pw_uid != geteuid())
		return error_set(err, ERR_USAGE, "--user=%s: only root can become another user",
		        user);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return failed(err, "no_new_privs");
	return 0;
}
