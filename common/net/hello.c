/* hello.c - see hello.h */
#include "common/net/hello.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "common/base/wirenum.h"

#define MAGIC_LEN   8
#define HEAD_LEN    16 /* magic, version, flags, length of the credential */
#define ANSWER_HEAD 12 /* magic, code, length */
#define TAG_LEN     (sizeof(HELLO_TAG) - 1)
#define PAYLOAD_MAX (TAG_LEN + 2 + NOISE_PSK_LEN + 2 + HELLO_NAME_MAX + 2 + HELLO_DEST_MAX)
#define MSG1_LEN    NOISE_HANDSHAKE_EXTRA /* both Noise payloads are empty */
#define MSG2_LEN    NOISE_HANDSHAKE_EXTRA

static const uint8_t magic[MAGIC_LEN] = { 'G', 'P', 'U', 'S', 'C', 'H', 'E', 'D' };

_Static_assert(
        TAG_LEN == 16 && sizeof(HELLO_ATTACH_TAG) == sizeof(HELLO_TAG), "tags have a fixed length");

static bool is_attach(const char *role)
{
	return strcmp(role, "attach") == 0;
}

static const char *tag_of(const char *role)
{
	return is_attach(role) ? HELLO_ATTACH_TAG : HELLO_TAG;
}

/* --- the payload ------------------------------------------------------------------------------ */

/* "" for no node; NODE; for a stream NODE/RUN. */
static bool is_node(const char *role, const char *node)
{
	const char *slash = strchr(node, '/');

	if (!is_attach(role))
		return strlen(node) <= HELLO_NAME_MAX && !strpbrk(node, "@/");
	return slash && slash > node && slash - node <= HELLO_NAME_MAX && slash[1] &&
	       strlen(slash + 1) <= HELLO_RUN_MAX && !strpbrk(slash + 1, "@/") &&
	       !strchr(node, '@');
}

/* ROLE@CLUSTER or ROLE@CLUSTER/NODE. */
static int destination(const struct hello_to *to, char out[HELLO_DEST_MAX + 1], struct error *err)
{
	const char *node = to->node ? to->node : "";

	if (strcmp(to->role, "controller") != 0 && strcmp(to->role, "agent") != 0 &&
	        !is_attach(to->role))
		return error_set(err, ERR_INTERNAL, "unknown role '%s'", to->role);
	if (!*to->cluster || strlen(to->cluster) > HELLO_NAME_MAX || strpbrk(to->cluster, "@/"))
		return error_set(err, ERR_USAGE, "'%s' cannot be a cluster's id", to->cluster);
	if (!is_node(to->role, node))
		return error_set(err, ERR_USAGE, "'%s' cannot be a %s", node,
		        is_attach(to->role) ? "run on a node" : "node's name");
	snprintf(out, HELLO_DEST_MAX + 1, "%s@%s%s%s", to->role, to->cluster, *node ? "/" : "",
	        node);
	return 0;
}

struct payload {
	const char *tag;
	unsigned version;
	uint8_t psk[NOISE_PSK_LEN];
	char cluster[HELLO_NAME_MAX + 1];
	char dest[HELLO_DEST_MAX + 1];
};

static uint8_t *put_text(uint8_t *p, const char *s)
{
	size_t n = strlen(s);

	put_u16(p, (uint16_t)n);
	memcpy(p + 2, s, n);
	return p + 2 + n;
}

static size_t payload_put(uint8_t out[PAYLOAD_MAX], const struct payload *pl)
{
	uint8_t *p = out;

	memcpy(p, pl->tag, TAG_LEN);
	p += TAG_LEN;
	put_u16(p, HELLO_VERSION);
	memcpy(p + 2, pl->psk, NOISE_PSK_LEN);
	p = put_text(p + 2 + NOISE_PSK_LEN, pl->cluster);
	p = put_text(p, pl->dest);
	return (size_t)(p - out);
}

/* A text with its length before it; no NUL inside. */
static const uint8_t *get_text(const uint8_t *p, const uint8_t *end, char *out, size_t max)
{
	size_t n;

	if (!p || end - p < 2)
		return NULL;
	n = get_u16(p);
	p += 2;
	if (n > max || (size_t)(end - p) < n || memchr(p, 0, n))
		return NULL;
	memcpy(out, p, n);
	out[n] = '\0';
	return p + n;
}

static int payload_get(
        const uint8_t *p, size_t len, const char *role, struct payload *pl, struct error *err)
{
	const uint8_t *end = p + len;

	if (len < TAG_LEN + 2 + NOISE_PSK_LEN || memcmp(p, tag_of(role), TAG_LEN) != 0)
		return error_set(err, ERR_AUTH, "the credential was not made for a %s",
		        is_attach(role) ? "stream" : "connection");
	pl->tag = tag_of(role);
	p += TAG_LEN;
	pl->version = get_u16(p);
	if (pl->version != HELLO_VERSION)
		return error_set(err, ERR_VERSION,
		        "the credential is of protocol version %u, not %d", pl->version,
		        HELLO_VERSION);
	memcpy(pl->psk, p + 2, NOISE_PSK_LEN);
	p = get_text(p + 2 + NOISE_PSK_LEN, end, pl->cluster, HELLO_NAME_MAX);
	p = get_text(p, end, pl->dest, HELLO_DEST_MAX);
	if (p != end)
		return error_set(err, ERR_AUTH, "the credential's payload is malformed");
	return 0;
}

int hello_payload_check(
        const void *payload, size_t len, const struct hello_to *to, struct error *err)
{
	char dest[HELLO_DEST_MAX + 1];
	struct payload pl;
	int r;

	if (destination(to, dest, err) < 0)
		return -1;
	r = payload_get(payload, len, to->role, &pl, err);
	if (r == 0 && (strcmp(pl.cluster, to->cluster) != 0 || strcmp(pl.dest, dest) != 0))
		r = error_set(err, ERR_AUTH, "a hello to %s, not to %s", pl.dest, dest);
	sodium_memzero(&pl, sizeof(pl));
	return r;
}

/* --- the client ------------------------------------------------------------------------------- */

struct hello {
	struct payload pl;
	uint8_t payload[PAYLOAD_MAX];
	size_t payload_len;
	struct noise *noise;
	uint8_t *bytes;
	size_t len;
};

struct hello *hello_new(const struct hello_to *to, struct error *err)
{
	char dest[HELLO_DEST_MAX + 1];
	struct hello *h;

	if (destination(to, dest, err) < 0)
		return NULL;
	h = calloc(1, sizeof(*h));
	if (!h || sodium_init() < 0) {
		free(h);
		error_set(err, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	h->pl.tag = tag_of(to->role);
	memcpy(h->pl.dest, dest, sizeof(dest));
	memcpy(h->pl.cluster, to->cluster, strlen(to->cluster));
	randombytes_buf(h->pl.psk, sizeof(h->pl.psk));
	h->payload_len = payload_put(h->payload, &h->pl);
	return h;
}

void hello_free(struct hello *h)
{
	if (!h)
		return;
	noise_free(h->noise);
	free(h->bytes);
	sodium_memzero(h, sizeof(*h));
	free(h);
}

const uint8_t *hello_payload(const struct hello *h, size_t *len)
{
	*len = h->payload_len;
	return h->payload;
}

int hello_finish(struct hello *h, const char *credential, const uint8_t **bytes, size_t *len,
        struct error *err)
{
	size_t c = strlen(credential), msg_len;
	uint8_t *p;

	if (h->bytes)
		return error_set(err, ERR_INTERNAL, "a hello is used once");
	if (c == 0 || c > HELLO_CRED_MAX)
		return error_set(err, ERR_AUTH, "a credential of %zu bytes", c);
	p = h->bytes = malloc(HEAD_LEN + c + 2 + MSG1_LEN);
	if (!p)
		return error_set(err, ERR_SYSTEM, "out of memory");
	memcpy(p, magic, MAGIC_LEN);
	put_u16(p + 8, HELLO_VERSION);
	put_u16(p + 10, 0);
	put_u32(p + 12, (uint32_t)c);
	memcpy(p + HEAD_LEN, credential, c);
	h->noise = noise_new(true, h->pl.psk, p, HEAD_LEN + c);
	if (!h->noise)
		return error_set(err, ERR_SYSTEM, "out of memory");
	p += HEAD_LEN + c;
	put_u16(p, MSG1_LEN);
	if (noise_write(h->noise, "", 0, p + 2, MSG1_LEN, &msg_len, err) < 0)
		return -1;
	sodium_memzero(&h->pl.psk, sizeof(h->pl.psk));
	sodium_memzero(h->payload, sizeof(h->payload));
	*bytes = h->bytes;
	*len = h->len = HEAD_LEN + c + 2 + MSG1_LEN;
	return 0;
}

const uint8_t *hello_bytes(const struct hello *h, size_t *len)
{
	*len = h->len;
	return h->bytes;
}

/* What a refusal tells people. Only these codes are ours to show: anything else is a peer that does
 * not speak our protocol. */
static const struct refusal {
	int code;
	const char *text; /* after "controller HOST:PORT: " */
	const char *hint;
} refusals[] = {
	{ ERR_PROTOCOL, "it did not understand our greeting", "are both ends gpusched?" },
	{ ERR_VERSION, "it speaks another version of the protocol",
	        "use commands and agents of the controller's release" },
	{ ERR_MUNGE_DOWN, "its munge daemon does not answer",
	        "the administrator should look after munge on the controller's host" },
	{ ERR_MUNGE_KEY, "it cannot read our munge credential: the munge keys differ",
	        "copy the controller's munge.key to this host and restart munge" },
	{ ERR_MUNGE_CLOCK,
	        "it finds our munge credential expired or from the future: the clocks differ",
	        "compare `date -u` on both hosts; keep the clocks in step with NTP" },
	{ ERR_MUNGE_REPLAY, "it has seen our munge credential before", "try again" },
	{ ERR_AUTH, "it does not accept our credential",
	        "is the controller's user in the configuration of this host the right one?" },
	{ ERR_CLUSTER, "it serves another cluster",
	        "compare the cluster's id and the controller's address with the controller's "
	        "configuration" },
	{ ERR_NOT_PERMITTED, "this user may not speak for a node", "" },
	{ ERR_NO_NODE, "the node is not in its configuration",
	        "add the node to gpusched.conf and run gctl reconfigure" },
	{ ERR_NODE_STATE, "it does not take the node now", "" },
	{ ERR_BUSY, "it is too busy", "try again later" },
	{ ERR_SESSIONS,
	        "you have as many connections as one user may have, and none of them is idle "
	        "(controller.sessions_per_user, controller.max_sessions)",
	        "end commands that wait or watch; gctl stats --by=user" },
	{ ERR_TIMEOUT, "the greeting took too long", "try again later" },
	{ ERR_SYSTEM, "it has a fault of its own", "see the controller's log" },
	{ ERR_INTERNAL, "it has a fault of its own", "see the controller's log" },
};

static int refused(unsigned code, const char *peer, struct error *err)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];

		if (r->code != (int)code)
			continue;
		error_set(err, r->code, "%s refuses the connection: %s", peer, r->text);
		return *r->hint ? error_hint(err, "%s", r->hint) : -1;
	}
	return error_set(
	        err, ERR_PROTOCOL, "%s refuses the connection with unknown code %u", peer, code);
}

int hello_answer(struct hello *h, const char *peer, const void *bytes, size_t len, size_t *used,
        struct noise **noise, struct error *err)
{
	const uint8_t *p = bytes;
	uint8_t none[1];
	size_t n, got;

	n = len < MAGIC_LEN ? len : MAGIC_LEN;
	if (n > 0 && memcmp(p, magic, n) != 0)
		return error_set(err, ERR_PROTOCOL, "%s is no gpusched controller", peer);
	if (len < ANSWER_HEAD)
		return 0;
	n = get_u16(p + 10);
	if (get_u16(p + 8) != ERR_NONE)
		return n ? error_set(
		                   err, ERR_PROTOCOL, "%s answers what the protocol forbids", peer)
		         : refused(get_u16(p + 8), peer, err);
	if (n != MSG2_LEN)
		return error_set(err, ERR_PROTOCOL, "%s answers what the protocol forbids", peer);
	if (len < ANSWER_HEAD + MSG2_LEN)
		return 0;
	if (!h->noise)
		return error_set(err, ERR_INTERNAL, "an answer to no hello");
	if (noise_read(h->noise, p + ANSWER_HEAD, MSG2_LEN, none, 0, &got, err) < 0) {
		error_set(err, ERR_AUTH, "%s could not prove that it is the controller", peer);
		return error_hint(err, "someone between may have altered the greeting");
	}
	*noise = h->noise;
	h->noise = NULL;
	*used = ANSWER_HEAD + MSG2_LEN;
	return 1;
}

int hello_confirm(struct noise *noise, uint8_t out[HELLO_CONFIRM_LEN], struct error *err)
{
	size_t n;

	put_u16(out, NOISE_TAG_LEN);
	return noise_write(noise, "", 0, out + 2, NOISE_TAG_LEN, &n, err);
}

int hello_check_confirm(struct noise *noise, const uint8_t in[HELLO_CONFIRM_LEN], struct error *err)
{
	uint8_t none[1];
	size_t n;

	if (get_u16(in) != NOISE_TAG_LEN ||
	        noise_read(noise, in + 2, NOISE_TAG_LEN, none, 0, &n, NULL) < 0)
		return error_set(err, ERR_AUTH, "the greeting was not confirmed by who made it");
	return 0;
}

bool hello_answer_ready(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	size_t n = len < MAGIC_LEN ? len : MAGIC_LEN;

	if (n > 0 && memcmp(p, magic, n) != 0)
		return true;
	if (len < ANSWER_HEAD)
		return false;
	return get_u16(p + 8) != ERR_NONE || get_u16(p + 10) != MSG2_LEN ||
	       len >= ANSWER_HEAD + MSG2_LEN;
}

/* --- the server ------------------------------------------------------------------------------- */

int hello_peek(const void *bytes, size_t len, size_t *need, struct error *err)
{
	const uint8_t *p = bytes;
	size_t n = len < MAGIC_LEN ? len : MAGIC_LEN, c;

	if (n > 0 && memcmp(p, magic, n) != 0)
		return error_set(err, ERR_PROTOCOL, "not the gpusched protocol");
	*need = HEAD_LEN;
	if (len < HEAD_LEN)
		return 0;
	if (get_u16(p + 8) != HELLO_VERSION)
		return error_set(err, ERR_VERSION, "the peer speaks protocol version %u, not %d",
		        get_u16(p + 8), HELLO_VERSION);
	if (get_u16(p + 10) != 0)
		return error_set(err, ERR_PROTOCOL, "a greeting with unknown flags");
	c = get_u32(p + 12);
	if (c == 0 || c > HELLO_CRED_MAX)
		return error_set(err, ERR_PROTOCOL, "a credential of %zu bytes", c);
	*need = HEAD_LEN + c + 2 + MSG1_LEN;
	if (len >= HEAD_LEN + c + 2 && get_u16(p + HEAD_LEN + c) != MSG1_LEN)
		return error_set(err, ERR_PROTOCOL, "a greeting of the wrong length");
	return len >= *need;
}

/* A destination starts with what the rules say; what follows is a node or nothing. */
static int check_destination(const struct payload *pl, const struct hello_rules *rules,
        struct hello_peer *peer, struct error *err)
{
	struct hello_to to = { rules->role, rules->cluster, rules->node };
	char own[HELLO_DEST_MAX + 1];
	size_t n;

	if (destination(&to, own, err) < 0)
		return -1;
	if (strcmp(pl->cluster, rules->cluster) != 0)
		return error_set(err, ERR_CLUSTER, "the peer wants another cluster than '%s'",
		        rules->cluster);
	n = strlen(own);
	if (strncmp(pl->dest, own, n) != 0 || (pl->dest[n] != '\0' && pl->dest[n] != '/'))
		return error_set(err, ERR_AUTH, "the credential was made for somebody else");
	if (pl->dest[n] == '\0') {
		peer->node[0] = '\0';
		return 0;
	}
	/* .../NODE: a plain name, and not where the destination is a node already */
	if (rules->node || !pl->dest[n + 1] || strlen(pl->dest + n + 1) > HELLO_NAME_MAX ||
	        strpbrk(pl->dest + n + 1, "@/"))
		return error_set(err, ERR_AUTH, "the credential's destination is malformed");
	memcpy(peer->node, pl->dest + n + 1, strlen(pl->dest + n + 1) + 1);
	return 0;
}

/* Everything that munge vouches for, in the order of what it can prove. */
static int check_credential(const struct mcred *mc, const struct hello_rules *rules,
        struct payload *pl, struct hello_peer *peer, struct error *err)
{
	if (mc->restrict_uid != rules->self)
		return error_set(err, ERR_AUTH, "the credential is not restricted to our uid %u",
		        (unsigned)rules->self);
	if (!mc->aes256)
		return error_set(err, ERR_AUTH, "the credential is not encrypted with AES-256");
	if (payload_get(mc->payload, mc->len, rules->role, pl, err) < 0)
		return -1;
	if (mcred_demand_fresh(mc, err) < 0)
		return -1;
	if (check_destination(pl, rules, peer, err) < 0)
		return -1;
	peer->uid = mc->uid;
	peer->gid = mc->gid;
	return 0;
}

static int shake_hands(const uint8_t *bytes, size_t cred_len, const struct payload *pl,
        struct noise **noise, uint8_t answer[HELLO_ANSWER_MAX], struct error *err)
{
	const uint8_t *msg1 = bytes + HEAD_LEN + cred_len + 2;
	struct noise *n = noise_new(false, pl->psk, bytes, HEAD_LEN + cred_len);
	uint8_t none[1];
	size_t got;

	if (!n)
		return error_set(err, ERR_SYSTEM, "out of memory");
	memcpy(answer, magic, MAGIC_LEN);
	put_u16(answer + 8, ERR_NONE);
	put_u16(answer + 10, MSG2_LEN);
	if (noise_read(n, msg1, MSG1_LEN, none, 0, &got, NULL) < 0 ||
	        noise_write(n, "", 0, answer + ANSWER_HEAD, MSG2_LEN, &got, NULL) < 0) {
		noise_free(n);
		return error_set(err, ERR_AUTH, "greeting and credential do not belong together");
	}
	*noise = n;
	return 0;
}

int hello_credential(const void *bytes, size_t len, char out[HELLO_CRED_MAX + 1], struct error *err)
{
	size_t need, c;
	int r = hello_peek(bytes, len, &need, err);

	if (r < 0)
		return -1;
	if (r == 0 || need != len)
		return error_set(err, ERR_PROTOCOL, "a greeting of the wrong length");
	c = get_u32((const uint8_t *)bytes + 12);
	memcpy(out, (const uint8_t *)bytes + HEAD_LEN, c);
	out[c] = '\0';
	if (strlen(out) != c)
		return error_set(err, ERR_PROTOCOL, "a credential with a NUL in it");
	return 0;
}

int hello_accept(const void *bytes, size_t len, const struct hello_rules *rules,
        const struct mcred_ops *mcred, struct hello_peer *peer, struct noise **noise,
        uint8_t answer[HELLO_ANSWER_MAX], size_t *answer_len, struct error *err)
{
	char cred[HELLO_CRED_MAX + 1];
	struct hello_peer who;
	struct payload pl;
	struct mcred mc;
	int r;

	if (hello_credential(bytes, len, cred, err) < 0 || mcred->decode(mcred, cred, &mc, err) < 0)
		return -1;
	r = check_credential(&mc, rules, &pl, &who, err);
	if (r == 0)
		r = shake_hands(bytes, strlen(cred), &pl, noise, answer, err);
	if (r == 0) {
		*peer = who;
		*answer_len = ANSWER_HEAD + MSG2_LEN;
	}
	mcred_clear(&mc);
	sodium_memzero(&pl, sizeof(pl));
	return r;
}

size_t hello_refusal(int code, uint8_t answer[HELLO_ANSWER_MAX])
{
	bool known = false;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		known = known || refusals[i].code == code;
	memcpy(answer, magic, MAGIC_LEN);
	put_u16(answer + 8, (uint16_t)(known ? code : ERR_AUTH));
	put_u16(answer + 10, 0);
	return ANSWER_HEAD;
}
