/* packing_experiment.c - the packing experiment; see replay_history.h
 *
 * As in Weng et al., "Beware of Fragmentation", USENIX ATC'23, section 6.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/gsim/random.h"
#include "ctld/gsim/replay_history.h"

#define SECOND  ((usec_t)1000000)
#define FOREVER ((usec_t)100 * 365 * 86400 * SECOND)

/* The jobs of the history, with texts of their own. */
struct pool {
	struct history_job *v;
	size_t n, size;
	struct text_numbers *texts;
};

static const char *keep_text(struct pool *p, const char *text)
{
	return text_numbers_text(p->texts, text_numbers_get(p->texts, text));
}

static void pool_add(struct pool *p, const struct history_job *job)
{
	struct history_job *j = XADD(p->v, p->n, p->size);

	*j = *job;
	j->name = keep_text(p, job->name);
	j->user = keep_text(p, job->user);
	j->group = keep_text(p, job->group);
	j->account = keep_text(p, job->account);
	j->partition = keep_text(p, job->partition);
	j->gpu_type = keep_text(p, job->gpu_type);
	j->duration = FOREVER;
	j->time_limit = 0;
}

static int pool_fill(struct pool *p, struct world *w, struct history_files *h,
        enum shared_gpus shared, struct error *err)
{
	struct history_job job;
	int rc;

	while ((rc = history_next(h, &job, err)) > 0) {
		if (history_job_shares(&job) && shared == SHARED_SKIP) {
			world_measures(w)->skipped_shared++;
			continue;
		}
		if (shared == SHARED_ROUND)
			history_job_round(&job);
		pool_add(p, &job);
	}
	return rc;
}

static void shuffle(struct pool *p, uint64_t *chance)
{
	size_t i;

	for (i = p->n; i > 1; i--) {
		size_t k = random_below(chance, i);
		struct history_job job = p->v[i - 1];

		p->v[i - 1] = p->v[k];
		p->v[k] = job;
	}
}

/* It starts now, or never. */
static void place(struct world *w, const struct history_job *job, struct inflation *r)
{
	struct world_job *j;

	world_to(w, world_now(w) + SECOND);
	world_timers(w);
	j = world_job_new(w, job);
	r->arrived++;
	if (!world_submit(w, j)) {
		r->dropped++;
		return;
	}
	world_schedule(w);
	if (world_job_runs(j)) {
		r->placed++;
	} else {
		world_cancel(w, j);
		r->dropped++;
	}
}

/* The same by another's choice: the world only counts. */
static void place_by(
        struct rival *rival, struct measures *m, const struct history_job *job, struct inflation *r)
{
	r->arrived++;
	m->jobs++;
	if (rival_place(rival, job, NULL) < 0) {
		r->dropped++;
		return;
	}
	r->placed++;
	m->used_milli += (uint64_t)job->gpus * job->gpu_milli;
}

static int fill_cluster(struct world *w, struct pool *p, struct rival *rival, uint64_t *chance,
        unsigned percent, const struct replay_options *o, struct inflation *r, struct error *err)
{
	struct measures *m = world_measures(w);
	uint64_t all = m->capacity * 1000, arrived = 0, i;

	for (i = 0; arrived * 100 < all * percent; i++) {
		const struct history_job *job = &p->v[i < p->n ? i : random_below(chance, p->n)];
		bool before = arrived < all;

		arrived += (uint64_t)job->gpus * job->gpu_milli;
		if (rival)
			place_by(rival, m, job, r);
		else
			place(w, job, r);
		r->end = (struct inflate_point){ (double)arrived / (double)all,
			(double)m->used_milli / (double)all };
		if (before && arrived >= all)
			r->at_100 = r->end;
		if (o->progress && i % 64 == 0)
			o->progress(o->arg, w);
		if (world_check(w, err) < 0)
			return -1;
	}
	return 0;
}

int replay_inflated(struct world *w, struct history_files *h, uint64_t seed, unsigned percent,
        const struct replay_options *o, struct inflation *r, struct error *err)
{
	struct pool p = { .texts = text_numbers_new() };
	struct rival *rival = NULL;
	uint64_t chance = seed, gpus = 0;
	int rc = pool_fill(&p, w, h, o->shared, err);
	size_t i;

	memset(r, 0, sizeof(*r));
	r->jobs = p.n;
	for (i = 0; i < p.n; i++)
		gpus += p.v[i].gpus;
	if (rc == 0 && (!gpus || !world_measures(w)->capacity))
		rc = error_set(err, ERR_USAGE, "--inflate: %s",
		        gpus ? "the cluster has no GPU" : "no job of the history asks for a GPU");
	if (rc == 0) {
		if (o->rival != RIVAL_NONE)
			rival = rival_new(world_conf(w), o->rival, p.v, p.n);
		shuffle(&p, &chance);
		rc = fill_cluster(w, &p, rival, &chance, percent, o, r, err);
	}
	rival_free(rival);
	free(p.v);
	text_numbers_free(p.texts);
	return rc;
}
