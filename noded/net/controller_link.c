/* controller_link.c - see controller_link.h
 *
 *	IDLE --want--> QUEUED --turn--> DIALLING --opened--> UP
 *	  ^              ^                  |                |
 *	  |              +---- WAITING <----+----- lost -----+
 *	  +-- not wanted, from everywhere
 */
#include "noded/net/controller_link.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include <event2/event.h>

#include "common/base/arena.h"
#include "common/base/backoff.h"
#include "common/base/xalloc.h"
#include "common/net/event_end.h"
#include "common/net/session.h"

enum link_state { LINK_IDLE, LINK_QUEUED, LINK_DIALLING, LINK_UP, LINK_WAITING };

struct link {
	struct net *net;
	char *node;
	const struct link_ops *ops;
	void *arg;
	enum link_state state;
	bool wanted;
	uint64_t session; /* DIALLING, UP */
	struct backoff backoff;
	struct event *timer;     /* WAITING */
	TAILQ_ENTRY(link) queue; /* QUEUED */
};

struct net {
	struct event_base *base;
	struct sessions *sessions;
	const struct conf_client *client;
	uid_t server_uid;
	struct arena *arena; /* one message at a time */
	unsigned dialling;
	TAILQ_HEAD(, link) queue; /* links that wait for their turn to dial */
	struct event *turn;       /* dials from the loop, never from within a callback */
};

/* --- dialling -------------------------------------------------------------------------------- */

static void ask_credential(
        struct session *s, const void *payload, size_t len, uid_t server_uid, void *arg)
{
	struct link *link = session_data(s);

	(void)arg;
	link->ops->credential(link->arg, session_number(s), payload, len, server_uid);
}

static unsigned wait_and_retry(struct link *link)
{
	unsigned ms = backoff_next_ms(&link->backoff);
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	link->state = LINK_WAITING;
	evtimer_add(link->timer, &tv);
	return ms;
}

/* Leave the present state, without callbacks. */
static void leave(struct link *link)
{
	struct net *net = link->net;

	switch (link->state) {
	case LINK_QUEUED:
		TAILQ_REMOVE(&net->queue, link, queue);
		break;
	case LINK_DIALLING:
		net->dialling--;
		event_active(net->turn, 0, 0);
		break;
	case LINK_WAITING:
		evtimer_del(link->timer);
		break;
	case LINK_UP:
	case LINK_IDLE:
		break;
	}
	link->state = LINK_IDLE;
	link->session = 0;
}

static void enqueue(struct link *link)
{
	leave(link);
	link->state = LINK_QUEUED;
	TAILQ_INSERT_TAIL(&link->net->queue, link, queue);
	event_active(link->net->turn, 0, 0);
}

static void link_lost(struct link *link, const struct error *why)
{
	uint64_t session = link->state == LINK_UP ? link->session : 0;

	leave(link);
	link->ops->down(link->arg, session, why, wait_and_retry(link));
}

static void dial(struct link *link)
{
	struct net *net = link->net;
	struct session_to to = { .host = net->client->host,
		.port = net->client->port,
		.hello = { .role = "controller",
		        .cluster = net->client->cluster,
		        .node = link->node },
		.server_uid = net->server_uid,
		.credential = link->ops->credential ? ask_credential : NULL };
	struct error err;
	uint64_t session;

	leave(link);
	session = session_dial(net->sessions, &to, &err);
	if (!session) {
		link_lost(link, &err);
		return;
	}
	link->state = LINK_DIALLING;
	link->session = session;
	net->dialling++;
	session_set_data(session_find(net->sessions, session), link);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct net *net = arg;
	struct link *link;

	(void)fd;
	(void)what;
	while (net->dialling < NET_DIALLING && (link = TAILQ_FIRST(&net->queue)))
		dial(link);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	enqueue(arg);
}

/* --- callbacks of the sessions --------------------------------------------------------------- */

static void on_opened(struct session *s, void *arg)
{
	struct link *link = session_data(s);
	struct net *net = arg;

	net->dialling--;
	link->state = LINK_UP;
	event_active(net->turn, 0, 0);
	link->ops->up(link->arg, link->session);
}

static void on_frame(struct session *s, const struct frame *f, void *arg)
{
	struct link *link = session_data(s);
	struct net *net = arg;
	struct error err;
	ProtobufCMessage *m = msg_unpack(f->type, f->body, f->len, net->arena, &err);

	if (m) {
		link->ops->message(link->arg, link->session, f->type, m);
		return;
	}
	error_wrap(&err, "%s from the controller", msg_name(f->type));
	session_close(s);
	link_lost(link, &err);
}

static void on_closed(struct session *s, const struct error *why, void *arg)
{
	struct link *link = session_data(s);

	(void)arg;
	link_lost(link, why);
}

static void on_writable(struct session *s, void *arg)
{
	struct link *link = session_data(s);

	(void)arg;
	if (link->ops->writable)
		link->ops->writable(link->arg, link->session);
}

static const struct session_ops session_ops = {
	.opened = on_opened,
	.frame = on_frame,
	.writable = on_writable,
	.closed = on_closed,
};

/* --- the net --------------------------------------------------------------------------------- */

static int find_user(const char *name, uid_t *uid, struct error *err)
{
	struct passwd *pw;

	errno = 0;
	pw = getpwnam(name);
	if (!pw)
		return error_set(err, ERR_CONFIG, "controller user '%s': %s", name,
		        errno ? strerror(errno) : "no such user on this node");
	*uid = pw->pw_uid;
	return 0;
}

struct net *net_new(struct event_base *base, struct worker_pool *pool,
        const struct conf_client *client, const struct mcred_ops *mcred, struct error *err)
{
	struct net *net = xcalloc(1, sizeof(*net));
	struct session_config config = {
		.base = base, .pool = pool, .mcred = mcred, .ops = &session_ops, .arg = net
	};

	TAILQ_INIT(&net->queue);
	net->base = base;
	net->client = client;
	if (find_user(client->controller_user, &net->server_uid, err) < 0)
		goto error;
	net->sessions = sessions_new(&config, err);
	if (!net->sessions)
		goto error;
	net->arena = arena_new(MSG_BODY_MAX);
	net->turn = event_new(base, -1, 0, on_turn, net);
	if (!net->arena || !net->turn) {
		error_set(err, ERR_SYSTEM, "out of memory");
		goto error;
	}
	return net;
error:
	net_free(net);
	return NULL;
}

void net_free(struct net *net)
{
	if (!net)
		return;
	sessions_free(net->sessions);
	arena_free(net->arena);
	event_end(net->turn);
	free(net);
}

/* --- links ----------------------------------------------------------------------------------- */

struct link *link_new(struct net *net, const char *node, const struct link_ops *ops, void *arg)
{
	struct link *link = xcalloc(1, sizeof(*link));
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = (uint64_t)(uintptr_t)link;
	link->net = net;
	link->node = xstrdup(node);
	link->ops = ops;
	link->arg = arg;
	backoff_init(&link->backoff, NET_BACKOFF_MIN_MS, NET_BACKOFF_MAX_MS, seed);
	link->timer = evtimer_new(net->base, on_timer, link);
	if (!link->timer)
		abort();
	return link;
}

static void end_session(struct link *link)
{
	struct session *s = link->session ? session_find(link->net->sessions, link->session) : NULL;

	if (s)
		session_close(s);
}

void link_free(struct link *link)
{
	if (!link)
		return;
	end_session(link);
	leave(link);
	event_free(link->timer);
	free(link->node);
	free(link);
}

void link_want(struct link *link, bool wanted)
{
	if (link->wanted == wanted)
		return;
	link->wanted = wanted;
	if (wanted) {
		enqueue(link);
		return;
	}
	end_session(link);
	leave(link);
}

void link_close(struct link *link, uint64_t session)
{
	if (link->session != session || link->state != LINK_UP)
		return;
	end_session(link);
	leave(link);
	if (link->wanted)
		wait_and_retry(link);
}

void link_is_good(struct link *link)
{
	backoff_reset(&link->backoff);
}

int link_send(struct link *link, uint64_t session, unsigned type, const ProtobufCMessage *message,
        struct error *err)
{
	struct session *s = session_find(link->net->sessions, session);

	return s ? session_send(s, type, 0, message, err) : 0;
}

void link_own_address(const struct link *link, uint64_t session, char out[SESSION_ADDRESS_LEN])
{
	struct session *s = session_find(link->net->sessions, session);

	*out = '\0';
	if (s)
		session_own_address(s, out);
}

bool link_full(const struct link *link, uint64_t session)
{
	struct session *s = session_find(link->net->sessions, session);

	return s && session_full(s);
}

void link_credential(
        struct link *link, uint64_t session, const char *credential, const struct error *err)
{
	struct session *s = session_find(link->net->sessions, session);

	if (s)
		session_credential(s, credential, err);
}
