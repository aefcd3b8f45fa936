/* fake_munge.c - see fake_munge.h
 *
 * A credential is "FAKE:", hexadecimal digits, ":". The bytes are the fields below, the payload,
 * and a keyed hash over all of it. The payload is not hidden: nothing that is tested depends on it.
 */
#include "testsuite/sim/fake_munge.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <munge.h>
#include <sodium.h>

#include "common/base/wirenum.h"

#define PREFIX   "FAKE:"
#define MAC_LEN  32
#define HEAD_LEN 33 /* serial 8, time 8, ttl 4, uid 4, gid 4, restriction 4, cipher 1 */

struct fake_munge {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint8_t key[crypto_generichash_KEYBYTES];
	uint64_t serial;
	int64_t now;
	bool down, stalled, aes256, forced;
	unsigned stall_ms;
	uid_t forced_uid;
	int32_t ttl_s;
	unsigned decodes;
	uint8_t (*seen)[MAC_LEN]; /* what was decoded here */
	size_t n_seen, cap_seen;
};

struct client {
	struct mcred_ops ops;
	struct fake_munge *host;
	uid_t uid;
	gid_t gid;
};

struct fake_munge *fake_munge_new(uint64_t key)
{
	struct fake_munge *f = calloc(1, sizeof(*f));
	pthread_condattr_t attr;

	if (!f || sodium_init() < 0) {
		free(f);
		return NULL;
	}
	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->changed, &attr);
	pthread_condattr_destroy(&attr);
	put_u64(f->key, key);
	f->now = 1000000;
	f->aes256 = true;
	f->ttl_s = 300;
	return f;
}

void fake_munge_free(struct fake_munge *f)
{
	if (!f)
		return;
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	free(f->seen);
	free(f);
}

#define SETTER(name, args, body)                     \
	void fake_munge_##name args                  \
	{                                            \
		pthread_mutex_lock(&f->lock);        \
		body;                                \
		pthread_cond_broadcast(&f->changed); \
		pthread_mutex_unlock(&f->lock);      \
	}

SETTER(set_time, (struct fake_munge * f, int64_t utc_s), f->now = utc_s)
SETTER(set_down, (struct fake_munge * f, bool down), f->down = down)
SETTER(set_stalled, (struct fake_munge * f, bool stalled, unsigned stall_ms), f->stalled = stalled;
        f->stall_ms = stall_ms)
SETTER(forget, (struct fake_munge * f), f->n_seen = 0)
SETTER(set_aes256, (struct fake_munge * f, bool aes256), f->aes256 = aes256)
SETTER(set_restriction, (struct fake_munge * f, bool forced, uid_t uid), f->forced = forced;
        f->forced_uid = uid)
SETTER(set_ttl, (struct fake_munge * f, int32_t ttl_s), f->ttl_s = ttl_s)

unsigned fake_munge_decodes(const struct fake_munge *f)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&f->lock;
	unsigned n;

	pthread_mutex_lock(lock);
	n = f->decodes;
	pthread_mutex_unlock(lock);
	return n;
}

/* Called locked. EMUNGE_SUCCESS, or EMUNGE_SOCKET as libmunge says after its own time limit. */
static int reach(struct fake_munge *f)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += f->stall_ms / 1000;
	until.tv_nsec += f->stall_ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	while (f->stalled)
		if (pthread_cond_timedwait(&f->changed, &f->lock, &until) == ETIMEDOUT)
			return EMUNGE_SOCKET;
	return f->down ? EMUNGE_SOCKET : EMUNGE_SUCCESS;
}

static void mac(const struct fake_munge *f, const uint8_t *bytes, size_t len, uint8_t out[MAC_LEN])
{
	crypto_generichash(out, MAC_LEN, bytes, len, f->key, sizeof(f->key));
}

static int fake_encode(const struct mcred_ops *ops, const void *payload, size_t len,
        uid_t restrict_uid, char **cred, struct error *err)
{
	const struct client *c = (const struct client *)ops;
	struct fake_munge *f = c->host;
	size_t n = HEAD_LEN + len + MAC_LEN, text = sizeof(PREFIX) - 1 + 2 * n + 2;
	uint8_t *b = calloc(1, n);
	char *out = malloc(text);
	int e;

	if (!b || !out)
		abort(); /* a test's own memory */
	pthread_mutex_lock(&f->lock);
	e = reach(f);
	put_u64(b, ++f->serial);
	put_u64(b + 8, (uint64_t)f->now);
	put_u32(b + 16, (uint32_t)f->ttl_s);
	put_u32(b + 20, c->uid);
	put_u32(b + 24, c->gid);
	put_u32(b + 28, f->forced ? f->forced_uid : restrict_uid);
	b[32] = f->aes256 ? MUNGE_CIPHER_AES256 : MUNGE_CIPHER_NONE;
	pthread_mutex_unlock(&f->lock);
	memcpy(b + HEAD_LEN, payload, len);
	mac(f, b, HEAD_LEN + len, b + HEAD_LEN + len);
	memcpy(out, PREFIX, sizeof(PREFIX));
	sodium_bin2hex(out + sizeof(PREFIX) - 1, 2 * n + 1, b, n);
	memcpy(out + text - 2, ":", 2);
	free(b);
	if (e != EMUNGE_SUCCESS) {
		free(out);
		return mcred_error(e, "fake", NULL, err);
	}
	*cred = out;
	return 0;
}

/* The text as bytes, or an EMUNGE code. */
static int parse(const char *cred, uint8_t **bytes, size_t *len)
{
	size_t n = strlen(cred), pre = sizeof(PREFIX) - 1;
	const char *end;

	if (n < pre + 1 || strncmp(cred, PREFIX, pre) != 0 || cred[n - 1] != ':')
		return EMUNGE_BAD_CRED;
	*bytes = malloc(n);
	if (!*bytes)
		abort();
	if (sodium_hex2bin(*bytes, n, cred + pre, n - pre - 1, NULL, len, &end) != 0 ||
	        end != cred + n - 1 || *len < HEAD_LEN + MAC_LEN) {
		free(*bytes);
		return EMUNGE_BAD_CRED;
	}
	return EMUNGE_SUCCESS;
}

static bool seen_before(struct fake_munge *f, const uint8_t m[MAC_LEN])
{
	for (size_t i = 0; i < f->n_seen; i++)
		if (memcmp(f->seen[i], m, MAC_LEN) == 0)
			return true;
	if (f->n_seen == f->cap_seen) {
		f->cap_seen = f->cap_seen ? 2 * f->cap_seen : 64;
		f->seen = realloc(f->seen, f->cap_seen * MAC_LEN);
		if (!f->seen)
			abort();
	}
	memcpy(f->seen[f->n_seen++], m, MAC_LEN);
	return false;
}

/* Locked. munge's order: authentic? for this uid? in its time? new? */
static int judge(struct fake_munge *f, const struct client *c, const uint8_t *b, size_t len,
        struct mcred *out)
{
	uint8_t m[MAC_LEN];
	int64_t made = (int64_t)get_u64(b + 8);

	mac(f, b, len - MAC_LEN, m);
	if (sodium_memcmp(m, b + len - MAC_LEN, MAC_LEN) != 0)
		return EMUNGE_CRED_INVALID;
	out->restrict_uid = get_u32(b + 28);
	if (out->restrict_uid != MCRED_ANY_UID && out->restrict_uid != c->uid)
		return EMUNGE_CRED_UNAUTHORIZED;
	out->encode_time = made;
	out->decode_time = f->now;
	out->ttl_s = (int32_t)get_u32(b + 16);
	out->uid = get_u32(b + 20);
	out->gid = get_u32(b + 24);
	out->aes256 = b[32] == MUNGE_CIPHER_AES256;
	out->status = MCRED_OK;
	if (f->now > made + out->ttl_s)
		out->status = MCRED_EXPIRED;
	else if (f->now < made - out->ttl_s)
		out->status = MCRED_REWOUND;
	else if (seen_before(f, m))
		out->status = MCRED_REPLAYED;
	return EMUNGE_SUCCESS;
}

static int fake_decode(
        const struct mcred_ops *ops, const char *cred, struct mcred *out, struct error *err)
{
	const struct client *c = (const struct client *)ops;
	struct mcred got = { 0 };
	uint8_t *b = NULL;
	size_t len = 0;
	int e;

	pthread_mutex_lock(&c->host->lock);
	c->host->decodes++;
	e = reach(c->host);
	if (e == EMUNGE_SUCCESS)
		e = parse(cred, &b, &len);
	if (e == EMUNGE_SUCCESS) {
		e = judge(c->host, c, b, len, &got);
		if (e == EMUNGE_SUCCESS) {
			got.len = len - HEAD_LEN - MAC_LEN;
			got.payload = malloc(got.len + 1);
			if (!got.payload)
				abort();
			memcpy(got.payload, b + HEAD_LEN, got.len);
			*out = got;
		}
		free(b);
	}
	pthread_mutex_unlock(&c->host->lock);
	return e == EMUNGE_SUCCESS ? 0 : mcred_error(e, "fake", NULL, err);
}

static void fake_free(struct mcred_ops *ops)
{
	free(ops);
}

struct mcred_ops *fake_munge_client(struct fake_munge *f, uid_t uid, gid_t gid)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->ops = (struct mcred_ops){ fake_encode, fake_decode, fake_free };
	c->host = f;
	c->uid = uid;
	c->gid = gid;
	return &c->ops;
}
