/* msgfield.h - the fields of a message that is known by its descriptor alone */
#ifndef COMMON_MSGFIELD_H
#define COMMON_MSGFIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/* Where the field is: the value itself, or the pointer to the elements of a list. */
static inline void *msgfield_at(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	return (char *)(uintptr_t)m + f->offset;
}

static inline bool msgfield_is_list(const ProtobufCFieldDescriptor *f)
{
	return f->label == PROTOBUF_C_LABEL_REPEATED;
}

/* How many elements a list has. */
static inline size_t *msgfield_count(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	return (size_t *)(void *)((char *)(uintptr_t)m + f->quantifier_offset);
}

/* The first element of a list. */
static inline char *msgfield_elements(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	return *(char **)msgfield_at(m, f);
}

/* Bytes of one value in memory. */
static inline size_t msgfield_size(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_FLOAT:
	case PROTOBUF_C_TYPE_ENUM:
		return 4;
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	default:
		return 8;
	}
}

#endif
