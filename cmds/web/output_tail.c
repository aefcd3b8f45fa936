/* output_tail.c - see output_tail.h */
#include "cmds/web/output_tail.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/api/encrypted_stream.h"
#include "cmds/cli/job_ids.h"
#include "cmds/web/auth/ask_as_user.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"

void tail_clear(struct tail *t)
{
	free(t->node);
	for (size_t i = 0; i < TAIL_FILES; i++) {
		free(t->files[i].path);
		strbuf_free(&t->files[i].text);
	}
	*t = (struct tail){ .node = NULL };
}

/* --- how many at a time ----------------------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	uid_t of[TAIL_AT_ONCE];
	size_t n;
} readers = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int begin(uid_t viewer, struct error *err)
{
	bool own = false;
	int rc = 0;

	pthread_mutex_lock(&readers.lock);
	for (size_t i = 0; i < readers.n; i++)
		own |= readers.of[i] == viewer;
	if (own)
		rc = error_set(err, ERR_BUSY, "another output is being read for you");
	else if (readers.n == TAIL_AT_ONCE)
		rc = error_set(err, ERR_BUSY, "outputs are being read for others: try again");
	else
		readers.of[readers.n++] = viewer;
	pthread_mutex_unlock(&readers.lock);
	return rc;
}

static void finish(uid_t viewer)
{
	size_t i = 0;

	pthread_mutex_lock(&readers.lock);
	while (readers.of[i] != viewer)
		i++;
	readers.of[i] = readers.of[--readers.n];
	pthread_mutex_unlock(&readers.lock);
}

/* --- which run -------------------------------------------------------------------------------- */

struct found {
	const struct tail_ask *ask;
	struct tail *out;
	unsigned n; /* records of that name */
	char state[32];
	bool agreed; /* the owner */
	struct run_id run;
};

static void forget_job(void *arg)
{
	struct found *f = arg;

	f->n = 0;
	tail_clear(f->out);
}

static void keep_path(struct tail_file *file, bool wanted, const char *path)
{
	file->asked = wanted;
	file->path = xstrdup(path);
}

/* The output of a job on several nodes is that of its first. */
static void keep_job(struct found *f, const Gpusched__Job *job)
{
	const struct tail_ask *ask = f->ask;
	bool apart = *job->error && strcmp(job->error, job->output) != 0;

	snprintf(f->state, sizeof(f->state), "%s", job->state);
	f->agreed = job->show_output;
	for (size_t i = 0; i < job->n_runs; i++)
		if (job->runs[i]->rank == 0 && !f->out->node)
			f->out->node = xstrdup(job->runs[i]->node);
	f->run = (struct run_id){ .job = job->id,
		.task = *job->tasks ? (uint32_t)strtoul(job->tasks, NULL, 10) : 0,
		.attempt = job->attempt };
	f->out->attempt = job->attempt;
	keep_path(&f->out->files[TAIL_STDOUT], ask->wanted[TAIL_STDOUT], job->output);
	keep_path(&f->out->files[TAIL_STDERR], ask->wanted[TAIL_STDERR] && apart, job->error);
}

static int on_jobs(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__JobChunk *chunk = (const Gpusched__JobChunk *)m;
	struct found *f = arg;

	for (size_t i = 0; i < chunk->n_jobs; i++) {
		if (chunk->jobs[i]->uid != f->ask->viewer)
			return error_set(err, ERR_NOT_PERMITTED, "it is shown to its owner alone");
		if (f->n++ == 0 && !chunk->jobs[i]->several)
			keep_job(f, chunk->jobs[i]);
		else
			f->n = 2;
	}
	return 0;
}

static int find_run(struct client *c, struct found *f, struct error *err)
{
	const struct tail_ask *ask = f->ask;
	Gpusched__ListJobs list = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	struct client_call call = { CLIENT_CALL(LIST_JOBS, &list.base, JOB_CHUNK, on_jobs, f),
		.timeout_ms = TAIL_MS };
	struct cmd_ids ids = { 0 };
	int rc = cmd_ids_add(&ids, ask->name, err);

	filter.ids = ids.whole;
	filter.n_ids = ids.n_whole;
	filter.tasks = ids.some;
	filter.n_tasks = ids.n_some;
	filter.include_ended = true;
	list.filter = &filter;
	list.with_runs = true;
	if (rc == 0)
		rc = ask_as(c, ask->viewer, &call, forget_job, err);
	cmd_ids_clear(&ids);
	if (rc < 0 && err->code == ERR_NO_JOB)
		return error_set(err, ERR_NO_JOB,
		        "the controller does not know (any more) where job %.40s ran", ask->name);
	if (rc < 0)
		return -1;
	if (f->n > 1)
		return error_set(err, ERR_JOB_STATE, "each of its tasks has an output of its own");
	if (!f->out->node)
		return error_set(err, ERR_JOB_STATE,
		        f->out->attempt ? "it is %s and waits to start again: glog has what it wrote"
		                        : "it is %s and has not started",
		        f->state);
	return 0;
}

/* --- one file --------------------------------------------------------------------------------- */

struct reading {
	struct client *client;
	struct dial *dial;
	const struct tail_ask *ask;
	struct tail_file *file;
	int64_t until; /* us, mono */
	bool error, asked, over;
};

static int ask_for_end(struct reading *r, struct stream *s, struct error *err)
{
	struct channel_tail tail = {
		.error = r->error, .lines = r->ask->lines, .owner = r->ask->viewer
	};
	uint8_t b[CHANNEL_TAIL_LEN];

	r->asked = true;
	channel_put_tail(b, &tail);
	return stream_send(s, CHANNEL_TAIL, b, sizeof(b), err);
}

static int take_message(struct reading *r, const struct channel_message *m, struct error *err)
{
	struct strbuf *text = &r->file->text;
	struct error why;

	if (m->kind == CHANNEL_AT)
		return channel_get_at(m, &r->file->at, err);
	if (m->kind == CHANNEL_OUT) {
		if (m->len > TAIL_BYTES - text->len)
			return error_set(err, ERR_PROTOCOL, "the node sends too much");
		strbuf_add(text, m->data, m->len);
		return 0;
	}
	r->over = true;
	if (channel_get_end(m, &why, err) < 0)
		return -1;
	if (why.code == ERR_NONE)
		return 0;
	*err = why;
	return -1;
}

static int take_frame(struct reading *r, struct stream *s, struct error *err)
{
	int64_t left = (r->until - clock_us(CLOCK_MONOTONIC)) / 1000;
	struct channel_message m;
	struct frame f;
	int n = left > 0 ? dial_recv(r->dial, &f, (int)left, err) : 0;

	if (n == 0)
		return error_set(err, ERR_TIMEOUT, "no answer in %d s", TAIL_MS / 1000);
	if (n < 0 || stream_take(s, &f, err) < 0)
		return -1;
	while (!r->over && (n = stream_next(s, &m, err)) > 0)
		if (take_message(r, &m, err) < 0)
			return -1;
	if (n < 0 && !r->over)
		return -1;
	return !r->asked && stream_is_open(s) ? ask_for_end(r, s, err) : 0;
}

static void read_file(struct reading *r, const struct stream_to *to)
{
	struct error *err = &r->file->error;
	struct stream *s = stream_open(r->client, r->dial, to, err);
	int rc = s ? 0 : -1;

	r->over = r->asked = false;
	while (rc == 0 && !r->over)
		rc = take_frame(r, s, err);
	if (rc == 0)
		err->code = ERR_NONE;
	else
		strbuf_free(&r->file->text);
	/* Nothing is wrong with gweb or with the visitor's login. */
	if (rc < 0 && (err->code == ERR_SYSTEM || err->code == ERR_AUTH))
		err->code = ERR_JOB_STATE;
	stream_free(s);
}

/* --- all -------------------------------------------------------------------------------------- */

static void read_files(struct reading *r, const struct found *f, struct tail *out)
{
	const struct stream_to to = { f->run, out->node };

	for (int i = 0; i < TAIL_FILES; i++) {
		r->file = &out->files[i];
		r->error = i == TAIL_STDERR;
		if (r->file->asked && f->agreed)
			read_file(r, &to);
		else if (r->file->asked)
			error_set(&r->file->error, ERR_NOT_PERMITTED,
			        "its owner has not agreed that it is shown (gsubmit --show-output)");
	}
}

static int read_all(struct client *c, const struct tail_ask *ask, struct tail *out,
        struct error *err)
{
	struct found f = { .ask = ask, .out = out };
	struct reading r = { .client = c, .ask = ask };

	if (find_run(c, &f, err) < 0 || !(r.dial = client_dial(c, err)))
		return -1;
	r.until = clock_us(CLOCK_MONOTONIC) + TAIL_MS * 1000;
	read_files(&r, &f, out);
	if (f.agreed)
		client_drop(c); /* what else comes of a stream is no answer to another request */
	return 0;
}

int tail_read(struct client *c, const struct tail_ask *ask, struct tail *out, struct error *err)
{
	int rc;

	*out = (struct tail){ .node = NULL };
	if (begin(ask->viewer, err) < 0)
		return -1;
	rc = read_all(c, ask, out, err);
	finish(ask->viewer);
	return rc;
}
