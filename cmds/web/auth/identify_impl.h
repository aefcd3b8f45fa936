/* identify_impl.h - what identify.c and its routes share; for them alone */
#ifndef CMDS_IDENTIFY_IMPL_H
#define CMDS_IDENTIFY_IMPL_H

#include "cmds/web/auth/identify.h"
#include "cmds/web/auth/viewer_cache.h"

#define COOKIE       "gweb"
#define COOKIE_HTTPS "__Host-gweb" /* a browser takes it only by https, and of this host alone */

struct identify {
	struct identify_config config;
	struct auth *auth;
	struct viewers *viewers;
};

int64_t identify_now(void); /* seconds that only go forward */
/* Is the request proved by a credential? */
bool identify_by_credential(const struct http_request *r);
const char *identify_host(const struct http_request *r);   /* as the browser knows it */
const char *identify_cookie(const struct http_request *r); /* NULL: none */

#endif
