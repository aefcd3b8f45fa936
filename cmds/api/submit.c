/* submit.c - see submit.h */
#include "cmds/api/submit.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmds/api/spec.h"
#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"

#define FIRST_ID   (UINT64_C(1) << 32) /* of our frames; dial_send() counts from 1 */
#define SILENCE_MS 30000               /* without an answer the connection is given up */
#define RESIGN_S   200                 /* a credential this old is made anew (munge: 300 s) */

/* One frame under way. */
struct group {
	uint64_t id, tag;
	uint8_t *frame;
	size_t frame_len;
	struct signedjob_hash *hashes;
	size_t n;
	time_t signed_at;
	bool part; /* of a bulk */
	bool done;
	uint64_t *ids; /* n of them, once accepted */
	struct error error;
};

struct submit_queue {
	struct client *client;
	struct group *v; /* from `head` on: in the order of sending */
	size_t head, n, room;
	uint64_t last_id;
	uint64_t generation; /* of the connection that the frames went out on */
	struct arena *arena;
	uint64_t *taken; /* ids of the last answer */
};

struct submit_queue *submit_queue_new(struct client *c)
{
	struct submit_queue *q = xcalloc(1, sizeof(*q));

	q->client = c;
	q->last_id = FIRST_ID;
	q->arena = arena_new(MSG_BODY_MAX_JOB);
	return q;
}

static void group_clear(struct group *g)
{
	free(g->frame);
	free(g->hashes);
	free(g->ids);
	*g = (struct group){ .id = 0 };
}

void submit_forget(struct submit_queue *q)
{
	if (q->head < q->n)
		client_drop(q->client);
	for (; q->head < q->n; q->head++)
		group_clear(&q->v[q->head]);
	q->head = q->n = 0;
}

void submit_queue_free(struct submit_queue *q)
{
	if (!q)
		return;
	submit_forget(q);
	arena_free(q->arena);
	free(q->taken);
	free(q->v);
	free(q);
}

size_t submit_under_way(const struct submit_queue *q)
{
	return q->n - q->head;
}

/* --- making frames -------------------------------------------------------------------------- */

static char *make_credential(
        const struct client *c, const struct signedjob_hash *hashes, size_t n, struct error *err)
{
	const struct mcred_ops *ops = client_mcred(c);
	uint8_t payload[SIGNEDJOB_PAYLOAD_MAX];
	size_t len = signedjob_payload(hashes, n, payload);
	char *cred;

	return ops->encode(ops, payload, len, MCRED_ANY_UID, &cred, err) < 0 ? NULL : cred;
}

/* Put a fresh credential and the jobs into a frame. */
static int pack(
        struct submit_queue *q, struct group *g, Gpusched__Submit *submit, struct error *err)
{
	char *cred = make_credential(q->client, g->hashes, g->n, err);
	uint8_t *frame;
	int rc;

	if (!cred)
		return -1;
	submit->credential = (ProtobufCBinaryData){ strlen(cred), (uint8_t *)cred };
	rc = frame_pack(
	        GPUSCHED__MSG_TYPE__MSG_SUBMIT, g->id, &submit->base, &frame, &g->frame_len, err);
	free(cred);
	if (rc < 0)
		return error_set(err, ERR_USAGE,
		        "the jobs of one submit have %zu KiB together; at most %d",
		        gpusched__submit__get_packed_size(submit) / 1024, MSG_BODY_MAX_JOB / 1024);
	free(g->frame);
	g->frame = frame;
	g->signed_at = time(NULL);
	return 0;
}

static int make_group(struct submit_queue *q, const struct gpusched_spec *specs, size_t n,
        const struct spec_service *service, uint64_t bulk, struct group *g, struct error *err)
{
	struct spec_group made;
	int rc;

	if (spec_group_make(specs, n, service, client_conf(q->client)->cluster, &made, err) < 0)
		return -1;
	*g = (struct group){ .id = q->last_id + 1, .n = n, .part = bulk != 0 };
	made.submit.bulk = bulk;
	g->hashes = xmemdup(made.hashes, n * sizeof(*made.hashes));
	rc = pack(q, g, &made.submit, err);
	spec_group_clear(&made);
	if (rc < 0)
		group_clear(g);
	return rc;
}

/* The credential is too old, or soon will be: sign the same bytes again. */
static int sign_again(struct submit_queue *q, struct group *g, struct error *err)
{
	ProtobufCMessage *m = msg_unpack(GPUSCHED__MSG_TYPE__MSG_SUBMIT,
	        g->frame + FRAME_HEADER_LEN, g->frame_len - FRAME_HEADER_LEN, q->arena, err);

	return m ? pack(q, g, (Gpusched__Submit *)m, err) : -1;
}

static bool is_old(const struct group *g)
{
	time_t age = time(NULL) - g->signed_at;

	return age > RESIGN_S || age < 0;
}

/* --- sending -------------------------------------------------------------------------------- */

/* Hand a frame to the connection and let it take what it takes at once. */
static int put(struct dial *d, const struct group *g, struct error *err)
{
	struct error why;

	if (dial_send_bytes(d, g->frame, g->frame_len, err) < 0)
		return -1;
	if (dial_flush(d, 0, &why) < 0 && why.code != ERR_TIMEOUT) {
		*err = why;
		return -1;
	}
	return 0;
}

/* A connection with all frames that have no answer on their way. NULL: not for as long as the
 * client tries. */
static struct dial *ready_connection(struct submit_queue *q, struct error *err)
{
	for (;;) {
		struct dial *d = client_dial(q->client, err);
		struct error why;
		int rc = 0;

		if (!d || q->generation == client_generation(q->client))
			return d;
		for (size_t i = q->head; i < q->n && rc >= 0; i++) {
			struct group *g = &q->v[i];

			if (g->done)
				continue;
			if (is_old(g))
				rc = sign_again(q, g, &why);
			if (rc >= 0)
				rc = put(d, g, &why);
		}
		if (rc >= 0) {
			q->generation = client_generation(q->client);
			return d;
		}
		client_drop(q->client);
		if (!client_pause(q->client, &why)) {
			*err = why;
			return NULL;
		}
	}
}

static struct group *add_group(struct submit_queue *q)
{
	if (q->n == q->room && q->head) {
		memmove(q->v, q->v + q->head, (q->n - q->head) * sizeof(*q->v));
		q->n -= q->head;
		q->head = 0;
	}
	return XADD(q->v, q->n, q->room);
}

static int send_group(struct submit_queue *q, const struct gpusched_spec *specs, size_t n,
        const struct spec_service *service, uint64_t tag, uint64_t bulk, struct error *err)
{
	struct group g;
	struct error why;
	struct dial *d;

	if (submit_under_way(q) >= GPUSCHED_PIPELINE_MAX)
		return error_set(
		        err, ERR_BUSY, "%d submits wait for their answer", GPUSCHED_PIPELINE_MAX);
	if (make_group(q, specs, n, service, bulk, &g, err) < 0)
		return -1;
	d = ready_connection(q, &why);
	if (!d) {
		group_clear(&g);
		if (err)
			*err = why;
		return -1;
	}
	q->last_id = g.id;
	g.tag = tag;
	*add_group(q) = g;
	if (put(d, &g, &why) < 0)
		client_drop(q->client); /* it is sent again with the next connection */
	return 0;
}

int submit_send(struct submit_queue *q, const struct gpusched_spec *specs, size_t n, uint64_t tag,
        struct error *err)
{
	return send_group(q, specs, n, NULL, tag, 0, err);
}

int submit_send_part(struct submit_queue *q, const struct gpusched_spec *specs, size_t n,
        uint64_t tag, uint64_t bulk, struct error *err)
{
	return send_group(q, specs, n, NULL, tag, bulk, err);
}

/* --- answers -------------------------------------------------------------------------------- */

static struct group *find_group(struct submit_queue *q, uint64_t id)
{
	for (size_t i = q->head; i < q->n; i++)
		if (q->v[i].id == id && !q->v[i].done)
			return &q->v[i];
	return NULL;
}

static int on_result(struct group *g, const Gpusched__SubmitResult *r, struct error *err)
{
	if (r->n_job_ids != g->n)
		return error_set(err, ERR_PROTOCOL, "%zu ids for %zu jobs", r->n_job_ids, g->n);
	free(g->ids);
	g->ids = xmemdup(r->job_ids, g->n * sizeof(*g->ids));
	return 0;
}

/* The end of the answer: done, or once more after a pause or with a new signature. */
static int on_reply(
        struct submit_queue *q, struct group *g, const Gpusched__Reply *r, struct error *err)
{
	struct error why = { .code = ERR_NONE };
	struct dial *d;

	if (dial_reply_error(r, &why) >= 0 && !g->ids && !g->part)
		return error_set(err, ERR_PROTOCOL, "a submit was answered without its ids");
	if ((why.code == ERR_BUSY && client_pause(q->client, &why)) ||
	        (why.code == ERR_MUNGE_CLOCK && is_old(g) && sign_again(q, g, err) >= 0)) {
		d = client_dial(q->client, err);
		return d ? put(d, g, err) : -1;
	}
	g->error = why;
	g->done = true;
	client_worked(q->client);
	client_warn(q->client, r->warning);
	return 0;
}

static int on_frame(struct submit_queue *q, const struct frame *f, struct error *err)
{
	struct group *g = find_group(q, f->id);
	ProtobufCMessage *m = msg_unpack(f->type, f->body, f->len, q->arena, err);

	if (!m)
		return -1;
	if (!g)
		return error_set(err, ERR_PROTOCOL, "an answer without a request");
	switch (f->type) {
	case GPUSCHED__MSG_TYPE__MSG_SUBMIT_RESULT:
		return on_result(g, (Gpusched__SubmitResult *)m, err);
	case GPUSCHED__MSG_TYPE__MSG_REPLY:
		return on_reply(q, g, (Gpusched__Reply *)m, err);
	default:
		return error_set(err, ERR_PROTOCOL, "unexpected type of answer to a submit");
	}
}

/* Hand over the oldest group, which is done. */
static void take_answer(struct submit_queue *q, struct submit_answer *out)
{
	struct group *g = &q->v[q->head++];

	free(q->taken);
	q->taken = g->ids;
	g->ids = NULL;
	*out = (struct submit_answer){ g->tag, g->error.code ? NULL : q->taken, g->n, g->error };
	group_clear(g);
	if (q->head == q->n)
		q->head = q->n = 0;
}

/* Wait for one frame and apply it. 1; 0: the deadline has passed; -1: the connection has failed. */
static int receive_frame(struct submit_queue *q, struct dial *d, int64_t deadline,
        struct error *err)
{
	int64_t left = deadline < 0 ? SILENCE_MS : deadline - clock_ms(CLOCK_MONOTONIC);
	struct frame f;
	int rc;

	left = left < 0 ? 0 : left > SILENCE_MS ? SILENCE_MS : left;
	rc = dial_recv(d, &f, (int)left, err);
	if (rc == 0 && left == SILENCE_MS)
		return error_set(
		        err, ERR_TIMEOUT, "no answer to a submit for %d s", SILENCE_MS / 1000);
	return rc > 0 && on_frame(q, &f, err) < 0 ? -1 : rc;
}

int submit_receive(
        struct submit_queue *q, struct submit_answer *out, int timeout_ms, struct error *err)
{
	int64_t deadline = timeout_ms < 0 ? -1 : clock_ms(CLOCK_MONOTONIC) + timeout_ms;

	if (!submit_under_way(q))
		return 0;
	while (!q->v[q->head].done) {
		struct error why;
		struct dial *d = ready_connection(q, &why);
		int rc = d ? receive_frame(q, d, deadline, &why) : -1;

		if (rc == 0)
			return 0;
		if (rc > 0)
			continue;
		client_drop(q->client);
		if (!d || !client_pause(q->client, &why)) {
			client_worked(q->client);
			if (err)
				*err = why;
			return -1;
		}
	}
	client_worked(q->client);
	take_answer(q, out);
	return 1;
}

int submit_poll(const struct submit_queue *q, short *events)
{
	const struct dial *d = client_connection(q->client);

	*events = 0;
	if (!submit_under_way(q) || !d || q->generation != client_generation(q->client))
		return -1;
	*events = (short)(POLLIN | (dial_is_sending(d) ? POLLOUT : 0));
	return dial_fd(d);
}

/* --- what would become of it ------------------------------------------------------------------ */

struct test {
	void (*on_result)(const Gpusched__SubmitResult *result, void *arg);
	void *arg;
};

static int on_test(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct test *test = arg;

	(void)err;
	test->on_result((const Gpusched__SubmitResult *)m, test->arg);
	return 0;
}

int submit_one(struct client *c, const struct gpusched_spec *spec,
        const struct spec_service *service, uint64_t *id, struct error *err)
{
	struct submit_queue *q = submit_queue_new(c);
	struct submit_answer answer;
	int rc = send_group(q, spec, 1, service, 0, 0, err);

	if (rc >= 0)
		rc = submit_receive(q, &answer, -1, err);
	if (rc > 0 && answer.error.code) {
		*err = answer.error;
		rc = -1;
	} else if (rc > 0) {
		*id = answer.ids[0];
	} else if (rc == 0) {
		rc = error_set(err, ERR_INTERNAL, "no answer to a submit");
	}
	if (rc < 0)
		submit_forget(q);
	submit_queue_free(q);
	return rc < 0 ? -1 : 0;
}

int submit_sign(struct client *c, const struct gpusched_spec *spec,
        const struct spec_service *service, uint8_t **body, size_t *len, struct error *err)
{
	struct spec_group made;
	char *cred;

	if (spec_group_make(spec, 1, service, client_conf(c)->cluster, &made, err) < 0)
		return -1;
	cred = make_credential(c, made.hashes, 1, err);
	if (cred) {
		made.submit.credential =
		        (ProtobufCBinaryData){ strlen(cred), (uint8_t *)cred };
		*body = xcalloc(1, gpusched__submit__get_packed_size(&made.submit));
		*len = gpusched__submit__pack(&made.submit, *body);
		made.submit.credential = (ProtobufCBinaryData){ 0, NULL };
	}
	spec_group_clear(&made);
	free(cred);
	return cred ? 0 : -1;
}

int submit_test(struct client *c, const struct gpusched_spec *spec,
        const struct spec_service *service,
        void (*on_result_fn)(const Gpusched__SubmitResult *result, void *arg), void *arg,
        struct error *err)
{
	struct test test = { on_result_fn, arg };
	struct client_call call = CLIENT_ASK(SUBMIT, NULL, SUBMIT_RESULT, on_test, &test);
	struct spec_group made;
	int rc;

	if (spec_group_make(spec, 1, service, client_conf(c)->cluster, &made, err) < 0)
		return -1;
	made.submit.test_only = true;
	call.request = &made.submit.base;
	rc = client_call(c, &call, err);
	spec_group_clear(&made);
	return rc;
}
