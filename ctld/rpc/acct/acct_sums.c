/* acct_sums.c - see acct_sums.h */
#include "ctld/rpc/acct/acct_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "ctld/rpc/acct/acct_per_day.h"

#define SECOND    1000000
#define SEPARATOR '\x1f' /* between the keys of a group; no name contains it */

/* Waits are counted in buckets: seconds up to 64, then 32 to each power of two. */
#define FINE      64
#define PER_POWER 32
#define BUCKETS   (FINE + PER_POWER * 27)

enum by { BY_ACCOUNT, BY_USER, BY_PARTITION, BY_QOS, BY_GPU, BY_STATE, BY_DAY, BY_LABEL };

static const char *const by_names[] = { "account", "user", "partition", "qos", "gpu", "state",
	"day" };

struct group {
	char *key;             /* the keys, each with SEPARATOR behind it */
	uint32_t order, depth; /* of its account in the tree */
	uint64_t last;         /* the job that was added last: it counts once */
	uint64_t jobs, gpu_us, cpu_us, cpu_time_us, started, wait_max_s, targets, in_target;
	uint64_t gpu_seen_us, gpu_busy_us, gpu_idle_us, gpu_mem_mbs, energy_mj;
	uint64_t requests, tokens;
	double idle_cost, request_cost;
	double cost;
	uint32_t *waits; /* BUCKETS of them; NULL: none */
};

struct account {
	char *name;
	uint32_t parent, depth; /* parent: CONF_NONE */
	uint32_t shares;
};

struct wish {
	char *qos;
	uint32_t max_wait_s;
};

/* A type of GPU. */
struct type {
	char *name;
	uint64_t gpu_us, seen_us, idle_us;
	double idle_cost;
	int64_t first;       /* when the first of it was given; 0: none was */
	uint64_t count;      /* of them there are, from `counted` on */
	int64_t known_since; /* 0: not known */
	int64_t counted;
	uint64_t capacity_us;
};

struct sums {
	struct {
		enum by by;
		char *label;
	} by[SUMS_BY_MAX];
	size_t n_by;
	bool by_day;
	int64_t since, until;
	struct account *accounts;
	size_t n_accounts;
	struct wish *wishes;
	size_t n_wishes;
	struct group **groups; /* in order of account, then key */
	size_t n, room;
	bool too_many;
	struct group all;
	struct type *types;
	size_t n_types;
	int64_t last_end; /* of a run */
};

/* --- making one ----------------------------------------------------------------------------- */

static int take_by(struct sums *s, const char *text, struct error *err)
{
	for (size_t i = 0; i < BY_LABEL; i++)
		if (!strcmp(text, by_names[i])) {
			s->by_day = s->by_day || i == BY_DAY;
			s->by[s->n_by++].by = (enum by)i;
			return 0;
		}
	if (!strncmp(text, "label:", 6) && text[6]) {
		s->by[s->n_by].by = BY_LABEL;
		s->by[s->n_by++].label = xstrdup(text + 6);
		return 0;
	}
	return error_set(err, ERR_USAGE,
	        "--by: expected account, user, partition, qos, gpu, state, day or label:KEY");
}

static void take_conf(struct sums *s, const struct conf *conf)
{
	s->accounts = xcalloc(conf->n_accounts, sizeof(*s->accounts));
	for (; s->n_accounts < conf->n_accounts; s->n_accounts++) {
		const struct conf_account *from = &conf->accounts[s->n_accounts];
		struct account *to = &s->accounts[s->n_accounts];

		*to = (struct account){ xstrdup(from->name), from->parent, from->depth,
			from->shares };
	}
	s->wishes = xcalloc(conf->n_qos, sizeof(*s->wishes));
	for (; s->n_wishes < conf->n_qos; s->n_wishes++)
		s->wishes[s->n_wishes] = (struct wish){ xstrdup(conf->qos[s->n_wishes].name),
			conf->qos[s->n_wishes].max_wait_s };
}

struct sums *sums_new(char *const *by, size_t n, int64_t since, int64_t until,
        const struct conf *conf, struct error *err)
{
	struct sums *s = xcalloc(1, sizeof(*s));

	s->since = since;
	s->until = until;
	if (n < 1 || n > SUMS_BY_MAX) {
		error_set(err, ERR_USAGE, "--by: expected 1 to %d things", SUMS_BY_MAX);
		sums_free(s);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		if (take_by(s, by[i], err) < 0) {
			sums_free(s);
			return NULL;
		}
	take_conf(s, conf);
	return s;
}

static void group_free(struct group *g)
{
	free(g->key);
	free(g->waits);
	free(g);
}

void sums_free(struct sums *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		group_free(s->groups[i]);
	for (size_t i = 0; i < s->n_accounts; i++)
		free(s->accounts[i].name);
	for (size_t i = 0; i < s->n_wishes; i++)
		free(s->wishes[i].qos);
	for (size_t i = 0; i < SUMS_BY_MAX; i++)
		free(s->by[i].label);
	for (size_t i = 0; i < s->n_types; i++)
		free(s->types[i].name);
	free(s->types);
	free(s->all.waits);
	free(s->groups);
	free(s->accounts);
	free(s->wishes);
	free(s);
}

/* --- groups --------------------------------------------------------------------------------- */

/* What a use or a wait counts for. */
struct point {
	const Gpusched__Acct *job;
	const char *gpu;
	int64_t time; /* the day it is on */
	/* the account, and where it stands in the tree */
	const char *account;
	uint32_t order, depth;
};

static const char *key_of(
        const struct sums *s, size_t by, const struct point *p, char buf[static 32])
{
	time_t t = (time_t)(p->time / SECOND);
	struct tm tm;

	switch (s->by[by].by) {
	case BY_ACCOUNT:
		return p->account;
	case BY_USER:
		return p->job->user;
	case BY_PARTITION:
		return p->job->partition;
	case BY_QOS:
		return p->job->qos;
	case BY_GPU:
		return p->gpu;
	case BY_STATE:
		return p->job->state;
	case BY_DAY:
		if (!localtime_r(&t, &tm) || !strftime(buf, 32, "%Y-%m-%d", &tm))
			return "";
		return buf;
	case BY_LABEL:
		break;
	}
	for (size_t i = 0; i < p->job->n_labels; i++)
		if (!strcmp(p->job->labels[i]->key, s->by[by].label))
			return p->job->labels[i]->value;
	return "";
}

static int compare(const struct group *g, uint32_t order, const char *key)
{
	if (g->order != order)
		return g->order < order ? -1 : 1;
	return strcmp(g->key, key);
}

/* NULL: there are too many. */
static struct group *group_of(struct sums *s, const struct point *p)
{
	char key[2048], buf[32];
	size_t len = 0, lo = 0, hi = s->n;
	struct group *g;

	for (size_t i = 0; i < s->n_by; i++) {
		int n = snprintf(
		        key + len, sizeof(key) - len, "%s%c", key_of(s, i, p, buf), SEPARATOR);

		len += n > 0 && (size_t)n < sizeof(key) - len ? (size_t)n : 0;
	}
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int c = compare(s->groups[mid], p->order, key);

		if (c == 0)
			return s->groups[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (s->n == SUMS_GROUPS_MAX) {
		s->too_many = true;
		return NULL;
	}
	s->groups = xgrow(s->groups, s->n, &s->room, sizeof(*s->groups));
	memmove(s->groups + lo + 1, s->groups + lo, (s->n++ - lo) * sizeof(*s->groups));
	g = s->groups[lo] = xcalloc(1, sizeof(*g));
	g->key = xstrdup(key);
	g->order = p->order;
	g->depth = p->depth;
	return g;
}

static bool by_account(const struct sums *s)
{
	for (size_t i = 0; i < s->n_by; i++)
		if (s->by[i].by == BY_ACCOUNT)
			return true;
	return false;
}

/* Call `add` for each group that the point counts for: by account those above it too. */
static void each_group(struct sums *s, struct point p,
        void (*add)(struct sums *s, struct group *g, const void *what), const void *what)
{
	uint32_t at = CONF_NONE;
	struct group *g;

	add(s, &s->all, what);
	if (by_account(s))
		for (uint32_t i = 0; i < s->n_accounts; i++)
			if (!strcmp(s->accounts[i].name, p.account))
				at = i;
	p.order = CONF_NONE; /* accounts outside the tree come last */
	p.depth = 0;
	do {
		if (at != CONF_NONE) {
			p.account = s->accounts[at].name;
			p.order = at;
			p.depth = s->accounts[at].depth;
			at = s->accounts[at].parent;
		}
		g = group_of(s, &p);
		if (g)
			add(s, g, what);
	} while (at != CONF_NONE);
}

/* --- use ------------------------------------------------------------------------------------ */

struct use {
	const Gpusched__Acct *job;
	uint64_t gpu_us, cpu_us, cpu_time_us, gpu_seen_us, gpu_busy_us, gpu_idle_us, gpu_mem_mbs,
	        energy_mj;
	uint64_t requests, tokens;
	double cost, request_cost;
};

static double idle_cost(const struct use *use)
{
	return use->gpu_seen_us ? use->cost * (double)use->gpu_idle_us / (double)use->gpu_seen_us
	                        : 0;
}

static void add_use(struct sums *s, struct group *g, const void *what)
{
	const struct use *use = what;
	/* Of an array each task is one. */
	uint64_t record = use->job->id << 23 | use->job->part;
	(void)s;

	if (g->last != record)
		g->jobs++;
	g->last = record;
	ADD_FIELDS(g, use, gpu_us, cpu_us, cpu_time_us, gpu_seen_us, gpu_busy_us, gpu_idle_us,
	        gpu_mem_mbs, energy_mj, requests, tokens, request_cost, cost);
	g->idle_cost += idle_cost(use);
}

/* Of what was sampled of the run's GPUs, by the part of them that it had: as it is counted in
 * gpu_us. */
static uint64_t of_part(const Gpusched__AcctRun *run, uint64_t us)
{
	uint64_t held_us = run->n_gpus * run->held_us;

	return held_us ? (uint64_t)((unsigned __int128)us * run->gpu_us / held_us) : us;
}

static void cut_used(struct use *use, const Gpusched__AcctRun *run, int64_t start, int64_t end,
        int64_t from, int64_t to)
{
	const Gpusched__RunUsed *u = run->used;

	use->gpu_seen_us = use_between(of_part(run, u->gpu_seen_us), start, end, from, to);
	use->gpu_busy_us = use_between(of_part(run, u->gpu_busy_us), start, end, from, to);
	use->gpu_idle_us = use_between(of_part(run, u->gpu_idle_us), start, end, from, to);
	use->gpu_mem_mbs = use_between(u->gpu_mem_mbs, start, end, from, to);
	use->energy_mj = use_between(u->energy_mj, start, end, from, to);
}

static struct type *type_of(struct sums *s, const char *name, size_t len)
{
	struct type *t;

	for (size_t i = 0; i < s->n_types; i++)
		if (strlen(s->types[i].name) == len && !memcmp(s->types[i].name, name, len))
			return &s->types[i];
	s->types = xrealloc(s->types, s->n_types + 1, sizeof(*s->types));
	t = &s->types[s->n_types++];
	*t = (struct type){ .name = xstrndup(name, len) };
	return t;
}

static void add_type(struct sums *s, const char *name, const struct use *use, int64_t from)
{
	struct type *t = type_of(s, name, strlen(name));

	t->gpu_us += use->gpu_us;
	t->seen_us += use->gpu_seen_us;
	t->idle_us += use->gpu_idle_us;
	t->idle_cost += idle_cost(use);
	if (!t->first || from < t->first)
		t->first = from;
}

static void add_run(struct sums *s, const Gpusched__Acct *job, const Gpusched__AcctRun *run)
{
	int64_t start = run->start_time, end = run->end_time;
	int64_t from, to, last;
	struct point p = { .job = job, .gpu = run->gpu_type, .account = run->account };

	if (!end)
		end = start + (int64_t)run->held_us; /* it is alive */
	if (end <= start)
		end = start + 1; /* clocks differ: all of it at once */
	if (end > s->last_end)
		s->last_end = end;
	from = s->since > start ? s->since : start;
	last = s->until && s->until < end ? s->until : end;
	for (; from < last; from = to) {
		struct use use = { .job = job };

		to = s->by_day ? day_after(from) : last;
		if (to > last || to <= from)
			to = last;
		use.gpu_us = use_between(run->gpu_us, start, end, from, to);
		use.cpu_us = use_between(run->cpus * run->held_us, start, end, from, to);
		use.cpu_time_us = use_between(run->cpu_time_us, start, end, from, to);
		if (run->used)
			cut_used(&use, run, start, end, from, to);
		use.requests = use_between(run->requests, start, end, from, to);
		use.tokens = use_between(run->tokens, start, end, from, to);
		use.cost = run->cost * ((double)(to - from) / (double)(end - start));
		use.request_cost = run->requests ? use.cost : 0;
		if (use.gpu_us)
			add_type(s, run->gpu_type, &use, from);
		p.time = from;
		each_group(s, p, add_use, &use);
	}
}

/* --- waits ---------------------------------------------------------------------------------- */

static size_t bucket_of(uint64_t wait_s)
{
	unsigned power = 0;
	size_t bucket;

	if (wait_s < FINE)
		return (size_t)wait_s;
	while (wait_s >> power >= FINE)
		power++;
	bucket = FINE + (power - 1) * PER_POWER + (size_t)((wait_s >> power) - PER_POWER);
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The longest wait of a bucket. */
static uint64_t bucket_end(size_t bucket)
{
	size_t power = bucket < FINE ? 0 : (bucket - FINE) / PER_POWER + 1;

	if (!power)
		return bucket;
	return (((uint64_t)(bucket - FINE) % PER_POWER + PER_POWER + 1) << power) - 1;
}

static uint64_t percentile(const struct group *g, unsigned percent)
{
	uint64_t want = (g->started * percent + 99) / 100, seen = 0;

	for (size_t i = 0; g->waits && i < BUCKETS; i++) {
		seen += g->waits[i];
		if (seen >= want && seen)
			return bucket_end(i) < g->wait_max_s ? bucket_end(i) : g->wait_max_s;
	}
	return 0;
}

static void add_wait(struct sums *s, struct group *g, const void *what)
{
	const Gpusched__Acct *job = what;
	uint32_t wish = job->max_wait_s;

	for (size_t i = 0; !wish && i < s->n_wishes; i++)
		if (!strcmp(s->wishes[i].qos, job->qos))
			wish = s->wishes[i].max_wait_s;
	if (!g->waits)
		g->waits = xcalloc(BUCKETS, sizeof(*g->waits));
	g->waits[bucket_of(job->wait_s)]++;
	g->started++;
	if (job->wait_s > g->wait_max_s)
		g->wait_max_s = job->wait_s;
	g->targets += wish > 0;
	g->in_target += wish && job->wait_s <= wish;
}

void sums_add(struct sums *s, const Gpusched__Acct *job)
{
	int64_t first = job->first_start_time;
	struct point p = { .job = job,
		.gpu = job->n_gpus ? job->gpus[0]->type : "",
		.account = job->account,
		.time = first };

	for (size_t i = 0; i < job->n_runs; i++)
		if (job->runs[i]->held_us)
			add_run(s, job, job->runs[i]);
	if (first && first >= s->since && (!s->until || first < s->until))
		each_group(s, p, add_wait, job);
}

/* --- lines ---------------------------------------------------------------------------------- */

static void split(Gpusched__ReportLine *m, const struct group *g, size_t n, struct arena *arena)
{
	char *at = arena_strdup(arena, g->key);

	m->keys = arena_take(arena, n * sizeof(*m->keys));
	for (; at && *at && m->n_keys < n; at++) {
		char *end = strchr(at, SEPARATOR);

		*end = '\0';
		m->keys[m->n_keys++] = at;
		at = end;
	}
}

/* Of an account: its shares and its use among its siblings. */
static void add_share(const struct sums *s, const struct group *g, Gpusched__ReportLine *m)
{
	const struct account *a;
	uint64_t shares = 0, used = 0;

	if (s->n_by != 1 || g->order >= s->n_accounts)
		return;
	a = &s->accounts[g->order];
	for (size_t i = 0; i < s->n_accounts; i++)
		if (s->accounts[i].parent == a->parent)
			shares += s->accounts[i].shares;
	for (size_t i = 0; i < s->n; i++)
		if (s->groups[i]->order < s->n_accounts &&
		        s->accounts[s->groups[i]->order].parent == a->parent)
			used += s->groups[i]->gpu_us;
	m->share = shares ? (double)a->shares / (double)shares : 0;
	m->used = used ? (double)g->gpu_us / (double)used : 0;
}

static Gpusched__ReportLine *line_of(
        const struct sums *s, const struct group *g, struct arena *arena)
{
	Gpusched__ReportLine *m = arena_take(arena, sizeof(*m));

	gpusched__report_line__init(m);
	if (g->key)
		split(m, g, s->n_by, arena);
	COPY_FIELDS(m, g, depth, jobs, gpu_us, cpu_us, cpu_time_us, gpu_seen_us, gpu_busy_us,
	        gpu_idle_us, gpu_mem_mbs, energy_mj, requests, tokens, request_cost, idle_cost, cost,
	        started, wait_max_s, targets, in_target);
	m->wait_p50_s = percentile(g, 50);
	m->wait_p95_s = percentile(g, 95);
	m->used = s->all.gpu_us ? (double)g->gpu_us / (double)s->all.gpu_us : 0;
	if (g->key)
		add_share(s, g, m);
	return m;
}

/* --- capacity ------------------------------------------------------------------------------- */

#define CAPACITY_LATE (60LL * SECOND) /* the report of a change may be so late */

/* It was so many up to `time`. */
static void count_up_to(const struct sums *s, struct type *t, int64_t time)
{
	int64_t from = t->counted > s->since ? t->counted : s->since;

	if (s->until && time > s->until)
		time = s->until;
	if (t->known_since && time > from)
		t->capacity_us += t->count * (uint64_t)(time - from);
	if (time > t->counted)
		t->counted = time;
}

void sums_capacity(struct sums *s, int64_t time, const char *text)
{
	/* A type that the event does not name no longer exists. */
	for (size_t i = 0; i < s->n_types; i++) {
		count_up_to(s, &s->types[i], time);
		s->types[i].count = 0;
	}
	while (*text) {
		size_t len = strcspn(text, ",");
		const char *mark = memchr(text, ':', len);
		struct type *t =
		        mark && mark > text ? type_of(s, text, (size_t)(mark - text)) : NULL;

		if (t) {
			t->count = strtoull(mark + 1, NULL, 10);
			t->counted = time;
			if (!t->known_since)
				t->known_since = time;
		}
		text += len + (text[len] == ',');
	}
}

static int compare_types(const void *a, const void *b)
{
	return strcmp(((const struct type *)a)->name, ((const struct type *)b)->name);
}

void sums_types(
        struct sums *s, int64_t now, struct arena *arena, Gpusched__ReportType ***types, size_t *n)
{
	*types = arena_take(arena, s->n_types * sizeof(**types));
	*n = 0;
	if (s->n_types)
		qsort(s->types, s->n_types, sizeof(*s->types), compare_types);
	for (size_t i = 0; i < s->n_types; i++) {
		struct type *t = &s->types[i];
		Gpusched__ReportType *m = arena_take(arena, sizeof(*m));

		count_up_to(s, t, now ? now : s->last_end);
		if (!t->capacity_us && !t->gpu_us)
			continue;
		gpusched__report_type__init(m);
		m->type = arena_strdup(arena, t->name);
		m->gpu_us = t->gpu_us;
		m->capacity_us = t->capacity_us;
		m->gpu_seen_us = t->seen_us;
		m->gpu_idle_us = t->idle_us;
		m->idle_cost = t->idle_cost;
		if (t->known_since && t->first && t->first < t->known_since - CAPACITY_LATE)
			m->known_since_time = t->known_since;
		(*types)[(*n)++] = m;
	}
}

int sums_lines(struct sums *s, struct arena *arena, Gpusched__ReportLine ***lines, size_t *n,
        struct error *err)
{
	if (s->too_many)
		return error_set(err, ERR_USAGE,
		        "--by: more than %d groups; fewer things, or a shorter time",
		        SUMS_GROUPS_MAX);
	*lines = arena_take(arena, (s->n + 1) * sizeof(**lines));
	for (*n = 0; *n < s->n; ++*n)
		(*lines)[*n] = line_of(s, s->groups[*n], arena);
	(*lines)[(*n)++] = line_of(s, &s->all, arena);
	return 0;
}
