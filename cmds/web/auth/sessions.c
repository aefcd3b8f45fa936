/* sessions.c - see sessions.h */
#include "cmds/web/auth/sessions.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <sodium.h>

#include "common/base/xalloc.h"

#define SECRET_BYTES 24
#define DIGEST       32
#define BUCKETS      1024
#define TOKEN_MARK   "gweb1"

/* A link, or a session that was opened with one. */
struct pass {
	uint8_t digest[DIGEST];
	uid_t uid;
	int64_t end;
	LIST_ENTRY(pass) of_bucket;
	TAILQ_ENTRY(pass) by_age;
};
TAILQ_HEAD(pass_list, pass);

/* All passes of a kind. */
struct passes {
	LIST_HEAD(, pass) buckets[BUCKETS];
	struct pass_list list; /* the oldest first, so also the first that ends */
	size_t n, max, per_user;
	int64_t life_s;
};

struct auth {
	pthread_mutex_t lock;
	struct passes links, sessions;
	uint8_t key[AUTH_KEY]; /* of tokens */
	uint8_t salt[DIGEST];  /* of proofs; of this process */
};

/* --- passes ---------------------------------------------------------------------------------- */

static void passes_init(struct passes *p, size_t max, size_t per_user, int64_t life_s)
{
	TAILQ_INIT(&p->list);
	p->max = max;
	p->per_user = per_user;
	p->life_s = life_s;
}

static void digest_of(const char *secret, uint8_t digest[DIGEST])
{
	crypto_generichash(digest, DIGEST, (const unsigned char *)secret, strlen(secret), NULL, 0);
}

static size_t bucket_of(const uint8_t digest[DIGEST])
{
	return (digest[0] | (size_t)digest[1] << 8) % BUCKETS;
}

static void pass_end(struct passes *p, struct pass *pass)
{
	LIST_REMOVE(pass, of_bucket);
	TAILQ_REMOVE(&p->list, pass, by_age);
	p->n--;
	sodium_memzero(pass, sizeof(*pass));
	free(pass);
}

static void passes_expire(struct passes *p, int64_t now)
{
	struct pass *first;

	while ((first = TAILQ_FIRST(&p->list)) && first->end <= now)
		pass_end(p, first);
}

static void passes_clear(struct passes *p)
{
	struct pass *first;

	while ((first = TAILQ_FIRST(&p->list)))
		pass_end(p, first);
}

static struct pass *pass_find(struct passes *p, const char *secret)
{
	uint8_t digest[DIGEST];
	struct pass *pass;

	digest_of(secret, digest);
	LIST_FOREACH (pass, &p->buckets[bucket_of(digest)], of_bucket)
		if (!sodium_memcmp(pass->digest, digest, DIGEST))
			return pass;
	return NULL;
}

/* The user's oldest makes room for a new one, and the oldest of all where there are too many. */
static void make_room(struct passes *p, uid_t uid)
{
	struct pass *pass, *oldest = NULL;
	size_t n = 0;

	TAILQ_FOREACH (pass, &p->list, by_age)
		if (pass->uid == uid) {
			oldest = oldest ? oldest : pass;
			n++;
		}
	if (n >= p->per_user)
		pass_end(p, oldest);
	else if (p->n >= p->max)
		pass_end(p, TAILQ_FIRST(&p->list));
}

static void pass_add(struct passes *p, uid_t uid, int64_t now, char secret[AUTH_SECRET])
{
	uint8_t random[SECRET_BYTES];
	struct pass *pass = xcalloc(1, sizeof(*pass));

	passes_expire(p, now);
	make_room(p, uid);
	randombytes_buf(random, sizeof(random));
	sodium_bin2base64(secret, AUTH_SECRET, random, sizeof(random),
	        sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(random, sizeof(random));
	digest_of(secret, pass->digest);
	pass->uid = uid;
	pass->end = now + p->life_s;
	LIST_INSERT_HEAD(&p->buckets[bucket_of(pass->digest)], pass, of_bucket);
	TAILQ_INSERT_TAIL(&p->list, pass, by_age);
	p->n++;
}

/* --- links and sessions ---------------------------------------------------------------------- */

struct auth *auth_new(const struct auth_config *config)
{
	struct auth *a = xcalloc(1, sizeof(*a));

	pthread_mutex_init(&a->lock, NULL);
	passes_init(&a->links, AUTH_SESSIONS_MAX, AUTH_LINKS_PER_USER, AUTH_LINK_S);
	passes_init(&a->sessions, AUTH_SESSIONS_MAX, AUTH_SESSIONS_PER_USER, config->session_s);
	memcpy(a->key, config->key, sizeof(a->key));
	randombytes_buf(a->salt, sizeof(a->salt));
	return a;
}

void auth_free(struct auth *a)
{
	if (!a)
		return;
	passes_clear(&a->links);
	passes_clear(&a->sessions);
	pthread_mutex_destroy(&a->lock);
	sodium_memzero(a, sizeof(*a));
	free(a);
}

void auth_link(struct auth *a, uid_t uid, int64_t now, char link[AUTH_SECRET])
{
	pthread_mutex_lock(&a->lock);
	pass_add(&a->links, uid, now, link);
	pthread_mutex_unlock(&a->lock);
}

int auth_redeem(
        struct auth *a, const char *link, int64_t now, char session[AUTH_SECRET], struct error *err)
{
	struct pass *pass;

	pthread_mutex_lock(&a->lock);
	passes_expire(&a->links, now);
	pass = pass_find(&a->links, link);
	if (pass) {
		pass_add(&a->sessions, pass->uid, now, session);
		pass_end(&a->links, pass);
	}
	pthread_mutex_unlock(&a->lock);
	if (pass)
		return 0;
	error_set(err, ERR_AUTH, "the link was used before, or is older than %d seconds",
	        AUTH_LINK_S);
	return error_hint(err, "gweb login makes another one");
}

bool auth_session(struct auth *a, const char *session, int64_t now, uid_t *uid)
{
	struct pass *pass;

	pthread_mutex_lock(&a->lock);
	passes_expire(&a->sessions, now);
	pass = pass_find(&a->sessions, session);
	if (pass)
		*uid = pass->uid;
	pthread_mutex_unlock(&a->lock);
	return pass != NULL;
}

void auth_logout(struct auth *a, const char *session)
{
	struct pass *pass;

	pthread_mutex_lock(&a->lock);
	pass = pass_find(&a->sessions, session);
	if (pass)
		pass_end(&a->sessions, pass);
	pthread_mutex_unlock(&a->lock);
}

void auth_proof(const struct auth *a, const char *session, char proof[AUTH_SECRET])
{
	uint8_t mac[SECRET_BYTES];

	crypto_generichash(mac, sizeof(mac), (const unsigned char *)session, strlen(session),
	        a->salt, sizeof(a->salt));
	sodium_bin2base64(
	        proof, AUTH_SECRET, mac, sizeof(mac), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

bool auth_proof_holds(const struct auth *a, const char *session, const char *proof)
{
	char want[AUTH_SECRET];

	auth_proof(a, session, want);
	return strlen(proof) == strlen(want) && !sodium_memcmp(proof, want, strlen(want));
}

/* --- tokens ---------------------------------------------------------------------------------- */

/* The part of a token that is sealed, and its seal. */
static int token_begin(char *text, size_t size, uid_t uid, int64_t end)
{
	return snprintf(text, size, TOKEN_MARK ".%u.%" PRId64 ".", (unsigned)uid, end);
}

static void token_seal(const struct auth *a, const char *text, size_t len, char seal[AUTH_SECRET])
{
	uint8_t mac[DIGEST];

	crypto_generichash(
	        mac, sizeof(mac), (const unsigned char *)text, len, a->key, sizeof(a->key));
	sodium_bin2base64(
	        seal, AUTH_SECRET, mac, sizeof(mac), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

void auth_token(const struct auth *a, uid_t uid, int64_t end, char token[AUTH_TOKEN])
{
	size_t n = (size_t)token_begin(token, AUTH_TOKEN - AUTH_SECRET, uid, end);

	token_seal(a, token, n, token + n);
}

int auth_token_uid(
        const struct auth *a, const char *token, int64_t wall, uid_t *uid, struct error *err)
{
	char begin[AUTH_TOKEN], seal[AUTH_SECRET];
	unsigned number;
	int64_t end;
	size_t n;

	if (strlen(token) >= AUTH_TOKEN ||
	        sscanf(token, TOKEN_MARK ".%u.%" SCNd64, &number, &end) != 2)
		return error_set(err, ERR_AUTH, "the token is none of gweb's");
	n = (size_t)token_begin(begin, sizeof(begin), number, end);
	token_seal(a, begin, n, seal);
	if (strncmp(token, begin, n) != 0 || strlen(token + n) != strlen(seal) ||
	        sodium_memcmp(token + n, seal, strlen(seal)) != 0)
		return error_set(err, ERR_AUTH, "the token was not made with this gweb's key");
	if (end <= wall)
		return error_set(err, ERR_AUTH, "the token has expired");
	*uid = number;
	return 0;
}

/* --- credentials ------------------------------------------------------------------------------ */

char *auth_signed_text(
        const char *method, const char *target, const char *host, const void *body, size_t body_len)
{
	uint8_t hash[DIGEST];
	char hex[2 * DIGEST + 1];

	crypto_generichash(
	        hash, sizeof(hash), body_len ? body : (const void *)"", body_len, NULL, 0);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	return xasprintf("gpusched-web-1\n%s\n%s\n%s\n%s\n", method, target, host, hex);
}
