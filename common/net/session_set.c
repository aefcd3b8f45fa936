/* session_set.c - the set of sessions: how they begin, are numbered, paused and end */
#include "common/base/each.h"
#include "common/net/event_end.h"
#include "common/net/session_impl.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_BITS    20 /* a million sessions at once */
#define TURN_STALLED 256

/* --- limits ----------------------------------------------------------------------------------- */

static void fill_limits(struct session_limits *l)
{
#define DEFAULT(field, value) l->field = l->field ? l->field : (value)
	DEFAULT(max_unauth, 1024);
	DEFAULT(max_unauth_per_address, 512);
	DEFAULT(handshake_ms, 10000);
	DEFAULT(silent_ms, 250);
	DEFAULT(connect_ms, 5000);
	DEFAULT(frame_ms, 30000);
	DEFAULT(keepalive_s, 30);
	DEFAULT(max_input_bytes, 256 * 1024 * 1024);
	DEFAULT(output_low, 64 * 1024);
	DEFAULT(output_high, 1024 * 1024);
	DEFAULT(output_max, 64 * 1024 * 1024);
#undef DEFAULT
}

/* --- the set ---------------------------------------------------------------------------------- */

static void free_session(struct session *s)
{
	frame_reader_free(s->reader);
	noise_free(s->agreed);
	noise_free(s->noise);
	if (s->pending)
		evbuffer_free(s->pending);
	event_end(s->deadline);
	event_end(s->work);
	session_dialling_free(s->dialling);
	free(s->doomed);
	free(s);
}

static void on_reap(evutil_socket_t fd, short what, void *arg)
{
	struct sessions *ss = arg;
	struct session *s;

	(void)fd;
	(void)what;
	while ((s = TAILQ_FIRST(&ss->dead))) {
		TAILQ_REMOVE(&ss->dead, s, link);
		free_session(s);
	}
}

/* After a pause: a slice of those that had something to say meanwhile. */
static void on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct sessions *ss = arg;
	struct session *s;

	(void)fd;
	(void)what;
	for (int i = 0; i < TURN_STALLED && !ss->paused; i++) {
		s = TAILQ_FIRST(&ss->stalled);
		if (!s)
			return;
		TAILQ_REMOVE(&ss->stalled, s, stalled_link);
		s->stalled = false;
		session_start_reading(s);
	}
	if (!ss->paused && !TAILQ_EMPTY(&ss->stalled))
		event_active(ss->resume, EV_READ, 0);
}

struct sessions *sessions_new(const struct session_config *config, struct error *err)
{
	struct sessions *ss = calloc(1, sizeof(*ss));

	if (!ss)
		goto fail;
	COPY_FIELDS(ss, config, base, pool, mcred, ops, arg, limits);
	fill_limits(&ss->limits);
	TAILQ_INIT(&ss->listeners);
	TAILQ_INIT(&ss->unauth);
	TAILQ_INIT(&ss->dialling);
	TAILQ_INIT(&ss->open);
	TAILQ_INIT(&ss->dead);
	TAILQ_INIT(&ss->stalled);
	ss->plain = malloc(FRAME_CHUNK_MAX);
	ss->sealed = malloc(FRAME_WIRE_HEAD + NOISE_MSG_MAX);
	ss->reap = event_new(ss->base, -1, 0, on_reap, ss);
	ss->resume = event_new(ss->base, -1, 0, on_resume, ss);
	if (!ss->plain || !ss->sealed || !ss->reap || !ss->resume)
		goto fail;
	return ss;
fail:
	sessions_free(ss);
	error_set(err, ERR_SYSTEM, "out of memory");
	return NULL;
}

void sessions_free(struct sessions *ss)
{
	struct listener *l;

	if (!ss)
		return;
	while ((l = TAILQ_FIRST(&ss->listeners)))
		session_listener_free(l);
	for (size_t i = 0; i < ss->n_slots; i++)
		if (ss->slots[i])
			session_close(ss->slots[i]);
	on_reap(-1, 0, ss);
	event_end(ss->reap);
	event_end(ss->resume);
	free(ss->slots);
	free(ss->free_slots);
	free(ss->plain);
	free(ss->sealed);
	free(ss);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static int take_number(struct sessions *ss, struct session *s)
{
	if (ss->n_free == 0) {
		size_t n = ss->n_slots ? 2 * ss->n_slots : 64;
		struct session **slots;
		uint32_t *free_slots;

		if (n > (size_t)1 << SLOT_BITS)
			return -1;
		slots = realloc(ss->slots, n * sizeof(*slots));
		if (!slots)
			return -1;
		ss->slots = slots;
		free_slots = realloc(ss->free_slots, n * sizeof(*free_slots));
		if (!free_slots)
			return -1;
		ss->free_slots = free_slots;
		for (size_t i = n; i-- > ss->n_slots;) {
			slots[i] = NULL;
			free_slots[ss->n_free++] = (uint32_t)i;
		}
		ss->n_slots = n;
	}
	s->number = ++ss->next_number << SLOT_BITS | ss->free_slots[--ss->n_free];
	ss->slots[s->number & ((1u << SLOT_BITS) - 1)] = s;
	return 0;
}

static void give_number(struct session *s)
{
	size_t slot = s->number & ((1u << SLOT_BITS) - 1);

	s->ss->slots[slot] = NULL;
	s->ss->free_slots[s->ss->n_free++] = (uint32_t)slot;
}

struct session *session_find(struct sessions *ss, uint64_t number)
{
	size_t slot = number & ((1u << SLOT_BITS) - 1);
	struct session *s = slot < ss->n_slots ? ss->slots[slot] : NULL;

	return s && s->number == number ? s : NULL;
}

/* --- beginning and end ------------------------------------------------------------------------ */

struct session *session_make(struct sessions *ss, bool dialled, enum session_state state)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->ss = ss;
	s->dialled = dialled;
	s->state = state;
	s->deadline = evtimer_new(ss->base, session_on_deadline, s);
	s->work = event_new(ss->base, -1, 0, session_on_work, s);
	if (!s->deadline || !s->work || take_number(ss, s) < 0) {
		free_session(s);
		return NULL;
	}
	if (dialled) {
		TAILQ_INSERT_TAIL(&ss->dialling, s, link);
		ss->n_dialling++;
	} else {
		TAILQ_INSERT_TAIL(&ss->unauth, s, link);
		ss->n_unauth++;
	}
	return s;
}

/* An open session that says farewell stays listed as open. */
static bool listed_open(const struct session *s)
{
	return s->noise != NULL;
}

void session_unlist(struct session *s)
{
	struct sessions *ss = s->ss;

	if (listed_open(s)) {
		TAILQ_REMOVE(&ss->open, s, link);
		ss->n_open--;
	} else if (s->dialled) {
		TAILQ_REMOVE(&ss->dialling, s, link);
		ss->n_dialling--;
	} else {
		TAILQ_REMOVE(&ss->unauth, s, link);
		ss->n_unauth--;
		if (ss->full)
			session_accept_again(ss);
		tally_drop(s->address);
		s->address = NULL;
	}
}

void session_count_held(struct session *s, size_t held)
{
	s->ss->stats.input_held += held - s->held;
	s->held = held;
}

/* Out of everything: no callback of libevent or a worker reaches it any more. Its memory stays
 * until the next turn, since callbacks further up may still look at it. */
static void detach(struct session *s)
{
	struct sessions *ss = s->ss;

	session_unlist(s);
	session_count_held(s, 0);
	if (s->stalled)
		TAILQ_REMOVE(&ss->stalled, s, stalled_link);
	s->stalled = false;
	give_number(s);
	if (s->job)
		worker_cancel(s->job);
	s->job = NULL;
	event_del(s->deadline);
	event_del(s->work);
	if (s->bev)
		bufferevent_free(s->bev);
	s->bev = NULL;
	s->state = S_GONE;
	TAILQ_INSERT_TAIL(&ss->dead, s, link);
	event_active(ss->reap, EV_READ, 0);
}

void session_close(struct session *s)
{
	if (s->state != S_GONE)
		detach(s);
}

void session_fail(struct session *s, const struct error *err)
{
	struct sessions *ss = s->ss;
	enum session_state was = s->state;
	bool dialled = s->dialled;

	if (was == S_GONE)
		return;
	detach(s);
	if (was == S_LINGER)
		return;
	if (was == S_OPEN || dialled) {
		if (ss->ops->closed)
			ss->ops->closed(s, err, ss->arg);
		return;
	}
	ss->stats.refused++;
	if (ss->ops->refused)
		ss->ops->refused(ss, s->peer.address, err, ss->arg);
}

void session_set_deadline(struct session *s, unsigned ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	if (ms)
		evtimer_add(s->deadline, &tv);
	else
		evtimer_del(s->deadline);
}

/* --- pausing ---------------------------------------------------------------------------------- */

/* Costs nothing for sessions that are silent meanwhile: they are stopped when they say something,
 * and only those are taken up again. */
void sessions_pause_reading(struct sessions *ss, bool pause)
{
	if (ss->paused == pause)
		return;
	ss->paused = pause;
	if (!pause)
		event_active(ss->resume, EV_READ, 0);
}

/* --- small questions -------------------------------------------------------------------------- */

uint64_t session_number(const struct session *s)
{
	return s->number;
}

const struct session_peer *session_peer(const struct session *s)
{
	return &s->peer;
}

bool session_is_open(const struct session *s)
{
	return s->state == S_OPEN;
}

void session_own_address(const struct session *s, char out[SESSION_ADDRESS_LEN])
{
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);
	char text[SESSION_ADDRESS_LEN];
	bool v6;

	*out = '\0';
	if (!s->bev || getsockname(bufferevent_getfd(s->bev), (struct sockaddr *)&own, &len) < 0)
		return;
	session_format_address((const struct sockaddr *)&own, text);
	v6 = *text == '[';
	text[strcspn(text, v6 ? "]" : ":")] = '\0'; /* no port */
	snprintf(out, SESSION_ADDRESS_LEN, "%s", text + v6);
}

void session_set_data(struct session *s, void *data)
{
	s->data = data;
}

void *session_data(const struct session *s)
{
	return s->data;
}

void sessions_stats(const struct sessions *ss, struct session_stats *out)
{
	*out = ss->stats;
	out->open = ss->n_open;
	out->unauth = ss->n_unauth;
	out->dialling = ss->n_dialling;
}

void sessions_each(struct sessions *ss, void (*fn)(struct session *s, void *arg), void *arg)
{
	struct session *s = TAILQ_FIRST(&ss->open), *next;

	for (; s; s = next) {
		next = TAILQ_NEXT(s, link);
		if (s->state == S_OPEN)
			fn(s, arg);
	}
}

void session_format_address(const struct sockaddr *sa, char out[SESSION_ADDRESS_LEN])
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)sa;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	char a[INET6_ADDRSTRLEN] = "?";

	if (sa->sa_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, a, sizeof(a));
		snprintf(out, SESSION_ADDRESS_LEN, "%s:%u", a, ntohs(in->sin_port));
	} else if (sa->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], a, sizeof(a));
		snprintf(out, SESSION_ADDRESS_LEN, "%s:%u", a, ntohs(in6->sin6_port));
	} else if (sa->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, a, sizeof(a));
		snprintf(out, SESSION_ADDRESS_LEN, "[%s]:%u", a, ntohs(in6->sin6_port));
	} else {
		snprintf(out, SESSION_ADDRESS_LEN, "?");
	}
}
