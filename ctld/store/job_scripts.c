/* job_scripts.c - the signed bytes of jobs (scripts, environments) in state.db: each stored once
 *
 * What a job's owner signed, a blob, is one row, so that the usual small job costs one insert. Bytes
 * that several jobs share are pieces, numbered and counted: the credential of a submit of many jobs
 * (its blobs follow each other in the batch), and scripts of some size, which are looked up in a
 * small memory of recent ones. That memory is a saving only: it is lost with the process, and
 * forgotten when a transaction fails.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/store/state_db_impl.h"

#define SHARE_SCRIPT_MIN 512 /* bytes; a smaller script stays in the row */

/* ---- whose bytes ---- */

/* So many more, or less, are that user's. Users of one submit follow each other. */
static void stored_note(struct state *state, uint32_t uid, int64_t bytes)
{
	struct blob_set *told = state->told;

	if (told->n_stored && told->stored[told->n_stored - 1].uid == uid) {
		told->stored[told->n_stored - 1].bytes += bytes;
		return;
	}
	*XADD(told->stored, told->n_stored, told->stored_cap) = (struct store_stored){ uid, bytes };
}

static int compare_stored(const void *a, const void *b)
{
	const struct store_stored *x = a, *y = b;

	return (x->uid > y->uid) - (x->uid < y->uid);
}

/* One row a user, in the transaction that has changed their blobs. */
int state_stored_write(struct state *state, struct error *err)
{
	struct store_stored *v = state->told->stored;
	size_t n = 0;

	if (state->told->n_stored)
		qsort(v, state->told->n_stored, sizeof(*v), compare_stored);
	for (size_t i = 0; i < state->told->n_stored; i++)
		if (n && v[n - 1].uid == v[i].uid)
			v[n - 1].bytes += v[i].bytes;
		else
			v[n++] = v[i];
	state->told->n_stored = n;
	for (size_t i = 0; i < n; i++)
		if (v[i].bytes && state_run_ints(state, SQL_STORED_ADD, v[i].uid, v[i].bytes, NULL, err) < 0)
			return -1;
	return 0;
}

/* ---- blobs ---- */

/* The bytes of a blob's part, as the row has them (piece 0) or as a piece. */
struct part {
	int64_t piece;
	const void *p;
	size_t n;
};

static int piece_new(struct state *state, const void *p, size_t n, uint32_t uid, int64_t *piece,
        struct error *err)
{
	sqlite3_stmt *data = state->other[SQL_PIECE_DATA_PUT];
	int64_t id = state->last_piece + 1;

	sqlite3_bind_int64(state->other[SQL_PIECE_PUT], 3, (int64_t)n);
	if (state_run_ints(state, SQL_PIECE_PUT, id, uid, NULL, err) < 0)
		return -1;
	stored_note(state, uid, (int64_t)n);
	sqlite3_bind_int64(data, 1, id);
	sqlite3_bind_blob64(data, 2, p, n, SQLITE_STATIC);
	if (db_run(&state->db, data, NULL, err) < 0)
		return -1;
	*piece = state->last_piece = id;
	return 0;
}

/* One more or one less has it. (RETURNING would open a table of its own each time.) */
static int piece_count(struct state *state, int64_t piece, int64_t change, struct error *err)
{
	if (state_run_ints(state, SQL_PIECE_REF, piece, change, NULL, err) < 0)
		return -1;
	if (sqlite3_changes64(state->db.handle) != 1)
		return error_set(err, ERR_INTERNAL, "%s: piece %lld is shared and not there",
		        state->db.schema->file, (long long)piece);
	return 0;
}

static int piece_unref(struct state *state, int64_t piece, struct error *err)
{
	enum { REFS, UID, BYTES, COLUMNS };
	int64_t was[COLUMNS];

	if (!piece)
		return 0;
	if (state_ask(state, SQL_PIECE_GET, piece, was, COLUMNS, err) < 0)
		return -1;
	if (was[REFS] > 1)
		return piece_count(state, piece, -1, err);
	stored_note(state, (uint32_t)was[UID], -was[BYTES]);
	for (size_t i = 0; i < RECENT_SCRIPTS; i++)
		if (state->recent[i].piece == piece)
			state->recent[i].piece = 0;
	return state_run_ints(state, SQL_PIECE_DROP, piece, 0, NULL, err) < 0 ||
	                       state_run_ints(state, SQL_PIECE_DATA_DROP, piece, 0, NULL, err) < 0
	               ? -1
	               : 0;
}

/* A script of some size: the piece of recent jobs of the user that have the same, or a new one. */
static int script_find(struct state *state, struct part *part, uint32_t uid, struct error *err)
{
	uint8_t hash[HASH_SIZE];
	struct recent_script *recent;
	uint32_t slot;

	crypto_generichash(hash, sizeof(hash), part->p, part->n, NULL, 0);
	memcpy(&slot, hash, sizeof(slot));
	/* Users with the same script each have a place. */
	recent = &state->recent[(slot + uid * UINT32_C(2654435761)) & (RECENT_SCRIPTS - 1)];
	if (recent->piece && recent->uid == uid && !memcmp(recent->hash, hash, sizeof(hash))) {
		part->piece = recent->piece;
		return piece_count(state, part->piece, 1, err);
	}
	if (piece_new(state, part->p, part->n, uid, &part->piece, err) < 0)
		return -1;
	memcpy(recent->hash, hash, sizeof(hash));
	recent->uid = uid;
	recent->piece = part->piece;
	return 0;
}

/* Decide where a part goes. `*before` is the piece of the blob before, and becomes this one's. */
static int part_place(struct state *state, struct part *part, unsigned share, uint32_t uid,
        int64_t *before, bool script, struct error *err)
{
	int result = 0;

	if (share & SHARE_LAST) {
		part->piece = *before;
		result = piece_count(state, part->piece, 1, err);
	} else if (script && part->n >= SHARE_SCRIPT_MIN) {
		result = script_find(state, part, uid, err);
	} else if (share & SHARE_NEXT) {
		result = piece_new(state, part->p, part->n, uid, &part->piece, err);
	}
	*before = part->piece;
	if (part->piece) {
		part->p = "";
		part->n = 0;
	}
	return result;
}

/* What the row of a blob has, itself and as pieces. */
struct blob_shape {
	bool there;
	uint32_t uid;
	int64_t script_piece, credential_piece;
	int64_t spec_len, script_len, credential_len; /* in the row */
};

static int blob_shape(
        struct state *state, int64_t job, struct blob_shape *shape, struct error *err)
{
	int64_t v[6];
	int rc = state_ask(state, SQL_BLOB_SHAPE, job, v, 6, err);

	*shape = (struct blob_shape){ rc > 0, (uint32_t)v[2], v[0], v[1], v[3], v[4], v[5] };
	return rc < 0 ? -1 : 0;
}

static int blob_drop(struct state *state, int64_t job, struct error *err)
{
	struct blob_shape was;

	if (blob_shape(state, job, &was, err) < 0)
		return -1;
	if (!was.there)
		return 0;
	stored_note(state, was.uid, -(was.spec_len + was.script_len + was.credential_len));
	if (state_run_ints(state, SQL_BLOB_DROP, job, 0, NULL, err) < 0 ||
	        piece_unref(state, was.script_piece, err) < 0)
		return -1;
	return piece_unref(state, was.credential_piece, err);
}

int state_script_put(struct state *state, const struct batch_item *item, struct error *err)
{
	const struct store_blob *blob = &item->blob;
	struct part script = { 0, blob->script, blob->script_len };
	struct part credential = { 0, blob->credential, blob->credential_len };
	struct value v[7];

	if (part_place(state, &script, item->script_share, blob->uid, &state->script_piece, true,
	            err) < 0 ||
	        part_place(state, &credential, item->credential_share, blob->uid,
	                &state->credential_piece, false, err) < 0 ||
	        blob_drop(state, (int64_t)blob->job, err) < 0)
		return -1;
	v[0] = (struct value){ .type = VALUE_INT, .i = (int64_t)blob->job };
	v[1] = (struct value){ .type = VALUE_INT, .i = script.piece };
	v[2] = (struct value){ .type = VALUE_INT, .i = credential.piece };
	v[3] = (struct value){ .type = VALUE_BLOB, .p = blob->spec, .n = blob->spec_len };
	v[4] = (struct value){ .type = VALUE_BLOB, .p = script.p, .n = script.n };
	v[5] = (struct value){ .type = VALUE_BLOB, .p = credential.p, .n = credential.n };
	v[6] = (struct value){ .type = VALUE_INT, .i = blob->uid };
	if (db_bind(&state->db, state->other[SQL_BLOB_PUT], 1, v, 7, err) < 0)
		return -1;
	stored_note(state, blob->uid, (int64_t)(blob->spec_len + script.n + credential.n));
	return state_run(state, SQL_BLOB_PUT, NULL, err);
}

/* The piece that was its credential goes, unless others have it too. Of a job that has gone nothing
 * is left to sign; a piece that the next one is to share stays for that. */
int state_script_sign(struct state *state, const struct batch_item *item, struct error *err)
{
	int64_t job = (int64_t)item->blob.job;
	struct blob_shape was;
	struct part credential = { 0, item->blob.credential, item->blob.credential_len };
	sqlite3_stmt *sign = state->other[SQL_BLOB_SIGN];

	state->script_piece = 0;
	if (part_place(state, &credential, item->credential_share, item->blob.uid,
	            &state->credential_piece, false, err) < 0 ||
	        blob_shape(state, job, &was, err) < 0)
		return -1;
	sqlite3_bind_int64(sign, 1, job);
	sqlite3_bind_int64(sign, 2, credential.piece);
	sqlite3_bind_blob64(sign, 3, credential.p, credential.n, SQLITE_STATIC);
	if (item->blob.spec_len)
		sqlite3_bind_blob64(sign, 4, item->blob.spec, item->blob.spec_len, SQLITE_STATIC);
	else
		sqlite3_bind_null(sign, 4);
	if (db_run(&state->db, sign, NULL, err) < 0)
		return -1;
	if (!was.there)
		return item->credential_share & SHARE_NEXT
		               ? 0
		               : piece_unref(state, credential.piece, err);
	stored_note(state, was.uid, (int64_t)credential.n - was.credential_len);
	if (item->blob.spec_len)
		stored_note(state, was.uid, (int64_t)item->blob.spec_len - was.spec_len);
	return piece_unref(state, was.credential_piece, err);
}

void blob_set_clear(struct blob_set *set)
{
	free(set->v);
	free(set->tags);
	free(set->bytes);
	free(set->stored);
	*set = (struct blob_set){ 0 };
}

/* Keep a copy; what is returned is an offset + 1 while the set grows. */
static const void *set_keep(struct blob_set *set, const void *p, size_t n)
{
	size_t at = set->len;

	if (set->bytes_cap - at < n + 1) {
		set->bytes_cap = (at + n + 1) * 2;
		set->bytes = xrealloc(set->bytes, set->bytes_cap, 1);
	}
	if (n)
		memcpy(set->bytes + at, p, n);
	set->bytes[at + n] = '\0';
	set->len += n + 1;
	return (const void *)(uintptr_t)(at + 1);
}

static int set_keep_part(struct state *state, struct blob_set *set, sqlite3_stmt *row, int piece,
        int own, const void **p, size_t *n, struct error *err)
{
	sqlite3_stmt *data = state->other[SQL_PIECE_DATA_GET];
	int64_t id = sqlite3_column_int64(row, piece);
	int rc;

	if (!id) {
		*n = (size_t)sqlite3_column_bytes(row, own);
		*p = set_keep(set, sqlite3_column_blob(row, own), *n);
		return 0;
	}
	sqlite3_bind_int64(data, 1, id);
	rc = sqlite3_step(data);
	if (rc == SQLITE_ROW) {
		*n = (size_t)sqlite3_column_bytes(data, 0);
		*p = set_keep(set, sqlite3_column_blob(data, 0), *n);
	} else {
		db_error(&state->db, rc, "read a piece of a job", err);
	}
	sqlite3_reset(data);
	return rc == SQLITE_ROW ? 0 : -1;
}

static int blob_read(struct state *state, struct blob_set *set, uint64_t job, struct error *err)
{
	sqlite3_stmt *stmt = state->other[SQL_BLOB_GET];
	struct store_blob *blob = &set->v[set->n];
	int rc = 0;

	*blob = (struct store_blob){ .job = job };
	sqlite3_bind_int64(stmt, 1, (int64_t)job);
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		blob->spec_len = (size_t)sqlite3_column_bytes(stmt, 2);
		blob->uid = (uint32_t)sqlite3_column_int64(stmt, 5);
		blob->ended = sqlite3_column_int64(stmt, 6);
		blob->spec = set_keep(set, sqlite3_column_blob(stmt, 2), blob->spec_len);
		if (set_keep_part(state, set, stmt, 0, 3, &blob->script, &blob->script_len, err) <
		                0 ||
		        set_keep_part(state, set, stmt, 1, 4, &blob->credential,
		                &blob->credential_len, err) < 0)
			rc = -1;
	}
	return db_end(&state->db, stmt, rc < 0 ? NULL : err) < 0 ? -1 : rc;
}

int state_script_want(
        struct state *state, struct blob_set *set, const struct batch_item *item, struct error *err)
{
	if (set->n == set->cap) {
		set->cap = set->cap ? set->cap * 2 : 16;
		set->v = xrealloc(set->v, set->cap, sizeof(*set->v));
		set->tags = xrealloc(set->tags, set->cap, sizeof(*set->tags));
	}
	set->tags[set->n] = item->tag;
	/* Tasks of one array start one after another: read once. */
	if (set->n && set->v[set->n - 1].job == item->blob.job)
		set->v[set->n] = set->v[set->n - 1];
	else if (blob_read(state, set, item->blob.job, err) < 0)
		return -1;
	set->n++;
	return 0;
}

/* All is read, the bytes move no more: make pointers of the offsets. */
void state_scripts_settle(struct blob_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		struct store_blob *blob = &set->v[i];

		if (!blob->spec)
			continue;
		blob->spec = set->bytes + (uintptr_t)blob->spec - 1;
		blob->script = set->bytes + (uintptr_t)blob->script - 1;
		blob->credential = set->bytes + (uintptr_t)blob->credential - 1;
	}
}

/* Erase what is due of jobs that are gone. */
int state_scripts_erase(struct state *state, struct error *err)
{
	int64_t job;
	int rc = 1;

	for (int n = 0; n < STORE_ERASED_MAX && rc > 0; n++) {
		rc = state_ask(state, SQL_BLOB_DUE, state->erase_before, &job, 1, err);
		if (rc > 0 && blob_drop(state, job, err) < 0)
			return -1;
	}
	return rc < 0 ? -1 : 0;
}

/* The job's row goes: its bytes too, unless they are kept for a while. */
int state_script_leave(struct state *state, const struct row *row, struct error *err)
{
	bool whole = row->n == row_columns(TABLE_JOB);
	sqlite3_stmt *stmt = state->other[whole ? SQL_BLOB_END : SQL_BLOB_END_OF_JOB];

	if (row->change != ROW_RETIRE || state->erase_before == INT64_MAX)
		return blob_drop(state, row->v[COL_JOB_id].i, err);
	if (whole && row->v[COL_JOB_end_time].i <= state->erase_before)
		return blob_drop(state, row->v[COL_JOB_id].i, err);
	sqlite3_bind_int64(stmt, 1, row->v[COL_JOB_id].i);
	if (whole)
		sqlite3_bind_int64(stmt, 2, row->v[COL_JOB_end_time].i);
	return db_run(&state->db, stmt, NULL, err);
}
