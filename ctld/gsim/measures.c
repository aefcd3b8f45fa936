/* measures.c - see measures.h */
#include "ctld/gsim/measures.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

void measures_init(struct measures *m, uint64_t capacity)
{
	memset(m, 0, sizeof(*m));
	m->capacity = capacity;
	m->accounts = text_numbers_new();
	timeline_init(&m->queue);
	timeline_init(&m->use);
}

void measures_clear(struct measures *m)
{
	struct samples *const all[] = { &m->wait, &m->completion, &m->slowdown, &m->estimate };
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		samples_clear(all[i]);
	for (i = 0; i < m->n_refusals; i++)
		free(m->refusals[i].text);
	free(m->use_of);
	text_numbers_free(m->accounts);
}

/* How many GPUs. */
static double measures_used(const struct measures *m)
{
	return (double)m->used_milli / 1000;
}

/* --- time ------------------------------------------------------------------------------------ */

void measures_series(struct measures *m, FILE *file, usec_t step)
{
	m->series = file;
	m->series_step = step;
	fprintf(file, "time_s,waiting_jobs,running_jobs,used_gpus\n");
}

static void sample(struct measures *m, usec_t now)
{
	for (; m->series && m->series_next < now; m->series_next += m->series_step)
		fprintf(m->series, "%.15g,%llu,%llu,%.15g\n", (double)m->series_next / 1e6,
		        (unsigned long long)m->waiting, (unsigned long long)m->running,
		        measures_used(m));
}

void measures_pass(struct measures *m, usec_t now)
{
	double us = (double)(now - m->now);

	if (now <= m->now)
		return;
	sample(m, now);
	m->capacity_us += (double)m->capacity * us;
	m->used_us += measures_used(m) * us;
	m->waiting_us += (double)m->waiting * us;
	m->running_us += (double)m->running * us;
	if (m->waiting) {
		m->busy_capacity_us += (double)m->capacity * us;
		m->busy_used_us += measures_used(m) * us;
	}
	m->most_waiting = m->waiting > m->most_waiting ? m->waiting : m->most_waiting;
	timeline_pass(&m->queue, now, (double)m->waiting);
	timeline_pass(&m->use, now, measures_used(m));
	m->now = now;
}

void measures_each(struct measures *m, FILE *file)
{
	m->each = file;
	fprintf(file,
	        "job_id,account,partition,gpus,state,attempts,submit_s,start_s,end_s,estimate_s\n");
}

/* A field of a CSV file. */
static void put_text(const char *text, FILE *file)
{
	if (!strpbrk(text, ",\"")) {
		fputs(text, file);
		return;
	}
	putc('"', file);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', file);
		putc(*text, file);
	}
	putc('"', file);
}

static void put_job_row(const struct measures *m, const struct measured_end *e)
{
	if (!m->each)
		return;
	put_text(e->name, m->each);
	putc(',', m->each);
	put_text(e->account, m->each);
	putc(',', m->each);
	put_text(e->partition, m->each);
	fprintf(m->each, ",%u,%s,%u,%.15g,%.15g,%.15g,", e->gpus, e->state, e->attempts,
	        (double)e->arrival / 1e6, (double)e->start / 1e6,
	        (double)(e->arrival + e->completion) / 1e6);
	if (e->estimate >= 0)
		fprintf(m->each, "%.15g", (double)e->estimate / 1e6);
	putc('\n', m->each);
}

/* --- jobs ------------------------------------------------------------------------------------ */

static struct account_use *use_of(struct measures *m, const char *account)
{
	uint32_t number = text_numbers_get(m->accounts, account);

	if (number >= m->n_use_of) {
		m->use_of = xrealloc(m->use_of, number + 1, sizeof(*m->use_of));
		memset(&m->use_of[m->n_use_of], 0, (number + 1 - m->n_use_of) * sizeof(*m->use_of));
		m->n_use_of = number + 1;
	}
	return &m->use_of[number];
}

void measures_refused(struct measures *m, const struct error *why)
{
	struct refusal *r;
	size_t i;

	m->refused++;
	for (i = 0; i < m->n_refusals; i++) {
		if (m->refusals[i].code == why->code)
			break;
	}
	if (i == MEASURES_REFUSALS)
		return;
	r = &m->refusals[i];
	if (i == m->n_refusals) {
		m->n_refusals++;
		r->code = why->code;
		r->text = xstrdup(why->text);
	}
	r->jobs++;
}

void measures_started(struct measures *m, const char *account, usec_t wait)
{
	struct account_use *use = use_of(m, account);

	m->started++;
	samples_add(&m->wait, wait);
	use->wait += (double)wait;
	use->waits++;
}

void measures_estimated(struct measures *m, usec_t minus_actual)
{
	m->late += minus_actual < 0;
	samples_add(&m->estimate, minus_actual);
}

void measures_run_ended(struct measures *m, const char *account, uint64_t gpu_us)
{
	use_of(m, account)->gpu_us += gpu_us;
}

void measures_near(struct measures *m, near_t near, uint64_t gpu_us)
{
	struct near_use *use = &m->near[near_nvlinks(near) ? MEASURES_NVLINK : near_level(near)];

	use->runs++;
	use->gpu_us += gpu_us;
}

static struct state_use *state_of(struct measures *m, const char *state)
{
	size_t i;

	for (i = 0; i < m->n_states; i++) {
		if (!strcmp(m->states[i].state, state))
			return &m->states[i];
	}
	if (m->n_states < MEASURES_STATES)
		m->states[m->n_states++].state = state;
	return &m->states[m->n_states - 1];
}

void measures_ended(struct measures *m, const struct measured_end *end)
{
	usec_t work = end->work > SLOWDOWN_BOUND ? end->work : SLOWDOWN_BOUND;
	double slowdown = (double)end->completion / (double)work;
	struct state_use *state = state_of(m, end->state);

	put_job_row(m, end);
	m->ended++;
	state->jobs++;
	state->gpu_us += end->gpu_us;
	use_of(m, end->account)->jobs++;
	samples_add(&m->completion, end->completion);
	samples_add(
	        &m->slowdown, (int64_t)(slowdown > 1 ? slowdown * SLOWDOWN_UNIT : SLOWDOWN_UNIT));
}
