/* acct_record.c - see acct_record.h */
#include "ctld/rpc/acct/acct_record.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/hostlist.h"
#include "common/base/text.h"
#include "common/job/run.h"
#include "ctld/core/accounts/cost_and_decay.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/row_codec.h"

#define USEC_PER_S 1000000

/* What was stored may be older than a rule for texts: what is not plain is escaped. */
static char *text(const struct value *v, struct arena *arena)
{
	size_t size = (text_plain_prefix(v->p, v->n) == v->n ? v->n : 4 * v->n) + 8;
	char *copy = arena_take(arena, size);

	text_escape(copy, size, v->p, v->n);
	return copy;
}

static char *copied(const char *s, struct arena *arena)
{
	return strcpy(arena_take(arena, strlen(s) + 1), s);
}

/* "time-limit" of CAUSE_TIME_LIMIT; "" of none. */
static char *cause_name(int64_t cause, struct arena *arena)
{
	const ProtobufCEnumValue *v =
	        protobuf_c_enum_descriptor_get_value(&gpusched__end_cause__descriptor, (int)cause);
	char *name = copied(v && cause ? v->name + strlen("CAUSE_") : "", arena);

	for (char *c = name; *c; c++)
		*c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
	return name;
}

/* --- runs ----------------------------------------------------------------------------------- */

#define RUN_INT(m, row, name)   (m)->name = (__typeof__((m)->name))(row)->v[COL_RUN_##name].i
#define RUN_TEXT(m, row, name)  (m)->name = text(&(row)->v[COL_RUN_##name], arena)
#define RUN_INTS(m, row, ...)   EACH(RUN_INT, m, row, __VA_ARGS__)
#define RUN_TEXTS(m, row, ...)  EACH(RUN_TEXT, m, row, __VA_ARGS__)

static Gpusched__RunUsed *used_of(const struct row *row, struct arena *arena)
{
	Gpusched__RunUsed *m = arena_take(arena, sizeof(*m));

	gpusched__run_used__init(m);
	RUN_INTS(m, row, cpu_time_us, read_bytes, written_bytes, gpu_seen_us, gpu_busy_us,
	        gpu_idle_us, gpu_mem_peak_mb, gpu_mem_mbs, energy_mj);
	m->mem_peak_mb = (uint64_t)row->v[COL_RUN_max_rss_kb].i / 1024;
	return m;
}

/* Of a replica: until it was READY, or all of the time. */
static uint64_t loading_us(const struct row *row)
{
	int64_t start = row->v[COL_RUN_start_time].i, ready = row->v[COL_RUN_ready_time].i;

	if (!row->v[COL_RUN_health].i)
		return 0;
	if (!ready)
		return (uint64_t)row->v[COL_RUN_elapsed_us].i;
	return ready > start ? (uint64_t)(ready - start) : 0;
}

static Gpusched__AcctRun *run_of(const struct row *row, struct arena *arena)
{
	Gpusched__AcctRun *m = arena_take(arena, sizeof(*m));
	uint64_t set = (uint64_t)row->v[COL_RUN_gpus].i;
	uint64_t charge = (uint64_t)row->v[COL_RUN_share_charge].i;

	gpusched__acct_run__init(m);
	RUN_INTS(m, row, task, attempt, rank, cpus, mem_mb, start_time, end_time, elapsed_us,
	        suspended_us, exit_code, exit_signal, cpu_time_us, max_rss_kb);
	RUN_TEXTS(m, row, node, state, gpu_type, detail, account);
	m->gpus = arena_take(arena, 64 * sizeof(*m->gpus));
	for (uint32_t i = 0; i < 64; i++)
		if (set >> i & 1)
			m->gpus[m->n_gpus++] = i;
	m->cause = cause_name(row->v[COL_RUN_end_cause].i, arena);
	m->held_us = (uint64_t)row->v[COL_RUN_billed_us].i;
	m->gpu_us =
	        m->n_gpus * (charge ? m->held_us / 1000 * charge + m->held_us % 1000 * charge / 1000
	                            : m->held_us);
	m->cost = (double)row->v[COL_RUN_cost_u].i / USAGE_MICRO;
	m->used = used_of(row, arena);
	RUN_INTS(m, row, ready_us, requests, tokens);
	m->loading_us = loading_us(row);
	return m;
}

/* --- jobs ----------------------------------------------------------------------------------- */

/* "key=value" lines */
static void add_labels(Gpusched__Acct *m, const struct value *v, struct arena *arena)
{
	const char *at = v->p, *end = at + v->n;
	size_t n = 0;

	for (const char *c = at; c < end; c++)
		n += *c == '\n';
	m->labels = arena_take(arena, n * sizeof(*m->labels));
	for (size_t i = 0; i < n; i++) {
		const char *line = at, *stop = memchr(at, '\n', (size_t)(end - at));
		const char *mid = memchr(line, '=', (size_t)(stop - line));
		struct value key = { .p = line }, value = { .p = stop };
		Gpusched__KeyValue *label = arena_take(arena, sizeof(*label));

		key.n = (size_t)((mid ? mid : stop) - line);
		if (mid)
			value = (struct value){ .p = mid + 1, .n = (size_t)(stop - mid - 1) };
		gpusched__key_value__init(label);
		label->key = text(&key, arena);
		label->value = text(&value, arena);
		m->labels[m->n_labels++] = label;
		at = stop + 1;
	}
}

#define JOB_INT(m, row, name)   (m)->name = (__typeof__((m)->name))(row)->v[COL_JOB_##name].i
#define JOB_TEXT(m, row, name)  (m)->name = text(&(row)->v[COL_JOB_##name], arena)
#define JOB_INTS(m, row, ...)   EACH(JOB_INT, m, row, __VA_ARGS__)
#define JOB_TEXTS(m, row, ...)  EACH(JOB_TEXT, m, row, __VA_ARGS__)

static Gpusched__Acct *job_of(const struct row *row, struct arena *arena)
{
	Gpusched__Acct *m = arena_take(arena, sizeof(*m));

	gpusched__acct__init(m);
	JOB_INTS(m, row, id, uid, exit_code, exit_signal, submit_time, start_time, end_time, cpus,
	        mem_mb, time_limit_s, max_wait_s, part, eligible_time);
	JOB_TEXTS(m, row, name, user, account, partition, qos, state, submit_host, cwd, comment,
	        array, tasks, remark);
	m->asked_gpus = text(&row->v[COL_JOB_gpus], arena);
	m->attempts = (uint32_t)row->v[COL_JOB_attempt].i;
	m->cause = cause_name(row->v[COL_JOB_end_cause].i, arena);
	m->array_throttle = (uint32_t)row->v[COL_JOB_at_once].i;
	m->has_steps = row->v[COL_JOB_steps].i != 0;
	m->several = m->array[0] && (!m->part || m->part >= JOB_PART_RANGES);
	add_labels(m, &row->v[COL_JOB_labels], arena);
	return m;
}

/* Did the run end by itself, with exit code 0? */
static bool ended_well(const Gpusched__AcctRun *run)
{
	return !run->exit_code && !run->exit_signal &&
	       (!run->cause[0] || !strcmp(run->cause, "exit"));
}

/* The run that says how the attempt ended: one that went wrong by itself, else the first. */
static const Gpusched__AcctRun *telling(const Gpusched__AcctRun *best, const Gpusched__AcctRun *run)
{
	bool by_itself = !ended_well(run) && strcmp(run->cause, "peer") != 0;

	if (!best)
		return run;
	return (ended_well(best) || !strcmp(best->cause, "peer")) && by_itself ? run : best;
}

static void add_gpus(Gpusched__Acct *m, const Gpusched__AcctRun *run, struct arena *arena)
{
	Gpusched__GpuCount *count;
	Gpusched__GpuCount **more;

	for (size_t i = 0; i < m->n_gpus; i++)
		if (!strcmp(m->gpus[i]->type, run->gpu_type)) {
			m->gpus[i]->count += (uint32_t)run->n_gpus;
			return;
		}
	count = arena_take(arena, sizeof(*count));
	gpusched__gpu_count__init(count);
	count->type = run->gpu_type;
	count->count = (uint32_t)run->n_gpus;
	more = arena_take(arena, (m->n_gpus + 1) * sizeof(*more));
	if (m->n_gpus)
		memcpy(more, m->gpus, m->n_gpus * sizeof(*more));
	m->gpus = more;
	m->gpus[m->n_gpus++] = count;
}

/* What the runs of the last attempt say. */
static void add_last_attempt(Gpusched__Acct *m, struct arena *arena)
{
	const char **nodes = arena_take(arena, m->n_runs * sizeof(*nodes));
	const Gpusched__AcctRun *told = NULL;
	size_t n = 0;
	char *list;

	for (size_t i = 0; i < m->n_runs; i++) {
		const Gpusched__AcctRun *run = m->runs[i];
		uint64_t worked = run->elapsed_us > run->suspended_us
		                          ? run->elapsed_us - run->suspended_us
		                          : 0;

		if (run->attempt != m->attempts)
			continue;
		told = telling(told, run);
		if (!strcmp(run->state, "NEVER"))
			continue;
		nodes[n++] = run->node;
		if (run->n_gpus)
			add_gpus(m, run, arena);
		if (worked / USEC_PER_S > m->elapsed_s)
			m->elapsed_s = worked / USEC_PER_S;
		if (run->suspended_us > m->suspended_us)
			m->suspended_us = run->suspended_us;
	}
	if (told) {
		m->detail = told->detail;
		m->cause = told->cause[0] ? told->cause : m->cause;
	}
	list = hostlist_compress(nodes, n);
	m->nodes = copied(list, arena);
	free(list);
	m->n_nodes = (uint32_t)n;
}

static void add_used(Gpusched__RunUsed *all, const Gpusched__RunUsed *one)
{
	ADD_FIELDS(all, one, cpu_time_us, read_bytes, written_bytes, gpu_seen_us, gpu_busy_us,
	        gpu_idle_us, gpu_mem_mbs, energy_mj);
	if (one->mem_peak_mb > all->mem_peak_mb)
		all->mem_peak_mb = one->mem_peak_mb;
	if (one->gpu_mem_peak_mb > all->gpu_mem_peak_mb)
		all->gpu_mem_peak_mb = one->gpu_mem_peak_mb;
}

static void add_sums(Gpusched__Acct *m, struct arena *arena)
{
	m->used = arena_take(arena, sizeof(*m->used));
	gpusched__run_used__init(m->used);
	for (size_t i = 0; i < m->n_runs; i++) {
		const Gpusched__AcctRun *run = m->runs[i];

		m->gpu_us += run->gpu_us;
		m->gpu_held_us += run->n_gpus * run->held_us;
		m->cpu_us += run->cpus * run->held_us;
		m->cpu_time_us += run->cpu_time_us;
		m->cost += run->cost;
		ADD_FIELDS(m, run, ready_us, loading_us, requests, tokens);
		add_used(m->used, run->used);
		m->runs_billed += run->held_us > 0;
		if (run->max_rss_kb > m->max_rss_kb)
			m->max_rss_kb = run->max_rss_kb;
		if (run->start_time && strcmp(run->state, "NEVER") != 0 &&
		        (!m->first_start_time || run->start_time < m->first_start_time))
			m->first_start_time = run->start_time;
	}
	if (m->first_start_time > m->submit_time)
		m->wait_s = (uint64_t)(m->first_start_time - m->submit_time) / USEC_PER_S;
}

/* Until it started; a job that never did: until its end. */
static void add_eligible(Gpusched__Acct *m)
{
	int64_t to = m->first_start_time ? m->first_start_time : m->end_time;

	if (m->eligible_time && to > m->eligible_time)
		m->eligible_s = (uint64_t)(to - m->eligible_time) / USEC_PER_S;
}

/* As job_raw_id(). The array of a task is read once for all of its tasks that follow. */
static uint64_t raw_id(struct acct_reader *r, const struct row *row, const Gpusched__Acct *m)
{
	uint32_t at_once;

	if (!row->v[COL_JOB_raw_ids].i || !m->part || m->part >= JOB_PART_RANGES)
		return m->id;
	if (r->tasks_of != m->id) {
		taskset_clear(&r->tasks);
		r->tasks_of = m->id;
		if (taskset_parse_signed(m->array, &r->tasks, &at_once, NULL) < 0)
			r->tasks = (struct taskset){ 0 };
	}
	if (!taskset_has(&r->tasks, m->part - 1))
		return m->id;
	return m->id + 1 + taskset_before(&r->tasks, m->part - 1);
}

Gpusched__Acct *acct_next(struct acct_reader *r)
{
	Gpusched__AcctRun **runs = NULL;
	size_t n = 0, room = 0;
	Gpusched__Acct *m;

	if (!r->is_ahead && !batch_next(r->batch, &r->offset, &r->ahead)) {
		taskset_clear(&r->tasks);
		return NULL;
	}
	m = job_of(&r->ahead.row, r->arena);
	m->raw_id = raw_id(r, &r->ahead.row, m);
	while ((r->is_ahead = batch_next(r->batch, &r->offset, &r->ahead)) &&
	        r->ahead.row.table == TABLE_RUN) {
		if (n == room) {
			Gpusched__AcctRun **more =
			        arena_take(r->arena, (room * 2 + 4) * sizeof(*more));

			if (n)
				memcpy(more, runs, n * sizeof(*more));
			room = room * 2 + 4;
			runs = more;
		}
		runs[n++] = run_of(&r->ahead.row, r->arena);
	}
	m->runs = runs;
	m->n_runs = n;
	add_last_attempt(m, r->arena);
	add_sums(m, r->arena);
	add_eligible(m);
	return m;
}
