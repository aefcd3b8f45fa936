/* page.h - one page being made: its frame, what it may show, and its errors
 *
 * A page's function writes what stands in <main>; the frame (head, navigation, foot) comes around
 * it. With the header X-Part: main the script of the pages (static/gweb.js) asks for <main> alone.
 */
#ifndef CMDS_WEB_PAGE_H
#define CMDS_WEB_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/api/call.h"
#include "cmds/web/http.h"
#include "cmds/web/pages/html.h"
#include "cmds/web/pages/page_table.h"
#include "cmds/web/snapshot.h"

struct page {
	const struct http_request *r;
	const struct snapshot *snap; /* never NULL */
	const struct pages_options *options;
	struct html *h;
	int64_t now; /* us, UTC */
	int status;  /* 200 */
	char title[100];
};

/* One kind of page: a row of the table in page_table.c. */
struct page_kind {
	const char *segment; /* the first of its path; "": "/" */
	const char *nav;     /* its word in the navigation; NULL: it is under `under` */
	const char *under;   /* the segment that is marked there */
	const char *title;
	unsigned pause_ms; /* its script asks no sooner again; 0: as the script does */
	bool open;         /* it shows nothing of the cluster */
	bool alike;        /* one page for viewers that see all jobs; HTTP_FAST */
	void (*show)(struct page *p);
};

/* The whole answer. */
void page_answer(const struct page_kind *kinds, size_t n_kinds, const struct page_kind *kind,
        const struct http_request *r, struct http_answer *a);

/* <h1>, and the page's title. */
void page_title(struct page *p, const char *title);
/* An error page with this status: the object does not exist, or the controller did not answer. */
void page_error(struct page *p, int status, const char *text);

/* The value of a parameter, "" if it is missing. */
const char *page_query(const struct page *p, const char *name);

/* May the viewer see this job, another object of this owner and account, this line of gshare? */
bool page_sees(const struct page *p, const struct snapshot_job *job);
bool page_sees_owner(const struct page *p, uint32_t uid, const char *account);
bool page_sees_usage(const struct page *p, const char *account, const char *user);

/* Ask the controller as the viewer (ask_as_user.h); pages of HTTP_ASKS only. */
int page_ask(struct page *p, const struct client_call *call, void (*again)(void *arg),
        struct error *err);

void page_now(struct page *p);
void page_queue(struct page *p);
void page_job(struct page *p);
void page_output(struct page *p);
void page_nodes(struct page *p);
void page_node(struct page *p);
void page_accounts(struct page *p);
void page_usage(struct page *p);
void page_fair_share(struct page *p);
void page_services(struct page *p);
void page_service(struct page *p);
void page_reports(struct page *p);
void page_whatif(struct page *p);
void page_about(struct page *p);

/* Handlers of what is no page by itself. */
void page_job_why(const struct http_request *r, struct http_answer *a);
void page_whatif_file(const struct http_request *r, struct http_answer *a);

#endif
