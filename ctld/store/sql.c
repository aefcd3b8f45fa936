/* sql.c - see sql.h */
#include "ctld/store/sql.h"

#include <string.h>

#include "common/base/strbuf.h"
#include "ctld/core/rows/row_codec.h"

/* clang-format off */

/* Columns of a new table. A list of columns takes a macro for each type. */
#define INTEGER(name) ", " #name " INTEGER NOT NULL"
#define TEXT(name)    ", " #name " TEXT NOT NULL"
#define BLOB(name)    ", " #name " BLOB NOT NULL"
#define NAME(name)    ", " #name

/* A column that a table gets later: 0 or "" in the rows that are there. */
#define ADD_INTEGER(table, name) \
	"ALTER TABLE " table " ADD COLUMN " #name " INTEGER NOT NULL DEFAULT 0;"
#define ADD_TEXT(table, name) \
	"ALTER TABLE " table " ADD COLUMN " #name " TEXT NOT NULL DEFAULT '';"

/* For a table and for that of its rows that have ended. */
#define BOTH(gets, table) gets(table) gets("ended_" table)

#define JOB_OLDEST(INTEGER, TEXT, BLOB) \
	INTEGER(uid) INTEGER(gid) TEXT(user) TEXT(account) TEXT(partition) TEXT(name) TEXT(state) \
	INTEGER(hold) TEXT(gpus) INTEGER(cpus) INTEGER(mem_mb) INTEGER(time_limit_s) \
	INTEGER(warn_signal) INTEGER(warn_before_s) INTEGER(requeue) INTEGER(nice) TEXT(labels) \
	TEXT(submit_host) BLOB(cwd) BLOB(output) BLOB(error) TEXT(array) BLOB(nonce) \
	BLOB(spec_hash) INTEGER(sign_time) INTEGER(submit_time) INTEGER(start_time) \
	INTEGER(end_time) INTEGER(attempt) INTEGER(max_attempts) INTEGER(exit_code) \
	INTEGER(exit_signal) INTEGER(end_cause) TEXT(comment)
#define JOB_OLDER(INTEGER, TEXT) \
	TEXT(place) TEXT(qos) INTEGER(max_wait_s) INTEGER(planned_start) INTEGER(begin_time) \
	INTEGER(deadline) TEXT(depends) INTEGER(kill_invalid) TEXT(remark) INTEGER(mail_types) \
	TEXT(mail_user) TEXT(requeue_on) INTEGER(requeue_delay_s) INTEGER(limit_cut)
#define JOB_TABLE_1 "id INTEGER PRIMARY KEY" JOB_OLDEST(INTEGER, TEXT, BLOB)
/* The tasks of an array have rows of their own: the key is no longer the id alone. */
#define JOB_TABLE_2 \
	"id INTEGER NOT NULL" INTEGER(part) JOB_OLDEST(INTEGER, TEXT, BLOB) \
	JOB_OLDER(INTEGER, TEXT) TEXT(tasks) INTEGER(at_once) INTEGER(next_part) \
	INTEGER(tasks_ended) INTEGER(tasks_failed) INTEGER(tasks_cancelled) \
	", PRIMARY KEY (id, part)"
#define JOB_NAMES JOB_OLDEST(NAME, NAME, NAME) JOB_OLDER(NAME, NAME)

#define RUN_OLDEST(INTEGER, TEXT) \
	TEXT(node) TEXT(state) TEXT(gpu_type) INTEGER(gpus) INTEGER(cpus) INTEGER(mem_mb) \
	TEXT(incarnation) INTEGER(epoch) INTEGER(order_time) INTEGER(start_time) INTEGER(end_time) \
	INTEGER(elapsed_us) INTEGER(exit_code) INTEGER(exit_signal) INTEGER(end_wanted) \
	INTEGER(end_cause) TEXT(detail) INTEGER(cpu_time_us) INTEGER(max_rss_kb) INTEGER(uid)
#define RUN_TABLE_1 \
	"job INTEGER NOT NULL" INTEGER(task) INTEGER(attempt) RUN_OLDEST(INTEGER, TEXT) \
	", PRIMARY KEY (job, task, attempt)"
#define RUN_TABLE_2 \
	"job INTEGER NOT NULL" INTEGER(task) INTEGER(attempt) INTEGER(rank) \
	RUN_OLDEST(INTEGER, TEXT) ", PRIMARY KEY (job, task, attempt, rank)"

#define EVENT_TABLE_1 \
	"seq INTEGER PRIMARY KEY" INTEGER(time) TEXT(kind) INTEGER(uid) TEXT(host) INTEGER(job) \
	TEXT(node) TEXT(text)
#define STEP_TABLE_1 \
	"job INTEGER NOT NULL" INTEGER(task) INTEGER(attempt) INTEGER(step) TEXT(name) TEXT(state) \
	TEXT(nodelist) INTEGER(nodes) INTEGER(tasks) INTEGER(cpus) INTEGER(gpus) \
	INTEGER(start_time) INTEGER(end_time) INTEGER(exit_code) INTEGER(exit_signal) \
	INTEGER(cpu_time_us) INTEGER(max_rss_kb) ", PRIMARY KEY (job, task, attempt, step)"
#define GENERATION_1(role) \
	INTEGER(role##_job) INTEGER(role##_number) INTEGER(role##_slots) INTEGER(role##_drain_s) \
	INTEGER(role##_valid_days) TEXT(role##_spec)
#define SERVICE_TABLE_1 \
	"name TEXT NOT NULL PRIMARY KEY" TEXT(user) INTEGER(uid) TEXT(account) TEXT(burst_qos) \
	INTEGER(wanted) INTEGER(paused) INTEGER(stopping) INTEGER(min) INTEGER(max) INTEGER(kept) \
	INTEGER(target_milli) INTEGER(kv_target_milli) INTEGER(window_s) INTEGER(burst_window_s) \
	INTEGER(scale_down_s) INTEGER(to_zero_s) INTEGER(request_wait_ms) INTEGER(surge) \
	INTEGER(settle_s) GENERATION_1(present) GENERATION_1(next) GENERATION_1(undo) \
	GENERATION_1(leaving) INTEGER(last_number) INTEGER(submit_time) TEXT(decision) \
	INTEGER(decision_time) TEXT(trouble)

/* What tables got later, each with a step of its own below. */
#define JOB_GETS_PLACE(t) ADD_TEXT(t, place)
#define JOB_GETS_QOS(t)   ADD_TEXT(t, qos) ADD_INTEGER(t, max_wait_s) ADD_INTEGER(t, planned_start)
#define JOB_GETS_DEPENDS(t) \
	ADD_INTEGER(t, begin_time) ADD_INTEGER(t, deadline) ADD_TEXT(t, depends) \
	ADD_INTEGER(t, kill_invalid)
#define JOB_GETS_WISHES(t) \
	ADD_TEXT(t, remark) ADD_INTEGER(t, mail_types) ADD_TEXT(t, mail_user) \
	ADD_TEXT(t, requeue_on) ADD_INTEGER(t, requeue_delay_s) ADD_INTEGER(t, limit_cut)
#define JOB_GETS_PART(t) \
	"ALTER TABLE " t " RENAME TO job_without_part;" \
	"CREATE TABLE " t " (" JOB_TABLE_2 ") STRICT, WITHOUT ROWID;" \
	"INSERT INTO " t " (id, part" JOB_NAMES ", tasks, at_once, next_part, " \
		"tasks_ended, tasks_failed, tasks_cancelled) " \
		"SELECT id, 0" JOB_NAMES ", '', 0, 0, 0, 0, 0 FROM job_without_part;" \
	"DROP TABLE job_without_part;"
#define JOB_GETS_STEPS(t)      ADD_INTEGER(t, steps)
#define JOB_GETS_RAW_IDS(t)    ADD_INTEGER(t, raw_ids)
#define JOB_GETS_PARTITIONS(t) ADD_TEXT(t, partitions) ADD_TEXT(t, partition_needs)
#define JOB_GETS_ELIGIBLE(t)   ADD_INTEGER(t, eligible_time)
#define JOB_GETS_SHOWN(t)      ADD_INTEGER(t, show_output)
#define RUN_GETS_RANK(t) \
	"ALTER TABLE " t " RENAME TO run_without_rank;" \
	"CREATE TABLE " t " (" RUN_TABLE_2 ") STRICT, WITHOUT ROWID;" \
	"INSERT INTO " t " (job, task, attempt, rank" RUN_OLDEST(NAME, NAME) ") " \
		"SELECT job, task, attempt, 0" RUN_OLDEST(NAME, NAME) " FROM run_without_rank;" \
	"DROP TABLE run_without_rank;"
#define RUN_GETS_NODES(t)      "ALTER TABLE " t " ADD COLUMN nodes INTEGER NOT NULL DEFAULT 1;"
#define RUN_GETS_BILLED(t)     ADD_TEXT(t, account) ADD_INTEGER(t, billed_us) ADD_INTEGER(t, cost_u)
#define RUN_GETS_CHECKPOINT(t) ADD_INTEGER(t, checkpoint_time)
#define RUN_GETS_SUSPENDED(t) \
	ADD_INTEGER(t, suspend_wanted) ADD_INTEGER(t, suspend_time) ADD_INTEGER(t, suspended_us)
#define RUN_GETS_USED(t) \
	ADD_INTEGER(t, read_bytes) ADD_INTEGER(t, written_bytes) ADD_INTEGER(t, gpu_seen_us) \
	ADD_INTEGER(t, gpu_busy_us) ADD_INTEGER(t, gpu_idle_us) ADD_INTEGER(t, gpu_mem_peak_mb) \
	ADD_INTEGER(t, energy_mj)
#define RUN_GETS_SHARE(t) \
	ADD_INTEGER(t, share_milli) ADD_INTEGER(t, share_mb) ADD_INTEGER(t, share_charge)
#define RUN_GETS_HEALTH(t) \
	ADD_INTEGER(t, health) ADD_INTEGER(t, ready_time) ADD_INTEGER(t, ready_us) \
	ADD_TEXT(t, address) ADD_TEXT(t, ports) ADD_INTEGER(t, requests) ADD_INTEGER(t, tokens)
#define RUN_GETS_MEM_TIME(t) ADD_INTEGER(t, gpu_mem_mbs)

/* state.db. 0x67707573 is "gpus". Events wait in their own table for the move to history.db. */
static const char *const state_steps[] = {
	"PRAGMA application_id = 0x67707573;"
	"CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE node (name TEXT NOT NULL PRIMARY KEY" INTEGER(drain) INTEGER(down)
		TEXT(reason) INTEGER(reason_uid) INTEGER(reason_time) TEXT(incarnation)
		TEXT(boot_id) INTEGER(cpus) INTEGER(mem_mb) ") STRICT, WITHOUT ROWID;"
	"CREATE TABLE job (" JOB_TABLE_1 ") STRICT;"
	"CREATE TABLE run (" RUN_TABLE_1 ") STRICT, WITHOUT ROWID;"
	"CREATE TABLE nonce (uid INTEGER NOT NULL" BLOB(nonce) BLOB(spec_hash) INTEGER(job)
		INTEGER(expires) ", PRIMARY KEY (uid, nonce)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE event (" EVENT_TABLE_1 ") STRICT;"
	"CREATE TABLE blob (job INTEGER PRIMARY KEY" INTEGER(script_piece) INTEGER(credential_piece)
		BLOB(spec) BLOB(script) BLOB(credential) ") STRICT;"
	"CREATE TABLE piece (id INTEGER PRIMARY KEY, refs INTEGER NOT NULL) STRICT;"
	"CREATE TABLE piece_data (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;",

	/* What has ended waits here until it is in history.db. */
	"CREATE TABLE ended_job (" JOB_TABLE_1 ") STRICT;"
	"CREATE TABLE ended_run (" RUN_TABLE_1 ") STRICT, WITHOUT ROWID;",

	/* An attempt may have many runs, told apart by rank. */
	BOTH(RUN_GETS_RANK, "run"),

	/* The nodes that a job may use. */
	BOTH(JOB_GETS_PLACE, "job"),

	/* The QOS of a job, and the first start that was planned for it. */
	BOTH(JOB_GETS_QOS, "job"),

	/* What users used in their accounts. */
	"CREATE TABLE usage (account TEXT NOT NULL" INTEGER(uid) TEXT(user) INTEGER(gpu_us)
		INTEGER(cpu_us) INTEGER(cost_u) INTEGER(runs) INTEGER(decayed_u)
		INTEGER(decayed_time) ", PRIMARY KEY (account, uid)) STRICT, WITHOUT ROWID;",

	/* How many runs an attempt has. */
	BOTH(RUN_GETS_NODES, "run"),

	/* Runs are billed to an account. */
	BOTH(RUN_GETS_BILLED, "run")
	"UPDATE run SET account = coalesce((SELECT account FROM job WHERE id = run.job), '');",

	/* What counts for limits of GPU-hours. */
	"CREATE TABLE hours (scope TEXT NOT NULL" TEXT(name) INTEGER(uid) INTEGER(start)
		INTEGER(end_time) INTEGER(until) INTEGER(gpu_us)
		", PRIMARY KEY (scope, name, uid, start)) STRICT, WITHOUT ROWID;",

	/* Up to when the work of a run is safe. */
	BOTH(RUN_GETS_CHECKPOINT, "run"),

	/* Runs can be suspended. */
	BOTH(RUN_GETS_SUSPENDED, "run"),

	/* When jobs may begin, and what they wait for. */
	BOTH(JOB_GETS_DEPENDS, "job"),

	/* Remarks, mail, and when to run again. */
	BOTH(JOB_GETS_WISHES, "job"),

	/* How jobs ended that are in history. */
	"CREATE TABLE fate (page INTEGER PRIMARY KEY, bits BLOB NOT NULL) STRICT;",

	/* Arrays. */
	BOTH(JOB_GETS_PART, "job"),

	/* The signed bytes may outlive their job for a while. */
	ADD_INTEGER("blob", uid) ADD_INTEGER("blob", ended)
	"CREATE INDEX blob_by_end ON blob (ended) WHERE ended > 0;",

	/* Which GPU has which index. */
	ADD_TEXT("node", gpus),

	/* GPUs of a node that the configuration says nothing of. */
	ADD_TEXT("node", found),

	/* What runs used of their GPUs. */
	BOTH(RUN_GETS_USED, "run"),

	/* GPUs that are drained one by one. */
	ADD_TEXT("node", health),

	/* Parts of GPUs. */
	BOTH(RUN_GETS_SHARE, "run"),

	/* What agents have told of GPUs. */
	ADD_INTEGER("node", faults_seen),

	/* How many bytes of signed jobs each user has here. */
	ADD_INTEGER("piece", uid) ADD_INTEGER("piece", bytes)
	"UPDATE blob SET uid = coalesce((SELECT uid FROM job WHERE id = blob.job AND part = 0), "
		"uid) WHERE ended = 0;"
	"UPDATE piece SET bytes = coalesce((SELECT length(data) FROM piece_data "
		"WHERE id = piece.id), 0);"
	"UPDATE piece SET uid = owner.uid FROM (SELECT piece, max(uid) AS uid FROM "
		"(SELECT script_piece AS piece, uid FROM blob "
		"UNION ALL SELECT credential_piece, uid FROM blob) GROUP BY piece) AS owner "
		"WHERE owner.piece = piece.id;"
	"CREATE TABLE stored (uid INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;"
	"INSERT INTO stored SELECT uid, sum(bytes) FROM (SELECT uid, "
		"length(spec) + length(script) + length(credential) AS bytes FROM blob "
		"UNION ALL SELECT uid, bytes FROM piece) GROUP BY uid;",

	/* Pages have sums (page_checksums.h), and backups none of their own. */
	"DELETE FROM meta WHERE key = 'sum';",

	/* Jobs can have steps. */
	BOTH(JOB_GETS_STEPS, "job"),

	/* Steps that have ended wait here until they are in history.db; array tasks have ids of
	 * their own. */
	"CREATE TABLE step (" STEP_TABLE_1 ") STRICT, WITHOUT ROWID;"
	BOTH(JOB_GETS_RAW_IDS, "job"),

	/* A job can wait in several partitions. */
	BOTH(JOB_GETS_PARTITIONS, "job"),

	/* Services, and what nodes say of their replicas. */
	"CREATE TABLE service (" SERVICE_TABLE_1 ") STRICT, WITHOUT ROWID;"
	BOTH(RUN_GETS_HEALTH, "run"),

	/* Since when a job was eligible; memory of GPUs over time. */
	BOTH(JOB_GETS_ELIGIBLE, "job")
	BOTH(RUN_GETS_MEM_TIME, "run")
	"UPDATE job SET eligible_time = max(submit_time, begin_time) "
		"WHERE state = 'PENDING' AND attempt = 0 AND hold = 0 AND depends = '';",

	/* Nodes that a service avoids. */
	ADD_TEXT("service", avoids),

	/* Owners agree that the end of a job's output is shown. */
	BOTH(JOB_GETS_SHOWN, "job"),
};

/* history.db. 0x67707568 is "gpuh". */
static const char *const history_steps[] = {
	"PRAGMA application_id = 0x67707568;"
	"CREATE TABLE job (" JOB_TABLE_1 ") STRICT;"
	"CREATE TABLE run (" RUN_TABLE_1 ") STRICT, WITHOUT ROWID;"
	"CREATE TABLE event (" EVENT_TABLE_1 ") STRICT;",

	RUN_GETS_RANK("run"),

	JOB_GETS_PLACE("job"),

	JOB_GETS_QOS("job"),

	RUN_GETS_NODES("run"),

	RUN_GETS_BILLED("run"),

	RUN_GETS_CHECKPOINT("run"),

	RUN_GETS_SUSPENDED("run"),

	/* Indices for the usual queries: the jobs of a time, of a user, of an account; the events
	 * of a user. */
	"CREATE INDEX job_by_time ON job (end_time);"
	"CREATE INDEX job_by_user ON job (user, end_time);"
	"CREATE INDEX job_by_account ON job (account, end_time);"
	"CREATE INDEX event_by_time ON event (time);"
	"CREATE INDEX event_by_job ON event (job, time) WHERE job > 0;"
	"CREATE INDEX event_by_user ON event (uid, time);",

	JOB_GETS_DEPENDS("job"),

	JOB_GETS_WISHES("job"),

	JOB_GETS_PART("job")
	"CREATE INDEX job_by_time ON job (end_time);"
	"CREATE INDEX job_by_user ON job (user, end_time);"
	"CREATE INDEX job_by_account ON job (account, end_time);",

	/* Which cluster the history belongs to, because copies of it may be anywhere. */
	"CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;",

	RUN_GETS_USED("run"),

	/* The capacity of the cluster over time, for reports. */
	"CREATE INDEX event_of_capacity ON event (time, seq) WHERE kind = 'cluster.capacity';",

	RUN_GETS_SHARE("run"),

	/* Pages have sums (page_checksums.h): a program that knows nothing of them must not write
	 * here. */
	"",

	JOB_GETS_STEPS("job"),

	"CREATE TABLE step (" STEP_TABLE_1 ") STRICT, WITHOUT ROWID;"
	JOB_GETS_RAW_IDS("job"),

	JOB_GETS_PARTITIONS("job"),

	RUN_GETS_HEALTH("run"),

	JOB_GETS_ELIGIBLE("job")
	RUN_GETS_MEM_TIME("run"),

	JOB_GETS_SHOWN("job"),
};
/* clang-format on */

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

const struct sql_schema sql_state_schema = {
	.file = "state.db",
	.application_id = 0x67707573,
	.remedy = "restore a backup, then start with --takeover",
	.steps = state_steps,
	.version = LENGTH(state_steps),
};

const struct sql_schema sql_history_schema = {
	.file = "history.db",
	.application_id = 0x67707568,
	.remedy = "put an older copy in its place, or move it away: gacct then begins anew",
	.steps = history_steps,
	.shared = true,
	.version = LENGTH(history_steps),
};

#define X(sym, text) [sym] = text,
const char *const sql_statements[SQL_STATEMENT_COUNT] = { SQL_STATEMENTS(X) };
#undef X

#define X(sym, text) [sym] = text,
const char *const sql_trims[SQL_TRIM_COUNT] = { SQL_TRIMS(X) };
#undef X

const struct sql_setting sql_shared_locking = { "PRAGMA locking_mode = NORMAL", "normal" };
const struct sql_setting sql_settings[] = {
	{ "PRAGMA locking_mode = EXCLUSIVE", "exclusive" },
	{ "PRAGMA journal_mode = WAL", "wal" },
	{ "PRAGMA synchronous = FULL", "" },
	{ "PRAGMA synchronous", "2" },
	{ "PRAGMA wal_autocheckpoint = 0", "0" },
	{ "PRAGMA mmap_size = 0", "" },
	{ "PRAGMA temp_store = MEMORY", "" },
	{ "PRAGMA cache_size = -4096", "" },
	{ "PRAGMA secure_delete = ON", "" },
	{ "PRAGMA cell_size_check = ON", "" },
	{ "PRAGMA trusted_schema = OFF", "" },
};
const size_t sql_n_settings = LENGTH(sql_settings);

const char sql_n_things[] = "SELECT count(*) FROM sqlite_master";
const char sql_version[] = "PRAGMA user_version";
const char sql_application_id[] = "PRAGMA application_id";
const char sql_quick_check[] = "PRAGMA quick_check(1)";
const char sql_integrity_check[] = "PRAGMA integrity_check(1)";
/* What VACUUM writes on its way may be larger than memory. */
const char sql_write_anew[] = "PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY";
const char sql_table_names[] = "SELECT name FROM sqlite_master WHERE type = 'table'";
const char sql_check_table[] = "PRAGMA quick_check(%Q)";
const char sql_count_jobs[] = "SELECT count(*) FROM job";
const char sql_count_runs[] = "SELECT count(*) FROM run";
const char sql_page_count[] = "PRAGMA page_count";
const char sql_table_info[] = "SELECT name, type, pk FROM pragma_table_info(?1) ORDER BY cid";
const char sql_cluster_get[] = "SELECT value FROM meta WHERE key = 'cluster'";
const char sql_highest_event[] = "SELECT max(seq) FROM event";
const char sql_cluster_put[] = "INSERT INTO meta (key, value) VALUES ('cluster', ?1)";

/* --- texts for any table ---------------------------------------------------------------------- */

/* What becomes of rows that have ended. */
enum ending {
	STAYS,  /* they are deleted */
	ENDS,   /* they go to the table of ended ones, and from there to history.db */
	PASSES, /* the table has no others: all its rows move on, and none is loaded */
};
static const enum ending endings[TABLE_COUNT] = {
	[TABLE_JOB] = ENDS,
	[TABLE_RUN] = ENDS,
	[TABLE_EVENT] = PASSES,
	[TABLE_STEP] = PASSES,
};

#define OF(ending) (1U << (ending))
#define MOVE       (OF(ENDS) | OF(PASSES))
#define ALL        (OF(STAYS) | MOVE)
static const struct {
	unsigned of; /* bit set of endings: the tables that have it */
	const char *text;
} table_texts[SQL_TABLE_STATEMENTS] = {
	[SQL_PUT] = { ALL, "INSERT OR REPLACE INTO {table} ({columns}) VALUES ({values})" },
	[SQL_DELETE] = { ALL, "DELETE FROM {table} WHERE {key}" },
	[SQL_RETIRE] = { OF(ENDS), "INSERT OR REPLACE INTO {ended} ({columns}) "
		"SELECT {columns} FROM {table} WHERE {key}" },
	[SQL_ENDED_PUT] = { OF(ENDS), "INSERT OR REPLACE INTO {ended} ({columns}) "
		"VALUES ({values})" },
	[SQL_ENDED_SLICE] = { MOVE, "SELECT {columns} FROM {ended} ORDER BY {order} LIMIT ?1" },
	[SQL_ENDED_DELETE] = { MOVE, "DELETE FROM {ended} WHERE {key}" },
	[SQL_ENDED_COUNT] = { MOVE, "SELECT count(*) FROM {ended}" },
	[SQL_LOAD] = { ALL & ~OF(PASSES), "SELECT {columns} FROM {table} ORDER BY {order}" },
	[SQL_HISTORY_PUT] = { MOVE, "INSERT OR IGNORE INTO {table} ({columns}) VALUES ({values})" },
	[SQL_HISTORY_DELETE] = { MOVE, "DELETE FROM {table} WHERE {key}" },
};

/* What a mark stands for: each column of the table, or of its key, by its name or its parameter. */
static const struct mark {
	const char *text;
	bool key_only, by_name, by_place;
	const char *between;
} marks[] = {
	{ "{columns}", false, true, false, ", " },
	{ "{values}", false, false, true, ", " },
	{ "{order}", true, true, false, ", " },
	{ "{key}", true, true, true, " AND " },
};

static void add_columns(struct strbuf *out, const struct mark *mark, enum row_table table)
{
	size_t n = mark->key_only ? row_keys(table) : row_columns(table);

	for (size_t i = 0; i < n; i++) {
		strbuf_adds(out, i ? mark->between : "");
		if (mark->by_name)
			strbuf_adds(out, row_column_name(table, i));
		if (mark->by_place)
			strbuf_addf(out, "%s?%zu", mark->by_name ? " = " : "", i + 1);
	}
}

static void add_mark(struct strbuf *out, const char *text, size_t n, enum row_table table)
{
	bool ended = !strncmp(text, "{ended}", n);

	for (size_t i = 0; i < LENGTH(marks); i++) {
		if (!strncmp(marks[i].text, text, n)) {
			add_columns(out, &marks[i], table);
			return;
		}
	}
	strbuf_addf(out, "%s%s", ended && endings[table] == ENDS ? "ended_" : "",
	        row_table_name(table));
}

static void add_text(struct strbuf *out, const char *text, enum row_table table)
{
	while (*text) {
		size_t plain = strcspn(text, "{"), mark;

		strbuf_add(out, text, plain);
		text += plain;
		mark = strcspn(text, "}") + (*text != '\0');
		if (*text)
			add_mark(out, text, mark, table);
		text += mark;
	}
}

char *sql_of_table(enum row_table table, enum sql_table_statement which)
{
	struct strbuf out = { 0 };

	if (!(table_texts[which].of & OF(endings[table])))
		return NULL;
	/* How a step ended may be reported after the end of its attempt. */
	if (table == TABLE_STEP && which == SQL_HISTORY_PUT)
		which = SQL_PUT;
	add_text(&out, table_texts[which].text, table);
	/* Reports need all capacity events: these few rows stay. */
	if (table == TABLE_EVENT && which == SQL_HISTORY_DELETE)
		strbuf_adds(&out, " AND kind <> 'cluster.capacity'");
	return strbuf_take(&out);
}

#define X(sym, table, condition) [sym] = { table, condition },
static const struct {
	enum row_table table;
	const char *condition;
} slices[SQL_PAST_COUNT] = { SQL_PAST(X) };
#undef X

char *sql_of_past(enum sql_past which)
{
	struct strbuf out = { 0 };

	add_text(&out, "SELECT {columns} FROM {table} WHERE ", slices[which].table);
	strbuf_adds(&out, slices[which].condition);
	return strbuf_take(&out);
}
