/* csrf.h - requests that another site makes a browser send are refused (cross-site request forgery)
 *
 * A browser sends the cookie and a proxy's login by itself, whichever page begins the request. So one
 * that is no GET has to come from a page of this host, and with a cookie it has the proof that only our
 * pages of that session know (auth_proof()).
 */
#ifndef CMDS_CSRF_H
#define CMDS_CSRF_H

#include <stdbool.h>

#include "cmds/web/auth/sessions.h"
#include "cmds/web/http.h"
#include "common/base/error.h"

/* Is it of a page of this host? Our pages tell no referrer, so a form of theirs has the Origin "null",
 * as one of a hostile frame has: that alone is enough only where the form is `proved`. -1 with `err`. */
int csrf_check_origin(const struct http_request *r, bool proved, struct error *err);

/* Has it the proof of the session of that cookie, as `proof` of its form or as X-Gweb-Proof, and is it
 * of a page of this host? -1 with `err`. */
int csrf_check_proof(const struct auth *auth, const struct http_request *r, const char *cookie,
        struct error *err);

#endif
