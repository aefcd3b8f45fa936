/* glog.c - what a job has written, from any host
 *
 * The file is read where the job ran, by a process of the job's owner there (noded/stream/gtap.c),
 * and comes through an encrypted stream. While it is followed the controller tells of the job's
 * changes: when it starts (until then there is nothing to follow), is run again, or ends, after
 * which the rest is read and nothing more waited for.
 *
 * A stream that breaks is opened again, at the byte that was to come next, as long as the run's
 * node knows of it.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/api/encrypted_stream.h"
#include "cmds/api/reassemble.h"
#include "cmds/cli/cmd.h"
#include "cmds/cli/job_ids.h"
#include "common/base/arena.h"
#include "common/base/taskset.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"

struct glog {
	struct cmd_ids ids; /* one, of an array with one task */
	uint64_t job;
	bool follow, error, have_rank;
	uint64_t lines; /* UINT64_MAX: all */
	uint32_t rank;
	const char *node;
	/* the job as was told last */
	bool known, waits, ended;
	uint32_t attempt;
	char state[32];
	/* its run; `at`: what comes next of its file, or CHANNEL_LOG_NEW */
	char *on;
	struct run_id run;
	uint64_t at;
	uint64_t had;   /* `at` of an earlier attempt's; 0: there was none */
	uint32_t shown; /* the attempt of the output shown last; 0: none */
	bool told;      /* that it waits */
	struct client *client;
	struct arena *arena;
};

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

static const struct cmd cmd = {
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

/* What is meant, as people name it: "4812", "4812_7". */
static const char *label(const struct glog *g, char buf[64])
{
	if (g->ids.n_some)
		snprintf(buf, 64, "%" PRIu64 "_%.16s", g->job, g->ids.some[0]->tasks);
	else
		snprintf(buf, 64, "%" PRIu64, g->job);
	return buf;
}

static void fill_filter(const struct glog *g, Gpusched__JobFilter *filter)
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

static int take_listed(const ProtobufCMessage *m, void *arg, struct error *err)
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

static int find_run(struct glog *g, struct error *err)
{
	Gpusched__ListJobs list = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter filter;
	struct whole jobs = { GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, take_listed, g, NULL };
	char name[64];

	fill_filter(g, &filter);
	list.filter = &filter;
	list.with_runs = true;
	list.whole = true;
	g->known = false;
	if (whole_ask(g->client, GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &list.base, &jobs, err) < 0)
		return -1;
	label(g, name);
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

/* --- what becomes of it ----------------------------------------------------------------------- */

static uint64_t ask_to_watch(const struct glog *g, struct dial *d, struct error *err)
{
	Gpusched__WatchJobs watch = GPUSCHED__WATCH_JOBS__INIT;
	Gpusched__JobFilter filter;

	fill_filter(g, &filter);
	watch.filter = &filter;
	return dial_send(d, GPUSCHED__MSG_TYPE__MSG_WATCH_JOBS, &watch.base, err);
}

/* A frame that is not the stream's. */
static int take_watch(struct glog *g, const struct frame *f, uint64_t watch, struct error *err)
{
	struct whole jobs = { GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, take_listed, g, NULL };
	ProtobufCMessage *m;

	if (!watch || f->id != watch)
		return 0;
	m = msg_unpack(f->type, f->body, f->len, g->arena, err);
	if (!m)
		return -1;
	if (f->type == GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK)
		return whole_chunk(m, &jobs, err);
	if (f->type != GPUSCHED__MSG_TYPE__MSG_REPLY)
		return error_set(err, ERR_PROTOCOL, "unexpected answer: %s", msg_name(f->type));
	if (dial_reply_error((const Gpusched__Reply *)m, err) < 0)
		return -1;
	return error_set(err, ERR_PROTOCOL, "the controller has ended a watch");
}

/* Until it has started, or ended without. */
static int wait_for_start(struct glog *g, struct dial *d, struct error *err)
{
	uint64_t watch = ask_to_watch(g, d, err);
	struct frame f;
	char name[64];

	if (!watch)
		return -1;
	if (!g->told && strcmp(g->state, "PENDING") == 0) {
		g->told = true;
		fprintf(stderr, "%s: job %s is PENDING: waiting for its start\n", cmd.name,
		        label(g, name));
	}
	while (g->waits)
		if (dial_recv(d, &f, -1, err) < 0 || take_watch(g, &f, watch, err) < 0)
			return -1;
	return 0;
}

/* --- the stream ------------------------------------------------------------------------------- */

static int ask_for_log(struct glog *g, struct stream *s, struct error *err)
{
	struct channel_log log = {
		.error = g->error,
		.follow = g->follow && !g->ended,
		.lines = g->lines,
		.at = g->at,
		.had = g->had,
	};
	uint8_t b[CHANNEL_LOG_LEN];
	char name[64];

	if (g->shown && g->shown != g->run.attempt)
		fprintf(stderr, "%s: job %s is run again: attempt %" PRIu32 ", on %s\n", cmd.name,
		        label(g, name), g->run.attempt, g->on);
	g->shown = g->run.attempt;
	channel_put_log(b, &log);
	return stream_send(s, CHANNEL_LOG, b, sizeof(b), err);
}

/* 1: that was all. */
static int show_message(struct glog *g, const struct channel_message *m, struct error *err)
{
	struct error why;

	switch (m->kind) {
	case CHANNEL_AT:
		client_worked(g->client);
		return channel_get_at(m, &g->at, err);
	case CHANNEL_OUT:
		g->at += m->len;
		if (fwrite(m->data, 1, m->len, stdout) != m->len)
			return error_set(err, ERR_SYSTEM, "the output cannot be written");
		return 0;
	default:
		if (channel_get_end(m, &why, err) < 0)
			return -1;
		if (why.code == ERR_NONE)
			return 1;
		*err = why;
		return -1;
	}
}

/* What has come. 1: that was all. */
static int show_output(struct glog *g, struct stream *s, struct error *err)
{
	struct channel_message m;
	int r;

	while ((r = stream_next(s, &m, err)) > 0) {
		r = show_message(g, &m, err);
		if (r != 0)
			return r;
	}
	fflush(stdout);
	return r;
}

/* This run's output gets no longer. */
static bool is_over(const struct glog *g)
{
	return g->ended || g->waits || g->attempt != g->run.attempt;
}

/* Until the end of the log, and of the run if it is followed. */
static int copy(struct glog *g, struct dial *d, struct stream *s, struct error *err)
{
	uint64_t watch = 0;
	bool asked = false, finished = false;
	struct frame f;
	int r;

	if (g->follow && !g->ended && !(watch = ask_to_watch(g, d, err)))
		return -1;
	for (;;) {
		r = dial_recv(d, &f, -1, err);
		if (r > 0)
			r = stream_take(s, &f, err);
		if (r == 0)
			r = take_watch(g, &f, watch, err);
		if (r < 0)
			return -1;
		r = show_output(g, s, err);
		if (r != 0)
			return r < 0 ? -1 : 0;
		if (!asked && stream_is_open(s)) {
			asked = true;
			if (ask_for_log(g, s, err) < 0)
				return -1;
		}
		if (asked && watch && is_over(g) && !finished && stream_has_room(s)) {
			finished = true;
			if (stream_send(s, CHANNEL_FINISH, NULL, 0, err) < 0)
				return -1;
		}
	}
}

/* One connection's worth. 1: it goes on with another one. */
static int show_run(struct glog *g, struct error *err)
{
	struct stream *s;
	struct stream_to to;
	struct dial *d;
	int rc;

	if (find_run(g, err) < 0 || !(d = client_dial(g->client, err)))
		return -1;
	if (g->follow && g->waits)
		return wait_for_start(g, d, err) < 0 ? -1 : 1;
	to = (struct stream_to){ g->run, g->on };
	s = stream_open(g->client, d, &to, err);
	if (!s)
		return -1;
	rc = copy(g, d, s, err);
	stream_free(s);
	if (rc < 0)
		return -1;
	return g->follow && (!g->ended || g->attempt != g->run.attempt);
}

/* Is it a break, of something that was under way? Then it is tried again: of a run that goes on for
 * as long as it does. */
static bool pause_after(struct glog *g, const struct error *why)
{
	struct error passing = *why;

	if (g->at == CHANNEL_LOG_NEW && !g->told)
		return false;
	if (why->code == ERR_NODE_STATE) /* its agent is not connected yet */
		passing.code = ERR_UNREACHABLE;
	if (!getenv(CLIENT_RETRY_VARIABLE))
		client_set_retry(g->client, g->follow && !g->ended ? -1 : CLIENT_RETRY_MS);
	return client_pause(g->client, &passing);
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
	cmd_tell_retry(&cmd, g->client);
	client_for_reader(g->client, STDOUT_FILENO);
	g->arena = arena_new(MSG_BODY_MAX);
	while ((rc = show_run(g, &why)) > 0 || (rc < 0 && pause_after(g, &why)))
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
	int status = cmd_main(&cmd, argc, argv, &g, run);

	cmd_ids_clear(&g.ids);
	free(g.on);
	return status;
}
