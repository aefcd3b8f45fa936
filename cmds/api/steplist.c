/* steplist.c - see steplist.h */
#include "cmds/api/steplist.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/api/reassemble.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"

#define JOBS_MAX 1000 /* named by one request */

struct running {
	steplist_fn *each;
	void *arg;
};

static int take_running(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Step *step = (const Gpusched__Step *)m;
	const struct running *r = arg;

	if (!step->report)
		return error_set(err, ERR_PROTOCOL, "a step without a report");
	return r->each(step, r->arg, err);
}

int steplist_running(struct client *c, const Gpusched__JobFilter *filter, steplist_fn *each,
        void *arg, struct error *err)
{
	Gpusched__ListSteps m = GPUSCHED__LIST_STEPS__INIT;
	struct running running = { each, arg };
	struct reassembly steps = { GPUSCHED__MSG_TYPE__MSG_STEP_CHUNK, take_running, &running,
		NULL };

	m.filter = (Gpusched__JobFilter *)filter;
	return reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_STEPS, &m.base, &steps, err);
}

/* --- all -------------------------------------------------------------------------------------- */

/* The steps of one request, in the order in which they came. */
struct kept {
	Gpusched__Step **v;
	size_t n, size;
};

static void forget(struct kept *k)
{
	for (size_t i = 0; i < k->n; i++)
		gpusched__step__free_unpacked(k->v[i], NULL);
	k->n = 0;
}

static int keep(const Gpusched__Step *step, void *arg, struct error *err)
{
	struct kept *k = arg;
	Gpusched__Step *copy = (Gpusched__Step *)msg_copy(&step->base);

	if (!copy)
		return error_set(err, ERR_PROTOCOL, "a malformed step");
	*XADD(k->v, k->n, k->size) = copy;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const Gpusched__Step *x = *(Gpusched__Step *const *)a, *y = *(Gpusched__Step *const *)b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->attempt != y->attempt)
		return x->attempt < y->attempt ? -1 : 1;
	if (x->report->step != y->report->step)
		return x->report->step < y->report->step ? -1 : 1;
	/* One that ended while they were listed came twice: that it ran goes last. */
	return (y->report->end_time != 0) - (x->report->end_time != 0);
}

static bool is_same(const Gpusched__Step *x, const Gpusched__Step *y)
{
	return x->job == y->job && x->task == y->task && x->attempt == y->attempt &&
	       x->report->step == y->report->step;
}

static int pass(struct kept *k, steplist_fn *each, void *arg, struct error *err)
{
	int rc = 0;

	if (k->n)
		qsort(k->v, k->n, sizeof(Gpusched__Step *), compare);
	for (size_t i = 0; i < k->n && rc >= 0; i++)
		if (!i || !is_same(k->v[i - 1], k->v[i]))
			rc = each(k->v[i], arg, err);
	return rc < 0 ? -1 : 0;
}

static int ask(struct client *c, const struct steplist_job *jobs, size_t n, struct kept *k,
        struct error *err)
{
	Gpusched__ListSteps m = GPUSCHED__LIST_STEPS__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	struct running running = { keep, k };
	struct reassembly steps = { GPUSCHED__MSG_TYPE__MSG_STEP_CHUNK, take_running, &running,
		NULL };
	Gpusched__JobTasks *tasks = xcalloc(n, sizeof(*tasks));
	char(*texts)[12] = xcalloc(n, sizeof(*texts));
	int rc;

	filter.ids = xcalloc(n, sizeof(*filter.ids));
	filter.tasks = xcalloc(n, sizeof(*filter.tasks));
	for (size_t i = 0; i < n; i++) {
		if (!jobs[i].array) {
			filter.ids[filter.n_ids++] = jobs[i].id;
			continue;
		}
		gpusched__job_tasks__init(&tasks[i]);
		snprintf(texts[i], sizeof(texts[i]), "%" PRIu32, jobs[i].task);
		tasks[i].job = jobs[i].id;
		tasks[i].tasks = texts[i];
		filter.tasks[filter.n_tasks++] = &tasks[i];
	}
	m.filter = &filter;
	m.ended = true;
	rc = reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_STEPS, &m.base, &steps, err);
	free(filter.ids);
	free(filter.tasks);
	free(tasks);
	free(texts);
	return rc < 0 && err->code != ERR_NO_JOB ? -1 : 0;
}

int steplist_all(struct client *c, const char *file, const struct steplist_job *jobs, size_t n,
        steplist_fn *each, void *arg, struct error *err)
{
	struct kept k = { .v = NULL };
	int rc = 0;

	for (size_t at = 0; at < n && rc == 0; at += JOBS_MAX) {
		size_t some = n - at < JOBS_MAX ? n - at : JOBS_MAX;
		struct client *of = file ? client_new_file(file, err) : c;

		rc = of ? ask(of, jobs + at, some, &k, err) : -1;
		if (of != c)
			client_free(of);
		if (rc == 0)
			rc = pass(&k, each, arg, err);
		forget(&k);
	}
	free(k.v);
	return rc;
}
