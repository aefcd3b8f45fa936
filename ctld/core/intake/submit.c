/* submit.c - EV_SUBMIT: accept jobs, or refuse them with the reason
 *
 * All of a submit is accepted or none of it: everything is checked before anything is created. A
 * job whose (uid, nonce) is known gets the reply with its previous id, without another check; so a
 * repeat after a lost reply works even if the queue has filled up meanwhile.
 *
 * A submit is: known? space? checks and charges for each job (submit_check()); then ids, nonces and
 * places for each (intake_commit()), which cannot fail. Trials (explain/test_only.c) share the
 * first half, bulks (bulk.c) the parts of both.
 */
#include "ctld/core/intake/submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/core.h"
#include "ctld/core/intake/bulk.h"
#include "ctld/core/intake/job_checks.h"
#include "ctld/core/intake/partition_choices.h"
#include "ctld/core/jobs/depends_attach.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/singletons.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/services/services.h"

/* --- taking in ------------------------------------------------------------------------------- */

/* Raw ids are left out of an array that would reach beyond RAW_IDS_END (job.h). */
void submit_fill(const struct core *core, const struct caller *caller, struct intake *t)
{
	const struct submit_job *in = t->in;
	struct job_info *i = &t->info;

	i->gid = in->gid;
	i->user = caller->user;
	COPY_FIELDS(i, in, max_wait_s, name, submit_host, cwd, output, error, array);
	i->raw_ids = *in->array && meta_next_job(core->meta) + bulk_ids(core) + t->tasks.count <
	                                   RAW_IDS_END;
	i->sign_time = in->sign_time;
	i->submit_time = core->now.wall;
	i->warn_signal = in->warn_signal;
	i->warn_before_s = in->warn_before_s;
	i->max_attempts = in->max_attempts ? in->max_attempts : 1;
	COPY_FIELDS(i, in, steps, nice, requeue, show_output);

	i->hold = in->hold ? HOLD_USER : HOLD_NONE; /* whatever else the owner is */
}

/* The job is in its table: it enters the lists of its name and of what it waits for, and its class
 * if it is eligible. */
void submit_joins(struct core *core, struct job *job)
{
	struct job *behind;

	job_requested(core, job);
	singletons_add(core->singletons, job);
	/* A bulk's may come before one that was the first of its name. */
	behind = job_link(job)->name_after;
	if (behind && job_link(behind)->depends)
		job_consider(core, behind);
	depends_attach(core, job);
	if (job_signature_old(core, job))
		job_expires(core, job);
	job_consider(core, job);
	effects_add(core->effects, EFFECT_JOB_CHANGED)->job = job_id(job);
}

static void intake_commit(struct core *core, const struct caller *caller, struct intake *t)
{
	struct job_info *i = &t->info;
	const char *remark = t->in->remark ? t->in->remark : "";
	char text[640];
	struct job *job;

	submit_fill(core, caller, t);
	i->id = i->raw_ids ? meta_take_jobs(core->meta, t->tasks.count + 1, core->now.mono)
	                   : meta_take_job(core->meta, core->now.mono);
	i->nonce = nonces_add(
	        core->nonces, caller->uid, t->in->nonce, t->in->spec_hash, i->id, core->now);
	job = *t->in->array ? jobs_add_array(core->jobs, &t->info, &t->tasks, t->at_once)
	                    : jobs_add(core->jobs, &t->info);
	/* The job has them now, and counts. */
	t->info.gpus = NULL;
	t->info.labels = NULL;
	t->counted = false;
	submit_joins(core, job);
	if (t->in->service)
		service_join(core, caller, job, t->in);
	snprintf(text, sizeof(text), "%.255s%s%.380s", t->in->name, *remark ? ": " : "", remark);
	audit_note(core, "job.submit", caller, t->info.id, "", text);
}

static int compare_nonces(const void *x, const void *y)
{
	const struct submit_job *const *a = x, *const *b = y;

	return memcmp((*a)->nonce, (*b)->nonce, NONCE_BYTES);
}

/* By sorting: a submit may have many jobs. */
static bool same_nonce_twice(const struct core_event *e)
{
	const struct submit_job **v = xcalloc(e->submit.n, sizeof(*v));
	bool twice = false;

	for (size_t i = 0; i < e->submit.n; i++)
		v[i] = &e->submit.jobs[i];
	qsort(v, e->submit.n, sizeof(*v), compare_nonces);
	for (size_t i = 1; i < e->submit.n && !twice; i++)
		twice = compare_nonces(&v[i - 1], &v[i]) == 0;
	free(v);
	return twice;
}

int submit_known(
        const struct core *core, const struct caller *caller, struct intake *t, struct error *err)
{
	t->known = nonces_find(core->nonces, caller->uid, t->in->nonce);
	if (!t->known)
		return 0;
	if (!t->known->job)
		return error_set(err, ERR_BUSY, "a bulk with the same token is being accepted");
	if (!nonce_is_of(t->known, t->in->spec_hash))
		return error_set(err, ERR_TOKEN,
		        "the token was used for job %llu, whose specification is another",
		        (unsigned long long)t->known->job);
	return 0;
}

bool core_knows_token(const struct core *core, uint32_t uid, const uint8_t *nonce)
{
	return nonces_find(core->nonces, uid, nonce);
}

/* Look up the nonces: which jobs are repeats? */
static int find_known(struct core *core, const struct core_event *e, struct intake *v,
        size_t *n_new, struct error *err)
{
	*n_new = 0;
	for (size_t i = 0; i < e->submit.n; i++) {
		v[i].in = &e->submit.jobs[i];
		if (submit_known(core, &e->caller, &v[i], err) < 0)
			return -1;
		*n_new += !v[i].known;
	}
	if (same_nonce_twice(e))
		return error_set(err, ERR_JOB_SPEC, "two jobs of one submit have the same token");
	return 0;
}

/* Nothing new is taken in when the disk or the table is nearly full; repeats of known jobs are
 * answered all the same. */
int submit_room(const struct core *core, size_t n_new, struct error *err)
{
	const struct conf_controller *c = &core->conf->controller;
	size_t have = jobs_count(core->jobs);

	if (!n_new)
		return 0;
	if (!core->disk_free_mb || core->disk_free_mb < c->min_free_mb)
		return error_set(err, ERR_NO_SPACE,
		        "the controller's disk is nearly full: %llu MiB would be left free, and "
		        "controller.min_free keeps %llu",
		        (unsigned long long)core->disk_free_mb, (unsigned long long)c->min_free_mb);
	if (c->max_jobs && have + n_new > c->max_jobs)
		return error_set(err, ERR_LIMIT_JOBS,
		        "the controller holds %zu jobs; controller.max_jobs is %u", have,
		        c->max_jobs);
	return 0;
}

/* --- answers --------------------------------------------------------------------------------- */

/* One id for each job of the submit, in its order. */
struct effect *submit_answer(struct core *core, const struct core_event *e, const struct intake *v)
{
	uint64_t *ids = effects_alloc(core->effects, e->submit.n * sizeof(*ids));
	bool *known = effects_alloc(core->effects, e->submit.n * sizeof(*known));
	struct effect *fx;

	for (size_t i = 0; i < e->submit.n; i++) {
		ids[i] = v[i].known ? v[i].known->job : v[i].info.id;
		known[i] = v[i].known;
	}
	fx = effects_add(core->effects, EFFECT_SUBMITTED);
	fx->reply = e->caller.reply;
	fx->submitted.ids = ids;
	fx->submitted.known = known;
	fx->submitted.n = e->submit.n;
	fx->submitted.gpu_type = "";
	for (size_t i = 0; i < e->submit.n && !fx->submitted.left_out; i++)
		fx->submitted.left_out = intake_left_out(core, &v[i]);
	return fx;
}

int submit_check(struct core *core, const struct core_event *e, struct intake *v, struct error *err)
{
	size_t i, n_new;

	if (core->suspended)
		return error_set(err, ERR_EPOCH, "%s", core->suspended);
	if (!e->submit.n || e->submit.n > SUBMIT_JOBS_MAX)
		return error_set(err, ERR_JOB_SPEC, "a submit of %zu jobs; 1 to %d are possible",
		        e->submit.n, SUBMIT_JOBS_MAX);
	if (find_known(core, e, v, &n_new, err) < 0 ||
	        submit_room(core, n_new + bulk_count(core), err) < 0)
		return -1;
	for (i = 0; i < e->submit.n; i++) {
		if (v[i].known)
			continue;
		if (v[i].in->service && e->submit.n > 1)
			return error_set(err, ERR_JOB_SPEC, "a service is submitted by itself");
		if (intake_fill(core, &e->caller, &v[i], err) < 0 ||
		        intake_charge(core, &e->caller, &v[i], err) < 0)
			return e->submit.n > 1 ? error_wrap(err, "job %zu of the submit", i + 1)
			                       : -1;
	}
	return 0;
}

void submit_clear(struct core *core, struct intake *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		intake_clear(core, &v[i]);
	free(v);
}

void submit_apply(struct core *core, const struct core_event *e)
{
	struct intake *v = xcalloc(e->submit.n, sizeof(*v));
	struct error err = { 0 };

	if (submit_check(core, e, v, &err) < 0) {
		effects_reply(core->effects, e->caller.reply, &err);
	} else {
		for (size_t i = 0; i < e->submit.n; i++) {
			if (!v[i].known)
				intake_commit(core, &e->caller, &v[i]);
		}
		submit_answer(core, e, v);
	}
	submit_clear(core, v, e->submit.n);
}
