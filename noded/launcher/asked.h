/* asked.h - queries of the launcher to munge and to the user database, and their cached answers
 *
 * Both may block (a stalled munge daemon, a name service over the network), so both run in a worker
 * pool and answer later; a query whose answer is cached is answered at once. An array job thereby
 * costs one munge decode, however many of its tasks come at the same time.
 *
 * Credentials are cached by their exact bytes: the last ASKED_CREDS_MAX. If the munge daemon does
 * not answer, the query is repeated until ASKED_MUNGE_PATIENCE_S are over: a restart of the daemon
 * is no reason to refuse a job. Users are cached for ASKED_USER_LIFE_S, refusals not at all.
 */
#ifndef NODED_ASKED_H
#define NODED_ASKED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/net/mcred.h"
#include "common/net/worker.h"

#define ASKED_CREDS_MAX        1024
#define ASKED_MUNGE_PATIENCE_S 60
#define ASKED_USER_LIFE_S      60

struct event_base;
struct asked;

/* All borrowed. */
struct asked *asked_new(
        struct event_base *base, struct worker_pool *pool, const struct mcred_ops *munge);
/* Open queries get no answer. Free it before the pool. NULL is fine. */
void asked_free(struct asked *a);

/* Called once for each query, with `cred` or else `err`. `cred` is borrowed until return. Its
 * status may be any value: munge vouches for payload, uid and gid. */
typedef void asked_cred_fn(const struct mcred *cred, const struct error *err, void *arg);

void asked_cred(struct asked *a, const void *bytes, size_t len, asked_cred_fn *fn, void *arg);

/* The same for a credential that may be used only once: it is not cached, and a credential that is
 * cached or being decoded is answered with ERR_MUNGE_REPLAY. */
void asked_cred_once(struct asked *a, const void *bytes, size_t len, asked_cred_fn *fn, void *arg);

struct asked_user {
	char *name, *home, *shell;
	uid_t uid;
	gid_t gid; /* the groups are for this one */
	uint32_t *groups;
	size_t n_groups;
};

typedef void asked_user_fn(const struct asked_user *user, const struct error *err, void *arg);

/* Look up the user `name`, which must have this uid; "": any user with this uid. ERR_JOB_SPEC if
 * there is none. */
void asked_user(
        struct asked *a, const char *name, uid_t uid, gid_t gid, asked_user_fn *fn, void *arg);

/* Make a credential. */
typedef void asked_made_fn(const char *credential, const struct error *err, void *arg);

void asked_make(struct asked *a, const void *payload, size_t len, uid_t restrict_uid,
        asked_made_fn *fn, void *arg);

#endif
