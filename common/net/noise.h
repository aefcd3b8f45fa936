/* noise.h - Noise_NNpsk0_25519_ChaChaPoly_SHA256
 *
 * The Noise protocol framework, revision 34 (noiseprotocol.org/noise.html), one pattern of it, on
 * libsodium's primitives:
 *
 *      NNpsk0:
 *        -> psk, e
 *        <- e, ee
 *
 * Both sides know a 32-byte secret (psk) that is used once. After two messages, each of which can
 * have a payload, both sides have two fresh keys, one for each direction. A party that learns the
 * psk later cannot read what was sent, and a party that does not know it now cannot answer. The
 * names in noise.c are those of the specification.
 *
 * A state machine on bytes: no I/O. The phases are
 *
 *      initiator:  write message 1  ->  read message 2   ->  transport
 *      responder:  read message 1   ->  write message 2  ->  transport
 *
 * and noise_write()/noise_read() do what the phase requires; in transport both may be called in
 * any order. A message that does not authenticate, or a call out of turn, ends the state for good:
 * every later call fails. Keys are wiped by noise_free() and as soon as they are no longer needed.
 * One state must not be used from two threads at once, but may be passed from thread to thread.
 */
#ifndef COMMON_NOISE_H
#define COMMON_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

#define NOISE_PSK_LEN  32
#define NOISE_DH_LEN   32
#define NOISE_HASH_LEN 32
#define NOISE_TAG_LEN  16
#define NOISE_MSG_MAX  65535 /* of any Noise message, tag included */
/* What a handshake message is longer than its payload. */
#define NOISE_HANDSHAKE_EXTRA (NOISE_DH_LEN + NOISE_TAG_LEN)

struct noise;

/* The prologue is what both sides must agree on besides. NULL: out of memory, or no randomness. */
struct noise *noise_new(bool initiator, const uint8_t psk[NOISE_PSK_LEN], const void *prologue,
        size_t prologue_len);
void noise_free(struct noise *n); /* wipes; NULL is fine */

/* Encrypt `len` bytes into one message of *out_len bytes; `out` has `cap` bytes. In transport a
 * message is 16 bytes longer than its payload. `payload` and `out` may be the same in transport
 * only. -1 with ERR_PROTOCOL (out of turn, dead) or ERR_INTERNAL (does not fit). */
int noise_write(struct noise *n, const void *payload, size_t len, uint8_t *out, size_t cap,
        size_t *out_len, struct error *err);

/* Decrypt one whole message. -1 with ERR_PROTOCOL: altered, cut, out of order, not from the peer
 * that knows the psk; `out` then holds nothing of it. */
int noise_read(struct noise *n, const void *msg, size_t len, uint8_t *out, size_t cap,
        size_t *out_len, struct error *err);

bool noise_in_transport(const struct noise *n);

/* The handshake's hash, the same at both ends and different for every handshake: a name for the
 * connection that other credentials can be bound to. Only in transport. */
const uint8_t *noise_handshake_hash(const struct noise *n);

#endif
