/* job.c - see job.h */
#include "cmds/top/model/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/views/views.h"
#include "common/base/xalloc.h"

#define USEC_PER_S 1000000

bool job_key_same(struct job_key a, struct job_key b)
{
	return a.id == b.id && a.part == b.part;
}

struct job_key job_key_of_task(uint64_t id, uint32_t task)
{
	return (struct job_key){ id, task < JOB_WAITING_TASKS - 1 ? task + 1 : 0 };
}

struct job_key job_key_of(const Gpusched__Job *m)
{
	struct job_key key = { m->id, 0 };

	if (m->several)
		key.part = JOB_WAITING_TASKS;
	else if (*m->tasks)
		key = job_key_of_task(m->id, (uint32_t)strtoul(m->tasks, NULL, 10));
	return key;
}

const char *job_key_text(char buf[JOB_KEY_TEXT], struct job_key key)
{
	if (!key.part || key.part == JOB_WAITING_TASKS)
		snprintf(buf, JOB_KEY_TEXT, "%" PRIu64, key.id);
	else
		snprintf(buf, JOB_KEY_TEXT, "%" PRIu64 "_%" PRIu32, key.id, key.part - 1);
	return buf;
}

/* GPUs that it holds or, of the first alternative, asks for. */
static uint32_t count_gpus(const Gpusched__Job *m, bool pending, uint32_t tasks)
{
	uint64_t n;

	if (!pending)
		return m->gpus_held;
	n = m->n_gpus ? m->gpus[0]->count : 0;
	if (m->gpus_per_node && m->nodes_min)
		n *= m->nodes_min;
	n *= tasks;
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static void set_numbers(struct top_job *j, const Gpusched__Job *m, int64_t now_us)
{
	const struct job_state *state = job_state(m->state);

	j->key = job_key_of(m);
	j->pending = !strcmp(m->state, "PENDING");
	j->over = (state && state->ended) || (m->several && !m->task_count) ||
	          (m->several && !j->pending);
	j->reserve = job_is_reserve(m);
	j->limit_s = m->time_limit_s;
	j->limited = m->time_limit_s && m->time_limit_s != UINT32_MAX;
	j->uid = m->uid;
	j->tasks = m->several ? m->task_count : 1;
	j->gpus = count_gpus(m, j->pending, j->tasks);
	j->order = m->order ? m->order : INT64_MAX;
	j->priority = m->priority;
	j->submit_us = m->submit_time > 0 ? m->submit_time : 0;
	if (!j->pending && m->start_time && m->elapsed_s < INT64_MAX / USEC_PER_S)
		j->started_us = now_us - (int64_t)m->elapsed_s * USEC_PER_S;
	j->heard_us = now_us;
}

struct top_job *top_job_new(const Gpusched__Job *m, int64_t now_us)
{
	const struct job_state *state = job_state(m->state);
	const char *texts[] = { m->user, m->account, m->partition, m->qos, m->name,
		state ? state->code : m->state, m->reason, m->nodes };
	size_t packed = gpusched__job__get_packed_size(m), n = packed;
	struct top_job *j;
	char *at;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		n += strlen(texts[i]) + 1;
	j = xcalloc(1, sizeof(*j) + n);
	const char **fields[] = { &j->user, &j->account, &j->partition, &j->qos, &j->name, &j->code,
		&j->reason, &j->nodes };
	at = j->data;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		*fields[i] = at;
		at = stpcpy(at, texts[i]) + 1;
	}
	j->packed = (uint8_t *)at;
	j->len = gpusched__job__pack(m, (uint8_t *)at);
	set_numbers(j, m, now_us);
	return j;
}

uint64_t top_job_elapsed_s(const struct top_job *j, int64_t now_us)
{
	return j->started_us && now_us > j->started_us
	               ? (uint64_t)(now_us - j->started_us) / USEC_PER_S
	               : 0;
}

Gpusched__Job *top_job_unpack(const struct top_job *j, int64_t now_us)
{
	Gpusched__Job *m = gpusched__job__unpack(NULL, j->len, j->packed);

	if (m && !strcmp(m->state, "RUNNING"))
		m->elapsed_s = top_job_elapsed_s(j, now_us);
	return m;
}
