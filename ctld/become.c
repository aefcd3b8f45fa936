/* become.c - see become.h */
#include "ctld/become.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

int become_lookup(const char *user, uid_t *uid, gid_t *gid, struct error *err)
{
	struct passwd entry, *found = NULL;
	char buf[16384];
	int error = getpwnam_r(user, &entry, buf, sizeof(buf), &found);

	if (!found)
		return error_set(err, ERR_CONFIG, "there is no user '%s'%s%s", user,
		        error ? ": " : "", error ? strerror(error) : "");
	*uid = found->pw_uid;
	*gid = found->pw_gid;
	return 0;
}

/* Nothing of the old user may be left, and nothing may bring it back. */
static int prove(uid_t uid, gid_t gid, struct error *err)
{
	uid_t r, e, s;
	gid_t rg, eg, sg;

	if (getresuid(&r, &e, &s) || getresgid(&rg, &eg, &sg))
		return error_set(err, ERR_SYSTEM, "getresuid: %s", strerror(errno));
	if (r != uid || e != uid || s != uid || rg != gid || eg != gid || sg != gid ||
	        (uid != 0 && (setuid(0) == 0 || seteuid(0) == 0)))
		return error_set(err, ERR_SYSTEM, "could not get rid of root's privileges");
	return 0;
}

int become_user(const char *user, struct error *err)
{
	uid_t uid;
	gid_t gid;

	if (become_lookup(user, &uid, &gid, err))
		return error_wrap(err, "controller.user");
	if (geteuid() != 0) {
		if (geteuid() == uid && getuid() == uid)
			return 0;
		error_set(err, ERR_CONFIG, "controller.user is '%s', this is uid %u", user,
		        (unsigned)geteuid());
		return error_hint(err, "start it as that user, or as root");
	}
	if (uid == 0)
		return 0; /* the site says so */
	if (initgroups(user, gid) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return error_set(
		        err, ERR_SYSTEM, "cannot become user '%s': %s", user, strerror(errno));
	return prove(uid, gid, err);
}
