/* resumable_link.c - see resumable_link.h */
#include "cmds/steps/resumable_link.h"

#include <stdlib.h>

#include "common/base/byte_queue.h"
#include "common/base/wirenum.h"
#include "common/base/xalloc.h"
#include "common/net/steplink.h"

#define HEAD_LEN 7
#define ACK_STEP (64 * 1024)

struct resumable_link {
	uint64_t session;
	bool greeted;           /* the other side's STEP_RESUME has come */
	bool connected;         /* there is a connection */
	bool bye, over;         /* STEP_BYE is to be said; it has come */
	struct byte_queue kept; /* from the first byte that the other side has not */
	uint64_t kept_from;     /* which that is */
	size_t cut;             /* of `kept`: so much are whole frames */
	size_t moved;           /* of `kept`: so much is in `out`, of this connection */
	struct byte_queue out;  /* for the connection */
	struct byte_queue in;   /* from it: a piece of a frame */
	struct byte_queue arrived;
	uint64_t received, acked;
};

struct resumable_link *resumable_link_new(uint64_t session)
{
	struct resumable_link *l = xcalloc(1, sizeof(*l));

	l->session = session;
	return l;
}

void resumable_link_free(struct resumable_link *l)
{
	if (!l)
		return;
	free(l->kept.p);
	free(l->out.p);
	free(l->in.p);
	free(l->arrived.p);
	free(l);
}

uint64_t resumable_link_session(const struct resumable_link *l)
{
	return l->session;
}

int resumable_link_peek(const uint8_t *bytes, size_t len, uint64_t *session)
{
	if (len >= 3 && bytes[2] != STEP_RESUME)
		return -1;
	if (len < HEAD_LEN + 8)
		return 0;
	*session = get_u64(bytes + HEAD_LEN);
	return 1;
}

/* --- to the connection ------------------------------------------------------------------------ */

static void put_frame(struct resumable_link *l, unsigned kind, const uint8_t *data, size_t len)
{
	uint8_t head[HEAD_LEN];

	put_u16(head, (uint16_t)(HEAD_LEN - 2 + len));
	head[2] = (uint8_t)kind;
	put_u32(head + 3, STEP_NONE);
	byte_queue_add(&l->out, head, sizeof(head));
	byte_queue_add(&l->out, data, len);
}

void resumable_link_connect(struct resumable_link *l)
{
	uint8_t b[16];

	resumable_link_break(l);
	l->connected = true;
	put_u64(b, l->session);
	put_u64(b + 8, l->received);
	l->acked = l->received;
	put_frame(l, STEP_RESUME, b, sizeof(b));
}

void resumable_link_bye(struct resumable_link *l)
{
	l->bye = true;
}

bool resumable_link_is_over(const struct resumable_link *l)
{
	return l->over;
}

void resumable_link_break(struct resumable_link *l)
{
	l->connected = l->greeted = false;
	l->moved = 0;
	byte_queue_drop(&l->out, byte_queue_len(&l->out));
	byte_queue_drop(&l->in, byte_queue_len(&l->in));
}

bool resumable_link_is_connected(const struct resumable_link *l)
{
	return l->greeted;
}

size_t resumable_link_kept(const struct resumable_link *l)
{
	return byte_queue_len(&l->kept);
}

/* So much of `kept` is whole frames. */
static void find_cut(struct resumable_link *l)
{
	const uint8_t *p = l->kept.p + l->kept.at;

	while (byte_queue_len(&l->kept) - l->cut >= 2) {
		size_t n = 2 + (size_t)get_u16(p + l->cut);

		if (byte_queue_len(&l->kept) - l->cut < n)
			break;
		l->cut += n;
	}
}

void resumable_link_put(struct resumable_link *l, const void *bytes, size_t len)
{
	byte_queue_add(&l->kept, bytes, len);
	find_cut(l);
}

const uint8_t *resumable_link_pending(struct resumable_link *l, size_t *len)
{
	uint8_t b[8];

	if (l->greeted && l->moved < l->cut && byte_queue_len(&l->out) < ACK_STEP) {
		byte_queue_add(&l->out, l->kept.p + l->kept.at + l->moved, l->cut - l->moved);
		l->moved = l->cut;
	}
	if (l->greeted && l->received - l->acked >= ACK_STEP) {
		put_u64(b, l->received);
		l->acked = l->received;
		put_frame(l, STEP_ACK, b, sizeof(b));
	}
	if (l->greeted && l->bye && l->moved == l->cut) {
		l->bye = false;
		put_frame(l, STEP_BYE, NULL, 0);
	}
	*len = byte_queue_len(&l->out);
	return l->out.p + l->out.at;
}

void resumable_link_sent(struct resumable_link *l, size_t len)
{
	byte_queue_drop(&l->out, len);
}

/* --- from the connection ---------------------------------------------------------------------- */

static int take_received(struct resumable_link *l, uint64_t received, struct error *err)
{
	if (received < l->kept_from || received - l->kept_from > l->cut)
		return error_set(err, ERR_PROTOCOL, "the other side does not go on where it was");
	received -= l->kept_from;
	l->kept_from += received;
	l->cut -= (size_t)received;
	l->moved = l->moved > received ? l->moved - (size_t)received : 0;
	byte_queue_drop(&l->kept, (size_t)received);
	return 0;
}

static int take_resume(struct resumable_link *l, const uint8_t *data, size_t len, struct error *err)
{
	if (l->greeted || len != 16 || get_u64(data) != l->session)
		return error_set(err, ERR_PROTOCOL, "another link's greeting");
	l->greeted = true;
	return take_received(l, get_u64(data + 8), err);
}

static int take_frame(struct resumable_link *l, const uint8_t *frame, size_t n, struct error *err)
{
	unsigned kind = frame[2];

	if (kind == STEP_RESUME)
		return take_resume(l, frame + HEAD_LEN, n - HEAD_LEN, err);
	if (!l->greeted)
		return error_set(err, ERR_PROTOCOL, "no greeting");
	if (kind == STEP_BYE) {
		l->over = true;
		return 0;
	}
	if (kind == STEP_ACK && n == HEAD_LEN + 8)
		return take_received(l, get_u64(frame + HEAD_LEN), err);
	byte_queue_add(&l->arrived, frame, n);
	l->received += n;
	return 0;
}

int resumable_link_feed(struct resumable_link *l, const void *bytes, size_t len, struct error *err)
{
	byte_queue_add(&l->in, bytes, len);
	while (byte_queue_len(&l->in) >= HEAD_LEN) {
		size_t n = 2 + (size_t)get_u16(l->in.p + l->in.at);

		if (n < HEAD_LEN || n > HEAD_LEN + STEPLINK_DATA_MAX)
			return error_set(err, ERR_PROTOCOL, "a frame of %zu bytes", n);
		if (byte_queue_len(&l->in) < n)
			break;
		if (take_frame(l, l->in.p + l->in.at, n, err) < 0)
			return -1;
		byte_queue_drop(&l->in, n);
	}
	return 0;
}

const uint8_t *resumable_link_arrived(const struct resumable_link *l, size_t *len)
{
	*len = byte_queue_len(&l->arrived);
	return l->arrived.p + l->arrived.at;
}

void resumable_link_taken(struct resumable_link *l, size_t len)
{
	byte_queue_drop(&l->arrived, len);
}
