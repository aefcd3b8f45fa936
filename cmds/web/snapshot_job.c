/* snapshot_job.c - one job of a snapshot, and the texts that jobs have alike */
#include <stdlib.h>
#include <string.h>

#include "cmds/web/snapshot_make.h"
#include "common/base/xalloc.h"

/* --- texts ------------------------------------------------------------------------------------ */

struct snapshot_texts {
	char **v; /* open addressing */
	size_t n, size;
};

static size_t place_of(const struct snapshot_texts *t, const char *text)
{
	uint64_t hash = 0xcbf29ce484222325U;

	for (const char *c = text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3U;
	hash ^= hash >> 32;
	for (size_t i = hash & (t->size - 1);; i = (i + 1) & (t->size - 1))
		if (!t->v[i] || !strcmp(t->v[i], text))
			return i;
}

static void grow(struct snapshot_texts *t)
{
	char **old = t->v;
	size_t n = t->size;

	t->size *= 2;
	t->v = xcalloc(t->size, sizeof(*t->v));
	for (size_t i = 0; i < n; i++)
		if (old[i])
			t->v[place_of(t, old[i])] = old[i];
	free(old);
}

struct snapshot_texts *snapshot_texts_new(void)
{
	struct snapshot_texts *t = xcalloc(1, sizeof(*t));

	t->size = 256;
	t->v = xcalloc(t->size, sizeof(*t->v));
	return t;
}

void snapshot_texts_free(struct snapshot_texts *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->size; i++)
		free(t->v[i]);
	free(t->v);
	free(t);
}

const char *snapshot_text(struct snapshot_texts *t, const char *text)
{
	size_t i;

	if (!*text)
		return "";
	i = place_of(t, text);
	if (t->v[i])
		return t->v[i];
	if (t->n >= SNAPSHOT_TEXTS_MAX)
		return "(other)";
	if (++t->n > t->size / 2) {
		grow(t);
		i = place_of(t, text);
	}
	return t->v[i] = xstrdup(text);
}

/* --- a job ------------------------------------------------------------------------------------ */

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

static void take_texts(
        struct snapshot_job *job, const Gpusched__Job *m, struct snapshot_texts *texts)
{
	job->user = snapshot_text(texts, m->user);
	job->account = snapshot_text(texts, m->account);
	job->partition = snapshot_text(texts, m->partition);
	job->first_partition = first_of(m->partition, job->partition, texts);
	job->qos = snapshot_text(texts, m->qos);
	job->state = snapshot_text(texts, m->state);
	job->reason = snapshot_text(texts, m->reason);
	job->node = snapshot_text(texts, m->node);
	job->gpu_type = snapshot_text(texts, m->gpu_type);
}

struct snapshot_job *snapshot_job_new(const Gpusched__Job *m, struct snapshot_texts *texts)
{
	size_t name = strlen(m->name) + 1, tasks = strlen(m->tasks) + 1;
	size_t len = gpusched__job__get_packed_size(m);
	struct snapshot_job *job = xcalloc(1, sizeof(*job) + name + tasks + len);
	char *text = (char *)(job + 1);
	unsigned bits = bits_of(m->state);

	job->id = m->id;
	job->raw_id = m->raw_id ? m->raw_id : m->id;
	job->name = memcpy(text, m->name, name);
	job->tasks = memcpy(text + name, m->tasks, tasks);
	job->packed = (uint8_t *)text + name + tasks;
	job->len = (uint32_t)gpusched__job__pack(m, (uint8_t *)text + name + tasks);
	take_texts(job, m, texts);
	job->submit_time = m->submit_time;
	job->start_time = m->start_time;
	job->end_time = m->end_time;
	job->planned_start_time = m->planned_start_time;
	job->eligible_time = m->eligible_time;
	job->max_wait_s = m->max_wait_s;
	job->attempt = m->attempt;
	job->mem_mb = m->mem_mb;
	job->uid = m->uid;
	job->cpus = m->cpus;
	job->time_limit_s = m->time_limit_s;
	job->gpus = gpus_asked(m);
	job->gpus_held = m->gpus_held;
	job->n_nodes = m->n_nodes;
	job->nodes_min = m->nodes_min;
	job->task_count = m->task_count ? m->task_count : 1;
	job->position = m->position;
	job->elapsed_s = (uint32_t)m->elapsed_s;
	job->waits = bits & WAITS;
	job->runs = bits & LIVES;
	job->ended = bits & ENDED;
	job->several = m->several;
	return job;
}

Gpusched__Job *snapshot_job_unpack(const struct snapshot_job *job)
{
	return gpusched__job__unpack(NULL, job->len, job->packed);
}

int snapshot_job_compare(const struct snapshot_job *a, const struct snapshot_job *b)
{
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->raw_id != b->raw_id)
		return a->raw_id < b->raw_id ? -1 : 1;
	return strcmp(a->tasks, b->tasks);
}
