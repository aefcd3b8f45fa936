/* submit.c - EV_SUBMIT: take jobs, or say why not
 *
 * All of a submit or none of it: everything is checked before anything is made. A job whose (uid,
 * nonce) is known is answered with the id it got then and not looked at again; so a repeat after a
 * lost answer works even when the queue has filled up meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "common/units.h"
#include "common/xalloc.h"
#include "ctld/core/internal.h"

#define MAX_NICE      2147483645 /* as Slurm has it */
#define MAX_SUBMIT    1024       /* jobs of one event; the protocol allows 64 */
#define MAX_NAME      255
#define MAX_PATH_TEXT 4096
#define MAX_SIGNAL    64

/* A job on its way in: what was asked for, with the defaults filled in. */
struct intake {
	const struct submit_job *in;
	const struct nonce *known; /* of an earlier submit */
	uint32_t partition;
	struct job_info info; /* gpus and labels are counted */
};

static void intake_clear(struct core *core, struct intake *t)
{
	requests_drop(core->requests, t->info.gpus);
	labels_drop(core->labels, t->info.labels);
	t->info.gpus = NULL;
	t->info.labels = NULL;
}

/* --- checks ---------------------------------------------------------------------------------- */

static int find_partition(
        const struct core *core, const char *name, uint32_t *partition, struct error *err)
{
	char escaped[80];

	if (!*name) {
		*partition = core->conf->default_partition;
		if (*partition == UINT32_MAX)
			return error_set(err, ERR_NO_PARTITION,
			        "no partition was given, and none is the default");
		return 0;
	}
	*partition = sched_partition(core->sched, name);
	if (*partition != CLASS_NO_PARTITION)
		return 0;
	text_escape(escaped, sizeof(escaped), name, strlen(name));
	return error_set(
	        err, ERR_NO_PARTITION, "--partition=%s: there is no such partition", escaped);
}

static void list_types(const struct conf *conf, char *text, size_t size)
{
	size_t t, used = 0;

	for (t = 0; t < conf->n_gpu_types && used + 1 < size; t++)
		used += (size_t)snprintf(
		        text + used, size - used, "%s%s", t ? ", " : "", conf->gpu_types[t].name);
	if (!conf->n_gpu_types)
		snprintf(text, size, "none");
}

static int check_types(const struct core *core, const struct request *gpus, struct error *err)
{
	char escaped[80], known[200];
	uint32_t a;

	for (a = 0; a < gpus->n; a++) {
		if (gpus->v[a].number != TYPE_GONE)
			continue;
		text_escape(escaped, sizeof(escaped), gpus->v[a].type, strlen(gpus->v[a].type));
		list_types(core->conf, known, sizeof(known));
		error_set(err, ERR_NO_GPU_TYPE, "--gpus=%s: there is no such GPU type", escaped);
		return error_hint(err, "GPU types here: %s", known);
	}
	return 0;
}

static int check_time(
        const struct conf_partition *p, uint32_t asked, uint32_t *limit, struct error *err)
{
	char want[UNITS_TEXT], most[UNITS_TEXT];

	*limit = asked ? asked : p->default_time_s ? p->default_time_s : p->max_time_s;
	if (asked == TIME_LIMIT_NONE)
		*limit = 0;
	if (!p->max_time_s || (*limit && *limit <= p->max_time_s))
		return 0;
	return error_set(err, ERR_TIME_LIMIT, "--time=%s: partition %s allows at most %s",
	        duration_format(want, *limit ? *limit : DURATION_FOREVER), p->name,
	        duration_format(most, p->max_time_s));
}

static int check_texts(const struct submit_job *in, struct error *err)
{
	const struct {
		const char *what, *text;
		size_t max;
	} texts[] = {
		{ "--job-name", in->name, MAX_NAME },
		{ "--account", in->account, MAX_NAME },
		{ "the submit host", in->submit_host, MAX_NAME },
	};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (text_check(texts[i].what, texts[i].text, texts[i].max, err) < 0) {
			err->code = ERR_JOB_SPEC;
			return -1;
		}
	}
	for (i = 0; i < in->n_labels; i++) {
		if (text_check("--label", in->labels[i].key, MAX_NAME, err) < 0 ||
		        text_check("--label", in->labels[i].value, MAX_PATH_TEXT, err) < 0) {
			err->code = ERR_JOB_SPEC;
			return -1;
		}
	}
	if (strlen(in->cwd) > MAX_PATH_TEXT || strlen(in->output) > MAX_PATH_TEXT ||
	        strlen(in->error) > MAX_PATH_TEXT)
		return error_set(err, ERR_JOB_SPEC, "a path of more than %d bytes", MAX_PATH_TEXT);
	return 0;
}

static int check_numbers(
        const struct submit_job *in, const struct caller *caller, struct error *err)
{
	if (*in->array)
		return error_set(err, ERR_JOB_SPEC, "--array: arrays are not supported yet");
	if (in->warn_signal > MAX_SIGNAL)
		return error_set(err, ERR_JOB_SPEC, "--signal=%u: signals are 1 to %d",
		        in->warn_signal, MAX_SIGNAL);
	if (in->nice < -MAX_NICE || in->nice > MAX_NICE)
		return error_set(err, ERR_JOB_SPEC, "--nice=%d: want -%d to %d", in->nice, MAX_NICE,
		        MAX_NICE);
	if (in->nice < 0 && !caller->admin)
		return error_set(err, ERR_NOT_PERMITTED,
		        "--nice=%d: only administrators may raise a job's priority", in->nice);
	if (in->mem_mb > INT64_MAX)
		return error_set(err, ERR_JOB_SPEC, "--mem: too much");
	return 0;
}

/* --- taking in ------------------------------------------------------------------------------- */

static int intake_fill(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err)
{
	const struct submit_job *in = t->in;
	struct job_info *i = &t->info;
	const struct conf_partition *p;
	struct ask ask;

	if (check_texts(in, err) < 0 || check_numbers(in, caller, err) < 0 ||
	        find_partition(core, in->partition, &t->partition, err) < 0)
		return -1;
	p = &core->conf->partitions[t->partition];
	if (check_time(p, in->time_limit_s, &i->time_limit_s, err) < 0)
		return -1;
	i->gpus = requests_keep(core->requests, in->gpus, in->n_gpus, err);
	if (!i->gpus || check_types(core, i->gpus, err) < 0)
		return -1;
	i->cpus = in->cpus ? in->cpus : 1;
	i->mem_mb = in->mem_mb ? in->mem_mb : p->default_mem_mb;
	ask = (struct ask){ i->gpus, i->cpus, i->mem_mb };
	if (never_fits(core, t->partition, &ask, err) < 0)
		return -1;
	i->labels = labels_keep(core->labels, in->labels, in->n_labels, err);
	return i->labels ? 0 : -1;
}

/* What was checked, and the rest. Texts are borrowed: jobs_add() copies them. */
static void intake_finish(struct core *core, const struct caller *caller, struct intake *t)
{
	const struct submit_job *in = t->in;
	struct job_info *i = &t->info;

	i->id = meta_take_job(core->meta);
	i->uid = caller->uid;
	i->gid = in->gid;
	i->user = caller->user;
	i->account = in->account;
	i->partition = core->conf->partitions[t->partition].name;
	i->name = in->name;
	i->submit_host = in->submit_host;
	i->cwd = in->cwd;
	i->output = in->output;
	i->error = in->error;
	i->array = in->array;
	i->sign_time = in->sign_time;
	i->submit_time = core->now.wall;
	i->warn_signal = in->warn_signal;
	i->warn_before_s = in->warn_before_s;
	i->max_attempts = in->max_attempts ? in->max_attempts : 1;
	i->nice = in->nice;
	i->requeue = in->requeue;
	i->hold = !in->hold ? HOLD_NONE : caller->admin ? HOLD_ADMIN : HOLD_USER;
	i->nonce =
	        nonces_add(core->nonces, caller->uid, in->nonce, in->spec_hash, i->id, core->now);
}

static void intake_commit(struct core *core, const struct caller *caller, struct intake *t)
{
	struct job *job;

	intake_finish(core, caller, t);
	job = jobs_add(core->jobs, &t->info);
	/* The job has them now. */
	t->info.gpus = NULL;
	t->info.labels = NULL;
	if (job_signature_old(core, job))
		job_expires(core, job);
	job_consider(core, job);
	audit_note(core, "job.submit", caller, t->info.id, "", t->in->name);
	effects_add(core->effects, EFFECT_JOB_CHANGED)->job = t->info.id;
}

/* Look up the nonces: which jobs are repeats? */
static int find_known(struct core *core, const struct core_event *e, struct intake *v,
        size_t *n_new, struct error *err)
{
	size_t i, k;

	*n_new = 0;
	for (i = 0; i < e->submit.n; i++) {
		v[i].in = &e->submit.jobs[i];
		v[i].known = nonces_find(core->nonces, e->caller.uid, v[i].in->nonce);
		if (v[i].known && memcmp(v[i].known->spec_hash, v[i].in->spec_hash, HASH_BYTES))
			return error_set(err, ERR_TOKEN,
			        "the token was used for job %llu, whose specification is another",
			        (unsigned long long)v[i].known->job);
		*n_new += !v[i].known;
		for (k = 0; k < i; k++) {
			if (!memcmp(v[i].in->nonce, v[k].in->nonce, NONCE_BYTES))
				return error_set(err, ERR_JOB_SPEC,
				        "two jobs of one submit have the same token");
		}
	}
	return 0;
}

static int check_room(const struct core *core, size_t n_new, struct error *err)
{
	const struct conf_controller *c = &core->conf->controller;

	if (!n_new)
		return 0;
	if (core->disk_free_mb < c->min_free_mb)
		return error_set(err, ERR_NO_SPACE,
		        "the controller's disk is nearly full: %llu MiB free, %llu are kept",
		        (unsigned long long)core->disk_free_mb, (unsigned long long)c->min_free_mb);
	if (c->max_jobs && jobs_count(core->jobs) + n_new > c->max_jobs)
		return error_set(err, ERR_LIMIT_JOBS,
		        "the controller holds %zu jobs; controller.max_jobs is %u",
		        jobs_count(core->jobs), c->max_jobs);
	return 0;
}

/* --- answers --------------------------------------------------------------------------------- */

static struct effect *answer(struct core *core, const struct core_event *e, const struct intake *v)
{
	uint64_t *ids = effects_alloc(core->effects, e->submit.n * sizeof(*ids));
	bool *known = effects_alloc(core->effects, e->submit.n * sizeof(*known));
	struct effect *fx;
	size_t i;

	for (i = 0; i < e->submit.n; i++) {
		ids[i] = v[i].known ? v[i].known->job : v[i].info.id;
		known[i] = v[i].known;
	}
	fx = effects_add(core->effects, EFFECT_SUBMITTED);
	fx->reply = e->caller.reply;
	fx->submitted.ids = ids;
	fx->submitted.known = known;
	fx->submitted.n = e->submit.n;
	fx->submitted.gpu_type = fx->submitted.reason = "";
	return fx;
}

/* Would the first job start now? Tried on the ledger itself, and undone. */
static void answer_test(struct core *core, const struct core_event *e, const struct intake *v)
{
	struct effect *fx = answer(core, e, v);
	struct ask ask = { v->info.gpus, v->info.cpus, v->info.mem_mb };
	char text[256], both[300];
	const char *reason;
	struct place place;

	fx->submitted.test_only = true;
	if (!v->info.gpus)
		return;
	ledger_mark(core->ledger);
	if (v->in->hold) {
		fx->submitted.reason = e->caller.admin ? "JobHeldAdmin" : "JobHeldUser";
	} else if (!sched_idle(core->sched)) {
		fx->submitted.reason = "Priority";
	} else if (!ledger_can_start(
	                   core->ledger, ledger_set_of(core->ledger, v->partition), &ask, &place)) {
		reason = ask_why(core, v->partition, &ask, text, sizeof(text));
		snprintf(both, sizeof(both), "%s: %s", reason, text);
		fx->submitted.reason = effects_text(core->effects, both);
	} else {
		ledger_take(core->ledger, &place);
		fx->submitted.would_start_now = true;
		fx->submitted.node = place.node;
		fx->submitted.gpus = place.gpus;
		if (place.gpus)
			fx->submitted.gpu_type =
			        effects_text(core->effects, core->conf->gpu_types[place.type].name);
	}
	ledger_undo(core->ledger);
}

static int submit(
        struct core *core, const struct core_event *e, struct intake *v, struct error *err)
{
	size_t i, n_new;

	if (core->suspended)
		return error_set(err, ERR_EPOCH, "%s", core->suspended);
	if (!e->submit.n || e->submit.n > MAX_SUBMIT)
		return error_set(err, ERR_JOB_SPEC, "a submit of %zu jobs; 1 to %d are possible",
		        e->submit.n, MAX_SUBMIT);
	if (find_known(core, e, v, &n_new, err) < 0 || check_room(core, n_new, err) < 0)
		return -1;
	for (i = 0; i < e->submit.n; i++) {
		if (v[i].known)
			continue;
		if (intake_fill(core, &e->caller, &v[i], err) < 0)
			return e->submit.n > 1 ? error_wrap(err, "job %zu of the submit", i + 1)
			                       : -1;
	}
	return 0;
}

void submit_apply(struct core *core, const struct core_event *e)
{
	struct intake *v = xcalloc(e->submit.n, sizeof(*v));
	struct error err = { 0 };
	size_t i;

	if (submit(core, e, v, &err) < 0) {
		effects_reply(core->effects, e->caller.reply, &err);
	} else if (e->submit.test_only) {
		answer_test(core, e, v);
	} else {
		for (i = 0; i < e->submit.n; i++) {
			if (!v[i].known)
				intake_commit(core, &e->caller, &v[i]);
		}
		answer(core, e, v);
	}
	for (i = 0; i < e->submit.n; i++)
		intake_clear(core, &v[i]);
	free(v);
}
