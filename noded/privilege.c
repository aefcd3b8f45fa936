/* privilege.c - see privilege.h */
#include "noded/privilege.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/xalloc.h"
#include "noded/drop.h"

#define GROUPS_MAX 65536

#define SECURE_ALL                                                        \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |  \
	        SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | \
	        SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static int failed(struct error *err, const char *call)
{
	return error_set(err, ERR_SYSTEM, "cannot drop privileges: %s: %s", call, strerror(errno));
}

/* uid 0 with nothing but its files. */
static int drop_capabilities(struct error *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	uint64_t left = 0;

	if (drop_system_calls.clear_bounding() < 0)
		return failed(err, "bounding set");
	if (prctl(PR_SET_SECUREBITS, SECURE_ALL, 0, 0, 0) < 0)
		return failed(err, "securebits");
	if (setgroups(0, NULL) < 0)
		return failed(err, "setgroups");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return failed(err, "ambient set");
	if (syscall(SYS_capset, &head, data) < 0)
		return failed(err, "capset");
	if (drop_system_calls.get_caps(&left) < 0 || left)
		return error_set(err, ERR_SYSTEM, "cannot drop privileges: capabilities are left");
	return 0;
}

static int become(const struct passwd *pw, struct error *err)
{
	gid_t *groups = xcalloc(GROUPS_MAX, sizeof(*groups));
	int n = GROUPS_MAX, rc;
	struct drop_to to = { .uid = pw->pw_uid, .gid = pw->pw_gid };

	if (getgrouplist(pw->pw_name, pw->pw_gid, groups, &n) < 0) {
		free(groups);
		return error_set(err, ERR_SYSTEM, "user %s is in too many groups", pw->pw_name);
	}
	to.groups = groups;
	to.n_groups = (size_t)n;
	rc = drop_privileges(&drop_system_calls, &to, err);
	free(groups);
	return rc;
}

int privilege_drop(const char *user, struct error *err)
{
	struct passwd *pw = NULL;

	if (user && *user) {
		errno = 0;
		pw = getpwnam(user);
		if (!pw)
			return error_set(err, ERR_USAGE, "--user=%s: %s", user,
			        errno ? strerror(errno) : "no such user");
	}
	if (geteuid() != 0) {
		if (pw && pw->pw_uid != geteuid())
			return error_set(err, ERR_USAGE,
			        "--user=%s: only root can become another user", user);
	} else if (pw && pw->pw_uid != 0) {
		if (become(pw, err) < 0)
			return -1;
	} else if (drop_capabilities(err) < 0) {
		return -1;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return failed(err, "no_new_privs");
	return 0;
}
