/* msg_validate.h - look a packed message over before it is decoded
 *
 * Walks the bytes along the descriptors and allocates nothing: is the wire format well formed and
 * used up exactly, does each field have its own wire type, are strings plain text (text.h; a NUL
 * would end a C string early), are repeated fields within their limits?
 * No message contains itself, so the walk is as deep as the schema.
 */
#ifndef COMMON_MSG_VALIDATE_H
#define COMMON_MSG_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"

#define MSG_SUBMIT_JOBS  64    /* jobs of one Submit */
#define MSG_ELEMENTS_MAX 65536 /* of a list, unless msg_validate.c says less */

/* 0, or -1 with ERR_PROTOCOL (not well formed; with `strict` also: an unknown field) or ERR_USAGE
 * (a string or a count that is not acceptable). */
int msgscan(const ProtobufCMessageDescriptor *desc, const void *bytes, size_t len, bool strict,
        struct error *err);

#endif
