/* page_cache.c - pages of metrics as they were made last */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/web/metrics/metrics.h"
#include "cmds/web/metrics/snapshot_counts.h"
#include "cmds/web/snapshot.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"

#define TYPE      "text/plain; version=0.0.4; charset=utf-8"
#define PAGES_MAX 16
/* A page of the previous snapshot is served for this time, while the next one is being made. */
#define GOOD_MS 3000

struct kept {
	uint64_t serial;
	int64_t made_ms, wanted_ms;
	bool up;
	struct http_body *body;
};

struct metrics {
	_Atomic(const struct http *) http;
	pthread_mutex_t lock; /* of `kept` */
	struct kept kept[PAGES_MAX][2]; /* [1]: with what names users, services and jobs */
};

struct metrics *metrics_new(void)
{
	struct metrics *m = xcalloc(1, sizeof(*m));

	pthread_mutex_init(&m->lock, NULL);
	return m;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < PAGES_MAX; i++)
		for (int named = 0; named < 2; named++)
			http_body_put(m->kept[i][named].body);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

void metrics_set_http(struct metrics *m, const struct http *h)
{
	atomic_store(&m->http, h);
}

/* --- making a page ---------------------------------------------------------------------------- */

static double resident(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages, there = 0;

	if (f && fscanf(f, "%lu %lu", &pages, &there) != 2)
		there = 0;
	if (f)
		fclose(f);
	return (double)there * (double)sysconf(_SC_PAGESIZE);
}

static struct http_body *make(struct metrics *m, size_t i, bool named, const struct snapshot *snap,
        const struct snapshot_counts *sums, bool up)
{
	const struct http *h = atomic_load(&m->http);
	struct metrics_input in = { .snap = snap,
		.http = h ? http_figures(h) : NULL,
		.sums = sums,
		.named = named,
		.up = up,
		.age_s = snap ? (double)snapshot_age_us(snap) / 1e6 : NAN,
		.now_us = clock_us(CLOCK_REALTIME),
		.memory = resident() };
	struct strbuf text = { 0 };

	metrics_write(&metrics_pages[i], &in, &text);
	return http_body_new(&text, true);
}

/* Keep it; returns a reference. */
static struct http_body *keep(struct metrics *m, struct kept *k, uint64_t serial, bool up,
        bool wanted, struct http_body *body)
{
	struct http_body *old;

	pthread_mutex_lock(&m->lock);
	old = k->body;
	k->body = http_body_ref(body);
	k->serial = serial;
	k->up = up;
	k->made_ms = clock_ms(CLOCK_MONOTONIC);
	if (wanted)
		k->wanted_ms = k->made_ms;
	pthread_mutex_unlock(&m->lock);
	http_body_put(old);
	return body;
}

/* The page as it is kept, with a reference; NULL: it is to be made. */
static struct http_body *find(struct metrics *m, struct kept *k, uint64_t serial, bool up)
{
	struct http_body *body = NULL;
	int64_t now = clock_ms(CLOCK_MONOTONIC), age;

	pthread_mutex_lock(&m->lock);
	age = now - k->made_ms;
	k->wanted_ms = now;
	/* While the controller does not answer only the age on it changes: each second. */
	if (k->body && k->up == up && (up ? k->serial == serial || age < GOOD_MS : age < 1000))
		body = http_body_ref(k->body);
	pthread_mutex_unlock(&m->lock);
	return body;
}

static bool is_wanted(struct metrics *m, const struct kept *k)
{
	bool wanted;

	pthread_mutex_lock(&m->lock);
	wanted = k->body && clock_ms(CLOCK_MONOTONIC) - k->wanted_ms < METRICS_WANTED_S * 1000;
	pthread_mutex_unlock(&m->lock);
	return wanted;
}

void metrics_prepare(struct metrics *m, const struct snapshot *snap)
{
	struct snapshot_counts *sums = NULL;

	for (size_t i = 0; metrics_pages[i].path && i < PAGES_MAX; i++)
		for (int named = 0; named < 2; named++) {
			struct kept *k = &m->kept[i][named];

			if (!is_wanted(m, k))
				continue;
			if (!sums)
				sums = snapshot_counts_new(snap);
			http_body_put(keep(m, k, snap->serial, true, false,
			        make(m, i, named, snap, sums, true)));
		}
	snapshot_counts_free(sums);
}

/* --- the routes ------------------------------------------------------------------------------- */

/* Operators and administrators see all jobs; others where the configuration keeps none private. */
static bool may_name(const struct http_request *r)
{
	return r->snap && (r->viewer->role != VIEWER_USER || !r->snap->private_jobs);
}

static void serve(const struct http_request *r, struct http_answer *a)
{
	struct metrics *m = r->arg;
	uint64_t serial = r->snap ? r->snap->serial : 0;
	bool up = !*r->trouble, named = may_name(r);
	struct snapshot_counts *sums;
	struct kept *k;
	size_t i = 0;

	while (metrics_pages[i].path && strcmp(metrics_pages[i].path, r->path) != 0)
		i++;
	if (!metrics_pages[i].path || i >= PAGES_MAX) {
		http_answer_error(a, 404, "there is no such page");
		return;
	}
	k = &m->kept[i][named];
	a->type = TYPE;
	a->shared = find(m, k, serial, up);
	if (a->shared)
		return;
	sums = snapshot_counts_new(r->snap);
	a->shared = keep(m, k, serial, up, true, make(m, i, named, r->snap, sums, up));
	snapshot_counts_free(sums);
}

#define PAGE(path)                                                 \
	{                                                          \
		"GET", path, HTTP_NOBODY, HTTP_FAST, 0, serve,     \
		        "figures in the text format of Prometheus" \
	}
const struct http_route metrics_routes[] = {
	PAGE("/metrics"),
	PAGE("/metrics/{}"),
	{ NULL, NULL, 0, 0, 0, NULL, NULL },
};
