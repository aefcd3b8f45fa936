/* snapshot_job.c - one job of a snapshot
 *
 * Its message is taken apart into the request, the status and what is its own, and unpacked it is
 * put together again: messages packed one behind the other are one message.
 */
#include <stdlib.h>
#include <string.h>

#include "cmds/web/snapshot_intern.h"
#include "common/base/each.h"
#include "common/base/xalloc.h"

/* --- what is looked at ------------------------------------------------------------------------ */

#define LIVES (1 << 0) /* it holds resources */
#define ENDED (1 << 1)
#define WAITS (1 << 2)

static const struct {
	const char *state;
	unsigned bits;
} states[] = {
	{ "PENDING", WAITS },
	{ "CONFIGURING", LIVES },
	{ "RUNNING", LIVES },
	{ "SUSPENDED", LIVES },
	{ "COMPLETING", LIVES },
};

static unsigned bits_of(const char *state)
{
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (!strcmp(states[i].state, state))
			return states[i].bits;
	return ENDED;
}

/* Of the first alternative, for the nodes that it needs at least. */
static uint32_t gpus_asked(const Gpusched__Job *m)
{
	uint32_t n = m->n_gpus ? m->gpus[0]->count : 0;

	if (m->gpus_per_node)
		n *= m->nodes_min ? m->nodes_min : 1;
	return n * (m->task_count ? m->task_count : 1);
}

static const char *first_of(const char *list, const char *kept, struct snapshot_texts *texts)
{
	size_t n = strcspn(list, ",");
	const char *first;
	char *text;

	if (!list[n])
		return kept;
	text = xstrndup(list, n);
	first = snapshot_text(texts, text);
	free(text);
	return first;
}

/* --- taken apart, and together ---------------------------------------------------------------- */

/* The fields of the status. What changes together for many jobs belongs here. */
#define STATUS_FIELDS(X)                                             \
	X(state) X(reason) X(reason_text) X(n_blockers) X(attempt) \
	X(comment) X(node) X(nodes) X(n_nodes) X(gpu_type) X(gpus_held)

/* Those of one job alone, or that differ between jobs that were submitted alike. */
#define OWN_FIELDS(X)                                                            \
	X(priority) X(position_of) X(order) X(planned_nodes) X(output) X(error) \
	X(dependency) X(begin_time) X(deadline_time) X(exit_code)               \
	X(exit_signal) X(gpu_indices) X(n_gpu_indices) X(checkpoint_time)       \
	X(progress) X(suspended_s) X(tasks_running) X(tasks_ended)              \
	X(tasks_failed) X(steps_running) X(eligible_s) X(runs) X(n_runs)

/* Those that are members of the record, from which they come back. */
#define RECORD_FIELDS(X)                                               \
	X(id) X(raw_id) X(name) X(tasks) X(several) X(task_count)     \
	X(submit_time) X(start_time) X(end_time) X(planned_start_time) \
	X(eligible_time) X(elapsed_s) X(position)

/* All other fields are those of the request. */
struct taken_apart {
	Gpusched__Job request, status, own;
};

/* How long it could start changes by itself while it waits, and is no change of the job. */
static bool still_eligible(const Gpusched__Job *m)
{
	return m->eligible_time && !m->attempt && !strcmp(m->state, "PENDING");
}

static void take_apart(struct taken_apart *t, const Gpusched__Job *m)
{
	static const Gpusched__Job none = GPUSCHED__JOB__INIT;

	t->request = *m;
	t->status = t->own = none;
#define TO_STATUS(field) t->status.field = m->field, t->request.field = none.field;
	STATUS_FIELDS(TO_STATUS)
#define TO_OWN(field) t->own.field = m->field, t->request.field = none.field;
	OWN_FIELDS(TO_OWN)
#define AWAY(field) t->request.field = none.field;
	RECORD_FIELDS(AWAY)
	if (still_eligible(m))
		t->own.eligible_s = 0;
}

static const struct snapshot_request *request_of(
        const Gpusched__Job *m, struct snapshot_texts *texts)
{
	bool made;
	struct snapshot_request *r = (struct snapshot_request *)snapshot_part_get(
	        texts, PART_REQUEST, m, sizeof(*r), &made);

	if (!made)
		return r;
	r->user = snapshot_text(texts, m->user);
	r->account = snapshot_text(texts, m->account);
	r->partition = snapshot_text(texts, m->partition);
	r->first_partition = first_of(m->partition, r->partition, texts);
	r->qos = snapshot_text(texts, m->qos);
	COPY_FIELDS(r, m, mem_mb, uid, cpus, time_limit_s, nodes_min);
	/* An older controller does not send wait_target_s, but the max_wait of the job. */
	r->wait_target_s = m->wait_target_s ? m->wait_target_s : m->max_wait_s;
	return r;
}

static const struct snapshot_status *status_of(const Gpusched__Job *m, struct snapshot_texts *texts)
{
	bool made;
	struct snapshot_status *s = (struct snapshot_status *)snapshot_part_get(
	        texts, PART_STATUS, m, sizeof(*s), &made);
	unsigned bits = bits_of(m->state);

	if (!made)
		return s;
	s->state = snapshot_text(texts, m->state);
	s->reason = snapshot_text(texts, m->reason);
	s->node = snapshot_text(texts, m->node);
	s->gpu_type = snapshot_text(texts, m->gpu_type);
	COPY_FIELDS(s, m, gpus_held, n_nodes, attempt);
	s->waits = bits & WAITS;
	s->runs = bits & LIVES;
	s->ended = bits & ENDED;
	return s;
}

struct snapshot_job *snapshot_job_new(const Gpusched__Job *m, struct snapshot_texts *texts)
{
	size_t name = strlen(m->name) + 1, tasks = strlen(m->tasks) + 1, len;
	struct snapshot_job *job;
	struct taken_apart t;

	take_apart(&t, m);
	len = gpusched__job__get_packed_size(&t.own);
	job = xcalloc(1, sizeof(*job) + name + tasks + len);
	job->id = m->id;
	job->raw_id = m->raw_id ? m->raw_id : m->id;
	memcpy(job->name, m->name, name);
	job->tasks = memcpy(job->name + name, m->tasks, tasks);
	job->len = (uint32_t)gpusched__job__pack(&t.own, (uint8_t *)job->name + name + tasks);
	job->request = request_of(&t.request, texts);
	job->status = status_of(&t.status, texts);
	COPY_FIELDS(job, m, submit_time, start_time, end_time, planned_start_time, eligible_time);
	job->gpus = gpus_asked(m);
	job->task_count = m->task_count ? m->task_count : 1;
	job->position = m->position;
	job->elapsed_s = (uint32_t)m->elapsed_s;
	job->several = m->several;
	return job;
}

void snapshot_job_free(struct snapshot_job *job)
{
	if (!job)
		return;
	snapshot_part_put(&job->request->part, PART_REQUEST);
	snapshot_part_put(&job->status->part, PART_STATUS);
	free(job);
}

static const uint8_t *own_fields(const struct snapshot_job *job)
{
	return (const uint8_t *)job->tasks + strlen(job->tasks) + 1;
}

bool snapshot_job_same(const struct snapshot_job *a, const struct snapshot_job *b)
{
	const size_t from = offsetof(struct snapshot_job, id),
	             to = offsetof(struct snapshot_job, tasks);

	return !memcmp((const char *)a + from, (const char *)b + from, to - from) &&
	       !strcmp(a->name, b->name) && !strcmp(a->tasks, b->tasks) &&
	       !memcmp(own_fields(a), own_fields(b), a->len);
}

/* A text of the message, which had none. */
static void put_text(char **field, const char *text)
{
	if (*text)
		*field = xstrdup(text);
}

static Gpusched__Job *put_together(const struct snapshot_job *job)
{
	const struct snapshot_part *request = &job->request->part, *status = &job->status->part;
	size_t len = (size_t)request->len + status->len + job->len;
	uint8_t *bytes = xcalloc(len + 1, 1);
	Gpusched__Job *m;

	memcpy(bytes, request->packed, request->len);
	memcpy(bytes + request->len, status->packed, status->len);
	memcpy(bytes + request->len + status->len, own_fields(job), job->len);
	m = gpusched__job__unpack(NULL, len, bytes);
	free(bytes);
	return m;
}

Gpusched__Job *snapshot_job_unpack(const struct snapshot *snap, const struct snapshot_job *job)
{
	Gpusched__Job *m = put_together(job);

	if (!m)
		return NULL;
	m->id = job->id;
	m->raw_id = job->raw_id;
	put_text(&m->name, job->name);
	put_text(&m->tasks, job->tasks);
	COPY_FIELDS(m, job, several, task_count, submit_time, start_time, end_time,
	        planned_start_time, eligible_time, elapsed_s, position);
	if (snap && still_eligible(m) && snap->taken_us > m->eligible_time)
		m->eligible_s = (uint64_t)(snap->taken_us - m->eligible_time) / 1000000;
	return m;
}

int snapshot_job_compare(const struct snapshot_job *a, const struct snapshot_job *b)
{
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->raw_id != b->raw_id)
		return a->raw_id < b->raw_id ? -1 : 1;
	return strcmp(a->tasks, b->tasks);
}
