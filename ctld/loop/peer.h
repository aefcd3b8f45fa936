/* peer.h - one connected client or agent: what the parts of the controller know of it (peers.h) */
#ifndef CTLD_PEER_H
#define CTLD_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/job/run.h"
#include "common/net/session.h"

struct bulk;
struct call;
struct stream;
struct submit;
struct unsent;
struct user_sessions;

#define PEER_WORK_MAX       128         /* frames waiting and submits in the works */
#define PEER_WORK_BYTES_MAX (8 << 20)   /* of them */
#define PEER_HELD_MAX       (512 << 10) /* bytes of answers not sent: slices of listings wait */
#define PEER_CALLS_MAX      1024        /* open at a time: waits and listings */

struct peer {
	uint64_t session;
	uid_t uid;
	bool agent;
	bool looks; /* it is told what `as_uid` would be told (rpc/admin/look_as.c) */
	uid_t as_uid;
	char address[SESSION_ADDRESS_LEN];
	/* agents */
	char *node_name;
	uint32_t node; /* index into conf.nodes; UINT32_MAX: the configuration has it no longer */
	bool registered;
	bool takes_settings;
	uint64_t settings; /* hash of those that it was told */
	/* bookkeeping; what is charged to its user: core/records/per_user_budget.h */
	bool closed, paused;
	struct user_sessions *user; /* session_admission.h; NULL: an agent, or closed */
	TAILQ_ENTRY(peer) of_user;
	size_t work, work_bytes; /* taken from it and not yet done with */
	size_t input;            /* bytes of a frame in the making */
	size_t held;             /* bytes of answers at the gate */
	size_t unread;           /* of those, and of what was sent and not taken yet: charged */
	usec_t taken;            /* mono: when it last took some */
	unsigned n_calls;
	LIST_HEAD(, call) calls;
	LIST_HEAD(, stream) streams; /* that begin or end here (rpc/nodes/streams.c) */
	unsigned n_streams;
	STAILQ_HEAD(, submit) submits; /* with the workers, in order of arrival (jobs/submit_read.c) */
	struct bulk *bulk;             /* parts that wait for the rest (jobs/bulk.h); NULL: none */
	SLIST_HEAD(, unsent) unsent;   /* answers that were not sent whole, until their Reply */
	bool script_asked;             /* of the store (jobs/show_script.c, jobs/renew_signature.c) */
};

/* The user as which it asks. */
static inline uid_t peer_acts_as(const struct peer *peer)
{
	return peer->looks ? peer->as_uid : peer->uid;
}

#endif
