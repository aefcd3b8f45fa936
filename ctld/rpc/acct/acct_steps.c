/* acct_steps.c - steps of jobs of the past and of now, in chunks
 *
 * The walk passes each job that fits, and its steps that run are sent at once. When all jobs are
 * known, the steps that have ended are read job by job, a slice at a time: history.db has those of
 * jobs that run, too.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "ctld/core/records/job.h"
#include "ctld/rpc/acct/acct_answers.h"
#include "ctld/rpc/call/answer_parts.h"
#include "ctld/store/batch.h"
#include "ctld/wire/convert.h"

#define JOBS_MAX 100000 /* jobs and tasks of arrays whose ended steps one request reads */

/* A job, or a task of an array. */
struct owner {
	uint64_t id;
	uint32_t task;
	bool array;
	char *user, *partition, *account; /* owned by `texts` */
};

struct listing {
	acct_steps_fn *running; /* NULL: none */
	void *arg;
	struct owner *v; /* in the order of the walk */
	size_t n, room;
	size_t told;          /* of these the steps that run were sent */
	size_t at;            /* whose steps are read */
	struct past_cursor cursor;
	struct store_batch *rows; /* of the present slice: of owners from `first` on */
	size_t *row_of, n_rows, rows_room;
	struct arena *texts;
	bool too_many;
};

static char *keep(struct listing *l, const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = arena_alloc(l->texts, n);

	if (!copy)
		abort();
	return memcpy(copy, text, n);
}

/* Most jobs have what the one before has. */
static char *keep_or_same(struct listing *l, const char *text, char *before)
{
	return before && !strcmp(text, before) ? before : keep(l, text);
}

static void take_job(void *data, Gpusched__Acct *job)
{
	struct listing *l = data;
	struct owner *o, *before = l->n ? &l->v[l->n - 1] : NULL;

	if (job->several || !job->attempts)
		return;
	if (l->n == JOBS_MAX) {
		l->too_many = true;
		return;
	}
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		l->v = xrealloc(l->v, l->room, sizeof(*l->v));
		before = l->n ? &l->v[l->n - 1] : NULL;
	}
	o = &l->v[l->n++];
	o->id = job->id;
	o->array = job->array[0];
	o->task = job->part ? job->part - 1 : 0;
	o->user = keep_or_same(l, job->user, before ? before->user : NULL);
	o->partition = keep_or_same(l, job->partition, before ? before->partition : NULL);
	o->account = keep_or_same(l, job->account, before ? before->account : NULL);
}

static Gpusched__Step step_of(const struct owner *o)
{
	Gpusched__Step m = GPUSCHED__STEP__INIT;

	m.job = o->id;
	COPY_FIELDS(&m, o, task, array, user, partition, account);
	return m;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Which owner the rows of the slice are of that were not marked yet. */
static void mark_rows(struct listing *l)
{
	while (l->n_rows < l->rows->n_rows) {
		*XADD(l->row_of, l->n_rows, l->rows_room) = l->at;
	}
}

/* A slice of the steps of the jobs that were passed. */
static int read_steps(void *data, struct past *past, struct error *err)
{
	struct listing *l = data;
	unsigned looked = 0;

	while (l->at < l->n && looked < PAST_SLICE && l->n_rows < PAST_SLICE) {
		const struct past_steps of = { l->v[l->at].id, l->v[l->at].task };
		unsigned left = PAST_SLICE - (unsigned)l->n_rows;

		if (past_steps(past, &of, &l->cursor, left, l->rows, err) < 0)
			return -1;
		mark_rows(l);
		looked++;
		if (!l->cursor.end)
			break;
		l->at++;
		l->cursor = (struct past_cursor){ 0 };
	}
	return l->at < l->n;
}

/* --- sending --------------------------------------------------------------------------------- */

static void send_chunk(void *to, const ProtobufCMessage *m)
{
	const struct acct_out *out = to;

	out->send(out->to, GPUSCHED__MSG_TYPE__MSG_STEP_CHUNK, m);
}

static void send_slice(const struct acct_out *out, void *data)
{
	Gpusched__StepChunk m = GPUSCHED__STEP_CHUNK__INIT;
	struct listing *l = data;
	struct part part = {
		.chunk = &m.base, .arena = out->arena, .send = send_chunk, .to = (void *)(uintptr_t)out
	};
	struct batch_item item;
	size_t offset = 0;

	part_begin(&part);
	for (; l->told < l->n; l->told++) {
		const struct owner *o = &l->v[l->told];

		if (l->running)
			l->running(l->arg, job_ref_of(o->id, o->array ? o->task + 1 : 0), out->arena,
			        &part);
	}
	for (size_t i = 0; i < l->n_rows && batch_next(l->rows, &offset, &item); i++) {
		Gpusched__Step of = step_of(&l->v[l->row_of[i]]);

		part_add(&part, &wire_step_row(&of, &item.row, out->arena)->base);
	}
	part_end(&part);
	batch_reset(l->rows);
	l->n_rows = 0;
}

static int finish(const struct acct_out *out, void *data, struct error *err)
{
	const struct listing *l = data;

	(void)out;
	if (!l->too_many)
		return 0;
	return error_set(err, ERR_USAGE,
	        "steps of more than %d jobs and tasks: name fewer, or some tasks of an array",
	        JOBS_MAX);
}

static void listing_free(void *data)
{
	struct listing *l = data;

	batch_free(l->rows);
	arena_free(l->texts);
	free(l->row_of);
	free(l->v);
	free(l);
}

const struct acct_taker acct_steps = {
	.job = take_job,
	.past = read_steps,
	.slice = send_slice,
	.end = finish,
	.free = listing_free,
};

int acct_steps_query(const Gpusched__ListSteps *m, Gpusched__ListAcct *query, struct error *err)
{
	size_t named = m->filter ? m->filter->n_ids + m->filter->n_tasks : 0;

	gpusched__list_acct__init(query);
	query->filter = m->filter;
	if (named && named <= ACCT_STEPS_JOBS)
		return 0;
	return error_set(err, ERR_USAGE,
	        "steps that have ended are listed of 1 to %d jobs, named by id; %zu are named",
	        ACCT_STEPS_JOBS, named);
}

void *acct_steps_data(acct_steps_fn *running, void *arg)
{
	struct listing *l = xcalloc(1, sizeof(*l));

	l->running = running;
	l->arg = arg;
	l->rows = batch_new();
	l->texts = arena_new(WIRE_ARENA_CAP);
	return l;
}
