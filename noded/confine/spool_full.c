/* spool_full.c - see spool_full.h, usage/spool_usage.h
 *
 * One run can fill the spool: its RUN_DIR lies there, and its private /tmp if that is on disk. Then
 * no other run could be started, and ends could not be kept over a loss of power. So if less than
 * --spool-min-free is left the launcher looks for the run that uses most of it, and ends that run
 * if it uses half of the minimum or more; its files go with it. Starts wait meanwhile. The node is
 * drained only if no run has filled the spool: that is reported as the node's health, and withdrawn
 * when there is space again.
 *
 * Checking the free space costs a system call every two seconds. Finding the run costs a walk over
 * the runs' files, in the thread that also removes such files, and only while space is short.
 */
#include "config.h"

#include "noded/confine/spool_full.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/job/run.h"
#include "common/net/worker.h"
#include "noded/confine/containment_active.h"
#include "noded/confine/effective_limits.h"
#include "noded/contain/process_tracking.h"
#include "noded/contain/procs.h"
#include "noded/record/record.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/run_orders.h"
#include "noded/runs/runs.h"
#include "noded/usage/cpu_memory_io.h"
#include "noded/usage/spool_usage.h"

#define LOOK_S  2
#define WAIT_US ((usec_t)60000000) /* the longest wait of a start */
/* a run that uses less than this part of the minimum is spared */
#define WORTH     2
#define KEY_SPOOL 2 /* of worker_submit() */
#define TEXT_MAX  200

struct spool_full {
	struct launcher *l;
	struct event *timer;
	struct waiting_starts waiters;
	bool searching;
	char why[TEXT_MAX]; /* the spool is full, and no run is the cause; "" */
};

static bool has_space(const struct launcher *l, struct spool_room *room)
{
	return !l->limits->spool_min_free_mb || !spool_room(l->dirs->spool, room) ||
	       (room->mb >= l->limits->spool_min_free_mb && room->files >= SPOOL_MIN_FILES);
}

/* --- waiting starts --------------------------------------------------------------------------- */

/* Release all waiters, or those that have waited for too long. */
static void release_waiters(struct spool_full *s, bool there)
{
	usec_t now = clock_us(CLOCK_MONOTONIC);
	struct waiting_starts *q = &s->waiters;

	while (q->first && q->first->since <= (there ? now : now - WAIT_US))
		waiting_start_answer(waiting_starts_take(&q->first), there ? NULL
		                                                     : *s->why
		                                                             ? s->why
		                                                             : "the spool is full");
}

bool spool_full_wait(struct launcher *l, struct run *run, waiting_start_fn *fn, void *arg)
{
	struct spool_full *s = l->spool_full;
	struct spool_room room;

	if (has_space(l, &room))
		return false;
	waiting_starts_add(&s->waiters, sizeof(struct waiting_start), run, fn, arg);
	event_active(s->timer, 0, 0);
	return true;
}

void spool_full_leave(struct launcher *l, const struct run *run)
{
	waiting_starts_leave(&l->spool_full->waiters, run);
}

/* --- which run uses it ------------------------------------------------------------------------ */

struct holder {
	struct run_id id;
	char name[RECORD_ID_MAX], *leaf;
	pid_t shepherd;
	struct spool_held held;
};

struct search {
	struct spool_full *s; /* NULL: it was freed */
	int runs, private;
	struct holder *v;
	size_t n;
	bool leaving; /* files of runs that are over remain to be removed */
};

static void add_open(const struct search *f, struct holder *h)
{
	uint32_t *pids = NULL;
	struct proc *below = NULL;
	size_t n = *h->leaf ? process_usage_pids(h->leaf, &pids) : 0;
	ssize_t m = !*h->leaf && h->shepherd > 0 ? procs_descendants(h->shepherd, &below) : 0;

	for (size_t i = 0; i < n; i++)
		spool_add_open((pid_t)pids[i], f->runs, &h->held);
	for (ssize_t i = 0; i < m; i++)
		spool_add_open(below[i].pid, f->runs, &h->held);
	free(pids);
	free(below);
}

static int see_leaving(struct run_id id, const char *name, void *arg)
{
	struct search *f = arg;

	(void)id;
	for (size_t i = 0; i < f->n; i++) {
		if (strcmp(f->v[i].name, name) == 0)
			return 0;
	}
	f->leaving = true;
	return 0;
}

static void search_run(void *arg)
{
	struct search *f = arg;
	struct error err;

	for (size_t i = 0; i < f->n; i++) {
		spool_add_dir(f->runs, f->v[i].name, &f->v[i].held);
		spool_add_dir(f->private, f->v[i].name, &f->v[i].held);
		add_open(f, &f->v[i]);
	}
	record_scan(f->runs, see_leaving, f, &err);
	record_scan(f->private, see_leaving, f, &err);
}

static void search_free(void *arg)
{
	struct search *f = arg;

	if (f->s)
		f->s->searching = false;
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].leaf);
	free(f->v);
	free(f);
}

/* The run that uses most of what is short. A run with files too deep to be counted comes last. */
static const struct holder *worst_run(
        const struct search *f, const struct launcher *l, bool of_files)
{
	uint64_t least = (of_files ? SPOOL_MIN_FILES : l->limits->spool_min_free_mb << 20) / WORTH;
	const struct holder *worst = NULL, *deep = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct holder *h = &f->v[i];
		uint64_t n = of_files ? h->held.files : h->held.bytes;

		if (h->held.deep && !deep)
			deep = h;
		if (n >= least && n > most) {
			worst = h;
			most = n;
		}
	}
	return worst ? worst : deep;
}

static void say_why(struct spool_full *s, const char *why)
{
	if (strcmp(s->why, why) == 0)
		return;
	if (*why)
		log_error("nothing is started here: %s", why);
	else
		log_info("there is room in the spool again");
	snprintf(s->why, sizeof(s->why), "%s", why);
	s->l->hooks->node_changed(s->l);
}

static void end_holder(struct run *r, const struct holder *h, const struct launcher *l)
{
	char size[UNITS_TEXT], least[UNITS_TEXT], text[TEXT_MAX];

	snprintf(text, sizeof(text),
	        "its files, %" PRIu64 " with %s, filled the spool, where %s must be free",
	        h->held.files, size_format(size, h->held.bytes),
	        size_format_mb(least, l->limits->spool_min_free_mb));
	log_warning("run %s is ended: %s", r->name, text);
	r->spool_told = true;
	run_spool_full(r, text);
}

/* Has a run been ended already whose files may still be there? */
static bool is_awaited(const struct search *f, struct launcher *l)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct run *r = run_find(l, f->v[i].id);

		if (!r || r->state == RUN_OVER || r->spool_told)
			return true;
	}
	return f->leaving;
}

static void search_done(void *arg)
{
	struct search *f = arg;
	struct spool_full *s = f->s;
	struct spool_room room;
	char size[UNITS_TEXT], least[UNITS_TEXT], why[TEXT_MAX];
	const struct holder *h;
	struct launcher *l;

	if (!s || has_space(s->l, &room) || is_awaited(f, s->l)) {
		search_free(f);
		return;
	}
	l = s->l;
	h = worst_run(f, l, room.mb >= l->limits->spool_min_free_mb);
	if (h) {
		end_holder(run_find(l, h->id), h, l);
	} else {
		snprintf(why, sizeof(why),
		        "the spool has %s free and room for %" PRIu64
		        " files, and must have %s and %d; no run holds it",
		        size_format_mb(size, room.mb), room.files,
		        size_format_mb(least, l->limits->spool_min_free_mb), SPOOL_MIN_FILES);
		say_why(s, why);
	}
	search_free(f);
}

static void add_holder(struct run *r, void *arg)
{
	struct search *f = arg;
	struct holder *h;

	if (r->state == RUN_ASKED || r->state == RUN_OVER)
		return;
	h = &f->v[f->n++];
	h->id = r->id;
	memcpy(h->name, r->name, sizeof(h->name));
	h->leaf = contain_root_leaf(r->l->containment->root, r->name);
	h->shepherd = r->shepherd;
}

static void start_search(struct spool_full *s)
{
	static const struct worker_ops ops = { search_run, search_done, search_free };
	struct launcher *l = s->l;
	struct search *f;

	if (s->searching)
		return;
	f = xcalloc(1, sizeof(*f));
	*f = (struct search){ s, l->dirs->spool_runs, l->dirs->private_dir,
		xcalloc(runs_count(l) + 1, sizeof(*f->v)), 0, false };
	runs_each(l, add_holder, f);
	s->searching = true;
	if (!worker_submit(l->disk, KEY_SPOOL, &ops, f, NULL))
		search_free(f);
}

/* --- checking --------------------------------------------------------------------------------- */

static void check_space(evutil_socket_t fd, short what, void *arg)
{
	struct spool_full *s = arg;
	struct spool_room room;
	bool there = has_space(s->l, &room);

	(void)fd;
	(void)what;
	if (there)
		say_why(s, "");
	else
		start_search(s);
	release_waiters(s, there);
}

const char *spool_full_why(const struct launcher *l)
{
	return l->spool_full ? l->spool_full->why : "";
}

struct spool_full *spool_full_new(struct launcher *l)
{
	static const struct timeval often = { .tv_sec = LOOK_S };
	struct spool_full *s = xcalloc(1, sizeof(*s));

	s->l = l;
	s->timer = event_new(l->base, -1, EV_PERSIST, check_space, s);
	if (!s->timer || event_add(s->timer, &often) < 0)
		abort();
	return s;
}

void spool_full_free(struct spool_full *s)
{
	if (!s)
		return;
	waiting_starts_clear(&s->waiters);
	event_free(s->timer);
	free(s);
}
