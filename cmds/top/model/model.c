/* model.c - see model.h */
#include "cmds/top/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"

#define USEC_PER_S 1000000

/* --- jobs ------------------------------------------------------------------------------------- */

static void apply_jobs(struct model *m, struct update *u)
{
	if (u->fresh) {
		m->round++;
		m->listing = true;
	}
	for (size_t i = 0; i < u->n_jobs; i++) {
		struct top_job *job = u->jobs[i], *before = jobs_find(&m->jobs, job->key);

		u->jobs[i] = NULL;
		if (job->over) {
			jobs_remove(&m->jobs, job->key);
			free(job);
			continue;
		}
		job->round = m->round;
		if (before && !job->pending) {
			COPY_FIELDS(job, before, sampled, use_pct, mem_used_mb);
		}
		jobs_put(&m->jobs, job);
	}
	if (u->complete && m->listing) {
		m->listing = false;
		m->loaded = true;
		jobs_keep_round(&m->jobs, m->round);
	}
}

struct top_job *model_run_job(const struct model *m, const Gpusched__RunId *run)
{
	struct top_job *job = jobs_find(&m->jobs, job_key_of_task(run->job, run->task));

	return job || run->task ? job : jobs_find(&m->jobs, (struct job_key){ run->job, 0 });
}

void model_sums(const struct model *m, struct job_sums *out)
{
	*out = (struct job_sums){ .next_us = INT64_MAX };
	JOBS_EACH (&m->jobs, i, job) {
		int64_t end = job->started_us + (int64_t)job->limit_s * USEC_PER_S;

		if (!job->pending) {
			out->running += job->tasks;
			if (job->limited && job->started_us && end < out->next_us) {
				out->next_us = end;
				out->next = job->key;
			}
			continue;
		}
		if (job->reserve)
			continue;
		out->waiting += job->tasks;
		if (!out->oldest_us || job->submit_us < out->oldest_us)
			out->oldest_us = job->submit_us;
	}
}

/* --- what GPUs do, as what their jobs do ------------------------------------------------------ */

static void add_use(struct top_job *job, const Gpusched__NodeGpu *g)
{
	bool sampled = g->sample_known && g->sm_known;

	if (!sampled && !g->use_known)
		return;
	job->sampled++;
	job->use_pct += sampled ? g->sm_pct : g->util_pct;
	job->mem_used_mb += g->sample_known ? g->fb_used_mb : g->mem_used_mb;
}

static void join_use(struct model *m)
{
	JOBS_EACH (&m->jobs, i, job) {
		job->sampled = 0;
		job->use_pct = job->mem_used_mb = 0;
	}
	for (size_t i = 0; i < m->nodes.n; i++) {
		const Gpusched__Node *node = model_node(m, i);

		for (size_t k = 0; k < node->n_devices; k++) {
			const Gpusched__NodeGpu *g = node->devices[k];
			struct top_job *job = g->n_runs == 1 ? model_run_job(m, g->runs[0]) : NULL;

			if (job)
				add_use(job, g);
		}
	}
}

/* --- lists ------------------------------------------------------------------------------------ */

static int compare_nodes(const void *left, const void *right)
{
	const Gpusched__Node *const *a = left, *const *b = right;

	return strverscmp((*a)->name, (*b)->name);
}

static void take_items(struct items *to, struct update *u)
{
	update_items_free(to->v, to->n);
	*to = (struct items){ u->items, u->n_items };
	u->items = NULL;
	u->n_items = 0;
}

static void apply_nodes(struct model *m, struct update *u)
{
	take_items(&m->nodes, u);
	if (m->nodes.n)
		qsort(m->nodes.v, m->nodes.n, sizeof(*m->nodes.v), compare_nodes);
	join_use(m);
}

static void apply_shares(struct model *m, struct update *u)
{
	take_items(&m->shares, u);
	m->share_changes++;
}

static void apply_services(struct model *m, struct update *u)
{
	take_items(&m->services, u);
}

static void apply_used(struct model *m, struct update *u)
{
	take_items(&m->used, u);
}

static char *take_text(char *to, struct update *u)
{
	char *text = u->text;

	free(to);
	u->text = NULL;
	return text;
}

static void apply_why(struct model *m, struct update *u)
{
	take_items(&m->why, u);
	m->why_text = take_text(m->why_text, u);
}

static void apply_link(struct model *m, struct update *u)
{
	m->connected = u->ok;
	m->link_text = take_text(m->link_text, u);
}

static void apply_nothing(struct model *m, struct update *u)
{
	(void)m, (void)u;
}

static void (*const appliers[UPDATE_KINDS])(struct model *m, struct update *u) = {
	[UPDATE_JOBS] = apply_jobs,
	[UPDATE_NODES] = apply_nodes,
	[UPDATE_SHARES] = apply_shares,
	[UPDATE_SERVICES] = apply_services,
	[UPDATE_USED] = apply_used,
	[UPDATE_WHY] = apply_why,
	[UPDATE_DONE] = apply_nothing,
	[UPDATE_LINK] = apply_link,
	[UPDATE_HEARD] = apply_nothing,
};

void model_apply(struct model *m, struct update *u)
{
	appliers[u->kind](m, u);
	if (u->kind != UPDATE_LINK)
		m->heard_us = u->when_us;
	m->changes += u->kind != UPDATE_HEARD;
	update_free(u);
}

static void items_clear(struct items *items)
{
	update_items_free(items->v, items->n);
	*items = (struct items){ 0 };
}

void model_clear(struct model *m)
{
	jobs_clear(&m->jobs);
	items_clear(&m->nodes);
	items_clear(&m->shares);
	items_clear(&m->services);
	items_clear(&m->used);
	items_clear(&m->why);
	free(m->why_text);
	free(m->link_text);
	*m = (struct model){ 0 };
}

/* --- looking ---------------------------------------------------------------------------------- */

const Gpusched__Node *model_node(const struct model *m, size_t i)
{
	return (const Gpusched__Node *)m->nodes.v[i];
}

const Gpusched__Node *model_node_named(const struct model *m, const char *name)
{
	for (size_t i = 0; i < m->nodes.n; i++)
		if (!strcmp(model_node(m, i)->name, name))
			return model_node(m, i);
	return NULL;
}

const Gpusched__Job *model_used(const struct model *m, struct job_key key)
{
	for (size_t i = 0; i < m->used.n; i++) {
		const Gpusched__Job *job = (const Gpusched__Job *)m->used.v[i];

		if (job_key_same(job_key_of(job), key))
			return job;
	}
	return NULL;
}
