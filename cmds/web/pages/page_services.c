/* page_services.c - services: how many replicas, how they are, what the scaler decided last */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmds/web/pages/cells.h"
#include "cmds/web/pages/page.h"
#include "common/base/units.h"

/* Words and their weight: the same as in gserve's tables. */
static void put_service_state(struct html *h, const char *state)
{
	static const struct {
		const char *state, *class;
	} classes[] = {
		{ "SERVING", "good" },
		{ "READY", "good" },
		{ "DEGRADED", "warn" },
		{ "WAKING", "warn" },
		{ "ROLLING", "warn" },
		{ "LOADING", "warn" },
		{ "PENDING", "warn" },
		{ "FAILING", "bad" },
		{ "UNREADY", "bad" },
	};
	const char *class = "dim";

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (!strcmp(classes[i].state, state))
			class = classes[i].class;
	HTML(h, "<span class=\"%s\">%s</span>", class, state);
}

static bool seen(const struct page *p, const Gpusched__Service *s)
{
	return page_sees_owner(p, s->uid, s->account);
}

/* --- all -------------------------------------------------------------------------------------- */

static void put_line(struct page *p, const Gpusched__Service *s)
{
	struct html *h = p->h;

	HTML(h, "<tr><th scope=\"row\">");
	HTML_LINK(h, "/service/", s->name, s->name);
	HTML(h, "</th><td class=\"t\">%s</td><td class=\"t\">", s->user);
	put_service_state(h, s->state);
	HTML(h, "</td><td class=\"n\">%u of %u</td><td>", s->ready, s->wanted);
	put_bar(h, s->ready, s->wanted, -1);
	HTML(h, "</td><td class=\"n\">%u</td><td class=\"n\">%u</td>", s->loading, s->pending);
	HTML(h,
	        "<td class=\"n\">%.1f</td><td class=\"n\">%.1f</td><td "
	        "class=\"why\">%s</td></tr>\n",
	        s->in_flight, s->waiting, *s->reason ? s->reason : s->decision);
}

void page_services(struct page *p)
{
	struct html *h = p->h;
	size_t shown = 0;

	page_title(p, "Services");
	for (size_t i = 0; i < p->snap->n_services; i++)
		shown += seen(p, p->snap->services[i]);
	if (!shown) {
		HTML(h, "<p class=\"dim\">There are no services. <code>gsubmit --service</code> "
		        "makes "
		        "one.</p>");
		return;
	}
	HTML(h, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Services\">"
	        "<table class=\"wide\"><thead><tr><th scope=\"col\">Service</th><th "
	        "scope=\"col\">User</th>"
	        "<th scope=\"col\">State</th><th scope=\"col\" class=\"n\">Ready</th><td></td>"
	        "<th scope=\"col\" class=\"n\">Loading</th>"
	        "<th scope=\"col\" class=\"n\">No node</th><th scope=\"col\" class=\"n\">In "
	        "flight</th>"
	        "<th scope=\"col\" class=\"n\">Queued</th>"
	        "<th scope=\"col\">Why, or the last decision</th></tr></thead><tbody>");
	for (size_t i = 0; i < p->snap->n_services; i++)
		if (seen(p, p->snap->services[i]))
			put_line(p, p->snap->services[i]);
	HTML(h, "</tbody></table></div>");
}

/* --- one -------------------------------------------------------------------------------------- */

static void put_replica(struct page *p, const Gpusched__ServiceReplica *r)
{
	struct html *h = p->h;

	HTML(h, "<tr><th scope=\"row\" class=\"n\">%u</th><td class=\"n\">%u</td><td class=\"n\">",
	        r->slot, r->generation);
	if (r->job) {
		char slot[16];

		snprintf(slot, sizeof(slot), "%" PRIu32, r->slot);
		put_job(h, r->job, slot, false);
	}
	HTML(h, "</td><td class=\"t\">");
	put_service_state(h, r->state);
	HTML(h, "%s</td><td class=\"t\">", r->serves ? ", an endpoint" : "");
	if (*r->node)
		HTML_LINK(h, "/node/", r->node, r->node);
	HTML(h, "</td><td class=\"t mono\">%s", r->address);
	for (size_t i = 0; i < r->n_ports; i++)
		HTML(h, "%s%u", i ? "," : ":", r->ports[i]);
	HTML(h, "</td><td class=\"t\">");
	put_time(h, r->ready_time, p->now);
	if (r->load_known)
		HTML(h,
		        "</td><td class=\"n\">%.1f</td><td class=\"n\">%.1f</td><td "
		        "class=\"n\">%.1f %%",
		        r->running, r->waiting, r->kv_milli / 10.0);
	else
		HTML(h, "</td><td class=\"n dim\">-</td><td class=\"n dim\">-</td><td class=\"n "
		        "dim\">-");
	HTML(h, "</td><td>%s</td></tr>\n", r->reason);
}

static void put_replicas(struct page *p, const Gpusched__Service *s)
{
	struct html *h = p->h;

	HTML(h, "<h2>Replicas</h2><div class=\"scroll\" tabindex=\"0\" role=\"group\" "
	        "aria-label=\"Replicas\"><table class=\"wide\"><thead><tr>"
	        "<th scope=\"col\" class=\"n\">Slot</th><th scope=\"col\" "
	        "class=\"n\">Generation</th>"
	        "<th scope=\"col\" class=\"n\">Job</th><th scope=\"col\">State</th>"
	        "<th scope=\"col\">Node</th><th scope=\"col\">Address</th><th scope=\"col\">Ready "
	        "since</th>"
	        "<th scope=\"col\" class=\"n\">Running</th><th scope=\"col\" "
	        "class=\"n\">Queued</th>"
	        "<th scope=\"col\" class=\"n\">KV cache</th><th scope=\"col\">In "
	        "words</th></tr></thead>"
	        "<tbody>");
	for (size_t i = 0; i < s->n_replicas; i++)
		put_replica(p, s->replicas[i]);
	HTML(h, "</tbody></table></div>");
}

static void put_scaling(struct page *p, const Gpusched__Service *s)
{
	struct html *h = p->h;
	char text[UNITS_TEXT];

	HTML(h,
	        "<dl class=\"figures\"><div><dt>ready</dt><dd>%u <small>of %u "
	        "wanted</small></dd></div>"
	        "<div><dt>loading</dt><dd>%u</dd></div><div><dt>without a "
	        "node</dt><dd>%u</dd></div>"
	        "<div><dt>requests in flight</dt><dd>%.1f</dd></div>"
	        "<div><dt>queued</dt><dd>%.1f</dd></div></dl>",
	        s->ready, s->wanted, s->loading, s->pending, s->in_flight, s->waiting);
	HTML(h, "<dl class=\"facts\">");
	put_fact(h, "Why not serving", s->reason);
	if (*s->decision) {
		HTML(h, "<dt>Last decision</dt><dd>%s, ", s->decision);
		put_time(h, s->decision_time, p->now);
		HTML(h, "</dd>");
	}
	if (s->request)
		HTML(h, "<dt>Replicas</dt><dd>%u to %u</dd>", s->request->min, s->request->max);
	if (s->request && s->request->target > 0)
		HTML(h, "<dt>Target</dt><dd>%.1f requests in flight a replica</dd>",
		        s->request->target);
	if (s->load_time_ms)
		HTML(h, "<dt>Loads in</dt><dd>%s, nine times of ten</dd>",
		        duration_format(text, s->load_time_ms / 1000));
	HTML(h, "<dt>Generation</dt><dd>%u", s->generation);
	if (s->next_job)
		HTML(h, ", the next one is being rolled out");
	HTML(h, "</dd><dt>Signature until</dt><dd>");
	put_time(h, s->expires, p->now);
	HTML(h, "</dd></dl>");
}

void page_service(struct page *p)
{
	const Gpusched__Service *s = snapshot_service(p->snap, p->r->name);

	if (!s || !seen(p, s)) {
		page_error(p, 404, "There is no such service");
		return;
	}
	page_title(p, s->name);
	HTML(p->h, "<p>");
	put_service_state(p->h, s->state);
	HTML(p->h, " <span class=\"dim\">of</span> %s", s->user);
	if (*s->account)
		HTML(p->h, "<span class=\"dim\">, account</span> %s", s->account);
	HTML(p->h, "<span class=\"dim\">, job</span> ");
	put_job(p->h, s->job, "", false);
	HTML(p->h, "</p>");
	put_scaling(p, s);
	put_replicas(p, s);
}
