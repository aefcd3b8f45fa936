/* page_table.h - the pages for people: HTML made on the server, which works without JavaScript
 *
 * Each page is made of one snapshot; those that need more (why a job waits, what was used in a
 * month) are asked for by workers. README.md here says how a page is added.
 */
#ifndef CMDS_WEB_PAGE_TABLE_H
#define CMDS_WEB_PAGE_TABLE_H

#include "cmds/web/http.h"

struct identify;
struct share_history;

struct pages_options {
	const char *whatif_dir;          /* of files that gsim --plot wrote; NULL: none */
	struct share_history *shares;    /* fair-share in the past */
	const struct identify *identify; /* whose forms end a session; NULL: there are none */
};

extern const struct http_route pages_routes[]; /* r->arg: struct pages_options */

/* For http_config.failed: to a browser an error that is told as text is a page. Where it is not
 * logged in, that says how it is done. */
void pages_failed(const struct http_request *r, struct http_answer *a);

#endif
