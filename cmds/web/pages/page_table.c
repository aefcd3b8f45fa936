/* page_table.c - see page_table.h: the tables of pages, routes and static files */
#include "cmds/web/pages/page_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/web/pages/change_events.h"
#include "cmds/web/pages/frameless_page.h"
#include "cmds/web/pages/page.h"
#include "cmds/web/pages/shared_page_cache.h"
#include "cmds/web/pages/static_files.h"
#include "common/plot/plot.h"

#define OUTPUT_PAUSE_MS (24 * 3600 * 1000) /* it has a link to itself */

static const struct page_kind kinds[] = {
	{ "", "Now", "", "Now", 0, false, true, page_now },
	{ "queue", "Queue", "", "Queue", 0, false, true, page_queue },
	{ "nodes", "Nodes", "", "Nodes", 0, false, true, page_nodes },
	{ "accounts", "Accounts", "", "Accounts", 5000, false, false, page_accounts },
	{ "services", "Services", "", "Services", 0, false, true, page_services },
	{ "reports", "Reports", "", "Reports", 60000, false, false, page_reports },
	{ "what-if", "What if", "", "What if", 60000, false, false, page_whatif },
	{ "about", "About", "", "About", 10000, false, false, page_about },
	{ "job", NULL, "queue", "Job", 10000, false, false, page_job },
	{ "output", NULL, "queue", "Output", OUTPUT_PAUSE_MS, false, false, page_output },
	{ "node", NULL, "nodes", "Node", 0, false, true, page_node },
	{ "usage", NULL, "accounts", "Use by day", 60000, false, false, page_usage },
	{ "fair-share", NULL, "accounts", "Fair-share over time", 60000, false, false,
	        page_fair_share },
	{ "service", NULL, "services", "Service", 0, false, true, page_service },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void answer(
        const struct page_kind *kind, const struct http_request *r, struct http_answer *a)
{
	if (kind->alike && shared_page_find(r, a))
		return;
	page_answer(kinds, N_KINDS, kind, r, a);
	if (kind->alike)
		shared_page_keep(r, a);
}

static void get_page(const struct http_request *r, struct http_answer *a)
{
	const char *segment = r->path + 1;
	size_t n = strcspn(segment, "/");

	for (size_t i = 0; i < N_KINDS; i++)
		if (strlen(kinds[i].segment) == n && !strncmp(kinds[i].segment, segment, n)) {
			answer(&kinds[i], r, a);
			return;
		}
	http_answer_error(a, 404, "no such page");
}

static void show_login(struct page *p)
{
	page_title(p, "Log in");
	p->status = 401;
	HTML(p->h, "<p>This page shows a cluster to its users. On a host of the cluster, run</p>"
	           "<pre tabindex=\"0\">gweb login</pre>"
	           "<p>It proves by munge which user you are, and prints a link that opens this "
	           "page within "
	           "a minute.</p>");
}

/* The text is "404 not found: there is no such page\n" (http_answer_error()). */
void pages_failed(const struct http_request *r, struct http_answer *a)
{
	static const struct page_kind login = { "login", NULL, "", "Log in", 0, true, false,
		show_login };
	const char *accept = http_header(r, "Accept");
	struct html *h;
	char *text, *why;

	if (!accept || !strstr(accept, "text/html") || strncmp(a->type, "text/plain", 10) != 0)
		return;
	text = strbuf_take(&a->body);
	/* A proof that does not hold has a reason of its own, which is shown. */
	if (a->status == 401 && strstr(text, HTTP_NO_PROOF)) {
		page_answer(&login, 1, &login, r, a);
		free(text);
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	why = strstr(text, ": ");
	if (why)
		*why = '\0';
	h = frameless_page_begin(text, false);
	if (why)
		HTML(h, "<p>The reason: %s</p>", why + 2);
	HTML(h, "<p><a href=\"/\">The cluster</a></p>");
	frameless_page_end(h, a);
	free(text);
}

/* --- static files ----------------------------------------------------------------------------- */

static void get_plot_css(struct http_answer *a)
{
	strbuf_adds(&a->body, plot_css());
	a->type = "text/css; charset=utf-8";
}

static void answer_file(const char *name, struct http_answer *a)
{
	a->cache = "max-age=300";
	for (size_t i = 0; i < N_STATIC_FILES; i++) {
		const struct static_file *f = &static_files[i];

		if (strcmp(f->name, name) != 0)
			continue;
		strbuf_add(&a->body, f->bytes, f->len);
		a->type = f->type;
		return;
	}
	if (!strcmp(name, "plot.css"))
		get_plot_css(a);
	else
		http_answer_error(a, 404, "no such file");
}

static void get_static(const struct http_request *r, struct http_answer *a)
{
	answer_file(r->name, a);
}

/* Browsers ask for it of pages that name no icon. */
static void get_icon(const struct http_request *r, struct http_answer *a)
{
	(void)r;
	answer_file("icon.svg", a);
}

const struct http_route pages_routes[] = {
	{ "GET", "/", HTTP_LOGGED_IN, HTTP_FAST, 0, get_page, "the GPUs and what changes next" },
	{ "GET", "/queue", HTTP_LOGGED_IN, HTTP_FAST, 0, get_page, "jobs that wait and run" },
	{ "GET", "/job/{}", HTTP_LOGGED_IN, HTTP_ASKS, 0, get_page, "one job" },
	{ "GET", "/job/{}/why", HTTP_LOGGED_IN, HTTP_ASKS, 0, page_job_why,
	        "why it waits, as a part of a page" },
	{ "GET", "/output/{}", HTTP_LOGGED_IN, HTTP_ASKS, 0, get_page,
	        "the end of a job's output, for its owner" },
	{ "GET", "/nodes", HTTP_LOGGED_IN, HTTP_FAST, 0, get_page, "all nodes" },
	{ "GET", "/node/{}", HTTP_LOGGED_IN, HTTP_FAST, 0, get_page, "one node" },
	{ "GET", "/accounts", HTTP_LOGGED_IN, HTTP_FAST, 0, get_page, "shares and use" },
	{ "GET", "/usage", HTTP_LOGGED_IN, HTTP_ASKS, 0, get_page, "use by account and day" },
	{ "GET", "/fair-share", HTTP_LOGGED_IN, HTTP_FAST, 0, get_page, "fair-share in a week" },
	{ "GET", "/services", HTTP_LOGGED_IN, HTTP_FAST, 0, get_page, "services" },
	{ "GET", "/service/{}", HTTP_LOGGED_IN, HTTP_FAST, 0, get_page, "one service" },
	{ "GET", "/reports", HTTP_LOGGED_IN, HTTP_ASKS, 0, get_page, "use, waits and cost" },
	{ "GET", "/what-if", HTTP_LOGGED_IN, HTTP_ASKS, 0, get_page, "comparisons by gsim" },
	{ "GET", "/what-if/{}", HTTP_LOGGED_IN, HTTP_ASKS, 0, page_whatif_file,
	        "a picture of one" },
	{ "GET", "/about", HTTP_LOGGED_IN, HTTP_FAST, 0, get_page,
	        "versions and figures of the controller" },
	{ "GET", "/changes", HTTP_LOGGED_IN, HTTP_STREAM, 0, changes_get,
	        "that something has changed, as events" },
	{ "GET", "/favicon.ico", HTTP_NOBODY, HTTP_FAST, 0, get_icon, "the icon" },
	{ "GET", "/static/{}", HTTP_NOBODY, HTTP_FAST, 0, get_static,
	        "style and script of the pages" },
	{ NULL, NULL, 0, 0, 0, NULL, NULL },
};
