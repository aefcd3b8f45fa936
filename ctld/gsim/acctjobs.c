/* acctjobs.c - histories out of the accounting of a controller: its history.db; see acctjobs.h
 *
 * A job is what its last attempt had; one that never ran has no duration. The file is only read.
 */
#include "ctld/gsim/acctjobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

#define APPLICATION 0x67707568 /* "gpuh" */
#define MAX_NAME    255
#define MAX_NUMBER  1000000000

enum column { ID, SUBMIT, USER, ACCOUNT, PARTITION, LIMIT, ASKED, RUNS, GPUS, CPUS, MEM, ELAPSED };

static const char query[] =
        "SELECT j.id, j.submit_time, j.user, j.account, j.partition, j.time_limit_s, j.gpus, "
        "count(r.job), coalesce(sum(bits(r.gpus)), 0), coalesce(sum(r.cpus), 0), "
        "coalesce(sum(r.mem_mb), 0), coalesce(max(r.elapsed_us), -1) "
        "FROM job j LEFT JOIN run r ON r.job = j.id AND r.attempt = j.attempt "
        "AND r.task = max(j.part - 1, 0) "
        "WHERE j.part > 0 OR j.array = '' " /* of an array its tasks */
        "GROUP BY j.id, j.part ORDER BY j.submit_time, j.id, j.part";

const char acct_schema[] =
        "CREATE TABLE job (id INTEGER, part INTEGER, submit_time INTEGER, user TEXT, account TEXT, "
        "partition TEXT, time_limit_s INTEGER, gpus TEXT, array TEXT, attempt INTEGER, state TEXT, "
        "PRIMARY KEY (id, part)) WITHOUT ROWID;"
        "CREATE TABLE run (job INTEGER, task INTEGER, attempt INTEGER, rank INTEGER, gpus INTEGER, "
        "cpus INTEGER, mem_mb INTEGER, elapsed_us INTEGER, PRIMARY KEY (job, task, attempt, rank)) "
        "WITHOUT ROWID";

struct acctjobs {
	const char *path; /* borrowed */
	sqlite3 *db;
	sqlite3_stmt *rows;
	bool accounts;
	char name[24], types[MAX_NAME + 1];
};

void acct_close(void *reader)
{
	struct acctjobs *a = reader;

	sqlite3_finalize(a->rows);
	sqlite3_close(a->db);
	free(a);
}

static int database_error(sqlite3 *db, const char *path, struct error *err)
{
	return error_set(err, ERR_SYSTEM, "%s: %s", path, sqlite3_errmsg(db));
}

/* The GPUs of a run are a set: one bit for each. */
static void count_bits(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	sqlite3_result_int(c, __builtin_popcountll((uint64_t)sqlite3_value_int64(v[0])));
}

void *acct_begin(sqlite3 *db, const char *path, const struct history_options *o, struct error *err)
{
	struct acctjobs *a = xcalloc(1, sizeof(*a));

	a->path = path;
	a->accounts = o->account_column;
	a->db = db;
	if (sqlite3_create_function(db, "bits", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
	            count_bits, NULL, NULL) == SQLITE_OK &&
	        sqlite3_prepare_v2(db, query, -1, &a->rows, NULL) == SQLITE_OK)
		return a;
	database_error(db, path, err);
	acct_close(a);
	return NULL;
}

static int check_kind(sqlite3 *db, const char *path, struct error *err)
{
	sqlite3_stmt *s = NULL;
	int kind = 0;

	if (sqlite3_prepare_v2(db, "PRAGMA application_id", -1, &s, NULL) != SQLITE_OK ||
	        sqlite3_step(s) != SQLITE_ROW) {
		sqlite3_finalize(s);
		return database_error(db, path, err);
	}
	kind = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	if (kind == APPLICATION)
		return 0;
	return error_set(err, ERR_CONFIG, "%s: not the history.db of a controller", path);
}

static void *acct_open(const char *path, const struct history_options *o, struct error *err)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
	        sqlite3_busy_timeout(db, 10000) != SQLITE_OK)
		database_error(db, path, err);
	else if (check_kind(db, path, err) == 0)
		return acct_begin(db, path, o, err);
	sqlite3_close(db);
	return NULL;
}

/* The types of "h100:2|l40s:4" that are to be had for `gpus`: those of the first number. */
static void read_types(struct acctjobs *a, const char *asked)
{
	size_t used = 0, first = 0, n;
	const char *count = NULL;

	for (; *asked; asked += n + (asked[n] == '|')) {
		const char *colon;
		size_t digits;

		n = strcspn(asked, "|");
		colon = memchr(asked, ':', n);
		if (!colon || (colon - asked == 3 && !strncmp(asked, "any", 3)))
			continue;
		digits = n - (size_t)(colon - asked);
		if (!count) {
			count = colon;
			first = digits;
		} else if (digits != first || strncmp(count, colon, digits) != 0) {
			continue;
		}
		if (used + (size_t)(colon - asked) + 2 > sizeof(a->types))
			break;
		if (used)
			a->types[used++] = '|';
		memcpy(a->types + used, asked, (size_t)(colon - asked));
		used += (size_t)(colon - asked);
	}
	a->types[used] = '\0';
}

static const char *text_at(const struct acctjobs *a, enum column c)
{
	const unsigned char *text = sqlite3_column_text(a->rows, c);

	return text ? (const char *)text : "";
}

static int read_row(struct acctjobs *a, struct history_job *job, struct error *err)
{
	static const struct {
		enum column column;
		const char *what;
		int64_t least, most;
	} numbers[] = {
		{ SUBMIT, "submit_time", 0, INT64_MAX / 2 },
		{ LIMIT, "time_limit_s", 0, MAX_NUMBER },
		{ GPUS, "gpus of its runs", 0, MAX_NUMBER },
		{ CPUS, "cpus of its runs", 0, MAX_NUMBER },
		{ MEM, "mem_mb of its runs", 0, INT64_MAX / 1024 },
		{ ELAPSED, "elapsed_us of its runs", -1, INT64_MAX / 2 },
	};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int64_t v = sqlite3_column_int64(a->rows, (int)numbers[i].column);

		if (v < numbers[i].least || v > numbers[i].most)
			return error_set(err, ERR_USAGE, "%s: %lld cannot be", numbers[i].what,
			        (long long)v);
	}
	if (text_check("user", text_at(a, USER), MAX_NAME, err) < 0 ||
	        text_check("account", text_at(a, ACCOUNT), MAX_NAME, err) < 0 ||
	        text_check("partition", text_at(a, PARTITION), MAX_NAME, err) < 0 ||
	        text_check("gpus", text_at(a, ASKED), MAX_NAME, err) < 0)
		return -1;
	read_types(a, text_at(a, ASKED));
	snprintf(a->name, sizeof(a->name), "%lu", job->line);
	job->name = a->name;
	job->user = text_at(a, USER);
	job->account = a->accounts ? text_at(a, ACCOUNT) : "";
	job->partition = text_at(a, PARTITION);
	job->gpu_type = a->types;
	job->submit = sqlite3_column_int64(a->rows, SUBMIT);
	job->duration = sqlite3_column_int64(a->rows, ELAPSED);
	job->time_limit = sqlite3_column_int64(a->rows, LIMIT) * 1000000;
	job->gpus = (uint32_t)sqlite3_column_int64(a->rows, GPUS);
	job->nodes = (uint32_t)sqlite3_column_int64(a->rows, RUNS);
	job->nodes = job->nodes > 1 ? job->nodes : 0;
	job->cpus = (uint32_t)sqlite3_column_int64(a->rows, CPUS);
	job->mem_mb = (uint64_t)sqlite3_column_int64(a->rows, MEM);
	return 0;
}

enum history_result acct_next(void *reader, struct history_job *job, struct error *err)
{
	struct acctjobs *a = reader;
	int r = sqlite3_step(a->rows);

	if (r == SQLITE_DONE)
		return HISTORY_END;
	if (r != SQLITE_ROW) {
		database_error(a->db, a->path, err);
		return HISTORY_FAILED;
	}
	*job = (struct history_job){ .group = "",
		.gpu_milli = 1000,
		.line = (unsigned long)sqlite3_column_int64(a->rows, ID) };
	if (read_row(a, job, err) == 0)
		return HISTORY_JOB;
	error_wrap(err, "%s:%lu", a->path, job->line);
	return HISTORY_BAD;
}

const struct history_reader history_accounting = { acct_open, acct_next, acct_close };
