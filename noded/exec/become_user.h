/* become_user.h - become the user, and prove it
 *
 * In this order: supplementary groups, group, session keyring, bounding set, user, capabilities;
 * then everything is read back and compared, and an attempt to become root again must fail. Any
 * mismatch is an error, after which the process must end: nothing is executed between two
 * identities [slurm CVE-2019-19728; flux IMP]. The session keyring is a new one: a process that
 * stays in the agent's keyring can read the keys in it under any user id, and all jobs would share
 * it [session-keyring(7)]. With an empty bounding set no file gives capabilities either, should
 * no_new_privs ever fail to hold; a user namespace has a bounding set of its own
 * [user_namespaces(7)], so rootless containers work as usual.
 *
 * The system calls go through a table, so that a test can make each of them fail or return a false
 * result.
 */
#ifndef NODED_BECOME_USER_H
#define NODED_BECOME_USER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"

struct become_user_to {
	uid_t uid;
	gid_t gid;
	const uint32_t *groups;
	size_t n_groups;
};

struct become_user_calls {
	int (*set_groups)(size_t n, const gid_t *groups);
	int (*set_gids)(gid_t r, gid_t e, gid_t s);
	int (*new_keyring)(void);
	int (*clear_bounding)(void);
	int (*set_uids)(uid_t r, uid_t e, uid_t s);
	int (*clear_caps)(void);
	int (*get_groups)(int n, gid_t *groups);
	int (*get_gids)(gid_t *r, gid_t *e, gid_t *s);
	int (*get_uids)(uid_t *r, uid_t *e, uid_t *s);
	uid_t (*get_fsuid)(void);
	gid_t (*get_fsgid)(void);
	/* Bits of the inheritable, permitted, effective and ambient sets together; -1: unknown. */
	int (*get_caps)(uint64_t *any);
	int (*get_bounding)(int *any); /* is any capability in the bounding set? */
};

extern const struct become_user_calls become_user_system_calls;

/* 0, or -1 with ERR_LAUNCH. root (uid 0) keeps its capabilities, and the bounding set. */
int become_user_for_good(
        const struct become_user_calls *calls, const struct become_user_to *to, struct error *err);

/* For an agent that is not root: is this process exactly that user already? The bounding set is
 * not checked, since such a process cannot clear it. */
int become_user_prove(
        const struct become_user_calls *calls, const struct become_user_to *to, struct error *err);

#endif
