/* replay_history.c - a history through a world; see replay_history.h */
#include "ctld/gsim/replay_history.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

#define PROGRESS_EVERY 1024 /* moments */
/* With nothing running and nothing to come, only the core's timers can start a job: so many of
 * them, and so long, they are given. */
#define IDLE_MOMENTS 100000
#define IDLE_TIME    ((usec_t)366 * 86400 * 1000000)

/* Jobs that the core has not been given yet, in order. */
struct line {
	struct world_job **v;
	size_t first, n, size;
	struct world_job *head; /* in the core, and waiting */
};

struct state {
	struct world *w;
	struct history_files *h;
	const struct replay_options *o;
	struct history_job job; /* the next to be submitted */
	bool more;              /* there is one */
	bool any;
	usec_t first; /* submission */
	struct line *lines;
	size_t n_lines; /* by number of the partition */
	uint64_t moments, idle;
	usec_t idle_since;
};

/* --- the history ----------------------------------------------------------------------------- */

/* Read on to a job that can be replayed. */
static int next_job(struct state *s, struct error *err)
{
	struct measures *m = world_measures(s->w);
	int rc;

	while ((rc = history_next(s->h, &s->job, err)) > 0) {
		if (s->job.duration < 0)
			m->without_duration++;
		else if (history_job_shares(&s->job) && s->o->shared == SHARED_SKIP)
			m->skipped_shared++;
		else
			break;
	}
	if (s->o->shared == SHARED_ROUND)
		history_job_round(&s->job);
	s->more = rc > 0;
	if (s->more && !s->any)
		m->first = s->first = s->job.submit;
	s->any = true;
	return rc;
}

static usec_t arrival(const struct state *s)
{
	return (usec_t)((double)(s->job.submit - s->first) / s->o->scale_load);
}

/* --- first in, first out --------------------------------------------------------------------- */

static struct line *line_of(struct state *s, uint32_t partition)
{
	if (partition >= s->n_lines) {
		s->lines = xrealloc(s->lines, partition + 1, sizeof(*s->lines));
		for (; s->n_lines <= partition; s->n_lines++)
			s->lines[s->n_lines] = (struct line){ .v = NULL };
	}
	return &s->lines[partition];
}

static void line_put(struct line *l, struct world_job *job)
{
	size_t i;

	if (l->first + l->n == l->size && l->first >= l->size / 2) {
		for (i = 0; i < l->n; i++)
			l->v[i] = l->v[l->first + i];
		l->first = 0;
	}
	l->v = xgrow(l->v, l->first + l->n, &l->size, sizeof(struct world_job *));
	l->v[l->first + l->n++] = job;
}

static struct world_job *line_take(struct line *l)
{
	struct world_job *job = l->n ? l->v[l->first] : NULL;

	if (job) {
		l->first++;
		l->n--;
	}
	return job;
}

/* Give the core the next job of a partition once the one before has started. */
static bool line_feed(struct state *s, struct line *l)
{
	struct world_job *job;

	if (l->head && !world_job_runs(l->head))
		return false;
	l->head = NULL;
	while (!l->head && (job = line_take(l))) {
		if (world_submit(s->w, job))
			l->head = job;
	}
	return l->head;
}

static void schedule_lines(struct state *s)
{
	bool fed;
	size_t i;

	do {
		world_schedule(s->w);
		fed = false;
		for (i = 0; i < s->n_lines; i++)
			fed |= line_feed(s, &s->lines[i]);
	} while (fed);
}

static void lines_free(struct state *s)
{
	struct world_job *job;
	size_t i;

	for (i = 0; i < s->n_lines; i++) {
		while ((job = line_take(&s->lines[i])))
			world_job_free(job);
		free(s->lines[i].v);
	}
	free(s->lines);
}

/* --- the loop -------------------------------------------------------------------------------- */

static int submissions(struct state *s, struct error *err)
{
	while (s->more && arrival(s) <= world_now(s->w)) {
		struct world_job *job = world_job_new(s->w, &s->job);

		if (s->o->fifo)
			line_put(line_of(s, world_job_partition(job)), job);
		else
			world_submit(s->w, job);
		if (next_job(s, err) < 0)
			return -1;
	}
	return 0;
}

/* Will nothing come of waiting any longer? */
static bool stalled(struct state *s)
{
	if (s->more || world_runs(s->w)) {
		s->idle = 0;
		s->idle_since = world_now(s->w);
		return false;
	}
	return !world_measures(s->w)->waiting || ++s->idle > IDLE_MOMENTS ||
	       world_now(s->w) - s->idle_since > IDLE_TIME;
}

static usec_t next_moment(const struct state *s)
{
	usec_t next = world_next(s->w);

	return s->more && arrival(s) < next ? arrival(s) : next;
}

static int moment(struct state *s, struct error *err)
{
	world_ends(s->w);
	if (submissions(s, err) < 0)
		return -1;
	world_timers(s->w);
	schedule_lines(s);
	if (s->o->progress && s->moments++ % PROGRESS_EVERY == 0)
		s->o->progress(s->o->arg, s->w);
	return world_check(s->w, err);
}

int replay(
        struct world *w, struct history_files *h, const struct replay_options *o, struct error *err)
{
	struct state s = { .w = w, .h = h, .o = o };
	int rc = next_job(&s, err);
	usec_t next;

	while (rc >= 0 && !stalled(&s)) {
		next = next_moment(&s);
		if (next == WORLD_NEVER)
			break;
		if (next > o->until) {
			world_to(w, o->until);
			break;
		}
		if (s.more || world_runs(w))
			world_to(w, next);
		else
			world_idle_to(w, next);
		rc = moment(&s, err);
	}
	lines_free(&s);
	return rc < 0 ? -1 : 0;
}
