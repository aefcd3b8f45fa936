/* munge.c - see munge.h */
#include "common/net/munge.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <munge.h>
#include <sodium.h>

struct munge_ops {
	struct mcred_ops ops;
	char *socket; /* NULL: munge's default */
};

/* What an EMUNGE_* code means to us; codes without a row are faults of ours or of munge. */
static const struct munge_row {
	int emunge;
	int code;
	const char *text;
	const char *hint;
} munge_rows[] = {
	{ EMUNGE_SOCKET, ERR_MUNGE_DOWN, "the munge daemon does not answer",
	        "start it on this host (systemctl start munge), or look into its log" },
	{ EMUNGE_TIMEOUT, ERR_MUNGE_DOWN, "the munge daemon does not answer in time",
	        "look into the munge daemon's log on this host" },
	{ EMUNGE_CRED_INVALID, ERR_MUNGE_KEY, "the credential was made with another munge key",
	        "copy the same munge.key to all hosts and restart munge on them" },
	{ EMUNGE_CRED_EXPIRED, ERR_MUNGE_CLOCK, "the credential has expired",
	        "compare the clocks of both hosts (date -u); keep them in step with NTP" },
	{ EMUNGE_CRED_REWOUND, ERR_MUNGE_CLOCK, "the credential comes from the future",
	        "compare the clocks of both hosts (date -u); keep them in step with NTP" },
	{ EMUNGE_CRED_REPLAYED, ERR_MUNGE_REPLAY, "the credential was used before", "" },
	{ EMUNGE_CRED_UNAUTHORIZED, ERR_AUTH, "the credential is meant for another user", "" },
	{ EMUNGE_BAD_CRED, ERR_AUTH, "not a munge credential", "" },
	{ EMUNGE_BAD_VERSION, ERR_AUTH, "a munge credential of another version", "" },
	{ EMUNGE_BAD_CIPHER, ERR_AUTH, "munge does not know the credential's cipher", "" },
	{ EMUNGE_BAD_MAC, ERR_AUTH, "munge does not know the credential's checksum", "" },
	{ EMUNGE_BAD_ZIP, ERR_AUTH, "munge does not know the credential's compression", "" },
	{ EMUNGE_BAD_REALM, ERR_AUTH, "munge does not know the credential's realm", "" },
	{ EMUNGE_BAD_LENGTH, ERR_AUTH, "a credential that is too long for munge", "" },
	{ EMUNGE_OVERFLOW, ERR_AUTH, "a credential that is too long for munge", "" },
	{ EMUNGE_NO_MEMORY, ERR_SYSTEM, "munge is out of memory", "" },
};

int mcred_error(int emunge, const char *socket, const char *munge_text, struct error *err)
{
	const struct munge_row *row = NULL;

	for (size_t i = 0; i < sizeof(munge_rows) / sizeof(munge_rows[0]); i++)
		if (munge_rows[i].emunge == emunge)
			row = &munge_rows[i];
	if (!row)
		return error_set(err, ERR_AUTH, "munge refuses: %s",
		        munge_text ? munge_text : munge_strerror(emunge));
	if (row->code == ERR_MUNGE_DOWN)
		error_set(err, row->code, "%s at %s", row->text,
		        socket && *socket ? socket : "its default socket");
	else
		error_set(err, row->code, "%s", row->text);
	if (*row->hint)
		error_hint(err, "%s", row->hint);
	return -1;
}

/* A context is not for two threads; a new one for each call costs one small allocation. */
static munge_ctx_t context_new(const struct munge_ops *m, struct error *err)
{
	munge_ctx_t ctx = munge_ctx_create();

	if (!ctx) {
		error_set(err, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	if (m->socket && munge_ctx_set(ctx, MUNGE_OPT_SOCKET, m->socket) != EMUNGE_SUCCESS) {
		error_set(err, ERR_SYSTEM, "out of memory");
		munge_ctx_destroy(ctx);
		return NULL;
	}
	return ctx;
}

static int real_encode(const struct mcred_ops *ops, const void *payload, size_t len,
        uid_t restrict_uid, char **cred, struct error *err)
{
	const struct munge_ops *m = (const struct munge_ops *)ops;
	munge_ctx_t ctx = context_new(m, err);
	char *text = NULL;
	int e = EMUNGE_SUCCESS;

	if (!ctx)
		return -1;
	if (len > INT32_MAX)
		e = EMUNGE_BAD_LENGTH;
	if (e == EMUNGE_SUCCESS)
		e = munge_ctx_set(ctx, MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES256);
	if (e == EMUNGE_SUCCESS)
		e = munge_ctx_set(ctx, MUNGE_OPT_ZIP_TYPE, MUNGE_ZIP_NONE);
	if (e == EMUNGE_SUCCESS)
		e = munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, restrict_uid);
	if (e == EMUNGE_SUCCESS)
		e = munge_encode(&text, ctx, payload, (int)len);
	if (e != EMUNGE_SUCCESS) {
		mcred_error(e, m->socket, munge_ctx_strerror(ctx), err);
		free(text);
	} else {
		*cred = text;
	}
	munge_ctx_destroy(ctx);
	return e == EMUNGE_SUCCESS ? 0 : -1;
}

static enum mcred_status status_of(munge_err_t e)
{
	return e == EMUNGE_CRED_EXPIRED    ? MCRED_EXPIRED
	       : e == EMUNGE_CRED_REWOUND  ? MCRED_REWOUND
	       : e == EMUNGE_CRED_REPLAYED ? MCRED_REPLAYED
	                                   : MCRED_OK;
}

/* What munge says about a credential besides its payload. */
static int read_options(munge_ctx_t ctx, struct mcred *out, struct error *err)
{
	time_t encoded = 0, decoded = 0;
	uid_t uid = MCRED_ANY_UID;
	int cipher = 0, ttl = 0;

	if (munge_ctx_get(ctx, MUNGE_OPT_ENCODE_TIME, &encoded) != EMUNGE_SUCCESS ||
	        munge_ctx_get(ctx, MUNGE_OPT_DECODE_TIME, &decoded) != EMUNGE_SUCCESS ||
	        munge_ctx_get(ctx, MUNGE_OPT_TTL, &ttl) != EMUNGE_SUCCESS ||
	        munge_ctx_get(ctx, MUNGE_OPT_CIPHER_TYPE, &cipher) != EMUNGE_SUCCESS ||
	        munge_ctx_get(ctx, MUNGE_OPT_UID_RESTRICTION, &uid) != EMUNGE_SUCCESS)
		return error_set(err, ERR_AUTH, "munge does not describe the credential");
	out->encode_time = encoded;
	out->decode_time = decoded;
	out->ttl_s = ttl;
	out->restrict_uid = uid;
	out->aes256 = cipher == MUNGE_CIPHER_AES256;
	return 0;
}

static int real_decode(
        const struct mcred_ops *ops, const char *cred, struct mcred *out, struct error *err)
{
	const struct munge_ops *m = (const struct munge_ops *)ops;
	munge_ctx_t ctx = context_new(m, err);
	struct mcred got = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	munge_err_t e;
	int len = 0, r = -1;

	if (!ctx)
		return -1;
	e = munge_decode(cred, ctx, &got.payload, &len, &got.uid, &got.gid);
	got.len = len > 0 ? (size_t)len : 0;
	got.status = status_of(e);
	if (e != EMUNGE_SUCCESS && got.status == MCRED_OK)
		mcred_error((int)e, m->socket, munge_ctx_strerror(ctx), err);
	else if (got.uid == (uid_t)-1 || got.gid == (gid_t)-1)
		error_set(err, ERR_AUTH, "munge does not say whose the credential is");
	else
		r = read_options(ctx, &got, err);
	munge_ctx_destroy(ctx);
	if (r < 0) {
		mcred_clear(&got);
		return -1;
	}
	*out = got;
	return 0;
}

static void real_free(struct mcred_ops *ops)
{
	struct munge_ops *m = (struct munge_ops *)ops;

	free(m->socket);
	free(m);
}

static struct mcred_ops *munge_new(const char *socket)
{
	struct munge_ops *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->ops = (struct mcred_ops){ real_encode, real_decode, real_free };
	if (socket && *socket) {
		m->socket = strdup(socket);
		if (!m->socket) {
			free(m);
			return NULL;
		}
	}
	return &m->ops;
}

/* --- two keys --------------------------------------------------------------------------------- */

struct pair_ops {
	struct mcred_ops ops;
	struct mcred_ops *first, *second;
};

static int pair_encode(const struct mcred_ops *ops, const void *payload, size_t len,
        uid_t restrict_uid, char **cred, struct error *err)
{
	const struct mcred_ops *first = ((const struct pair_ops *)ops)->first;

	return first->encode(first, payload, len, restrict_uid, cred, err);
}

static int pair_decode(
        const struct mcred_ops *ops, const char *cred, struct mcred *out, struct error *err)
{
	const struct pair_ops *p = (const struct pair_ops *)ops;
	struct error first, second;

	if (p->first->decode(p->first, cred, out, &first) == 0)
		return 0;
	if ((first.code == ERR_MUNGE_KEY || first.code == ERR_MUNGE_DOWN) &&
	        p->second->decode(p->second, cred, out, &second) == 0)
		return 0;
	/* What is worth another try is told. */
	if (err)
		*err = first.code == ERR_MUNGE_KEY ? second : first;
	return -1;
}

static void pair_free(struct mcred_ops *ops)
{
	struct pair_ops *p = (struct pair_ops *)ops;

	mcred_ops_free(p->first);
	mcred_ops_free(p->second);
	free(p);
}

struct mcred_ops *mcred_pair_new(struct mcred_ops *first, struct mcred_ops *second)
{
	struct pair_ops *p = first && second ? calloc(1, sizeof(*p)) : NULL;

	if (!p) {
		mcred_ops_free(first);
		mcred_ops_free(second);
		return NULL;
	}
	p->ops = (struct mcred_ops){ pair_encode, pair_decode, pair_free };
	p->first = first;
	p->second = second;
	return &p->ops;
}

struct mcred_ops *mcred_munge_new(const char *socket, const char *second)
{
	struct mcred_ops *m = munge_new(socket);

	return second && *second ? mcred_pair_new(m, munge_new(second)) : m;
}

void mcred_ops_free(struct mcred_ops *ops)
{
	if (ops)
		ops->free(ops);
}

void mcred_clear(struct mcred *m)
{
	if (m->payload)
		sodium_memzero(m->payload, m->len);
	free(m->payload);
	memset(m, 0, sizeof(*m));
}

int mcred_demand_fresh(const struct mcred *m, struct error *err)
{
	long long off = (long long)(m->decode_time - m->encode_time);

	switch (m->status) {
	case MCRED_OK:
		return 0;
	case MCRED_EXPIRED:
		mcred_error(EMUNGE_CRED_EXPIRED, NULL, NULL, err);
		return error_wrap(err, "made %lld s ago by its host's clock, good for %d s", off,
		        (int)m->ttl_s);
	case MCRED_REWOUND:
		mcred_error(EMUNGE_CRED_REWOUND, NULL, NULL, err);
		return error_wrap(err, "its host's clock is %lld s ahead of ours", -off);
	case MCRED_REPLAYED:
		return mcred_error(EMUNGE_CRED_REPLAYED, NULL, NULL, err);
	}
	return error_set(err, ERR_AUTH, "a credential of unknown state");
}
