/* glog.c - what a job has written, from any host
 *
 * The file is read where the job ran, by a process that is the job's owner there (noded/tap.c), and
 * comes through an encrypted stream. While it is followed the controller is asked to tell of the
 * job's end, after which the rest is read and nothing more waited for.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/cmd.h"
#include "cmds/stream.h"
#include "common/gpusched.pb-c.h"
#include "common/units.h"
#include "common/xalloc.h"

enum { KEY_RANK = 0x200, KEY_NODE, KEY_STDERR };

struct glog {
	uint64_t job;
	bool follow, error, have_job, have_rank;
	uint64_t lines; /* UINT64_MAX: all */
	uint32_t rank;
	const char *node;
	/* found */
	char *on;
	struct run_id run;
	bool ended;
	char state[32];
};

static const struct argp_option options[] = {
	{ "follow", 'f', NULL, 0, "Show what is added, until the job has ended", 1 },
	{ "lines", 'n', "COUNT", 0, "Only the last COUNT lines of what is there", 1 },
	{ "stderr", KEY_STDERR, NULL, 0,
	        "The standard error, where the job has a file of its own for it", 1 },
	{ NULL, 0, NULL, 0, "Of a job on several nodes:", 2 },
	{ "rank", KEY_RANK, "NUMBER", 0, "On its node of this rank; without: the first", 2 },
	{ "node", KEY_NODE, "NAME", 0, "On this node", 2 },
	{ 0 },
};

static int take_number(
        const char *name, const char *value, uint64_t max, uint64_t *n, struct error *err)
{
	if (count_parse(value, 0, max, n, err) < 0)
		return error_wrap(err, "%s=%s", name, value);
	return 0;
}

static int take(int key, char *value, struct argp_state *state, void *input, struct error *err)
{
	struct glog *g = input;
	uint64_t n = 0;
	(void)state;

	switch (key) {
	case 'f':
		g->follow = true;
		return 0;
	case 'n':
		return take_number("--lines", value, UINT64_MAX - 1, &g->lines, err);
	case KEY_STDERR:
		g->error = true;
		return 0;
	case KEY_NODE:
		g->node = value;
		return 0;
	case KEY_RANK:
		g->have_rank = true;
		if (take_number("--rank", value, UINT32_MAX, &n, err) < 0)
			return -1;
		g->rank = (uint32_t)n;
		return 0;
	default:
		if (g->have_job)
			return error_set(err, ERR_USAGE, "one job at a time, not '%s' too", value);
		g->have_job = true;
		return take_number("JOB", value, UINT64_MAX, &g->job, err);
	}
}

static const struct cmd cmd = {
	.name = "glog",
	.arguments = "JOB",
	.about = "Show what a job has written to its output file.",
	.examples =
	        "From any host: the file is read on the job's node, with the rights of its owner. "
	        "Only the owner and root may ask.\n"
	        "\n"
	        "Examples:\n"
	        "  glog 4812\n"
	        "  glog -f -n 20 4812\n"
	        "  glog --stderr --rank=3 4812\n"
	        "\n"
	        "Exit status: 0 done; 1 refused (it has not started, the file is gone); 2 usage; 3 "
	        "no such job; 4 the controller was not reached, or the connection broke; 5 not "
	        "permitted.",
	.options = options,
	.take = take,
};

/* --- which run -------------------------------------------------------------------------------- */

static bool is_meant(const struct glog *g, const Gpusched__JobRun *run)
{
	if (g->node && strcmp(g->node, run->node) != 0)
		return false;
	return g->have_rank ? run->rank == g->rank : g->node || run->rank == 0;
}

static int on_jobs(unsigned type, const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__JobChunk *chunk = (const Gpusched__JobChunk *)m;
	struct glog *g = arg;
	(void)type;
	(void)err;

	for (size_t i = 0; i < chunk->n_jobs; i++) {
		const Gpusched__Job *job = chunk->jobs[i];

		snprintf(g->state, sizeof(g->state), "%s", job->state);
		g->ended = job->end_time != 0;
		for (size_t k = 0; k < job->n_runs && !g->on; k++) {
			if (!is_meant(g, job->runs[k]))
				continue;
			g->on = xstrdup(job->runs[k]->node);
			g->run = (struct run_id){
				.job = job->id, .attempt = job->attempt, .rank = job->runs[k]->rank
			};
		}
	}
	return 0;
}

static int find_run(struct glog *g, struct client *c, struct error *err)
{
	Gpusched__ListJobs list = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	struct client_call call = {
		.type = GPUSCHED__MSG_TYPE__MSG_LIST_JOBS,
		.request = &list.base,
		.on_chunk = on_jobs,
		.arg = g,
		.repeatable = true,
	};

	filter.n_ids = 1;
	filter.ids = &g->job;
	filter.include_ended = true;
	list.filter = &filter;
	list.with_runs = true;
	if (client_call(c, &call, err) < 0)
		return -1;
	if (g->on)
		return 0;
	if (g->node || g->have_rank)
		return error_set(err, ERR_USAGE, "job %" PRIu64 " has no run there", g->job);
	error_set(
	        err, ERR_JOB_STATE, "job %" PRIu64 " is %s: it has not started", g->job, g->state);
	return error_hint(err, "gqueue --why %" PRIu64, g->job);
}

/* --- the stream ------------------------------------------------------------------------------- */

static uint64_t ask_for_end(const struct glog *g, struct dial *d, struct error *err)
{
	Gpusched__WaitJobs wait = GPUSCHED__WAIT_JOBS__INIT;
	uint64_t job = g->job;

	wait.n_ids = 1;
	wait.ids = &job;
	return dial_send(d, GPUSCHED__MSG_TYPE__MSG_WAIT_JOBS, &wait.base, err);
}

static int ask_for_log(const struct glog *g, struct stream *s, struct error *err)
{
	struct channel_log log = {
		.error = g->error, .follow = g->follow && !g->ended, .lines = g->lines
	};
	uint8_t b[CHANNEL_LOG_LEN];

	channel_put_log(b, &log);
	return stream_send(s, CHANNEL_LOG, b, sizeof(b), err);
}

/* What has come. 1: that was all. */
static int show(struct stream *s, struct error *err)
{
	struct channel_message m;
	struct error why;
	int r;

	while ((r = stream_next(s, &m, err)) > 0) {
		if (m.kind == CHANNEL_OUT) {
			if (fwrite(m.data, 1, m.len, stdout) != m.len)
				return error_set(err, ERR_SYSTEM, "the output cannot be written");
			continue;
		}
		if (channel_get_end(&m, &why, err) < 0)
			return -1;
		if (why.code == ERR_NONE)
			return 1;
		*err = why;
		return -1;
	}
	fflush(stdout);
	return r;
}

/* Until the end of the log, and of the job if it is followed. */
static int copy(const struct glog *g, struct dial *d, struct stream *s, struct error *err)
{
	uint64_t wait = 0;
	bool asked = false, job_ended = false, told = false;
	struct frame f;
	int r;

	if (g->follow && !g->ended && !(wait = ask_for_end(g, d, err)))
		return -1;
	for (;;) {
		r = dial_recv(d, &f, -1, err);
		if (r > 0)
			r = stream_take(s, &f, err);
		if (r < 0)
			return -1;
		if (r == 0)
			job_ended |= f.type == GPUSCHED__MSG_TYPE__MSG_REPLY && f.id == wait;
		r = show(s, err);
		if (r != 0)
			return r < 0 ? -1 : 0;
		if (!asked && stream_is_open(s)) {
			asked = true;
			if (ask_for_log(g, s, err) < 0)
				return -1;
		}
		if (asked && wait && job_ended && !told && stream_has_room(s)) {
			told = true;
			if (stream_send(s, CHANNEL_FINISH, NULL, 0, err) < 0)
				return -1;
		}
	}
}

static int run(struct glog *g, struct error *err)
{
	struct client *c;
	struct stream *s = NULL;
	struct stream_to to;
	struct dial *d;
	int rc = -1;

	if (!g->have_job) {
		error_set(err, ERR_USAGE, "which job?");
		return error_hint(err, "glog JOB; gqueue --me shows your own");
	}
	c = client_new(NULL, err);
	if (!c)
		return -1;
	cmd_tell_retry(&cmd, c);
	if (find_run(g, c, err) == 0 && (d = client_dial(c, err))) {
		to = (struct stream_to){ g->run, g->on };
		s = stream_open(c, d, &to, err);
		if (s)
			rc = copy(g, d, s, err);
	}
	stream_free(s);
	client_free(c);
	return rc;
}

int main(int argc, char **argv)
{
	struct glog g = { .lines = UINT64_MAX };
	struct error err = { .code = ERR_NONE };
	int status = cmd_parse(&cmd, argc, argv, &g);

	if (status == CMD_GO_ON) {
		status = run(&g, &err) < 0 ? cmd_fail(&cmd, &err) : EXIT_DONE;
		status = cmd_finish(&cmd, status);
	}
	free(g.on);
	return status;
}
