/* user_lookup.h - users and their groups, in this node's user database, with a cache
 *
 * A name service may block (over the network), so queries run in a worker pool and are answered
 * later; a user that is cached is answered at once. Users are cached for USER_LOOKUP_LIFE_S,
 * refusals not at all.
 */
#ifndef NODED_USER_LOOKUP_H
#define NODED_USER_LOOKUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/net/worker.h"

#define USER_LOOKUP_LIFE_S 60

struct user_lookup;

/* The pool is borrowed. */
struct user_lookup *user_lookup_new(struct worker_pool *pool);
/* Open queries get no answer. Free it before the pool. NULL is fine. */
void user_lookup_free(struct user_lookup *l);

struct node_user {
	char *name, *home, *shell;
	uid_t uid;
	gid_t gid; /* the groups are for this one */
	uint32_t *groups;
	size_t n_groups;
};

/* Called once for each query, with `user` or else `err`. `user` is borrowed until return. */
typedef void user_lookup_fn(const struct node_user *user, const struct error *err, void *arg);

/* Look up the user `name`, which must have this uid; "": any user with this uid. ERR_JOB_SPEC if
 * there is none. */
void user_lookup_find(struct user_lookup *l, const char *name, uid_t uid, gid_t gid,
        user_lookup_fn *fn, void *arg);

#endif
