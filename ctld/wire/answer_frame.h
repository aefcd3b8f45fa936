/* answer_frame.h - every answer as a frame that can be sent
 *
 * Listings are sent in parts that fit (answer_parts.h), and other answers are small. An item that
 * is too large even so is cut here (common/net/msg_truncate.h), with a note of the cut where the message
 * has a field for that, so that no state of the cluster and no row of the past prevents an answer.
 * If it cannot be cut, only that one answer becomes an error; the session goes on.
 *
 * Pure; gctld sends all its frames this way (peers.h), gpast and the fault simulation too.
 */
#ifndef CTLD_RPC_ANSWER_FRAME_H
#define CTLD_RPC_ANSWER_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"

/* `m` as one whole frame (frame_pack()), in memory that the caller frees. -1 with
 * ERR_ANSWER_SIZE. */
int answer_pack(unsigned type, uint64_t id, const ProtobufCMessage *m, uint8_t **bytes, size_t *len,
        struct error *err);

/* Does a body of so many bytes fit? -1 with ERR_ANSWER_SIZE. */
int answer_check(unsigned type, size_t len, struct error *err);

#endif
