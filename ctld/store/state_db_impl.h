/* state_db_impl.h - what state_db.c and job_scripts.c share; nothing else includes it */
#ifndef CTLD_STORE_STATE_DB_IMPL_H
#define CTLD_STORE_STATE_DB_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "ctld/core/rows/row.h"
#include "ctld/store/batch_items.h"
#include "ctld/store/db.h"
#include "ctld/store/state_db.h"

#define RECENT_SCRIPTS 1024 /* a power of two */
#define HASH_SIZE      32

struct recent_script {
	uint8_t hash[HASH_SIZE];
	uint32_t uid;
	int64_t piece; /* 0: none here */
};

struct state {
	struct db db;
	sqlite3_stmt *tables[TABLE_COUNT][SQL_KEPT];
	sqlite3_stmt *other[SQL_STATEMENT_COUNT];
	uint64_t ended;
	int64_t last_piece;
	int64_t erase_before;                   /* of the batch that is applied */
	int64_t script_piece, credential_piece; /* of the blob before, while a batch is applied */
	struct recent_script recent[RECENT_SCRIPTS];
	struct blob_set *told; /* while a batch is applied: what its commit will tell */
};

/* --- state_db.c */

/* Run a statement that returns no rows, or one integer that goes to *number (NULL: not wanted). */
int state_run(struct state *state, enum sql_statement which, int64_t *number, struct error *err);
/* One whose parameters are integers. */
int state_run_ints(struct state *state, enum sql_statement which, int64_t a, int64_t b,
        int64_t *number, struct error *err);
/* The integers of the row with that key: db_integers(). */
int state_ask(struct state *state, enum sql_statement which, int64_t key, int64_t *v, size_t n,
        struct error *err);

/* --- job_scripts.c: all within a transaction; -1 with `err` */

/* What a job's owner signed: its bytes; another signature of the same bytes. */
int state_script_put(struct state *state, const struct batch_item *item, struct error *err);
int state_script_sign(struct state *state, const struct batch_item *item, struct error *err);

/* The job's row goes: its bytes too, unless they are kept for a while. */
int state_script_leave(struct state *state, const struct row *row, struct error *err);
/* Erase what is due of jobs that are gone, some at a time. */
int state_scripts_erase(struct state *state, struct error *err);

/* How many bytes each user has, where that has changed: one row a user. */
int state_stored_write(struct state *state, struct error *err);

/* Read what a batch asks for, into the set; when all is read its pointers are set. */
int state_script_want(
        struct state *state, struct blob_set *set, const struct batch_item *item, struct error *err);
void state_scripts_settle(struct blob_set *set);

#endif
