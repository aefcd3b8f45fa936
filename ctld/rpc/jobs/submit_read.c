/* submit_read.c - see submit_read.h */
#include "ctld/rpc/jobs/submit_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/xalloc.h"
#include "common/job/reason.h"
#include "common/net/msg.h"
#include "common/net/munge.h"
#include "common/net/signedjob.h"
#include "common/net/worker.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/core.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/ctld.h"
#include "ctld/loop/script_cache.h"
#include "ctld/wire/convert.h"

#define SPEC_ARENA_CAP(len) (((size_t)4 << 20) + 24 * (len)) /* decoded specs, of all jobs */

void submit_free(void *arg)
{
	struct submit *s = arg;

	if (s->charged)
		budget_add(core_budget(s->c->core), s->uid, BUDGET_SCRIPTS, -(int64_t)s->charged);
	arena_free(s->arena);
	arena_free(s->specs);
	free(s->cluster);
	free(s->body);
	free(s);
}

/* --- in a worker --------------------------------------------------------------------------- */

/* An unsigned trial: the same checks except for the signature. */
static int check_unsigned(struct submit *s, const Gpusched__SubmitJob *job,
        Gpusched__SignedSpec **spec, struct error *err)
{
	*spec = (Gpusched__SignedSpec *)msg_unpack_desc(&gpusched__signed_spec__descriptor,
	        job->spec.data, job->spec.len, MSG_STRICT, s->specs, err);
	if (!*spec) {
		err->code = ERR_JOB_SPEC;
		return -1;
	}
	return signedjob_spec_check(*spec, err);
}

/* Input and output go to one node alone: the launcher would refuse more. */
static int check_interactive(const struct submit_job *job, struct error *err)
{
	char **names;
	size_t n;

	if (job->nodes_min > 1 || job->nodes_max > 1)
		return error_set(err, ERR_USAGE, "interactive: on one node only");
	if (!*job->nodelist)
		return 0;
	if (hostlist_expand(job->nodelist, HOSTLIST_MAX, &names, &n, err) < 0)
		return error_wrap(err, "--nodelist");
	free(names);
	if (n > 1)
		return error_set(err, ERR_USAGE,
		        "--nodelist=%.60s: %zu nodes, all of which it would need; an interactive "
		        "job runs on one",
		        job->nodelist, n);
	return 0;
}

static int check_job(struct submit *s, const struct mcred *cred, const Gpusched__SubmitJob *job,
        struct submit_job *out, struct error *err)
{
	struct signedjob bytes = { job->spec.data, job->spec.len, job->script.data,
		job->script.len };
	struct signedjob_hash hash;
	Gpusched__SignedSpec *spec;

	if (signedjob_script_check(bytes.script, bytes.script_len, s->max_script, err))
		return -1;
	if (cred) {
		if (signedjob_check(cred, s->cluster, &bytes, s->specs, &spec, &hash, err))
			return -1;
	} else {
		hash = signedjob_hash(bytes.spec, bytes.spec_len);
		if (check_unsigned(s, job, &spec, err))
			return -1;
	}
	if (wire_submit_job(
	            job->request, spec, &hash, cred ? cred->encode_time : 0, s->specs, out, err))
		return -1;
	if (spec->interactive && check_interactive(out, err))
		return -1;
	s->wants_mail |= out->mail_types != 0;
	if (out->nice < 0 && !verb_permits(VERB_BOOST, s->standing)) {
		verb_refuse(VERB_BOOST, err);
		return error_wrap(err, "--nice=%d", out->nice);
	}
	return 0;
}

static int check_jobs(struct submit *s, const struct mcred *cred, struct error *err)
{
	s->jobs = arena_alloc(s->specs, s->msg->n_jobs * sizeof(*s->jobs));
	if (!s->jobs)
		return error_set(err, ERR_USAGE, "the request takes too much memory to read");
	for (size_t i = 0; i < s->msg->n_jobs; i++)
		if (check_job(s, cred, s->msg->jobs[i], &s->jobs[i], err)) {
			if (s->msg->n_jobs > 1)
				error_wrap(err, "job %zu of %zu", i + 1, s->msg->n_jobs);
			return -1;
		}
	return 0;
}

/* The credential as text; munge takes no other. */
static char *cred_text(const ProtobufCBinaryData *b, struct error *err)
{
	if (b->len == 0)
		error_set(err, ERR_SIGNATURE, "the jobs are not signed");
	else if (b->len > MCRED_TEXT_MAX || memchr(b->data, '\0', b->len))
		error_set(err, ERR_SIGNATURE, "the signature is no munge credential");
	else
		return xstrndup((const char *)b->data, b->len);
	return NULL;
}

static int check_cred(struct submit *s, struct mcred *cred, struct error *err)
{
	char *text = cred_text(&s->msg->credential, err);
	int ret;

	if (!text)
		return -1;
	ret = s->c->mcred->decode(s->c->mcred, text, cred, err);
	free(text);
	if (ret)
		return -1;
	if (cred->uid != s->uid)
		error_set(err, ERR_SIGNATURE, "the jobs were signed by uid %u, not by uid %u",
		        (unsigned)cred->uid, (unsigned)s->uid);
	else if (signedjob_cred_check(cred, err) >= 0 && signedjob_cred_fresh(cred, err) == 0)
		return 0;
	mcred_clear(cred);
	return -1;
}

int submit_read(struct submit *s, struct error *err)
{
	struct mcred cred;
	int ret;

	s->arena = arena_new(0);
	s->specs = arena_new(SPEC_ARENA_CAP(s->len));
	if (!s->arena || !s->specs)
		return error_set(err, ERR_BUSY, "out of memory");
	s->msg = (Gpusched__Submit *)msg_unpack(
	        GPUSCHED__MSG_TYPE__MSG_SUBMIT, s->body, s->len, s->arena, err);
	if (!s->msg)
		return -1;
	if (s->msg->n_jobs == 0)
		return error_set(err, ERR_USAGE, "a submit without a job");
	if (s->msg->test_only && s->msg->credential.len == 0)
		return check_jobs(s, NULL, err);
	if (check_cred(s, &cred, err))
		return -1;
	ret = check_jobs(s, &cred, err);
	mcred_clear(&cred);
	return ret;
}

/* --- on the loop --------------------------------------------------------------------------- */

static struct store_blob blob_of(const struct submit *s, size_t i, uint64_t id)
{
	const Gpusched__SubmitJob *job = s->msg->jobs[i];

	return (struct store_blob){
		.job = id,
		.uid = s->uid,
		.spec = job->spec.data,
		.spec_len = job->spec.len,
		.script = job->script.data,
		.script_len = job->script.len,
		.credential = s->msg->credential.data,
		.credential_len = s->msg->credential.len,
	};
}

void submit_keep_blobs(
        struct ctld *c, const struct submit *s, const uint64_t *ids, const bool *known)
{
	struct store_blob *v = xcalloc(s->msg->n_jobs, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < s->msg->n_jobs; i++)
		if (!known[i])
			v[n++] = blob_of(s, i, ids[i]);
	script_cache_put(c->script_cache, v, n);
	free(v);
}

/* What was taken in before is not stored again. */
static uint64_t new_bytes(const struct submit *s)
{
	struct store_blob *v = xcalloc(s->msg->n_jobs, sizeof(*v));
	uint64_t bytes;
	size_t n = 0;

	for (size_t i = 0; i < s->msg->n_jobs; i++)
		if (!core_knows_token(s->c->core, s->uid, s->jobs[i].nonce))
			v[n++] = blob_of(s, i, 0);
	bytes = script_cache_bytes(v, n);
	free(v);
	return bytes;
}

int submit_charge(struct submit *s, struct error *err)
{
	struct budget *budget = core_budget(s->c->core);
	uint64_t bytes = new_bytes(s);

	if (!bytes)
		return 0;
	if (budget_check(budget, s->uid, BUDGET_SCRIPTS, bytes, err) < 0)
		return -1;
	budget_add(budget, s->uid, BUDGET_SCRIPTS, (int64_t)bytes);
	s->charged = bytes;
	return 0;
}

bool submit_never(struct ctld *c, uint64_t id, char text[SUBMIT_NEVER_TEXT])
{
	const char *never = reason_word(REASON_NEVER_SATISFIED);
	unsigned long long shown = id;
	struct job_view job;

	if (!core_job_view(c->core, id, ctld_now(), &job))
		return false;
	if (!strcmp(job.reason, never)) {
		snprintf(text, SUBMIT_NEVER_TEXT,
		        "job %llu can never start: %s; it waits until it is cancelled, or its "
		        "dependency changed: gctl update %llu --dependency=...",
		        shown, job.reason_text, shown);
		return true;
	}
	if (!job.ended || strncmp(job.comment, never, strlen(never)) != 0)
		return false;
	snprintf(text, SUBMIT_NEVER_TEXT,
	        "job %llu could never start, and was cancelled (--kill-on-invalid-dep): %s", shown,
	        job.comment + strlen(never) + strlen(": "));
	return true;
}
