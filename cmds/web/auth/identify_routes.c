/* identify_routes.c - logging in and out
 *
 *	POST /login        with a credential: {"link":"/login?link=...","user":...,"seconds":60}
 *	GET  /login?link=  opens the session, once
 *	GET  /login        how to log in
 *	POST /logout       ends the session
 *	POST /token?days=  with a credential: {"token":...,"expires":...}
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmds/web/auth/identify_impl.h"
#include "cmds/web/pages/frameless_page.h"
#include "cmds/web/rest/rest.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define TOKEN_DAYS 90

static bool is_https(const struct identify *id, const struct http_request *r)
{
	const char *proto = r->trusted ? http_header(r, "X-Forwarded-Proto") : NULL;

	return id->config.https || (proto && !strcmp(proto, "https"));
}

/* `session` "": the browser forgets it. */
static void set_cookie(const struct identify *id, const struct http_request *r,
        struct http_answer *a, const char *session)
{
	bool https = is_https(id, r);
	char *text = xasprintf("%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%u%s",
	        https ? COOKIE_HTTPS : COOKIE, session, *session ? id->config.session_s : 0,
	        https ? "; Secure" : "");

	http_answer_header(a, "Set-Cookie", text);
	free(text);
}

/* --- /login ----------------------------------------------------------------------------------- */

/* Only a request with a munge credential gets a link or a token, so a stolen cookie cannot make
 * more of them. */
static bool needs_credential(const struct http_request *r, struct http_answer *a)
{
	struct error err;

	if (identify_by_credential(r))
		return false;
	error_set(&err, ERR_NOT_PERMITTED, "that needs a munge credential");
	error_hint(&err, "gweb login makes one");
	rest_error(r, a, &err);
	return true;
}

static void make_link(const struct http_request *r, struct http_answer *a)
{
	struct identify *id = r->arg;
	char link[AUTH_SECRET];

	if (needs_credential(r, a))
		return;
	auth_link(id->auth, r->viewer->uid, identify_now(), link);
	a->type = "application/json";
	strbuf_addf(&a->body, "{\"link\":\"/login?link=%s\",\"seconds\":%d,\"user\":", link,
	        AUTH_LINK_S);
	rest_text(&a->body, r->viewer->name);
	strbuf_adds(&a->body, "}\n");
}

/* A browser sends no strict cookie behind a redirect that began outside; the page that follows a
 * refresh is asked for by this one. */
static void log_in(const struct http_request *r, struct http_answer *a)
{
	struct identify *id = r->arg;
	const char *link = http_query(r, "link");
	char session[AUTH_SECRET];
	struct html *h;
	struct error err;

	if (!link || r->head) { /* what looks ahead at links does not use them up */
		h = frameless_page_begin("Log in", false);
		HTML(h, "<p>Run <code>gweb login</code> on a host of the cluster: it prints a "
		        "link.</p>");
		frameless_page_end(h, a);
		return;
	}
	if (auth_redeem(id->auth, link, identify_now(), session, &err) < 0) {
		a->status = 403;
		h = frameless_page_begin("The link does not hold", false);
		HTML(h, "<p>It was used before, or is older than a minute. "
		        "<code>gweb login</code> makes another one.</p>");
		frameless_page_end(h, a);
		return;
	}
	set_cookie(id, r, a, session);
	h = frameless_page_begin("Logged in", true);
	HTML(h, "<p><a href=\"/\">The cluster</a></p>");
	frameless_page_end(h, a);
}

static void log_out(const struct http_request *r, struct http_answer *a)
{
	struct identify *id = r->arg;
	const char *cookie = identify_cookie(r);
	struct html *h;

	if (cookie)
		auth_logout(id->auth, cookie);
	set_cookie(id, r, a, "");
	http_answer_header(a, "Clear-Site-Data", "\"cache\"");
	h = frameless_page_begin("Logged out", false);
	HTML(h, "<p><code>gweb login</code> makes a link to log in again.</p>");
	frameless_page_end(h, a);
}

/* --- /token ----------------------------------------------------------------------------------- */

static void make_token(const struct http_request *r, struct http_answer *a)
{
	const struct identify *id = r->arg;
	const char *text = http_query(r, "days");
	uint64_t days = TOKEN_DAYS;
	char token[AUTH_TOKEN];
	struct error err;
	int64_t end;

	if (needs_credential(r, a))
		return;
	if (text && count_parse(text, 1, AUTH_TOKEN_S_MAX / 86400, &days, &err) < 0) {
		error_wrap(&err, "days");
		rest_error(r, a, &err);
		return;
	}
	end = time(NULL) + (int64_t)days * 86400;
	auth_token(id->auth, r->viewer->uid, end, token);
	a->type = "application/json";
	strbuf_addf(&a->body, "{\"token\":\"%s\",\"expires\":%lld}\n", token, (long long)end);
}

const struct http_route identify_routes[] = {
	{ "POST", "/login", HTTP_LOGGED_IN, HTTP_FAST, 0, make_link, "a link that logs in once" },
	{ "GET", "/login", HTTP_NOBODY, HTTP_FAST, 0, log_in, "log in with a link" },
	{ "POST", "/logout", HTTP_NOBODY, HTTP_FAST, 1024, log_out, "end the session" },
	{ "POST", "/token", HTTP_LOGGED_IN, HTTP_FAST, 0, make_token,
	        "a token for programs that only read" },
	{ NULL, NULL, 0, 0, 0, NULL, NULL },
};
