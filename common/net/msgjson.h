/* msgjson.h - a protobuf message as JSON
 *
 * One walk along the descriptors, so that `--json`, the REST API and the wire have one schema:
 * names are the field names of gpusched.proto. 64-bit integers are JSON integers (users' ids and
 * bytes stay below 2^53); enums are their names in lower case without the prefix that all values of
 * the enum share; int64 fields that are times (`*_time` and some more, msgjson_is_time()) are UTC
 * seconds instead of microseconds, null when 0; bytes are a string if they are UTF-8 without
 * control characters, else {"base64": "..."}.
 */
#ifndef COMMON_MSGJSON_H
#define COMMON_MSGJSON_H

#include <stdbool.h>

#include <jansson.h>
#include <protobuf-c/protobuf-c.h>

enum msgjson_flags {
	MSGJSON_SKIP_EMPTY = 1 << 0, /* leave out fields that have their default */
	MSGJSON_RAW_TIME = 1 << 1,   /* times stay microseconds */
};

/* Is the field a time, as above? */
bool msgjson_is_time(const ProtobufCFieldDescriptor *f);

/* A new reference; NULL: out of memory. */
json_t *msgjson(const ProtobufCMessage *m, unsigned flags);

#endif
