/* order_socket.c - see order_socket.h */
#include "noded/record/order_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

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
	case CTL_NOTE:
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

int ctl_socket(int dirfd, const char *name, struct error *err)
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
	if (fd >= 0)
		close(fd);
	return error_set(err, ERR_SYSTEM, "cannot make the socket '%s': %s", name, strerror(saved));
}

int ctl_send(int dirfd, const char *name, const void *bytes, size_t len)
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

bool ctl_nobody(int error)
{
	return error == ENOENT || error == ECONNREFUSED;
}

int ctl_pack(unsigned type, const ProtobufCMessage *m, uint8_t out[CTL_MAX])
{
	size_t len = protobuf_c_message_get_packed_size(m);

	if (len > CTL_MAX - HEAD_LEN)
		return -1;
	put_u16(out, CTL_VERSION);
	put_u16(out + 2, (uint16_t)type);
	protobuf_c_message_pack(m, out + HEAD_LEN);
	return (int)(len + HEAD_LEN);
}

int ctl_receive(int fd, unsigned *type, ProtobufCMessage **m, struct error *err)
{
	uint8_t b[CTL_MAX];
	ssize_t n = recv(fd, b, sizeof(b), MSG_DONTWAIT | MSG_TRUNC);
	const ProtobufCMessageDescriptor *desc;
	unsigned version, t;

	if (n < 0)
		return 0;
	if (n < HEAD_LEN || n > CTL_MAX)
		return error_set(err, ERR_PROTOCOL, "an order of %zd bytes", n);
	version = get_u16(b);
	t = get_u16(b + 2);
	desc = order_desc(t);
	if (version < CTL_VERSION_OLDEST || version > CTL_VERSION || !desc)
		return error_set(err, ERR_PROTOCOL, "an order of version %u, type %u", version, t);
	*m = protobuf_c_message_unpack(desc, NULL, (size_t)n - HEAD_LEN, b + HEAD_LEN);
	if (!*m)
		return error_set(err, ERR_PROTOCOL, "an order that cannot be decoded");
	*type = t;
	return 1;
}
