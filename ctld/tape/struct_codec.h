/* struct_codec.h - structs as bytes, by tables
 *
 * A form names the fields of a struct, in order; one walk writes them, another reads them back, so
 * the two cannot differ. To add a field to an event: a row in its table (event_codec.c), and
 * records that older versions wrote are told from ours by tape_format().
 *
 * What is read borrows the texts from the bytes it was read from; its lists live in a `struct pool`
 * until that is emptied.
 */
#ifndef CTLD_TAPE_STRUCT_CODEC_H
#define CTLD_TAPE_STRUCT_CODEC_H

#include "common/base/each.h"
#include "ctld/tape/bytes.h"

enum wire {
	WIRE_BOOL,
	WIRE_U8,
	WIRE_U32,
	WIRE_I32,
	WIRE_U64,
	WIRE_I64,
	WIRE_TEXT,     /* of C type const char *; NULL only if `max` is 0 */
	WIRE_RAW,      /* an array of `max` bytes */
	WIRE_PART,     /* a struct inside */
	WIRE_SOME,     /* an array inside, of at most `max`; the first `count` are used */
	WIRE_LIST,     /* a pointer to `count` of them; NULL if there are none */
	WIRE_MAY_LIST, /* the same, but may be NULL whatever `count` is */
	WIRE_MAY,      /* a pointer to one, or NULL */
	WIRE_REFS,     /* a pointer to `count` pointers to one or NULL; or NULL for all */
};

struct form;

struct field {
	const char *name;
	enum wire wire;
	size_t at, count;      /* offsets of the field, and of the size_t that counts it */
	uint64_t max;          /* SOME, LIST, REFS: so many */
	const struct form *of; /* PART, SOME, LIST, MAY, REFS */
};

struct form {
	const char *name;
	size_t size; /* of the struct */
	const struct field *v;
	size_t n;
};

#define FORM(form_name, type, fields)                                                 \
	{                                                                             \
		form_name, sizeof(type), fields, sizeof(fields) / sizeof((fields)[0]) \
	}

/* Rows for plain fields, in this order: NUMBER(struct submit_job, cpus, mem_mb). */
#define NUMBER(type, ...)   EACH(NUMBER_ROW, type, , __VA_ARGS__)
#define TEXT(type, ...)     EACH(TEXT_ROW, type, 1, __VA_ARGS__)
#define MAY_TEXT(type, ...) EACH(TEXT_ROW, type, 0, __VA_ARGS__)
#define NUMBER_ROW(type, none, field)             \
	{                                         \
#field,                                   \
		        _Generic(((type *)0)->field, bool \
		                 : WIRE_BOOL, uint8_t     \
		                 : WIRE_U8, uint32_t      \
		                 : WIRE_U32, int32_t      \
		                 : WIRE_I32, uint64_t     \
		                 : WIRE_U64, int64_t      \
		                 : WIRE_I64),             \
		        offsetof(type, field), 0, 0, NULL \
	}
#define TEXT_ROW(type, needed, field)                                     \
	{                                                                 \
#field, WIRE_TEXT, offsetof(type, field), 0, needed, NULL \
	}
#define RAW(type, field)                                                                     \
	{                                                                                    \
#field, WIRE_RAW, offsetof(type, field), 0, sizeof(((type *)0)->field), NULL \
	}
#define PART(type, field, form)                                      \
	{                                                            \
#field, WIRE_PART, offsetof(type, field), 0, 1, form \
	}
#define MAY(type, field, form)                                      \
	{                                                           \
#field, WIRE_MAY, offsetof(type, field), 0, 1, form \
	}
#define SOME(type, field, counted, most, form)                                                \
	{                                                                                     \
#field, WIRE_SOME, offsetof(type, field), offsetof(type, counted), most, form \
	}
#define LIST(type, field, counted, most, form)                                                \
	{                                                                                     \
#field, WIRE_LIST, offsetof(type, field), offsetof(type, counted), most, form \
	}
#define MAY_LIST(type, field, counted, most, form)                                                \
	{                                                                                         \
#field, WIRE_MAY_LIST, offsetof(type, field), offsetof(type, counted), most, form \
	}
#define REFS(type, field, counted, most, form)                                                \
	{                                                                                     \
#field, WIRE_REFS, offsetof(type, field), offsetof(type, counted), most, form \
	}

extern const struct form form_u32, form_u64, form_text;

struct pool {
	void **v; /* owned, and what they point to */
	size_t n, size;
};
void pool_empty(struct pool *p);
void pool_free(struct pool *p);

void form_write(const struct form *s, const void *object, struct bytes *out);
/* What is not in the form is left alone. On failure the taker is bad. */
void form_read(const struct form *s, void *object, struct taker *in, struct pool *pool);
/* Mixed from all names and kinds in it. */
uint64_t form_hash(const struct form *s, uint64_t seed);

#endif
