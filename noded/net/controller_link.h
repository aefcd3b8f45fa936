/* controller_link.h - an agent's connection to the controller
 *
 * A `struct net` holds the controller's address and one set of sessions (common/net/session.h); a
 * `struct link` is the connection of one node through it. A link that is wanted dials; when it was
 * refused or lost it dials again with jittered back-off, without end. Messages go in and out while
 * it is up. gnoded has one link, `gnoded --simulate` thousands.
 *
 * At most NET_DIALLING connections of one net are being set up at a time and the other links wait
 * their turn, because a controller limits the unauthenticated connections from one address.
 *
 * Nothing here blocks except net_new() (name services).
 */
#ifndef NODED_CONTROLLER_LINK_H
#define NODED_CONTROLLER_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"
#include "common/conf/conf.h"
#include "common/net/munge.h"
#include "common/net/session.h"

#define NET_BACKOFF_MIN_MS 100
#define NET_BACKOFF_MAX_MS 10000
#define NET_DIALLING       128

struct event_base;
struct worker_pool;
struct net;
struct link;

struct link_ops {
	void (*up)(void *arg, uint64_t session);
	/* Good until return. A frame that cannot be decoded closes the session first. */
	void (*message)(
	        void *arg, uint64_t session, unsigned type, const ProtobufCMessage *message);
	/* The link was up and is lost, or (session 0) could not be set up; it will be tried again
	 * after `retry_ms`. */
	void (*down)(void *arg, uint64_t session, const struct error *why, unsigned retry_ms);
	/* The link was full (link_full) and takes more now. NULL: not needed. */
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

/* Connect from now on (at once if it is not connected), or disconnect. */
void link_want(struct link *link, bool wanted);

/* Close this session, without down(), and dial again after a back-off if it is wanted. */
void link_close(struct link *link, uint64_t session);

/* This end's address, as the network sees it; "" if the session is gone. */
void link_own_address(const struct link *link, uint64_t session, char out[SESSION_ADDRESS_LEN]);

/* The connection works: after its loss the next try comes soon. */
void link_is_good(struct link *link);

/* Queue a message. -1: it cannot be packed (ERR_PROTOCOL). A session that is gone is no error. */
int link_send(struct link *link, uint64_t session, unsigned type, const ProtobufCMessage *message,
        struct error *err);

/* Is the send queue long? Messages that can wait should wait until writable(). */
bool link_full(const struct link *link, uint64_t session);

/* The requested credential, or NULL and the error. A session that is gone is no error. */
void link_credential(
        struct link *link, uint64_t session, const char *credential, const struct error *err);

#endif
