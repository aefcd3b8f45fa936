/* page_about.c - which cluster, which versions, where else its figures are */
#include <string.h>

#include "cmds/web/pages/cells.h"
#include "cmds/web/pages/page.h"

static void put_stats(struct page *p)
{
	struct html *h = p->h;

	if (!p->snap->n_stats)
		return;
	HTML(h, "<h2>The controller</h2><div class=\"scroll\" tabindex=\"0\" role=\"group\" "
	        "aria-label=\"Figures of the controller\"><table><tbody>");
	for (size_t i = 0; i < p->snap->n_stats; i++) {
		const Gpusched__Stat *s = p->snap->stats[i];

		HTML(h, "<tr><th scope=\"row\">%s</th>", s->name);
		if (s->value == (double)(int64_t)s->value)
			HTML(h, "<td class=\"n\">%.0f</td>", s->value);
		else
			HTML(h, "<td class=\"n\">%.3f</td>", s->value);
		HTML(h, "<td class=\"t\">%s</td><td>%s</td></tr>", s->unit, s->help);
	}
	HTML(h, "</tbody></table></div>");
}

void page_about(struct page *p)
{
	struct html *h = p->h;

	page_title(p, "About");
	HTML(h, "<dl class=\"facts\">");
	put_fact(h, "Cluster", p->snap->cluster);
	put_fact(h, "Controller", p->snap->version);
	HTML(h, "<dt>Nodes</dt><dd>%zu</dd><dt>Jobs known</dt><dd>%zu</dd>", p->snap->n_nodes,
	        p->snap->n_jobs);
	HTML(h, "<dt>As it was</dt><dd>");
	put_time(h, p->snap->taken_us, p->now);
	HTML(h, ", snapshot %llu</dd></dl>", (unsigned long long)p->snap->serial);
	HTML(h, "<p>The pages follow what happens by themselves; without JavaScript they show the "
	        "moment at which they were asked for. Every text in them is also said by a "
	        "command: "
	        "<code>gqueue</code>, <code>ginfo</code>, <code>gshare</code>, "
	        "<code>greport</code>.</p>"
	        "<p>For programs: <a href=\"/metrics\">/metrics</a> for Prometheus, "
	        "<a href=\"/v1/openapi.json\">/v1</a> for everything as JSON. gweb(8) says "
	        "how.</p>");
	put_stats(p);
}
