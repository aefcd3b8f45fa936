/* filter.c - see filter.h */
#include "ctld/rpc/filter.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/hostlist.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "ctld/core/job.h"

#define STATES_MAX 32

/* Names in order; empty: anything fits. */
struct names {
	char **v;
	size_t n;
};

struct filter {
	uint64_t *ids; /* ascending, each once */
	size_t n_ids;
	struct names users, partitions, names, nodes;
	const char *states[STATES_MAX]; /* long names */
	size_t n_states;
	bool include_ended;
};

/* What people may write for a state. */
#define X(sym, name, code, next) { name, code },
static const struct state_name {
	const char *name, *code;
} state_names[] = { JOB_STATES(X) };
#undef X

#define N_STATE_NAMES (sizeof(state_names) / sizeof(state_names[0]))

/* --- names --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_set(struct names *names, char *const *v, size_t n)
{
	names->v = xcalloc(n, sizeof(*names->v));
	names->n = n;
	for (size_t i = 0; i < n; i++)
		names->v[i] = xstrdup(v[i]);
	qsort(names->v, n, sizeof(*names->v), compare);
}

static void names_clear(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
}

static bool names_fit(const struct names *names, const char *name)
{
	return names->n == 0 || bsearch(&name, names->v, names->n, sizeof(name), compare) != NULL;
}

/* --- making one ---------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void take_ids(struct filter *f, const uint64_t *ids, size_t n)
{
	f->ids = xmemdup(ids, n * sizeof(*ids));
	if (n)
		qsort(f->ids, n, sizeof(*ids), compare_ids);
	for (size_t i = 0; i < n; i++)
		if (f->n_ids == 0 || f->ids[i] != f->ids[f->n_ids - 1])
			f->ids[f->n_ids++] = f->ids[i];
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

static int add_node(const char *name, void *arg)
{
	struct names *nodes = arg;

	nodes->v = xrealloc(nodes->v, nodes->n + 1, sizeof(*nodes->v));
	nodes->v[nodes->n++] = xstrdup(name);
	return 0;
}

static int take_nodes(struct filter *f, char *const *lists, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		size_t room = HOSTLIST_MAX - f->nodes.n;

		if (hostlist_each(lists[i], room, add_node, &f->nodes, err))
			return error_wrap(err, "nodes");
	}
	if (f->nodes.n)
		qsort(f->nodes.v, f->nodes.n, sizeof(*f->nodes.v), compare);
	return 0;
}

struct filter *filter_new(const Gpusched__JobFilter *m, struct error *err)
{
	struct filter *f = xcalloc(1, sizeof(*f));

	if (!m)
		return f;
	f->include_ended = m->include_ended;
	take_ids(f, m->ids, m->n_ids);
	names_set(&f->users, m->users, m->n_users);
	names_set(&f->partitions, m->partitions, m->n_partitions);
	names_set(&f->names, m->names, m->n_names);
	for (size_t i = 0; i < m->n_states; i++)
		if (take_state(f, m->states[i], err)) {
			filter_free(f);
			return NULL;
		}
	if (take_nodes(f, m->nodes, m->n_nodes, err)) {
		filter_free(f);
		return NULL;
	}
	return f;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	free(f->ids);
	names_clear(&f->users);
	names_clear(&f->partitions);
	names_clear(&f->names);
	names_clear(&f->nodes);
	free(f);
}

/* --- using it ------------------------------------------------------------------------------ */

static bool state_fits(const struct filter *f, const struct job_view *job)
{
	if (f->n_states == 0)
		return f->include_ended || !job->ended;
	for (size_t i = 0; i < f->n_states; i++)
		if (strcmp(f->states[i], job->state) == 0)
			return true;
	return false;
}

static bool id_fits(const struct filter *f, uint64_t id)
{
	return f->n_ids == 0 || bsearch(&id, f->ids, f->n_ids, sizeof(id), compare_ids);
}

static int is_named(const char *node, void *arg)
{
	return names_fit(arg, node) ? 1 : 0;
}

/* One of its nodes is one of those. */
static bool nodes_fit(const struct filter *f, const struct job_view *job)
{
	if (job->n_nodes < 2 || f->nodes.n == 0)
		return names_fit(&f->nodes, job->node ? job->node : "");
	return hostlist_each(job->nodes, job->n_nodes, is_named, (void *)&f->nodes, NULL) > 0;
}

void filter_include_ended(struct filter *f)
{
	f->include_ended = true;
}

bool filter_fits(const struct filter *f, const struct job_view *job)
{
	return state_fits(f, job) && names_fit(&f->users, job->user) &&
	       names_fit(&f->partitions, job->partition) && names_fit(&f->names, job->name) &&
	       nodes_fit(f, job) && id_fits(f, job->id);
}

const uint64_t *filter_ids(const struct filter *f, size_t *n)
{
	*n = f->n_ids;
	return f->ids;
}

const uint64_t *filter_only_ids(const struct filter *f, size_t *n)
{
	bool more = f->users.n || f->partitions.n || f->names.n || f->nodes.n || f->n_states;

	*n = more ? 0 : f->n_ids;
	return *n ? f->ids : NULL;
}

int filter_next(const struct filter *f, struct filter_walk *walk, const struct core *core,
        struct clocks now, unsigned *budget, struct job_view *job)
{
	for (; *budget > 0; (*budget)--) {
		if (f->n_ids) {
			if (walk->at == f->n_ids)
				return 0;
			if (!core_job_view(core, f->ids[walk->at++], now, job))
				continue;
			walk->known++;
		} else if (!core_job_next(core, walk->after, now, job)) {
			return 0;
		}
		walk->after = job->id;
		if (filter_fits(f, job)) {
			(*budget)--;
			return 1;
		}
	}
	return -1;
}
