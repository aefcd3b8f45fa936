/* csrf.h - requests that another site makes a browser send are refused (cross-site request forgery)
 *
 * A browser sends the cookie and a proxy's login by itself, whichever page begins the request. So a
 * request other than GET must come from a page of this host, and with a cookie it must carry the
 * proof that only gweb's pages of that session know (auth_proof()).
 */
#ifndef CMDS_CSRF_H
#define CMDS_CSRF_H

#include <stdbool.h>

#include "cmds/web/auth/sessions.h"
#include "cmds/web/http.h"
#include "common/base/error.h"

/* Does the request come from a page of this host? Pages of gweb send no referrer, so their forms
 * have the Origin "null", and so does a hostile frame: "null" is accepted only if the form is
 * `proved`. -1 with `err`. */
int csrf_check_origin(const struct http_request *r, bool proved, struct error *err);

/* Does the request carry the proof of the session of its cookie, as `proof` of its form or as
 * X-Gweb-Proof, and does it come from a page of this host? -1 with `err`. */
int csrf_check_proof(const struct auth *auth, const struct http_request *r, const char *cookie,
        struct error *err);

#endif
