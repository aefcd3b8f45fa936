/* job.c - see job.h */
#include "ctld/core/records/job.h"

#include "ctld/core/records/job_impl.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/job/depend.h"
#include "common/job/mail_types.h"
#include "ctld/core/records/budget.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/codec.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/heap.h"
#include "ctld/core/util/idmap.h"
#include "ctld/core/util/table.h"

#define X(sym, name, code, next) [sym] = { name, code, next },
static const struct {
	const char *name, *code;
	uint32_t next; /* bit set of states */
} job_states[JOB_STATE_COUNT] = { JOB_STATES(X) };
#undef X

const char *job_state_name(enum job_state state)
{
	return job_states[state].name;
}

const char *job_state_code(enum job_state state)
{
	return job_states[state].code;
}

bool job_state_ended(enum job_state state)
{
	return JOB_ENDS >> state & 1;
}

bool job_state_may(enum job_state from, enum job_state to)
{
	return job_states[from].next >> to & 1;
}

const struct job_info *job_info(const struct job *job)
{
	return &job->info;
}

struct job_link *job_link(struct job *job)
{
	return &job->link;
}

const struct job_link *job_link_of(const struct job *job)
{
	return &job->link;
}

/* --- counting -------------------------------------------------------------------------------- */

static uint64_t count_hash(const void *item, uint64_t seed)
{
	return hash_u64((uintptr_t)((const struct job_count *)item)->partition, seed);
}

static bool count_equal(const void *item, const void *key)
{
	return ((const struct job_count *)item)->partition == (const char *)key;
}

static struct job_count *count_find(const struct jobs *jobs, const char *kept)
{
	return table_find(jobs->counts, hash_u64((uintptr_t)kept, table_seed(jobs->counts)),
	        count_equal, kept);
}

const struct job_count *jobs_count_of(const struct jobs *jobs, const char *partition)
{
	const char *kept = strings_peek(jobs->strings, partition);

	return kept ? count_find(jobs, kept) : NULL;
}

static void waits(struct array *a, struct job *job)
{
	job->link.prev = NULL;
	job->link.next = a->waiting;
	if (a->waiting)
		a->waiting->link.prev = job;
	a->waiting = job;
}

static void waits_no_more(struct array *a, struct job *job)
{
	struct job_link *l = &job->link;

	*(l->prev ? &l->prev->link.next : &a->waiting) = l->next;
	if (l->next)
		l->next->link.prev = l->prev;
	l->next = l->prev = NULL;
}

void jobs_recount(struct jobs *jobs, struct job *job, bool in)
{
	uint32_t weight = job_weight(job), by = in ? weight : 0 - weight;
	enum job_state state = job->info.state;
	struct job_count *c = count_find(jobs, job->info.partition);
	struct array *a = job_array(job);

	jobs->in_state[state] += in ? weight : 0 - (size_t)weight;
	if (state == JOB_PENDING)
		c->pending += by;
	else if (!job_state_ended(state))
		c->running += by;
	if (!a)
		return;
	if (job->link.own && !job_state_ended(state)) {
		a->live += in ? 1 : UINT32_MAX;
		a->running += state == JOB_PENDING ? 0 : in ? 1 : UINT32_MAX;
	} else if (job->link.own) {
		a->ended_here += by;
		a->ill_here += state == JOB_COMPLETED ? 0 : by;
	}
	if (state != JOB_PENDING)
		return;
	if (in)
		waits(a, job);
	else
		waits_no_more(a, job);
}

/* A job has come. */
static void count_in(struct jobs *jobs, struct job *job)
{
	if (!count_find(jobs, job->info.partition)) {
		struct job_count *c = xcalloc(1, sizeof(*c));

		c->partition = strings_again(job->info.partition);
		table_add(jobs->counts, c);
	}
	jobs_recount(jobs, job, true);
}

struct jobs *jobs_new(struct strings *strings, struct requests *requests, struct label_sets *labels,
        struct nonces *nonces, struct dirty *dirty, struct budget *budget, uint64_t seed)
{
	struct jobs *jobs = xcalloc(1, sizeof(*jobs));

	jobs->strings = strings;
	jobs->requests = requests;
	jobs->labels = labels;
	jobs->nonces = nonces;
	jobs->dirty = dirty;
	jobs->budget = budget;
	jobs->map = idmap_new();
	jobs->counts = table_new(count_hash, seed);
	return jobs;
}

/* --- rows ------------------------------------------------------------------------------------ */

#define F(field) [COL_JOB_##field] = COLUMN(struct job, info.field)
static const struct codec_column columns[COL_JOB_COUNT] = {
	F(id), F(uid), F(gid), F(user), F(account), F(partition), F(name), F(hold), F(cpus),
	F(mem_mb), F(time_limit_s), F(warn_signal), F(warn_before_s), F(requeue), F(nice),
	F(submit_host), F(cwd), F(output), F(error), F(array), F(sign_time), F(submit_time),
	F(start_time), F(end_time), F(attempt), F(max_attempts), F(exit_code), F(exit_signal),
	F(end_cause), F(comment), F(qos), F(max_wait_s), F(planned_start), F(begin_time),
	F(deadline), F(depends), F(kill_invalid), F(remark), F(mail_types), F(mail_user),
	F(requeue_on), F(requeue_delay_s), [COL_JOB_limit_cut] = COLUMN(struct job, info.limit_set),
	F(part), F(steps), F(raw_ids),
	/* the job's own: state, gpus, place, labels, nonce, spec_hash, tasks, and the array's */
};
#undef F

void job_encode(const struct job *job, struct row *row, enum row_change change)
{
	const struct job_info *i = &job->info;
	const struct array *a = job->link.array;

	row_begin(row, TABLE_JOB, change);
	codec_encode(columns, job, row);
	if (change != ROW_PUT)
		return;
	row->v[COL_JOB_state] = value_text(job_state_name(i->state));
	row->v[COL_JOB_gpus] = value_text(i->gpus->text);
	row->v[COL_JOB_place] = value_text(i->gpus->place);
	row->v[COL_JOB_labels] = value_text(i->labels->text);
	row->v[COL_JOB_nonce] = value_blob(i->nonce->nonce, NONCE_BYTES);
	row->v[COL_JOB_spec_hash] = nonce_hashes(i->nonce);
	row->v[COL_JOB_tasks] = value_text(job_tasks_text(job));
	row->v[COL_JOB_at_once] = value_int(a ? a->at_once : 0);
	row->v[COL_JOB_next_part] = value_int(a ? a->next_part : 0);
	row->v[COL_JOB_tasks_ended] = value_int(a ? a->ended : 0);
	row->v[COL_JOB_tasks_failed] = value_int(a ? a->failed : 0);
	row->v[COL_JOB_tasks_cancelled] = value_int(a ? a->cancelled : 0);
}

static int decode_state(struct job *job, const struct row *row, struct error *err)
{
	const struct value *v = &row->v[COL_JOB_state];
	int s;

	for (s = 0; s < JOB_STATE_COUNT; s++) {
		if (strlen(job_states[s].name) == v->n && !memcmp(job_states[s].name, v->p, v->n)) {
			job->info.state = (uint8_t)s;
			return 0;
		}
	}
	return row_error(row, COL_JOB_state, err, "no such state");
}

/* A text of a row with its NUL; `buf` holds it. */
static const char *row_text(const struct value *v, char *buf, size_t size)
{
	size_t n = v->n < size ? v->n : size - 1;

	memcpy(buf, v->p, n);
	buf[n] = '\0';
	return buf;
}

static int decode_request(
        struct jobs *jobs, struct job *job, const struct row *row, struct error *err)
{
	const struct value *gpus = &row->v[COL_JOB_gpus], *place = &row->v[COL_JOB_place];
	char *gpus_text = xstrndup(gpus->p, gpus->n), *place_text = xstrndup(place->p, place->n);

	job->info.gpus = requests_parse(jobs->requests, gpus_text, place_text, err);
	free(gpus_text);
	free(place_text);
	return job->info.gpus ? 0 : -1;
}

static int array_number(
        const struct row *row, enum job_column column, uint32_t max, uint32_t *n, struct error *err)
{
	int64_t i = row->v[column].i;

	if (i < 0 || i > max)
		return row_error(row, column, err, "out of range");
	*n = (uint32_t)i;
	return 0;
}

static struct array *array_blank(void)
{
	struct array *a = xcalloc(1, sizeof(*a));

	a->parts = idmap_new();
	a->next_part = JOB_PART_RANGES;
	return a;
}

static void array_free(struct array *a)
{
	if (!a)
		return;
	idmap_free(a->parts);
	taskset_clear(&a->all);
	taskset_clear(&a->gone);
	free(a);
}

/* An array parent. */
static int decode_array(struct job *job, const struct row *row, struct error *err)
{
	struct array *a = job->link.array = array_blank();
	uint32_t at_once;

	if (taskset_parse_signed(job->info.array, &a->all, &at_once, NULL) < 0)
		return row_error(row, COL_JOB_array, err, "no tasks");
	return array_number(row, COL_JOB_at_once, TASK_MAX + 1, &a->at_once, err) < 0 ||
	                       array_number(row, COL_JOB_next_part, JOB_PART_LAST, &a->next_part,
	                               err) < 0 ||
	                       array_number(row, COL_JOB_tasks_ended, TASK_MAX + 1, &a->ended,
	                               err) < 0 ||
	                       array_number(row, COL_JOB_tasks_failed, TASK_MAX + 1, &a->failed,
	                               err) < 0 ||
	                       array_number(row, COL_JOB_tasks_cancelled, TASK_MAX + 1,
	                               &a->cancelled, err) < 0
	               ? -1
	               : 0;
}

static int decode_tasks(struct job *job, const struct row *row, struct error *err)
{
	const struct value *v = &row->v[COL_JOB_tasks];
	char *text;
	int rc;

	if (!*job->info.array)
		return v->n || job->info.part ? row_error(row, COL_JOB_tasks, err, "it is no array")
		                              : 0;
	if (!job->info.part && decode_array(job, row, err) < 0)
		return -1;
	if (job_is_task(job))
		return 0;
	job->of.tasks = xcalloc(1, sizeof(*job->of.tasks));
	if (!v->n && !job->info.part)
		return 0;
	text = xstrndup(v->p, v->n);
	rc = taskset_parse_kept(text, &job->of.tasks->set, err);
	free(text);
	return rc < 0 ? row_error(row, COL_JOB_tasks, err, "no tasks") : 0;
}

static int decode_nonce(
        struct jobs *jobs, struct job *job, const struct row *row, struct error *err)
{
	const struct value *nonce = &row->v[COL_JOB_nonce], *hash = &row->v[COL_JOB_spec_hash];
	struct job_info *i = &job->info;
	const struct nonce *of;

	if (!i->part) {
		i->nonce = nonces_load_job(
		        jobs->nonces, i->uid, nonce->p, hash, i->id, i->submit_time, err);
		return i->nonce ? 0 : -1;
	}
	job->link.own = idmap_find(jobs->map, i->id);
	if (!job->link.own || !job->link.own->link.array)
		return row_error(row, COL_JOB_part, err, "there is no such array");
	of = job->link.own->info.nonce;
	/* The hash of a part that had ended may be of a spec that was changed since. */
	if (memcmp(of->nonce, nonce->p, NONCE_BYTES))
		return row_error(row, COL_JOB_nonce, err, "not that of its array");
	i->nonce = of;
	return 0;
}

static int decode_own(struct jobs *jobs, struct job *job, const struct row *row, struct error *err)
{
	const struct value *v = row->v;
	char buf[MAX_LABEL_BYTES];
	struct job_info *i = &job->info;
	struct depend depend;

	if (decode_state(job, row, err) < 0)
		return -1;
	if (i->hold > HOLD_SIGNATURE)
		return row_error(row, COL_JOB_hold, err, "no such kind of hold");
	if (i->end_cause > END_CAUSE_LAST)
		return row_error(row, COL_JOB_end_cause, err, "no such cause");
	if (i->kill_invalid > KILL_NO)
		return row_error(row, COL_JOB_kill_invalid, err, "no such choice");
	if (depend_parse(i->depends, true, &depend, err) < 0)
		return row_error(row, COL_JOB_depends, err, "not as it is kept");
	depend_clear(&depend);
	if (v[COL_JOB_nonce].n != NONCE_BYTES)
		return row_error(row, COL_JOB_nonce, err, "wrong length");
	if (!nonce_hashes_fit(&v[COL_JOB_spec_hash]))
		return row_error(row, COL_JOB_spec_hash, err, "wrong length");
	if (decode_request(jobs, job, row, err) < 0)
		return -1;
	i->labels = labels_parse(jobs->labels, row_text(&v[COL_JOB_labels], buf, sizeof(buf)), err);
	if (!i->labels)
		return -1;
	return decode_tasks(job, row, err) < 0 ? -1 : decode_nonce(jobs, job, row, err);
}

struct job *job_new_blank(void)
{
	struct job *job = xcalloc(1, sizeof(*job));

	job->mark.table = TABLE_JOB;
	job->link.slot = job->link.timer = HEAP_NOWHERE;
	return job;
}

int jobs_take_in(struct jobs *jobs, struct job *job)
{
	const struct job_info *i = &job->info;

	if (!i->part) {
		if (i->id <= idmap_last(jobs->map))
			return -1;
		idmap_add(jobs->map, i->id, job);
	} else {
		struct idmap *parts = job->link.own->link.array->parts;

		if (idmap_find(parts, i->part))
			return -1;
		idmap_insert(parts, i->part, job);
		jobs->n_parts++;
	}
	count_in(jobs, job);
	job_charge(jobs, job);
	return 0;
}

int jobs_load(struct jobs *jobs, const struct row *row, struct error *err)
{
	struct job *job = job_new_blank();

	if (codec_decode(columns, job, row, jobs->strings, err) < 0 ||
	        decode_own(jobs, job, row, err) < 0)
		goto fail;
	if (jobs_take_in(jobs, job) < 0) {
		row_error(row, COL_JOB_id, err, "not above the one before");
		goto fail;
	}
	return 0;
fail:
	job_free(jobs, job);
	return -1;
}

const char **job_text(struct job_info *i, size_t n)
{
	const char **texts[JOB_TEXTS] = { &i->user, &i->account, &i->partition, &i->name,
		&i->submit_host, &i->cwd, &i->output, &i->error, &i->array, &i->comment, &i->qos,
		&i->depends, &i->remark, &i->mail_user, &i->requeue_on };

	return texts[n];
}

void job_free(struct jobs *jobs, struct job *job)
{
	struct tasks *tasks = job_several(job);
	size_t t;

	budget_add(jobs->budget, job->info.uid, BUDGET_MEMORY, -(int64_t)job->charged);
	for (t = 0; t < JOB_TEXTS; t++)
		strings_drop(jobs->strings, *job_text(&job->info, t));
	requests_drop(jobs->requests, job->info.gpus);
	labels_drop(jobs->labels, job->info.labels);
	if (tasks) {
		taskset_clear(&tasks->set);
		free(tasks->text);
		free(tasks);
	}
	array_free(job->link.array);
	free(job);
}

static void free_parts(struct jobs *jobs, struct array *a)
{
	struct job *part;

	while ((part = idmap_next(a->parts, 0))) {
		idmap_remove(a->parts, part->info.part);
		job_free(jobs, part);
	}
}

void jobs_free(struct jobs *jobs)
{
	struct job *job;
	struct job_count *c;
	size_t cursor = 0;

	if (!jobs)
		return;
	while ((job = idmap_next(jobs->map, 0))) {
		idmap_remove(jobs->map, job->info.id);
		if (job->link.array)
			free_parts(jobs, job->link.array);
		job_free(jobs, job);
	}
	while ((c = table_each(jobs->counts, &cursor))) {
		strings_drop(jobs->strings, c->partition);
		free(c);
	}
	table_free(jobs->counts);
	idmap_free(jobs->map);
	free(jobs);
}

/* --- finding --------------------------------------------------------------------------------- */

struct job *jobs_find(const struct jobs *jobs, uint64_t ref)
{
	struct job *own = idmap_find(jobs->map, job_ref_id(ref));
	uint32_t part = job_ref_part(ref);

	if (!own || !part)
		return own;
	return own->link.array ? idmap_find(own->link.array->parts, part) : NULL;
}

struct job *jobs_next(const struct jobs *jobs, uint64_t after)
{
	struct job *own = idmap_find(jobs->map, job_ref_id(after)), *part = NULL;

	if (own && own->link.array)
		part = idmap_next(own->link.array->parts, job_ref_part(after));
	return part ? part : idmap_next(jobs->map, job_ref_id(after));
}

struct job *jobs_of_run(const struct jobs *jobs, struct run_id id)
{
	struct job *own = idmap_find(jobs->map, id.job);

	if (!own || !own->link.array)
		return own && !id.task ? own : NULL;
	return id.task <= TASK_MAX ? idmap_find(own->link.array->parts, id.task + 1) : NULL;
}

struct job *jobs_stands_in(const struct jobs *jobs, uint64_t id, uint32_t task)
{
	struct job *own = idmap_find(jobs->map, id), *job;

	if (!own || !own->link.array)
		return NULL;
	for (job = own; job; job = idmap_next(own->link.array->parts,
	                             job->info.part ? job->info.part : JOB_PART_RANGES - 1)) {
		if (taskset_has(&job_several(job)->set, task))
			return job;
	}
	return NULL;
}

size_t jobs_count(const struct jobs *jobs)
{
	return idmap_count(jobs->map) + jobs->n_parts;
}

size_t jobs_count_in(const struct jobs *jobs, enum job_state state)
{
	return jobs->in_state[state];
}

bool job_alike(const struct job *a, const struct job *b)
{
	const struct job_info *x = &a->info, *y = &b->info;
	struct row r, s;
	size_t n;

	if (x->gpus != y->gpus || x->labels != y->labels || x->state != y->state ||
	        a->link.expired != b->link.expired)
		return false;
	row_begin(&r, TABLE_JOB, ROW_PUT);
	row_begin(&s, TABLE_JOB, ROW_PUT);
	codec_encode(columns, a, &r);
	codec_encode(columns, b, &s);
	for (n = 0; n < COL_JOB_COUNT; n++) {
		const struct value *v = &r.v[n], *w = &s.v[n];
		bool text = columns[n].codec == CODEC_TEXT;

		if (columns[n].codec == CODEC_OWN || n == COL_JOB_part || n == COL_JOB_depends ||
		        n == COL_JOB_planned_start || n == COL_JOB_begin_time)
			continue;
		if (text ? v->p != w->p : v->i != w->i) /* a kept text is there once */
			return false;
	}
	return true;
}

/* --- movers ---------------------------------------------------------------------------------- */

static void texts_changed(struct jobs *jobs, struct job *job)
{
	job_charge(jobs, job);
	dirty_put(jobs->dirty, &job->mark);
}

static struct job *job_made(struct jobs *jobs, const struct job_info *info)
{
	struct job *job = job_new_blank();
	size_t t;

	job->info = *info;
	job->info.state = JOB_PENDING;
	for (t = 0; t < JOB_TEXTS; t++) {
		const char **text = job_text(&job->info, t);

		*text = strings_intern(jobs->strings, *text ? *text : "");
	}
	return job;
}

struct job *jobs_add(struct jobs *jobs, const struct job_info *info)
{
	struct job *job = job_made(jobs, info);

	jobs_take_in(jobs, job);
	dirty_put(jobs->dirty, &job->mark);
	return job;
}

struct job *jobs_stage(
        struct jobs *jobs, const struct job_info *info, struct taskset *tasks, uint32_t at_once)
{
	struct job *job = job_made(jobs, info);

	if (!tasks) {
		job_charge(jobs, job);
		return job;
	}
	job->link.array = array_blank();
	job->link.array->at_once = at_once;
	taskset_copy(&job->link.array->all, tasks);
	job->of.tasks = xcalloc(1, sizeof(*job->of.tasks));
	job->of.tasks->set = *tasks;
	*tasks = (struct taskset){ 0 };
	job_charge(jobs, job);
	return job;
}

void jobs_stage_row(struct jobs *jobs, struct job *job, uint64_t id, usec_t submit_time)
{
	job->info.id = id;
	job->info.submit_time = submit_time;
	dirty_put(jobs->dirty, &job->mark);
}

void jobs_show(struct jobs *jobs, struct job *job)
{
	idmap_insert(jobs->map, job->info.id, job);
	count_in(jobs, job);
}

void jobs_forget(struct jobs *jobs, uint64_t id)
{
	struct job *job = job_made(jobs, &(struct job_info){ .id = id });

	job->dropped = true;
	dirty_gone(jobs->dirty, &job->mark);
}

struct job *jobs_add_array(
        struct jobs *jobs, const struct job_info *info, struct taskset *tasks, uint32_t at_once)
{
	struct job *job = jobs_stage(jobs, info, tasks, at_once);

	jobs_take_in(jobs, job);
	dirty_put(jobs->dirty, &job->mark);
	return job;
}

void job_runs_changed(struct job *job)
{
	struct run *run;

	for (run = job->link.runs; run; run = run_link(run)->next_of_job)
		node_runs_changed(run_link(run)->node);
}

void job_move(struct jobs *jobs, struct job *job, enum job_state state)
{
	assert(job_state_may(job->info.state, state));
	jobs_recount(jobs, job, false);
	job->info.state = (uint8_t)state;
	job_runs_changed(job);
	if (state == JOB_PENDING)
		job_follow_array(jobs, job);
	jobs_recount(jobs, job, true);
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_hold(struct jobs *jobs, struct job *job, enum job_hold hold)
{
	if (job->info.hold == hold)
		return;
	job->info.hold = (uint8_t)hold;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_asked(struct jobs *jobs, struct job *job, const struct job_info *asked)
{
	assert(!job->link.class);
	jobs_recount(jobs, job, false);
	strings_set(jobs->strings, &job->info.partition, asked->partition);
	strings_set(jobs->strings, &job->info.account, asked->account);
	requests_drop(jobs->requests, job->info.gpus);
	job->info.gpus = asked->gpus;
	labels_drop(jobs->labels, job->info.labels);
	job->info.labels = asked->labels;
	job->info.warn_signal = asked->warn_signal;
	job->info.warn_before_s = asked->warn_before_s;
	job->info.cpus = asked->cpus;
	job->info.mem_mb = asked->mem_mb;
	job->info.time_limit_s = asked->time_limit_s;
	job->info.nice = asked->nice;
	strings_set(jobs->strings, &job->info.qos, asked->qos ? asked->qos : "");
	job->info.max_wait_s = asked->max_wait_s;
	job->info.begin_time = asked->begin_time;
	job->info.deadline = asked->deadline;
	job->info.kill_invalid = asked->kill_invalid;
	count_in(jobs, job);
	texts_changed(jobs, job);
}

void job_set_limit(struct jobs *jobs, struct job *job, uint32_t time_limit_s)
{
	job->info.time_limit_s = time_limit_s;
	job_runs_changed(job);
	job->info.limit_set = true;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_signed(struct jobs *jobs, struct job *job, usec_t sign_time)
{
	if (job->info.sign_time == sign_time)
		return;
	job->info.sign_time = sign_time;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_planned(struct jobs *jobs, struct job *job, usec_t planned_start)
{
	job->info.planned_start = planned_start;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_depends(struct jobs *jobs, struct job *job, const char *depends)
{
	if (strings_set(jobs->strings, &job->info.depends, depends))
		texts_changed(jobs, job);
}

void job_set_begin(struct jobs *jobs, struct job *job, usec_t begin_time)
{
	if (job->info.begin_time == begin_time)
		return;
	job->info.begin_time = begin_time;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_mail_begun(struct jobs *jobs, struct job *own)
{
	own->info.mail_types |= MAIL_BEGUN;
	dirty_put(jobs->dirty, &own->mark);
}

void job_set_notifications(struct jobs *jobs, struct job *job, const struct job_info *wished)
{
	struct job_info *i = &job->info;

	strings_set(jobs->strings, &i->remark, wished->remark);
	strings_set(jobs->strings, &i->mail_user, wished->mail_user);
	strings_set(jobs->strings, &i->requeue_on, wished->requeue_on);
	i->mail_types =
	        (uint8_t)((i->mail_types & MAIL_BEGUN) | (wished->mail_types & MAIL_ALL_BITS));
	i->requeue_delay_s = wished->requeue_delay_s;
	i->requeue = wished->requeue;
	texts_changed(jobs, job);
}

void job_set_comment(struct jobs *jobs, struct job *job, const char *comment)
{
	if (strings_set(jobs->strings, &job->info.comment, comment))
		texts_changed(jobs, job);
}

void job_set_end_cause(struct jobs *jobs, struct job *job, enum end_cause cause)
{
	if (job->info.end_cause == cause)
		return;
	job->info.end_cause = (uint8_t)cause;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_attempt(struct jobs *jobs, struct job *job, uint32_t attempt)
{
	struct job_info *i = &job->info;

	assert(attempt > i->attempt);
	i->attempt = attempt;
	i->limit_set = false;
	job->link.checkpoint = 0;
	i->start_time = i->end_time = 0;
	i->exit_code = i->exit_signal = 0;
	i->end_cause = END_NONE;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_start(struct jobs *jobs, struct job *job, usec_t start_time)
{
	if (job->info.start_time == start_time)
		return;
	job->info.start_time = start_time;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_end(struct jobs *jobs, struct job *job, usec_t end_time, uint32_t exit_code,
        uint32_t exit_signal)
{
	/* Wall clocks jump; nothing is ever shown to end before it began. */
	job->info.end_time = end_time < job->info.start_time ? job->info.start_time : end_time;
	job->info.exit_code = exit_code;
	job->info.exit_signal = exit_signal;
	dirty_put(jobs->dirty, &job->mark);
}

void job_unset_end(struct jobs *jobs, struct job *job)
{
	job->info.end_time = 0;
	job->info.exit_code = job->info.exit_signal = 0;
	job->info.end_cause = END_NONE;
	job_follow_array(jobs, job);
	job->link.expired = false;
	dirty_put(jobs->dirty, &job->mark);
}

void jobs_take_out(struct jobs *jobs, struct job *job)
{
	assert(!job->link.runs && !job->link.class);
	jobs_recount(jobs, job, false);
	if (job->info.part) {
		struct array *a = job->link.own->link.array;

		a->gone_known = false;
		idmap_remove(a->parts, job->info.part);
		jobs->n_parts--;
	} else {
		assert(!job->link.array || !idmap_count(job->link.array->parts));
		idmap_remove(jobs->map, job->info.id);
		nonces_job_gone(jobs->nonces, job->info.nonce);
	}
	dirty_gone(jobs->dirty, &job->mark);
}

void jobs_retire(struct jobs *jobs, struct job *job)
{
	assert(job_state_ended(job->info.state));
	assert(!job->link.depends && !job->link.dependents);
	jobs_take_out(jobs, job);
}
