/* events.c - see events.h
 *
 * A channel is a filter, with a viewer that stands for all viewers that see the same. It keeps the
 * events of the newest snapshots, one text a snapshot, counted. A stream has the serial of the last
 * snapshot of which it was told.
 *
 * All texts together have EVENTS_BYTES. A text that a channel keeps is charged to the users of its
 * streams, each a part, and one that only slow streams still take, to these. If there is no room
 * for a text, texts of the user with most bytes are dropped: the newest texts last, texts that only
 * this user watches before shared ones, and then the oldest first. So a user that watches much, or
 * reads nothing, gets the space that the others leave.
 */
#include "cmds/web/rest/events.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "cmds/web/rest/rest.h"
#include "cmds/web/rest/rest_query.h"
#include "cmds/web/snapshot.h"
#include "cmds/web/viewer.h"
#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "common/net/msgjson.h"

#define KEPT 16 /* events of a channel */

/* What one snapshot has changed, for a channel. */
struct event {
	struct strbuf text;
	unsigned refs;
	bool kept;              /* by its channel, which is one of the references */
	struct events *counted; /* in its bytes; NULL: not */
};

/* A user with streams; all that prove none are one. */
struct user {
	LIST_ENTRY(user) next;
	bool known;
	uid_t uid;
	unsigned refs;            /* streams, and channels that it has begun */
	unsigned channels;        /* that it has begun */
	size_t bytes;             /* its part of all texts, as weigh() found */
	const struct channel *at; /* while the users of a channel are gone through */
};

struct channel {
	LIST_ENTRY(channel) next;
	struct events *events;
	char *key; /* of the filter */
	struct rest_query query;
	struct viewer *viewer;
	struct user *begun_by;
	LIST_HEAD(, stream) streams;
	unsigned users;           /* of its streams */
	struct event *made[KEPT]; /* at serial % KEPT */
	uint64_t serials[KEPT];
};

struct events {
	LIST_HEAD(, channel) channels;
	LIST_HEAD(, user) users;
	unsigned n;
	size_t bytes; /* of events, also of those that are only being sent */
};

struct stream {
	struct http_stream http; /* first: it is one */
	LIST_ENTRY(stream) next; /* of its channel */
	struct channel *channel;
	struct user *user;
	uint64_t serial; /* of the last snapshot it was told of; 0: none yet */
	uint64_t since;  /* the cursor with which it came */
	bool resumes, greeted;
	bool broken;         /* what it was taking made room */
	struct event *event; /* that is being sent, from `at` on; NULL: none */
	size_t at;
};

struct events *events_new(void)
{
	return xcalloc(1, sizeof(struct events));
}

void events_free(struct events *e)
{
	free(e);
}

/* --- events ----------------------------------------------------------------------------------- */

static void event_put(struct event *e)
{
	if (!e || --e->refs)
		return;
	if (e->counted)
		e->counted->bytes -= e->text.cap;
	strbuf_free(&e->text);
	free(e);
}

static struct event *event_new(void)
{
	struct event *e = xcalloc(1, sizeof(*e));

	e->refs = 1;
	return e;
}

static void head(struct event *e, const char *kind, const struct snapshot *snap, uint64_t cursor)
{
	strbuf_addf(&e->text, "id: %llu\nevent: %s\ndata: {\"version\":1,\"cluster\":",
	        (unsigned long long)cursor, kind);
	rest_text(&e->text, snap->cluster);
	strbuf_addf(&e->text, ",\"cursor\":%llu", (unsigned long long)cursor);
}

static void tail(struct event *e)
{
	strbuf_adds(&e->text, "}\n\n");
}

/* An event without content: only its name counts. */
static struct event *plain(const char *kind, const struct snapshot *snap)
{
	struct event *e = event_new();

	head(e, kind, snap, snap->cursor);
	tail(e);
	return e;
}

/* Calls `each` with each record that has changed and is of the channel; returns how many. */
static size_t each_job(const struct channel *ch, const struct snapshot *snap,
        const struct snapshot_delta *d, void (*each)(const struct snapshot_job *job, void *arg),
        void *arg)
{
	size_t found = 0;

	for (size_t i = 0; i < d->n_jobs; i++) {
		size_t n;
		struct snapshot_job **v = snapshot_keyed(snap, d->jobs[i], &n);

		for (size_t k = 0; k < n; k++) {
			if (!viewer_sees(ch->viewer, v[k]->request->uid, v[k]->request->account) ||
			        !rest_query_has(&ch->query, v[k]))
				continue;
			found++;
			if (each)
				each(v[k], arg);
		}
	}
	return found;
}

/* Only the number of a removed record is known, so it is sent only to viewers that may see all
 * jobs. */
static size_t each_gone(const struct channel *ch, const struct snapshot *snap,
        const struct snapshot_delta *d, struct strbuf *out)
{
	size_t found = 0, n;

	for (size_t i = 0; i < d->n_jobs && viewer_sees_all(ch->viewer); i++)
		if (!snapshot_keyed(snap, d->jobs[i], &n)) {
			if (out)
				strbuf_addf(out, "%s%llu", found ? "," : "",
				        (unsigned long long)d->jobs[i].raw_id);
			found++;
		}
	return found;
}

struct jobs_out {
	struct strbuf *text;
	const struct snapshot *snap;
	bool any;
};

static void put_job(const struct snapshot_job *job, void *arg)
{
	struct jobs_out *out = arg;
	Gpusched__Job *m = snapshot_job_unpack(out->snap, job);
	json_t *item;

	if (!m)
		return;
	item = msgjson(&m->base, 0);
	strbuf_adds(out->text, out->any ? "," : "");
	rest_json(out->text, item);
	json_decref(item);
	gpusched__job__free_unpacked(m, NULL);
	out->any = true;
}

static void put_jobs(struct event *e, const struct channel *ch, const struct snapshot *snap,
        const struct snapshot_delta *d)
{
	struct jobs_out out = { &e->text, snap, false };

	head(e, "jobs", snap, d->cursor);
	strbuf_adds(&e->text, ",\"jobs\":[");
	each_job(ch, snap, d, put_job, &out);
	strbuf_adds(&e->text, "],\"gone\":[");
	each_gone(ch, snap, d, &e->text);
	strbuf_adds(&e->text, d->more ? "],\"more\":true" : "]");
	tail(e);
}

static void put_lists(struct event *e, const struct snapshot *snap, const struct snapshot_delta *d)
{
	static const char *const names[LIST_COUNT] = {
		[LIST_NODES] = "nodes",
		[LIST_PARTITIONS] = "partitions",
		[LIST_SHARES] = "shares",
		[LIST_SERVICES] = "services",
		[LIST_STATS] = "stats",
	};
	size_t n = 0;

	if (!d->lists)
		return;
	head(e, "changed", snap, d->cursor);
	strbuf_adds(&e->text, ",\"lists\":[");
	for (size_t i = 0; i < LIST_COUNT; i++)
		if (d->lists & 1U << i)
			strbuf_addf(&e->text, "%s\"%s\"", n++ ? "," : "", names[i]);
	strbuf_adds(&e->text, "]");
	tail(e);
}

/* What a delta has changed for a channel; its text may be "". */
static struct event *make_event(
        struct channel *ch, const struct snapshot *snap, const struct snapshot_delta *d)
{
	struct event *e = event_new();
	size_t n = 0, gone = 0;

	if (!d->fresh) {
		n = each_job(ch, snap, d, NULL, NULL);
		gone = each_gone(ch, snap, d, NULL);
	}
	if (d->fresh || n > EVENT_MAX || gone > EVENT_MAX) {
		head(e, "fresh", snap, d->cursor);
		tail(e);
	} else if (n || gone || d->more) {
		put_jobs(e, ch, snap, d);
	}
	put_lists(e, snap, d);
	return e;
}

/* --- room for events -------------------------------------------------------------------------- */

/* The first stream of each of the channel's users, one after the other: begin with NULL. */
static struct stream *next_user(struct channel *ch, struct stream *s)
{
	if (!s)
		LIST_FOREACH (s, &ch->streams, next)
			s->user->at = NULL;
	s = s ? LIST_NEXT(s, next) : LIST_FIRST(&ch->streams);
	while (s && s->user->at == ch)
		s = LIST_NEXT(s, next);
	if (s)
		s->user->at = ch;
	return s;
}

static bool has_user(const struct channel *ch, const struct user *u)
{
	const struct stream *s;

	LIST_FOREACH (s, &ch->streams, next)
		if (s->user == u)
			return true;
	return false;
}

/* Does the stream take a text that its channel no longer keeps? */
static bool holds(const struct stream *s)
{
	return s->event && s->event->counted && !s->event->kept;
}

/* The part of each user, with a text of `more` bytes that is to be kept by `for_channel`; returns
 * the user with most. */
static struct user *weigh(struct events *all, const struct channel *for_channel, size_t more)
{
	struct user *u, *most = NULL;
	struct channel *ch;
	struct stream *s;

	LIST_FOREACH (u, &all->users, next)
		u->bytes = 0;
	LIST_FOREACH (ch, &all->channels, next) {
		size_t bytes = ch == for_channel ? more : 0;

		for (size_t i = 0; i < KEPT; i++)
			bytes += ch->made[i] && ch->made[i]->counted ? ch->made[i]->text.cap : 0;
		for (s = NULL; (s = next_user(ch, s));)
			s->user->bytes += bytes / ch->users;
		LIST_FOREACH (s, &ch->streams, next)
			s->user->bytes += holds(s) ? s->event->text.cap / s->event->refs : 0;
	}
	LIST_FOREACH (u, &all->users, next)
		if (!most || u->bytes > most->bytes)
			most = u;
	return most;
}

/* A text that could go: of a channel, or that a stream holds. */
struct victim {
	bool newest; /* of the newest snapshot: it is what most streams come for */
	unsigned users;
	uint64_t serial;
	struct channel *ch;
	size_t at;
	struct stream *stream;
};

static bool goes_before(const struct victim *a, const struct victim *b)
{
	if (a->newest != b->newest)
		return b->newest;
	return a->users != b->users ? a->users < b->users : a->serial < b->serial;
}

/* The user's first text to go that goes before *v; false: there is none. */
static bool find_victim(const struct events *all, const struct user *u, const struct snapshot *snap,
        struct victim *v)
{
	struct channel *ch;
	struct stream *s;

	LIST_FOREACH (ch, &all->channels, next) {
		if (!has_user(ch, u))
			continue;
		for (size_t i = 0; i < KEPT; i++) {
			struct victim kept = { ch->serials[i] == snap->serial, ch->users,
				ch->serials[i], ch, i, NULL };

			if (ch->made[i] && ch->made[i]->counted && goes_before(&kept, v))
				*v = kept;
		}
		LIST_FOREACH (s, &ch->streams, next) {
			struct victim held = { s->serial == snap->serial, 1, s->serial, NULL, 0,
				s };

			if (s->user == u && holds(s) && goes_before(&held, v))
				*v = held;
		}
	}
	return v->ch || v->stream;
}

/* Streams that come for a text of the newest snapshot are told to ask for everything: it is not
 * made again. */
static void drop(const struct victim *v, const struct snapshot *snap)
{
	struct event *e = v->ch ? v->ch->made[v->at] : v->stream->event;

	if (v->ch) {
		v->ch->made[v->at] = v->newest ? plain("fresh", snap) : NULL;
		e->kept = false;
	} else {
		v->stream->event = NULL;
		v->stream->broken = true;
	}
	event_put(e);
}

/* Room for a text of the channel. If one of its own users has most, only what goes before the text
 * makes room for it. */
static bool make_room(
        struct channel *ch, const struct snapshot *snap, uint64_t serial, size_t bytes)
{
	struct events *all = ch->events;

	while (all->bytes + bytes > EVENTS_BYTES) {
		const struct user *most = weigh(all, ch, bytes);
		struct victim v = { .newest = true, .users = UINT_MAX };

		if (has_user(ch, most))
			v = (struct victim){ serial == snap->serial, ch->users, serial, NULL, 0,
				NULL };
		if (!find_victim(all, most, snap, &v))
			return false;
		drop(&v, snap);
	}
	return true;
}

/* A text without room is dropped: the stream is told to ask for everything. */
static struct event *count_event(struct channel *ch, const struct snapshot *snap,
        const struct snapshot_delta *d, struct event *e)
{
	if (!make_room(ch, snap, d->serial, e->text.cap)) {
		event_put(e);
		return plain("fresh", snap);
	}
	e->kept = true;
	e->counted = ch->events;
	ch->events->bytes += e->text.cap;
	return e;
}

/* No longer kept by its channel. */
static void let_go(struct event *e)
{
	if (e)
		e->kept = false;
	event_put(e);
}

/* The same, made once for all streams of the channel. */
static struct event *event_of(
        struct channel *ch, const struct snapshot *snap, const struct snapshot_delta *d)
{
	size_t slot = d->serial % KEPT;

	if (!ch->made[slot] || ch->serials[slot] != d->serial) {
		let_go(ch->made[slot]);
		ch->made[slot] = NULL;
		ch->made[slot] = count_event(ch, snap, d, make_event(ch, snap, d));
		ch->serials[slot] = d->serial;
	}
	ch->made[slot]->refs++;
	return ch->made[slot];
}

/* --- channels --------------------------------------------------------------------------------- */

static struct user *user_get(struct events *all, const struct viewer *v)
{
	struct user *u;

	LIST_FOREACH (u, &all->users, next)
		if (u->known == v->known && (!v->known || u->uid == v->uid))
			break;
	if (!u) {
		u = xcalloc(1, sizeof(*u));
		u->known = v->known;
		u->uid = v->uid;
		LIST_INSERT_HEAD(&all->users, u, next);
	}
	u->refs++;
	return u;
}

static void user_put(struct user *u)
{
	if (--u->refs)
		return;
	LIST_REMOVE(u, next);
	free(u);
}

static void count_users(struct channel *ch)
{
	ch->users = 0;
	for (struct stream *s = NULL; (s = next_user(ch, s));)
		ch->users++;
}

/* Takes the query and the key over. NULL: there are too many, of the user or in all. */
static struct channel *channel_new(
        struct events *all, struct rest_query *q, char *key, const struct viewer *v)
{
	struct user *u = user_get(all, v);
	struct channel *ch;

	if (all->n == EVENTS_CHANNELS || u->channels == EVENTS_CHANNELS_A_USER) {
		user_put(u);
		free(key);
		rest_query_clear(q);
		return NULL;
	}
	ch = xcalloc(1, sizeof(*ch));
	ch->events = all;
	ch->key = key;
	ch->query = *q;
	ch->viewer = viewer_get(v);
	ch->begun_by = u;
	u->channels++;
	LIST_INSERT_HEAD(&all->channels, ch, next);
	all->n++;
	return ch;
}

/* Takes the query over. NULL: there are too many. */
static struct channel *channel_of(struct events *all, struct rest_query *q, const struct viewer *v)
{
	char *key = rest_query_key(q);
	struct channel *ch;

	LIST_FOREACH (ch, &all->channels, next)
		if (!strcmp(ch->key, key) && viewer_same_jobs(ch->viewer, v))
			break;
	if (!ch)
		return channel_new(all, q, key, v);
	free(key);
	rest_query_clear(q);
	return ch;
}

static void join(struct channel *ch, struct stream *s, const struct viewer *v)
{
	s->channel = ch;
	s->user = user_get(ch->events, v);
	LIST_INSERT_HEAD(&ch->streams, s, next);
	count_users(ch);
}

/* The user that began the filter has left it: another user of it takes its place. */
static void charge_filter(struct channel *ch, struct user *u)
{
	u->refs++;
	u->channels++;
	ch->begun_by->channels--;
	user_put(ch->begun_by);
	ch->begun_by = u;
}

static void leave(struct stream *s)
{
	struct channel *ch = s->channel;

	LIST_REMOVE(s, next);
	user_put(s->user);
	count_users(ch);
	if (ch->users) {
		if (!has_user(ch, ch->begun_by))
			charge_filter(ch, LIST_FIRST(&ch->streams)->user);
		return;
	}
	LIST_REMOVE(ch, next);
	ch->events->n--;
	for (size_t i = 0; i < KEPT; i++)
		let_go(ch->made[i]);
	ch->begun_by->channels--;
	user_put(ch->begun_by);
	rest_query_clear(&ch->query);
	viewer_put(ch->viewer);
	free(ch->key);
	free(ch);
}

/* --- streams ---------------------------------------------------------------------------------- */

/* The next delta behind a serial; NULL: there is none. *lost: there was one that is not known
 * now. */
static const struct snapshot_delta *next_delta(
        const struct snapshot *snap, uint64_t serial, bool *lost)
{
	*lost = false;
	if (serial >= snap->serial)
		return NULL;
	for (size_t i = 0; i < snap->n_deltas; i++) {
		if (snap->deltas[i]->serial <= serial)
			continue;
		*lost = snap->deltas[i]->serial != serial + 1;
		return snap->deltas[i];
	}
	*lost = true;
	return NULL;
}

/* The serial up to which a client knows all that has that cursor; false: that is not known. Several
 * snapshots may have one cursor: the first counts, and some is told again. */
static bool find_cursor(const struct snapshot *snap, uint64_t cursor, uint64_t *serial)
{
	for (size_t i = 0; i < snap->n_deltas; i++)
		if (snap->deltas[i]->cursor == cursor) {
			*serial = snap->deltas[i]->serial;
			return true;
		}
	if (cursor != snap->cursor)
		return false;
	*serial = snap->serial;
	return true;
}

static struct event *greet(struct stream *s, const struct snapshot *snap)
{
	s->greeted = true;
	if (s->resumes && find_cursor(snap, s->since, &s->serial))
		return NULL;
	s->serial = snap->serial;
	return plain(s->resumes ? "fresh" : "hello", snap);
}

/* The next event with something to say; NULL: none at present. */
static struct event *next_event(struct stream *s, const struct snapshot *snap)
{
	const struct snapshot_delta *d;
	struct event *e = s->greeted ? NULL : greet(s, snap);
	bool lost;

	while (!e) {
		d = next_delta(snap, s->serial, &lost);
		if (lost) {
			s->serial = snap->serial;
			return plain("fresh", snap);
		}
		if (!d)
			return NULL;
		s->serial = d->serial;
		e = event_of(s->channel, snap, d);
		if (!e->text.len) {
			event_put(e);
			e = NULL;
		}
	}
	return e;
}

static ssize_t read_stream(
        struct http_stream *http, const struct snapshot *snap, bool beat, char *buf, size_t max)
{
	struct stream *s = (struct stream *)http;
	size_t n;

	if (s->broken)
		return -2;
	if (!s->event && http_stream_is_over(http, 0))
		return -1;
	if (http_stream_is_over(http, HTTP_ANSWER_S))
		return -2;
	if (!s->event && snap)
		s->event = next_event(s, snap);
	if (!s->event) {
		if (!beat || max < 3)
			return 0;
		memcpy(buf, ":\n\n", 3);
		return 3;
	}
	n = s->event->text.len - s->at;
	n = n < max ? n : max;
	memcpy(buf, s->event->text.s + s->at, n);
	s->at += n;
	if (s->at == s->event->text.len) {
		event_put(s->event);
		s->event = NULL;
		s->at = 0;
	}
	return (ssize_t)n;
}

static void free_stream(struct http_stream *http)
{
	struct stream *s = (struct stream *)http;

	event_put(s->event);
	leave(s);
	free(s);
}

/* The cursor with which it comes: Last-Event-ID of a client that comes back counts before the
 * query. */
static bool read_cursor(const struct http_request *r, const struct rest_query *q, uint64_t *cursor)
{
	const char *last = http_header(r, "Last-Event-ID");
	char *end;

	*cursor = q->cursor;
	if (!last || !*last)
		return q->given & REST_CURSOR;
	*cursor = strtoull(last, &end, 10);
	return true; /* one that is no number is not known, and gets `fresh` */
}

void rest_watch(const struct http_request *r, struct http_answer *a)
{
	struct rest *rest = r->arg;
	struct rest_query q;
	struct error err;
	struct stream *s;
	struct channel *ch;
	uint64_t since;
	bool resumes;

	if (rest_query_read(r, REST_JOBS | REST_CURSOR, &q, &err) < 0) {
		rest_error(r, a, &err);
		return;
	}
	if (r->snap)
		rest_query_bind(&q, r->snap);
	q.filter.ended = true; /* the end of a job is a change of it */
	resumes = read_cursor(r, &q, &since);
	ch = channel_of(rest->events, &q, r->viewer);
	if (!ch) {
		error_set(&err, ERR_BUSY, "as many filters are watched as there may be");
		rest_error(r, a, &err);
		return;
	}
	s = xcalloc(1, sizeof(*s));
	s->http = (struct http_stream){ .read = read_stream, .free = free_stream };
	http_stream_begin(&s->http);
	join(ch, s, r->viewer);
	s->resumes = resumes;
	s->since = since;
	a->type = "text/event-stream";
	a->cache = "no-store";
	http_answer_header(a, "X-Accel-Buffering", "no");
	a->stream = &s->http;
}
