/* munge_queries.h - queries of the launcher to munge: decoding credentials, with a cache, and
 * making them
 *
 * Munge may block (a stalled daemon), so queries run in a worker pool and are answered later; a
 * query whose answer is cached is answered at once. An array job thereby costs one munge decode,
 * however many of its tasks come at the same time.
 *
 * Credentials are cached by their exact bytes: the last MUNGE_CACHE_MAX. If the munge daemon does
 * not answer, the query is repeated until MUNGE_RETRY_S are over: a restart of the daemon is no
 * reason to refuse a job.
 */
#ifndef NODED_MUNGE_QUERIES_H
#define NODED_MUNGE_QUERIES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/net/munge.h"
#include "common/net/worker.h"

#define MUNGE_CACHE_MAX 1024
#define MUNGE_RETRY_S   60

struct event_base;
struct munge_queries;

/* All borrowed. */
struct munge_queries *munge_queries_new(
        struct event_base *base, struct worker_pool *pool, const struct mcred_ops *munge);
/* Open queries get no answer. Free it before the pool. NULL is fine. */
void munge_queries_free(struct munge_queries *q);

/* Called once for each query, with `cred` or else `err`. `cred` is borrowed until return. Its
 * status may be any value: munge vouches for payload, uid and gid. */
typedef void munge_decoded_fn(const struct mcred *cred, const struct error *err, void *arg);

void munge_query_decode(
        struct munge_queries *q, const void *bytes, size_t len, munge_decoded_fn *fn, void *arg);

/* The same for a credential that may be used only once: it is not cached, and a credential that is
 * cached or being decoded is answered with ERR_MUNGE_REPLAY. */
void munge_query_decode_once(
        struct munge_queries *q, const void *bytes, size_t len, munge_decoded_fn *fn, void *arg);

/* Make a credential. */
typedef void munge_made_fn(const char *credential, const struct error *err, void *arg);

void munge_query_make(struct munge_queries *q, const void *payload, size_t len, uid_t restrict_uid,
        munge_made_fn *fn, void *arg);

#endif
