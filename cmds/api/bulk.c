/* bulk.c - see bulk.h */
#include "cmds/api/bulk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/api/spec.h"
#include "common/gpusched.pb-c.h"
#include "common/net/msg.h"

#define UNDER_WAY  48  /* parts: the controller takes some 128 frames of a session at a time */
#define AGAIN      5   /* times that all is sent again at once because parts were lost */
#define TOKEN_TEXT 320 /* of a job: the bulk's and its number */

struct bulk {
	struct client *client;
	struct submit_queue *queue;
	const struct gpusched_spec *specs;
	size_t n;
	const char *token;
	uint64_t number;
	uint64_t *ids;
	size_t n_ids; /* that are known */
	size_t taken; /* jobs of the parts that were answered, about */
	size_t bad;
};

/* "job 9 of 64: ..." of a part that begins at `first`; "job 9 of the submit: ..." of all. */
static void find_bad(struct bulk *b, size_t first, const struct error *err)
{
	unsigned long k;
	char rest[8];

	if (sscanf(err->text, "job %lu of %7s", &k, rest) == 2 && k && first + k <= b->n)
		b->bad = first + k - 1;
}

/* --- parts --------------------------------------------------------------------------------- */

#define PART_BYTES (MSG_BODY_MAX_JOB - 64 * 1024) /* the credential is in it too */

/* Read the jobs of a part that begins at `first`: as many as fit a message, and one at least.
 * Returns how many. */
static int adopt_part(struct bulk *b, size_t first, struct gpusched_spec *specs, struct error *err)
{
	size_t bytes = 0, n;

	for (n = 0; n < GPUSCHED_GROUP_MAX && first + n < b->n; n++) {
		if (spec_adopt(b->specs, first + n, &specs[n], err) < 0) {
			b->bad = first + n;
			return -1;
		}
		bytes += spec_bytes(&specs[n]);
		if (n && bytes > PART_BYTES)
			break;
	}
	return (int)n;
}

/* Returns how many jobs it has. */
static int send_part(struct bulk *b, size_t first, struct error *err)
{
	struct gpusched_spec specs[GPUSCHED_GROUP_MAX] = { 0 };
	char tokens[GPUSCHED_GROUP_MAX][TOKEN_TEXT];
	int n = adopt_part(b, first, specs, err);

	if (n < 0)
		return -1;
	for (size_t i = 0; i < (size_t)n; i++) {
		if (specs[i].token)
			continue;
		snprintf(tokens[i], sizeof(tokens[i]), "%s/%zu", b->token, first + i);
		specs[i].token = tokens[i];
	}
	if (submit_send_part(b->queue, specs, (size_t)n, first, b->number, err) >= 0)
		return n;
	if (n == 1)
		b->bad = first;
	find_bad(b, first, err);
	return -1;
}

static int take_answer(struct bulk *b, struct error *err)
{
	struct submit_answer answer;

	if (submit_receive(b->queue, &answer, -1, err) < 0)
		return -1;
	if (!answer.error.code) {
		b->taken += answer.n;
		client_progress(b->client, b->taken, b->n);
		return 0;
	}
	*err = answer.error;
	if (answer.n == 1 && err->code == ERR_JOB_SPEC)
		b->bad = answer.tag;
	find_bad(b, answer.tag, err);
	return -1;
}

static int send_parts(struct bulk *b, struct error *err)
{
	int n;

	for (size_t first = 0; first < b->n; first += (size_t)n) {
		if ((n = send_part(b, first, err)) < 0)
			return -1;
		if (submit_under_way(b->queue) >= UNDER_WAY && take_answer(b, err) < 0)
			return -1;
	}
	while (submit_under_way(b->queue))
		if (take_answer(b, err) < 0)
			return -1;
	return 0;
}

/* --- all of it ----------------------------------------------------------------------------- */

static int on_result(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__BulkResult *r = (const Gpusched__BulkResult *)m;
	struct bulk *b = arg;

	if (r->n_first != r->n_count)
		return error_set(
		        err, ERR_PROTOCOL, "the answer has other numbers of ids than of jobs");
	for (size_t i = 0; i < r->n_first; i++)
		for (uint64_t k = 0; k < r->count[i] && b->n_ids < b->n; k++)
			b->ids[b->n_ids++] = r->first[i] + k;
	return 0;
}

static int commit(struct bulk *b, struct error *err)
{
	Gpusched__SubmitBulk m = GPUSCHED__SUBMIT_BULK__INIT;
	struct client_call call = {
		CLIENT_CALL(SUBMIT_BULK, &m.base, BULK_RESULT, on_result, b), .timeout_ms = 120000
	};

	m.bulk = b->number;
	m.jobs = b->n;
	b->n_ids = 0;
	if (client_call(b->client, &call, err) < 0) {
		find_bad(b, 0, err);
		return -1;
	}
	if (b->n_ids == b->n)
		return 0;
	return error_set(err, ERR_PROTOCOL, "%zu ids for %zu jobs", b->n_ids, b->n);
}

static int once(struct bulk *b, struct error *err)
{
	b->number++;
	b->bad = b->n;
	b->taken = 0;
	if (send_parts(b, err) >= 0)
		return commit(b, err);
	submit_forget(b->queue);
	return -1;
}

/* Is it worth sending all of it again? */
static bool again(struct bulk *b, unsigned *lost, const struct error *err)
{
	if (err->code == ERR_BULK)
		return ++*lost < AGAIN;
	return client_pause(b->client, err);
}

int bulk_submit(struct client *c, struct submit_queue *q, const struct gpusched_spec *specs,
        size_t n, const char *token, uint64_t *ids, size_t *bad, struct error *err)
{
	struct bulk b = { .client = c,
		.queue = q,
		.specs = specs,
		.n = n,
		.token = token,
		.ids = ids,
		.bad = n };
	uint64_t random[2];
	char own[40];
	unsigned lost = 0;
	struct error why;
	int rc;

	if (!n)
		return error_set(err, ERR_USAGE, "a bulk must have at least one job");
	if (getentropy(random, sizeof(random)) < 0)
		return error_set(err, ERR_SYSTEM, "getentropy: %s", strerror(errno));
	snprintf(own, sizeof(own), "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	b.number = random[0] >> 1;
	b.token = token ? token : own;
	do
		rc = once(&b, &why);
	while (rc < 0 && again(&b, &lost, &why));
	client_worked(c);
	if (bad)
		*bad = b.bad;
	if (rc < 0 && err)
		*err = why;
	return rc;
}
