/* sessions.h - how a request proves its user: links, sessions, tokens and credentials
 *
 *	credential   `Authorization: Munge CRED`, over method, target, host and body: once, for one
 *	             request of a program. `gweb login` sends one, and gets a link.
 *	link         a page's address that opens a session in a browser: once, within LINK_S.
 *	session      a cookie, for session_s or until the logout.
 *	token        for programs that only read and know no munge (Telegraf, Prometheus): text that
 *	             holds its user and its end, sealed with the key of this gweb. Nothing is kept of
 *	             it; another key ends all of them.
 *
 * Links and sessions are kept as hashes, so what leaks from memory opens nothing. What one user may
 * hold is bounded: the oldest goes. Thread-safe; nothing here blocks. Time is the caller's.
 */
#ifndef CMDS_SESSIONS_H
#define CMDS_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"

#define AUTH_LINK_S            60
#define AUTH_LINKS_PER_USER    4
#define AUTH_SESSIONS_PER_USER 16
#define AUTH_SESSIONS_MAX      4096
#define AUTH_TOKEN_S_MAX       (400 * 86400)
#define AUTH_SECRET            48 /* room for a link, a session or a form proof, as text */
#define AUTH_TOKEN             128 /* for a token */
#define AUTH_KEY               32  /* bytes */

struct auth;

struct auth_config {
	unsigned session_s;
	uint8_t key[AUTH_KEY]; /* seals tokens; as long as it is kept they hold */
};

struct auth *auth_new(const struct auth_config *config);
void auth_free(struct auth *a); /* NULL is fine */

/* `now` is seconds, of any clock that only goes forward, the same one in all calls. */

/* A link for that user. */
void auth_link(struct auth *a, uid_t uid, int64_t now, char link[AUTH_SECRET]);

/* Open a session with a link, which is used up. ERR_AUTH: not one of ours, used before, or too
 * old. */
int auth_redeem(struct auth *a, const char *link, int64_t now, char session[AUTH_SECRET],
        struct error *err);

/* The user of a session. False: there is no such session, or not any more. */
bool auth_session(struct auth *a, const char *session, int64_t now, uid_t *uid);

void auth_logout(struct auth *a, const char *session);

/* What a form of this session's pages holds, which no other site can know. */
void auth_proof(const struct auth *a, const char *session, char proof[AUTH_SECRET]);
bool auth_proof_holds(const struct auth *a, const char *session, const char *proof);

/* Tokens. `end` and `wall` are seconds of UTC. */
void auth_token(const struct auth *a, uid_t uid, int64_t end, char token[AUTH_TOKEN]);
/* 0; -1: ERR_AUTH. */
int auth_token_uid(
        const struct auth *a, const char *token, int64_t wall, uid_t *uid, struct error *err);

/* What the credential of a request holds; the caller frees it. `target` is path and query as
 * sent. */
char *auth_signed_text(const char *method, const char *target, const char *host, const void *body,
        size_t body_len);

#endif
