/* slurmrest_jobs.c - jobs as Slurm's REST daemon shows them
 *
 * SLURMREST_JOBS_MAX of them are 15 MB of text, so their list is made while the client takes it,
 * each part from the newest snapshot: it is not of one moment. It is broken off after
 * HTTP_STREAM_LIFE_S, so a lost role takes effect.
 *
 * Tasks of an array that wait are one record, told before those of the array's other tasks. A task
 * that begins meanwhile gets a record of its own, which is left out: the task was told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/web/rest/rest.h"
#include "cmds/web/rest/slurmrest.h"
#include "cmds/web/rest/slurmrest_impl.h"
#include "cmds/web/snapshot.h"
#include "common/base/taskset.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define NO_JOB 2017 /* ESLURM_INVALID_JOB_ID */
#define PART   4096 /* bytes that are made at once, or one job */

static int64_t seconds(int64_t us)
{
	return us / 1000000;
}

static int64_t node_count(const Gpusched__Job *j)
{
	return j->n_nodes ? j->n_nodes : j->nodes_min ? j->nodes_min : 1;
}

static int64_t gpus_asked(const Gpusched__Job *j)
{
	if (!j->n_gpus)
		return 0;
	return (int64_t)j->gpus[0]->count * (j->gpus_per_node ? node_count(j) : 1);
}

static void put_state(json_t *o, enum slurmrest_version v, const Gpusched__Job *j)
{
	if (v == V38)
		slurm_text(o, "job_state", j->state);
	else
		json_object_set_new(o, "job_state", json_pack("[s]", j->state));
	slurm_text(o, "state_reason", *j->reason ? j->reason : "None");
	slurm_text(o, "state_description", "");
}

static void put_exit(json_t *o, enum slurmrest_version v, const Gpusched__Job *j)
{
	json_t *exit;
	const char *status = j->exit_signal ? "SIGNALED" : j->exit_code ? "ERROR" : "SUCCESS";

	if (v == V38) {
		/* As waitpid(2) has it. */
		slurm_plain(o, "exit_code", j->exit_signal ? j->exit_signal : j->exit_code << 8);
		return;
	}
	exit = json_pack("{s[s]s{ss}}", "status", status, "signal", "name", "");
	slurm_number(exit, v, "return_code", j->exit_code, false);
	slurm_number(json_object_get(exit, "signal"), v, "id", j->exit_signal, false);
	json_object_set_new(o, "exit_code", exit);
}

static void put_array(json_t *o, enum slurmrest_version v, const Gpusched__Job *j)
{
	bool one = *j->tasks && !j->several;

	slurm_number(o, v, "array_job_id", *j->array ? (int64_t)j->id : 0, false);
	slurm_number(o, v, "array_task_id", one ? atol(j->tasks) : 0, v == V38 && !one);
	slurm_text(o, "array_task_string", j->several ? j->tasks : "");
	slurm_number(o, v, "array_max_tasks", j->array_throttle, false);
}

static void put_times(json_t *o, enum slurmrest_version v, const Gpusched__Job *j)
{
	bool waits = !strcmp(j->state, "PENDING");

	slurm_number(o, v, "submit_time", seconds(j->submit_time), false);
	slurm_number(
	        o, v, "start_time", seconds(waits ? j->planned_start_time : j->start_time), false);
	slurm_number(o, v, "end_time", seconds(j->end_time), false);
	slurm_number(o, v, "deadline", seconds(j->deadline_time), false);
	slurm_number(o, v, "time_limit", j->time_limit_s / 60, !j->time_limit_s);
}

static void put_amounts(json_t *o, enum slurmrest_version v, const Gpusched__Job *j)
{
	int64_t nodes = node_count(j), cpus = (int64_t)j->cpus * nodes;
	int64_t mem_mb = (int64_t)j->mem_mb * nodes;
	char tres[SLURM_TRES];

	slurm_number(o, v, "node_count", nodes, false);
	slurm_number(o, v, "cpus", cpus, false);
	slurm_number(o, v, "tasks", 1, false);
	slurm_number(o, v, "memory_per_node", (int64_t)j->mem_mb, false);
	slurm_tres(tres, cpus, mem_mb, nodes, gpus_asked(j));
	slurm_text(o, "tres_req_str", tres);
	slurm_tres(tres, cpus, mem_mb, nodes, j->gpus_held);
	slurm_text(o, "tres_alloc_str", j->n_nodes ? tres : "");
	json_object_set_new(o, "job_resources",
	        !j->n_nodes ? v == V38 ? json_null() : json_object()
	                    : json_pack("{sssI}", "nodes", j->nodes, "allocated_hosts",
	                              (json_int_t)j->n_nodes));
}

static json_t *job_of(enum slurmrest_version v, const char *cluster, const Gpusched__Job *j)
{
	json_t *o = json_object();

	slurm_plain(o, "job_id", (int64_t)(j->raw_id ? j->raw_id : j->id));
	slurm_text(o, "name", j->name);
	slurm_text(o, "user_name", j->user);
	slurm_plain(o, "user_id", j->uid);
	slurm_text(o, "account", j->account);
	slurm_text(o, "partition", j->partition);
	slurm_text(o, "qos", j->qos);
	slurm_text(o, "cluster", cluster);
	slurm_text(o, "command", "");
	slurm_text(o, "current_working_directory", j->cwd);
	slurm_text(o, "standard_output", j->output);
	slurm_text(o, "standard_error", *j->error ? j->error : j->output);
	slurm_text(o, "standard_input", "/dev/null");
	slurm_text(o, "comment", j->remark);
	slurm_text(o, "dependency", j->dependency);
	slurm_text(o, "features", j->constraint);
	slurm_text(o, "licenses", j->licences);
	slurm_text(o, "nodes", j->nodes);
	slurm_number(o, v, "priority", j->priority, false);
	slurm_plain(o, "nice", j->nice);
	slurm_plain(o, "restart_cnt", j->attempt > 1 ? j->attempt - 1 : 0);
	json_object_set_new(o, "requeue", json_boolean(j->requeue));
	put_state(o, v, j);
	put_exit(o, v, j);
	put_array(o, v, j);
	put_times(o, v, j);
	put_amounts(o, v, j);
	return o;
}

/* Whose list it is, and what of it there is so far. */
struct told {
	enum slurmrest_version version;
	struct viewer *viewer;
	size_t n; /* jobs */
	struct strbuf text;
};

static void put_job(struct told *t, const struct snapshot *snap, const struct snapshot_job *job)
{
	Gpusched__Job *m;
	json_t *o;

	if (!viewer_sees(t->viewer, job->request->uid, job->request->account))
		return;
	m = snapshot_job_unpack(snap, job);
	if (!m)
		return;
	o = job_of(t->version, snap->cluster, m);
	strbuf_adds(&t->text, t->n++ ? ",\n" : "\n");
	rest_json(&t->text, o);
	json_decref(o);
	gpusched__job__free_unpacked(m, NULL);
}

struct stream {
	struct http_stream http; /* first: it is one */
	struct told told;
	size_t at;                /* so much of the text is sent */
	struct snapshot_key last; /* of the last job that was looked at */
	struct taskset waiting; /* of the array `last.id`: those that were told as waiting ones */
	bool ended;
};

/* Was the task told with those that wait? Keeps which these are. */
static bool told_before(struct stream *s, const struct snapshot_job *job)
{
	struct taskset more = { 0 };
	struct error err;

	if (job->id != s->last.id)
		taskset_clear(&s->waiting);
	if (!job->several)
		return *job->tasks && taskset_has(&s->waiting, (uint32_t)atol(job->tasks));
	if (taskset_parse_kept(job->tasks, &more, &err) == 0)
		taskset_add(&s->waiting, &more);
	taskset_clear(&more);
	return false;
}

/* The next part. A key's records are told together. */
static void tell_more(struct stream *s, const struct snapshot *snap)
{
	struct strbuf *text = &s->told.text;
	size_t i = snapshot_behind(snap, s->last);

	text->len = s->at = 0;
	for (; i < snap->n_jobs; i++) {
		struct snapshot_key key = { snap->jobs[i]->id, snap->jobs[i]->raw_id };

		if ((text->len >= PART || s->told.n >= SLURMREST_JOBS_MAX) &&
		        (key.id != s->last.id || key.raw_id != s->last.raw_id))
			break;
		if (!told_before(s, snap->jobs[i]))
			put_job(&s->told, snap, snap->jobs[i]);
		s->last = key;
	}
	if (i < snap->n_jobs && s->told.n < SLURMREST_JOBS_MAX)
		return;
	strbuf_adds(text, "]}\n");
	s->ended = true;
}

static ssize_t read_stream(
        struct http_stream *http, const struct snapshot *snap, bool beat, char *buf, size_t max)
{
	struct stream *s = (struct stream *)http;
	size_t n;

	(void)beat;
	if (s->at == s->told.text.len && (s->ended || !snap))
		return -1;
	if (http_stream_is_over(http, 0))
		return -2;
	if (s->at == s->told.text.len)
		tell_more(s, snap);
	n = s->told.text.len - s->at;
	n = n < max ? n : max;
	memcpy(buf, s->told.text.s + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static void free_stream(struct http_stream *http)
{
	struct stream *s = (struct stream *)http;

	viewer_put(s->told.viewer);
	strbuf_free(&s->told.text);
	taskset_clear(&s->waiting);
	free(s);
}

void slurm_jobs(const struct http_request *r, struct http_answer *a)
{
	char warning[80] = "";
	struct stream *s;

	if (slurm_not_ready(r, a))
		return;
	if (r->snap->n_jobs > SLURMREST_JOBS_MAX)
		snprintf(warning, sizeof(warning), "at most %d jobs: /v1/jobs has all of them",
		        SLURMREST_JOBS_MAX);
	slurm_begin(r, a, "jobs", warning);
	s = xcalloc(1, sizeof(*s));
	s->http = (struct http_stream){ .read = read_stream, .free = free_stream };
	http_stream_begin(&s->http);
	s->told.version = slurmrest_version(r);
	s->told.viewer = viewer_get(r->viewer);
	s->told.text = a->body;
	a->body = (struct strbuf){ 0 };
	strbuf_adds(&s->told.text, "[");
	a->stream = &s->http;
}

void slurm_job(const struct http_request *r, struct http_answer *a)
{
	struct told t = { .version = slurmrest_version(r), .viewer = viewer_get(r->viewer) };
	const struct snapshot_job *own;
	struct snapshot_job **records = NULL;
	size_t n = 0;
	uint64_t id;

	if (!slurm_not_ready(r, a)) {
		slurm_begin(r, a, "jobs", "");
		t.text = a->body;
		a->body = (struct strbuf){ 0 };
		strbuf_adds(&t.text, "[");
		if (count_parse(r->name, 1, INT64_MAX, &id, NULL) == 0) {
			records = snapshot_records(r->snap, id, &n);
			own = records ? NULL : snapshot_job(r->snap, id);
			if (own)
				put_job(&t, r->snap, own);
		}
		for (size_t i = 0; i < n; i++)
			put_job(&t, r->snap, records[i]);
		strbuf_adds(&t.text, "]");
		a->body = t.text;
		slurm_end(a);
		if (!t.n)
			slurm_failed(a, 404, NO_JOB, "Invalid job id specified");
	}
	viewer_put(t.viewer);
}
