/* lookup.h - queries of the launcher to munge and to the user database, and their cached answers
 *
 * Both may block (a stalled munge daemon, a name service over the network), so both run in a worker
 * pool and answer later; a query whose answer is cached is answered at once. An array job thereby
 * costs one munge decode, however many of its tasks come at the same time.
 *
 * Credentials are cached by their exact bytes: the last LOOKUP_CREDS_MAX. If the munge daemon does
 * not answer, the query is repeated until LOOKUP_MUNGE_PATIENCE_S are over: a restart of the daemon
 * is no reason to refuse a job. Users are cached for LOOKUP_USER_LIFE_S, refusals not at all.
 */
#ifndef NODED_LOOKUP_H
#define NODED_LOOKUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/net/munge.h"
#include "common/net/worker.h"

#define LOOKUP_CREDS_MAX        1024
#define LOOKUP_MUNGE_PATIENCE_S 60
#define LOOKUP_USER_LIFE_S      60

struct event_base;
struct lookup;

/* All borrowed. */
struct lookup *lookup_new(
        struct event_base *base, struct worker_pool *pool, const struct mcred_ops *munge);
/* Open queries get no answer. Free it before the pool. NULL is fine. */
void lookup_free(struct lookup *a);

/* Called once for each query, with `cred` or else `err`. `cred` is borrowed until return. Its
 * status may be any value: munge vouches for payload, uid and gid. */
typedef void lookup_cred_fn(const struct mcred *cred, const struct error *err, void *arg);

void lookup_cred(struct lookup *a, const void *bytes, size_t len, lookup_cred_fn *fn, void *arg);

/* The same for a credential that may be used only once: it is not cached, and a credential that is
 * cached or being decoded is answered with ERR_MUNGE_REPLAY. */
void lookup_cred_once(
        struct lookup *a, const void *bytes, size_t len, lookup_cred_fn *fn, void *arg);

struct lookup_user {
	char *name, *home, *shell;
	uid_t uid;
	gid_t gid; /* the groups are for this one */
	uint32_t *groups;
	size_t n_groups;
};

typedef void lookup_user_fn(const struct lookup_user *user, const struct error *err, void *arg);

/* Look up the user `name`, which must have this uid; "": any user with this uid. ERR_JOB_SPEC if
 * there is none. */
void lookup_user(
        struct lookup *a, const char *name, uid_t uid, gid_t gid, lookup_user_fn *fn, void *arg);

/* Make a credential. */
typedef void lookup_made_fn(const char *credential, const struct error *err, void *arg);

void lookup_make(struct lookup *a, const void *payload, size_t len, uid_t restrict_uid,
        lookup_made_fn *fn, void *arg);

#endif
