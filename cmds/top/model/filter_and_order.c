/* filter_and_order.c - see filter_and_order.h */
#include "cmds/top/model/filter_and_order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* --- filters ---------------------------------------------------------------------------------- */

bool row_filter_is_empty(const struct row_filter *f)
{
	return !*f->text && !*f->user && !*f->account && !*f->partition;
}

static bool has_text(const struct top_job *job, const char *text)
{
	const char *const texts[] = { job->name, job->user, job->account, job->partition, job->code,
		job->reason, job->nodes };
	char id[32];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcasestr(texts[i], text))
			return true;
	snprintf(id, sizeof(id), "%" PRIu64, job->key.id);
	return strstr(id, text);
}

/* Is it one of these partitions? A job may wait in several: "a,b". */
static bool is_in(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *s = list;; s++) {
		size_t n = strcspn(s, ",");

		if (n == len && !memcmp(s, name, n))
			return true;
		s += n;
		if (!*s)
			return false;
	}
}

bool row_fits(const struct top_job *job, const struct row_filter *f)
{
	return (!*f->user || !strcmp(job->user, f->user)) &&
	       (!*f->account || !strcmp(job->account, f->account)) &&
	       (!*f->partition || is_in(job->partition, f->partition)) &&
	       (!*f->text || has_text(job, f->text));
}

/* --- orders ----------------------------------------------------------------------------------- */

#define NUMBER(what, value)                                     \
	static int64_t number_##what(const struct top_job *job) \
	{                                                       \
		return (int64_t)(value);                        \
	}
#define TEXT(what)                                                \
	static const char *text_##what(const struct top_job *job) \
	{                                                         \
		return job->what;                                 \
	}

NUMBER(id, job->key.id)
NUMBER(started, job->started_us ? job->started_us : INT64_MAX)
NUMBER(gpus, job->gpus)
NUMBER(priority, job->priority)
NUMBER(submitted, job->submit_us)
NUMBER(use, job->sampled ? job->use_pct / job->sampled : INT32_MAX)
NUMBER(mem, job->mem_used_mb)
NUMBER(end, !job->limited     ? INT64_MAX
            : job->started_us ? job->started_us + (int64_t)job->limit_s * 1000000
                              : INT64_MAX - 1)
TEXT(partition)
TEXT(name)
TEXT(user)
TEXT(account)
TEXT(qos)
TEXT(code)
TEXT(reason)
TEXT(nodes)

const struct row_order row_orders[] = {
	{ "next to start", NULL, NULL, false },
	{ "JOBID", number_id, NULL, false },
	{ "PARTITION", NULL, text_partition, false },
	{ "NAME", NULL, text_name, false },
	{ "USER", NULL, text_user, false },
	{ "ACCOUNT", NULL, text_account, false },
	{ "QOS", NULL, text_qos, false },
	{ "ST", NULL, text_code, false },
	{ "REASON", NULL, text_reason, false },
	{ "NODE", NULL, text_nodes, false },
	{ "TIME", number_started, NULL, false }, /* the longest first */
	{ "LEFT", number_end, NULL, false },
	{ "GPUS", number_gpus, NULL, true },
	{ "USE", number_use, NULL, false }, /* what is idle first */
	{ "GPU-MEM", number_mem, NULL, true },
	{ "PRIORITY", number_priority, NULL, true },
	{ "SUBMIT", number_submitted, NULL, false },
};
const size_t n_row_orders = sizeof(row_orders) / sizeof(row_orders[0]);

/* For any number, also one that no controller sends. */
static int64_t minus(int64_t n)
{
	return n < -INT64_MAX ? INT64_MAX : -n;
}

/* The key that a job is ordered by. */
struct rank {
	int64_t number[4];
	const char *text; /* before the numbers; NULL: none */
	const struct top_job *job;
};

/* gqueue's order: waiting jobs first, the next to start on top; then started jobs, the latest on
 * top. */
static void rank_by_queue(struct rank *r, const struct top_job *job)
{
	int64_t id = (int64_t)job->key.id;

	r->number[0] = job->pending ? 0 : 1;
	r->number[1] = job->pending ? job->order : 0;
	r->number[2] = job->pending ? minus(job->priority) : 0;
	r->number[3] = job->pending ? id : minus(id);
}

static void rank_by(
        struct rank *r, const struct top_job *job, const struct row_order *order, bool turned)
{
	*r = (struct rank){ .job = job };
	rank_by_queue(r, job);
	if (order->text)
		r->text = order->text(job);
	if (!order->number)
		return;
	memmove(&r->number[1], &r->number[0], 3 * sizeof(r->number[0]));
	r->number[0] = order->number(job);
	if (order->falling != turned)
		r->number[0] = minus(r->number[0]);
}

static int compare(const void *left, const void *right, void *arg)
{
	const struct rank *a = left, *b = right;
	const bool *turned = arg;
	int c = a->text ? strverscmp(a->text, b->text) : 0;

	if (c)
		return *turned ? -c : c;
	for (size_t i = 0; i < 4 && !c; i++)
		c = (a->number[i] > b->number[i]) - (a->number[i] < b->number[i]);
	if (c)
		return c;
	return (a->job->key.part > b->job->key.part) - (a->job->key.part < b->job->key.part);
}

static bool is_listed(const struct top_job *job, enum rows_kind kind)
{
	return kind == ROWS_RUNNING ? !job->pending : !job->reserve;
}

void rows_make(struct rows *rows, const struct model *m, enum rows_kind kind,
        const struct row_filter *filter, size_t order, bool turned)
{
	struct rank *ranks = xcalloc(m->jobs.n + 1, sizeof(*ranks));
	bool text = row_orders[order].text != NULL;

	rows->n = 0;
	JOBS_EACH (&m->jobs, i, job)
		if (is_listed(job, kind) && row_fits(job, filter))
			rank_by(&ranks[rows->n++], job, &row_orders[order], turned);
	qsort_r(ranks, rows->n, sizeof(*ranks), compare, &turned);
	if (rows->room < rows->n || rows->room > 2 * rows->n + 1024) {
		rows->room = rows->n;
		rows->v = xrealloc(rows->v, rows->room + 1, sizeof(*rows->v));
	}
	for (size_t i = 0; i < rows->n; i++) {
		/* gqueue's order is reversed as a whole. */
		bool back = turned && !text && !row_orders[order].number;

		rows->v[back ? rows->n - 1 - i : i] = ranks[i].job->key;
	}
	free(ranks);
}

void rows_clear(struct rows *rows)
{
	free(rows->v);
	*rows = (struct rows){ 0 };
}
