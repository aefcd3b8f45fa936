/* gctl_jobs.c - gctl hold, release, requeue, suspend, and resume of jobs */
#include <string.h>

#include "cmds/ctl/gctl.h"
#include "cmds/views/send_job_control.h"

#define VERB(name) GPUSCHED__JOB_CONTROL__VERB__##name

static const struct job_verb {
	const char *word;
	Gpusched__JobControl__Verb verb;
	const char *done;
	const char *states; /* which jobs are meant where none are named; NULL: all */
} verbs[] = {
	{ "hold", VERB(HOLD), "Held", "PENDING" },
	{ "release", VERB(RELEASE), "Released", "PENDING" },
	{ "requeue", VERB(REQUEUE), "Requeued", NULL },
	{ "suspend", VERB(SUSPEND), "Suspended", "RUNNING" },
	{ "resume", VERB(RESUME), "Resumed", NULL },
};

int gctl_control_jobs(struct run *r, struct error *err)
{
	const struct job_verb *v = verbs;
	struct control control = { .reason = r->g->reason };
	struct filter *f = &r->g->filter;

	while (strcmp(v->word, r->word))
		v++;
	for (size_t i = 0; i < r->n; i++)
		if (filter_add(f, FILTER_IDS, "ID", r->words[i], err) < 0)
			return -1;
	if (filter_is_empty(f)) {
		error_set(err, ERR_USAGE, "no jobs are named");
		return error_hint(err, "ids, or --user, --partition, --states, --name, --nodes");
	}
	if (v->states && !f->ids.n && !f->lists[FILTER_STATES].n &&
	        filter_add(f, FILTER_STATES, "--states", v->states, err) < 0)
		return -1;
	control.verb = v->verb == VERB(REQUEUE) && r->g->hold ? VERB(REQUEUE_HOLD) : v->verb;
	control.done = v->done;
	return control_jobs(r->cmd, &control, f);
}

/* Ids of jobs: digits and commas alone. No node is called that way. */
static bool are_jobs(const struct run *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->words[i][strspn(r->words[i], "0123456789,")])
			return false;
	return true;
}

int gctl_resume(struct run *r, struct error *err)
{
	if (are_jobs(r))
		return gctl_control_jobs(r, err);
	if (r->n > 1)
		return error_set(err, ERR_USAGE, "resume: one list of nodes, or ids of jobs");
	return gctl_control_nodes(r, GPUSCHED__NODE_CONTROL__VERB__RESUME, NULL, err);
}
