/* munge.h - munge credentials: all of munge that gpusched uses
 *
 * A credential proves which user made it (uid and gid, as the munge daemon of that host saw them)
 * and when, and only one uid can read its payload. Encoding forces AES-256: a payload may contain
 * a secret, whatever the site's default cipher is. Both calls block on the munge daemon: on an
 * event loop they run in a worker (worker.h). The real functions can be called from any thread.
 *
 * Callers get a `struct mcred_ops`, so that tests and the fault simulation can put a stand-in with
 * munge's own error codes behind it (testsuite/sim/fake_munge.h).
 *
 * Errors and what they mean for a user:
 *   ERR_MUNGE_DOWN    the daemon does not answer (with the socket's path)
 *   ERR_MUNGE_KEY     the credential was made with another key
 *   ERR_MUNGE_CLOCK   expired, or from the future: the clocks differ (with by how much)
 *   ERR_MUNGE_REPLAY  decoded before on this host
 *   ERR_AUTH          not a credential, or one that only another uid may decode
 */
#ifndef COMMON_MUNGE_H
#define COMMON_MUNGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"

#define MCRED_ANY_UID  ((uid_t)-1) /* not restricted: every uid may decode it */
#define MCRED_TEXT_MAX 16384       /* no credential of gpusched is longer */

/* For the last three munge still vouches for payload, uid and gid. */
enum mcred_status { MCRED_OK, MCRED_EXPIRED, MCRED_REWOUND, MCRED_REPLAYED };

struct mcred {
	void *payload; /* owned; wiped by mcred_clear() */
	size_t len;
	uid_t uid;
	gid_t gid;
	enum mcred_status status;
	int64_t encode_time; /* seconds of UTC, the encoding host's clock */
	int64_t decode_time; /* seconds of UTC, this host's clock */
	int32_t ttl_s;
	uid_t restrict_uid; /* MCRED_ANY_UID: none */
	bool aes256;        /* the payload was encrypted, and with AES-256 */
};

/* One munge daemon, real or not. The implementation's struct begins with this one. */
struct mcred_ops {
	/* Make a credential of `len` bytes that only `restrict_uid` may decode. The caller frees
	 * *cred (text, NUL-terminated). */
	int (*encode)(const struct mcred_ops *ops, const void *payload, size_t len,
	        uid_t restrict_uid, char **cred, struct error *err);
	/* Success means that munge vouches for payload, uid and gid; whether it may be used now is
	 * in out->status. On success the caller clears *out. */
	int (*decode)(const struct mcred_ops *ops, const char *cred, struct mcred *out,
	        struct error *err);
	void (*free)(struct mcred_ops *ops);
};

/* The munge daemon behind `socket` (NULL or "": munge's own default), and with `second` (NULL or
 * "": none) the one behind that too, as mcred_pair_new(). NULL: out of memory. */
struct mcred_ops *mcred_munge_new(const char *socket, const char *second);
/* Two daemons with different keys, while the one key is replaced by the other: encodes with the
 * first, decodes with either. ERR_MUNGE_DOWN: one of them did not answer, and the other one cannot
 * decode it; ERR_MUNGE_KEY: neither can. Takes both over, also on failure (NULL: out of memory; so
 * is either of them). */
struct mcred_ops *mcred_pair_new(struct mcred_ops *first, struct mcred_ops *second);
void mcred_ops_free(struct mcred_ops *ops); /* NULL is fine */

void mcred_clear(struct mcred *m);

/* 0 if the credential may be used now; else -1 with ERR_MUNGE_CLOCK or ERR_MUNGE_REPLAY. */
int mcred_demand_fresh(const struct mcred *m, struct error *err);

/* An EMUNGE_* code as an error: the one mapping, for the real and the stand-in. `socket` may be
 * NULL. Returns -1. */
int mcred_error(int emunge, const char *socket, const char *munge_text, struct error *err);

#endif
