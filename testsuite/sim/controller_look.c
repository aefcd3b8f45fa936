/* controller_look.c - what the simulated controller says, lists and keeps, as facts; see
 * controller_impl.h */
#include <assert.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "testsuite/sim/controller_impl.h"
#include "testsuite/sim/step_managers.h"

uint64_t sim_controller_kept(const struct sim_controller *c, unsigned node)
{
	struct node_view v;
	struct gpu_view g;
	uint64_t kept = 0;

	if (!c->core || !core_node_view(c->core, node, engine_now(c->o.engine), &v) ||
	        !strncmp(v.state, "drain", 5))
		return UINT64_MAX;
	for (uint32_t i = 0; core_gpu_view(c->core, node, i, &g); i++)
		kept |= !strcmp(g.state, "free") ? 0 : UINT64_C(1) << i;
	return kept;
}

bool sim_controller_hears(struct sim_controller *c, uint64_t link)
{
	return c->core && sim_peer(c, link);
}

void sim_controller_tell_runs(const struct sim_controller *c, unsigned node)
{
	struct run_id runs[256];
	size_t n = core_node_runs(c->core, node, runs, 256);

	assert(n <= 256);
	for (size_t i = 0; i < n; i++)
		checker_say(c->o.checker, "books %" PRIu64 " %u %u %u %s", runs[i].job,
		        runs[i].task, runs[i].attempt, runs[i].rank, c->o.conf->nodes[node].name);
}

/* --- steps ----------------------------------------------------------------------------------- */

void sim_controller_tell_steps(const struct sim_controller *c)
{
	struct job_view job;

	for (uint64_t after = 0; core_job_next(c->core, after, engine_now(c->o.engine), &job);
	        after = job.ref) {
		const struct step_report *step;

		for (int64_t n = -1; (step = core_step_next(c->core, job.ref, n)); n = step->step)
			checker_say(c->o.checker, "lists %" PRIu64 " %s %u %u", job.id,
			        *job.array ? job.tasks : "0", job.attempt, step->step);
	}
}

/* A file of the controller's, under another name: what is done there is not done to it. */
static void copy_file(const struct sim_controller *c, const char *name)
{
	static const char *const parts[] = { "", "-wal" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		char *source = xasprintf("%s/%s.db%s", c->o.dir, name, parts[i]);
		char *target = xasprintf("%s/look.db%s", c->o.dir, parts[i]);

		fault_vfs_copy(c->o.vfs, source, target);
		free(source);
		free(target);
	}
}

static void tell_row(const struct sim_controller *c, const char *file, sqlite3_stmt *row)
{
	const struct step_looks looks = { .name = (const char *)sqlite3_column_text(row, 7),
		.name_len = (size_t)sqlite3_column_bytes(row, 7),
		.nodelist = (const char *)sqlite3_column_text(row, 8),
		.nodelist_len = (size_t)sqlite3_column_bytes(row, 8),
		.numbers = { sqlite3_column_int64(row, 9), sqlite3_column_int64(row, 10),
		        sqlite3_column_int64(row, 11), sqlite3_column_int64(row, 12),
		        sqlite3_column_int64(row, 13), sqlite3_column_int64(row, 14),
		        sqlite3_column_int64(row, 15) } };

	checker_say(c->o.checker,
	        "keptstep %s %lld %lld %lld %lld %s %lld %lld %" PRIx64, file,
	        sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
	        sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3),
	        (const char *)sqlite3_column_text(row, 4), sqlite3_column_int64(row, 5),
	        sqlite3_column_int64(row, 6), step_looks(&looks));
}

/* With SQL of its own: what is judged is what is on the disk, not what the store reads there. */
static void tell_file(const struct sim_controller *c, const char *file)
{
	char *path = xasprintf("%s/look.db", c->o.dir);
	sqlite3 *db = NULL;
	sqlite3_stmt *rows = NULL;
	struct error err = { 0 };
	int rc;

	copy_file(c, file);
	rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, c->o.vfs_name);
	if (!rc)
		rc = sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
	if (!rc)
		rc = sqlite3_prepare_v2(db,
		        "SELECT job, task, attempt, step, state, exit_code, exit_signal, name, "
		        "nodelist, nodes, tasks, cpus, gpus, start_time, cpu_time_us, max_rss_kb "
		        "FROM step",
		        -1, &rows, NULL);
	while (!rc && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
		tell_row(c, file, rows);
		rc = 0;
	}
	if (rc != SQLITE_DONE) {
		error_set(&err, ERR_SYSTEM, "%s: %s", file, sqlite3_errmsg(db));
		sim_bug("a look at the steps that are kept", &err);
	}
	sqlite3_finalize(rows);
	sqlite3_close(db);
	free(path);
}

void sim_controller_tell_kept_steps(struct sim_controller *c)
{
	tell_file(c, "history");
	tell_file(c, "state");
	checker_say(c->o.checker, "counted");
}

static void flushed(void *arg, const struct store_result *result, const struct error *err)
{
	(void)arg;
	(void)result;
	if (err)
		sim_bug("a move to history.db", err);
}

void sim_controller_flush(struct sim_controller *c)
{
	store_flush(c->store, flushed, NULL);
}

/* --- for people ------------------------------------------------------------------------------ */

void sim_controller_print(const struct sim_controller *c, FILE *out)
{
	struct job_view v;
	uint64_t after = 0;
	const char *why;

	if (core_is_suspended(c->core, &why))
		fprintf(out, "suspended: %s\n", why);
	while (core_job_next(c->core, after, engine_now(c->o.engine), &v)) {
		after = v.ref;
		if (v.ended)
			continue;
		fprintf(out, "job %" PRIu64 "%s%s %s (%s: %s) attempt %u of %u on '%s' %s\n", v.id,
		        *v.tasks ? "_" : "", v.tasks, v.state, v.reason, v.reason_text, v.attempt,
		        v.max_attempts, v.node, v.comment);
	}
}
