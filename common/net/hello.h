/* hello.h - how a connection begins: both sides prove their identity
 *
 * The client makes a fresh 32-byte secret (psk), puts it into a munge credential that only the
 * server's uid may decode, and starts a Noise handshake keyed by it (noise.h). The server thereby
 * knows the client's uid from munge, and the client knows that it talks to the server, which alone
 * could read the secret. Numbers are in network byte order. The client sends, in one piece:
 *
 *      +------------------+-------------+-----------+-----------------+------------+
 *      | 8 magic GPUSCHED | u16 version | u16 flags | u32 c <= 8192   | c bytes:   |
 *      |                  |             | (0)       |                 | credential |
 *      +------------------+-------------+-----------+-----------------+------------+
 *      +-------+---------------------------------+
 *      | u16 n | n bytes: Noise message 1 (n=48) |
 *      +-------+---------------------------------+
 *
 * Everything up to the end of the credential is Noise's prologue, so an altered byte of it fails
 * the handshake even where munge would accept it. The server answers, with code 0 and n = 48, or
 * refuses with an error_code and n = 0. A client without a valid credential learns no more than
 * this:
 *
 *      +------------------+----------+-------+---------------------------------+
 *      | 8 magic GPUSCHED | u16 code | u16 n | n bytes: Noise message 2        |
 *      +------------------+----------+-------+---------------------------------+
 *
 * A refusal is not authenticated: clients show it and never act on it. The client confirms with an
 * empty Noise transport message, which only it can make: a recorded greeting can be played back (to
 * another host, or to a munge that was restarted and forgot it), but not confirmed.
 *
 *      +--------+--------------------+
 *      | u16 16 | 16 bytes: the tag  |
 *      +--------+--------------------+
 *
 * From there on both sides speak frames (frame.h). The client must not send more before the answer.
 *
 * The credential's payload, used up exactly:
 *
 *      +----------------------+-------------+---------+----------------+--------------------+
 *      | 16 gpusched-hello-1  | u16 version | 32 psk  | u16 n, cluster | u16 n, destination |
 *      +----------------------+-------------+---------+----------------+--------------------+
 *
 * The destination is "controller@CLUSTER" for user requests, "controller@CLUSTER/NODE" for the
 * agent of a node, "attach@CLUSTER/NODE/RUN" for a stream to a run on a node. The last has a tag of
 * its own, gpusched-attach1: neither passes for the other. Pure but for randomness and the
 * mcred_ops that are passed in.
 */
#ifndef COMMON_HELLO_H
#define COMMON_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/net/munge.h"
#include "common/net/noise.h"

#define HELLO_TAG         "gpusched-hello-1" /* 16 bytes, no NUL */
#define HELLO_ATTACH_TAG  "gpusched-attach1" /* of role "attach" */
#define HELLO_VERSION     1
#define HELLO_CRED_MAX    8192
#define HELLO_NAME_MAX    255 /* cluster, node */
#define HELLO_RUN_MAX     63  /* the run's name, JOB_TASK_ATTEMPT */
#define HELLO_DEST_MAX    (16 + 2 * HELLO_NAME_MAX + 1 + HELLO_RUN_MAX)
#define HELLO_ANSWER_MAX  (12 + NOISE_HANDSHAKE_EXTRA)
#define HELLO_CONFIRM_LEN (2 + NOISE_TAG_LEN)
#define HELLO_MAX         (16 + HELLO_CRED_MAX + 2 + NOISE_HANDSHAKE_EXTRA)

/* The server to greet. `node` "" or NULL: greet it as a user. Borrowed for the call. */
struct hello_to {
	const char *role; /* "controller", "agent" or "attach" */
	const char *cluster;
	const char *node; /* role "attach": NODE/RUN, the run by its name (noded/record/record.h) */
};

/* --- the client ---------------------------------------------------------------------------- */
struct hello;

/* Step 1: the secret and the payload. The names are copied. */
struct hello *hello_new(const struct hello_to *to, struct error *err);
void hello_free(struct hello *h); /* wipes; NULL is fine */

/* Step 2: let munge make a credential of this (a secret: wipe copies), restricted to the server. */
const uint8_t *hello_payload(const struct hello *h, size_t *len);

/* Step 3: the bytes to send, owned by `h`. Costs one X25519 key pair. */
int hello_finish(struct hello *h, const char *credential, const uint8_t **bytes, size_t *len,
        struct error *err);

/* The same bytes again, after step 3. */
const uint8_t *hello_bytes(const struct hello *h, size_t *len);

/* Step 4: what came back so far. 1: done, *noise is the caller's, *used bytes were the answer
 * (anything behind it is frames); 0: more bytes are needed; -1: the refusal as an error with text
 * and hint for people, or ERR_PROTOCOL. `peer` names the server in texts ("host:port"). */
int hello_answer(struct hello *h, const char *peer, const void *bytes, size_t len, size_t *used,
        struct noise **noise, struct error *err);

/* The client's last word, and the server's check of it: -1 with ERR_AUTH. */
int hello_confirm(struct noise *noise, uint8_t out[HELLO_CONFIRM_LEN], struct error *err);
int hello_check_confirm(
        struct noise *noise, const uint8_t in[HELLO_CONFIRM_LEN], struct error *err);

/* Is what came back so far worth a call of hello_answer(): complete, or wrong already? Cheap, where
 * that costs an X25519 product. */
bool hello_answer_ready(const void *bytes, size_t len);

/* A payload as the launcher checks it before it lets munge sign it for the network half: is it a
 * hello's, to this destination? */
int hello_payload_check(
        const void *payload, size_t len, const struct hello_to *to, struct error *err);

/* --- the server ---------------------------------------------------------------------------- */

/* What the server is. Borrowed. */
struct hello_rules {
	const char *role;
	const char *cluster;
	const char *node; /* role "agent": its own; "attach": NODE/RUN; "controller": NULL */
	uid_t self;       /* credentials must be restricted to it */
};

struct hello_peer {
	uid_t uid;
	gid_t gid;
	char node[HELLO_NAME_MAX +
	          1]; /* "controller@CLUSTER/NODE": the node it speaks for; or "" */
};

/* Is the hello complete? 1: it is, and *need is its length (bytes behind it are an error that the
 * caller reports: nothing may follow yet); 0: no, it will be at least *need bytes; -1 with
 * ERR_PROTOCOL or ERR_VERSION. Cheap. */
int hello_peek(const void *bytes, size_t len, size_t *need, struct error *err);

/* The credential of a complete hello, NUL-terminated. -1 with ERR_PROTOCOL. */
int hello_credential(
        const void *bytes, size_t len, char out[HELLO_CRED_MAX + 1], struct error *err);

/* Check a complete hello and answer it: munge decode, X25519; blocks. On success *peer, *noise (the
 * caller's, in transport) and the answer, of *answer_len bytes. On failure `err` says why (for the
 * log), its code is what hello_refusal() tells the client. */
int hello_accept(const void *bytes, size_t len, const struct hello_rules *rules,
        const struct mcred_ops *mcred, struct hello_peer *peer, struct noise **noise,
        uint8_t answer[HELLO_ANSWER_MAX], size_t *answer_len, struct error *err);

/* The refusal for an error code, always of the same size: returns it. */
size_t hello_refusal(int code, uint8_t answer[HELLO_ANSWER_MAX]);

#endif
