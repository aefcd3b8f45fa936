/* depends_invariants.c - see depends_invariants.h */
#include "ctld/core/depends/depends_invariants.h"

#include "common/base/error.h"
#include "ctld/core/depends/depends_terms.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"

/* A term on some tasks: those that have ended are in the queue. */
static int check_range(const struct core *core, const struct job *job, const struct depend_term *t,
        struct error *err)
{
	uint32_t task = taskset_first(t->tasks);
	const struct job *own = jobs_find(core->jobs, t->job);
	const struct job *on = jobs_find(core->jobs, job_ref_of(t->job, (uint64_t)task + 1));
	const struct dependents *a = own ? job_link_of(own)->dependents : NULL;

	if (!depend_term_open(t) || t->at || !own || !on ||
	        !job_state_ended((enum job_state)job_info(on)->state) ||
	        (job_link_of(on)->dependents && job_link_of(on)->dependents->queued) ||
	        (a && a->lost))
		return 0;
	return error_set(err, ERR_INTERNAL, "job %llu: nobody tells it of %llu_%u",
	        (unsigned long long)job_id(job), (unsigned long long)t->job, task);
}

static bool hangs_on(const struct depends *p, uint32_t n, const struct job *on)
{
	const struct dependents *a = job_link_of(on)->dependents;

	return a && waiting_has((p->flags[n] & TERM_TYPE) == DEPEND_AFTER ? &a->starts : &a->ends,
	                    p->number);
}

/* An open term hangs on the job that it names, and a job that has ended is in the queue as long as
 * terms on it are open. */
static int check_term(const struct core *core, const struct job *job, uint32_t n, struct error *err)
{
	const struct depends *p = job_link_of(job)->depends;
	const struct depend_term t = depends_term(p, n);
	const struct job *on = t.job ? depends_where(core, p, n) : NULL;
	unsigned long long id = job_id(job);

	if (!depend_term_open(&t) || !on || t.at)
		return 0;
	if (!t.tasks && !t.each && !hangs_on(p, n, on))
		return error_set(err, ERR_INTERNAL, "job %llu: its term %u hangs on nothing", id, n);
	if (job_state_ended(job_info(on)->state) && !job_link_of(on)->dependents->queued)
		return error_set(err, ERR_INTERNAL, "job %llu: nobody tells it of job %llu", id,
		        (unsigned long long)job_id(on));
	return t.tasks ? check_range(core, job, &t, err) : 0;
}

int depends_check_job(const struct core *core, const struct job *job, struct error *err)
{
	const struct job_info *i = job_info(job);
	const struct depends *p = job_link_of(job)->depends;
	unsigned long long id = i->id;

	if ((p != NULL) != (*i->depends && !job_state_ended(i->state)))
		return error_set(err, ERR_INTERNAL, "job %llu: its row waits, and it does %s", id,
		        p ? "too" : "not");
	for (uint32_t n = 0; p && n < p->n_edges; n++) {
		const struct edge *e = &p->edges[n];
		bool listed = e->t.tasks || e->t.each;

		if (listed && depends_term_open(p, e->term) != (e->back != NULL) && !e->t.at &&
		        jobs_find(core->jobs, e->t.job))
			return error_set(err, ERR_INTERNAL, "job %llu: its term %u %s", id, e->term,
			        e->back ? "hangs and is decided" : "hangs on nothing");
	}
	for (uint32_t n = 0; p && n < p->n; n++)
		if (check_term(core, job, n, err) < 0)
			return -1;
	return 0;
}

int depends_check_part(const struct core *core, const struct job *part, struct error *err)
{
	uint32_t task = job_tasks(part) ? taskset_first(job_tasks(part)) : job_task(part);
	struct depend d;
	int rc = 0;

	if (!depends_of(part) || !depends_by_task(part) || task == TASK_NONE ||
	        depend_parse(job_info(part)->depends, true, &d, err) < 0)
		return 0;
	for (size_t n = 0; n < d.n && rc == 0; n++) {
		const struct job *on =
		        jobs_find(core->jobs, job_ref_of(d.v[n].job, (uint64_t)task + 1));

		if (d.v[n].each && depend_term_open(&d.v[n]) && on &&
		        job_state_ended((enum job_state)job_info(on)->state) &&
		        !(job_link_of(on)->dependents && job_link_of(on)->dependents->queued))
			rc = error_set(err, ERR_INTERNAL, "job %llu_%u: nobody tells it of %llu_%u",
			        (unsigned long long)job_id(part), task,
			        (unsigned long long)job_id(on), task);
	}
	depend_clear(&d);
	return rc;
}
