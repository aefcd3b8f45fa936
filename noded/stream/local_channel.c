/* local_channel.c - see local_channel.h */
#include "noded/stream/local_channel.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/wirenum.h"

#define BACKLOG 8

/* The buffers are left as they are: most are never used, and then take no memory. */
void local_channel_init(struct local_channel *io, int fd)
{
	io->fd = fd;
	io->closed = false;
	io->raw = 0;
	io->in_n = io->in_used = io->out_at = io->out_n = 0;
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_NONBLOCK);
}

void local_channel_close(struct local_channel *io)
{
	fd_close(io->fd);
	local_channel_init(io, -1);
}

short local_channel_events(const struct local_channel *io, bool read)
{
	return (short)((read ? POLLIN : 0) | (io->out_n > io->out_at ? POLLOUT : 0));
}

void local_channel_read(struct local_channel *io)
{
	ssize_t n;

	if (io->in_used) {
		io->in_n -= io->in_used;
		memmove(io->in, io->in + io->in_used, io->in_n);
		io->in_used = 0;
	}
	if (io->in_n == sizeof(io->in))
		return;
	n = read(io->fd, io->in + io->in_n, sizeof(io->in) - io->in_n);
	if (n > 0)
		io->in_n += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		io->closed = true;
}

void local_channel_write(struct local_channel *io)
{
	while (io->out_at < io->out_n) {
		ssize_t n =
		        send(io->fd, io->out + io->out_at, io->out_n - io->out_at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			io->closed |= errno != EAGAIN;
			return;
		}
		io->out_at += (size_t)n;
	}
	io->out_at = io->out_n = 0;
}

int local_channel_next(struct local_channel *io, struct channel_message *m)
{
	const uint8_t *p = io->in + io->in_used;
	size_t have = io->in_n - io->in_used, n;

	if (io->raw && have) { /* also what came before the end */
		n = have < CHANNEL_DATA_MAX ? have : CHANNEL_DATA_MAX;
		*m = (struct channel_message){ .kind = io->raw, .data = p, .len = n };
		io->in_used += n;
		return 1;
	}
	if (io->closed || have < 2)
		return 0;
	n = get_u16(p);
	if (n < 1 || n > CHANNEL_DATA_MAX + 1) {
		io->closed = true;
		return 0;
	}
	if (have < 2 + n)
		return 0;
	*m = (struct channel_message){ .kind = p[2], .data = p + 3, .len = n - 1 };
	io->in_used += 2 + n;
	return 1;
}

bool local_channel_has_room(const struct local_channel *io)
{
	return sizeof(io->out) - io->out_n >= LOCAL_CHANNEL_WIRE_MAX;
}

void local_channel_put(struct local_channel *io, unsigned kind, const void *data, size_t len)
{
	uint8_t *p = io->out + io->out_n;

	assert(local_channel_has_room(io) && len <= CHANNEL_DATA_MAX);
	if (io->raw) {
		memcpy(p, data, len);
		io->out_n += len;
		return;
	}
	put_u16(p, (uint16_t)(len + 1));
	p[2] = (uint8_t)kind;
	if (len)
		memcpy(p + 3, data, len);
	io->out_n += 3 + len;
}

/* --- the socket ------------------------------------------------------------------------------- */

/* The path may be longer than sun_path. */
static int stream_socket(int dirfd, const char *name, struct sockaddr_un *sa)
{
	*sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(sa->sun_path, sizeof(sa->sun_path), "/proc/self/fd/%d/%s", dirfd, name);
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int local_channel_listen(int dirfd, const char *name, struct error *err)
{
	struct sockaddr_un sa;
	int fd = stream_socket(dirfd, name, &sa), saved;

	unlinkat(dirfd, name, 0);
	if (fd >= 0 && fchmod(fd, 0600) == 0 && bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 &&
	        listen(fd, BACKLOG) == 0)
		return fd;
	saved = errno;
	fd_close(fd);
	return error_set(err, ERR_SYSTEM, "cannot make the socket '%s': %s", name, strerror(saved));
}

int local_channel_connect(int dirfd, const char *name, struct error *err)
{
	struct sockaddr_un sa;
	int fd = stream_socket(dirfd, name, &sa), saved;

	if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
		return fd;
	saved = errno;
	fd_close(fd);
	if (saved == ENOENT || saved == ECONNREFUSED)
		return error_set(err, ERR_JOB_STATE,
		        "nothing holds its input and output: it is over, or not interactive");
	return error_set(err, saved == EAGAIN ? ERR_BUSY : ERR_SYSTEM,
	        "what holds its input and output cannot be reached: %s", strerror(saved));
}
