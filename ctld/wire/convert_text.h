/* convert_text.h - what the makers of messages share: memory, texts and names on the wire
 *
 * What users typed was plain text when it came in, but paths are bytes, and rows may be older than
 * a rule: whatever is free text is escaped where it is not plain, since a peer refuses a message
 * with anything else. All of it lives in the arena; running out of that aborts.
 */
#ifndef CTLD_RPC_CONVERT_TEXT_H
#define CTLD_RPC_CONVERT_TEXT_H

#include "common/base/arena.h"
#include "common/base/each.h"
#include "common/gpusched.pb-c.h"
#include "ctld/core/core.h"

/* A message of a type, as its _INIT has it. */
#define WIRE_NEW(type, init, arena)                                 \
	({                                                          \
		type *new_message = arena_take(arena, sizeof(type)); \
		*new_message = (type)init;                          \
		new_message;                                        \
	})

/* Borrowed, for protobuf-c never writes to a message that it packs. NULL: "". */
char *wire_lend(const char *s);
ProtobufCBinaryData wire_lend_bytes(const void *p, size_t n);
/* Escaped where it must be, borrowed where not. NULL: "". */
char *wire_shown(const char *s, struct arena *arena);
/* Escaped, in a copy: for texts that may be freed before the message is packed. */
char *wire_copied(const char *s, struct arena *arena);

/* Texts of the same name in a message and in what it is made of, in a function with an `arena`. */
#define WIRE_SHOW(m, from, ...)      EACH(WIRE_SHOW_1, m, from, __VA_ARGS__)
#define WIRE_LEND(m, from, ...)      EACH(WIRE_LEND_1, m, from, __VA_ARGS__)
#define WIRE_COPY(m, from, ...)      EACH(WIRE_COPY_1, m, from, __VA_ARGS__)
#define WIRE_SHOW_1(m, from, name) (m)->name = wire_shown((from)->name, arena)
#define WIRE_LEND_1(m, from, name) (m)->name = wire_lend((from)->name)
#define WIRE_COPY_1(m, from, name) (m)->name = wire_copied((from)->name, arena)

Gpusched__RunId *wire_run_name(struct run_id run, struct arena *arena);
Gpusched__RunId **wire_run_names(const struct run_id *runs, size_t n, struct arena *arena);
/* The numbers of the bits of `set`. */
uint32_t *wire_indices(uint64_t set, size_t *n, struct arena *arena);
Gpusched__KeyValue **wire_labels(const struct label *labels, size_t n, struct arena *arena);

/* From the wire: bytes that were checked to hold no NUL, as a string; NULL: the arena is full. */
const char *wire_string(const ProtobufCBinaryData *b, struct arena *arena);

#endif
