/* runlink.c - see runlink.h */
#include "cmds/run/runlink.h"
#include "common/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/gpusched.pb-c.h"
#include "common/net/msg.h"

#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 2000
#define REST_MS      10000 /* after the job's end, for a stream with the rest of its output */

void runlink_begin(struct runlink *l, struct client *c, struct runio *io, uint64_t job)
{
	*l = (struct runlink){ .client = c, .io = io, .job = job, .retry_ms = -1, .lost_ms = -1 };
	l->arena = arena_new(MSG_BODY_MAX);
}

void runlink_clear(struct runlink *l)
{
	runio_use(l->io, NULL);
	arena_free(l->arena);
}

/* --- breaks ----------------------------------------------------------------------------------- */

static void note_lost(struct runlink *l, const struct error *why)
{
	int64_t now = clock_ms(CLOCK_MONOTONIC);

	if (l->lost_ms < 0) {
		l->lost_ms = now;
		l->pause_ms = PAUSE_MIN_MS;
	}
	l->next_ms = now + l->pause_ms;
	l->pause_ms = l->pause_ms * 2 < PAUSE_MAX_MS ? l->pause_ms * 2 : PAUSE_MAX_MS;
	l->lost = *why;
}

void runlink_stream_lost(struct runlink *l, const struct error *why)
{
	runio_use(l->io, NULL);
	note_lost(l, why);
}

static void lose(struct runlink *l, const struct error *why)
{
	runio_use(l->io, NULL);
	client_drop(l->client);
	l->dial = NULL;
	l->wait_id = l->why_id = 0;
	note_lost(l, why);
}

static bool is_too_long(const struct runlink *l)
{
	return l->lost_ms >= 0 && l->retry_ms >= 0 &&
	       clock_ms(CLOCK_MONOTONIC) - l->lost_ms > l->retry_ms;
}

/* --- asking ----------------------------------------------------------------------------------- */

static int ask_wait(struct runlink *l, struct error *err)
{
	Gpusched__WaitJobs wait = GPUSCHED__WAIT_JOBS__INIT;

	wait.n_ids = 1;
	wait.ids = &l->job;
	wait.until_started = !l->started;
	l->wait_id = dial_send(l->dial, GPUSCHED__MSG_TYPE__MSG_WAIT_JOBS, &wait.base, err);
	return l->wait_id ? 0 : -1;
}

static void filter_job(Gpusched__JobFilter *f, uint64_t *job)
{
	gpusched__job_filter__init(f);
	f->n_ids = 1;
	f->ids = job;
	f->include_ended = true;
}

int runlink_ask_why(struct runlink *l, struct error *err)
{
	Gpusched__ListJobs list = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter filter;

	if (!l->dial)
		return 0;
	filter_job(&filter, &l->job);
	list.filter = &filter;
	l->why_id = dial_send(l->dial, GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &list.base, err);
	return l->why_id ? 0 : -1;
}

static int ask_cancel(struct runlink *l, struct error *err)
{
	Gpusched__JobControl control = GPUSCHED__JOB_CONTROL__INIT;
	Gpusched__JobFilter filter;

	filter_job(&filter, &l->job);
	control.verb = GPUSCHED__JOB_CONTROL__VERB__CANCEL;
	control.filter = &filter;
	l->cancel = false;
	return dial_send(l->dial, GPUSCHED__MSG_TYPE__MSG_JOB_CONTROL, &control.base, err) ? 0 : -1;
}

static int open_stream(struct runlink *l, struct error *err)
{
	struct stream_to to = { l->run, l->node };
	struct stream *s = stream_open(l->client, l->dial, &to, err);

	if (!s)
		return -1;
	runio_use(l->io, s);
	return 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void take_job(struct runlink *l, const Gpusched__Job *job)
{
	static const char *const waiting[] = { "PENDING", "CONFIGURING" };
	static const char *const running[] = { "RUNNING", "SUSPENDED", "COMPLETING" };

	snprintf(l->state, sizeof(l->state), "%s", job->state);
	snprintf(l->text, sizeof(l->text), "%s",
	        *job->reason_text ? job->reason_text : job->comment);
	l->refused = text_among(job->state, waiting, sizeof(waiting) / sizeof(waiting[0]));
	if (l->refused) {
		if (*job->comment)
			snprintf(l->text, sizeof(l->text), "%s", job->comment);
		return;
	}
	l->ended = !text_among(job->state, running, sizeof(running) / sizeof(running[0]));
	l->start_time = job->start_time;
	l->started = job->start_time != 0;
	l->exit_code = job->exit_code;
	l->exit_signal = job->exit_signal;
	l->run = (struct run_id){ .job = job->id, .attempt = job->attempt };
	snprintf(l->node, sizeof(l->node), "%s", job->node);
}

static void take_why(struct runlink *l, const Gpusched__Job *job)
{
	l->has_why = !strcmp(job->state, "PENDING");
	snprintf(l->why, sizeof(l->why), "%s%s%s", job->reason,
	        *job->reason && *job->reason_text ? ": " : "", job->reason_text);
}

static int take_reply(struct runlink *l, const Gpusched__Reply *r, struct error *err)
{
	if (dial_reply_error(r, err) < 0)
		return -1;
	l->wait_id = 0;
	return 0;
}

/* -1: refused for good. */
static int take_frame(struct runlink *l, const struct frame *f, struct error *err)
{
	ProtobufCMessage *m;
	const Gpusched__JobChunk *chunk;

	if ((f->id != l->wait_id && f->id != l->why_id) || !f->id)
		return 0;
	m = msg_unpack(f->type, f->body, f->len, l->arena, err);
	if (!m)
		return -1;
	if (f->type == GPUSCHED__MSG_TYPE__MSG_REPLY)
		return f->id == l->wait_id ? take_reply(l, (const Gpusched__Reply *)m, err) : 0;
	chunk = (const Gpusched__JobChunk *)m;
	if (f->type != GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK || chunk->n_jobs != 1)
		return 0;
	if (f->id == l->wait_id)
		take_job(l, chunk->jobs[0]);
	else
		take_why(l, chunk->jobs[0]);
	return 0;
}

/* What has come: the stream's, or ours. -1: for good. */
static int receive(struct runlink *l, struct error *err)
{
	struct error why;
	struct frame f;
	int r;

	while (l->dial && (r = dial_recv(l->dial, &f, 0, &why)) != 0) {
		if (r < 0) {
			lose(l, &why);
			return dial_may_retry(&why) ? 0 : (*err = why, -1);
		}
		r = l->io->stream ? stream_take(l->io->stream, &f, &why) : 0;
		if (r < 0)
			runlink_stream_lost(l, &why);
		else if (r == 0 && take_frame(l, &f, err) < 0)
			return -1;
	}
	return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool wants_stream(const struct runlink *l)
{
	return l->started && !l->io->stream && !l->io->over && !l->no_more &&
	       !(l->ended && l->lost_ms >= 0 && clock_ms(CLOCK_MONOTONIC) - l->lost_ms > REST_MS);
}

bool runlink_is_done(const struct runlink *l)
{
	return l->ended && (!l->started || l->io->over || (!l->io->stream && !wants_stream(l)));
}

static int connect_again(struct runlink *l, struct error *err)
{
	struct error why;

	client_set_retry(l->client, 0);
	l->dial = client_dial(l->client, &why);
	if (l->dial)
		return 0;
	note_lost(l, &why);
	if (dial_may_retry(&why) && !is_too_long(l))
		return 0;
	*err = why;
	return -1;
}

/* What is to be known and is not being asked for. */
static int send_requests(struct runlink *l, struct error *err)
{
	if (!l->wait_id && !l->ended && !l->refused && ask_wait(l, err) < 0)
		return -1;
	if (l->cancel && ask_cancel(l, err) < 0)
		return -1;
	return wants_stream(l) && clock_ms(CLOCK_MONOTONIC) >= l->next_ms ? open_stream(l, err) : 0;
}

int runlink_step(struct runlink *l, struct error *err)
{
	struct error why;

	if (!l->dial && clock_ms(CLOCK_MONOTONIC) >= l->next_ms && connect_again(l, err) < 0)
		return -1;
	if (!l->dial)
		return 0;
	if (send_requests(l, &why) < 0)
		lose(l, &why);
	if (receive(l, err) < 0)
		return -1;
	if (l->dial && (l->io->attached || !l->started))
		l->lost_ms = -1;
	return 0;
}

int runlink_timeout(const struct runlink *l)
{
	int64_t left = l->next_ms - clock_ms(CLOCK_MONOTONIC);

	if (l->dial && !wants_stream(l))
		return -1;
	return left < 0 ? 0 : (int)left;
}

struct pollfd runlink_poll(const struct runlink *l)
{
	struct pollfd p = { .fd = -1 };

	if (l->dial) {
		p.fd = dial_fd(l->dial);
		p.events = (short)(POLLIN | (dial_is_sending(l->dial) ? POLLOUT : 0));
	}
	return p;
}
