/* runs.c - see runs.h */
#include "config.h"

#include "noded/runs/runs.h"

#include <event2/event.h>
#include <search.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/event_end.h"
#include "noded/contain/process_tracking.h"
#include "noded/runs/agent_channel.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/run_report.h"

/* --- the table -------------------------------------------------------------------------------- */

struct runs {
	void *tree; /* of struct run, tsearch(3) */
	size_t n;
};

static int compare_runs(const void *a, const void *b)
{
	return run_id_order(&((const struct run *)a)->id, &((const struct run *)b)->id);
}

struct run *run_find(struct launcher *l, struct run_id id)
{
	struct run key = { .id = id };
	struct run **at = tfind(&key, &l->runs->tree, compare_runs);

	return at ? *at : NULL;
}

struct run *run_add(struct launcher *l, struct run_id id)
{
	struct run *r;

	if (l->runs->n >= RUNS_MAX) {
		log_error("order for a new run refused: %zu runs are not forgotten", l->runs->n);
		return NULL;
	}
	r = xcalloc(1, sizeof(*r));
	*r = (struct run){ .l = l, .id = id, .state = RUN_ASKED, .pidfd = -1 };
	record_id_format(id, r->name);
	tsearch(r, &l->runs->tree, compare_runs);
	l->runs->n++;
	return r;
}

void run_stop_following(struct run *r)
{
	event_end(r->life);
	fd_close(r->pidfd);
	r->life = NULL;
	r->pidfd = -1;
}

static void run_free(void *node)
{
	struct run *r = node;

	r->l->hooks->run_freed(r);
	run_stop_following(r);
	event_end(r->timer);
	contain_free(r->leaf);
	run_report_free(r->report);
	for (int k = 0; k < RUN_ORDER_KINDS; k++)
		free(r->waiting[k].bytes);
	free(r);
}

void run_remove(struct run *r)
{
	tdelete(r, &r->l->runs->tree, compare_runs);
	r->l->runs->n--;
	run_free(r);
}

struct runs *runs_new(void)
{
	return xcalloc(1, sizeof(struct runs));
}

void runs_free(struct runs *runs)
{
	if (runs)
		tdestroy(runs->tree, run_free);
	free(runs);
}

size_t runs_count(const struct launcher *l)
{
	return l->runs->n;
}

struct walk {
	void (*fn)(struct run *r, void *arg);
	void *arg;
};

static void visit_run(const void *node, VISIT visit, void *arg)
{
	struct walk *w = arg;

	if (visit == postorder || visit == leaf)
		w->fn(*(struct run *const *)node, w->arg);
}

void runs_each(struct launcher *l, void (*fn)(struct run *r, void *arg), void *arg)
{
	struct walk w = { fn, arg };

	twalk_r(l->runs->tree, visit_run, &w);
}

/* Bring the times in the report up to now. */
void run_refresh(struct run *r)
{
	usec_t now = clock_us(CLOCK_MONOTONIC);

	if ((r->state != RUN_RUNNING && r->state != RUN_LOST) || r->start_mono <= 0)
		return;
	r->report->elapsed_us = (uint64_t)(now - r->start_mono);
	r->report->suspended = r->suspended_mono > 0;
	r->report->suspended_us = r->suspended_us;
	if (r->suspended_mono > 0)
		r->report->suspended_us += (uint64_t)(now - r->suspended_mono);
	if (r->ready_mono > 0)
		r->report->replica->ready_us = r->ready_us + (uint64_t)(now - r->ready_mono);
}

void run_send_report(struct run *r)
{
	if (!r->report)
		return;
	run_refresh(r);
	agent_send(r->l, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_RUN, &r->report->base);
}

static void timer_fired(evutil_socket_t fd, short what, void *arg)
{
	struct run *r = arg;

	(void)fd;
	(void)what;
	r->l->hooks->run_due(r);
}

void run_set_timer(struct run *r, unsigned ms)
{
	struct timeval t = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	if (!r->timer)
		r->timer = evtimer_new(r->l->base, timer_fired, r);
	evtimer_add(r->timer, &t);
}
