/* bulk.c - see bulk.h
 *
 * States of the one bulk in the core, each a kind of event and each in slices: CHECK makes jobs
 * that are in no table, MAKE gives them ids and rows, SHOW puts them where others are. An error in
 * CHECK undoes all of it, from memory only. From the first row of MAKE on nothing can fail, and
 * the open range of ids in meta says what a start of the controller must delete if the process
 * dies before the end.
 */
#include "ctld/core/intake/bulk.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/depends/depends_check.h"
#include "ctld/core/intake/job_checks.h"
#include "ctld/core/intake/partition_choices.h"
#include "ctld/core/jobs/depends_attach.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/rows/state.h"

/* A new job, or the id of one that was there already. */
struct entry {
	struct job *job;
	uint64_t known;
	unsigned weight; /* of what was submitted */
};

struct bulk {
	uint32_t uid;
	char *host; /* host of the caller */
	struct entry *v;
	size_t n, size;
	size_t n_new;
	uint64_t n_ids; /* of the new ones, arrays with their tasks */
	size_t made, shown; /* entries that are through with MAKE, with SHOW */
	uint64_t first;     /* of the ids */
	bool promised;
	unsigned ranges; /* of tasks that its jobs wait for */
};

static struct bulk *bulk_new(const struct caller *caller)
{
	struct bulk *b = xcalloc(1, sizeof(*b));

	b->uid = caller->uid;
	b->host = xstrdup(caller->host);
	return b;
}

static void forget(struct core *core)
{
	free(core->bulk->v);
	free(core->bulk->host);
	free(core->bulk);
	core->bulk = NULL;
}

/* Jobs that are in tables already are freed with those. */
void bulk_free(struct core *core)
{
	struct bulk *b = core->bulk;

	free(core->left_over);
	core->left_over = NULL;
	core->n_left_over = 0;
	if (!b)
		return;
	for (size_t i = b->shown; i < b->n; i++)
		if (b->v[i].job)
			job_free(core->jobs, b->v[i].job);
	forget(core);
}

const struct job *bulk_next(const struct core *core, size_t *cursor)
{
	const struct bulk *b = core->bulk;

	for (size_t i = b ? b->shown + *cursor : 0; b && i < b->n; i++) {
		if (!b->v[i].job)
			continue;
		*cursor = i + 1 - b->shown;
		return b->v[i].job;
	}
	return NULL;
}

size_t bulk_count(const struct core *core)
{
	return core->bulk ? core->bulk->n_new : 0;
}

uint64_t bulk_ids(const struct core *core)
{
	return core->bulk ? core->bulk->n_ids : 0;
}

uint64_t bulk_hash(const struct core *core)
{
	const struct job *job;
	size_t cursor = 0;
	uint64_t sum = 0;
	struct row row;

	if (!core->bulk || !core->bulk->promised)
		return 0;
	while ((job = bulk_next(core, &cursor))) {
		job_encode(job, &row, ROW_PUT);
		sum += row_hash(&row);
	}
	return sum;
}

/* --- slices ---------------------------------------------------------------------------------- */

/* Bytes of text that take about as long as the rest of a job does. */
#define WEIGHT_TEXT 256

unsigned bulk_weight(const struct submit_job *job)
{
	const char *texts[] = { job->depends, job->array, job->nodelist, job->exclude,
		job->constraint, job->prefer, job->licences };
	size_t len = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i])
			len += strlen(texts[i]);
	return 1 + (unsigned)(len / WEIGHT_TEXT);
}

/* How many entries from `from` on weigh no more than `weight`; at least one, where there is one. */
static size_t slice(const struct bulk *b, size_t from, size_t weight)
{
	size_t n = 0, sum = 0;

	while (from + n < b->n && (!n || sum + b->v[from + n].weight <= weight))
		sum += b->v[from + n++].weight;
	return n;
}

/* --- answers --------------------------------------------------------------------------------- */

static struct effect *answer(struct core *core, const struct core_event *e, bool more)
{
	struct effect *fx = effects_add(core->effects, EFFECT_BULK);

	fx->reply = e->caller.reply;
	fx->bulk.step = e->bulk.step;
	fx->bulk.more = more;
	return fx;
}

/* The world answers with UNDO steps until nothing is left. */
static void refuse(struct core *core, const struct core_event *e, const struct error *err)
{
	struct error *copy = effects_alloc(core->effects, sizeof(*copy));

	*copy = *err;
	answer(core, e, false)->bulk.error = copy;
}

/* --- checking -------------------------------------------------------------------------------- */

static struct entry *add_entry(struct bulk *b, const struct submit_job *in)
{
	b->v = xgrow(b->v, b->n, &b->size, sizeof(*b->v));
	b->v[b->n] = (struct entry){ .weight = bulk_weight(in) };
	return &b->v[b->n++];
}

/* It is checked: make it. What it counts for stays counted. */
static struct job *make_job(struct core *core, const struct caller *caller, struct intake *t)
{
	struct job *job;

	submit_fill(core, caller, t);
	t->info.nonce = nonces_stage(core->nonces, caller->uid, t->in->nonce, t->in->spec_hash);
	job = jobs_stage(core->jobs, &t->info, *t->in->array ? &t->tasks : NULL, t->at_once);
	t->info.gpus = NULL;
	t->info.labels = NULL;
	t->counted = false;
	return job;
}

/* As a submit does for one job, and as strictly; what was made for the jobs before stays until
 * UNDO. */
static int check_job(struct core *core, const struct caller *caller, const struct submit_job *in,
        const char **left_out, struct error *err)
{
	struct bulk *b = core->bulk;
	struct intake t = { .in = in };
	struct job *job;

	t.known = nonces_find(core->nonces, caller->uid, in->nonce);
	if (t.known && !t.known->job)
		return error_set(err, ERR_JOB_SPEC, "two jobs of one submit have the same token");
	if (submit_known(core, caller, &t, err) < 0)
		return -1;
	if (t.known) {
		add_entry(b, in)->known = t.known->job;
		return 0;
	}
	if (in->service)
		return error_set(err, ERR_JOB_SPEC,
		        "job %zu of the submit: a service is submitted by itself, not in a bulk",
		        b->n + 1);
	if (submit_room(core, b->n_new + 1, err) < 0)
		return -1;
	if (intake_fill(core, caller, &t, err) < 0 || intake_charge(core, caller, &t, err) < 0) {
		intake_clear(core, &t);
		return error_wrap(err, "job %zu of the submit", b->n + 1);
	}
	if (t.depends && range_many_in(t.depends, &b->ranges)) {
		intake_clear(core, &t);
		return error_set(err, ERR_JOB_SPEC,
		        "job %zu of the submit: --dependency: too many jobs of one submit wait for "
		        "ranges of tasks; afterok waits for all of an array",
		        b->n + 1);
	}
	if (!*left_out)
		*left_out = intake_left_out(core, &t);
	job = make_job(core, caller, &t);
	add_entry(b, in)->job = job;
	b->n_new++;
	b->n_ids += job_ids(job);
	intake_clear(core, &t);
	return 0;
}

static int check(
        struct core *core, const struct core_event *e, const char **left_out, struct error *err)
{
	if (core->suspended)
		return error_set(err, ERR_EPOCH, "%s", core->suspended);
	if (core->bulk->n + e->bulk.n > SUBMIT_JOBS_MAX)
		return error_set(err, ERR_JOB_SPEC, "a bulk of more than %d jobs", SUBMIT_JOBS_MAX);
	for (size_t i = 0; i < e->bulk.n; i++) {
		if (check_job(core, &e->caller, &e->bulk.jobs[i], left_out, err) < 0)
			return -1;
	}
	return 0;
}

/* The first slice makes the bulk. */
static void step_check(struct core *core, const struct core_event *e)
{
	const char *left_out = NULL;
	struct error err;

	if (!core->bulk)
		core->bulk = bulk_new(&e->caller);
	if (check(core, e, &left_out, &err) < 0)
		refuse(core, e, &err);
	else
		answer(core, e, false)->bulk.left_out = left_out;
}

/* From the last job to the first, in slices: nonces, counts and charges are given back. */
static void step_undo(struct core *core, const struct core_event *e)
{
	struct bulk *b = core->bulk;
	size_t weight = 0;

	assert(!b->made);
	while (b->n && weight < e->bulk.n) {
		struct job *job = b->v[--b->n].job;

		weight += b->v[b->n].weight;
		if (!job)
			continue;
		job_count(core, job_info(job), -(int)job_weight(job));
		nonces_unstage(core->nonces, job_info(job)->nonce);
		b->n_ids -= job_ids(job);
		job_free(core->jobs, job);
		b->n_new--;
	}
	answer(core, e, b->n);
	if (!b->n)
		forget(core);
}

/* --- making ---------------------------------------------------------------------------------- */

/* With the commit that brings this all of them are there. */
static void promise(struct core *core)
{
	struct bulk *b = core->bulk;
	struct caller by = { .uid = b->uid, .host = b->host };
	unsigned long long first = b->first;
	char text[80];

	b->promised = true;
	if (!b->n_new)
		return;
	meta_bulk_over(core->meta);
	snprintf(text, sizeof(text), "a bulk: jobs %llu-%llu", first, first + b->n_ids - 1);
	audit_note(core, "job.submit", &by, b->first, "", text);
}

/* The first slice takes the whole range of ids; the row that opens it is in the same commit as the
 * first jobs. */
static void step_make(struct core *core, const struct core_event *e)
{
	struct bulk *b = core->bulk;
	size_t n = slice(b, b->made, e->bulk.n), i;
	uint64_t *ids = effects_alloc(core->effects, n * sizeof(*ids));
	bool *known = effects_alloc(core->effects, n * sizeof(*known));
	struct effect *fx;

	if (b->n_new && !b->first)
		b->first = meta_take_bulk(core->meta, b->n_ids);
	for (i = 0; i < n; i++) {
		struct entry *entry = &b->v[b->made + i];

		known[i] = !entry->job;
		ids[i] = known[i] ? entry->known
		                  : meta_bulk_next(core->meta, job_ids(entry->job));
		if (known[i])
			continue;
		jobs_stage_row(core->jobs, entry->job, ids[i], core->now.wall);
		nonces_settle(core->nonces, job_info(entry->job)->nonce, ids[i], core->now);
	}
	b->made += n;
	if (b->made == b->n)
		promise(core);
	fx = answer(core, e, b->made < b->n);
	fx->bulk.ids = ids;
	fx->bulk.known = known;
	fx->bulk.n = n;
}

/* The jobs exist since the commit of the promise: from here on they are found, and may start. */
static void step_show(struct core *core, const struct core_event *e)
{
	struct bulk *b = core->bulk;
	size_t end = b->shown + slice(b, b->shown, e->bulk.n);

	assert(b->promised);
	while (b->shown < end) {
		struct job *job = b->v[b->shown++].job;

		if (!job)
			continue;
		b->n_new--;
		jobs_show(core->jobs, job);
		depends_catch_up(core, job);
		submit_joins(core, job);
	}
	answer(core, e, b->shown < b->n);
	if (b->shown == b->n)
		forget(core);
}

typedef void step_fn(struct core *core, const struct core_event *e);
static step_fn *const steps[] = {
	[BULK_CHECK] = step_check,
	[BULK_MAKE] = step_make,
	[BULK_SHOW] = step_show,
	[BULK_UNDO] = step_undo,
};

void bulk_apply(struct core *core, const struct core_event *e)
{
	assert(core->bulk || e->bulk.step == BULK_CHECK);
	steps[e->bulk.step](core, e);
}

/* --- a start --------------------------------------------------------------------------------- */

/* The row belongs to no job: the controller ended before the bulk was promised. */
bool bulk_left_over(struct core *core, const struct row *row)
{
	uint64_t id = (uint64_t)row->v[COL_JOB_id].i;

	if (!meta_bulk_has(core->meta, id))
		return false;
	core->left_over = xrealloc(core->left_over, core->n_left_over + 1, sizeof(uint64_t));
	core->left_over[core->n_left_over++] = id;
	return true;
}

void bulk_start(struct core *core)
{
	for (size_t i = 0; i < core->n_left_over; i++)
		jobs_forget(core->jobs, core->left_over[i]);
	free(core->left_over);
	core->left_over = NULL;
	core->n_left_over = 0;
	meta_bulk_over(core->meta);
}
