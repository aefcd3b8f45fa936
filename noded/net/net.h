/* net.h - an agent's connection to the controller
 *
 * A `struct net` is where to connect and one set of sessions (common/session.h); a `struct link` is
 * the connection of one node through it. A link that is wanted dials, and dials again with jittered
 * back-off when it was refused or lost, for ever; messages go in and out while it is up. gnoded has
 * one link, `gnoded --simulate` thousands.
 *
 * At most NET_DIALLING connections of one net are in the making at a time: the others wait their
 * turn, since a controller limits how many unauthenticated connections one address may hold.
 *
 * Nothing here blocks but net_new() (name services).
 */
#ifndef NODED_NET_H
#define NODED_NET_H

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/conf.h"
#include "common/error.h"
#include "common/mcred.h"

#define NET_BACKOFF_MIN_MS 100
#define NET_BACKOFF_MAX_MS 10000
#define NET_DIALLING       128

struct event_base;
struct worker_pool;
struct net;
struct link;

struct link_ops {
	void (*up)(void *arg, uint64_t session);
	/* Good until return. A frame that cannot be decoded has closed the session before. */
	void (*message)(
	        void *arg, uint64_t session, unsigned type, const ProtobufCMessage *message);
	/* It was up and is no more, or (session 0) could not be made up; it will be tried again in
	 * `retry_ms`. */
	void (*down)(void *arg, uint64_t session, const struct error *why, unsigned retry_ms);
	/* It was full (link_full) and takes more now. NULL: nobody asks. */
	void (*writable)(void *arg, uint64_t session);
	/* Make a credential of a hello's payload and hand it to link_credential(), now or later.
	 * NULL: made by the net itself, through munge. */
	void (*credential)(void *arg, uint64_t session, const void *payload, size_t len,
	        uint32_t restrict_uid);
};

/* `client` and `mcred` are borrowed; mcred may be NULL if every link makes its own credentials. -1
 * (NULL) with ERR_CONFIG: the controller's user is not known here. */
struct net *net_new(struct event_base *base, struct worker_pool *pool,
        const struct conf_client *client, const struct mcred_ops *mcred, struct error *err);
/* After all its links. NULL is fine. */
void net_free(struct net *net);

/* `node` is copied, `ops` borrowed. Not wanted yet. */
struct link *link_new(struct net *net, const char *node, const struct link_ops *ops, void *arg);
void link_free(struct link *link); /* no callbacks; NULL is fine */

/* Be connected from now on (at once if it is not), or be not. */
void link_want(struct link *link, bool wanted);

/* Close this session, without down(), and dial again after a back-off if it is wanted. */
void link_close(struct link *link, uint64_t session);

/* The connection has proved good: the next loss is tried again soon. */
void link_is_good(struct link *link);

/* Queue a message. -1: it cannot be packed (ERR_PROTOCOL). A session that is gone is no error. */
int link_send(struct link *link, uint64_t session, unsigned type, const ProtobufCMessage *message,
        struct error *err);

/* Does much wait to be sent? What can wait should, until writable(). */
bool link_full(const struct link *link, uint64_t session);

/* The credential that was asked for, or NULL and why not. A session that is gone is no error. */
void link_credential(
        struct link *link, uint64_t session, const char *credential, const struct error *err);

unsigned net_up(const struct net *net); /* links that are up */

#endif
