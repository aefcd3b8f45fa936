/* csvjobs.c - histories in the CSV schema of gsim(1) */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "ctld/core/rows/event.h"
#include "ctld/gsim/history/csv.h"
#include "ctld/gsim/history/history.h"

enum column {
	JOB_ID,
	SUBMIT,
	DURATION,
	GPUS,
	GPU_TYPE,
	NODES,
	CPUS,
	MEM,
	GPU_MILLI,
	GPU_MEM,
	GPU_BURST,
	USER,
	GROUP,
	STATE,
	REQUESTED,
	COLUMNS
};

static const struct csv_column columns[COLUMNS] = {
	[JOB_ID] = { "job_id", false },
	[SUBMIT] = { "submit_s", true },
	[DURATION] = { "duration_s", true },
	[GPUS] = { "gpus", true },
	[GPU_TYPE] = { "gpu_type", false },
	[NODES] = { "nodes", false },
	[CPUS] = { "cpus", false },
	[MEM] = { "mem_mb", false },
	[GPU_MILLI] = { "gpu_milli", false },
	[GPU_MEM] = { "gpu_mem_mb", false },
	[GPU_BURST] = { "gpu_mem_burst_mb", false },
	[USER] = { "user", false },
	[GROUP] = { "group", false },
	[STATE] = { "state", false },
	[REQUESTED] = { "requested_time_s", false },
};

#define MAX_GPUS 1000000
#define MAX_CPUS 100000000
#define MAX_NAME 255

struct csvjobs {
	struct csv *csv;
	size_t account, partition; /* enum column; COLUMNS: none */
};

static int find_column(const char *name, const char *option, size_t *column, struct error *err)
{
	const char *names[COLUMNS + 1] = { NULL }, *near;
	char shown[80];
	size_t i;

	*column = COLUMNS;
	for (i = 0; name && i < COLUMNS; i++) {
		names[i] = columns[i].name;
		if (!strcmp(name, columns[i].name))
			*column = i;
	}
	if (!name || *column != COLUMNS)
		return 0;
	text_escape(shown, sizeof(shown), name, strlen(name));
	error_set(err, ERR_USAGE, "%s=%s: the histories have no such column", option, shown);
	near = text_nearest(name, names);
	return near ? error_hint(err, "did you mean '%s'?", near) : -1;
}

static void *csvjobs_open(const char *path, const struct history_options *o, struct error *err)
{
	struct csvjobs *j = xcalloc(1, sizeof(*j));

	if (find_column(o->account_column, "--account-column", &j->account, err) < 0 ||
	        find_column(o->partition_column, "--partition-column", &j->partition, err) < 0 ||
	        !(j->csv = csv_open(path, columns, COLUMNS, err))) {
		free(j);
		return NULL;
	}
	return j;
}

static void csvjobs_close(void *reader)
{
	struct csvjobs *j = reader;

	csv_close(j->csv);
	free(j);
}

/* --- rows ------------------------------------------------------------------------------------ */

static int required(const char *const *f, enum column c, struct error *err)
{
	return *f[c] ? 0 : error_set(err, ERR_USAGE, "%s: blank", columns[c].name);
}

static int texts(const char *const *f, struct error *err)
{
	static const enum column which[] = { JOB_ID, USER, GROUP, GPU_TYPE };
	size_t i;

	for (i = 0; i < sizeof(which) / sizeof(which[0]); i++) {
		if (text_check(columns[which[i]].name, f[which[i]], MAX_NAME, err) < 0)
			return -1;
	}
	return 0;
}

static int numbers(const char *const *f, struct history_job *job, struct error *err)
{
	uint64_t gpus = 0, nodes = 0, milli = 1000;

	job->duration = -1;
	if (required(f, SUBMIT, err) < 0 || required(f, GPUS, err) < 0 ||
	        csv_seconds(f[SUBMIT], "submit_s", &job->submit, err) < 0 ||
	        csv_seconds(f[DURATION], "duration_s", &job->duration, err) < 0 ||
	        csv_seconds(f[REQUESTED], "requested_time_s", &job->time_limit, err) < 0 ||
	        csv_count(f[GPUS], "gpus", MAX_GPUS, &gpus, err) < 0 ||
	        csv_count(f[NODES], "nodes", CONF_MAX_NODES, &nodes, err) < 0 ||
	        csv_rounded_up(f[CPUS], "cpus", MAX_CPUS, &job->cpus, err) < 0 ||
	        csv_count(f[MEM], "mem_mb", INT64_MAX / 1024, &job->mem_mb, err) < 0 ||
	        csv_count(f[GPU_MILLI], "gpu_milli", 1000, &milli, err) < 0 ||
	        csv_count(f[GPU_MEM], "gpu_mem_mb", INT64_MAX / 1024, &job->gpu_mem_mb, err) < 0 ||
	        csv_count(f[GPU_BURST], "gpu_mem_burst_mb", INT64_MAX / 1024,
	                &job->gpu_mem_burst_mb, err) < 0)
		return -1;
	if (nodes > gpus && gpus)
		return error_set(err, ERR_USAGE, "nodes %llu, and gpus only %llu",
		        (unsigned long long)nodes, (unsigned long long)gpus);
	job->gpus = (uint32_t)gpus;
	job->nodes = (uint32_t)nodes;
	job->gpu_milli = (uint32_t)milli;
	return 0;
}

static enum history_result csvjobs_next(void *reader, struct history_job *job, struct error *err)
{
	struct csvjobs *j = reader;
	const char *f[COLUMNS];
	enum csv_result r = csv_next(j->csv, f, err);

	if (r != CSV_ROW)
		return r == CSV_END ? HISTORY_END : r == CSV_BAD ? HISTORY_BAD : HISTORY_FAILED;
	*job = (struct history_job){ .name = f[JOB_ID],
		.user = f[USER],
		.group = f[GROUP],
		.gpu_type = f[GPU_TYPE],
		.account = j->account < COLUMNS ? f[j->account] : "",
		.partition = j->partition < COLUMNS ? f[j->partition] : "",
		.line = csv_line(j->csv) };
	if (texts(f, err) == 0 && numbers(f, job, err) == 0)
		return HISTORY_JOB;
	csv_blame(j->csv, err);
	return HISTORY_BAD;
}

const struct history_reader history_csv = { csvjobs_open, csvjobs_next, csvjobs_close };
