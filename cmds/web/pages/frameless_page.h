/* frameless_page.h - a page without a frame and without the cluster: logging in and out, errors
 *
 *	struct html *h = frameless_page_begin("Logged out", false);
 *	HTML(h, "<p>...</p>");
 *	frameless_page_end(h, a);
 */
#ifndef CMDS_WEB_FRAMELESS_PAGE_H
#define CMDS_WEB_FRAMELESS_PAGE_H

#include <stdbool.h>

#include "cmds/web/http.h"
#include "cmds/web/pages/html.h"

/* `onward`: the browser goes on to / by itself. */
struct html *frameless_page_begin(const char *title, bool onward);
void frameless_page_end(struct html *h, struct http_answer *a);

#endif
