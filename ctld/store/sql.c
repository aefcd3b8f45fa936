/* sql.c - see sql.h */
#include "ctld/store/sql.h"

#define META_COLS "key, value"
#define NODE_COLS \
	"name, drain, down, reason, reason_uid, reason_time, incarnation, boot_id, cpus, mem_mb, gpus, " \
	"found, health, faults_seen"
#define JOB_COLS                                                                              \
	"id, part, uid, gid, user, account, partition, name, state, hold, gpus, cpus, mem_mb, " \
	"time_limit_s, warn_signal, warn_before_s, requeue, nice, labels, submit_host, cwd, " \
	"output, error, array, nonce, spec_hash, sign_time, submit_time, start_time, "        \
	"end_time, attempt, max_attempts, exit_code, exit_signal, end_cause, comment, place, "  \
	"qos, max_wait_s, planned_start, begin_time, deadline, depends, kill_invalid, " \
	"remark, mail_types, mail_user, requeue_on, requeue_delay_s, limit_cut, " \
	"tasks, at_once, next_part, tasks_ended, tasks_failed, tasks_cancelled, steps, raw_ids, " \
	"partitions, partition_needs, eligible_time"
#define JOB_PLACES                                                                          \
	"?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, " \
	"?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, " \
	"?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56, ?57, ?58, " \
	"?59, ?60, ?61"
#define RUN_COLS                                                                              \
	"job, task, attempt, rank, node, state, gpu_type, gpus, cpus, mem_mb, incarnation, epoch, " \
	"order_time, start_time, end_time, elapsed_us, exit_code, exit_signal, end_wanted, "  \
	"end_cause, detail, cpu_time_us, max_rss_kb, uid, nodes, account, billed_us, "  \
	"cost_u, checkpoint_time, suspend_wanted, suspend_time, suspended_us, " \
	"read_bytes, written_bytes, gpu_seen_us, gpu_busy_us, gpu_idle_us, gpu_mem_peak_mb, energy_mj, " \
	"share_milli, share_mb, share_charge, health, ready_time, ready_us, address, ports, " \
	"requests, tokens, gpu_mem_mbs"
#define RUN_PLACES                                                                          \
	"?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, " \
	"?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, " \
	"?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50"
#define NONCE_COLS "uid, nonce, spec_hash, job, expires"
#define EVENT_COLS "seq, time, kind, uid, host, job, node, text"
#define USAGE_COLS "account, uid, user, gpu_us, cpu_us, cost_u, runs, decayed_u, decayed_time"

#define FATE_COLS "page, bits"
#define STEP_COLS                                                                         \
	"job, task, attempt, step, name, state, nodelist, nodes, tasks, cpus, gpus, " \
	"start_time, end_time, exit_code, exit_signal, cpu_time_us, max_rss_kb"
#define STEP_PLACES                                                                     \
	"?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17"
#define SERVICE_COLS \
	"name, user, uid, account, burst_qos, wanted, paused, stopping, min, max, kept, " \
	"target_milli, kv_target_milli, window_s, burst_window_s, scale_down_s, to_zero_s, " \
	"request_wait_ms, surge, settle_s, present_job, present_number, present_slots, " \
	"present_drain_s, present_valid_days, present_spec, next_job, next_number, next_slots, " \
	"next_drain_s, next_valid_days, next_spec, undo_job, undo_number, undo_slots, " \
	"undo_drain_s, undo_valid_days, undo_spec, leaving_job, leaving_number, leaving_slots, " \
	"leaving_drain_s, leaving_valid_days, leaving_spec, last_number, submit_time, " \
	"decision, decision_time, trouble, avoids"
#define SERVICE_PLACES \
	"?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, " \
	"?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, " \
	"?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50"
#define HOURS_COLS "scope, name, uid, start, end_time, until, gpu_us"

/* clang-format off */
#define JOB_GETS_QOS(table)                                                           \
	"ALTER TABLE " table " ADD COLUMN qos TEXT NOT NULL DEFAULT '';"                 \
	"ALTER TABLE " table " ADD COLUMN max_wait_s INTEGER NOT NULL DEFAULT 0;"        \
	"ALTER TABLE " table " ADD COLUMN planned_start INTEGER NOT NULL DEFAULT 0;"
#define JOB_GETS_DEPENDS(table)                                                       \
	"ALTER TABLE " table " ADD COLUMN begin_time INTEGER NOT NULL DEFAULT 0;"        \
	"ALTER TABLE " table " ADD COLUMN deadline INTEGER NOT NULL DEFAULT 0;"          \
	"ALTER TABLE " table " ADD COLUMN depends TEXT NOT NULL DEFAULT '';"             \
	"ALTER TABLE " table " ADD COLUMN kill_invalid INTEGER NOT NULL DEFAULT 0;"
#define JOB_GETS_WISHES(table)                                                        \
	"ALTER TABLE " table " ADD COLUMN remark TEXT NOT NULL DEFAULT '';"              \
	"ALTER TABLE " table " ADD COLUMN mail_types INTEGER NOT NULL DEFAULT 0;"        \
	"ALTER TABLE " table " ADD COLUMN mail_user TEXT NOT NULL DEFAULT '';"           \
	"ALTER TABLE " table " ADD COLUMN requeue_on TEXT NOT NULL DEFAULT '';"          \
	"ALTER TABLE " table " ADD COLUMN requeue_delay_s INTEGER NOT NULL DEFAULT 0;"   \
	"ALTER TABLE " table " ADD COLUMN limit_cut INTEGER NOT NULL DEFAULT 0;"
#define JOB_GETS_STEPS(table)                                                        \
	"ALTER TABLE " table " ADD COLUMN steps INTEGER NOT NULL DEFAULT 0;"
#define JOB_GETS_RAW_IDS(table)                                                      \
	"ALTER TABLE " table " ADD COLUMN raw_ids INTEGER NOT NULL DEFAULT 0;"
#define JOB_GETS_PARTITIONS(table)                                                   \
	"ALTER TABLE " table " ADD COLUMN partitions TEXT NOT NULL DEFAULT '';"          \
	"ALTER TABLE " table " ADD COLUMN partition_needs TEXT NOT NULL DEFAULT '';"
#define JOB_GETS_ELIGIBLE(table)                                                     \
	"ALTER TABLE " table " ADD COLUMN eligible_time INTEGER NOT NULL DEFAULT 0;"
#define RUN_GETS_MEM_TIME(table)                                                     \
	"ALTER TABLE " table " ADD COLUMN gpu_mem_mbs INTEGER NOT NULL DEFAULT 0;"
#define RUN_GETS_BILLED(table)                                                               \
	"ALTER TABLE " table " ADD COLUMN account TEXT NOT NULL DEFAULT '';"                 \
	"ALTER TABLE " table " ADD COLUMN billed_us INTEGER NOT NULL DEFAULT 0;"             \
	"ALTER TABLE " table " ADD COLUMN cost_u INTEGER NOT NULL DEFAULT 0;"
#define JOB_TABLE_1                                                                          \
	"id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, gid INTEGER NOT NULL, "               \
	"user TEXT NOT NULL, account TEXT NOT NULL, partition TEXT NOT NULL, "               \
	"name TEXT NOT NULL, state TEXT NOT NULL, hold INTEGER NOT NULL, gpus TEXT NOT NULL, " \
	"cpus INTEGER NOT NULL, mem_mb INTEGER NOT NULL, time_limit_s INTEGER NOT NULL, "    \
	"warn_signal INTEGER NOT NULL, warn_before_s INTEGER NOT NULL, "                     \
	"requeue INTEGER NOT NULL, nice INTEGER NOT NULL, labels TEXT NOT NULL, "            \
	"submit_host TEXT NOT NULL, cwd BLOB NOT NULL, output BLOB NOT NULL, "               \
	"error BLOB NOT NULL, array TEXT NOT NULL, nonce BLOB NOT NULL, "                    \
	"spec_hash BLOB NOT NULL, sign_time INTEGER NOT NULL, submit_time INTEGER NOT NULL, " \
	"start_time INTEGER NOT NULL, end_time INTEGER NOT NULL, attempt INTEGER NOT NULL, " \
	"max_attempts INTEGER NOT NULL, exit_code INTEGER NOT NULL, "                        \
	"exit_signal INTEGER NOT NULL, end_cause INTEGER NOT NULL, comment TEXT NOT NULL"
#define RUN_TABLE_1                                                                          \
	"job INTEGER NOT NULL, task INTEGER NOT NULL, attempt INTEGER NOT NULL, "            \
	"node TEXT NOT NULL, state TEXT NOT NULL, gpu_type TEXT NOT NULL, "                  \
	"gpus INTEGER NOT NULL, cpus INTEGER NOT NULL, mem_mb INTEGER NOT NULL, "            \
	"incarnation TEXT NOT NULL, epoch INTEGER NOT NULL, order_time INTEGER NOT NULL, "   \
	"start_time INTEGER NOT NULL, end_time INTEGER NOT NULL, elapsed_us INTEGER NOT NULL, " \
	"exit_code INTEGER NOT NULL, exit_signal INTEGER NOT NULL, "                         \
	"end_wanted INTEGER NOT NULL, end_cause INTEGER NOT NULL, detail TEXT NOT NULL, "    \
	"cpu_time_us INTEGER NOT NULL, max_rss_kb INTEGER NOT NULL, uid INTEGER NOT NULL, "  \
	"PRIMARY KEY (job, task, attempt)"
#define RUN_TABLE_2                                                                          \
	"job INTEGER NOT NULL, task INTEGER NOT NULL, attempt INTEGER NOT NULL, "            \
	"rank INTEGER NOT NULL, "                                                              \
	"node TEXT NOT NULL, state TEXT NOT NULL, gpu_type TEXT NOT NULL, "                  \
	"gpus INTEGER NOT NULL, cpus INTEGER NOT NULL, mem_mb INTEGER NOT NULL, "            \
	"incarnation TEXT NOT NULL, epoch INTEGER NOT NULL, order_time INTEGER NOT NULL, "   \
	"start_time INTEGER NOT NULL, end_time INTEGER NOT NULL, elapsed_us INTEGER NOT NULL, " \
	"exit_code INTEGER NOT NULL, exit_signal INTEGER NOT NULL, "                         \
	"end_wanted INTEGER NOT NULL, end_cause INTEGER NOT NULL, detail TEXT NOT NULL, "    \
	"cpu_time_us INTEGER NOT NULL, max_rss_kb INTEGER NOT NULL, uid INTEGER NOT NULL, "  \
	"PRIMARY KEY (job, task, attempt, rank)"
/* The tasks of an array have rows of their own: the key is no longer the id alone. */
#define JOB_TABLE_2                                                                          \
	"id INTEGER NOT NULL, part INTEGER NOT NULL, uid INTEGER NOT NULL, gid INTEGER NOT NULL, " \
	"user TEXT NOT NULL, account TEXT NOT NULL, partition TEXT NOT NULL, "               \
	"name TEXT NOT NULL, state TEXT NOT NULL, hold INTEGER NOT NULL, gpus TEXT NOT NULL, " \
	"cpus INTEGER NOT NULL, mem_mb INTEGER NOT NULL, time_limit_s INTEGER NOT NULL, "    \
	"warn_signal INTEGER NOT NULL, warn_before_s INTEGER NOT NULL, "                     \
	"requeue INTEGER NOT NULL, nice INTEGER NOT NULL, labels TEXT NOT NULL, "            \
	"submit_host TEXT NOT NULL, cwd BLOB NOT NULL, output BLOB NOT NULL, "               \
	"error BLOB NOT NULL, array TEXT NOT NULL, nonce BLOB NOT NULL, "                    \
	"spec_hash BLOB NOT NULL, sign_time INTEGER NOT NULL, submit_time INTEGER NOT NULL, " \
	"start_time INTEGER NOT NULL, end_time INTEGER NOT NULL, attempt INTEGER NOT NULL, " \
	"max_attempts INTEGER NOT NULL, exit_code INTEGER NOT NULL, "                        \
	"exit_signal INTEGER NOT NULL, end_cause INTEGER NOT NULL, comment TEXT NOT NULL, "  \
	"place TEXT NOT NULL, qos TEXT NOT NULL, max_wait_s INTEGER NOT NULL, "              \
	"planned_start INTEGER NOT NULL, begin_time INTEGER NOT NULL, "                      \
	"deadline INTEGER NOT NULL, depends TEXT NOT NULL, kill_invalid INTEGER NOT NULL, "  \
	"remark TEXT NOT NULL, mail_types INTEGER NOT NULL, mail_user TEXT NOT NULL, "       \
	"requeue_on TEXT NOT NULL, requeue_delay_s INTEGER NOT NULL, "                       \
	"limit_cut INTEGER NOT NULL, tasks TEXT NOT NULL, at_once INTEGER NOT NULL, "                                    \
	"next_part INTEGER NOT NULL, tasks_ended INTEGER NOT NULL, "                         \
	"tasks_failed INTEGER NOT NULL, tasks_cancelled INTEGER NOT NULL, "                  \
	"PRIMARY KEY (id, part)"
#define JOB_COLS_1                                                                           \
	"uid, gid, user, account, partition, name, state, hold, gpus, cpus, mem_mb, "        \
	"time_limit_s, warn_signal, warn_before_s, requeue, nice, labels, submit_host, cwd, " \
	"output, error, array, nonce, spec_hash, sign_time, submit_time, start_time, "       \
	"end_time, attempt, max_attempts, exit_code, exit_signal, end_cause, comment, place, " \
	"qos, max_wait_s, planned_start, begin_time, deadline, depends, kill_invalid, "      \
	"remark, mail_types, mail_user, requeue_on, requeue_delay_s, limit_cut"
#define JOB_GETS_PART(table)                                                                 \
	"ALTER TABLE " table " RENAME TO job_without_part;"                                  \
	"CREATE TABLE " table " (" JOB_TABLE_2 ") STRICT, WITHOUT ROWID;"                    \
	"INSERT INTO " table " (id, part, " JOB_COLS_1 ", tasks, at_once, next_part, "       \
		"tasks_ended, tasks_failed, tasks_cancelled) "                               \
		"SELECT id, 0, " JOB_COLS_1 ", '', 0, 0, 0, 0, 0 FROM job_without_part;"     \
	"DROP TABLE job_without_part;"
#define RUN_GETS_SUSPENDED(table)                                                            \
	"ALTER TABLE " table " ADD COLUMN suspend_wanted INTEGER NOT NULL DEFAULT 0;"        \
	"ALTER TABLE " table " ADD COLUMN suspend_time INTEGER NOT NULL DEFAULT 0;"          \
	"ALTER TABLE " table " ADD COLUMN suspended_us INTEGER NOT NULL DEFAULT 0;"
#define RUN_GETS_USED(table)                                                                 \
	"ALTER TABLE " table " ADD COLUMN read_bytes INTEGER NOT NULL DEFAULT 0;"            \
	"ALTER TABLE " table " ADD COLUMN written_bytes INTEGER NOT NULL DEFAULT 0;"         \
	"ALTER TABLE " table " ADD COLUMN gpu_seen_us INTEGER NOT NULL DEFAULT 0;"           \
	"ALTER TABLE " table " ADD COLUMN gpu_busy_us INTEGER NOT NULL DEFAULT 0;"           \
	"ALTER TABLE " table " ADD COLUMN gpu_idle_us INTEGER NOT NULL DEFAULT 0;"           \
	"ALTER TABLE " table " ADD COLUMN gpu_mem_peak_mb INTEGER NOT NULL DEFAULT 0;"       \
	"ALTER TABLE " table " ADD COLUMN energy_mj INTEGER NOT NULL DEFAULT 0;"
#define RUN_GETS_SHARE(table)                                                                \
	"ALTER TABLE " table " ADD COLUMN share_milli INTEGER NOT NULL DEFAULT 0;"           \
	"ALTER TABLE " table " ADD COLUMN share_mb INTEGER NOT NULL DEFAULT 0;"              \
	"ALTER TABLE " table " ADD COLUMN share_charge INTEGER NOT NULL DEFAULT 0;"
#define RUN_GETS_HEALTH(table)                                                               \
	"ALTER TABLE " table " ADD COLUMN health INTEGER NOT NULL DEFAULT 0;"                \
	"ALTER TABLE " table " ADD COLUMN ready_time INTEGER NOT NULL DEFAULT 0;"            \
	"ALTER TABLE " table " ADD COLUMN ready_us INTEGER NOT NULL DEFAULT 0;"              \
	"ALTER TABLE " table " ADD COLUMN address TEXT NOT NULL DEFAULT '';"                 \
	"ALTER TABLE " table " ADD COLUMN ports TEXT NOT NULL DEFAULT '';"                   \
	"ALTER TABLE " table " ADD COLUMN requests INTEGER NOT NULL DEFAULT 0;"              \
	"ALTER TABLE " table " ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;"
#define SERVICE_TABLE_1 \
	"name TEXT NOT NULL PRIMARY KEY, user TEXT NOT NULL, uid INTEGER NOT NULL, " \
	"account TEXT NOT NULL, burst_qos TEXT NOT NULL, wanted INTEGER NOT NULL, " \
	"paused INTEGER NOT NULL, stopping INTEGER NOT NULL, min INTEGER NOT NULL, " \
	"max INTEGER NOT NULL, kept INTEGER NOT NULL, target_milli INTEGER NOT NULL, " \
	"kv_target_milli INTEGER NOT NULL, window_s INTEGER NOT NULL, " \
	"burst_window_s INTEGER NOT NULL, scale_down_s INTEGER NOT NULL, " \
	"to_zero_s INTEGER NOT NULL, request_wait_ms INTEGER NOT NULL, surge INTEGER NOT NULL, " \
	"settle_s INTEGER NOT NULL, present_job INTEGER NOT NULL, " \
	"present_number INTEGER NOT NULL, present_slots INTEGER NOT NULL, " \
	"present_drain_s INTEGER NOT NULL, present_valid_days INTEGER NOT NULL, " \
	"present_spec TEXT NOT NULL, next_job INTEGER NOT NULL, next_number INTEGER NOT NULL, " \
	"next_slots INTEGER NOT NULL, next_drain_s INTEGER NOT NULL, " \
	"next_valid_days INTEGER NOT NULL, next_spec TEXT NOT NULL, undo_job INTEGER NOT NULL, " \
	"undo_number INTEGER NOT NULL, undo_slots INTEGER NOT NULL, " \
	"undo_drain_s INTEGER NOT NULL, undo_valid_days INTEGER NOT NULL, " \
	"undo_spec TEXT NOT NULL, leaving_job INTEGER NOT NULL, " \
	"leaving_number INTEGER NOT NULL, leaving_slots INTEGER NOT NULL, " \
	"leaving_drain_s INTEGER NOT NULL, leaving_valid_days INTEGER NOT NULL, " \
	"leaving_spec TEXT NOT NULL, last_number INTEGER NOT NULL, " \
	"submit_time INTEGER NOT NULL, decision TEXT NOT NULL, decision_time INTEGER NOT NULL, " \
	"trouble TEXT NOT NULL"
#define EVENT_TABLE_1                                                                        \
	"seq INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL, "               \
	"uid INTEGER NOT NULL, host TEXT NOT NULL, job INTEGER NOT NULL, node TEXT NOT NULL, " \
	"text TEXT NOT NULL"

#define STEP_TABLE_1                                                                         \
	"job INTEGER NOT NULL, task INTEGER NOT NULL, attempt INTEGER NOT NULL, "            \
	"step INTEGER NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, "                   \
	"nodelist TEXT NOT NULL, nodes INTEGER NOT NULL, tasks INTEGER NOT NULL, "           \
	"cpus INTEGER NOT NULL, gpus INTEGER NOT NULL, start_time INTEGER NOT NULL, "        \
	"end_time INTEGER NOT NULL, exit_code INTEGER NOT NULL, "                            \
	"exit_signal INTEGER NOT NULL, cpu_time_us INTEGER NOT NULL, "                       \
	"max_rss_kb INTEGER NOT NULL, PRIMARY KEY (job, task, attempt, step)"

#define RUN_COLS_1                                                                           \
	"node, state, gpu_type, gpus, cpus, mem_mb, incarnation, epoch, order_time, "        \
	"start_time, end_time, elapsed_us, exit_code, exit_signal, end_wanted, end_cause, "  \
	"detail, cpu_time_us, max_rss_kb, uid"
#define RUN_GETS_RANK(table)                                                                 \
	"ALTER TABLE " table " RENAME TO run_without_rank;"                                  \
	"CREATE TABLE " table " (" RUN_TABLE_2 ") STRICT, WITHOUT ROWID;"                    \
	"INSERT INTO " table " (job, task, attempt, rank, " RUN_COLS_1 ") "                  \
		"SELECT job, task, attempt, 0, " RUN_COLS_1 " FROM run_without_rank;"        \
	"DROP TABLE run_without_rank;"

/* state.db. 0x67707573 is "gpus". Events wait in their own table for the move to history.db. */
static const char *const state_steps[] = {
	"PRAGMA application_id = 0x67707573;"
	"CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE node (name TEXT NOT NULL PRIMARY KEY, drain INTEGER NOT NULL, "
		"down INTEGER NOT NULL, reason TEXT NOT NULL, reason_uid INTEGER NOT NULL, "
		"reason_time INTEGER NOT NULL, incarnation TEXT NOT NULL, boot_id TEXT NOT NULL, "
		"cpus INTEGER NOT NULL, mem_mb INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE job (" JOB_TABLE_1 ") STRICT;"
	"CREATE TABLE run (" RUN_TABLE_1 ") STRICT, WITHOUT ROWID;"
	"CREATE TABLE nonce (uid INTEGER NOT NULL, nonce BLOB NOT NULL, "
		"spec_hash BLOB NOT NULL, job INTEGER NOT NULL, expires INTEGER NOT NULL, "
		"PRIMARY KEY (uid, nonce)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE event (" EVENT_TABLE_1 ") STRICT;"
	"CREATE TABLE blob (job INTEGER PRIMARY KEY, script_piece INTEGER NOT NULL, "
		"credential_piece INTEGER NOT NULL, spec BLOB NOT NULL, script BLOB NOT NULL, "
		"credential BLOB NOT NULL) STRICT;"
	"CREATE TABLE piece (id INTEGER PRIMARY KEY, refs INTEGER NOT NULL) STRICT;"
	"CREATE TABLE piece_data (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;"
	"PRAGMA user_version = 1;",

	/* What has ended waits here until it is in history.db. */
	"CREATE TABLE ended_job (" JOB_TABLE_1 ") STRICT;"
	"CREATE TABLE ended_run (" RUN_TABLE_1 ") STRICT, WITHOUT ROWID;"
	"PRAGMA user_version = 2;",

	/* An attempt may have many runs, told apart by rank. */
	RUN_GETS_RANK("run")
	RUN_GETS_RANK("ended_run")
	"PRAGMA user_version = 3;",

	/* On which nodes a job may be. */
	"ALTER TABLE job ADD COLUMN place TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE ended_job ADD COLUMN place TEXT NOT NULL DEFAULT '';"
	"PRAGMA user_version = 4;",

	/* How well it is to be served, and when it was first said to start. */
	JOB_GETS_QOS("job")
	JOB_GETS_QOS("ended_job")
	"PRAGMA user_version = 5;",

	/* What users used in their accounts. */
	"CREATE TABLE usage (account TEXT NOT NULL, uid INTEGER NOT NULL, user TEXT NOT NULL, "
		"gpu_us INTEGER NOT NULL, cpu_us INTEGER NOT NULL, cost_u INTEGER NOT NULL, "
		"runs INTEGER NOT NULL, decayed_u INTEGER NOT NULL, decayed_time INTEGER NOT NULL, "
		"PRIMARY KEY (account, uid)) STRICT, WITHOUT ROWID;"
	"PRAGMA user_version = 6;",

	/* How many runs an attempt has. */
	"ALTER TABLE run ADD COLUMN nodes INTEGER NOT NULL DEFAULT 1;"
	"ALTER TABLE ended_run ADD COLUMN nodes INTEGER NOT NULL DEFAULT 1;"
	"PRAGMA user_version = 7;",

	/* Runs are billed to an account. */
	RUN_GETS_BILLED("run")
	RUN_GETS_BILLED("ended_run")
	"UPDATE run SET account = coalesce((SELECT account FROM job WHERE id = run.job), '');"
	"PRAGMA user_version = 8;",

	/* What counts for limits of GPU-hours. */
	"CREATE TABLE hours (scope TEXT NOT NULL, name TEXT NOT NULL, uid INTEGER NOT NULL, "
		"start INTEGER NOT NULL, end_time INTEGER NOT NULL, until INTEGER NOT NULL, "
		"gpu_us INTEGER NOT NULL, PRIMARY KEY (scope, name, uid, start)) STRICT, "
		"WITHOUT ROWID;"
	"PRAGMA user_version = 9;",

	/* Up to when the work of a run is safe. */
	"ALTER TABLE run ADD COLUMN checkpoint_time INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE ended_run ADD COLUMN checkpoint_time INTEGER NOT NULL DEFAULT 0;"
	"PRAGMA user_version = 10;",

	/* Runs can be suspended. */
	RUN_GETS_SUSPENDED("run")
	RUN_GETS_SUSPENDED("ended_run")
	"PRAGMA user_version = 11;",

	/* When jobs may begin, and what they wait for. */
	JOB_GETS_DEPENDS("job")
	JOB_GETS_DEPENDS("ended_job")
	"PRAGMA user_version = 12;",

	/* Remarks, mail, and when to run again. */
	JOB_GETS_WISHES("job")
	JOB_GETS_WISHES("ended_job")
	"PRAGMA user_version = 13;",

	/* How jobs ended that are in history. */
	"CREATE TABLE fate (page INTEGER PRIMARY KEY, bits BLOB NOT NULL) STRICT;"
	"PRAGMA user_version = 14;",

	/* Arrays. */
	JOB_GETS_PART("job")
	JOB_GETS_PART("ended_job")
	"PRAGMA user_version = 15;",

	/* The signed bytes may outlive their job for a while. */
	"ALTER TABLE blob ADD COLUMN uid INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE blob ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;"
	"CREATE INDEX blob_by_end ON blob (ended) WHERE ended > 0;"
	"PRAGMA user_version = 16;",

	/* Which GPU has which index. */
	"ALTER TABLE node ADD COLUMN gpus TEXT NOT NULL DEFAULT '';"
	"PRAGMA user_version = 17;",

	/* GPUs of a node that the configuration says nothing of. */
	"ALTER TABLE node ADD COLUMN found TEXT NOT NULL DEFAULT '';"
	"PRAGMA user_version = 18;",

	/* What runs used of their GPUs. */
	RUN_GETS_USED("run")
	RUN_GETS_USED("ended_run")
	"PRAGMA user_version = 19;",

	/* GPUs that are drained one by one. */
	"ALTER TABLE node ADD COLUMN health TEXT NOT NULL DEFAULT '';"
	"PRAGMA user_version = 20;",

	/* Parts of GPUs. */
	RUN_GETS_SHARE("run")
	RUN_GETS_SHARE("ended_run")
	"PRAGMA user_version = 21;",

	/* What agents have told of GPUs. */
	"ALTER TABLE node ADD COLUMN faults_seen INTEGER NOT NULL DEFAULT 0;"
	"PRAGMA user_version = 22;",

	/* How many bytes of signed jobs each user has here. */
	"ALTER TABLE piece ADD COLUMN uid INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE piece ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;"
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
		"UNION ALL SELECT uid, bytes FROM piece) GROUP BY uid;"
	"PRAGMA user_version = 23;",

	/* Pages have sums (pages.h), and backups none of their own. */
	"DELETE FROM meta WHERE key = 'sum';"
	"PRAGMA user_version = 24;",

	/* Jobs can have steps. */
	JOB_GETS_STEPS("job")
	JOB_GETS_STEPS("ended_job")
	"PRAGMA user_version = 25;",

	/* Steps that have ended wait here until they are in history.db; array tasks have ids of
	 * their own. */
	"CREATE TABLE step (" STEP_TABLE_1 ") STRICT, WITHOUT ROWID;"
	JOB_GETS_RAW_IDS("job")
	JOB_GETS_RAW_IDS("ended_job")
	"PRAGMA user_version = 26;",

	/* A job can wait in several partitions. */
	JOB_GETS_PARTITIONS("job")
	JOB_GETS_PARTITIONS("ended_job")
	"PRAGMA user_version = 27;",

	/* Services, and what nodes say of their replicas. */
	"CREATE TABLE service (" SERVICE_TABLE_1 ") STRICT, WITHOUT ROWID;"
	RUN_GETS_HEALTH("run")
	RUN_GETS_HEALTH("ended_run")
	"PRAGMA user_version = 28;",

	/* Since when a job was eligible; memory of GPUs over time. */
	JOB_GETS_ELIGIBLE("job")
	JOB_GETS_ELIGIBLE("ended_job")
	RUN_GETS_MEM_TIME("run")
	RUN_GETS_MEM_TIME("ended_run")
	"UPDATE job SET eligible_time = max(submit_time, begin_time) "
		"WHERE state = 'PENDING' AND attempt = 0 AND hold = 0 AND depends = '';"
	"PRAGMA user_version = 29;",

	/* Nodes that a service avoids. */
	"ALTER TABLE service ADD COLUMN avoids TEXT NOT NULL DEFAULT '';"
	"PRAGMA user_version = 30;",
};

/* history.db. 0x67707568 is "gpuh". */
static const char *const history_steps[] = {
	"PRAGMA application_id = 0x67707568;"
	"CREATE TABLE job (" JOB_TABLE_1 ") STRICT;"
	"CREATE TABLE run (" RUN_TABLE_1 ") STRICT, WITHOUT ROWID;"
	"CREATE TABLE event (" EVENT_TABLE_1 ") STRICT;"
	"PRAGMA user_version = 1;",

	RUN_GETS_RANK("run")
	"PRAGMA user_version = 2;",

	"ALTER TABLE job ADD COLUMN place TEXT NOT NULL DEFAULT '';"
	"PRAGMA user_version = 3;",

	JOB_GETS_QOS("job")
	"PRAGMA user_version = 4;",

	"ALTER TABLE run ADD COLUMN nodes INTEGER NOT NULL DEFAULT 1;"
	"PRAGMA user_version = 5;",

	RUN_GETS_BILLED("run")
	"PRAGMA user_version = 6;",

	"ALTER TABLE run ADD COLUMN checkpoint_time INTEGER NOT NULL DEFAULT 0;"
	"PRAGMA user_version = 7;",

	RUN_GETS_SUSPENDED("run")
	"PRAGMA user_version = 8;",

	/* Indices for the usual queries: the jobs of a time, of a user, of an account; the events
	 * of a user. */
	"CREATE INDEX job_by_time ON job (end_time);"
	"CREATE INDEX job_by_user ON job (user, end_time);"
	"CREATE INDEX job_by_account ON job (account, end_time);"
	"CREATE INDEX event_by_time ON event (time);"
	"CREATE INDEX event_by_job ON event (job, time) WHERE job > 0;"
	"CREATE INDEX event_by_user ON event (uid, time);"
	"PRAGMA user_version = 9;",

	JOB_GETS_DEPENDS("job")
	"PRAGMA user_version = 10;",

	JOB_GETS_WISHES("job")
	"PRAGMA user_version = 11;",

	JOB_GETS_PART("job")
	"CREATE INDEX job_by_time ON job (end_time);"
	"CREATE INDEX job_by_user ON job (user, end_time);"
	"CREATE INDEX job_by_account ON job (account, end_time);"
	"PRAGMA user_version = 12;",

	/* Which cluster the history belongs to, because copies of it may be anywhere. */
	"CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;"
	"PRAGMA user_version = 13;",

	RUN_GETS_USED("run")
	"PRAGMA user_version = 14;",

	/* What there was, for reports. */
	"CREATE INDEX event_of_capacity ON event (time, seq) WHERE kind = 'cluster.capacity';"
	"PRAGMA user_version = 15;",

	RUN_GETS_SHARE("run")
	"PRAGMA user_version = 16;",

	/* Pages have sums (pages.h): a program that knows nothing of them must not write here. */
	"PRAGMA user_version = 17;",

	JOB_GETS_STEPS("job")
	"PRAGMA user_version = 18;",

	"CREATE TABLE step (" STEP_TABLE_1 ") STRICT, WITHOUT ROWID;"
	JOB_GETS_RAW_IDS("job")
	"PRAGMA user_version = 19;",

	JOB_GETS_PARTITIONS("job")
	"PRAGMA user_version = 20;",

	RUN_GETS_HEALTH("run")
	"PRAGMA user_version = 21;",

	JOB_GETS_ELIGIBLE("job")
	RUN_GETS_MEM_TIME("run")
	"PRAGMA user_version = 22;",
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

const struct sql_table sql_tables[TABLE_COUNT] = {
	[TABLE_META] = {
		.name = "meta",
		.put = "INSERT OR REPLACE INTO meta (" META_COLS ") VALUES (?1, ?2)",
		.del = "DELETE FROM meta WHERE key = ?1",
		.load = "SELECT " META_COLS " FROM meta ORDER BY key",
	},
	[TABLE_NODE] = {
		.name = "node",
		.put = "INSERT OR REPLACE INTO node (" NODE_COLS ") "
		       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
		.del = "DELETE FROM node WHERE name = ?1",
		.load = "SELECT " NODE_COLS " FROM node ORDER BY name",
	},
	[TABLE_JOB] = {
		.name = "job",
		.put = "INSERT OR REPLACE INTO job (" JOB_COLS ") VALUES (" JOB_PLACES ")",
		.del = "DELETE FROM job WHERE id = ?1 AND part = ?2",
		.load = "SELECT " JOB_COLS " FROM job ORDER BY id, part",
		.retire = "INSERT OR REPLACE INTO ended_job (" JOB_COLS ") "
			  "SELECT " JOB_COLS " FROM job WHERE id = ?1 AND part = ?2",
		.ended_put = "INSERT OR REPLACE INTO ended_job (" JOB_COLS ") "
			     "VALUES (" JOB_PLACES ")",
		.ended_slice = "SELECT " JOB_COLS " FROM ended_job ORDER BY id, part LIMIT ?1",
		.ended_delete = "DELETE FROM ended_job WHERE id = ?1 AND part = ?2",
		.ended_count = "SELECT count(*) FROM ended_job",
		.history_put = "INSERT OR IGNORE INTO job (" JOB_COLS ") VALUES (" JOB_PLACES ")",
		.history_del = "DELETE FROM job WHERE id = ?1 AND part = ?2",
	},
	[TABLE_RUN] = {
		.name = "run",
		.put = "INSERT OR REPLACE INTO run (" RUN_COLS ") VALUES (" RUN_PLACES ")",
		.del = "DELETE FROM run WHERE job = ?1 AND task = ?2 AND attempt = ?3 AND rank = ?4",
		.load = "SELECT " RUN_COLS " FROM run ORDER BY job, task, attempt, rank",
		.retire = "INSERT OR REPLACE INTO ended_run (" RUN_COLS ") SELECT " RUN_COLS
			  " FROM run WHERE job = ?1 AND task = ?2 AND attempt = ?3 AND rank = ?4",
		.ended_put = "INSERT OR REPLACE INTO ended_run (" RUN_COLS ") "
			     "VALUES (" RUN_PLACES ")",
		.ended_slice = "SELECT " RUN_COLS " FROM ended_run "
			       "ORDER BY job, task, attempt, rank LIMIT ?1",
		.ended_delete = "DELETE FROM ended_run "
				"WHERE job = ?1 AND task = ?2 AND attempt = ?3 AND rank = ?4",
		.ended_count = "SELECT count(*) FROM ended_run",
		.history_put = "INSERT OR IGNORE INTO run (" RUN_COLS ") VALUES (" RUN_PLACES ")",
		.history_del = "DELETE FROM run "
			       "WHERE job = ?1 AND task = ?2 AND attempt = ?3 AND rank = ?4",
	},
	[TABLE_NONCE] = {
		.name = "nonce",
		.put = "INSERT OR REPLACE INTO nonce (" NONCE_COLS ") VALUES (?1, ?2, ?3, ?4, ?5)",
		.del = "DELETE FROM nonce WHERE uid = ?1 AND nonce = ?2",
		.load = "SELECT " NONCE_COLS " FROM nonce ORDER BY uid, nonce",
	},
	[TABLE_EVENT] = {
		.name = "event",
		.put = "INSERT OR REPLACE INTO event (" EVENT_COLS ") "
		       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
		.del = "DELETE FROM event WHERE seq = ?1",
		.ended_slice = "SELECT " EVENT_COLS " FROM event ORDER BY seq LIMIT ?1",
		.ended_delete = "DELETE FROM event WHERE seq = ?1",
		.ended_count = "SELECT count(*) FROM event",
		.history_put = "INSERT OR IGNORE INTO event (" EVENT_COLS ") "
			       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
		/* What there was is wanted as long as there are reports: its few rows stay. */
		.history_del = "DELETE FROM event WHERE seq = ?1 AND kind <> 'cluster.capacity'",
	},
	[TABLE_USAGE] = {
		.name = "usage",
		.put = "INSERT OR REPLACE INTO usage (" USAGE_COLS ") "
		       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
		.del = "DELETE FROM usage WHERE account = ?1 AND uid = ?2",
		.load = "SELECT " USAGE_COLS " FROM usage ORDER BY account, uid",
	},
	[TABLE_HOURS] = {
		.name = "hours",
		.put = "INSERT OR REPLACE INTO hours (" HOURS_COLS ") "
		       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
		.del = "DELETE FROM hours WHERE scope = ?1 AND name = ?2 AND uid = ?3 AND start = ?4",
		.load = "SELECT " HOURS_COLS " FROM hours ORDER BY scope, name, uid, start",
	},
	[TABLE_FATE] = {
		.name = "fate",
		.put = "INSERT OR REPLACE INTO fate (" FATE_COLS ") VALUES (?1, ?2)",
		.del = "DELETE FROM fate WHERE page = ?1",
		.load = "SELECT " FATE_COLS " FROM fate ORDER BY page",
	},
	[TABLE_STEP] = {
		.name = "step",
		.put = "INSERT OR REPLACE INTO step (" STEP_COLS ") VALUES (" STEP_PLACES ")",
		.del = "DELETE FROM step "
		       "WHERE job = ?1 AND task = ?2 AND attempt = ?3 AND step = ?4",
		.ended_slice = "SELECT " STEP_COLS " FROM step "
			       "ORDER BY job, task, attempt, step LIMIT ?1",
		.ended_delete = "DELETE FROM step "
				"WHERE job = ?1 AND task = ?2 AND attempt = ?3 AND step = ?4",
		.ended_count = "SELECT count(*) FROM step",
		/* How it ended may be reported after the end of its attempt. */
		.history_put = "INSERT OR REPLACE INTO step (" STEP_COLS ") "
			       "VALUES (" STEP_PLACES ")",
		.history_del = "DELETE FROM step "
			       "WHERE job = ?1 AND task = ?2 AND attempt = ?3 AND step = ?4",
	},
	[TABLE_SERVICE] = {
		.name = "service",
		.put = "INSERT OR REPLACE INTO service (" SERVICE_COLS ") "
		       "VALUES (" SERVICE_PLACES ")",
		.del = "DELETE FROM service WHERE name = ?1",
		.load = "SELECT " SERVICE_COLS " FROM service ORDER BY name",
	},
};

#define X(sym, text) [sym] = text,
const char *const sql_statements[SQL_STATEMENT_COUNT] = { SQL_STATEMENTS(X) };
#undef X

#define COLS_TABLE_JOB   "SELECT " JOB_COLS " FROM job"
#define COLS_TABLE_RUN   "SELECT " RUN_COLS " FROM run"
#define COLS_TABLE_EVENT "SELECT " EVENT_COLS " FROM event"
#define COLS_TABLE_STEP  "SELECT " STEP_COLS " FROM step"
#define X(sym, table, condition) [sym] = COLS_##table " WHERE " condition,
const char *const sql_past[SQL_PAST_COUNT] = { SQL_PAST(X) };
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
const char sql_cluster_put[] = "INSERT INTO meta (" META_COLS ") VALUES ('cluster', ?1)";
