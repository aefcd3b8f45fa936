/* runio.c - see runio.h */
#include "cmds/run/runio.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmds/cli/terminal.h"
#include "common/base/wirenum.h"

#define WRITE_STEP 4096 /* what a pipe takes without blocking when poll(2) says it takes any */
#define TELL_STEP  (32 * 1024) /* bytes written, and then the other side is told */
#define READ_STEP  (16 * 1024)

void runio_use(struct runio *io, struct stream *s)
{
	stream_free(io->stream);
	io->stream = s;
	io->attached = io->asked = false;
	io->at = NULL;
	io->left = 0;
	io->told_closed[0] = io->told_closed[1] = false;
}

/* --- what comes ------------------------------------------------------------------------------- */

static int take_attached(struct runio *io, const struct channel_message *m, struct error *err)
{
	struct channel_attached a;

	if (channel_get_attached(m, &a, err) < 0)
		return -1;
	if (io->ever && (a.in < io->in_first || a.in > io->in_read ||
	                        (a.out != io->out && !io->closed[0]) ||
	                        (a.err != io->err && !io->closed[1])))
		return error_set(
		        err, ERR_PROTOCOL, "the node does not continue where the stream stopped");
	if (!io->ever)
		io->in_first = io->in_read = a.in;
	io->out = io->told_out = a.out;
	io->err = io->told_err = a.err;
	io->in_sent = a.in;
	io->in_taken = a.in_taken;
	io->in_end_sent = a.in_ended;
	io->pty = a.pty;
	io->attached = io->ever = true;
	return 0;
}

static int take_in_taken(struct runio *io, const struct channel_message *m, struct error *err)
{
	uint64_t n = m->len == 8 ? get_u64(m->data) : UINT64_MAX;
	size_t drop;

	if (n > io->in_sent || n < io->in_taken)
		return error_set(err, ERR_PROTOCOL, "the answer acknowledges more than was sent");
	io->in_taken = n;
	if (n > io->in_first) {
		drop = (size_t)(n - io->in_first);
		memmove(io->in, io->in + drop, (size_t)(io->in_read - n));
		io->in_first = n;
	}
	return 0;
}

static int take_end(struct runio *io, const struct channel_message *m, struct error *err)
{
	struct error why;

	if (channel_get_end(m, &why, err) < 0)
		return -1;
	if (why.code == ERR_NONE) {
		io->over = true;
		return 0;
	}
	*err = why;
	return -1;
}

static int take_message(struct runio *io, const struct channel_message *m, struct error *err)
{
	switch (m->kind) {
	case CHANNEL_ATTACHED:
		return take_attached(io, m, err);
	case CHANNEL_OUT:
	case CHANNEL_ERR:
		io->at = m->data;
		io->left = m->len;
		io->to_err = m->kind == CHANNEL_ERR;
		return 0;
	case CHANNEL_IN_TAKEN:
		return take_in_taken(io, m, err);
	default:
		return take_end(io, m, err);
	}
}

static bool takes_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) > 0;
}

/* The message at hand to stdout or stderr. False: that would have to wait. */
static bool write_message(struct runio *io)
{
	int fd = io->to_err ? STDERR_FILENO : STDOUT_FILENO;
	uint64_t *written = io->to_err ? &io->err : &io->out;
	ssize_t n;

	while (io->left) {
		if (!io->closed[io->to_err] && !takes_now(fd))
			return false;
		n = io->closed[io->to_err]
		            ? (ssize_t)io->left
		            : write(fd, io->at, io->left < WRITE_STEP ? io->left : WRITE_STEP);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return false;
		if (n < 0) {
			io->closed[io->to_err] = true;
			io->write_errno = errno == EPIPE ? io->write_errno : errno;
			continue;
		}
		io->at += n;
		io->left -= (size_t)n;
		*written += (uint64_t)n;
	}
	return true;
}

static int take_all(struct runio *io, struct error *err)
{
	struct channel_message m;
	int r;

	while (write_message(io)) {
		r = stream_next(io->stream, &m, err);
		if (r <= 0)
			return r;
		if (take_message(io, &m, err) < 0)
			return -1;
		if (io->over)
			return 0;
	}
	return 0;
}

/* --- what goes -------------------------------------------------------------------------------- */

static int say_attach(struct runio *io, struct error *err)
{
	struct channel_attach a = { .resume = io->ever, .out = io->out, .err = io->err };
	uint8_t b[CHANNEL_ATTACH_LEN];

	io->asked = true;
	terminal_window(&a.rows, &a.cols);
	channel_put_attach(b, &a);
	return stream_send(io->stream, CHANNEL_ATTACH, b, sizeof(b), err);
}

static int say_taken(struct runio *io, struct error *err)
{
	struct channel_taken t = { io->out, io->err };
	uint8_t b[CHANNEL_TAKEN_LEN];

	if (io->out - io->told_out + io->err - io->told_err < (io->over ? 1 : TELL_STEP))
		return 0;
	io->told_out = io->out;
	io->told_err = io->err;
	channel_put_taken(b, &t);
	return stream_send(io->stream, CHANNEL_TAKEN, b, sizeof(b), err);
}

static int say_window(struct runio *io, struct error *err)
{
	uint16_t rows, cols;
	uint8_t b[4];

	io->window = false;
	terminal_window(&rows, &cols);
	put_u16(b, rows);
	put_u16(b + 2, cols);
	return stream_send(io->stream, CHANNEL_WINDOW, b, sizeof(b), err);
}

static int say_signals(struct runio *io, struct error *err)
{
	for (uint8_t sig = 1; sig < 64 && stream_has_room(io->stream); sig++) {
		if (!(io->signals & (uint64_t)1 << sig))
			continue;
		io->signals &= ~((uint64_t)1 << sig);
		if (stream_send(io->stream, CHANNEL_SIGNAL, &sig, 1, err) < 0)
			return -1;
	}
	return 0;
}

static int say_closed(struct runio *io, struct error *err)
{
	for (uint8_t which = 1; which <= 2 && stream_has_room(io->stream); which++) {
		if (!io->closed[which - 1] || io->told_closed[which - 1])
			continue;
		io->told_closed[which - 1] = true;
		if (stream_send(io->stream, CHANNEL_CLOSED, &which, 1, err) < 0)
			return -1;
	}
	return 0;
}

static int say_input(struct runio *io, struct error *err)
{
	size_t n;

	while (io->in_sent < io->in_read && stream_has_room(io->stream)) {
		n = (size_t)(io->in_read - io->in_sent);
		n = n < READ_STEP ? n : READ_STEP;
		if (stream_send(io->stream, CHANNEL_IN, io->in + (io->in_sent - io->in_first), n,
		            err) < 0)
			return -1;
		io->in_sent += n;
	}
	if (!io->in_end || io->in_end_sent || io->in_sent < io->in_read ||
	        !stream_has_room(io->stream))
		return 0;
	io->in_end_sent = true;
	return stream_send(io->stream, CHANNEL_IN_END, NULL, 0, err);
}

static int say_all(struct runio *io, struct error *err)
{
	if (!stream_has_room(io->stream))
		return 0;
	if (!io->asked)
		return say_attach(io, err);
	if (!io->attached)
		return 0;
	if (say_taken(io, err) < 0)
		return -1;
	if (io->over)
		return 0;
	if (stream_has_room(io->stream) && io->window && say_window(io, err) < 0)
		return -1;
	return say_signals(io, err) < 0 || say_closed(io, err) < 0 || say_input(io, err) < 0 ? -1
	                                                                                     : 0;
}

int runio_step(struct runio *io, struct error *err)
{
	if (!io->stream)
		return 0;
	if (!io->over && take_all(io, err) < 0)
		return -1;
	return say_all(io, err);
}

int runio_detach(struct runio *io, struct error *err)
{
	if (!io->attached || !stream_has_room(io->stream))
		return error_set(err, ERR_UNREACHABLE, "there is no connection to it");
	return stream_send(io->stream, CHANNEL_DETACH, NULL, 0, err);
}

/* --- stdin ------------------------------------------------------------------------------------ */

static size_t room(const struct runio *io)
{
	return (size_t)(CHANNEL_IN_MAX - (io->in_read - io->in_taken));
}

static bool wants_input(const struct runio *io)
{
	return io->attached && !io->over && !io->in_end && !io->in_off && !io->in_end_sent &&
	       room(io) > 0;
}

size_t runio_poll(const struct runio *io, struct pollfd p[2])
{
	size_t n = 0;

	if (wants_input(io))
		p[n++] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	if (io->left)
		p[n++] = (struct pollfd){ .fd = io->to_err ? STDERR_FILENO : STDOUT_FILENO,
			.events = POLLOUT };
	return n;
}

void runio_read(struct runio *io)
{
	size_t max = room(io);
	ssize_t n;

	io->in_off = terminal_is_others();
	if (!wants_input(io))
		return;
	n = read(STDIN_FILENO, io->in + (io->in_read - io->in_first),
	        max < READ_STEP ? max : READ_STEP);
	if (n > 0)
		io->in_read += (uint64_t)n;
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		io->in_end = true;
}
