/* renew_signature.c - see renew_signature.h */
#include "cmds/api/renew_signature.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/xalloc.h"
#include "common/net/signedjob.h"

#define SPEC_ARENA_CAP (((size_t)4 << 20) + 24 * (size_t)SIGNEDJOB_SPEC_MAX)

#define GROUP_BYTES ((size_t)1 << 20) /* of changed specs in one request, or one spec */

/* One that was checked and is to be signed. */
struct checked {
	uint64_t job;
	char *name;               /* owned */
	ProtobufCBinaryData spec; /* owned; what it is to be, where that is said */
	int64_t before;
	struct error error; /* the controller's; code 0: none */
};

/* Those that get one credential. */
struct group {
	struct client *client;
	const struct renew_request *wish;
	struct checked v[SIGNEDJOB_MAX];
	struct signedjob_hash hashes[SIGNEDJOB_MAX];
	size_t n, bytes;
	uint64_t asked; /* the job that is being fetched */
	bool got;
	struct error error; /* what is wrong with it; code 0: nothing */
	struct arena *arena;
};

/* --- what is to be signed --------------------------------------------------------------------- */

static void set(ProtobufCBinaryData *field, const char *text)
{
	if (text)
		*field = (ProtobufCBinaryData){ strlen(text), (uint8_t *)(uintptr_t)text };
}

/* `spec` with the changes, in the last of the group. */
static int change(struct group *g, Gpusched__SignedSpec *spec, struct error *err)
{
	const struct respecification *to = g->wish->change;
	struct checked *v = &g->v[g->n];
	ProtobufCBinaryData *env = NULL;
	size_t n = 0;
	int rc;

	if (to->name)
		spec->name = (char *)(uintptr_t)to->name;
	set(&spec->cwd, to->cwd);
	set(&spec->input, to->input);
	set(&spec->output, to->output);
	set(&spec->error, to->error);
	if (to->open_mode)
		spec->append = to->append;
	if (to->no_summary)
		spec->no_summary = true;
	if (to->said_show_output)
		spec->show_output = to->show_output;
	if (to->max_attempts)
		spec->max_attempts = to->max_attempts;
	if (to->env) {
		while (to->env[n])
			n++;
		spec->env = env = xcalloc(n, sizeof(*env));
		for (spec->n_env = 0; spec->n_env < n; spec->n_env++)
			set(&env[spec->n_env], to->env[spec->n_env]);
	}
	rc = signedjob_spec_check(spec, err);
	if (rc == 0) {
		v->spec.len = gpusched__signed_spec__get_packed_size(spec);
		v->spec.data = xcalloc(v->spec.len, 1);
		gpusched__signed_spec__pack(spec, v->spec.data);
		g->hashes[g->n] = signedjob_hash(v->spec.data, v->spec.len);
		g->bytes += v->spec.len;
	}
	free(env);
	return rc;
}

/* munge also vouches for the maker of a credential that has expired or was seen before. */
static int check(struct group *g, const Gpusched__ScriptResult *m, const struct mcred *cred,
        struct error *err)
{
	struct signedjob job = { m->spec.data, m->spec.len, m->script.data, m->script.len };
	Gpusched__SignedSpec *spec;
	char *name;

	if (cred->uid != geteuid())
		return error_set(err, ERR_SIGNATURE,
		        "only the job's owner can %s: it was signed by uid %u, and you are uid %u",
		        g->wish->change ? "change what was signed" : "sign it", (unsigned)cred->uid,
		        (unsigned)geteuid());
	if (cred->gid != getegid())
		return error_set(err, ERR_SIGNATURE,
		        "it was signed with group %u, and yours is %u: see newgrp(1)",
		        (unsigned)cred->gid, (unsigned)getegid());
	arena_reset(g->arena, SPEC_ARENA_CAP);
	if (signedjob_cred_check(cred, err) < 0 ||
	        signedjob_check(cred, client_conf(g->client)->cluster, &job, g->arena, &spec,
	                &g->hashes[g->n], err) < 0)
		return -1;
	name = xstrdup(spec->name);
	g->v[g->n] = (struct checked){ .job = m->job, .before = cred->encode_time };
	if (g->wish->change && change(g, spec, err) < 0) {
		free(name);
		return -1;
	}
	g->v[g->n++].name = name;
	return 0;
}

/* As if this user had signed what the controller shows; the time of signing is not known. */
static int take_for_ours(const Gpusched__ScriptResult *m, struct mcred *cred)
{
	struct signedjob_hash hash = signedjob_hash(m->spec.data, m->spec.len);
	uint8_t payload[SIGNEDJOB_PAYLOAD_MAX];
	size_t len = signedjob_payload(&hash, 1, payload);

	*cred = (struct mcred){ .payload = xmemdup(payload, len),
		.len = len,
		.uid = geteuid(),
		.gid = getegid(),
		.aes256 = true };
	return 0;
}

static int explain_key(const struct group *g, struct error *err)
{
	error_set(err, ERR_MUNGE_KEY,
	        "it was signed with another munge key than this host's, so what the controller "
	        "shows cannot be verified");
	return error_hint(err,
	        "if gctl show job --script %" PRIu64 " shows what you submitted: gctl renew "
	        "--unchecked %" PRIu64 "; or see KEY ROTATION in gctld(8)",
	        g->asked, g->asked);
}

static int decode_and_check(struct group *g, const Gpusched__ScriptResult *m, struct error *err)
{
	const struct mcred_ops *ops = client_mcred(g->client);
	struct mcred cred;
	char *text;
	int rc;

	if (m->job != g->asked)
		return error_set(err, ERR_PROTOCOL, "the controller answers with another job");
	if (m->credential.len == 0)
		return error_set(err, ERR_SIGNATURE, "the controller returned no signature");
	if (m->credential.len > MCRED_TEXT_MAX ||
	        memchr(m->credential.data, '\0', m->credential.len))
		return error_set(err, ERR_SIGNATURE, "its signature is no munge credential");
	text = xstrndup((const char *)m->credential.data, m->credential.len);
	rc = ops->decode(ops, text, &cred, err);
	free(text);
	if (rc < 0 && err->code == ERR_MUNGE_KEY)
		rc = g->wish->unchecked ? take_for_ours(m, &cred) : explain_key(g, err);
	if (rc < 0)
		return -1;
	rc = check(g, m, &cred, err);
	mcred_clear(&cred);
	return rc;
}

static int on_script(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct group *g = arg;

	if (g->got)
		return error_set(err, ERR_PROTOCOL, "more than one script for a job");
	g->got = true;
	if (decode_and_check(g, (const Gpusched__ScriptResult *)m, &g->error) == 0)
		g->error.code = ERR_NONE;
	return 0;
}

/* 0: it is in the group, or g->error says why it is not; -1: it makes no sense to go on. */
static int fetch(struct group *g, uint64_t job, struct error *err)
{
	Gpusched__ShowScript request = GPUSCHED__SHOW_SCRIPT__INIT;
	struct client_call call =
	        CLIENT_ASK(SHOW_SCRIPT, &request.base, SCRIPT_RESULT, on_script, g);
	struct error why;

	request.job = g->asked = job;
	g->got = false;
	if (client_call(g->client, &call, &why) < 0) {
		if (why.code != ERR_NO_JOB && why.code != ERR_NOT_PERMITTED) {
			*err = why;
			return -1;
		}
		g->error = why;
	} else if (!g->got) {
		return error_set(err, ERR_PROTOCOL, "the controller answers without the job");
	}
	return 0;
}

/* --- signing ---------------------------------------------------------------------------------- */

static void take_error(const Gpusched__JobError *from, struct error *to)
{
	error_set(to, (int)from->code, "%s", from->text);
	if (*from->hint)
		error_hint(to, "%s", from->hint);
}

static int on_result(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__JobControlResult *r = (const Gpusched__JobControlResult *)m;
	struct group *g = arg;

	(void)err;
	g->got = true;
	for (size_t e = 0; e < r->n_errors; e++)
		for (size_t i = 0; i < g->n; i++)
			if (g->v[i].job == r->errors[e]->job)
				take_error(r->errors[e], &g->v[i].error);
	return 0;
}

static int send_signed(struct group *g, const char *cred, struct error *err)
{
	Gpusched__Resign request = GPUSCHED__RESIGN__INIT;
	struct client_call call =
	        CLIENT_ASK(RESIGN, &request.base, JOB_CONTROL_RESULT, on_result, g);
	ProtobufCBinaryData specs[SIGNEDJOB_MAX];
	uint64_t jobs[SIGNEDJOB_MAX];
	struct error why;

	for (size_t i = 0; i < g->n; i++) {
		jobs[i] = g->v[i].job;
		specs[i] = g->v[i].spec;
	}
	request.credential = (ProtobufCBinaryData){ strlen(cred), (uint8_t *)(uintptr_t)cred };
	request.jobs = jobs;
	request.n_jobs = g->n;
	request.specs = specs;
	request.n_specs = g->wish->change ? g->n : 0;
	request.reason = (char *)(uintptr_t)g->wish->reason;
	g->got = false;
	if (client_call(g->client, &call, &why) < 0 && !g->got) {
		*err = why;
		return -1;
	}
	return g->got ? 0 : error_set(err, ERR_PROTOCOL, "a signature without an answer");
}

static int sign(struct group *g, struct error *err)
{
	const struct mcred_ops *ops = client_mcred(g->client);
	uint8_t payload[SIGNEDJOB_PAYLOAD_MAX];
	size_t len = signedjob_payload(g->hashes, g->n, payload);
	char *cred;
	int rc;

	if (ops->encode(ops, payload, len, MCRED_ANY_UID, &cred, err) < 0)
		return -1;
	rc = send_signed(g, cred, err);
	free(cred);
	return rc;
}

static void group_clear(struct group *g)
{
	for (size_t i = 0; i < g->n; i++) {
		free(g->v[i].name);
		free(g->v[i].spec.data);
	}
	g->n = g->bytes = 0;
}

/* Sign what is there; returns how many jobs that were. */
static int flush(struct group *g, void (*tell)(const struct renewed_signature *r, void *arg),
        void *arg, struct error *err)
{
	int done = 0;

	if (g->n == 0)
		return 0;
	if (sign(g, err) < 0)
		return -1;
	for (size_t i = 0; i < g->n; i++) {
		const struct checked *v = &g->v[i];
		struct renewed_signature r = { v->job, v->name, v->before, NULL };

		if (v->error.code)
			r = (struct renewed_signature){ v->job, "", 0, &v->error };
		else
			done++;
		tell(&r, arg);
	}
	group_clear(g);
	return done;
}

/* One that was named twice. */
static bool is_in(const struct group *g, uint64_t job)
{
	size_t i = 0;

	while (i < g->n && g->v[i].job != job)
		i++;
	return i < g->n;
}

int renew_signatures(struct client *c, const uint64_t *jobs, size_t n,
        const struct renew_request *wish,
        void (*tell)(const struct renewed_signature *r, void *arg), void *arg, struct error *err)
{
	struct group *g = xcalloc(1, sizeof(*g));
	int done = 0, rc = 0;

	g->client = c;
	g->wish = wish;
	g->arena = arena_new(SPEC_ARENA_CAP);
	for (size_t i = 0; i < n && rc >= 0; i++) {
		g->error.code = ERR_NONE;
		if (!is_in(g, jobs[i]))
			rc = fetch(g, jobs[i], err);
		if (rc >= 0 && g->error.code)
			tell(&(struct renewed_signature){ jobs[i], "", 0, &g->error }, arg);
		if (rc >= 0 && (g->n == SIGNEDJOB_MAX || g->bytes > GROUP_BYTES || i + 1 == n)) {
			rc = flush(g, tell, arg, err);
			done += rc < 0 ? 0 : rc;
		}
	}
	group_clear(g);
	arena_free(g->arena);
	free(g);
	return rc < 0 ? -1 : done;
}
