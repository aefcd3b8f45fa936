/* acctjobs.c - histories out of the accounting of a controller: its history.db; see acctjobs.h
 *
 * A job is what its last attempt had; one that never ran has no duration. The file is only read.
 */
#include "ctld/gsim/history/acctjobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

#define APPLICATION 0x67707568 /* "gpuh" */
#define MAX_NAME    255
#define MAX_NUMBER  1000000000

/* Of its last attempt alone; of all of them. */
#define LAST(x) "CASE WHEN r.attempt = j.attempt THEN " x " END"
#define HELD    "bits(r.gpus) * coalesce(r.elapsed_us, 0)"

/* What is read of a job. `needs` is a column of `table` that files of older releases lack; there
 * the value is NULL. */
struct read_column {
	const char *sql, *table, *needs;
};
enum column {
	ID,
	SUBMIT,
	USER,
	ACCOUNT,
	PARTITION,
	LIMIT,
	ASKED,
	RUNS,
	GPUS,
	CPUS,
	MEM,
	ELAPSED,
	PART,
	STATE,
	LABELS,
	QOS,
	MAX_WAIT,
	BEGIN,
	ELIGIBLE,
	HOLD,
	END,
	START,
	TYPE,
	CHARGE,
	REPLICA,
	COLD,
	GPU_US,
	SEEN_US,
	BUSY_US,
	IDLE_US,
	MEM_MBS,
	COST,
	COLUMNS
};
static const struct read_column columns[COLUMNS] = {
	[ID] = { .sql = "j.id" },
	[SUBMIT] = { .sql = "j.submit_time" },
	[USER] = { .sql = "j.user" },
	[ACCOUNT] = { .sql = "j.account" },
	[PARTITION] = { .sql = "j.partition" },
	[LIMIT] = { .sql = "j.time_limit_s" },
	[ASKED] = { .sql = "j.gpus" },
	[RUNS] = { .sql = "count(" LAST("1") ")" },
	[GPUS] = { .sql = "coalesce(sum(" LAST("bits(r.gpus)") "), 0)" },
	[CPUS] = { .sql = "coalesce(sum(" LAST("r.cpus") "), 0)" },
	[MEM] = { .sql = "coalesce(sum(" LAST("r.mem_mb") "), 0)" },
	[ELAPSED] = { .sql = "coalesce(max(" LAST("r.elapsed_us") "), -1)" },
	[PART] = { .sql = "j.part" },
	[STATE] = { "j.state", "job", "state" },
	[LABELS] = { "j.labels", "job", "labels" },
	[QOS] = { "j.qos", "job", "qos" },
	[MAX_WAIT] = { "j.max_wait_s", "job", "max_wait_s" },
	[BEGIN] = { "j.begin_time", "job", "begin_time" },
	[ELIGIBLE] = { "j.eligible_time", "job", "eligible_time" },
	[HOLD] = { "j.hold", "job", "hold" },
	[END] = { "j.end_time", "job", "end_time" },
	[START] = { "min(nullif(r.start_time, 0))", "run", "start_time" },
	[TYPE] = { "max(" LAST("r.gpu_type") ")", "run", "gpu_type" },
	[CHARGE] = { "max(" LAST("r.share_charge") ")", "run", "share_charge" },
	[REPLICA] = { "max(r.health)", "run", "health" },
	[COLD] = { "avg(CASE WHEN r.ready_time > r.start_time THEN r.ready_time - r.start_time "
	           "END)",
	        "run", "ready_time" },
	[GPU_US] = { .sql = "sum(" HELD ")" },
	[SEEN_US] = { "sum(r.gpu_seen_us)", "run", "gpu_seen_us" },
	[BUSY_US] = { "sum(r.gpu_busy_us)", "run", "gpu_busy_us" },
	[IDLE_US] = { "sum(r.gpu_idle_us)", "run", "gpu_idle_us" },
	[MEM_MBS] = { "sum(r.gpu_mem_mbs)", "run", "gpu_mem_mbs" },
	[COST] = { "sum(r.cost_u)", "run", "cost_u" },
};

static const char from[] =
        " FROM job j LEFT JOIN run r ON r.job = j.id AND r.task = max(j.part - 1, 0) "
        "WHERE j.part > 0 OR j.array = '' " /* of an array its tasks */
        "GROUP BY j.id, j.part ORDER BY j.submit_time, j.id, j.part";

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

/* Does the file's table have the column? */
static int has_column(sqlite3 *db, const struct read_column *c)
{
	sqlite3_stmt *s = NULL;
	int found = -1;

	if (sqlite3_prepare_v2(db, "SELECT count(*) FROM pragma_table_info(?) WHERE name = ?", -1,
	            &s, NULL) == SQLITE_OK &&
	        sqlite3_bind_text(s, 1, c->table, -1, SQLITE_STATIC) == SQLITE_OK &&
	        sqlite3_bind_text(s, 2, c->needs, -1, SQLITE_STATIC) == SQLITE_OK &&
	        sqlite3_step(s) == SQLITE_ROW)
		found = sqlite3_column_int(s, 0) > 0;
	sqlite3_finalize(s);
	return found;
}

static int prepare_rows(struct acctjobs *a)
{
	struct strbuf query = { 0 };
	int rc = SQLITE_OK, has = 0, i;

	for (i = 0; i < COLUMNS && has >= 0; i++) {
		has = columns[i].needs ? has_column(a->db, &columns[i]) : 1;
		strbuf_addf(&query, "%s%s", i ? ", " : "SELECT ", has ? columns[i].sql : "NULL");
	}
	strbuf_adds(&query, from);
	rc = has < 0 ? SQLITE_ERROR : sqlite3_prepare_v2(a->db, query.s, -1, &a->rows, NULL);
	strbuf_free(&query);
	return rc;
}

void *acct_begin(sqlite3 *db, const char *path, const struct history_options *o, struct error *err)
{
	struct acctjobs *a = xcalloc(1, sizeof(*a));

	a->path = path;
	a->accounts = o->account_column;
	a->db = db;
	if (sqlite3_create_function(db, "bits", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
	            count_bits, NULL, NULL) == SQLITE_OK &&
	        prepare_rows(a) == SQLITE_OK)
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

/* What cannot be, is not known. Two of them can be added. */
static uint64_t amount_at(const struct acctjobs *a, enum column c)
{
	int64_t v = sqlite3_column_int64(a->rows, (int)c);

	return v > 0 && v <= INT64_MAX / 2 ? (uint64_t)v : 0;
}

static void read_past(const struct acctjobs *a, struct history_past *p)
{
	uint64_t eligible = amount_at(a, ELIGIBLE);

	p->known = true;
	p->part = (uint32_t)amount_at(a, PART);
	p->state = text_at(a, STATE);
	p->qos = text_at(a, QOS);
	p->asked = text_at(a, ASKED);
	p->gpu_type = text_at(a, TYPE);
	p->labels = text_at(a, LABELS);
	p->eligible = (usec_t)(eligible ? eligible : amount_at(a, BEGIN));
	p->eligible_known = eligible;
	p->start = (usec_t)amount_at(a, START);
	p->end = (usec_t)amount_at(a, END);
	p->max_wait_s = (uint32_t)amount_at(a, MAX_WAIT);
	p->charge = (uint32_t)amount_at(a, CHARGE);
	p->held = amount_at(a, HOLD) > 0;
	p->replica = amount_at(a, REPLICA) > 0;
	p->cold_start = (usec_t)amount_at(a, COLD);
	p->gpu_us = amount_at(a, GPU_US);
	p->gpu_seen_us = amount_at(a, SEEN_US);
	p->gpu_busy_us = amount_at(a, BUSY_US);
	p->gpu_idle_us = amount_at(a, IDLE_US);
	p->gpu_mem_mbs = amount_at(a, MEM_MBS);
	p->cost_u = (int64_t)amount_at(a, COST);
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
	read_past(a, &job->past);
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
	err->code = ERR_CONFIG;
	error_wrap(err, "%s:%lu", a->path, job->line);
	return HISTORY_BAD;
}

const struct history_reader history_accounting = { acct_open, acct_next, acct_close };
