/* runs.c - a chained hash table whose entries are also in one list, in order of arrival */
#include "noded/core/runs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define FIRST_NAMES   16
#define FIRST_BUCKETS 16 /* a simulated node is small; doubled at one run per bucket */

struct runs {
	struct run **buckets;
	size_t n_buckets; /* a power of two */
	size_t n;
	struct run *first, *last;
	size_t count[AGENT_RUN_STATES];

	/* Ids of forgotten runs; when it is full, `oldest` is overwritten next. It is searched
	 * linearly: a few KiB, and only for ids that are not in the table. */
	struct run_id *forgotten;
	size_t forgotten_room, oldest;
};

static bool same_id(struct run_id a, struct run_id b)
{
	return run_id_equal(&a, &b);
}

static size_t bucket_of(const struct runs *runs, struct run_id id)
{
	uint64_t h = id.job * 0x9e3779b97f4a7c15u;

	h ^= (((uint64_t)id.task << 32 | id.attempt) + ((uint64_t)id.rank << 20)) *
	     0xc2b2ae3d27d4eb4fu;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9u;
	h ^= h >> 32;
	return (size_t)h & (runs->n_buckets - 1);
}

struct runs *agent_runs_new(void)
{
	struct runs *runs = xcalloc(1, sizeof(*runs));

	runs->n_buckets = FIRST_BUCKETS;
	runs->buckets = xcalloc(runs->n_buckets, sizeof(*runs->buckets));
	return runs;
}

/* Its texts, one after another. */
#define OWNER_TEXTS 6
static void owner_texts(struct run_owner *o, const char **texts[OWNER_TEXTS])
{
	texts[0] = &o->user;
	texts[1] = &o->account;
	texts[2] = &o->partition;
	texts[3] = &o->qos;
	texts[4] = &o->name;
	texts[5] = &o->array;
}

static char *copy_text(const char *text)
{
	return xstrdup(text ? text : "");
}

static void owner_copy(struct run_owner *o)
{
	const char **texts[OWNER_TEXTS];

	owner_texts(o, texts);
	for (int i = 0; i < OWNER_TEXTS; i++)
		*texts[i] = copy_text(*texts[i]);
}

static void owner_clear(struct run_owner *o)
{
	const char **texts[OWNER_TEXTS];

	owner_texts(o, texts);
	for (int i = 0; i < OWNER_TEXTS; i++)
		free((char *)*texts[i]);
}

static void report_clear(struct run *run)
{
	owner_clear(&run->report.owner);
	free((char *)run->report.replica.text);
	free((char *)run->report.replica.address);
	free((char *)run->report.detail);
	free((char *)run->report.incarnation);
	free((char *)run->report.gpu_type);
	free((char *)run->report.progress);
	free((char *)run->report.node_trouble);
	memset(&run->report, 0, sizeof(run->report));
}

static void run_free(struct run *run)
{
	report_clear(run);
	free(run->refusal);
	free(run);
}

void agent_runs_clear(struct runs *runs)
{
	struct run *next;

	for (struct run *run = runs->first; run; run = next) {
		next = run->next;
		run_free(run);
	}
	runs->first = runs->last = NULL;
	runs->n = 0;
	runs->oldest = 0;
	memset(runs->count, 0, sizeof(runs->count));
	memset(runs->buckets, 0, runs->n_buckets * sizeof(*runs->buckets));
}

void agent_runs_free(struct runs *runs)
{
	if (!runs)
		return;
	agent_runs_clear(runs);
	free(runs->buckets);
	free(runs->forgotten);
	free(runs);
}

struct run *agent_runs_find(const struct runs *runs, struct run_id id)
{
	struct run *run = runs->buckets[bucket_of(runs, id)];

	while (run && !same_id(run->id, id))
		run = run->same_bucket;
	return run;
}

static void grow(struct runs *runs)
{
	free(runs->buckets);
	runs->n_buckets *= 2;
	runs->buckets = xcalloc(runs->n_buckets, sizeof(*runs->buckets));
	for (struct run *run = runs->first; run; run = run->next) {
		struct run **head = &runs->buckets[bucket_of(runs, run->id)];

		run->same_bucket = *head;
		*head = run;
	}
}

struct run *agent_runs_add(struct runs *runs, struct run_id id)
{
	struct run *run = xcalloc(1, sizeof(*run));
	struct run **head;

	assert(!agent_runs_find(runs, id));
	if (runs->n == runs->n_buckets)
		grow(runs);
	run->id = id;
	run->prev = runs->last;
	*(runs->last ? &runs->last->next : &runs->first) = run;
	runs->last = run;
	head = &runs->buckets[bucket_of(runs, id)];
	run->same_bucket = *head;
	*head = run;
	runs->n++;
	runs->count[AGENT_RUN_NONE]++;
	run_set_report(run, &(struct run_report){ .run = id,
	                            .detail = "",
	                            .incarnation = "",
	                            .gpu_type = "",
	                            .progress = "",
	                            .node_trouble = "" });
	return run;
}

static void unchain(struct runs *runs, struct run *run)
{
	*(run->prev ? &run->prev->next : &runs->first) = run->next;
	*(run->next ? &run->next->prev : &runs->last) = run->prev;
	run->prev = run->next = NULL;
}

static void runs_remove(struct runs *runs, struct run *run)
{
	struct run **at = &runs->buckets[bucket_of(runs, run->id)];

	while (*at != run)
		at = &(*at)->same_bucket;
	*at = run->same_bucket;
	unchain(runs, run);
	runs->count[run->state]--;
	runs->n--;
	run_free(run);
}

void agent_run_move(struct runs *runs, struct run *run, enum agent_run_state state)
{
	runs->count[run->state]--;
	run->state = state;
	runs->count[state]++;
}

void agent_runs_forget(struct runs *runs, struct run *run)
{
	size_t *n = &runs->count[AGENT_RUN_FORGOTTEN];

	if (*n == runs->forgotten_room && *n < AGENT_REMEMBER) {
		runs->forgotten_room = *n ? 2 * *n : FIRST_NAMES;
		runs->forgotten =
		        xrealloc(runs->forgotten, runs->forgotten_room, sizeof(*runs->forgotten));
	}
	if (*n < AGENT_REMEMBER) {
		runs->forgotten[(*n)++] = run->id;
	} else {
		runs->forgotten[runs->oldest] = run->id;
		runs->oldest = (runs->oldest + 1) % AGENT_REMEMBER;
	}
	runs_remove(runs, run);
}

static struct run_id *find_forgotten(const struct runs *runs, struct run_id id)
{
	for (size_t i = 0; i < runs->count[AGENT_RUN_FORGOTTEN]; i++) {
		if (same_id(runs->forgotten[i], id))
			return &runs->forgotten[i];
	}
	return NULL;
}

bool runs_is_forgotten(const struct runs *runs, struct run_id id)
{
	return find_forgotten(runs, id) != NULL;
}

void agent_runs_recall(struct runs *runs, struct run_id id)
{
	struct run_id *at = find_forgotten(runs, id);

	if (at) /* job 0 is none; the place is used again in its turn */
		memset(at, 0, sizeof(*at));
}

void run_set_report(struct run *run, const struct run_report *report)
{
	struct run_report copy = *report;

	copy.run = run->id;
	copy.detail = xstrdup(report->detail);
	copy.incarnation = xstrdup(report->incarnation);
	copy.gpu_type = xstrdup(report->gpu_type);
	copy.progress = xstrdup(report->progress);
	copy.node_trouble = xstrdup(report->node_trouble);
	copy.replica.text = copy_text(report->replica.text);
	copy.replica.address = copy_text(report->replica.address);
	owner_copy(&copy.owner);
	report_clear(run);
	run->report = copy;
}

struct run *agent_runs_first(const struct runs *runs)
{
	return runs->first;
}

size_t agent_runs_count(const struct runs *runs, enum agent_run_state state)
{
	return runs->count[state];
}

int agent_runs_check(const struct runs *runs, struct error *err)
{
	size_t count[AGENT_RUN_STATES] = { 0 }, n = 0;
	const struct run *before = NULL;

	for (const struct run *run = runs->first; run; before = run, run = run->next, n++) {
		count[run->state]++;
		if (run->state == AGENT_RUN_FORGOTTEN || runs_is_forgotten(runs, run->id))
			return error_set(err, ERR_INTERNAL, "runs: a forgotten run is still there");
		if (run->prev != before)
			return error_set(err, ERR_INTERNAL, "runs: the list is broken");
		if (agent_runs_find(runs, run->id) != run)
			return error_set(err, ERR_INTERNAL, "runs: a run is not found by its id");
	}
	if (n != runs->n || before != runs->last)
		return error_set(err, ERR_INTERNAL, "runs: %zu in the list of %zu", n, runs->n);
	count[AGENT_RUN_FORGOTTEN] = runs->count[AGENT_RUN_FORGOTTEN];
	if (memcmp(count, runs->count, sizeof(count)) != 0)
		return error_set(err, ERR_INTERNAL, "runs: the counts by state are wrong");
	if (count[AGENT_RUN_NONE])
		return error_set(err, ERR_INTERNAL, "runs: a run without a state");
	if (count[AGENT_RUN_FORGOTTEN] > AGENT_REMEMBER)
		return error_set(err, ERR_INTERNAL, "runs: too many forgotten runs are kept");
	return 0;
}
