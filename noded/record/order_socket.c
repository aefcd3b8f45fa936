/* order_socket.c - see order_socket.h */
#include "noded/record/order_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/wirenum.h"

#define HEAD_LEN 4

static const ProtobufCMessageDescriptor *order_desc(unsigned type)
{
	switch (type) {
	case GPUSCHED__MSG_TYPE__MSG_END_RUN:
		return &gpusched__end_run__descriptor;
	case GPUSCHED__MSG_TYPE__MSG_SIGNAL_RUN:
		return &gpusched__signal_run__descriptor;
	case GPUSCHED__MSG_TYPE__MSG_SUSPEND_RUN:
		return &gpusched__suspend_run__descriptor;
	case ORDER_SOCKET_NOTE:
		return &gpusched__run_note__descriptor;
	default:
		return NULL;
	}
}

static void address_of(int dirfd, const char *name, struct sockaddr_un *sa)
{
	*sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(sa->sun_path, sizeof(sa->sun_path), "/proc/self/fd/%d/%s", dirfd, name);
}

int order_socket_open(int dirfd, const char *name, struct error *err)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un sa;
	int saved;

	address_of(dirfd, name, &sa);
	if (fd >= 0 && fchmod(fd, 0600) == 0 &&
	        (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 ||
	                (errno == EADDRINUSE && unlinkat(dirfd, name, 0) == 0 &&
	                        bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)))
		return fd;
	saved = errno;
	fd_close(fd);
	return error_set(err, ERR_SYSTEM, "cannot make the socket '%s': %s", name, strerror(saved));
}

int order_socket_send(int dirfd, const char *name, const void *bytes, size_t len)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un sa;
	ssize_t n;
	int saved;

	if (fd < 0)
		return -1;
	address_of(dirfd, name, &sa);
	n = sendto(fd, bytes, len, MSG_NOSIGNAL, (struct sockaddr *)&sa, sizeof(sa));
	saved = errno;
	close(fd);
	errno = saved;
	return n < 0 ? -1 : 0;
}

bool order_socket_no_receiver(int error)
{
	return error == ENOENT || error == ECONNREFUSED;
}

int order_socket_pack(unsigned type, const ProtobufCMessage *m, uint8_t out[ORDER_SOCKET_MAX])
{
	size_t len = protobuf_c_message_get_packed_size(m);

	if (len > ORDER_SOCKET_MAX - HEAD_LEN)
		return -1;
	put_u16(out, ORDER_SOCKET_VERSION);
	put_u16(out + 2, (uint16_t)type);
	protobuf_c_message_pack(m, out + HEAD_LEN);
	return (int)(len + HEAD_LEN);
}

int order_socket_receive(int fd, unsigned *type, ProtobufCMessage **m, struct error *err)
{
	uint8_t b[ORDER_SOCKET_MAX];
	ssize_t n = recv(fd, b, sizeof(b), MSG_DONTWAIT | MSG_TRUNC);
	const ProtobufCMessageDescriptor *desc;
	unsigned version, t;

	if (n < 0)
		return 0;
	if (n < HEAD_LEN || n > ORDER_SOCKET_MAX)
		return error_set(err, ERR_PROTOCOL, "an order of %zd bytes", n);
	version = get_u16(b);
	t = get_u16(b + 2);
	desc = order_desc(t);
	if (version < ORDER_SOCKET_VERSION_OLDEST || version > ORDER_SOCKET_VERSION || !desc)
		return error_set(err, ERR_PROTOCOL, "an order of version %u, type %u", version, t);
	*m = protobuf_c_message_unpack(desc, NULL, (size_t)n - HEAD_LEN, b + HEAD_LEN);
	if (!*m)
		return error_set(err, ERR_PROTOCOL, "an order that cannot be decoded");
	*type = t;
	return 1;
}
