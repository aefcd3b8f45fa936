/* bridge_process.c - the process with the connection; see bridge.h */
#include "cmds/steps/bridge_impl.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmds/api/client.h"
#include "cmds/api/encrypted_stream.h"
#include "cmds/steps/loop.h"
#include "cmds/steps/resumable_link.h"
#include "common/base/arena.h"
#include "common/base/each.h"
#include "common/base/fd_close.h"
#include "common/base/wirenum.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"

#define READ_STEP    (32 * 1024)
#define KEPT_MAX     (1024 * 1024) /* of a link: beyond that its program is not read */
#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 5000
#define CLOSE_MS     5000  /* for the last words of a program */
#define START_MS     30000 /* for a run to start its gstepd */
#define LAST_MS      10000 /* for reports after the program's end */
/* Until the steps that run are told again after the end of a session; doubled each time, unless
 * that session has lasted as long as the longest pause. */
#define AGAIN_MIN_MS 2000
#define AGAIN_MAX_MS 600000
#define FD_MAX       8

struct link {
	int fd; /* -1: its program has gone */
	uint32_t rank;
	char *node;
	struct stream *stream;
	struct resumable_link *resumable;
	bool asked, open; /* CHANNEL_STEPS was sent; it was answered */
	int64_t next_ms, pause_ms, close_ms, since_ms;
	bool was_open;
};

struct report {
	Gpusched__StepReport *r;
	bool sent; /* in the message under way */
	bool told; /* of a step that runs: kept for the next session, of another controller perhaps */
};

struct process {
	struct step_bridge_of of;
	int fd; /* the program; -1: it has gone */
	struct client *client;
	struct dial *dial;
	int64_t next_ms, pause_ms, end_ms, batch_ms, again_ms, since_ms;
	struct link *links[BRIDGE_LINKS];
	size_t n_links;
	struct report *reports;
	size_t n_reports;
	uint64_t report_id; /* of the message under way; 0: none */
	bool no_reports;    /* the controller does not take them */
	struct arena *arena;
};

/* --- links ------------------------------------------------------------------------------------ */

static void drop_link(struct process *p, size_t i)
{
	struct link *l = p->links[i];

	stream_free(l->stream);
	resumable_link_free(l->resumable);
	fd_close(l->fd);
	free(l->node);
	free(l);
	p->links[i] = p->links[--p->n_links];
}

static void lose_stream(struct link *l)
{
	stream_free(l->stream);
	l->stream = NULL;
	l->asked = l->open = false;
	resumable_link_break(l->resumable);
	l->next_ms = loop_now_ms() + l->pause_ms;
	l->pause_ms = l->pause_ms * 2 < PAUSE_MAX_MS ? l->pause_ms * 2 : PAUSE_MAX_MS;
}

/* The steps that run are told again, later than what is new: a controller that ends idle sessions
 * of users with too many should not get each of them back at once. */
static void tell_again(struct process *p)
{
	bool any = false;

	for (size_t i = 0; i < p->n_reports; i++) {
		p->reports[i].sent = false;
		any = any || p->reports[i].told;
		p->reports[i].told = false;
	}
	if (!any)
		return;
	if (loop_now_ms() - p->since_ms >= AGAIN_MAX_MS)
		p->again_ms = AGAIN_MIN_MS;
	if (!p->batch_ms)
		p->batch_ms = loop_now_ms() + p->again_ms;
	p->again_ms = p->again_ms * 2 < AGAIN_MAX_MS ? p->again_ms * 2 : AGAIN_MAX_MS;
}

static void lose_connection(struct process *p)
{
	for (size_t i = 0; i < p->n_links; i++)
		if (p->links[i]->stream)
			lose_stream(p->links[i]);
	client_drop(p->client);
	p->dial = NULL;
	p->report_id = 0;
	tell_again(p);
	p->next_ms = loop_now_ms() + p->pause_ms;
	p->pause_ms = p->pause_ms * 2 < PAUSE_MAX_MS ? p->pause_ms * 2 : PAUSE_MAX_MS;
}

/* A refusal that time does not change. A run may be starting still, or its node be away; one whose
 * gstepd was reached is over when there is none. */
static bool is_final(const struct link *l, const struct error *why)
{
	if (why->code == ERR_NOT_PERMITTED || why->code == ERR_NO_JOB)
		return true;
	return why->code == ERR_JOB_STATE &&
	       (l->was_open || loop_now_ms() - l->since_ms >= START_MS);
}

/* True: the link is gone. */
static bool fail_stream(struct process *p, size_t i, const struct error *why)
{
	if (!is_final(p->links[i], why)) {
		lose_stream(p->links[i]);
		return false;
	}
	if (!p->links[i]->was_open && why->code != ERR_NO_JOB) /* over: its end says that */
		fprintf(stderr, "%s\n", why->text);
	drop_link(p, i);
	return true;
}

static int take_message(struct link *l, const struct channel_message *m, struct error *err)
{
	if (m->kind == CHANNEL_STEPS) {
		l->open = l->was_open = true;
		l->pause_ms = PAUSE_MIN_MS;
		resumable_link_connect(l->resumable);
		return 0;
	}
	if (m->kind == CHANNEL_STEP_DATA)
		return resumable_link_feed(l->resumable, m->data, m->len, err);
	if (m->kind == CHANNEL_END) {
		struct error why;

		if (channel_get_end(m, &why, err) == 0)
			*err = why.code ? why
			                : (error_set(&why, ERR_UNREACHABLE, "the link has ended"),
			                          why);
		return -1;
	}
	return error_set(err, ERR_PROTOCOL, "a message of kind %u", m->kind);
}

static int receive_stream(struct link *l, struct error *err)
{
	struct channel_message m;
	int r;

	while ((r = stream_next(l->stream, &m, err)) > 0)
		if (take_message(l, &m, err) < 0)
			return -1;
	return r;
}

static int send_stream(struct link *l, struct error *err)
{
	const uint8_t *bytes;
	size_t len;

	if (!stream_has_room(l->stream))
		return 0;
	if (!l->asked) {
		l->asked = true;
		return stream_send(l->stream, CHANNEL_STEPS, NULL, 0, err);
	}
	while (l->open && stream_has_room(l->stream) &&
	        (bytes = resumable_link_pending(l->resumable, &len), len)) {
		len = len < READ_STEP ? len : READ_STEP;
		if (stream_send(l->stream, CHANNEL_STEP_DATA, bytes, len, err) < 0)
			return -1;
		resumable_link_sent(l->resumable, len);
	}
	return 0;
}

static int open_stream(struct process *p, struct link *l, struct error *err)
{
	struct stream_to to = { .run = { .job = p->of.job,
		                        .task = p->of.task,
		                        .attempt = p->of.attempt,
		                        .rank = l->rank },
		.node = l->node };

	l->stream = stream_open(p->client, p->dial, &to, err);
	return l->stream ? 0 : -1;
}

/* What has arrived for the program. -1: it has gone. */
static int write_program(struct link *l)
{
	const uint8_t *bytes;
	size_t len;
	ssize_t n;

	while (bytes = resumable_link_arrived(l->resumable, &len), len) {
		n = send(l->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		resumable_link_taken(l->resumable, (size_t)n);
	}
	return 0;
}

static int read_program(struct link *l)
{
	uint8_t b[READ_STEP];
	ssize_t n;

	while (resumable_link_kept(l->resumable) < KEPT_MAX) {
		n = recv(l->fd, b, sizeof(b), MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		if (n == 0)
			return -1;
		resumable_link_put(l->resumable, b, (size_t)n);
	}
	return 0;
}

/* The program has ended: what it said last goes out, and STEP_BYE behind it. */
static void begin_closing(struct link *l)
{
	close(l->fd);
	l->fd = -1;
	l->close_ms = loop_now_ms() + CLOSE_MS;
	resumable_link_bye(l->resumable);
}

static bool is_closed(const struct process *p, const struct link *l)
{
	size_t len;

	resumable_link_pending(l->resumable, &len);
	return loop_now_ms() >= l->close_ms ||
	       (l->open && resumable_link_is_connected(l->resumable) && !len &&
	               !dial_is_sending(p->dial));
}

/* Returns whether the link is still there. */
static bool step_link(struct process *p, size_t i)
{
	struct link *l = p->links[i];
	struct error err = { .code = ERR_NONE };

	if (l->fd >= 0 && read_program(l) < 0)
		begin_closing(l);
	if (p->dial && !l->stream && loop_now_ms() >= l->next_ms && open_stream(p, l, &err) < 0)
		return !fail_stream(p, i, &err);
	if (l->stream && (receive_stream(l, &err) < 0 || send_stream(l, &err) < 0) &&
	        fail_stream(p, i, &err))
		return false;
	if (l->fd >= 0 && write_program(l) < 0)
		begin_closing(l);
	if (l->fd < 0 && is_closed(p, l)) {
		drop_link(p, i);
		return false;
	}
	return true;
}

/* --- reports ---------------------------------------------------------------------------------- */

static size_t n_to_send(const struct process *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_reports; i++)
		n += !p->reports[i].told;
	return n;
}

/* One of its step that is not under way; NULL: none. */
static struct report *find_report(struct process *p, uint32_t step)
{
	for (size_t i = 0; i < p->n_reports; i++)
		if (!p->reports[i].sent && p->reports[i].r->step == step)
			return &p->reports[i];
	return NULL;
}

static void add_report(struct process *p, Gpusched__StepReport *r)
{
	struct report *old = find_report(p, r->step);
	int64_t at = loop_now_ms() + BRIDGE_BATCH_MS;

	if (!p->batch_ms || p->batch_ms > at)
		p->batch_ms = at;
	if (old) {
		gpusched__step_report__free_unpacked(old->r, NULL);
		*old = (struct report){ .r = r };
		return;
	}
	p->reports = xrealloc(p->reports, p->n_reports + 1, sizeof(*p->reports));
	p->reports[p->n_reports++] = (struct report){ .r = r };
}

static bool is_latest(const struct process *p, size_t i)
{
	for (size_t k = i + 1; k < p->n_reports; k++)
		if (p->reports[k].r->step == p->reports[i].r->step)
			return false;
	return true;
}

/* What was sent was taken. Of a step that runs it is kept, unless there is something newer. */
static void keep_told(struct process *p)
{
	for (size_t i = 0; i < p->n_reports; i++) {
		struct report *report = &p->reports[i];

		if (report->sent && !report->r->end_time && is_latest(p, i)) {
			report->sent = false;
			report->told = true;
		}
	}
}

static void drop_reports(struct process *p, bool all)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_reports; i++) {
		if (!all && !p->reports[i].sent)
			p->reports[n++] = p->reports[i];
		else
			gpusched__step_report__free_unpacked(p->reports[i].r, NULL);
	}
	p->n_reports = n;
	p->batch_ms = n_to_send(p) ? loop_now_ms() + BRIDGE_BATCH_MS : 0;
}

static int send_reports(struct process *p, struct error *err)
{
	Gpusched__StepReports m = GPUSCHED__STEP_REPORTS__INIT;
	Gpusched__StepReport *list[BRIDGE_REPORTS_MAX];

	for (size_t i = 0; i < p->n_reports && m.n_steps < BRIDGE_REPORTS_MAX; i++) {
		if (p->reports[i].told)
			continue;
		list[m.n_steps++] = p->reports[i].r;
		p->reports[i].sent = true;
	}
	COPY_FIELDS(&m, &p->of, job, task, attempt);
	m.steps = list;
	p->report_id = dial_send(p->dial, GPUSCHED__MSG_TYPE__MSG_STEP_REPORTS, &m.base, err);
	return p->report_id ? 0 : -1;
}

/* An error is the controller's last word on these reports, but for one that passes. */
static void take_reply(struct process *p, const struct frame *f)
{
	struct error err = { .code = ERR_NONE };
	ProtobufCMessage *m = msg_unpack(f->type, f->body, f->len, p->arena, &err);

	p->report_id = 0;
	if (m && f->type == GPUSCHED__MSG_TYPE__MSG_REPLY)
		dial_reply_error((const Gpusched__Reply *)m, &err);
	if (err.code && dial_may_retry(&err)) {
		for (size_t i = 0; i < p->n_reports; i++)
			p->reports[i].sent = false;
		p->batch_ms = loop_now_ms() + PAUSE_MAX_MS;
		return;
	}
	if (err.code == ERR_PROTOCOL || err.code == ERR_VERSION || err.code == ERR_USAGE)
		p->no_reports = true;
	if (!err.code)
		keep_told(p);
	drop_reports(p, p->no_reports);
}

static void step_reports(struct process *p)
{
	struct error err = { .code = ERR_NONE };

	if (p->no_reports)
		drop_reports(p, true);
	if (!p->dial || p->report_id || !n_to_send(p) ||
	        (p->fd >= 0 && loop_now_ms() < p->batch_ms) || send_reports(p, &err) == 0)
		return;
	if (err.code == ERR_INTERNAL || err.code == ERR_PROTOCOL) /* no such message */
		p->no_reports = true;
	else
		lose_connection(p);
}

/* --- the program ------------------------------------------------------------------------------ */

static void add_link(struct process *p, const uint8_t *d, size_t len, int fd)
{
	struct link *l = xcalloc(1, sizeof(*l));
	uint64_t session = 0;

	if (p->n_links == BRIDGE_LINKS || fd < 0 || len < 4) {
		fd_close(fd);
		free(l);
		return;
	}
	while (!session)
		if (getrandom(&session, sizeof(session), 0) < 0)
			session = (uint64_t)loop_now_ms();
	l->fd = fd;
	l->rank = get_u32(d);
	l->node = xstrndup((const char *)d + 4, len - 4);
	l->resumable = resumable_link_new(session);
	l->pause_ms = PAUSE_MIN_MS;
	l->since_ms = loop_now_ms();
	p->links[p->n_links++] = l;
}

static void take_datagram(struct process *p, const uint8_t *d, size_t len, int fd)
{
	Gpusched__StepReport *r;

	if (d[0] == 'L') {
		add_link(p, d + 1, len - 1, fd);
		return;
	}
	r = gpusched__step_report__unpack(NULL, len - 1, d + 1);
	if (r)
		add_report(p, r);
}

static void read_datagrams(struct process *p)
{
	static uint8_t d[BRIDGE_DATAGRAM_MAX];
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int) * FD_MAX)];
	} control;

	while (p->fd >= 0) {
		struct iovec iov = { .iov_base = d, .iov_len = sizeof(d) };
		struct msghdr m = { .msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control.space,
			.msg_controllen = sizeof(control.space) };
		ssize_t n = recvmsg(p->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
		int fd = -1;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			close(p->fd);
			p->fd = -1;
			p->end_ms = loop_now_ms() + LAST_MS;
			return;
		}
		if (c && c->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		take_datagram(p, d, (size_t)n, fd);
	}
}

/* --- the connection --------------------------------------------------------------------------- */

static bool needs_connection(const struct process *p)
{
	return p->n_links ||
	       (n_to_send(p) && !p->no_reports && (p->fd < 0 || loop_now_ms() >= p->batch_ms));
}

static void connect_now(struct process *p)
{
	struct error err;

	if (p->dial || !needs_connection(p) || loop_now_ms() < p->next_ms)
		return;
	client_set_retry(p->client, 0);
	p->dial = client_dial(p->client, &err);
	p->since_ms = loop_now_ms();
	if (p->dial)
		p->pause_ms = PAUSE_MIN_MS;
	else
		lose_connection(p);
}

static void take_frame(struct process *p, const struct frame *f)
{
	struct error err;

	if (p->report_id && f->id == p->report_id) {
		take_reply(p, f);
		return;
	}
	for (size_t i = 0; i < p->n_links; i++) {
		int r = p->links[i]->stream ? stream_take(p->links[i]->stream, f, &err) : 0;

		if (r < 0)
			fail_stream(p, i, &err);
		if (r != 0)
			return;
	}
}

static void receive(struct process *p)
{
	struct frame f;
	struct error err;
	int r;

	while (p->dial && (r = dial_recv(p->dial, &f, 0, &err)) != 0) {
		if (r < 0)
			lose_connection(p);
		else
			take_frame(p, &f);
	}
}

/* --- all of it -------------------------------------------------------------------------------- */

static int64_t earlier(int64_t least, int64_t at)
{
	return least < 0 || at < least ? at : least;
}

static int timeout_of(const struct process *p)
{
	int64_t now = loop_now_ms(), at = -1;

	if (!p->dial && needs_connection(p))
		at = earlier(at, p->next_ms);
	for (size_t i = 0; p->dial && i < p->n_links; i++)
		if (!p->links[i]->stream)
			at = earlier(at, p->links[i]->next_ms);
	if (n_to_send(p) && !p->report_id && !p->no_reports)
		at = earlier(at, p->dial || p->batch_ms > p->next_ms ? p->batch_ms : p->next_ms);
	for (size_t i = 0; i < p->n_links; i++)
		if (p->links[i]->fd < 0)
			at = earlier(at, p->links[i]->close_ms);
	if (p->fd < 0)
		at = earlier(at, p->end_ms);
	return at < 0 ? -1 : at > now ? (int)(at - now) : 0;
}

static void wait_for(struct process *p)
{
	struct pollfd fds[BRIDGE_LINKS + 2];
	nfds_t n = 0;
	size_t len;

	if (p->fd >= 0)
		fds[n++] = (struct pollfd){ .fd = p->fd, .events = POLLIN };
	if (p->dial)
		fds[n++] = (struct pollfd){ .fd = dial_fd(p->dial),
			.events = (short)(POLLIN | (dial_is_sending(p->dial) ? POLLOUT : 0)) };
	for (size_t i = 0; i < p->n_links; i++) {
		const struct link *l = p->links[i];
		short events = resumable_link_kept(l->resumable) < KEPT_MAX ? POLLIN : 0;

		resumable_link_arrived(l->resumable, &len);
		fds[n++] = (struct pollfd){ .fd = l->fd,
			.events = (short)(events | (len ? POLLOUT : 0)) };
	}
	poll(fds, n, timeout_of(p));
}

static bool is_done(const struct process *p)
{
	bool nothing_left = !p->n_links && (!n_to_send(p) || p->no_reports);

	return p->fd < 0 && (nothing_left || loop_now_ms() >= p->end_ms);
}

_Noreturn void bridge_process(const struct step_bridge_of *of, int fd)
{
	struct process p = {
		.of = *of, .fd = fd, .pause_ms = PAUSE_MIN_MS, .again_ms = AGAIN_MIN_MS
	};
	struct error err;

	p.client = client_new(NULL, &err);
	if (!p.client) {
		fprintf(stderr, "%s\n", err.text);
		_exit(EXIT_FAILURE);
	}
	p.arena = arena_new(MSG_BODY_MAX);
	while (!is_done(&p)) {
		wait_for(&p);
		read_datagrams(&p);
		connect_now(&p);
		receive(&p);
		for (size_t i = 0; i < p.n_links;)
			i += step_link(&p, i);
		step_reports(&p);
	}
	if (p.dial)
		dial_flush(p.dial, 1000, NULL);
	_exit(EXIT_SUCCESS);
}
