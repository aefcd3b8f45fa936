/* convert_steps.c - steps of jobs: what is reported of them, and answers about them; see convert.h */
#include "ctld/wire/convert.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/text.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/wire/convert_text.h"

/* --- reports -------------------------------------------------------------------------------- */

static int take_report(
        const Gpusched__StepReport *m, struct step_report *r, struct error *err)
{
	if (text_check("the name of a step", m->name, WIRE_NAME_MAX, err) ||
	        text_check("the nodes of a step", m->nodelist, WIRE_HOSTS_MAX, err)) {
		err->code = ERR_USAGE;
		return -1;
	}
	if (m->start_time < 0 || m->end_time < 0 || m->cpu_time_us > INT64_MAX ||
	        m->max_rss_kb > INT64_MAX)
		return error_set(err, ERR_USAGE, "step %u: numbers that cannot be", m->step);
	*r = (struct step_report){ .step = m->step };
	COPY_FIELDS(r, m, name, nodelist, nodes, tasks, cpus, gpus, start_time, end_time, exit_code,
	        exit_signal, cancelled, timeout, cpu_time_us, max_rss_kb);
	return 0;
}

int wire_step_reports(const Gpusched__StepReports *m, struct arena *arena,
        struct core_event *event, struct error *err)
{
	struct step_report *v;

	if (m->n_steps > WIRE_STEPS_MAX)
		return error_set(err, ERR_USAGE, "%zu reports of steps; at most %d at once",
		        m->n_steps, WIRE_STEPS_MAX);
	v = arena_alloc(arena, (m->n_steps + 1) * sizeof(*v));
	if (!v)
		return error_set(err, ERR_BUSY, "out of memory");
	for (size_t i = 0; i < m->n_steps; i++)
		if (take_report(m->steps[i], &v[i], err) < 0)
			return -1;
	event->kind = EV_STEP_REPORTS;
	COPY_FIELDS(&event->steps, m, job, task, attempt);
	event->steps.v = v;
	event->steps.n = m->n_steps;
	return 0;
}

/* --- answers -------------------------------------------------------------------------------- */

static uint64_t elapsed_s(int64_t from, int64_t to)
{
	return from > 0 && to > from ? (uint64_t)(to - from) / 1000000 : 0;
}

Gpusched__Step *wire_step(const struct job_view *job, const struct step_report *step,
        struct clocks now, struct arena *arena)
{
	Gpusched__Step *m = WIRE_NEW(Gpusched__Step, GPUSCHED__STEP__INIT, arena);
	Gpusched__StepReport *r =
	        WIRE_NEW(Gpusched__StepReport, GPUSCHED__STEP_REPORT__INIT, arena);

	m->job = job->id;
	m->array = *job->array;
	m->task = m->array ? (uint32_t)strtoul(job->tasks, NULL, 10) : 0;
	m->attempt = job->attempt;
	m->user = wire_shown(job->user, arena);
	m->partition = wire_shown(job->partition, arena);
	m->account = wire_shown(job->account, arena);
	m->state = (char *)(strcmp(job->state, "SUSPENDED") ? "RUNNING" : "SUSPENDED");
	m->elapsed_s = elapsed_s(step->start_time, now.wall);
	r->step = step->step;
	r->name = wire_shown(step->name, arena);
	r->nodelist = wire_shown(step->nodelist, arena);
	COPY_FIELDS(r, step, nodes, tasks, cpus, gpus, start_time, cpu_time_us, max_rss_kb);
	m->report = r;
	return m;
}

static char *text(const struct value *v, struct arena *arena)
{
	char *copy = arena_take(arena, 4 * v->n + 8);

	text_escape(copy, 4 * v->n + 8, v->p, v->n);
	return copy;
}

#define INT(column) (row->v[COL_STEP_##column].i)

Gpusched__Step *wire_step_row(
        const Gpusched__Step *of, const struct row *row, struct arena *arena)
{
	Gpusched__Step *m = WIRE_NEW(Gpusched__Step, GPUSCHED__STEP__INIT, arena);
	Gpusched__StepReport *r =
	        WIRE_NEW(Gpusched__StepReport, GPUSCHED__STEP_REPORT__INIT, arena);

	*m = *of;
	m->attempt = (uint32_t)INT(attempt);
	m->state = text(&row->v[COL_STEP_state], arena);
	m->elapsed_s = elapsed_s(INT(start_time), INT(end_time));
	r->step = (uint32_t)INT(step);
	r->name = text(&row->v[COL_STEP_name], arena);
	r->nodelist = text(&row->v[COL_STEP_nodelist], arena);
	r->nodes = (uint32_t)INT(nodes);
	r->tasks = (uint32_t)INT(tasks);
	r->cpus = (uint32_t)INT(cpus);
	r->gpus = (uint32_t)INT(gpus);
	r->start_time = INT(start_time);
	r->end_time = INT(end_time);
	r->exit_code = (uint32_t)INT(exit_code);
	r->exit_signal = (uint32_t)INT(exit_signal);
	r->cancelled = !strcmp(m->state, "CANCELLED");
	r->timeout = !strcmp(m->state, "TIMEOUT");
	r->cpu_time_us = (uint64_t)INT(cpu_time_us);
	r->max_rss_kb = (uint64_t)INT(max_rss_kb);
	m->report = r;
	return m;
}
