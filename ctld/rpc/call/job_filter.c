/* job_filter.c - see job_filter.h */
#include "ctld/rpc/call/job_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/hostlist.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/job_partitions.h"
#include "ctld/core/request/labels.h"
#include "ctld/core/util/hash.h"
#include "ctld/rpc/call/unknown_names.h"
#include "ctld/wire/nameset.h"

#define STATES_MAX 32

struct filter {
	struct filter_named *named; /* by id, each once */
	size_t n_named;
	struct nameset users, accounts, partitions, qos, names, nodes, services; /* empty: any */
	bool of_services, any_service;  /* only jobs of services; of any */
	uint32_t *user_hashes;          /* filter_user() of each of `users` */
	const char *states[STATES_MAX]; /* long names */
	size_t n_states;
	bool include_ended;
	bool found_tasks; /* in `named`, which is out of order: see filter_find_tasks() */
	struct visibility *visibility; /* owned; NULL: not restricted */
	struct unknown *unknown; /* owned; those of its names that nothing found so far has */
};

/* What people may write for a state. */
#define X(sym, name, code, next) { name, code },
static const struct state_name {
	const char *name, *code;
} state_names[] = { JOB_STATES(X) };
#undef X

#define N_STATE_NAMES (sizeof(state_names) / sizeof(state_names[0]))

/* --- making one ---------------------------------------------------------------------------- */

static int compare_named(const void *a, const void *b)
{
	const struct filter_named *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Joins the `n` entries of one id: to the whole job, or to the tasks of all of them. */
static int join(struct filter_named *v, size_t n, size_t *steps, struct error *err)
{
	struct taskset *sets = xcalloc(n, sizeof(*sets)), all;
	size_t i, some = 0;
	int rc = 0;

	for (i = 0; i < n; i++) {
		sets[i] = v[i].tasks;
		some += v[i].some;
	}
	v[0].some = some == n;
	v[0].tasks = (struct taskset){ 0 };
	if (v[0].some) {
		rc = taskset_join(sets, n, TASKSET_RANGES_MAX, &all, steps, err);
		v[0].tasks = all;
	}
	for (i = 0; i < n; i++)
		taskset_clear(&sets[i]);
	free(sets);
	return rc < 0 ? error_wrap(err, "tasks of job %llu", (unsigned long long)v[0].id) : 0;
}

static int compare_ids(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Each once. Returns how many. */
static size_t sort_ids(uint64_t *v, size_t n)
{
	size_t sorted = 1, kept = 0;

	while (sorted < n && v[sorted - 1] <= v[sorted])
		sorted++;
	if (sorted < n)
		qsort(v, n, sizeof(*v), compare_ids);
	for (size_t i = 0; i < n; i++)
		if (!kept || v[i] != v[kept - 1])
			v[kept++] = v[i];
	return kept;
}

static int read_tasks(
        struct filter *f, const Gpusched__JobFilter *m, size_t *steps, struct error *err)
{
	for (size_t i = 0; i < m->n_tasks; i++) {
		struct filter_named *t = &f->named[f->n_named];

		if (taskset_parse_some(m->tasks[i]->tasks, &t->tasks, steps, err))
			return error_wrap(
			        err, "tasks of job %llu", (unsigned long long)m->tasks[i]->job);
		t->id = m->tasks[i]->job;
		t->some = true;
		f->n_named++;
	}
	return 0;
}

/* Joins what is named several times. After an error `named` is consistent, but of no use. */
static int join_named(struct filter *f, size_t *steps, struct error *err)
{
	struct filter_named *v = f->named;
	size_t n = 0, i, k;
	int rc = 0;

	for (i = 0; i < f->n_named; i = k) {
		for (k = i + 1; k < f->n_named && v[k].id == v[i].id; k++)
			;
		if (k > i + 1 && rc == 0)
			rc = join(&v[i], k - i, steps, err);
		else if (k > i + 1)
			for (size_t j = i + 1; j < k; j++)
				taskset_clear(&v[j].tasks);
		v[n++] = v[i];
	}
	f->n_named = n;
	return rc;
}

static int take_named(struct filter *f, const Gpusched__JobFilter *m, struct error *err)
{
	uint64_t *ids = m->n_ids ? xmemdup(m->ids, m->n_ids * sizeof(*ids)) : NULL;
	size_t n_ids = sort_ids(ids, m->n_ids), steps = TASKSET_STEPS_MAX;

	f->named = xcalloc(n_ids + m->n_tasks, sizeof(*f->named));
	for (; f->n_named < n_ids; f->n_named++)
		f->named[f->n_named].id = ids[f->n_named];
	free(ids);
	if (!m->n_tasks)
		return 0;
	if (read_tasks(f, m, &steps, err) < 0)
		return -1;
	qsort(f->named, f->n_named, sizeof(*f->named), compare_named);
	return join_named(f, &steps, err);
}

int filter_find_tasks(struct filter *f, filter_task_fn *find, void *arg, size_t *at, size_t max,
        struct error *err)
{
	size_t steps = TASKSET_STEPS_MAX;

	for (; *at < f->n_named && max; ++*at, max--) {
		struct filter_named *t = &f->named[*at];
		uint64_t array;
		uint32_t task;

		if (t->some || !find(arg, t->id, &array, &task))
			continue;
		t->id = array;
		t->some = f->found_tasks = true;
		taskset_single(&t->tasks, task);
	}
	if (*at < f->n_named)
		return 1;
	if (!f->found_tasks)
		return 0;
	f->found_tasks = false;
	qsort(f->named, f->n_named, sizeof(*f->named), compare_named);
	return join_named(f, &steps, err);
}

static bool find_in_core(void *arg, uint64_t id, uint64_t *array, uint32_t *task)
{
	return core_raw_task(arg, id, array, task);
}

int filter_find_tasks_in(struct filter *f, const struct core *core, struct error *err)
{
	size_t at = 0;

	return filter_find_tasks(f, find_in_core, (void *)(uintptr_t)core, &at, SIZE_MAX, err);
}

static int take_state(struct filter *f, const char *text, struct error *err)
{
	char shown[40];

	for (size_t i = 0; i < N_STATE_NAMES; i++) {
		if (strcasecmp(text, state_names[i].name) != 0 &&
		        strcasecmp(text, state_names[i].code) != 0)
			continue;
		for (size_t j = 0; j < f->n_states; j++)
			if (f->states[j] == state_names[i].name)
				return 0;
		f->states[f->n_states++] = state_names[i].name;
		return 0;
	}
	text_escape(shown, sizeof(shown), text, strlen(text));
	return error_set(err, ERR_USAGE, "'%s' is no state of a job, such as PENDING or PD", shown);
}

static void take_names(struct nameset *names, char *const *v, size_t n)
{
	nameset_add_all(names, v, n);
	nameset_seal(names);
}

/* All of it that names something of the configuration or of users. */
static int take_lists(
        struct filter *f, const Gpusched__JobFilter *m, const struct conf *conf, struct error *err)
{
	take_names(&f->users, m->users, m->n_users);
	f->user_hashes = xcalloc(f->users.n, sizeof(*f->user_hashes));
	for (size_t i = 0; i < f->users.n; i++)
		f->user_hashes[i] = filter_user(f->users.v[i]);
	nameset_take_accounts(&f->accounts, m->accounts, m->n_accounts, conf);
	take_names(&f->partitions, m->partitions, m->n_partitions);
	take_names(&f->qos, m->qos, m->n_qos);
	take_names(&f->names, m->names, m->n_names);
	take_names(&f->services, m->services, m->n_services);
	f->of_services = m->n_services;
	f->any_service = nameset_find(&f->services, "*");
	if (nameset_add_hosts(&f->nodes, m->nodes, m->n_nodes, FILTER_NODES_MAX, err) < 0)
		return -1;
	nameset_seal(&f->nodes);
	return 0;
}

static int take_all(
        struct filter *f, const Gpusched__JobFilter *m, const struct conf *conf, struct error *err)
{
	f->include_ended = m->include_ended;
	if (take_named(f, m, err) < 0)
		return -1;
	for (size_t i = 0; i < m->n_states; i++)
		if (take_state(f, m->states[i], err) < 0)
			return -1;
	return take_lists(f, m, conf, err);
}

struct filter *filter_new(const Gpusched__JobFilter *m, const struct conf *conf, struct error *err)
{
	struct filter *f = xcalloc(1, sizeof(*f));

	if (m && take_all(f, m, conf, err) < 0) {
		filter_free(f);
		return NULL;
	}
	if (m)
		f->unknown = unknown_new(
		        (const struct unknown_given[]){
		                [UNKNOWN_ACCOUNT] = { m->accounts, m->n_accounts },
		                [UNKNOWN_PARTITION] = { m->partitions, m->n_partitions },
		                [UNKNOWN_QOS] = { m->qos, m->n_qos },
		                [UNKNOWN_NODE] = { m->nodes, m->n_nodes },
		        },
		        conf);
	return f;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_named; i++)
		taskset_clear(&f->named[i].tasks);
	free(f->named);
	nameset_clear(&f->users);
	free(f->user_hashes);
	nameset_clear(&f->accounts);
	nameset_clear(&f->partitions);
	nameset_clear(&f->qos);
	nameset_clear(&f->names);
	nameset_clear(&f->nodes);
	nameset_clear(&f->services);
	visibility_free(f->visibility);
	unknown_free(f->unknown);
	free(f);
}

size_t filter_size(const struct filter *f)
{
	size_t size = sizeof(*f) + nameset_size(&f->users) + nameset_size(&f->accounts) +
	              nameset_size(&f->partitions) + nameset_size(&f->qos) +
	              nameset_size(&f->names) + nameset_size(&f->nodes) +
	              nameset_size(&f->services);

	for (size_t i = 0; i < f->n_named; i++)
		size += sizeof(f->named[i]) + f->named[i].tasks.size * sizeof(*f->named[i].tasks.v);
	return size;
}

/* --- using it ------------------------------------------------------------------------------ */

static bool state_fits(const struct filter *f, const struct job_view *job)
{
	if (f->n_states == 0)
		return f->include_ended || !job->ended;
	return text_among(job->state, f->states, f->n_states);
}

/* Is the record of one of these tasks? */
static bool tasks_fit(const struct taskset *tasks, const struct job_view *job)
{
	struct taskset its;
	bool fit;

	if (job->set)
		return taskset_meets(job->set, tasks);
	if (taskset_parse_kept(job->tasks, &its, NULL))
		return false;
	fit = taskset_meets(&its, tasks);
	taskset_clear(&its);
	return fit;
}

static bool id_fits(const struct filter *f, const struct job_view *job)
{
	struct filter_named key = { .id = job->id }, *t;

	if (f->n_named == 0)
		return true;
	t = bsearch(&key, f->named, f->n_named, sizeof(key), compare_named);
	return t && (!t->some || tasks_fit(&t->tasks, job));
}

static int is_named(const char *node, void *arg)
{
	return nameset_fit(arg, node) ? 1 : 0;
}

/* One of its nodes is one of those. */
static bool nodes_fit(const struct filter *f, const struct job_view *job)
{
	if (job->n_nodes < 2 || f->nodes.n == 0)
		return nameset_fit(&f->nodes, job->node ? job->node : "");
	return hostlist_each(job->nodes, job->n_nodes, is_named, (void *)&f->nodes, NULL) > 0;
}

void filter_include_ended(struct filter *f)
{
	f->include_ended = true;
}

void filter_see_only(struct filter *f, struct visibility *visibility)
{
	visibility_free(f->visibility);
	f->visibility = visibility;
}

const struct visibility *filter_visibility(const struct filter *f)
{
	return f->visibility;
}

uint32_t filter_user(const char *name)
{
	return (uint32_t)hash_bytes(name, strlen(name), 0);
}

bool filter_may_fit(const struct filter *f, uint64_t ref, uint32_t user)
{
	struct filter_named key = { .id = job_ref_id(ref) };
	size_t i;

	if (f->n_named && !bsearch(&key, f->named, f->n_named, sizeof(key), compare_named))
		return false;
	for (i = 0; i < f->users.n && f->user_hashes[i] != user; i++)
		;
	return i < f->users.n || f->users.n == 0;
}

static bool sees(const struct filter *f, const struct job_view *job)
{
	return visibility_has(f->visibility, job->uid, job->account);
}

/* A job that waits in several partitions is in each of them. */
static bool partitions_fit(const struct filter *f, const struct job_view *job)
{
	const char *at = job->partition, *name;
	char one[JOB_PARTITION_SIZE];
	size_t n;

	if (!f->partitions.n || !strchr(job->partition, ','))
		return nameset_fit(&f->partitions, job->partition);
	while ((name = partition_list_next(&at, &n))) {
		snprintf(one, sizeof(one), "%.*s", (int)n, name);
		if (nameset_fit(&f->partitions, one))
			return true;
	}
	return false;
}

/* Jobs of services have their service's name as a label. */
const char *filter_service_of(const struct job_view *job)
{
	for (size_t i = 0; i < job->n_labels; i++)
		if (!strcmp(job->labels[i].key, LABEL_OF_SERVICE))
			return job->labels[i].value;
	return NULL;
}

static bool services_fit(const struct filter *f, const struct job_view *job)
{
	const char *name = f->of_services ? filter_service_of(job) : NULL;

	return !f->of_services || (name && (f->any_service || nameset_fit(&f->services, name)));
}

bool filter_fits(const struct filter *f, const struct job_view *job)
{
	return sees(f, job) && services_fit(f, job) && state_fits(f, job) &&
	       nameset_fit(&f->users, job->user) && nameset_fit(&f->accounts, job->account) &&
	       partitions_fit(f, job) && nameset_fit(&f->qos, job->qos) &&
	       nameset_fit(&f->names, job->name) && nodes_fit(f, job) && id_fits(f, job);
}

static void meet(const struct filter *f, const struct job_view *job)
{
	const struct unknown_met met = {
		.account = job->account,
		.partition = job->partition,
		.qos = job->qos,
		.nodes = job->n_nodes < 2 ? job->node : job->nodes,
	};

	unknown_meet(f->unknown, &met);
}

int filter_check_names(const struct filter *f, struct error *err)
{
	return unknown_check(f->unknown, err);
}

const struct filter_named *filter_named(const struct filter *f, size_t *n)
{
	*n = f->n_named;
	return f->named;
}

const struct filter_named *filter_only_named(const struct filter *f, size_t *n)
{
	bool more = f->users.n || f->accounts.n || f->partitions.n || f->qos.n || f->names.n ||
	            f->nodes.n || f->of_services || f->n_states;

	*n = more ? 0 : f->n_named;
	return *n ? f->named : NULL;
}

/* The next record of the job that is named. False: there is none any more. */
static bool next_named(const struct filter *f, struct filter_walk *walk, const struct core *core,
        struct job_view *job)
{
	const struct filter_named *t = &f->named[walk->at];

	if (!t->id)
		return false;
	if (!walk->inside)
		walk->after = job_ref_of(t->id - 1, JOB_PART_LAST);
	if (core_job_next_brief(core, walk->after, job) && job->id == t->id && sees(f, job)) {
		walk->known += !walk->inside;
		walk->inside = true;
		walk->tasks = t->some ? &t->tasks : NULL;
		return true;
	}
	/* An array of which nothing is left but its outcome. */
	walk->known += !walk->inside && core_job_brief(core, t->id, job) && sees(f, job);
	return false;
}

/* Sets of tasks and lists of nodes may be long, and with what fits something is done. */
static bool is_over(struct filter_walk *walk, struct slice *slice)
{
	bool heavy = walk->heavy;

	walk->heavy = false;
	return heavy ? slice_over_now(slice) : slice_over(slice);
}

#define NODES_FEW 16

static bool fits(const struct filter *f, struct filter_walk *walk, const struct job_view *job)
{
	bool fit = filter_fits(f, job);

	walk->heavy = fit || job->set || job->n_nodes > NODES_FEW;
	return fit;
}

int filter_next(const struct filter *f, struct filter_walk *walk, const struct core *core,
        struct clocks now, struct slice *slice, struct job_view *job)
{
	while (!is_over(walk, slice)) {
		if (f->n_named) {
			if (walk->at == f->n_named)
				return 0;
			if (!next_named(f, walk, core, job)) {
				walk->at++;
				walk->inside = false;
				continue;
			}
		} else if (!core_job_next_brief(core, walk->after, job)) {
			return 0;
		}
		walk->after = job->ref;
		if (!fits(f, walk, job))
			continue;
		meet(f, job);
		if (!walk->brief)
			core_job_view(core, job->ref, now, job);
		return 1;
	}
	return -1;
}

/* --- refs ---------------------------------------------------------------------------------- */

static int add_tasks(const Gpusched__JobTasks *t, size_t max, size_t *steps, uint64_t **refs,
        size_t *n, struct error *err)
{
	struct taskset set;
	uint32_t task;

	if (taskset_parse_some(t->tasks, &set, steps, err))
		return error_wrap(err, "tasks of job %llu", (unsigned long long)t->job);
	if (set.count > max - *n) {
		taskset_clear(&set);
		return error_set(err, ERR_USAGE, "more than %zu jobs and tasks at once", max);
	}
	*refs = xrealloc(*refs, *n + set.count, sizeof(**refs));
	while ((task = taskset_first(&set)) != TASK_NONE) {
		(*refs)[(*n)++] = core_task_ref(t->job, task);
		taskset_remove(&set, task);
	}
	taskset_clear(&set);
	return 0;
}

int filter_refs(const struct core *core, const uint64_t *ids, size_t n_ids,
        Gpusched__JobTasks *const *tasks, size_t n_tasks, size_t max, uint64_t **refs, size_t *n,
        struct error *err)
{
	size_t steps = TASKSET_STEPS_MAX, i;

	*n = 0;
	*refs = NULL;
	if (n_ids > max)
		return error_set(err, ERR_USAGE, "more than %zu jobs and tasks at once", max);
	*refs = xmemdup(ids, n_ids * sizeof(*ids));
	*n = n_ids;
	for (i = 0; i < n_ids; i++) {
		uint64_t array;
		uint32_t task;

		if (core_raw_task(core, ids[i], &array, &task))
			(*refs)[i] = core_task_ref(array, task);
	}
	for (i = 0; i < n_tasks; i++) {
		if (add_tasks(tasks[i], max, &steps, refs, n, err)) {
			free(*refs);
			*refs = NULL;
			return -1;
		}
	}
	*n = sort_ids(*refs, *n);
	return 0;
}
