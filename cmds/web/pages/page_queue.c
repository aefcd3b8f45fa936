/* page_queue.c - jobs that wait and run: filtered, sorted, 200 a page
 *
 * Only the jobs on the page are unpacked. A heap keeps the jobs up to the last one of the page; its
 * top is the job to drop next. So the first page of 100,000 jobs costs one comparison for most
 * jobs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/views/views.h"
#include "cmds/web/pages/cells.h"
#include "cmds/web/pages/page.h"
#include "common/base/xalloc.h"

#define PER_PAGE 200
#define PAGE_MAX 100000

/* --- what is asked for ------------------------------------------------------------------------ */

struct order;

struct question {
	const char *user, *account, *partition, *state, *reason, *name;
	const struct order *order;
	bool down;
	unsigned page; /* 1 is the first */
	bool ended;    /* those that have ended, too */
};

#define TEXT_ORDER(name, field)                                                          \
	static int by_##name(const struct snapshot_job *a, const struct snapshot_job *b) \
	{                                                                                \
		return strcmp(a->field, b->field);                                       \
	}
#define NUMBER_ORDER(name, field)                                                        \
	static int by_##name(const struct snapshot_job *a, const struct snapshot_job *b) \
	{                                                                                \
		return a->field < b->field ? -1 : a->field > b->field;                   \
	}
TEXT_ORDER(name, name)
TEXT_ORDER(user, request->user)
TEXT_ORDER(account, request->account)
TEXT_ORDER(partition, request->partition)
TEXT_ORDER(state, status->state)
TEXT_ORDER(reason, status->reason)
NUMBER_ORDER(id, id)
NUMBER_ORDER(submit_time, submit_time)
NUMBER_ORDER(limit, request->time_limit_s)

static uint32_t gpus_of(const struct snapshot_job *j)
{
	return j->status->gpus_held ? j->status->gpus_held : j->gpus;
}

static int by_gpus(const struct snapshot_job *a, const struct snapshot_job *b)
{
	return gpus_of(a) < gpus_of(b) ? -1 : gpus_of(a) > gpus_of(b);
}

static int64_t start_of(const struct snapshot_job *j)
{
	int64_t us = j->status->waits ? j->planned_start_time : j->start_time;

	return us ? us : INT64_MAX;
}

static int by_start(const struct snapshot_job *a, const struct snapshot_job *b)
{
	return start_of(a) < start_of(b) ? -1 : start_of(a) > start_of(b);
}

/* Waiting jobs first, the next to start on top; then running jobs, the latest on top: as in
 * gqueue. */
static int by_turn(const struct snapshot_job *a, const struct snapshot_job *b)
{
	uint32_t x = a->position ? a->position : UINT32_MAX,
	         y = b->position ? b->position : UINT32_MAX;

	if (a->status->waits != b->status->waits)
		return a->status->waits ? -1 : 1;
	if (!a->status->waits)
		return a->id > b->id ? -1 : a->id < b->id;
	return x < y ? -1 : x > y;
}

static const struct order {
	const char *name;
	int (*compare)(const struct snapshot_job *a, const struct snapshot_job *b);
} orders[] = {
	{ "", by_turn },
	{ "job", by_id },
	{ "name", by_name },
	{ "user", by_user },
	{ "account", by_account },
	{ "partition", by_partition },
	{ "state", by_state },
	{ "gpus", by_gpus },
	{ "submit", by_submit_time },
	{ "limit", by_limit },
	{ "start", by_start },
	{ "reason", by_reason },
};
#define N_ORDERS (sizeof(orders) / sizeof(orders[0]))

static void question_read(struct question *q, const struct page *p)
{
	const char *sort = page_query(p, "sort");
	long page = strtol(page_query(p, "page"), NULL, 10);

	*q = (struct question){ page_query(p, "user"), page_query(p, "account"),
		page_query(p, "partition"), page_query(p, "state"), page_query(p, "reason"),
		page_query(p, "name"), &orders[0], *sort == '-', 1, false };
	for (size_t i = 1; i < N_ORDERS; i++)
		if (!strcmp(sort + q->down, orders[i].name))
			q->order = &orders[i];
	q->page = page < 1 ? 1 : page > PAGE_MAX ? PAGE_MAX : (unsigned)page;
	/* One state that is an end, or "ALL", is asked for by name. */
	q->ended = !strcmp(q->state, "ALL") || (job_state(q->state) && job_state(q->state)->ended);
}

static bool starts(const char *text, const char *begin)
{
	return !strncmp(text, begin, strlen(begin));
}

/* Accounts and users as a whole, reasons by their beginning, names by any part. */
static bool fits(const struct question *q, const struct snapshot_job *j)
{
	if (j->status->ended && !q->ended)
		return false;
	if (*q->state && strcmp(q->state, "ALL") != 0 && strcmp(q->state, j->status->state) != 0)
		return false;
	return (!*q->user || !strcmp(q->user, j->request->user)) &&
	       (!*q->account || !strcmp(q->account, j->request->account)) &&
	       (!*q->partition || strstr(j->request->partition, q->partition)) &&
	       (!*q->reason || starts(j->status->reason, q->reason)) &&
	       (!*q->name || strstr(j->name, q->name));
}

/* --- those of the page ------------------------------------------------------------------------ */

struct chosen {
	const struct question *q;
	const struct snapshot_job **v; /* a heap: the last of them is on top */
	size_t n, most;
	size_t fitting, all; /* of all; all: without what has ended, unless asked for */
};

static int compare(
        const struct question *q, const struct snapshot_job *a, const struct snapshot_job *b)
{
	int c = q->order->compare(a, b);

	c = q->down ? -c : c;
	return c ? c : a->id != b->id ? (a->id < b->id ? -1 : 1) : a->raw_id < b->raw_id ? -1 : 1;
}

static void sink(struct chosen *c, size_t i)
{
	const struct snapshot_job *job = c->v[i];

	for (size_t child; (child = 2 * i + 1) < c->n; i = child) {
		if (child + 1 < c->n && compare(c->q, c->v[child + 1], c->v[child]) > 0)
			child++;
		if (compare(c->q, c->v[child], job) <= 0)
			break;
		c->v[i] = c->v[child];
		c->v[child] = job;
	}
}

static void choose(struct chosen *c, const struct snapshot_job *job)
{
	if (c->n < c->most) {
		c->v[c->n++] = job;
		if (c->n == c->most)
			for (size_t i = c->n / 2; i-- > 0;)
				sink(c, i);
	} else if (compare(c->q, job, c->v[0]) < 0) {
		c->v[0] = job;
		sink(c, 0);
	}
}

static int by_question(const void *a, const void *b, void *arg)
{
	return compare(arg, *(const struct snapshot_job *const *)a,
	        *(const struct snapshot_job *const *)b);
}

static struct chosen choose_all(const struct page *p, struct question *q)
{
	struct chosen c = { .q = q };

	c.most = (size_t)q->page * PER_PAGE;
	if (c.most > p->snap->n_jobs)
		c.most = p->snap->n_jobs ? p->snap->n_jobs : 1;
	c.v = xcalloc(c.most, sizeof(*c.v));
	for (size_t i = 0; i < p->snap->n_jobs; i++) {
		const struct snapshot_job *job = p->snap->jobs[i];

		if (!page_sees(p, job))
			continue;
		c.all += !job->status->ended || q->ended;
		if (!fits(q, job))
			continue;
		c.fitting++;
		choose(&c, job);
	}
	qsort_r(c.v, c.n, sizeof(*c.v), by_question, q);
	return c;
}

/* --- the form --------------------------------------------------------------------------------- */

static void put_text_field(struct html *h, const char *name, const char *label, const char *value)
{
	HTML(h,
	        "<label>%s<input name=\"%s\" value=\"%s\" autocomplete=\"off\" "
	        "spellcheck=\"false\"></label>",
	        label, name, value);
}

static void put_choice(struct html *h, const char *value, const char *text, const char *now)
{
	HTML(h, "<option value=\"%s\"", value);
	if (!strcmp(value, now))
		HTML(h, " selected");
	HTML(h, ">%s</option>", text);
}

static const char *const states[] = { "PENDING", "CONFIGURING", "RUNNING", "SUSPENDED",
	"COMPLETING", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED",
	"OUT_OF_MEMORY", "DEADLINE" };

static void put_form(struct page *p, const struct question *q)
{
	struct html *h = p->h;

	HTML(h, "<form class=\"filter\" id=\"filter\" method=\"get\" action=\"/queue\" "
	        "aria-label=\"Which jobs\">");
	put_text_field(h, "user", "User", q->user);
	put_text_field(h, "account", "Account", q->account);
	HTML(h, "<label>Partition<select name=\"partition\">");
	put_choice(h, "", "any", q->partition);
	for (size_t i = 0; i < p->snap->n_partitions; i++)
		put_choice(h, p->snap->partitions[i]->name, p->snap->partitions[i]->name,
		        q->partition);
	HTML(h, "</select></label><label>State<select name=\"state\">");
	put_choice(h, "", "waiting or running", q->state);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		put_choice(h, states[i], states[i], q->state);
	put_choice(h, "ALL", "all, with what has ended", q->state);
	HTML(h, "</select></label>");
	put_text_field(h, "reason", "Reason", q->reason);
	put_text_field(h, "name", "Name has", q->name);
	if (q->order != &orders[0])
		HTML(h, "<input type=\"hidden\" name=\"sort\" value=\"%s%s\">", q->down ? "-" : "",
		        q->order->name);
	HTML(h, "<button>Show</button></form>");
}

/* --- links that keep the question ------------------------------------------------------------- */

static void add_parameter(struct html *h, const char *name, const char *value)
{
	if (!*value)
		return;
	html_url(h, name);
	HTML(h, "=");
	html_url(h, value);
	HTML(h, "&");
}

/* "user=ana&state=PENDING&": not escaped for HTML yet. */
static char *question_query(const struct question *q)
{
	struct html *h = html_new();
	struct strbuf text = { 0 };

	add_parameter(h, "user", q->user);
	add_parameter(h, "account", q->account);
	add_parameter(h, "partition", q->partition);
	add_parameter(h, "state", q->state);
	add_parameter(h, "reason", q->reason);
	add_parameter(h, "name", q->name);
	html_end(h, &text);
	return strbuf_take(&text);
}

/* Stands above the table and below it; `label` tells the two apart. */
static void put_pages(struct html *h, const struct question *q, const struct chosen *c,
        const char *query, const char *label)
{
	size_t pages = (c->fitting + PER_PAGE - 1) / PER_PAGE;
	const char *minus = q->down ? "-" : "";

	if (pages < 2)
		return;
	HTML(h, "<nav class=\"pages\" aria-label=\"%s\">", label);
	if (q->page > 1)
		HTML(h, "<a rel=\"prev\" href=\"?%ssort=%s%s&amp;page=%u\">Previous</a>", query,
		        minus, q->order->name, q->page - 1);
	HTML(h, "<span>Page %u of %zu</span>", q->page, pages);
	if (q->page < pages)
		HTML(h, "<a rel=\"next\" href=\"?%ssort=%s%s&amp;page=%u\">Next</a>", query, minus,
		        q->order->name, q->page + 1);
	HTML(h, "</nav>");
}

/* --- the table -------------------------------------------------------------------------------- */

#define JOB const Gpusched__Job *j = object

static void put_id(struct html *h, const void *object, const char *text, int64_t now)
{
	JOB;

	(void)text, (void)now;
	put_job(h, j->id, j->tasks, j->several);
}

static uint64_t seconds(int64_t us)
{
	return us > 0 ? (uint64_t)us / 1000000 : 0;
}

/* How long it has waited, or run. */
static void put_since(struct html *h, const void *object, const char *text, int64_t now)
{
	JOB;
	uint64_t ran = seconds(now - j->start_time);

	(void)text;
	if (!strcmp(j->state, "PENDING"))
		put_span(h, seconds(now - j->submit_time));
	else if (j->start_time && !j->end_time)
		put_span(h, ran > j->suspended_s ? ran - j->suspended_s : 0);
	else
		put_span(h, j->elapsed_s);
}

static void put_start(struct html *h, const void *object, const char *text, int64_t now)
{
	JOB;

	(void)text;
	put_time(h, strcmp(j->state, "PENDING") != 0 ? j->start_time : j->planned_start_time, now);
}

/* Its nodes, or why it waits: a link that opens the reasons below, with the script; without, it is
 * one to the job's page. */
static void put_where(struct html *h, const void *object, const char *text, int64_t now)
{
	JOB;
	char path[JOB_PATH];

	(void)now;
	if (strcmp(j->state, "PENDING") != 0 || !*j->reason) {
		html_text(h, text);
		return;
	}
	job_path(path, j->id, j->tasks, j->several);
	HTML(h, "<a href=\"/job/%s#why\" data-why=\"%s\" aria-expanded=\"false\">%s", path, path,
	        j->reason);
	if (j->n_blockers > 1)
		HTML(h, " and %u more", j->n_blockers - 1);
	HTML(h, "</a>");
}

static const struct column columns[] = {
	{ "JOBID", "Job", "job", put_id, NULL },
	{ "NAME", "Name", "name", NULL, NULL },
	{ "USER", "User", "user", NULL, "name" },
	{ "ACCOUNT", "Account", "account", NULL, "name less" },
	{ "PARTITION", "Partition", "partition", NULL, "t less" },
	{ "STATE", "State", "state", NULL, NULL },
	{ "GPUS", "GPUs", "gpus", NULL, "n" },
	{ "TIME", "Waits, runs", "submit", put_since, NULL },
	{ "TIMELIMIT", "Limit", "limit", NULL, "n less" },
	{ "START", "Start", "start", put_start, "t less" },
	{ "NODELIST(REASON)", "Nodes, or why it waits", "reason", put_where, "why" },
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void put_jobs(struct page *p, const struct chosen *c, size_t from, const char *query)
{
	char sort[40];

	snprintf(sort, sizeof(sort), "%s%s", c->q->down ? "-" : "", c->q->order->name);
	put_table(p->h, "Jobs", &job_kind, columns, N_COLUMNS, sort, query);
	for (size_t i = from; i < c->n; i++) {
		Gpusched__Job *j = snapshot_job_unpack(p->snap, c->v[i]);

		if (!j)
			continue;
		put_row(p->h, &job_kind, columns, N_COLUMNS, j, p->now);
		gpusched__job__free_unpacked(j, NULL);
	}
	put_table_end(p->h);
}

void page_queue(struct page *p)
{
	struct html *h = p->h;
	struct question q;
	struct chosen c;
	char *query;
	size_t from;

	question_read(&q, p);
	c = choose_all(p, &q);
	query = question_query(&q);
	page_title(p, "Queue");
	HTML(h, "<p class=\"dim\">%zu of %zu jobs</p>", c.fitting, c.all);
	put_form(p, &q);
	put_pages(h, &q, &c, query, "Pages of the list");
	from = (size_t)(q.page - 1) * PER_PAGE;
	if (from < c.n)
		put_jobs(p, &c, from, query);
	else
		HTML(h, "<p>No job is like that.</p>");
	put_pages(h, &q, &c, query, "Pages of the list, below it");
	free(query);
	free(c.v);
}
