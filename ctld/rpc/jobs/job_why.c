/* job_why.c - MSG_JOB_WHY: why jobs wait, and what would start them; one job a slice, since the
 * core may try many changes for each */
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/core/records/job.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/slice.h"
#include "ctld/loop/tick.h"
#include "ctld/rpc/call/job_filter.h"
#include "ctld/rpc/rpc.h"
#include "ctld/wire/convert.h"

#define MAX_JOBS    64
#define MAX_RECORDS 128 /* of an array the tasks that wait may be under several */
#define LOOK_US 5000 /* the scheduler decides for so long, at most, before a job is told of */

struct asked {
	uint64_t ids[MAX_RECORDS]; /* refs, of those that are known */
	size_t n, at;
	bool looked; /* the scheduler had its time before the next one is told of */
	struct error unknown; /* code 0: none of those that were named */
};

static void asked_free(void *data)
{
	free(data);
}

/* A job that has been retired since it was asked for is left out. */
static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	struct asked *a = call->data;
	uint64_t id = a->ids[a->at];
	struct job_view job;
	struct job_why why;
	struct slice look = slice_begin(LOOK_US);
	bool waits;

	/* Since the last tick something may have happened that the scheduler has not seen. An
	 * answer may take as long again, and is then a slice of its own. */
	while (!a->looked && inputs_schedule(c, now, TICK_SCHEDULE))
		a->looked = slice_over_now(&look);
	if (look.over) {
		call_go_on(c, call);
		return;
	}
	a->looked = false;
	a->at++;
	waits = inputs_why(c, id, now, &why);
	arena_reset(c->out, WIRE_ARENA_CAP);
	if (core_job_view(c->core, id, now, &job))
		peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_WHY_RESULT, call->id,
		        &wire_why_result(&job, waits ? &why : NULL, c->conf, now, c->out)->base);
	call_continue(c, call, a->at < a->n, a->unknown.code ? &a->unknown : NULL);
}

static const struct call_ops why_ops = { .slice = slice, .free = asked_free };

static void add_record(struct asked *a, uint64_t ref, uint64_t id)
{
	if (a->n < MAX_RECORDS)
		a->ids[a->n++] = ref;
	else if (!a->unknown.code)
		error_set(&a->unknown, ERR_USAGE,
		        "more than %d records wait: name tasks of array %llu (%llu_7)", MAX_RECORDS,
		        (unsigned long long)id, (unsigned long long)id);
}

/* An array that is named as a whole: all of its tasks that wait, also those that have records of
 * their own. If none waits, the array. */
static void add_waiting(const struct ctld *c, uint64_t ref, const struct job_view *job,
        struct asked *a)
{
	struct job_view part = *job;
	bool any = false;

	do {
		if (part.task_count && !strcmp(part.state, "PENDING")) {
			add_record(a, part.ref, job->id);
			any = true;
		}
	} while (core_job_next_brief(c->core, part.ref, &part) && part.id == job->id);
	if (!any)
		add_record(a, ref, job->id);
}

/* Leave out what is not known, which is told at the end. */
static int check(struct ctld *c, const struct rpc *rpc, struct asked *a, struct error *err)
{
	const Gpusched__JobWhy *m = (const Gpusched__JobWhy *)rpc->msg;
	struct job_view job;
	char label[JOB_LABEL];
	uint64_t *named = NULL;
	size_t n = 0, i;
	int rc = filter_refs(c->core, m->ids, m->n_ids, m->tasks, m->n_tasks, MAX_JOBS, &named, &n, err);

	if (!rc && n < 1)
		rc = error_set(err, ERR_USAGE, "no job is named; must be 1 to %d", MAX_JOBS);
	for (i = 0; !rc && i < n; i++) {
		if (!core_job_view(c->core, named[i], rpc->now, &job) || !rpc_sees(c, rpc, &job)) {
			if (!a->unknown.code)
				error_set(&a->unknown, ERR_NO_JOB, "there is no job %s",
				        job_ref_label(named[i], label));
		} else if (*job.array && !job_ref_part(named[i])) {
			add_waiting(c, named[i], &job, a);
		} else {
			add_record(a, named[i], job.id);
		}
	}
	free(named);
	if (rc || a->n)
		return rc;
	*err = a->unknown;
	return -1;
}

int rpc_job_why(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	struct asked *a = xcalloc(1, sizeof(*a));

	if (check(c, rpc, a, err)) {
		asked_free(a);
		return -1;
	}
	return rpc_call(c, rpc, &why_ops, a);
}
