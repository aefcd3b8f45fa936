/* user_names.h - login names and groups
 *
 * Name services may be slow or down, so names are looked up in workers and kept: a name for
 * USERS_KEEP_S, "there is no such user" for USERS_KEEP_NONE_S. When a lookup fails (the service
 * does not answer) an old answer stays good.
 */
#ifndef CTLD_USER_NAMES_H
#define CTLD_USER_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/net/worker.h"

#define USERS_KEEP_S      600
#define USERS_KEEP_NONE_S 30

struct users;

/* A look-up that was requested is done: what can be known of the user is known now. */
typedef void users_known_fn(void *arg, uint64_t who);

struct users *users_new(struct worker_pool *pool, users_known_fn *known, void *arg);
void users_free(struct users *u); /* before its pool; NULL is fine */

/* Look a name up, unless there is a fresh answer: 1, it is there already; 0, known(who) will be
 * called; -1 with ERR_BUSY. */
int users_look_up(struct users *u, uid_t uid, uint64_t who, struct error *err);

enum user_state {
	USER_NAMED,
	USER_NAMELESS, /* the name service knows no such user */
	USER_NOT_KNOWN /* not asked yet, or it does not answer */
};

/* What the last answer was, however old. *name is borrowed: the login name or "uid N". */
enum user_state users_name(struct users *u, uid_t uid, const char **name);

/* How many were ever looked up. */
size_t users_count(const struct users *u);

/* The names of the user's Unix groups as of then; n_groups of them, borrowed until the next lookup.
 */
const char *const *users_groups(struct users *u, uid_t uid, size_t *n_groups);

#endif
