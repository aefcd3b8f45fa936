/* post_job.c - POST /v1/jobs: a job that its owner has signed (gsubmit --sign-only)
 *
 * gweb passes the bytes on as they are. It does not decode the credential: munge would then refuse
 * the controller's decoding as a replay. The controller checks the signature, as for each submit;
 * gweb only checks that the job is the viewer's, so that no user submits a job that another user
 * has signed.
 */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "cmds/web/auth/ask_as_user.h"
#include "cmds/web/rest/rest.h"
#include "common/base/arena.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"

#define SPEC_ARENA_CAP(len) (((size_t)4 << 20) + 24 * (len))

struct submitted {
	uint64_t id;
	bool known;
	char *warning;
};

static int on_result(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__SubmitResult *result = (const Gpusched__SubmitResult *)m;
	struct submitted *s = arg;

	(void)err;
	if (result->n_job_ids) {
		s->id = result->job_ids[0];
		s->known = true;
	}
	return 0;
}

static void on_warning(const char *text, void *arg)
{
	struct submitted *s = arg;

	free(s->warning);
	s->warning = xstrdup(text);
}

/* The Submit in the body. NULL with `err`. */
static Gpusched__Submit *read_body(
        const struct http_request *r, struct arena *arena, struct error *err)
{
	json_t *j = json_loadb(r->body, r->body_len, JSON_REJECT_DUPLICATES, NULL);
	const char *text = json_string_value(json_object_get(j, "submit"));
	size_t n = text ? strlen(text) : 0, len = 0;
	uint8_t *bytes = xcalloc(1, n + 1);
	ProtobufCMessage *m = NULL;

	if (!text)
		error_set(err, ERR_USAGE, "the body has to be what gsubmit --sign-only prints");
	else if (sodium_base642bin(bytes, n + 1, text, n, NULL, &len, NULL,
	                 sodium_base64_VARIANT_ORIGINAL) < 0)
		error_set(err, ERR_USAGE, "`submit` is no base64");
	else
		m = msg_unpack(GPUSCHED__MSG_TYPE__MSG_SUBMIT, bytes, len, arena, err);
	if (!m && text)
		err->code = ERR_USAGE; /* of the client here, not of a peer */
	free(bytes);
	json_decref(j);
	return (Gpusched__Submit *)m;
}

/* One job, of the viewer, signed. */
static int check(const struct http_request *r, const Gpusched__Submit *m, struct error *err)
{
	const ProtobufCBinaryData *bytes;
	const Gpusched__SignedSpec *spec;
	struct arena *arena;
	uint32_t uid = 0;

	if (m->n_jobs != 1 || m->bulk || m->test_only || !m->credential.len)
		return error_set(err, ERR_USAGE, "one signed job at a time, and no trial");
	bytes = &m->jobs[0]->spec;
	arena = arena_new(SPEC_ARENA_CAP(bytes->len));
	error_set(err, ERR_BUSY, "out of memory");
	spec = !arena ? NULL
	              : (const Gpusched__SignedSpec *)msg_unpack_desc(
	                        &gpusched__signed_spec__descriptor, bytes->data, bytes->len,
	                        MSG_STRICT, arena, err);
	if (spec)
		uid = spec->uid;
	else if (err->code == ERR_PROTOCOL)
		err->code = ERR_USAGE;
	arena_free(arena);
	if (!spec)
		return -1;
	if (uid != r->viewer->uid)
		return error_set(err, ERR_NOT_PERMITTED,
		        "the job is of uid %u, and %.80s is uid %u", uid, r->viewer->name,
		        (unsigned)r->viewer->uid);
	return 0;
}

static void answer(const struct http_request *r, struct http_answer *a, const struct submitted *s)
{
	rest_begin(r, a);
	rest_list(a, "jobs");
	strbuf_addf(&a->body, "{\"id\":%llu}]", (unsigned long long)s->id);
	if (s->warning) {
		strbuf_adds(&a->body, ",\"warning\":");
		rest_text(&a->body, s->warning);
	}
	rest_end(a);
}

void rest_submit(const struct http_request *r, struct http_answer *a)
{
	struct arena *arena = arena_new(MSG_BODY_MAX_JOB);
	struct submitted s = { .known = false };
	struct client_call call = { CLIENT_CALL(SUBMIT, NULL, SUBMIT_RESULT, on_result, &s) };
	struct error err;
	Gpusched__Submit *m = arena ? read_body(r, arena, &err) : NULL;
	int rc = -1;

	if (!arena)
		error_set(&err, ERR_BUSY, "out of memory");
	else if (m && check(r, m, &err) == 0) {
		call.request = &m->base;
		client_on_warning(r->client, on_warning, &s);
		/* A repeat is safe: the job has a nonce, and gets the same id again. */
		rc = ask_as(r->client, r->viewer->uid, &call, NULL, &err);
		client_on_warning(r->client, NULL, NULL);
		if (rc == 0 && !s.known)
			rc = error_set(&err, ERR_INTERNAL, "an answer without an id");
	}
	if (rc == 0)
		answer(r, a, &s);
	else
		rest_error(r, a, &err);
	free(s.warning);
	arena_free(arena);
}
