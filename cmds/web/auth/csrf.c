/* csrf.c - see csrf.h */
#include "cmds/web/auth/csrf.h"

#include <stdio.h>
#include <string.h>

#include "cmds/web/auth/identify_impl.h"

int csrf_check_origin(const struct http_request *r, bool proved, struct error *err)
{
	const char *origin = http_header(r, "Origin"), *site = http_header(r, "Sec-Fetch-Site");
	bool ours = !site || !strcmp(site, "same-origin") || !strcmp(site, "none");
	const char *host;

	if (ours && origin && !strcmp(origin, "null"))
		ours = proved || site;
	else if (ours && origin) {
		host = strstr(origin, "://");
		ours = host && !strcmp(host + 3, identify_host(r));
	}
	if (ours)
		return 0;
	return error_set(err, ERR_NOT_PERMITTED, "the request comes from another site");
}

/* `proof` of a form; values of it have no characters that are encoded. */
static bool form_proof(const struct http_request *r, char proof[AUTH_SECRET])
{
	const char *at = r->body;

	while (at && strncmp(at, "proof=", 6) != 0) {
		at = strchr(at, '&');
		at += at != NULL;
	}
	if (!at || strcspn(at + 6, "&") >= AUTH_SECRET)
		return false;
	snprintf(proof, AUTH_SECRET, "%.*s", (int)strcspn(at + 6, "&"), at + 6);
	return true;
}

int csrf_check_proof(const struct auth *auth, const struct http_request *r, const char *cookie,
        struct error *err)
{
	const char *header = http_header(r, "X-Gweb-Proof");
	char proof[AUTH_SECRET] = "";

	if (header)
		snprintf(proof, sizeof(proof), "%s", header);
	else
		form_proof(r, proof);
	if (!auth_proof_holds(auth, cookie, proof))
		return error_set(err, ERR_NOT_PERMITTED, "the form is not of this session");
	return csrf_check_origin(r, true, err);
}
