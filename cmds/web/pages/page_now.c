/* page_now.c - the cluster at a glance: GPUs by state, the jobs that wait longest, the next ends */
#include <stdlib.h>
#include <string.h>

#include "cmds/web/pages/cells.h"
#include "cmds/web/pages/gpu_mark.h"
#include "cmds/web/pages/page.h"
#include "common/base/xalloc.h"
#include "common/job/reason.h"

#define USEC       INT64_C(1000000)
#define WAITS_TOLD 5
#define ENDS_TOLD  8
#define TYPES_MAX  64 /* of GPUs; further ones count as the last */

/* --- what is counted -------------------------------------------------------------------------- */

struct type {
	const char *name;
	unsigned marks[GPU_MARKS], total;
	unsigned per_node; /* the most that one node has */
	size_t name_len;   /* of the longest name of its nodes */
	unsigned largest;  /* that one job gets on one node now */
	const char *largest_node;
};

struct best {
	const struct snapshot_job *v[ENDS_TOLD];
	int64_t key[ENDS_TOLD];
	size_t n, most;
};

struct now {
	struct type types[TYPES_MAX];
	size_t n_types;
	unsigned marks[GPU_MARKS], total;
	size_t running, waiting, ready; /* ready: waiting for nothing of their owners' */
	struct best waits, ends;        /* the oldest submits; the nearest limits */
	const char *reason;             /* looked at last, and what came of it */
	bool by_choice;
};

static struct type *type_of(struct now *now, const char *name)
{
	for (size_t i = 0; i < now->n_types; i++)
		if (!strcmp(now->types[i].name, name))
			return &now->types[i];
	if (now->n_types == TYPES_MAX)
		return &now->types[TYPES_MAX - 1];
	now->types[now->n_types] = (struct type){ .name = name };
	return &now->types[now->n_types++];
}

static void count_node(struct now *now, const Gpusched__Node *n)
{
	for (size_t i = 0; i < n->n_devices; i++) {
		struct type *t = type_of(now, n->devices[i]->type);
		enum gpu_mark mark = gpu_mark(n, n->devices[i]);

		t->marks[mark]++;
		t->total++;
		now->marks[mark]++;
		now->total++;
		if (n->n_devices > t->per_node)
			t->per_node = (unsigned)n->n_devices;
		if (strlen(n->name) > t->name_len)
			t->name_len = strlen(n->name);
	}
	for (size_t i = 0; node_takes_jobs(n) && i < n->n_gpus; i++) {
		struct type *t = type_of(now, n->gpus[i]->type);

		if (n->gpus[i]->largest > t->largest) {
			t->largest = n->gpus[i]->largest;
			t->largest_node = n->name;
		}
	}
}

/* Keep those with the lowest keys, in their order. */
static void best_add(struct best *b, const struct snapshot_job *job, int64_t key)
{
	size_t i = b->n < b->most ? b->n++ : b->most - 1;

	if (b->n == b->most && b->v[i] && b->key[i] <= key)
		return;
	for (; i && b->key[i - 1] > key; i--) {
		b->v[i] = b->v[i - 1];
		b->key[i] = b->key[i - 1];
	}
	b->v[i] = job;
	b->key[i] = key;
}

/* Does the job wait for its owner, or for nothing at all? */
static bool waits_by_choice(const struct snapshot_job *j)
{
	static const enum reason reasons[] = { REASON_BEGIN_TIME, REASON_DEPENDENCY,
		REASON_NEVER_SATISFIED, REASON_HELD_USER, REASON_HELD_ADMIN, REASON_NOT_WANTED,
		REASON_ARRAY_LIMIT };

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (!strcmp(j->status->reason, reason_word(reasons[i])))
			return true;
	return false;
}

/* Texts that many jobs have alike are one text (snapshot_make.h): a reason is looked at once in a
 * row. */
static bool is_by_choice(struct now *now, const struct snapshot_job *j)
{
	if (j->status->reason != now->reason) {
		now->reason = j->status->reason;
		now->by_choice = waits_by_choice(j);
	}
	return now->by_choice;
}

static void count_job(struct now *now, const struct snapshot_job *j, bool seen)
{
	size_t n = j->task_count ? j->task_count : 1;

	if (j->status->waits) {
		now->waiting += n;
		if (is_by_choice(now, j))
			return;
		now->ready += n;
		if (seen)
			best_add(&now->waits, j, j->submit_time);
	} else if (j->status->runs && !j->status->ended) {
		now->running++;
		if (seen && j->request->time_limit_s && j->request->time_limit_s != UINT32_MAX &&
		        j->start_time)
			best_add(&now->ends, j, j->start_time + j->request->time_limit_s * USEC);
	}
}

static int by_size(const void *a, const void *b)
{
	const struct type *x = a, *y = b;

	return x->total != y->total ? (x->total < y->total ? 1 : -1) : strcmp(x->name, y->name);
}

static struct now *count(const struct page *p)
{
	struct now *now = xcalloc(1, sizeof(*now));

	now->waits.most = WAITS_TOLD;
	now->ends.most = ENDS_TOLD;
	for (size_t i = 0; i < p->snap->n_nodes; i++)
		count_node(now, p->snap->nodes[i]);
	for (size_t i = 0; i < p->snap->n_jobs; i++)
		count_job(now, p->snap->jobs[i], page_sees(p, p->snap->jobs[i]));
	qsort(now->types, now->n_types, sizeof(now->types[0]), by_size);
	return now;
}

/* --- figures and types ------------------------------------------------------------------------ */

static void put_figures(struct page *p, const struct now *now)
{
	struct html *h = p->h;
	unsigned held =
	        now->marks[GPU_MARK_HELD] + now->marks[GPU_MARK_IDLE] + now->marks[GPU_MARK_SHARED];

	HTML(h,
	        "<dl class=\"figures\">"
	        "<div><dt>GPUs free</dt><dd>%u <small>of %u</small></dd></div>"
	        "<div><dt>held</dt><dd>%u</dd></div>"
	        "<div><dt>held, but idle</dt><dd>%u</dd></div>"
	        "<div><dt>drained, in trouble</dt><dd>%u</dd></div>",
	        now->marks[GPU_MARK_FREE], now->total, held, now->marks[GPU_MARK_IDLE],
	        now->marks[GPU_MARK_DRAINED] + now->marks[GPU_MARK_TROUBLE]);
	HTML(h,
	        "<div><dt>jobs running</dt><dd>%zu</dd></div>"
	        "<div><dt>jobs waiting</dt><dd>%zu <small>%zu ready</small></dd></div>",
	        now->running, now->waiting, now->ready);
	HTML(h, "<div><dt>oldest wait</dt><dd>");
	if (now->waits.n)
		put_span(h, (uint64_t)((p->now - now->waits.key[0]) / USEC));
	else
		HTML(h, "none");
	HTML(h, "</dd></div></dl>");
}

static void put_count(struct html *h, unsigned n)
{
	if (n)
		HTML(h, "<td class=\"n\">%u</td>", n);
	else
		HTML(h, "<td class=\"n dim\">-</td>");
}

static void put_type(struct html *h, const struct type *t)
{
	HTML(h, "<tr><th scope=\"row\">%s</th><td class=\"t\">", *t->name ? t->name : "any");
	if (t->largest) {
		HTML(h, "%u on ", t->largest);
		HTML_LINK(h, "/node/", t->largest_node, t->largest_node);
	} else {
		HTML(h, "<span class=\"dim\">none</span>");
	}
	HTML(h, "</td>");
	put_count(h, t->total);
	put_count(h, t->marks[GPU_MARK_FREE]);
	put_count(h, t->marks[GPU_MARK_HELD] + t->marks[GPU_MARK_IDLE]);
	put_count(h, t->marks[GPU_MARK_IDLE]);
	put_count(h, t->marks[GPU_MARK_SHARED]);
	put_count(h, t->marks[GPU_MARK_DRAINED] + t->marks[GPU_MARK_TROUBLE]);
	HTML(h, "</tr>");
}

static void put_types(struct html *h, const struct now *now)
{
	HTML(h, "<section><h2>GPUs by type</h2><div class=\"scroll\" tabindex=\"0\" role=\"group\" "
	        "aria-label=\"GPUs by type\"><table><thead><tr><th scope=\"col\">Type</th>"
	        "<th scope=\"col\">Largest free</th>"
	        "<th scope=\"col\" class=\"n\">All</th><th scope=\"col\" class=\"n\">Free</th>"
	        "<th scope=\"col\" class=\"n\">Held</th><th scope=\"col\" class=\"n\">Idle</th>"
	        "<th scope=\"col\" class=\"n\">Shared</th>"
	        "<th scope=\"col\" class=\"n\" title=\"drained, or in "
	        "trouble\">Off</th></tr></thead><tbody>");
	for (size_t i = 0; i < now->n_types; i++)
		put_type(h, &now->types[i]);
	HTML(h, "</tbody></table></div></section>");
}

/* --- jobs ------------------------------------------------------------------------------------- */

static void put_waits(struct page *p, const struct now *now)
{
	struct html *h = p->h;

	HTML(h, "<section><h2>Waiting longest</h2>");
	if (!now->waits.n) {
		HTML(h, "<p class=\"dim\">No job that could start waits.</p></section>");
		return;
	}
	HTML(h, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Waiting "
	        "longest\">"
	        "<table class=\"wide\"><thead><tr><th scope=\"col\" class=\"n\">Job</th>"
	        "<th scope=\"col\">User</th><th scope=\"col\" class=\"n\">GPUs</th>"
	        "<th scope=\"col\" class=\"n\">Waits</th><th scope=\"col\">Reason</th></tr></thead>"
	        "<tbody>");
	for (size_t i = 0; i < now->waits.n; i++) {
		const struct snapshot_job *j = now->waits.v[i];

		HTML(h, "<tr><td class=\"n\">");
		put_job(h, j->id, j->tasks, j->several);
		HTML(h, "</td><td class=\"t\">%s</td><td class=\"n\">%u</td><td class=\"n\">",
		        j->request->user, j->gpus);
		put_span(h, (uint64_t)((p->now - j->submit_time) / USEC));
		HTML(h, "</td><td class=\"t\">%s</td></tr>", j->status->reason);
	}
	HTML(h, "</tbody></table></div></section>");
}

static void put_ends(struct page *p, const struct now *now)
{
	struct html *h = p->h;

	HTML(h, "<section><h2>Ends next, by time limits</h2>");
	if (!now->ends.n) {
		HTML(h, "<p class=\"dim\">No job with a time limit runs.</p></section>");
		return;
	}
	HTML(h, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Ends next\">"
	        "<table class=\"wide\"><thead><tr><th scope=\"col\" class=\"n\">Job</th>"
	        "<th scope=\"col\">User</th><th scope=\"col\" class=\"n\">GPUs</th>"
	        "<th scope=\"col\">Type</th><th scope=\"col\" class=\"n\">In</th>"
	        "<th scope=\"col\">Nodes</th></tr></thead><tbody>");
	for (size_t i = 0; i < now->ends.n; i++) {
		const struct snapshot_job *j = now->ends.v[i];
		int64_t left = now->ends.key[i] - p->now;

		HTML(h, "<tr><td class=\"n\">");
		put_job(h, j->id, j->tasks, j->several);
		HTML(h,
		        "</td><td class=\"t\">%s</td><td class=\"n\">%u</td><td class=\"t\">%s</td>"
		        "<td class=\"n\">",
		        j->request->user, j->status->gpus_held,
		        j->status->gpus_held ? j->status->gpu_type : "");
		put_span(h, left > 0 ? (uint64_t)(left / USEC) : 0);
		HTML(h, "</td><td class=\"t\">%s%s</td></tr>", j->status->node,
		        j->status->n_nodes > 1 ? " ..." : "");
	}
	HTML(h, "</tbody></table></div></section>");
}

/* --- the map ---------------------------------------------------------------------------------- */

/* The content of the cells in words, for screen readers: ", mixed: 5 held, 3 free". */
static void put_node_words(struct html *h, const Gpusched__Node *n)
{
	unsigned marks[GPU_MARKS] = { 0 };
	const char *comma = " ";

	for (size_t i = 0; i < n->n_devices; i++)
		marks[gpu_mark(n, n->devices[i])]++;
	HTML(h, ", %s:", n->state);
	for (size_t i = 0; i < GPU_MARKS; i++) {
		if (!marks[i])
			continue;
		HTML(h, "%s%u %s", comma, marks[i], gpu_mark_word(i));
		comma = ", ";
	}
}

static void put_cell(struct html *h, const Gpusched__Node *n, size_t i)
{
	const Gpusched__NodeGpu *g = n->devices[i];
	enum gpu_mark mark = gpu_mark(n, g);
	const char *half = i && n->n_devices > 4 && i % 4 == 0 ? " half" : "";
	uint32_t use;

	HTML(h, "<i class=\"%s%s\" title=\"GPU %u: %s", gpu_mark_class(mark, g), half, g->index,
	        gpu_mark_word(mark));
	if ((mark == GPU_MARK_HELD || mark == GPU_MARK_IDLE) && gpu_use(g, &use))
		HTML(h, ", computes %u %%", use);
	if (*g->reason)
		HTML(h, ", %s", g->reason);
	HTML(h, "\"></i>");
}

static void put_node(struct html *h, const Gpusched__Node *n)
{
	HTML(h, "<li><a href=\"/node/");
	html_url(h, n->name);
	HTML(h, "\"><b>%s</b><span class=\"hide\">", n->name);
	put_node_words(h, n);
	HTML(h, "</span>");
	for (size_t i = 0; i < n->n_devices; i++)
		put_cell(h, n, i);
	if (!node_takes_jobs(n))
		HTML(h, "<em aria-hidden=\"true\">%s</em>", n->state);
	HTML(h, "</a></li>\n");
}

static bool first_has_type(const Gpusched__Node *n, const char *type)
{
	return n->n_devices && !strcmp(n->devices[0]->type, type);
}

/* The nodes whose first GPU is of the type. */
static void put_nodes_of(struct page *p, const struct type *t)
{
	struct html *h = p->h;
	bool any = false;

	for (size_t i = 0; i < p->snap->n_nodes; i++) {
		const Gpusched__Node *n = p->snap->nodes[i];

		if (!first_has_type(n, t->name))
			continue;
		if (!any)
			HTML(h,
			        "<h3>%s <span class=\"dim\">%u free of %u</span></h3>"
			        "<ul class=\"map%s%s\">",
			        *t->name ? t->name : "GPUs", t->marks[GPU_MARK_FREE], t->total,
			        t->per_node <= 4   ? " w4"
			        : t->per_node <= 8 ? ""
			                           : " w16",
			        t->name_len <= 4   ? " short"
			        : t->name_len <= 8 ? " mid"
			                           : "");
		any = true;
		put_node(h, n);
	}
	if (any)
		HTML(h, "</ul>");
}

static void put_legend(struct html *h)
{
	HTML(h, "<ul class=\"legend\">"
	        "<li><i class=\"g free\"></i>free</li>"
	        "<li><i class=\"g u2\"></i>held, filled as far as it computes</li>"
	        "<li><i class=\"g idle\"></i>held, but idle</li>"
	        "<li><i class=\"g shared\"></i>shared</li>"
	        "<li><i class=\"g drained\"></i>drained</li>"
	        "<li><i class=\"g trouble\"></i>in trouble, or its node is not reached</li></ul>");
}

static void put_map(struct page *p, const struct now *now)
{
	HTML(p->h, "<section class=\"whole\"><h2>Nodes and their GPUs</h2>");
	put_legend(p->h);
	for (size_t i = 0; i < now->n_types; i++)
		put_nodes_of(p, &now->types[i]);
	if (!now->n_types)
		HTML(p->h, "<p class=\"dim\">No node has a GPU.</p>");
	HTML(p->h, "</section>");
}

void page_now(struct page *p)
{
	struct now *now = count(p);

	HTML(p->h, "<h1 class=\"hide\">Now</h1>");
	put_figures(p, now);
	HTML(p->h, "<div class=\"beside now\">");
	put_map(p, now);
	HTML(p->h, "<div class=\"side\">");
	put_types(p->h, now);
	put_waits(p, now);
	put_ends(p, now);
	HTML(p->h, "</div></div>");
	free(now);
}
