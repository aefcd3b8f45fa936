/* page.c - see page.h */
#include "cmds/web/pages/page.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cmds/web/auth/ask_as_user.h"
#include "cmds/web/auth/identify.h"
#include "cmds/web/pages/cells.h"
#include "common/base/clock.h"

#define STALE_US (30 * INT64_C(1000000)) /* a page says it of older data */

const char *page_query(const struct page *p, const char *name)
{
	const char *value = http_query(p->r, name);

	return value ? value : "";
}

void page_title(struct page *p, const char *title)
{
	snprintf(p->title, sizeof(p->title), "%s", title);
	HTML(p->h, "<h1>%s</h1>", title);
}

void page_error(struct page *p, int status, const char *text)
{
	p->status = status;
	page_title(p, status == 404 ? "Not found" : "That did not work");
	HTML(p->h, "<p>%s.</p>", text);
}

bool page_sees_owner(const struct page *p, uint32_t uid, const char *account)
{
	return viewer_sees(p->r->viewer, uid, account);
}

bool page_sees(const struct page *p, const struct snapshot_job *j)
{
	return page_sees_owner(p, j->request->uid, j->request->account);
}

bool page_sees_usage(const struct page *p, const char *account, const char *user)
{
	return viewer_sees_usage(p->r->viewer, account, user);
}

int page_ask(
        struct page *p, const struct client_call *call, void (*again)(void *arg), struct error *err)
{
	return ask_as(p->r->client, p->r->viewer->uid, call, again, err);
}

/* --- the frame -------------------------------------------------------------------------------- */

static void put_nav(
        struct html *h, const struct page_kind *kinds, size_t n, const struct page_kind *kind)
{
	const char *here = kind->nav ? kind->segment : kind->under;

	HTML(h, "<nav aria-label=\"Pages\"><ul>");
	for (size_t i = 0; i < n; i++) {
		if (!kinds[i].nav)
			continue;
		HTML(h, "<li><a href=\"/%s\"", kinds[i].segment);
		if (!strcmp(kinds[i].segment, here))
			HTML(h, " aria-current=\"page\"");
		HTML(h, ">%s</a></li>", kinds[i].nav);
	}
	HTML(h, "</ul></nav>");
}

/* Logging out is a form, since it changes something. */
static void put_viewer(struct html *h, const struct page *p)
{
	const struct viewer *v = p->r->viewer;
	char proof[AUTH_SECRET] = "";

	static const char *const roles[] = { [VIEWER_USER] = "",
		[VIEWER_OPERATOR] = ", operator",
		[VIEWER_ADMIN] = ", administrator" };

	if (!v->known) {
		HTML(h, "<span class=\"viewer\">not logged in</span>");
		return;
	}
	if (p->options->identify)
		identify_proof(p->options->identify, p->r, proof);
	HTML(h, "<div class=\"viewer\"><span>%s%s</span>", v->name, roles[v->role]);
	if (*proof)
		HTML(h,
		        "<form method=\"post\" action=\"/logout\"><input type=\"hidden\" "
		        "name=\"proof\" "
		        "value=\"%s\"><button>Log out</button></form>",
		        proof);
	HTML(h, "</div>");
}

static void put_head(struct html *h, const struct page *p, const char *cluster)
{
	HTML(h,
	        "<!doctype html>\n<html lang=\"en\" data-events=\"%s\"><head>"
	        "<meta charset=\"utf-8\">"
	        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
	        "<meta name=\"color-scheme\" content=\"light dark\">"
	        "<title>%s - %s</title>"
	        "<link rel=\"stylesheet\" href=\"/static/gweb.css\">"
	        "<link rel=\"stylesheet\" href=\"/static/plot.css\">"
	        "<link rel=\"icon\" href=\"/static/icon.svg\" type=\"image/svg+xml\">"
	        "<script src=\"/static/gweb.js\" defer></script></head>\n<body>",
	        p->r->viewer->known ? "/changes" : "", p->title, cluster);
	HTML(h, "<a class=\"skip\" href=\"#main\">To the content</a>");
}

static void put_foot(struct html *h, const struct snapshot *snap, int64_t now)
{
	char zone[16], text[32];
	time_t s = (time_t)(now / 1000000);
	struct tm tm;

	localtime_r(&s, &tm);
	strftime(zone, sizeof(zone), "%Z", &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	HTML(h, "<footer class=\"foot\"><span>Page of %s %s</span>", text, zone);
	if (snap)
		HTML(h, "<span>gpusched %s</span>", snap->version);
	HTML(h, "<span id=\"live\" role=\"status\"></span></footer>");
}

/* Data that are not of now say so, before anything else. */
static void put_age(struct html *h, const struct http_request *r, const struct snapshot *snap)
{
	int64_t age = snap ? snapshot_age_us(snap) : 0;

	if (!snap || (!*r->trouble && age < STALE_US))
		return;
	HTML(h, "<p class=\"stale\" role=\"alert\"><strong>As it was ");
	put_span(h, (uint64_t)(age / 1000000));
	HTML(h, " ago.</strong> %s</p>",
	        *r->trouble ? r->trouble : "Nothing was heard of the controller since.");
}

static void put_main(struct html *h, const struct page_kind *kind, const struct page *p)
{
	HTML(h, "<main id=\"main\" tabindex=\"-1\" data-serial=\"%llu\"",
	        (unsigned long long)p->snap->serial);
	if (kind->pause_ms)
		HTML(h, " data-pause=\"%u\"", kind->pause_ms);
	HTML(h, ">");
	if (!kind->open)
		put_age(h, p->r, p->snap);
	html_add(h, p->h);
	HTML(h, "</main>");
}

static const struct snapshot nothing = { .cluster = "", .version = "", .currency = "" };

static void show(const struct page_kind *kind, struct page *p)
{
	if (p->snap == &nothing && !kind->open)
		page_error(p, 503,
		        *p->r->trouble ? p->r->trouble : "The controller was not reached yet");
	else
		kind->show(p);
}

void page_answer(const struct page_kind *kinds, size_t n_kinds, const struct page_kind *kind,
        const struct http_request *r, struct http_answer *a)
{
	const char *part = http_header(r, "X-Part");
	struct page p = { .r = r, .snap = r->snap ? r->snap : &nothing, .options = r->arg };
	struct html *h = html_new();

	p.h = html_new();
	p.now = clock_us(CLOCK_REALTIME);
	p.status = 200;
	snprintf(p.title, sizeof(p.title), "%s", kind->title);
	show(kind, &p);
	a->status = p.status;
	a->type = "text/html; charset=utf-8";
	if (part && !strcmp(part, "main")) {
		put_main(h, kind, &p);
	} else {
		put_head(h, &p, p.snap->cluster);
		HTML(h, "<header class=\"top\"><span class=\"cluster\">%s</span>",
		        *p.snap->cluster ? p.snap->cluster : "gpusched");
		if (r->viewer->known)
			put_nav(h, kinds, n_kinds, kind);
		put_viewer(h, &p);
		HTML(h, "</header>\n");
		put_main(h, kind, &p);
		put_foot(h, r->snap, p.now);
		HTML(h, "</body></html>\n");
	}
	html_free(p.h);
	html_end(h, &a->body);
}
