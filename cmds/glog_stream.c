/* glog_stream.c - the output of a job's run through a stream, which is opened again where it broke
 *
 * A process of the job's owner on the job's node reads the file (noded/stream/gtap.c) and sends it
 * through an encrypted stream. While glog follows the file, the controller reports the job's
 * changes: its start (before it there is nothing to follow), another attempt, or its end, after
 * which glog reads the rest and stops.
 *
 * A stream that breaks is opened again at the next byte, as long as the run's node knows the run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/api/encrypted_stream.h"
#include "cmds/api/reassemble.h"
#include "cmds/glog.h"

/* --- what becomes of it ----------------------------------------------------------------------- */

static uint64_t ask_to_watch(const struct glog *g, struct dial *d, struct error *err)
{
	Gpusched__WatchJobs watch = GPUSCHED__WATCH_JOBS__INIT;
	Gpusched__JobFilter filter;

	glog_fill_filter(g, &filter);
	watch.filter = &filter;
	return dial_send(d, GPUSCHED__MSG_TYPE__MSG_WATCH_JOBS, &watch.base, err);
}

/* A frame that is not the stream's. */
static int take_watch(struct glog *g, const struct frame *f, uint64_t watch, struct error *err)
{
	struct reassembly jobs = { GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, glog_take_listed, g, NULL };
	ProtobufCMessage *m;

	if (!watch || f->id != watch)
		return 0;
	m = msg_unpack(f->type, f->body, f->len, g->arena, err);
	if (!m)
		return -1;
	if (f->type == GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK)
		return reassembly_chunk(m, &jobs, err);
	if (f->type != GPUSCHED__MSG_TYPE__MSG_REPLY)
		return error_set(err, ERR_PROTOCOL, "unexpected answer: %s", msg_name(f->type));
	if (dial_reply_error((const Gpusched__Reply *)m, err) < 0)
		return -1;
	return error_set(err, ERR_PROTOCOL, "the controller has ended a watch");
}

/* Until it has started, or ended without. */
static int wait_for_start(struct glog *g, struct dial *d, struct error *err)
{
	uint64_t watch = ask_to_watch(g, d, err);
	struct frame f;
	char name[64];

	if (!watch)
		return -1;
	if (!g->told && strcmp(g->state, "PENDING") == 0) {
		g->told = true;
		fprintf(stderr, "%s: job %s is PENDING: waiting for its start\n", glog_cmd.name,
		        glog_label(g, name));
	}
	while (g->waits)
		if (dial_recv(d, &f, -1, err) < 0 || take_watch(g, &f, watch, err) < 0)
			return -1;
	return 0;
}

/* --- the stream ------------------------------------------------------------------------------- */

static int ask_for_log(struct glog *g, struct stream *s, struct error *err)
{
	struct channel_log log = {
		.error = g->error,
		.follow = g->follow && !g->ended,
		.lines = g->lines,
		.at = g->at,
		.had = g->had,
	};
	uint8_t b[CHANNEL_LOG_LEN];
	char name[64];

	if (g->shown && g->shown != g->run.attempt)
		fprintf(stderr, "%s: job %s is run again: attempt %" PRIu32 ", on %s\n",
		        glog_cmd.name, glog_label(g, name), g->run.attempt, g->on);
	g->shown = g->run.attempt;
	channel_put_log(b, &log);
	return stream_send(s, CHANNEL_LOG, b, sizeof(b), err);
}

/* 1: that was all. */
static int show_message(struct glog *g, const struct channel_message *m, struct error *err)
{
	struct error why;

	switch (m->kind) {
	case CHANNEL_AT:
		client_worked(g->client);
		return channel_get_at(m, &g->at, err);
	case CHANNEL_OUT:
		g->at += m->len;
		if (fwrite(m->data, 1, m->len, stdout) != m->len)
			return error_set(err, ERR_SYSTEM, "the output cannot be written");
		return 0;
	default:
		if (channel_get_end(m, &why, err) < 0)
			return -1;
		if (why.code == ERR_NONE)
			return 1;
		*err = why;
		return -1;
	}
}

/* What has come. 1: that was all. */
static int show_output(struct glog *g, struct stream *s, struct error *err)
{
	struct channel_message m;
	int r;

	while ((r = stream_next(s, &m, err)) > 0) {
		r = show_message(g, &m, err);
		if (r != 0)
			return r;
	}
	fflush(stdout);
	return r;
}

/* The output of this run is complete. */
static bool is_over(const struct glog *g)
{
	return g->ended || g->waits || g->attempt != g->run.attempt;
}

/* Until the end of the log, and of the run if it is followed. */
static int copy(struct glog *g, struct dial *d, struct stream *s, struct error *err)
{
	uint64_t watch = 0;
	bool asked = false, finished = false;
	struct frame f;
	int r;

	if (g->follow && !g->ended && !(watch = ask_to_watch(g, d, err)))
		return -1;
	for (;;) {
		r = dial_recv(d, &f, -1, err);
		if (r > 0)
			r = stream_take(s, &f, err);
		if (r == 0)
			r = take_watch(g, &f, watch, err);
		if (r < 0)
			return -1;
		r = show_output(g, s, err);
		if (r != 0)
			return r < 0 ? -1 : 0;
		if (!asked && stream_is_open(s)) {
			asked = true;
			if (ask_for_log(g, s, err) < 0)
				return -1;
		}
		if (asked && watch && is_over(g) && !finished && stream_has_room(s)) {
			finished = true;
			if (stream_send(s, CHANNEL_FINISH, NULL, 0, err) < 0)
				return -1;
		}
	}
}

int glog_show_run(struct glog *g, struct error *err)
{
	struct stream *s;
	struct stream_to to;
	struct dial *d;
	int rc;

	if (glog_find_run(g, err) < 0 || !(d = client_dial(g->client, err)))
		return -1;
	if (g->follow && g->waits)
		return wait_for_start(g, d, err) < 0 ? -1 : 1;
	to = (struct stream_to){ g->run, g->on };
	s = stream_open(g->client, d, &to, err);
	if (!s)
		return -1;
	rc = copy(g, d, s, err);
	stream_free(s);
	if (rc < 0)
		return -1;
	return g->follow && (!g->ended || g->attempt != g->run.attempt);
}

bool glog_pause_after(struct glog *g, const struct error *why)
{
	struct error passing = *why;

	if (g->at == CHANNEL_LOG_NEW && !g->told)
		return false;
	if (why->code == ERR_NODE_STATE) /* its agent is not connected yet */
		passing.code = ERR_UNREACHABLE;
	if (!getenv(CLIENT_RETRY_VARIABLE))
		client_set_retry(g->client, g->follow && !g->ended ? -1 : CLIENT_RETRY_MS);
	return client_pause(g->client, &passing);
}
