/* peers.c - see peers.h */
#include "cmds/steps/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmds/steps/resumable_link.h"
#include "common/base/xalloc.h"

#define READ_STEP   (64 * 1024)
#define READS_MAX   8 /* of one peer before others are heard */
#define FIRST_BYTES 15

struct peer {
	struct peers *all;
	struct peer *next;
	uint64_t id;
	int fd; /* -1: to come back */
	struct loop_watch *watch;
	struct steplink *link;
	struct resumable_link *resumable; /* NULL: none */
	uint8_t first[FIRST_BYTES]; /* until it is known which kind it is */
	size_t n_first;
	bool known, dead;
	int64_t lost_ms;
};

struct peers {
	struct loop *loop;
	struct peers_ops ops;
	int fd;
	struct loop_watch *watch;
	char *path;
	struct peer *list;
	size_t n;
	uint64_t last_id;
	bool full; /* no descriptor is left: connections wait until a peer goes */
};

/* --- the socket ------------------------------------------------------------------------------- */

static int make_address(const char *path, struct sockaddr_un *a, struct error *err)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(a->sun_path))
		return error_set(
		        err, ERR_SYSTEM, "%s: the path is longer than a socket's can be", path);
	strcpy(a->sun_path, path);
	return 0;
}

static int listen_at(const char *path, struct error *err)
{
	struct sockaddr_un a;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask;
	int rc;

	if (fd < 0)
		return error_set(err, ERR_SYSTEM, "socket: %s", strerror(errno));
	if (make_address(path, &a, err) < 0) {
		close(fd);
		return -1;
	}
	mask = umask(0177);
	rc = bind(fd, (const struct sockaddr *)&a, sizeof(a));
	umask(mask);
	if (rc == 0 && listen(fd, SOMAXCONN) == 0)
		return fd;
	error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
	close(fd);
	return -1;
}

static bool is_ours(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.uid == geteuid();
}

static void on_peer(uint32_t events, void *arg);

uint64_t peers_add(struct peers *p, int fd)
{
	struct peer *peer = xcalloc(1, sizeof(*peer));

	fcntl(fd, F_SETFL, O_NONBLOCK);
	*peer = (struct peer){ .all = p, .next = p->list, .id = ++p->last_id, .fd = fd };
	peer->link = steplink_new();
	peer->watch = loop_watch(p->loop, fd, EPOLLIN, on_peer, peer);
	p->list = peer;
	p->n++;
	return peer->id;
}

static void on_connection(uint32_t events, void *arg)
{
	struct peers *p = arg;
	int fd;

	(void)events;
	while ((fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		if (is_ours(fd) && p->n < PEERS_MAX)
			peers_add(p, fd);
		else
			close(fd);
	}
	if (errno == EMFILE || errno == ENFILE) {
		p->full = true;
		loop_want(p->watch, 0);
	}
}

struct peers *peers_new(
        struct loop *loop, const char *path, const struct peers_ops *ops, struct error *err)
{
	int fd = listen_at(path, err);
	struct peers *p;

	if (fd < 0)
		return NULL;
	p = xcalloc(1, sizeof(*p));
	*p = (struct peers){ .loop = loop, .ops = *ops, .fd = fd, .path = xstrdup(path) };
	p->watch = loop_watch(loop, fd, EPOLLIN, on_connection, p);
	return p;
}

/* --- ends ------------------------------------------------------------------------------------- */

/* A peer is taken out of the list by peers_tick() alone: whatever walks over it may go on. */
static void end_peer(struct peer *peer)
{
	if (peer->dead)
		return;
	loop_close(&peer->watch, &peer->fd);
	peer->dead = true;
	peer->all->ops.gone(peer->all->ops.arg, peer->id);
}

static void lose_peer(struct peer *peer)
{
	if (!peer->resumable) {
		end_peer(peer);
		return;
	}
	loop_close(&peer->watch, &peer->fd);
	resumable_link_break(peer->resumable);
	peer->lost_ms = loop_now_ms();
}

static void free_peer(struct peer *peer)
{
	steplink_free(peer->link);
	resumable_link_free(peer->resumable);
	free(peer);
}

size_t peers_count(const struct peers *p)
{
	size_t n = 0;

	for (const struct peer *peer = p->list; peer; peer = peer->next)
		n += !peer->dead;
	return n;
}

void peers_tick(struct peers *p)
{
	struct peer **at = &p->list;
	int64_t now = loop_now_ms();
	bool gone = false;

	for (struct peer *peer = p->list; peer; peer = peer->next)
		if (!peer->dead && peer->fd < 0 && !p->ops.for_ever &&
		        now - peer->lost_ms >= PEERS_PATIENCE_MS)
			end_peer(peer);
	while (*at) {
		struct peer *peer = *at;

		if (!peer->dead) {
			at = &peer->next;
			continue;
		}
		*at = peer->next;
		p->n--;
		free_peer(peer);
		gone = true;
	}
	if (gone && p->full) {
		p->full = false;
		loop_want(p->watch, EPOLLIN);
	}
}

int64_t peers_wait_ms(const struct peers *p)
{
	int64_t least = -1, now = loop_now_ms();

	for (const struct peer *peer = p->list; peer; peer = peer->next) {
		int64_t left = peer->dead ? 0 : peer->lost_ms + PEERS_PATIENCE_MS - now;

		if (!peer->dead && (peer->fd >= 0 || p->ops.for_ever))
			continue;
		left = left < 0 ? 0 : left;
		least = least < 0 || left < least ? left : least;
	}
	return least;
}

/* --- sending ---------------------------------------------------------------------------------- */

static const uint8_t *pending(struct peer *peer, size_t *len)
{
	const uint8_t *bytes = steplink_pending(peer->link, len);

	if (!peer->resumable)
		return bytes;
	if (*len) {
		resumable_link_put(peer->resumable, bytes, *len);
		steplink_sent(peer->link, *len);
	}
	return resumable_link_pending(peer->resumable, len);
}

static void sent(struct peer *peer, size_t len)
{
	if (peer->resumable)
		resumable_link_sent(peer->resumable, len);
	else
		steplink_sent(peer->link, len);
}

static void flush(struct peer *peer)
{
	const uint8_t *bytes;
	size_t len;
	ssize_t n;

	while (peer->fd >= 0 && (bytes = pending(peer, &len), len)) {
		n = send(peer->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			loop_want(peer->watch, EPOLLIN | EPOLLOUT);
			return;
		}
		if (n < 0) { /* the reading side finds the end */
			loop_want(peer->watch, EPOLLIN);
			return;
		}
		sent(peer, (size_t)n);
	}
	if (peer->watch)
		loop_want(peer->watch, EPOLLIN);
}

static struct peer *find(struct peers *p, uint64_t id)
{
	for (struct peer *peer = p->list; peer; peer = peer->next)
		if (peer->id == id && !peer->dead)
			return peer;
	return NULL;
}

void peers_put(
        struct peers *p, uint64_t id, unsigned kind, uint32_t step, const void *data, size_t len)
{
	struct peer *peer = find(p, id);
	size_t kept;

	if (!peer)
		return;
	steplink_put(peer->link, kind, step, data, len);
	steplink_pending(peer->link, &kept);
	/* The windows of output and input bound what waits; more of it than that goes with
	 * EPOLLOUT. */
	if (kept <= READ_STEP || peer->resumable)
		flush(peer);
}

void peers_free(struct peers *p)
{
	loop_close(&p->watch, &p->fd);
	unlink(p->path);
	while (p->list) {
		struct peer *peer = p->list;

		p->list = peer->next;
		flush(peer);
		loop_close(&peer->watch, &peer->fd);
		free_peer(peer);
	}
	free(p->path);
	free(p);
}

/* --- receiving -------------------------------------------------------------------------------- */

static int take_messages(struct peer *peer, struct error *err)
{
	const struct peers_ops *ops = &peer->all->ops;
	struct steplink_message m;
	int r;

	while (!peer->dead && (r = steplink_next(peer->link, &m, err)) != 0)
		if (r < 0 || ops->message(ops->arg, peer->id, &m, err) < 0)
			return -1;
	return 0;
}

/* The peer of that session which is to come back takes the connection over. */
static struct peer *find_session(struct peer *peer, uint64_t session)
{
	for (struct peer *other = peer->all->list; other; other = other->next)
		if (!other->dead && other->resumable &&
		        resumable_link_session(other->resumable) == session) {
			int fd = peer->fd;

			loop_drop(&peer->watch);
			peer->fd = -1;
			peer->dead = true;
			loop_close(&other->watch, &other->fd);
			other->fd = fd;
			other->watch = loop_watch(peer->all->loop, fd, EPOLLIN, on_peer, other);
			return other;
		}
	return NULL;
}

static int feed(struct peer *peer, const uint8_t *bytes, size_t len, struct error *err)
{
	const uint8_t *arrived = bytes;

	if (peer->resumable) {
		if (resumable_link_feed(peer->resumable, bytes, len, err) < 0)
			return -1;
		arrived = resumable_link_arrived(peer->resumable, &len);
	}
	if (steplink_feed(peer->link, arrived, len, err) < 0)
		return -1;
	if (peer->resumable)
		resumable_link_taken(peer->resumable, len);
	if (take_messages(peer, err) < 0)
		return -1;
	if (peer->resumable && resumable_link_is_over(peer->resumable))
		end_peer(peer);
	return 0;
}

/* What kind of peer it is; then its first bytes are fed. *peer is then another one, perhaps. */
static int meet(struct peer **peer, struct error *err)
{
	struct peer *p = *peer;
	uint64_t session;
	int r = resumable_link_peek(p->first, p->n_first, &session);
	uint8_t first[FIRST_BYTES];
	size_t n = p->n_first;

	if (r == 0)
		return 0;
	memcpy(first, p->first, n);
	if (r > 0 && (*peer = find_session(p, session)) == NULL) {
		*peer = p;
		p->resumable = resumable_link_new(session);
	}
	if (r > 0)
		resumable_link_connect((*peer)->resumable);
	if (!(*peer)->known) {
		(*peer)->known = true;
		p->all->ops.arrived(p->all->ops.arg, (*peer)->id);
	}
	return feed(*peer, first, n, err);
}

static int take_bytes(struct peer **peer, const uint8_t *bytes, size_t len, struct error *err)
{
	struct peer *p = *peer;
	size_t n;

	if (p->known)
		return feed(p, bytes, len, err);
	n = FIRST_BYTES - p->n_first < len ? FIRST_BYTES - p->n_first : len;
	memcpy(p->first + p->n_first, bytes, n);
	p->n_first += n;
	if (meet(peer, err) < 0)
		return -1;
	return (*peer)->known && len > n ? feed(*peer, bytes + n, len - n, err) : 0;
}

static void on_peer(uint32_t events, void *arg)
{
	struct peer *peer = arg;
	uint8_t bytes[READ_STEP];
	struct error err;

	for (int i = 0; i < READS_MAX && peer->fd >= 0; i++) {
		ssize_t n = read(peer->fd, bytes, sizeof(bytes));

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0) {
			lose_peer(peer);
			return;
		}
		if (take_bytes(&peer, bytes, (size_t)n, &err) < 0) {
			end_peer(peer);
			return;
		}
		if ((size_t)n < sizeof(bytes))
			break;
	}
	if (events & EPOLLOUT || peer->resumable)
		flush(peer);
}
