/* session_admission.h - which sessions there may be: an agent's in the name of its node, and each
 * user's up to a number, with the one that is ended for a new one
 *
 * A new session of a user is refused only if no other can be ended for it:
 *
 *	the user has sessions_per_user    the user's longest idle session ends
 *	users have max_sessions in all    the longest idle session of the user with most ends; if
 *	                                  none of those is idle, the oldest of them
 *
 * So a user without a session gets one, however many others there are. Some more are reserved for
 * operators and administrators. Agents do not count here: each node may have ADMISSION_AGENT
 * sessions, and connections that are not authenticated are bounded by common/net/session.h.
 *
 * A user whose unread answers or requests in the works have used up their budget
 * (core/records/per_user_budget.h) is *choked*: nothing more is read from the user's sessions
 * and no answer is begun for them, until half of the budget is free again. A session that
 * meanwhile has read nothing of its answers for ADMISSION_STUCK_S is ended, because otherwise one
 * program that does not read would lock out its user.
 */
#ifndef CTLD_SESSION_ADMISSION_H
#define CTLD_SESSION_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/net/session.h"

struct ctld;
struct peer;
struct admission;

#define ADMISSION_KEPT    256 /* above max_sessions: for operators and administrators */
#define ADMISSION_AGENT   4   /* of one node; an old one may linger when a new one comes */
#define ADMISSION_STUCK_S 10

/* What the sessions of users have to do with peers (peers.h). */
struct admission_hooks {
	void (*end)(struct ctld *c, struct peer *peer, const struct error *why);
	/* Its user is no longer choked. */
	void (*go_on)(struct ctld *c, struct peer *peer);
	/* So answers that waited for space may continue. */
	void (*sent)(struct ctld *c);
};

struct admission *admission_new(const struct admission_hooks *hooks);
void admission_free(struct admission *u); /* after the peers; NULL is fine */

/* For session_ops.admit: may this peer have a session? Only root and the agents' user speak for a
 * node, and only for one of the configuration. 0, or the error with `err`. */
int session_admit(struct sessions *ss, const struct session_peer *sp, void *arg, struct error *err);

/* Is there room for one more of a user? It is made, if need be. -1 with `err`. */
int admission_admit(struct ctld *c, uid_t uid, struct error *err);

/* A session has begun; it has ended. */
void admission_add(struct ctld *c, struct peer *peer);
void admission_remove(struct ctld *c, struct peer *peer);

/* An agent's node has another number: it is peer->node now, and was `from`. */
void admission_renumber(struct ctld *c, struct peer *peer, uint32_t from);

/* The peer has sent a frame: it is now the last of its user's idle sessions to be ended. */
void admission_used(struct peer *peer);

/* What is charged to a user has changed: is the user choked now, or no longer? */
void admission_charged(struct ctld *c, uid_t uid);
bool admission_choked(const struct peer *peer);

/* Every few seconds: end sessions that are stuck. */
void admission_end_stuck(struct ctld *c);

#endif
