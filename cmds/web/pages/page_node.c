/* page_node.c - the list of nodes, and one node with its GPUs and jobs */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmds/web/pages/cells.h"
#include "cmds/web/pages/gpu_mark.h"
#include "cmds/web/pages/page.h"
#include "common/base/units.h"

static void put_text(struct html *h, const char *s)
{
	if (*s)
		HTML(h, "<td class=\"t\">%s</td>", s);
	else
		HTML(h, "<td class=\"t dim\">-</td>");
}

/* --- GPUs ------------------------------------------------------------------------------------- */

/* "4812 20G,25%": with its part where it is not all of the GPU. Jobs that the viewer may not see
 * are counted only. */
static void put_gpu_jobs(struct page *p, const Gpusched__NodeGpu *g)
{
	struct html *h = p->h;
	size_t n = g->n_parts ? g->n_parts : g->n_runs, others = g->others_runs;
	const char *comma = "";

	for (size_t i = 0; i < n; i++) {
		const Gpusched__RunId *run = g->n_parts ? g->parts[i]->run : g->runs[i];
		const struct snapshot_job *job = run ? snapshot_job(p->snap, run->job) : NULL;
		char tasks[16] = "", share[UNITS_TEXT];

		if (!job || !page_sees(p, job)) {
			others++;
			continue;
		}
		if (run->task)
			snprintf(tasks, sizeof(tasks), "%" PRIu32, run->task);
		HTML(h, "%s", comma);
		put_job(h, run->job, tasks, false);
		if (g->n_parts)
			HTML(h, " %s",
			        share_format(share, g->parts[i]->mem_mb, g->parts[i]->milli));
		comma = ", ";
	}
	if (others)
		HTML(h, "%s%zu of others", comma, others);
}

static void put_number(struct html *h, bool known, double value, const char *unit, int digits)
{
	if (!known)
		HTML(h, "<td class=\"n dim\">-</td>");
	else if (digits)
		HTML(h, "<td class=\"n\">%.1f %s</td>", value, unit);
	else
		HTML(h, "<td class=\"n\">%.0f %s</td>", value, unit);
}

static void put_gpu_memory(struct html *h, const Gpusched__NodeGpu *g)
{
	uint64_t used = g->sample_known ? g->fb_used_mb : g->use_known ? g->mem_used_mb : 0;
	uint64_t all = g->sample_known && g->fb_free_mb ? g->fb_used_mb + g->fb_free_mb : g->mem_mb;

	HTML(h, "<td class=\"n\">");
	if (g->sample_known || g->use_known)
		put_size_mb(h, used);
	else
		HTML(h, "<span class=\"dim\">-</span>");
	if (all) {
		HTML(h, " <span class=\"dim\">of</span> ");
		put_size_mb(h, all);
	}
	HTML(h, "</td>");
}

static void put_gpu(struct page *p, const Gpusched__Node *n, const Gpusched__NodeGpu *g)
{
	struct html *h = p->h;
	enum gpu_mark mark = gpu_mark(n, g);
	uint32_t use = 0;
	bool known = gpu_use(g, &use);

	HTML(h,
	        "<tr><th scope=\"row\" class=\"n\">%u</th><td class=\"t\">%s</td>"
	        "<td class=\"t\"><i class=\"%s\"></i> %s</td>",
	        g->index, g->type, gpu_mark_class(mark, g), gpu_mark_word(mark));
	put_number(h, known, use, "%", 0);
	put_gpu_memory(h, g);
	put_number(h, g->temp_c, g->temp_c, "\302\260C", 0);
	put_number(h, g->power_mw, (double)g->power_mw / 1000, "W", 0);
	put_number(h, g->sm_clock_mhz, g->sm_clock_mhz, "MHz", 0);
	if (g->last_xid) {
		HTML(h, "<td class=\"t\">%u, ", g->last_xid);
		put_time(h, g->last_xid_time, p->now);
		HTML(h, "</td>");
	} else {
		HTML(h, "<td class=\"t dim\">-</td>");
	}
	HTML(h, "<td>");
	put_gpu_jobs(p, g);
	HTML(h, "</td><td class=\"why\">%s%s%s</td></tr>\n", g->reason,
	        *g->reason_by ? ", by " : "", g->reason_by);
}

static void put_gpus(struct page *p, const Gpusched__Node *n)
{
	HTML(p->h, "<section><h2>GPUs</h2>");
	if (!n->n_devices) {
		HTML(p->h, "<p class=\"dim\">It has none.</p></section>");
		return;
	}
	HTML(p->h,
	        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"GPUs\">"
	        "<table class=\"wide\"><thead><tr><th scope=\"col\" class=\"n\">GPU</th>"
	        "<th scope=\"col\">Type</th><th scope=\"col\">State</th>"
	        "<th scope=\"col\" class=\"n\">Compute</th><th scope=\"col\" "
	        "class=\"n\">Memory</th>"
	        "<th scope=\"col\" class=\"n\">Temp.</th><th scope=\"col\" class=\"n\">Power</th>"
	        "<th scope=\"col\" class=\"n\">Clock</th><th scope=\"col\">Last Xid</th>"
	        "<th scope=\"col\">Jobs</th><th scope=\"col\">Reason</th></tr></thead><tbody>");
	for (size_t i = 0; i < n->n_devices; i++)
		put_gpu(p, n, n->devices[i]);
	HTML(p->h, "</tbody></table></div></section>");
}

/* How close each GPU is to each other, as a table. */
static void put_near_row(struct html *h, const Gpusched__NodeGpu *g)
{
	HTML(h, "<tr><th scope=\"row\" class=\"n\">%u</th>", g->index);
	for (const char *s = g->near; *s;) {
		size_t len = strcspn(s, ",");
		char word[16];

		snprintf(word, sizeof(word), "%.*s", (int)(len < 15 ? len : 15), s);
		HTML(h, "<td class=\"t\">%s</td>", word);
		s += len + (s[len] == ',');
	}
	HTML(h, "</tr>");
}

static void put_near(struct html *h, const Gpusched__Node *n)
{
	if (n->n_devices < 2 || !*n->devices[0]->near)
		return;
	HTML(h, "<details id=\"near\"><summary>How close its GPUs are to each other</summary>"
	        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Closeness of "
	        "GPUs\">"
	        "<table><thead><tr><td></td>");
	for (size_t i = 0; i < n->n_devices; i++)
		HTML(h, "<th scope=\"col\">%u</th>", n->devices[i]->index);
	HTML(h, "</tr></thead><tbody>");
	for (size_t i = 0; i < n->n_devices; i++)
		put_near_row(h, n->devices[i]);
	HTML(h, "</tbody></table></div></details>");
}

/* --- the node --------------------------------------------------------------------------------- */

static void put_list(struct html *h, const char *name, char *const *v, size_t n)
{
	if (!n)
		return;
	HTML(h, "<dt>%s</dt><dd>", name);
	for (size_t i = 0; i < n; i++)
		HTML(h, "%s%s", i ? ", " : "", v[i]);
	HTML(h, "</dd>");
}

static void put_facts(struct page *p, const Gpusched__Node *n)
{
	struct html *h = p->h;
	char left[UNITS_TEXT], all[UNITS_TEXT];

	HTML(h, "<dl class=\"facts\">");
	put_fact(h, "Reason", n->reason);
	put_fact(h, "GPUs differ", n->gpu_note);
	HTML(h, "<dt>CPUs</dt><dd>%u free of %u</dd><dt>Memory</dt><dd>%s free of %s</dd>",
	        n->cpus_free, n->cpus, size_format_left(left, n->mem_free_mb),
	        size_format_mb(all, n->mem_mb));
	put_list(h, "Partitions", n->partitions, n->n_partitions);
	put_list(h, "Features", n->features, n->n_features);
	put_fact(h, "Switch", n->leaf_switch);
	put_fact(h, "Agent", n->agent_version);
	put_fact(h, "Containment", n->containment);
	HTML(h, "<dt>Last heard of</dt><dd>");
	put_time(h, n->last_heard, p->now);
	HTML(h, "</dd></dl>");
}

static void put_state_word(struct html *h, const Gpusched__Node *n)
{
	HTML(h, "<span class=\"%s\">%s</span>",
	        !node_answers(n)      ? "bad"
	        : !node_takes_jobs(n) ? "warn"
	                              : "good",
	        n->state);
}

void page_node(struct page *p)
{
	const Gpusched__Node *n = snapshot_node(p->snap, p->r->name);

	if (!n) {
		page_error(p, 404, "There is no such node");
		return;
	}
	page_title(p, n->name);
	HTML(p->h, "<p>");
	put_state_word(p->h, n);
	HTML(p->h, "</p>");
	put_facts(p, n);
	put_gpus(p, n);
	put_near(p->h, n);
}

/* --- the list --------------------------------------------------------------------------------- */

static void put_node_line(struct page *p, const Gpusched__Node *n)
{
	struct html *h = p->h;
	char left[UNITS_TEXT], all[UNITS_TEXT];

	HTML(h, "<tr><th scope=\"row\">");
	HTML_LINK(h, "/node/", n->name, n->name);
	HTML(h, "</th><td class=\"t\">");
	put_state_word(h, n);
	HTML(h, "</td><td class=\"t\">");
	for (size_t i = 0; i < n->n_gpus; i++)
		HTML(h, "%s%u of %u %s", i ? ", " : "", n->gpus[i]->free, n->gpus[i]->total,
		        n->gpus[i]->type);
	HTML(h, "</td><td class=\"n\">%u of %u</td><td class=\"n\">%s of %s</td><td class=\"t\">",
	        n->cpus_free, n->cpus, size_format_left(left, n->mem_free_mb),
	        size_format_mb(all, n->mem_mb));
	for (size_t i = 0; i < n->n_partitions; i++)
		HTML(h, "%s%s", i ? ", " : "", n->partitions[i]);
	HTML(h, "</td><td class=\"n\">%zu</td>", n->n_runs + n->others_runs);
	put_text(h, n->reason);
	HTML(h, "</tr>\n");
}

void page_nodes(struct page *p)
{
	struct html *h = p->h;

	page_title(p, "Nodes");
	HTML(h, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Nodes\">"
	        "<table class=\"wide\"><thead><tr><th scope=\"col\">Node</th><th "
	        "scope=\"col\">State</th>"
	        "<th scope=\"col\">GPUs free</th><th scope=\"col\" class=\"n\">CPUs free</th>"
	        "<th scope=\"col\" class=\"n\">Memory free</th><th scope=\"col\">Partitions</th>"
	        "<th scope=\"col\" class=\"n\">Runs</th><th "
	        "scope=\"col\">Reason</th></tr></thead><tbody>");
	for (size_t i = 0; i < p->snap->n_nodes; i++)
		put_node_line(p, p->snap->nodes[i]);
	HTML(h, "</tbody></table></div>");
}
