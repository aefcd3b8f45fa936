/* fuzz_msg.c - bodies of messages
 *
 * The first byte is the type. What decodes must be within its cost, must turn into JSON, and
 * encoded again must decode to the same bytes. All of it is tried as a signed job, too.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/msg.h"
#include "common/net/msgjson.h"
#include "common/net/signedjob.h"
#include "testsuite/fuzz/fuzz.h"

static uint8_t *pack(const ProtobufCMessage *m, size_t *len)
{
	uint8_t *p;

	*len = protobuf_c_message_get_packed_size(m);
	p = malloc(*len + 1);
	FUZZ_CHECK(p && protobuf_c_message_pack(m, p) == *len);
	return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *first, *second;
	size_t first_len, second_len;
	struct arena *arena;
	ProtobufCMessage *m;
	struct error err;
	json_t *json;

	if (size == 0)
		return 0;
	arena = arena_new(0);
	FUZZ_CHECK(arena);
	arena_reset(arena, 1 << 20);
	m = msg_unpack_desc(
	        &gpusched__signed_spec__descriptor, data, size, MSG_STRICT, arena, NULL);
	if (m && signedjob_spec_check((const Gpusched__SignedSpec *)m, &err) < 0)
		FUZZ_CHECK(err.code == ERR_JOB_SPEC);
	m = msg_unpack(data[0], data + 1, size - 1, arena, NULL);
	FUZZ_CHECK(arena_used(arena) <= 22 * 1024 * 1024);
	if (m) {
		json = msgjson(m, size % 4);
		FUZZ_CHECK(json);
		json_decref(json);
		first = pack(m, &first_len);
		m = msg_unpack(data[0], first, first_len, arena, NULL);
		if (m) { /* unpacked lists that come back packed may be longer than allowed */
			second = pack(m, &second_len);
			FUZZ_CHECK(first_len == second_len);
			FUZZ_CHECK(memcmp(first, second, first_len) == 0);
			free(second);
		}
		free(first);
	}
	arena_free(arena);
	return 0;
}
