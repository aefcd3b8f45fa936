/* srun_allocate.c - a job that is made for a step, or for salloc; see srun.h */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cmds/api/gpusched.h"
#include "cmds/api/reassemble.h"
#include "cmds/api/submit.h"
#include "cmds/options/tasks.h"
#include "cmds/slurm/sbatch_options.h"
#include "cmds/slurm/slurmenv.h"
#include "cmds/srun/srun.h"
#include "cmds/steps/loop.h"
#include "common/base/hostlist.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"

#define TELL_MS 150   /* no message for a job that starts at once */
#define QUIT_MS 10000 /* time for the allocation to learn that it must end */

extern char **environ;

/* No node executes it: the job's program is gstepd. */
static const char script[] = "#!/bin/sh\n# an allocation for srun\n";

static volatile sig_atomic_t stopped; /* by that signal */

/* --- what is asked for ------------------------------------------------------------------------ */

static int apply(struct submit_options *job, const char *name, const char *value, struct error *err)
{
	size_t n;
	const struct sbatch_row *rows = sbatch_rows(&n), *row = NULL;
	struct sbatch_value room;

	for (size_t i = 0; i < n && !row; i++)
		row = strcmp(rows[i].name, name) ? NULL : &rows[i];
	if (!row || srun_is_of_step(name))
		return 0;
	if (!strcmp(name, "exclusive"))
		value = NULL;
	switch (sbatch_kind(row)) {
	case SBATCH_REFUSED:
		return sbatch_refuse(row, err);
	case SBATCH_IGNORED:
		return 0;
	default:
		value = sbatch_convert(row, value, &room, err);
		if (!value && row->convert && row->arg == SBATCH_ARG)
			return -1;
		return options_set(job, sbatch_ours(row), value, err);
	}
}

/* SALLOC_PARTITION, SLURM_PARTITION and such; the weaker source. */
static int apply_variables(struct submit_options *job, const char *prefix, struct error *err)
{
	static const char *const names[][2] = { { "PARTITION", "partition" },
		{ "ACCOUNT", "account" }, { "QOS", "qos" }, { "TIMELIMIT", "time" },
		{ "CONSTRAINT", "constraint" }, { "GPUS", "gpus" },
		{ "GPUS_PER_NODE", "gpus-per-node" }, { "GPUS_PER_TASK", "gpus-per-task" },
		{ "GRES", "gres" }, { "MEM_PER_CPU", "mem-per-cpu" }, { "MEM_PER_NODE", "mem" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char name[64];
		const char *value;

		snprintf(name, sizeof(name), "%s_%s", prefix, names[i][0]);
		value = getenv(name);
		if (value && *value && apply(job, names[i][1], value, err) < 0)
			return error_wrap(err, "%s", name);
	}
	return 0;
}

int srun_job_options(const struct srun_options *o, struct submit_options *job, struct error *err)
{
	int rc;

	options_init(job);
	job->of_sbatch = true;
	rc = apply_variables(job, strcmp(srun_name, "salloc") ? "SLURM" : "SALLOC", err);
	job->source++;
	for (size_t i = 0; rc == 0 && i < o->n_given; i++)
		rc = apply(job, o->given[i].name, o->given[i].value, err);
	job->of_sbatch = false;
	job->slurm_env = true;
	return rc;
}

static const char *job_name(const struct srun_options *o)
{
	const char *slash = o->command && o->command[0] ? strrchr(o->command[0], '/') : NULL;

	return !strcmp(srun_name, "salloc") || !o->command || !o->command[0] ? "interactive"
	       : slash && slash[1]                                           ? slash + 1
	                                                                     : o->command[0];
}

/* `env` as the job is to have it; freed by the caller. */
static int make_spec(const struct srun_options *o, struct submit_options *job, uint32_t patience_s,
        struct gpusched_spec *s, char ***env, struct error *err)
{
	*env = slurmenv_add(environ, job);
	if (tasks_settle(job, err) < 0)
		return -1;
	gpusched_spec_init(s);
	options_ask(job, s);
	s->script = script;
	s->script_len = sizeof(script) - 1;
	s->env = (const char *const *)*env;
	s->name = job->name ? job->name : job_name(o);
	s->no_requeue = true;
	s->max_attempts = 0;
	s->requeue_on = NULL;
	s->output = "/dev/null";
	s->steps = 2;
	s->patience_s = patience_s;
	return 0;
}

/* --- waiting for it --------------------------------------------------------------------------- */

static void on_stop(int sig)
{
	stopped = sig;
}

static void catch_stops(void (*handler)(int))
{
	static const int stops[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		struct sigaction a = { .sa_handler = handler };

		sigaction(stops[i], &a, NULL);
	}
}

static void take_place(const Gpusched__Job *j, struct srun_allocation *a)
{
	a->job.attempt = j->attempt;
	a->nodelist = xstrdup(*j->nodes ? j->nodes : j->node);
	a->nodes = j->n_nodes ? j->n_nodes : 1;
	a->cpus_per_node = j->cpus;
	a->partition = xstrdup(j->partition);
	snprintf(a->job.node, sizeof(a->job.node), "%s", j->node);
}

/* 1: it runs; 0: not the answer; -1: it never will. */
static int take_answer(
        const struct frame *f, struct arena *arena, struct srun_allocation *a, struct error *err)
{
	ProtobufCMessage *m = msg_unpack(f->type, f->body, f->len, arena, err);
	const Gpusched__JobChunk *chunk = (const Gpusched__JobChunk *)m;

	if (!m)
		return -1;
	if (f->type == GPUSCHED__MSG_TYPE__MSG_REPLY)
		return dial_reply_error((const Gpusched__Reply *)m, err) < 0 ? -1 : 0;
	if (f->type != GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK || chunk->n_jobs != 1)
		return 0;
	if (strcmp(chunk->jobs[0]->state, "RUNNING") != 0)
		return error_set(err, ERR_JOB_STATE, "Job allocation %s has been revoked (%s%s%s)",
		        a->job.name, chunk->jobs[0]->state, *chunk->jobs[0]->comment ? ": " : "",
		        chunk->jobs[0]->comment);
	take_place(chunk->jobs[0], a);
	return 1;
}

static int ask(struct client *c, const struct srun_allocation *a, struct error *err)
{
	Gpusched__WaitJobs wait = GPUSCHED__WAIT_JOBS__INIT;
	struct dial *d = client_dial(c, err);
	uint64_t id = a->job.id;

	wait.n_ids = 1;
	wait.ids = &id;
	wait.until_started = true;
	return d && dial_send(d, GPUSCHED__MSG_TYPE__MSG_WAIT_JOBS, &wait.base, err) ? 0 : -1;
}

static void say_waits(const struct srun_options *o, const struct srun_allocation *a)
{
	if (o->quiet)
		return;
	if (!strcmp(srun_name, "salloc"))
		srun_info("Pending job allocation %s", a->job.name);
	srun_info("job %s queued and waiting for resources", a->job.name);
}

static int wait_until_runs(struct client *c, const struct srun_options *o,
        struct srun_allocation *a, struct error *err)
{
	struct arena *arena = arena_new(MSG_BODY_MAX);
	int64_t began = loop_now_ms(), limit = o->immediate ? began + (int64_t)o->immediate_s * 1000
	                                                            : INT64_MAX;
	bool told = false;
	struct frame f;
	int r = ask(c, a, err);

	while (r == 0) {
		int ms = told ? 1000 : TELL_MS;

		r = dial_recv(client_dial(c, err), &f, ms, err);
		if (r < 0 && dial_may_retry(err)) { /* the controller is away: it is asked again */
			client_drop(c);
			r = ask(c, a, err);
			continue;
		}
		r = r > 0 ? take_answer(&f, arena, a, err) : r;
		if (r == 0 && stopped)
			r = error_set(err, ERR_JOB_STATE, "Job allocation %s has been revoked.",
			        a->job.name);
		if (r == 0 && loop_now_ms() > limit)
			r = error_set(err, ERR_BUSY,
			        "Unable to allocate resources: Requested nodes are busy");
		if (r == 0 && !told && loop_now_ms() - began >= TELL_MS) {
			told = true;
			say_waits(o, a);
		}
	}
	if (r > 0 && told && !o->quiet)
		srun_info("job %s has been allocated resources", a->job.name);
	arena_free(arena);
	return r < 0 ? -1 : 0;
}

static int cancel(struct client *c, uint64_t job, struct error *err)
{
	Gpusched__JobControl control = GPUSCHED__JOB_CONTROL__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	struct client_call call = {
		CLIENT_CALL(JOB_CONTROL, &control.base, JOB_CONTROL_RESULT, NULL, NULL)
	};

	filter.n_ids = 1;
	filter.ids = &job;
	control.verb = GPUSCHED__JOB_CONTROL__VERB__CANCEL;
	control.filter = &filter;
	return client_call(c, &call, err);
}

void srun_cancel(uint64_t job)
{
	struct client *c = client_new(NULL, NULL);

	if (c)
		cancel(c, job, NULL);
	client_free(c);
}

/* --- all of it -------------------------------------------------------------------------------- */

static int allocate(struct client *c, const struct srun_options *o, const struct gpusched_spec *s,
        struct srun_allocation *a, struct error *err)
{
	catch_stops(on_stop); /* from here on ^C must not leave a job behind */
	if (submit_one(c, s, NULL, &a->job.id, err) < 0)
		return error_wrap(err, "Unable to allocate resources");
	snprintf(a->job.name, sizeof(a->job.name), "%llu", (unsigned long long)a->job.id);
	if (wait_until_runs(c, o, a, err) == 0)
		return 0;
	client_drop(c);
	cancel(c, a->job.id, NULL);
	return -1;
}

int srun_allocate(const struct srun_options *o, struct submit_options *job, uint32_t patience_s,
        struct srun_allocation *a, struct error *err)
{
	struct client *c = client_new(NULL, err);
	struct gpusched_spec spec;
	char **env = NULL;
	int rc = -1;

	*a = (struct srun_allocation){ .nodes = 0 };
	if (!c)
		return -1;
	if (make_spec(o, job, patience_s, &spec, &env, err) == 0) {
		a->tasks = tasks_count(job);
		rc = allocate(c, o, &spec, a, err);
	}
	a->stopped = stopped;
	catch_stops(SIG_DFL);
	free(env);
	client_free(c);
	return rc;
}

void srun_allocation_clear(struct srun_allocation *a)
{
	free(a->nodelist);
	free(a->partition);
}

/* --- --test-only ------------------------------------------------------------------------------ */

struct verdict {
	const struct submit_options *job;
	char partition[256];
};

static int keep_default(const ProtobufCMessage *item, void *arg, struct error *err)
{
	const Gpusched__Partition *p = (const Gpusched__Partition *)item;
	struct verdict *v = arg;

	(void)err;
	if (p->is_default)
		snprintf(v->partition, sizeof(v->partition), "%s", p->name);
	return 0;
}

static int find_partition(struct client *c, struct verdict *v, struct error *err)
{
	Gpusched__ListPartitions request = GPUSCHED__LIST_PARTITIONS__INIT;
	struct reassembly parts = { GPUSCHED__MSG_TYPE__MSG_PARTITION_CHUNK, keep_default, v,
		NULL };

	snprintf(v->partition, sizeof(v->partition), "%s",
	        v->job->partition ? v->job->partition : "");
	request.whole = true;
	return *v->partition ? 0
	                     : reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_PARTITIONS,
	                               &request.base, &parts, err);
}

static char *name_places(const Gpusched__SubmitResult *r)
{
	const char **names = xcalloc(r->n_places + 1, sizeof(*names));
	char *list;

	for (size_t i = 0; i < r->n_places; i++)
		names[i] = r->places[i]->node;
	list = r->n_places ? hostlist_compress(names, r->n_places)
	                   : xstrdup(r->why && *r->why->planned_nodes ? r->why->planned_nodes
	                                                              : "(null)");
	free(names);
	return list;
}

/* The number is the next job's, as Slurm's: another one may come before it. */
static void tell_test(const Gpusched__SubmitResult *r, void *arg)
{
	const struct verdict *v = arg;
	uint32_t nodes = r->n_places        ? (uint32_t)r->n_places
	                 : v->job->nodes_min ? v->job->nodes_min
	                                     : 1;
	int64_t start = r->why ? r->why->planned_start_time / 1000000 : 0;
	time_t at = r->would_start_now ? time(NULL) : start;
	char when[40] = "Unknown", *list = name_places(r);
	struct tm tm;

	localtime_r(&at, &tm);
	if (at)
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	srun_info("Job %" PRIu64
	          " to start at %s using %u processors on nodes %s in partition %s",
	        r->next_job, when, (v->job->cpus ? v->job->cpus : 1) * nodes, list,
	          *r->partition ? r->partition : v->partition);
	free(list);
}

int srun_test_only(const struct srun_options *o, struct error *err)
{
	struct client *c = client_new(NULL, err);
	struct submit_options job;
	struct verdict v = { .job = &job };
	struct gpusched_spec spec;
	char **env = NULL;
	int rc = -1;

	if (!c)
		return -1;
	if (srun_job_options(o, &job, err) == 0 && make_spec(o, &job, 30, &spec, &env, err) == 0 &&
	        find_partition(c, &v, err) == 0) {
		rc = submit_test(c, &spec, NULL, tell_test, &v, err);
		if (rc < 0)
			error_wrap(err, "allocation failure");
	}
	free(env);
	options_clear(&job);
	client_free(c);
	return rc;
}

/* --- its end ---------------------------------------------------------------------------------- */

/* The reply to a control, or that there will be none. 1: it is there. */
static int take_reply(struct steplink *l, struct error *err)
{
	struct steplink_message m;
	Gpusched__Reply *r;

	while (steplink_next(l, &m, err) > 0) {
		if (m.kind != STEP_REPLY || !(r = gpusched__reply__unpack(NULL, m.len, m.data)))
			continue;
		err->code = (enum error_code)r->code;
		if (r->code)
			error_set(err, (enum error_code)r->code, "%s", r->text);
		gpusched__reply__free_unpacked(r, NULL);
		return 1;
	}
	return 0;
}

/* 0: go on; 1: the reply is there; -1: the other end is gone, or silent. */
static int move_bytes(struct steplink *l, int fd, struct error *err)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t bytes[4096];
	const uint8_t *out;
	size_t len;
	ssize_t n;

	out = steplink_pending(l, &len);
	if (len)
		p.events |= POLLOUT;
	if (poll(&p, 1, QUIT_MS) <= 0)
		return error_set(err, ERR_TIMEOUT, "its step manager does not answer");
	if (len && p.revents & POLLOUT) {
		n = send(fd, out, len, MSG_NOSIGNAL);
		if (n < 0)
			return error_set(err, ERR_JOB_STATE, "its steps are over");
		steplink_sent(l, (size_t)n);
	}
	if (!(p.revents & (POLLIN | POLLHUP)))
		return 0;
	n = read(fd, bytes, sizeof(bytes));
	if (n <= 0)
		return error_set(err, ERR_JOB_STATE, "its steps are over");
	if (steplink_feed(l, bytes, (size_t)n, err) < 0)
		return -1;
	return take_reply(l, err);
}

int srun_control(int fd, const Gpusched__StepControl *control, struct error *err)
{
	struct steplink *l = steplink_new();
	int rc;

	steplink_put_message(l, STEP_CONTROL, STEP_NONE, &control->base);
	while ((rc = move_bytes(l, fd, err)) == 0)
		;
	steplink_free(l);
	close(fd);
	return rc < 0 || err->code ? -1 : 0;
}

void srun_quit(int fd, int status)
{
	Gpusched__StepControl c = GPUSCHED__STEP_CONTROL__INIT;
	struct error err;

	c.verb = GPUSCHED__STEP_CONTROL__VERB__QUIT;
	c.exit_code = (uint32_t)status;
	srun_control(fd, &c, &err); /* without it the allocation ends for want of a client */
}
