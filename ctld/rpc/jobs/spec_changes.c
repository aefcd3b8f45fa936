/* spec_changes.c - see spec_changes.h */
#include "ctld/rpc/jobs/spec_changes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "common/net/signedjob.h"
#include "ctld/core/core.h"
#include "ctld/core/intake/update_audit.h"
#include "ctld/wire/convert_text.h"

#define FIXED RESPEC_FIELD_COUNT /* it may not differ */

enum kind { NUMBER, BOOL, MASK, TEXT, BYTES, LIST, MESSAGE };

static const struct spec_row {
	const char *name; /* as in the proto */
	enum kind kind;
	size_t at, count; /* offsets; count: of a list's length */
	enum respec_field field;
} rows[] = {
#define ROW(field, kind, respec)                                               \
	{                                                                      \
#field, kind, offsetof(Gpusched__SignedSpec, field), 0, respec \
	}
	ROW(version, NUMBER, FIXED),
	ROW(cluster, TEXT, FIXED),
	ROW(nonce, BYTES, FIXED),
	ROW(uid, NUMBER, FIXED),
	ROW(gid, NUMBER, FIXED),
	ROW(script_hash, BYTES, FIXED),
	ROW(name, TEXT, RESPEC_NAME),
	{ "args", LIST, offsetof(Gpusched__SignedSpec, args),
	        offsetof(Gpusched__SignedSpec, n_args), RESPEC_ARGS },
	{ "env", LIST, offsetof(Gpusched__SignedSpec, env), offsetof(Gpusched__SignedSpec, n_env),
	        RESPEC_ENV },
	ROW(cwd, BYTES, RESPEC_CWD),
	ROW(input, BYTES, RESPEC_INPUT),
	ROW(output, BYTES, RESPEC_OUTPUT),
	ROW(error, BYTES, RESPEC_ERROR),
	ROW(append, BOOL, RESPEC_APPEND),
	ROW(array, TEXT, FIXED),
	ROW(tasks_per_node, NUMBER, FIXED),
	ROW(max_attempts, NUMBER, RESPEC_ATTEMPTS),
	ROW(umask, MASK, RESPEC_UMASK),
	ROW(interactive, MESSAGE, FIXED),
	ROW(steps, MESSAGE, FIXED),
	ROW(service, MESSAGE, FIXED),
	ROW(no_summary, BOOL, RESPEC_NO_SUMMARY),
	ROW(show_output, BOOL, RESPEC_SHOW_OUTPUT),
#undef ROW
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* --- comparing ------------------------------------------------------------------------------- */

static const void *at(const Gpusched__SignedSpec *s, size_t offset)
{
	return (const char *)s + offset;
}

static bool same_bytes(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static bool same_list(
        const Gpusched__SignedSpec *a, const Gpusched__SignedSpec *b, const struct spec_row *row)
{
	size_t n = *(const size_t *)at(a, row->count), i;
	const ProtobufCBinaryData *v = *(ProtobufCBinaryData *const *)at(a, row->at);
	const ProtobufCBinaryData *w = *(ProtobufCBinaryData *const *)at(b, row->at);

	if (n != *(const size_t *)at(b, row->count))
		return false;
	for (i = 0; i < n && same_bytes(&v[i], &w[i]); i++)
		;
	return i == n;
}

/* What they serialise to. */
static bool same_message(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
	size_t n = a ? protobuf_c_message_get_packed_size(a) : 0;
	uint8_t *x, *y;
	bool is_same;

	if (!a || !b)
		return a == b;
	if (n != protobuf_c_message_get_packed_size(b))
		return false;
	x = xcalloc(2, n + 1);
	y = x + n + 1;
	protobuf_c_message_pack(a, x);
	protobuf_c_message_pack(b, y);
	is_same = memcmp(x, y, n) == 0;
	free(x);
	return is_same;
}

static bool same(
        const Gpusched__SignedSpec *a, const Gpusched__SignedSpec *b, const struct spec_row *row)
{
	const void *x = at(a, row->at), *y = at(b, row->at);

	switch (row->kind) {
	case NUMBER:
	case MASK:
		return *(const uint32_t *)x == *(const uint32_t *)y;
	case BOOL:
		return !*(const protobuf_c_boolean *)x == !*(const protobuf_c_boolean *)y;
	case TEXT:
		return strcmp(*(char *const *)x, *(char *const *)y) == 0;
	case BYTES:
		return same_bytes(x, y);
	case LIST:
		return same_list(a, b, row);
	case MESSAGE:
		return same_message(*(ProtobufCMessage *const *)x, *(ProtobufCMessage *const *)y);
	}
	return false;
}

/* --- telling --------------------------------------------------------------------------------- */

/* Not of lists: an environment may hold secrets. "": it is of such a kind. */
static void show(const Gpusched__SignedSpec *s, const struct spec_row *row, char to[CHANGES_VALUE])
{
	const void *x = at(s, row->at);
	const ProtobufCBinaryData *b = x;

	*to = '\0';
	if (row->kind == NUMBER)
		snprintf(to, CHANGES_VALUE, "%" PRIu32, *(const uint32_t *)x);
	else if (row->kind == MASK)
		snprintf(to, CHANGES_VALUE, "%04" PRIo32, *(const uint32_t *)x);
	else if (row->field == RESPEC_APPEND)
		snprintf(to, CHANGES_VALUE, "%s", s->append ? "append" : "truncate");
	else if (row->kind == BOOL)
		snprintf(to, CHANGES_VALUE, "%s", *(const protobuf_c_boolean *)x ? "yes" : "no");
	else if (row->kind == TEXT)
		text_escape(to, CHANGES_VALUE, *(char *const *)x, strlen(*(char *const *)x));
	else if (row->kind == BYTES)
		text_escape(to, CHANGES_VALUE, b->len ? (const char *)b->data : "", b->len);
	if (!*to && row->kind != LIST)
		snprintf(to, CHANGES_VALUE, "none");
}

/* "job-name a -> b, export changed"; ends in "..." where there is more. */
static const char *changes_text(const Gpusched__SignedSpec *was, const Gpusched__SignedSpec *is,
        uint32_t fields, struct arena *arena)
{
	char *text = arena_alloc(arena, CHANGES_TEXT), before[CHANGES_VALUE], after[CHANGES_VALUE];
	size_t used = 0;

	if (!text)
		return NULL;
	*text = '\0';
	for (size_t i = 0; i < N_ROWS && used < CHANGES_TEXT; i++) {
		if (rows[i].field == FIXED || !(fields >> rows[i].field & 1))
			continue;
		show(was, &rows[i], before);
		show(is, &rows[i], after);
		used += (size_t)snprintf(text + used, CHANGES_TEXT - used, "%s%s %s%s%s",
		        used ? ", " : "", respec_name(rows[i].field), before,
		        *before ? " -> " : "changed", after);
	}
	if (used >= CHANGES_TEXT)
		memcpy(text + CHANGES_TEXT - 4, "...", 4);
	return text;
}

/* --- all together ---------------------------------------------------------------------------- */

static int fill(const Gpusched__SignedSpec *was, const Gpusched__SignedSpec *is,
        struct arena *arena, struct respec *out, struct error *err)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		if (same(was, is, &rows[i]))
			continue;
		if (rows[i].field == FIXED)
			return error_set(err, ERR_JOB_SPEC,
			        "%s cannot be changed, not even with a new signature; "
			        "another job can be submitted",
			        rows[i].name);
		out->fields |= UINT32_C(1) << rows[i].field;
	}
	out->told = changes_text(was, is, out->fields, arena);
	out->name = is->name;
	out->cwd = wire_string(&is->cwd, arena);
	out->output = wire_string(&is->output, arena);
	out->error = wire_string(&is->error, arena);
	out->max_attempts = is->max_attempts;
	out->show_output = is->show_output;
	if (!out->told || !out->cwd || !out->output || !out->error)
		return error_set(err, ERR_USAGE, "the request takes too much memory to read");
	return 0;
}

int respec_compare(const struct mcred *cred, const char *cluster, struct spec_bytes was,
        struct spec_bytes is, struct arena *arena, struct respec *out, struct error *err)
{
	struct signedjob_hash before = signedjob_hash(was.p, was.len), after;
	Gpusched__SignedSpec *old, *new;

	*out = (struct respec){ .fields = 0 };
	if (signedjob_check_spec(cred, cluster, is.p, is.len, arena, &new, &after, err) < 0)
		return -1;
	old = (Gpusched__SignedSpec *)msg_unpack_desc(
	        &gpusched__signed_spec__descriptor, was.p, was.len, MSG_STRICT, arena, err);
	if (!old)
		return error_wrap(err, "what was signed before");
	if (fill(old, new, arena, out, err) < 0)
		return -1;
	memcpy(out->was.b, before.b, sizeof(out->was.b));
	memcpy(out->is.b, after.b, sizeof(out->is.b));
	if (!out->fields && memcmp(out->was.b, out->is.b, sizeof(out->was.b)) != 0)
		return error_set(
		        err, ERR_SIGNATURE, "the same job in other bytes than were signed");
	return 0;
}
