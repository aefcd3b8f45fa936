/* identify.c - see identify.h */
#include "cmds/web/auth/identify.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "cmds/web/auth/ask_as_user.h"
#include "cmds/web/auth/csrf.h"
#include "cmds/web/auth/identify_impl.h"
#include "common/base/clock.h"
#include "common/base/fd_close.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "common/net/munge.h"

#define NAME_BUFFER (64 * 1024)
#define KEY_MIN     16 /* bytes of a key file */
#define KEY_MAX     4096

int64_t identify_now(void)
{
	return clock_us(CLOCK_MONOTONIC) / 1000000;
}

/* --- the key ---------------------------------------------------------------------------------- */

static int read_key(const char *path, uint8_t key[AUTH_KEY], struct error *err)
{
	uint8_t bytes[KEY_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0) {
		error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
		fd_close(fd);
		return error_hint(
		        err, "head -c 32 /dev/urandom >%.80s, readable for gweb alone", path);
	}
	n = read(fd, bytes, sizeof(bytes));
	close(fd);
	if (st.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
		return error_set(err, ERR_SYSTEM, "%s: others can read or change it", path);
	if (n < KEY_MIN)
		return error_set(err, ERR_SYSTEM, "%s: a key has at least %d bytes", path, KEY_MIN);
	crypto_generichash(key, AUTH_KEY, bytes, (size_t)n, NULL, 0);
	sodium_memzero(bytes, sizeof(bytes));
	return 0;
}

struct identify *identify_new(const struct identify_config *config, struct error *err)
{
	struct auth_config auth = { .session_s = config->session_s };
	struct identify *id;

	if (sodium_init() < 0) {
		error_set(err, ERR_SYSTEM, "libsodium does not start");
		return NULL;
	}
	if (!config->key_file)
		randombytes_buf(auth.key, sizeof(auth.key));
	else if (read_key(config->key_file, auth.key, err) < 0)
		return NULL;
	id = xcalloc(1, sizeof(*id));
	id->config = *config;
	id->auth = auth_new(&auth);
	id->viewers = viewers_new();
	sodium_memzero(auth.key, sizeof(auth.key));
	return id;
}

void identify_free(struct identify *id)
{
	if (!id)
		return;
	auth_free(id->auth);
	viewers_free(id->viewers);
	free(id);
}

/* --- what a request holds --------------------------------------------------------------------- */

/* The rest of a header that begins with that scheme; NULL. */
static const char *after_scheme(const char *header, const char *scheme)
{
	size_t n = strlen(scheme);

	if (!header || strncasecmp(header, scheme, n) != 0 || header[n] != ' ')
		return NULL;
	return header + n + strspn(header + n, " ");
}

static const char *credential_of(const struct http_request *r)
{
	return after_scheme(http_header(r, "Authorization"), "Munge");
}

bool identify_by_credential(const struct http_request *r)
{
	return credential_of(r) && !(r->trusted && http_header(r, "X-Remote-User"));
}

static const char *token_of(const struct http_request *r)
{
	const char *token = after_scheme(http_header(r, "Authorization"), "Bearer");

	return token ? token : http_header(r, "X-SLURM-USER-TOKEN");
}

const char *identify_cookie(const struct http_request *r)
{
	const char *cookie = http_cookie(r, COOKIE_HTTPS);

	return cookie ? cookie : http_cookie(r, COOKIE);
}

const char *identify_host(const struct http_request *r)
{
	const char *host = r->trusted ? http_header(r, "X-Forwarded-Host") : NULL;

	host = host ? host : http_header(r, "Host");
	return host ? host : "";
}

/* --- which user ------------------------------------------------------------------------------- */

/* What is known without asking: 0; 1: it has to be asked for. */
static int known_viewer(struct identify *id, uid_t uid, struct viewer **out)
{
	bool fresh;

	*out = viewers_find(id->viewers, uid, identify_now(), &fresh);
	if (fresh)
		return 0;
	viewer_put(*out);
	*out = NULL;
	return 1;
}

static int by_remote_user(struct identify *id, const char *name, bool get, struct viewer **out)
{
	bool fresh;

	*out = viewers_find_name(id->viewers, name, identify_now(), &fresh);
	if (fresh && get)
		return 0;
	viewer_put(*out);
	*out = NULL;
	return 1;
}

int identify_request(const struct http_request *r, struct viewer **out, void *arg)
{
	struct identify *id = arg;
	const char *remote = r->trusted ? http_header(r, "X-Remote-User") : NULL;
	bool get = !strcmp(r->method, "GET");
	const char *token = token_of(r), *cookie = identify_cookie(r);
	struct error err;
	uid_t uid;

	if (remote)
		return by_remote_user(id, remote, get, out);
	if (credential_of(r))
		return 1;
	if (token)
		return get && auth_token_uid(id->auth, token, time(NULL), &uid, &err) == 0
		               ? known_viewer(id, uid, out)
		               : 1;
	if (!cookie || !auth_session(id->auth, cookie, identify_now(), &uid))
		return 0; /* a cookie that is over is none */
	return get ? known_viewer(id, uid, out) : 1;
}

/* --- in a worker: what may block -------------------------------------------------------------- */

static int uid_of_name(const char *name, uid_t *uid, struct error *err)
{
	char *buffer = xcalloc(1, NAME_BUFFER), shown[80];
	struct passwd pw, *found = NULL;
	int rc = getpwnam_r(name, &pw, buffer, NAME_BUFFER, &found);

	if (found)
		*uid = pw.pw_uid;
	free(buffer);
	if (found)
		return 0;
	text_escape(shown, sizeof(shown), name, strlen(name));
	if (rc)
		return error_set(err, ERR_BUSY, "user %s: %s", shown, strerror(rc));
	return error_set(err, ERR_AUTH, "X-Remote-User: there is no user %s", shown);
}

static int uid_of_credential(const struct http_request *r, uid_t *uid, struct error *err)
{
	const struct mcred_ops *ops = client_mcred(r->client);
	char *want = auth_signed_text(r->method, r->raw, identify_host(r), r->body, r->body_len);
	struct mcred cred;
	int rc = ops->decode(ops, credential_of(r), &cred, err);

	if (rc == 0) {
		rc = mcred_demand_fresh(&cred, err);
		if (rc == 0 &&
		        (cred.len != strlen(want) || memcmp(cred.payload, want, cred.len) != 0))
			rc = error_set(err, ERR_AUTH,
			        "the credential is for another request: method, "
			        "path with query, host and body must be those that were signed");
		*uid = cred.uid;
		mcred_clear(&cred);
	}
	/* Also a credential that was used before, or is too old, proves nothing. */
	if (rc < 0 && err->code != ERR_MUNGE_DOWN)
		err->code = ERR_AUTH;
	free(want);
	return rc;
}

static int uid_of(struct identify *id, const struct http_request *r, uid_t *uid, struct error *err)
{
	const char *remote = r->trusted ? http_header(r, "X-Remote-User") : NULL;
	const char *token = token_of(r), *cookie = identify_cookie(r);
	bool get = !strcmp(r->method, "GET");

	if (remote)
		return !get && csrf_check_origin(r, false, err) < 0 ? -1 : uid_of_name(remote, uid, err);
	if (credential_of(r))
		return uid_of_credential(r, uid, err);
	if (token && !get)
		return error_set(err, ERR_NOT_PERMITTED, "a token is for reading: GET alone");
	if (token)
		return auth_token_uid(id->auth, token, time(NULL), uid, err);
	if (!auth_session(id->auth, cookie ? cookie : "", identify_now(), uid))
		return error_set(err, ERR_AUTH, "the session is over");
	return get ? 0 : csrf_check_proof(id->auth, r, cookie, err);
}

int identify_ask(const struct http_request *r, struct viewer **out, void *arg, struct error *err)
{
	struct identify *id = arg;
	bool fresh;
	uid_t uid;

	if (uid_of(id, r, &uid, err) < 0)
		return -1;
	*out = viewers_find(id->viewers, uid, identify_now(), &fresh);
	if (!fresh) {
		struct viewer *told = ask_viewer(r->client, uid, err);

		if (told || err->code == ERR_NOT_PERMITTED)
			viewers_set(id->viewers, uid, told, identify_now());
		else if (*out)
			return 0; /* as it was, while the controller does not answer */
		viewer_put(*out);
		*out = told;
	}
	return *out ? 0 : -1;
}

void identify_proof(
        const struct identify *id, const struct http_request *r, char proof[AUTH_SECRET])
{
	const char *cookie = identify_cookie(r);

	*proof = '\0';
	if (cookie)
		auth_proof(id->auth, cookie, proof);
}
