/* screen_jobs.c - see screen_jobs.h */
#include "cmds/top/screens/screen_jobs.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cmds/top/screens/usage_columns.h"
#include "cmds/views/views.h"
#include "common/base/clock.h"

#define PAUSE_US 200000 /* between two orders that only changes ask for */
#define REST     20     /* and so many times as long as the last one took */

static const struct list_kind queue_kinds = { { &job_kind } };
static const struct list_kind running_kinds = { { &job_kind, &used_kind } };

#define NARROW 56 /* columns below which most of them would not fit */
static const char queue_narrow[] = "JOBID,USER,ST,NODELIST(REASON)",
                  running_narrow[] = "JOBID,USER,GPUS,USE,LEFT,NODE",
                  running_wide[] = "JOBID,USER,NAME,GPUS,USE,IDLE,GPU-MEM,HOST-MEM,TIME,LEFT,"
                                   "NODE,PROGRESS";

/* --- the rows --------------------------------------------------------------------------------- */

static void follow(struct list_state *list, const struct job_list *jobs)
{
	for (size_t i = 0; list->cursor.follows && i < jobs->rows.n; i++)
		if (job_key_same(jobs->rows.v[i], jobs->on)) {
			cursor_carry(&list->cursor, i);
			return;
		}
}

static bool is_due(const struct state *s, const struct job_list *jobs, bool loaded)
{
	int64_t pause = jobs->cost_us * REST > PAUSE_US ? jobs->cost_us * REST : PAUSE_US;

	if (jobs->stale || (!jobs->rows.n && loaded))
		return true;
	return jobs->made_of != s->model.changes &&
	       (s->now_us > jobs->made_us + pause || s->now_us < jobs->made_us);
}

static void make_rows(struct state *s, enum screen_id id, enum rows_kind kind)
{
	struct job_list *jobs = &s->jobs[id];
	struct list_state *list = &s->lists[id];
	int64_t began = clock_us(CLOCK_MONOTONIC);

	if (!is_due(s, jobs, s->model.loaded))
		return;
	rows_make(&jobs->rows, &s->model, kind, &s->filter, jobs->order, jobs->turned);
	jobs->made_of = s->model.changes;
	jobs->made_us = s->now_us;
	jobs->cost_us = clock_us(CLOCK_MONOTONIC) - began;
	jobs->stale = false;
	follow(list, jobs);
}

/* --- drawing ---------------------------------------------------------------------------------- */

struct drawing {
	const struct state *s;
	const struct job_list *jobs;
	struct used_line used;
	Gpusched__Job *job;
};

static bool row(size_t i, const void *objects[LIST_OBJECTS], void *arg)
{
	struct drawing *d = arg;
	const struct top_job *job = jobs_find(&d->s->model.jobs, d->jobs->rows.v[i]);

	d->job = job ? top_job_unpack(job, state_shown_us(d->s)) : NULL;
	if (!d->job)
		return false;
	d->used = (struct used_line){ job, model_used(&d->s->model, job->key) };
	objects[0] = d->job;
	objects[1] = &d->used;
	return true;
}

static void done(const void *objects[LIST_OBJECTS], void *arg)
{
	struct drawing *d = arg;

	(void)objects;
	gpusched__job__free_unpacked(d->job, NULL);
	d->job = NULL;
}

static void put_empty(const struct state *s, struct grid *g, struct area a, const char *what)
{
	const char *text = !s->model.loaded                   ? "nothing is known yet"
	                   : !row_filter_is_empty(&s->filter) ? "no job fits the filter"
	                                                      : what;

	if (a.rows > 1)
		grid_text(g, a.row + 1, a.col, a.cols, LOOK_DIM, text);
}

static void draw(
        struct state *s, struct grid *g, struct area a, enum screen_id id, const char *empty)
{
	struct job_list *jobs = &s->jobs[id];
	struct list_state *list = &s->lists[id];
	struct drawing d = { .s = s, .jobs = jobs };
	const struct list_source source = { jobs->rows.n, row, done, &d };

	list->n = jobs->rows.n;
	list->page = a.rows > 1 ? a.rows - 1 : 1;
	list_draw(&list->view, g, a, &source, &list->cursor);
	if (list->cursor.index < jobs->rows.n)
		jobs->on = jobs->rows.v[list->cursor.index];
	else
		jobs->on = (struct job_key){ 0 };
	if (!jobs->rows.n)
		put_empty(s, g, a, empty);
}

void screen_queue_draw(struct state *s, struct grid *g, struct area a)
{
	struct list_view *view = &s->lists[SCREEN_QUEUE].view;

	list_view_use(view, &queue_kinds, a.cols < NARROW ? queue_narrow : job_kind.standard);
	make_rows(s, SCREEN_QUEUE, ROWS_QUEUE);
	draw(s, g, a, SCREEN_QUEUE, "no job runs or waits");
}

void screen_running_draw(struct state *s, struct grid *g, struct area a)
{
	struct list_view *view = &s->lists[SCREEN_RUNNING].view;

	list_view_use(view, &running_kinds, a.cols < NARROW ? running_narrow : running_wide);
	make_rows(s, SCREEN_RUNNING, ROWS_RUNNING);
	draw(s, g, a, SCREEN_RUNNING, "no job runs");
}

struct job_key screen_queue_job(const struct state *s)
{
	return s->jobs[SCREEN_QUEUE].on;
}

struct job_key screen_running_job(const struct state *s)
{
	return s->jobs[SCREEN_RUNNING].on;
}
