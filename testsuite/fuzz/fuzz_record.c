/* fuzz_record.c - records on a node's disk (noded/record/record.h) and orders to a shepherd
 * (noded/record/order_socket.h)
 *
 * The first byte chooses: a record of one of the kinds, or a datagram. What is read as a record
 * must be one: written again and read again it is the same.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/gpusched.pb-c.h"
#include "noded/record/order_socket.h"
#include "noded/record/record.h"
#include "testsuite/fuzz/fuzz.h"

static const ProtobufCMessageDescriptor *const kinds[] = {
	&gpusched__launch_record__descriptor,
	&gpusched__started_record__descriptor,
	&gpusched__run_report__descriptor,
	&gpusched__launcher_state__descriptor,
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void read_record(const ProtobufCMessageDescriptor *desc, const uint8_t *data, size_t n)
{
	int fd = memfd_create("record", MFD_CLOEXEC);
	ProtobufCMessage *m;
	struct error err;

	FUZZ_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
	if (record_read_fd(fd, desc, &m, &err) == 1) {
		FUZZ_CHECK(m->descriptor == desc);
		protobuf_c_message_free_unpacked(m, NULL);
	}
	close(fd);
}

/* Unknown fields are kept, and some of them cannot be read back: not ours to judge. */
static int can_be_packed(const ProtobufCMessage *m)
{
	size_t n = protobuf_c_message_get_packed_size(m);
	uint8_t *b = malloc(n + 1);
	ProtobufCMessage *again;

	FUZZ_CHECK(b);
	protobuf_c_message_pack(m, b);
	again = protobuf_c_message_unpack(m->descriptor, NULL, n, b);
	free(b);
	if (again)
		protobuf_c_message_free_unpacked(again, NULL);
	return again != NULL;
}

/* The body alone, past the checksum that a fuzzer would not find. */
static void read_body(const ProtobufCMessageDescriptor *desc, const uint8_t *data, size_t n)
{
	ProtobufCMessage *m = protobuf_c_message_unpack(desc, NULL, n, data), *again;
	char path[] = "/tmp/fuzz-record-XXXXXX";
	int dir;

	if (!m || !can_be_packed(m)) {
		if (m)
			protobuf_c_message_free_unpacked(m, NULL);
		return;
	}
	FUZZ_CHECK(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY);
	FUZZ_CHECK(record_write(dir, RECORD_EXIT, m, 0, NULL) == 0);
	FUZZ_CHECK(record_read(dir, RECORD_EXIT, desc, &again, NULL) == 1);
	FUZZ_CHECK(
	        protobuf_c_message_get_packed_size(m) == protobuf_c_message_get_packed_size(again));
	unlinkat(dir, RECORD_EXIT, 0);
	close(dir);
	rmdir(path);
	protobuf_c_message_free_unpacked(m, NULL);
	protobuf_c_message_free_unpacked(again, NULL);
}

static void read_order(const uint8_t *data, size_t n)
{
	ProtobufCMessage *m;
	struct error err;
	unsigned type;
	int pair[2], r;

	if (n > 60000) /* no datagram holds more */
		return;
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0);
	FUZZ_CHECK(send(pair[0], data, n, 0) == (ssize_t)n);
	r = order_socket_receive(pair[1], &type, &m, &err);
	if (r == 1) {
		uint8_t b[ORDER_SOCKET_MAX];

		FUZZ_CHECK(order_socket_pack(type, m, b) > 0);
		protobuf_c_message_free_unpacked(m, NULL);
	} else {
		FUZZ_CHECK(r == -1 && err.code == ERR_PROTOCOL);
	}
	FUZZ_CHECK(order_socket_receive(pair[1], &type, &m, &err) == 0); /* it was taken off */
	close(pair[0]);
	close(pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	unsigned choice = n ? data[0] % (2 * KINDS + 1) : 0;

	if (n == 0)
		return 0;
	if (choice < KINDS)
		read_record(kinds[choice], data + 1, n - 1);
	else if (choice < 2 * KINDS)
		read_body(kinds[choice - KINDS], data + 1, n - 1);
	else
		read_order(data + 1, n - 1);
	return 0;
}
