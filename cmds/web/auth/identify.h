/* identify.h - finds the user of a request, and has the pages for login and logout
 *
 * The proofs, in the order in which they count:
 *
 *	X-Remote-User          of a proxy, at a unix socket alone: each peer that may connect is trusted
 *	Authorization: Munge   a credential over this one request (sessions.h), made by `gweb sign`
 *	Authorization: Bearer  a token, also as X-SLURM-USER-TOKEN: GET alone
 *	a cookie               of a session
 *
 * A request with a proof that does not hold is refused, and not served as if it had none. A request
 * that is no GET and comes with what a browser sends by itself (the cookie, the proxy's own login)
 * has to come from a page of ours: its Origin is this host, and with a cookie it has what
 * auth_proof() gave that page, as `proof` of the form or as X-Gweb-Proof (csrf.h).
 *
 * The user's role is what the controller says (ask_as_user.h), kept for VIEWERS_FRESH_S.
 */
#ifndef CMDS_IDENTIFY_H
#define CMDS_IDENTIFY_H

#include <stdbool.h>

#include "cmds/web/auth/sessions.h"
#include "cmds/web/http.h"

struct identify;

struct identify_config {
	unsigned session_s;
	const char *key_file; /* seals tokens; NULL: they end with this process */
	bool https;           /* browsers reach it by https: cookies are for that alone */
};

/* NULL with `err`. */
struct identify *identify_new(const struct identify_config *config, struct error *err);
void identify_free(struct identify *id); /* NULL is fine */

/* For http_config, with the struct identify as identify_arg. */
int identify_request(const struct http_request *r, struct viewer **out, void *arg);
int identify_ask(const struct http_request *r, struct viewer **out, void *arg, struct error *err);

/* /login, /logout and /token; r->arg is the struct identify. */
extern const struct http_route identify_routes[];

/* What a form of a page for this request holds as `proof`; "": it has no session. */
void identify_proof(
        const struct identify *id, const struct http_request *r, char proof[AUTH_SECRET]);

#endif
