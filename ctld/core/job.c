/* job.c - see job.h */
#include "ctld/core/job.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/depend.h"
#include "common/xalloc.h"
#include "ctld/core/codec.h"
#include "ctld/core/hash.h"
#include "ctld/core/heap.h"
#include "ctld/core/idmap.h"
#include "ctld/core/table.h"

struct job {
	struct mark mark;
	struct job_info info;
	struct job_link link;
};

struct jobs {
	struct strings *strings;
	struct requests *requests;
	struct label_sets *labels;
	struct nonces *nonces;
	struct dirty *dirty;
	struct idmap *map;
	size_t in_state[JOB_STATE_COUNT];
	struct table *counts; /* struct job_count, owned */
};

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
	return !job_states[state].next;
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

/* Count the job where it stands now, or no longer. */
static void count(struct job *job, int by)
{
	struct job_count *c = job->link.count;

	if (job->info.state == JOB_PENDING)
		c->pending += (uint32_t)by;
	else if (!job_state_ended(job->info.state))
		c->running += (uint32_t)by;
}

/* A job has come. */
static void count_in(struct jobs *jobs, struct job *job)
{
	struct job_count *c = count_find(jobs, job->info.partition);

	if (!c) {
		c = xcalloc(1, sizeof(*c));
		c->partition = strings_again(job->info.partition);
		table_add(jobs->counts, c);
	}
	job->link.count = c;
	jobs->in_state[job->info.state]++;
	count(job, 1);
}

static void count_out(struct jobs *jobs, struct job *job)
{
	jobs->in_state[job->info.state]--;
	count(job, -1);
	job->link.count = NULL;
}

struct jobs *jobs_new(struct strings *strings, struct requests *requests, struct label_sets *labels,
        struct nonces *nonces, struct dirty *dirty, uint64_t seed)
{
	struct jobs *jobs = xcalloc(1, sizeof(*jobs));

	jobs->strings = strings;
	jobs->requests = requests;
	jobs->labels = labels;
	jobs->nonces = nonces;
	jobs->dirty = dirty;
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
	F(requeue_on), F(requeue_delay_s), F(limit_cut),
	/* the job's own: state, gpus, place, labels, nonce, spec_hash */
};
#undef F

void job_encode(const struct job *job, struct row *row, enum row_change change)
{
	const struct job_info *i = &job->info;

	row_begin(row, TABLE_JOB, change);
	codec_encode(columns, job, row);
	if (change != ROW_PUT)
		return;
	row->v[COL_JOB_state] = value_text(job_state_name(i->state));
	row->v[COL_JOB_gpus] = value_text(i->gpus->text);
	row->v[COL_JOB_place] = value_text(i->gpus->place);
	row->v[COL_JOB_labels] = value_text(i->labels->text);
	row->v[COL_JOB_nonce] = value_blob(i->nonce->nonce, NONCE_BYTES);
	row->v[COL_JOB_spec_hash] = value_blob(i->nonce->spec_hash, HASH_BYTES);
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

static int decode_own(struct jobs *jobs, struct job *job, const struct row *row, struct error *err)
{
	const struct value *v = row->v;
	char buf[MAX_LABEL_BYTES];
	struct job_info *i = &job->info;
	struct depend depend;

	if (decode_state(job, row, err) < 0)
		return -1;
	if (i->hold > HOLD_SELF)
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
	if (v[COL_JOB_spec_hash].n != HASH_BYTES)
		return row_error(row, COL_JOB_spec_hash, err, "wrong length");
	if (decode_request(jobs, job, row, err) < 0)
		return -1;
	i->labels = labels_parse(jobs->labels, row_text(&v[COL_JOB_labels], buf, sizeof(buf)), err);
	if (!i->labels)
		return -1;
	i->nonce = nonces_load_job(
	        jobs->nonces, i->uid, v[COL_JOB_nonce].p, v[COL_JOB_spec_hash].p, i->id, err);
	return i->nonce ? 0 : -1;
}

static struct job *job_blank(void)
{
	struct job *job = xcalloc(1, sizeof(*job));

	job->mark.table = TABLE_JOB;
	job->link.slot = job->link.alarm = HEAP_NOWHERE;
	return job;
}

int jobs_load(struct jobs *jobs, const struct row *row, struct error *err)
{
	struct job *job = job_blank();

	if (codec_decode(columns, job, row, jobs->strings, err) < 0 ||
	        decode_own(jobs, job, row, err) < 0)
		goto fail;
	if (job->info.id <= idmap_last(jobs->map)) {
		row_error(row, COL_JOB_id, err, "not above the one before");
		goto fail;
	}
	idmap_add(jobs->map, job->info.id, job);
	count_in(jobs, job);
	return 0;
fail:
	job_free(jobs, job);
	return -1;
}

/* The job's texts, for those who do the same to each. */
#define TEXTS 15
static const char **job_text(struct job_info *i, size_t n)
{
	const char **texts[TEXTS] = { &i->user, &i->account, &i->partition, &i->name,
		&i->submit_host, &i->cwd, &i->output, &i->error, &i->array, &i->comment, &i->qos,
		&i->depends, &i->remark, &i->mail_user, &i->requeue_on };

	return texts[n];
}

void job_free(struct jobs *jobs, struct job *job)
{
	size_t t;

	for (t = 0; t < TEXTS; t++)
		strings_drop(jobs->strings, *job_text(&job->info, t));
	requests_drop(jobs->requests, job->info.gpus);
	labels_drop(jobs->labels, job->info.labels);
	free(job);
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

struct job *jobs_find(const struct jobs *jobs, uint64_t id)
{
	return idmap_find(jobs->map, id);
}

struct job *jobs_next(const struct jobs *jobs, uint64_t after)
{
	return idmap_next(jobs->map, after);
}

size_t jobs_count(const struct jobs *jobs)
{
	return idmap_count(jobs->map);
}

size_t jobs_count_in(const struct jobs *jobs, enum job_state state)
{
	return jobs->in_state[state];
}

size_t jobs_bytes(const struct jobs *jobs)
{
	return idmap_bytes(jobs->map) + jobs_count(jobs) * sizeof(struct job);
}

/* --- movers ---------------------------------------------------------------------------------- */

struct job *jobs_add(struct jobs *jobs, const struct job_info *info)
{
	struct job *job = job_blank();
	size_t t;

	job->info = *info;
	job->info.state = JOB_PENDING;
	for (t = 0; t < TEXTS; t++) {
		const char **text = job_text(&job->info, t);

		*text = strings_keep(jobs->strings, *text ? *text : "");
	}
	idmap_add(jobs->map, info->id, job);
	count_in(jobs, job);
	dirty_put(jobs->dirty, &job->mark);
	return job;
}

void job_move(struct jobs *jobs, struct job *job, enum job_state state)
{
	assert(job_state_may(job->info.state, state));
	jobs->in_state[job->info.state]--;
	jobs->in_state[state]++;
	count(job, -1);
	job->info.state = (uint8_t)state;
	count(job, 1);
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
	count_out(jobs, job);
	strings_set(jobs->strings, &job->info.partition, asked->partition);
	strings_set(jobs->strings, &job->info.account, asked->account);
	requests_drop(jobs->requests, job->info.gpus);
	job->info.gpus = asked->gpus;
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
	dirty_put(jobs->dirty, &job->mark);
}

void job_cut_limit(struct jobs *jobs, struct job *job, uint32_t time_limit_s)
{
	job->info.time_limit_s = time_limit_s;
	job->info.limit_cut = true;
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
		dirty_put(jobs->dirty, &job->mark);
}

void job_set_begin(struct jobs *jobs, struct job *job, usec_t begin_time)
{
	if (job->info.begin_time == begin_time)
		return;
	job->info.begin_time = begin_time;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_wishes(struct jobs *jobs, struct job *job, const struct job_info *wished)
{
	struct job_info *i = &job->info;

	strings_set(jobs->strings, &i->remark, wished->remark);
	strings_set(jobs->strings, &i->mail_user, wished->mail_user);
	strings_set(jobs->strings, &i->requeue_on, wished->requeue_on);
	i->mail_types = wished->mail_types;
	i->requeue_delay_s = wished->requeue_delay_s;
	dirty_put(jobs->dirty, &job->mark);
}

void job_set_comment(struct jobs *jobs, struct job *job, const char *comment)
{
	if (strings_set(jobs->strings, &job->info.comment, comment))
		dirty_put(jobs->dirty, &job->mark);
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
	i->limit_cut = false;
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

void jobs_retire(struct jobs *jobs, struct job *job)
{
	assert(job_state_ended(job->info.state));
	assert(!job->link.runs && !job->link.class && !job->link.depends && !job->link.awaited);
	jobs->in_state[job->info.state]--;
	idmap_remove(jobs->map, job->info.id);
	nonces_job_gone(jobs->nonces, job->info.nonce);
	dirty_gone(jobs->dirty, &job->mark);
}
