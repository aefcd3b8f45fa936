/* noise.c - see noise.h
 *
 * Names and numbers of sections are those of the Noise specification, revision 34: CipherState and
 * SymmetricState (5), the psk modifier (9), the functions 25519, ChaChaPoly, SHA256 (12).
 */
#include "common/net/noise.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

static const char protocol_name[] = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";

_Static_assert(NOISE_DH_LEN == crypto_scalarmult_BYTES, "X25519");
_Static_assert(NOISE_HASH_LEN == crypto_hash_sha256_BYTES, "SHA256");
_Static_assert(NOISE_TAG_LEN == crypto_aead_chacha20poly1305_ietf_ABYTES, "ChaChaPoly");

#define KEY_LEN crypto_aead_chacha20poly1305_ietf_KEYBYTES

struct cipher_state {
	uint8_t k[KEY_LEN];
	uint64_t n;
};

enum phase { WRITE_1, READ_1, WRITE_2, READ_2, TRANSPORT, DEAD };

struct noise {
	enum phase phase;
	bool initiator;
	/* SymmetricState; only during the handshake, but for h */
	uint8_t ck[NOISE_HASH_LEN];
	uint8_t h[NOISE_HASH_LEN];
	struct cipher_state cs;
	/* HandshakeState */
	uint8_t psk[NOISE_PSK_LEN];
	uint8_t e_secret[NOISE_DH_LEN], e[NOISE_DH_LEN];
	uint8_t re[NOISE_DH_LEN];
	/* transport */
	struct cipher_state send, receive;
};

/* --- CipherState ----------------------------------------------------------------------------- */

/* 12.3: 32 bits of zeros, then n in little-endian. */
static void nonce_put(uint8_t out[crypto_aead_chacha20poly1305_ietf_NPUBBYTES], uint64_t n)
{
	memset(out, 0, 4);
	for (int i = 0; i < 8; i++)
		out[4 + i] = (uint8_t)(n >> (8 * i));
}

static int encrypt_with_ad(struct cipher_state *cs, const uint8_t *ad, size_t ad_len,
        const uint8_t *plain, size_t len, uint8_t *out)
{
	uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];

	if (cs->n == UINT64_MAX) /* 5.1: reserved */
		return -1;
	nonce_put(nonce, cs->n++);
	return crypto_aead_chacha20poly1305_ietf_encrypt(
	        out, NULL, plain, len, ad, ad_len, NULL, nonce, cs->k);
}

static int decrypt_with_ad(struct cipher_state *cs, const uint8_t *ad, size_t ad_len,
        const uint8_t *cipher, size_t len, uint8_t *out)
{
	uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];

	if (cs->n == UINT64_MAX || len < NOISE_TAG_LEN)
		return -1;
	nonce_put(nonce, cs->n);
	if (crypto_aead_chacha20poly1305_ietf_decrypt(
	            out, NULL, NULL, cipher, len, ad, ad_len, nonce, cs->k) != 0)
		return -1;
	cs->n++;
	return 0;
}

/* --- SymmetricState -------------------------------------------------------------------------- */

static void mix_hash(struct noise *n, const void *data, size_t len)
{
	crypto_hash_sha256_state st;

	crypto_hash_sha256_init(&st);
	crypto_hash_sha256_update(&st, n->h, NOISE_HASH_LEN);
	crypto_hash_sha256_update(&st, data, len);
	crypto_hash_sha256_final(&st, n->h);
}

static void hmac(uint8_t out[NOISE_HASH_LEN], const uint8_t key[NOISE_HASH_LEN], const void *a,
        size_t a_len, const void *b, size_t b_len)
{
	crypto_auth_hmacsha256_state st;

	crypto_auth_hmacsha256_init(&st, key, NOISE_HASH_LEN);
	crypto_auth_hmacsha256_update(&st, a, a_len);
	crypto_auth_hmacsha256_update(&st, b, b_len);
	crypto_auth_hmacsha256_final(&st, out);
	sodium_memzero(&st, sizeof(st));
}

/* 4.3: HKDF with two or three outputs; o3 may be NULL. */
static void hkdf(const uint8_t ck[NOISE_HASH_LEN], const void *ikm, size_t len, uint8_t *o1,
        uint8_t *o2, uint8_t *o3)
{
	uint8_t temp[NOISE_HASH_LEN], a[NOISE_HASH_LEN], b[NOISE_HASH_LEN];

	hmac(temp, ck, ikm, len, "", 0);
	hmac(a, temp, "\x01", 1, "", 0);
	hmac(b, temp, a, sizeof(a), "\x02", 1);
	if (o3)
		hmac(o3, temp, b, sizeof(b), "\x03", 1);
	memcpy(o1, a, sizeof(a));
	memcpy(o2, b, sizeof(b));
	sodium_memzero(temp, sizeof(temp));
	sodium_memzero(a, sizeof(a));
	sodium_memzero(b, sizeof(b));
}

static void mix_key(struct noise *n, const void *ikm, size_t len)
{
	hkdf(n->ck, ikm, len, n->ck, n->cs.k, NULL);
	n->cs.n = 0;
}

static void mix_key_and_hash(struct noise *n, const void *ikm, size_t len)
{
	uint8_t temp_h[NOISE_HASH_LEN];

	hkdf(n->ck, ikm, len, n->ck, temp_h, n->cs.k);
	mix_hash(n, temp_h, sizeof(temp_h));
	n->cs.n = 0;
	sodium_memzero(temp_h, sizeof(temp_h));
}

static int encrypt_and_hash(struct noise *n, const uint8_t *plain, size_t len, uint8_t *out)
{
	if (encrypt_with_ad(&n->cs, n->h, NOISE_HASH_LEN, plain, len, out) != 0)
		return -1;
	mix_hash(n, out, len + NOISE_TAG_LEN);
	return 0;
}

static int decrypt_and_hash(struct noise *n, const uint8_t *cipher, size_t len, uint8_t *out)
{
	uint8_t h[NOISE_HASH_LEN];

	memcpy(h, n->h, sizeof(h));
	mix_hash(n, cipher, len); /* before decryption, which may be in place */
	return decrypt_with_ad(&n->cs, h, sizeof(h), cipher, len, out);
}

/* --- HandshakeState -------------------------------------------------------------------------- */

/* Everything of the handshake that must not outlive it. */
static void wipe_handshake(struct noise *n)
{
	sodium_memzero(n->ck, sizeof(n->ck));
	sodium_memzero(&n->cs, sizeof(n->cs));
	sodium_memzero(n->psk, sizeof(n->psk));
	sodium_memzero(n->e_secret, sizeof(n->e_secret));
}

static int die(struct noise *n, struct error *err, const char *text)
{
	wipe_handshake(n);
	sodium_memzero(&n->send, sizeof(n->send));
	sodium_memzero(&n->receive, sizeof(n->receive));
	n->phase = DEAD;
	return error_set(err, ERR_PROTOCOL, "%s", text);
}

/* The token "e" of a pattern with psk (9.2): MixHash and MixKey. */
static void mix_e(struct noise *n, const uint8_t e[NOISE_DH_LEN])
{
	mix_hash(n, e, NOISE_DH_LEN);
	mix_key(n, e, NOISE_DH_LEN);
}

/* The token "ee". X25519 fails only on a key of small order, which no honest peer sends. */
static int mix_ee(struct noise *n)
{
	uint8_t shared[NOISE_DH_LEN];
	int r = crypto_scalarmult(shared, n->e_secret, n->re);

	if (r == 0)
		mix_key(n, shared, sizeof(shared));
	sodium_memzero(shared, sizeof(shared));
	return r;
}

/* 5.2 Split(): from here on there are two keys, and the handshake's are gone. */
static void split(struct noise *n)
{
	uint8_t k1[NOISE_HASH_LEN], k2[NOISE_HASH_LEN];

	hkdf(n->ck, "", 0, k1, k2, NULL);
	memcpy(n->send.k, n->initiator ? k1 : k2, KEY_LEN);
	memcpy(n->receive.k, n->initiator ? k2 : k1, KEY_LEN);
	n->send.n = n->receive.n = 0;
	sodium_memzero(k1, sizeof(k1));
	sodium_memzero(k2, sizeof(k2));
	wipe_handshake(n);
	n->phase = TRANSPORT;
}

static int write_handshake(struct noise *n, const void *payload, size_t len, uint8_t *out)
{
	bool first = n->phase == WRITE_1;

	if (first)
		mix_key_and_hash(n, n->psk, sizeof(n->psk));
	memcpy(out, n->e, NOISE_DH_LEN);
	mix_e(n, n->e);
	if (!first && mix_ee(n) != 0)
		return -1;
	if (encrypt_and_hash(n, payload, len, out + NOISE_DH_LEN) != 0)
		return -1;
	if (first)
		n->phase = READ_2;
	else
		split(n);
	return 0;
}

static int read_handshake(struct noise *n, const uint8_t *msg, size_t len, uint8_t *out)
{
	bool first = n->phase == READ_1;

	if (len < NOISE_HANDSHAKE_EXTRA)
		return -1;
	if (first)
		mix_key_and_hash(n, n->psk, sizeof(n->psk));
	memcpy(n->re, msg, NOISE_DH_LEN);
	mix_e(n, n->re);
	if (!first && mix_ee(n) != 0)
		return -1;
	if (decrypt_and_hash(n, msg + NOISE_DH_LEN, len - NOISE_DH_LEN, out) != 0)
		return -1;
	if (first)
		n->phase = WRITE_2;
	else
		split(n);
	return 0;
}

/* --- the interface ---------------------------------------------------------------------------- */

/* `e_secret` is fresh for every handshake; only the test vector fixes it. */
static struct noise *start(bool initiator, const uint8_t psk[NOISE_PSK_LEN], const void *prologue,
        size_t prologue_len, const uint8_t e_secret[NOISE_DH_LEN])
{
	struct noise *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->initiator = initiator;
	n->phase = initiator ? WRITE_1 : READ_1;
	memcpy(n->psk, psk, NOISE_PSK_LEN);
	memcpy(n->e_secret, e_secret, NOISE_DH_LEN);
	crypto_scalarmult_base(n->e, n->e_secret);
	/* 5.2: a name longer than HASHLEN is hashed. */
	crypto_hash_sha256(n->h, (const uint8_t *)protocol_name, sizeof(protocol_name) - 1);
	memcpy(n->ck, n->h, sizeof(n->ck));
	mix_hash(n, prologue, prologue_len);
	return n;
}

struct noise *noise_new(
        bool initiator, const uint8_t psk[NOISE_PSK_LEN], const void *prologue, size_t prologue_len)
{
	uint8_t e_secret[NOISE_DH_LEN];
	struct noise *n;

	if (sodium_init() < 0)
		return NULL;
	randombytes_buf(e_secret, sizeof(e_secret));
	n = start(initiator, psk, prologue, prologue_len, e_secret);
	sodium_memzero(e_secret, sizeof(e_secret));
	return n;
}

void noise_free(struct noise *n)
{
	if (!n)
		return;
	sodium_memzero(n, sizeof(*n));
	free(n);
}

int noise_write(struct noise *n, const void *payload, size_t len, uint8_t *out, size_t cap,
        size_t *out_len, struct error *err)
{
	size_t extra = n->phase == TRANSPORT ? NOISE_TAG_LEN : NOISE_HANDSHAKE_EXTRA;
	int r;

	if (n->phase != WRITE_1 && n->phase != WRITE_2 && n->phase != TRANSPORT)
		return die(n, err, "encryption out of turn");
	if (len > NOISE_MSG_MAX - extra || cap < len + extra)
		return error_set(err, ERR_INTERNAL, "%zu bytes do not fit a message", len);
	if (n->phase == TRANSPORT)
		r = encrypt_with_ad(&n->send, NULL, 0, payload, len, out);
	else
		r = write_handshake(n, payload, len, out);
	if (r != 0)
		return die(n, err, "encryption failed");
	*out_len = len + extra;
	return 0;
}

int noise_read(struct noise *n, const void *msg, size_t len, uint8_t *out, size_t cap,
        size_t *out_len, struct error *err)
{
	size_t extra = n->phase == TRANSPORT ? NOISE_TAG_LEN : NOISE_HANDSHAKE_EXTRA;
	int r;

	if (n->phase != READ_1 && n->phase != READ_2 && n->phase != TRANSPORT)
		return die(n, err, "a message out of turn");
	if (len < extra || len > NOISE_MSG_MAX)
		return die(n, err, "an encrypted message of impossible length");
	if (cap < len - extra)
		return error_set(err, ERR_INTERNAL, "%zu bytes do not fit the buffer", len);
	if (n->phase == TRANSPORT)
		r = decrypt_with_ad(&n->receive, NULL, 0, msg, len, out);
	else
		r = read_handshake(n, msg, len, out);
	if (r != 0)
		return die(n, err, "an encrypted message is not authentic");
	*out_len = len - extra;
	return 0;
}

bool noise_in_transport(const struct noise *n)
{
	return n->phase == TRANSPORT;
}

const uint8_t *noise_handshake_hash(const struct noise *n)
{
	return n->h;
}
