/* glog.c - what a job has written, from any host: which job and which of its runs is meant */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/api/reassemble.h"
#include "cmds/glog.h"
#include "common/base/taskset.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/net/channel.h"

static CMD_SETTER(set_rank)
{
	struct glog *g = field;
	uint64_t n = 0;

	if (count_parse(value, 0, UINT32_MAX, &n, err) < 0)
		return -1;
	g->have_rank = true;
	g->rank = (uint32_t)n;
	return 0;
}

static CMD_SETTER(set_node)
{
	*(const char **)field = value;
	if (!*value)
		return error_set(err, ERR_USAGE, "--node: needs a value");
	return text_check("--node", value, 255, err);
}

static int take_job(int key, char *value, struct argp_state *state, void *input, struct error *err)
{
	struct glog *g = input;
	struct taskset tasks;
	uint32_t n = 1;

	(void)key, (void)state;
	if (g->ids.n)
		return error_set(err, ERR_USAGE, "expected a single job; '%s' is too much", value);
	if (cmd_ids_add(&g->ids, value, err) < 0)
		return error_wrap(err, "JOB=%s", value);
	if (g->ids.n_some && taskset_parse(g->ids.some[0]->tasks, &tasks, err) == 0) {
		n = tasks.count;
		taskset_clear(&tasks);
	}
	if (g->ids.n > 1 || n != 1)
		return error_set(err, ERR_USAGE, "expected a single job or task, not '%s'", value);
	g->job = g->ids.v[0].id;
	return 0;
}

#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct glog, member, name, letter, arg, set, help)

static const struct cmd_option table[] = {
	CMD_HEADING("What is shown:"),
	ROW(follow, "follow", 'f', NULL, cmd_set_flag,
	        "Also what is added, until the job has ended"),
	ROW(lines, "lines", 'n', "COUNT", cmd_set_number,
	        "Only the last COUNT lines of what is there"),
	ROW(error, "stderr", 0, NULL, cmd_set_flag,
	        "The standard error, where the job has a file of its own for it"),
	CMD_HEADING("Of a job on several nodes:"),
	{ "rank", 0, "NUMBER", "On its node of this rank (default: the first)", set_rank, 0, 0, 0 },
	ROW(node, "node", 0, "NAME", set_node, "On this node"),
	CMD_TABLE_END,
};

const struct cmd glog_cmd = {
	.name = "glog",
	.arguments = "JOB[_TASK]",
	.about = "Show what a job has written to its output file.",
	.examples =
	        "From any host: the file is read on the job's node, with the rights of its owner. "
	        "Only the owner and root may ask.\n"
	        "\n"
	        "Examples:\n"
	        "  glog 4812\n"
	        "  glog -f -n 20 4812\n"
	        "  glog -f 4813_7\n"
	        "  glog --stderr --rank=3 4812\n"
	        "\n"
	        "Exit status: 0 done; 1 refused (it has not started, the file is gone); 2 usage; 3 "
	        "no such job; 4 the controller was not reached, or the connection broke; 5 not "
	        "permitted.",
	.table = table,
	.take = take_job,
};

/* --- which run -------------------------------------------------------------------------------- */

const char *glog_label(const struct glog *g, char buf[64])
{
	if (g->ids.n_some)
		snprintf(buf, 64, "%" PRIu64 "_%.16s", g->job, g->ids.some[0]->tasks);
	else
		snprintf(buf, 64, "%" PRIu64, g->job);
	return buf;
}

void glog_fill_filter(const struct glog *g, Gpusched__JobFilter *filter)
{
	gpusched__job_filter__init(filter);
	filter->ids = g->ids.whole;
	filter->n_ids = g->ids.n_whole;
	filter->tasks = g->ids.some;
	filter->n_tasks = g->ids.n_some;
	filter->include_ended = true;
}

static int note_job(struct glog *g, const Gpusched__Job *job, struct error *err)
{
	struct taskset tasks;
	uint32_t first = 0;

	if (*job->array && !g->ids.n_some && g->job == job->id) {
		if (taskset_parse_signed(job->array, &tasks, &first, NULL) == 0) {
			first = taskset_first(&tasks);
			taskset_clear(&tasks);
		}
		error_set(err, ERR_USAGE, "job %" PRIu64 " is an array: which task of %s?", g->job,
		        job->array);
		return error_hint(err,
		        "glog %" PRIu64 "_%" PRIu32 "; gqueue -j %" PRIu64 " shows them all",
		        g->job, first, g->job);
	}
	snprintf(g->state, sizeof(g->state), "%s", job->state);
	g->known = true;
	g->ended = job->end_time != 0;
	g->waits = strcmp(job->state, "PENDING") == 0 || strcmp(job->state, "CONFIGURING") == 0;
	g->attempt = job->attempt;
	return 0;
}

static bool is_meant(const struct glog *g, const Gpusched__JobRun *run)
{
	if (g->node && strcmp(g->node, run->node) != 0)
		return false;
	return g->have_rank ? run->rank == g->rank : g->node || run->rank == 0;
}

static void note_run(struct glog *g, const Gpusched__Job *job, const Gpusched__JobRun *run)
{
	struct run_id id = { .job = job->id,
		.task = *job->tasks ? (uint32_t)strtoul(job->tasks, NULL, 10) : 0,
		.attempt = job->attempt,
		.rank = run->rank };

	if (g->on && id.attempt != g->run.attempt) { /* another file, or the same */
		if (g->at != CHANNEL_LOG_NEW)
			g->had = g->at;
		g->at = CHANNEL_LOG_NEW;
		g->lines = UINT64_MAX;
	}
	free(g->on);
	g->on = xstrdup(run->node);
	g->run = id;
}

int glog_take_listed(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Job *job = (const Gpusched__Job *)m;
	struct glog *g = arg;

	if (note_job(g, job, err) < 0)
		return -1;
	for (size_t k = 0; k < job->n_runs; k++) {
		if (is_meant(g, job->runs[k])) {
			note_run(g, job, job->runs[k]);
			break;
		}
	}
	return 0;
}

int glog_find_run(struct glog *g, struct error *err)
{
	Gpusched__ListJobs list = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter filter;
	struct reassembly jobs = { GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, glog_take_listed, g, NULL };
	char name[64];

	glog_fill_filter(g, &filter);
	list.filter = &filter;
	list.with_runs = true;
	list.whole = true;
	g->known = false;
	if (reassembly_ask(g->client, GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &list.base, &jobs, err) <
	        0)
		return -1;
	glog_label(g, name);
	if (!g->known)
		return error_set(err, ERR_NO_JOB, "no job %s", name);
	if (g->follow && g->waits)
		return 0;
	if (g->on && g->run.attempt == g->attempt)
		return 0;
	if (g->attempt && (g->node || g->have_rank))
		return error_set(err, ERR_USAGE, "job %s has no run there", name);
	error_set(err, ERR_JOB_STATE, "job %s is %s: it has not started", name, g->state);
	return g->ended ? -1 : error_hint(err, "gqueue --why %s, or glog -f %s", name, name);
}

static int run(void *input, struct error *err)
{
	struct glog *g = input;
	struct error why = { .code = ERR_NONE };
	int rc;

	if (!g->ids.n) {
		error_set(err, ERR_USAGE, "a job id is required");
		return error_hint(err, "glog JOB; gqueue --me shows your own");
	}
	g->client = client_new(NULL, err);
	if (!g->client)
		return -1;
	cmd_tell_retry(&glog_cmd, g->client);
	client_for_reader(g->client, STDOUT_FILENO);
	g->arena = arena_new(MSG_BODY_MAX);
	while ((rc = glog_show_run(g, &why)) > 0 || (rc < 0 && glog_pause_after(g, &why)))
		client_drop(g->client);
	if (rc < 0)
		*err = why;
	arena_free(g->arena);
	client_free(g->client);
	return rc;
}

int main(int argc, char **argv)
{
	struct glog g = { .lines = UINT64_MAX, .at = CHANNEL_LOG_NEW };
	int status = cmd_main(&glog_cmd, argc, argv, &g, run);

	cmd_ids_clear(&g.ids);
	free(g.on);
	return status;
}
