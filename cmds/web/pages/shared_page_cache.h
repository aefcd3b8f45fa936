/* shared_page_cache.h - pages that many viewers ask for at the same time, each made once
 *
 * After each snapshot the script of every open page asks for its <main> again. It is the same for
 * all viewers to whom no job is private, so it is made and compressed for the first, and kept until
 * the next snapshot, for SHARED_PAGE_MS at most: times in it go on. For the loop's thread alone, so
 * for pages of HTTP_FAST.
 */
#ifndef CMDS_WEB_SHARED_PAGE_CACHE_H
#define CMDS_WEB_SHARED_PAGE_CACHE_H

#include <stdbool.h>

#include "cmds/web/http.h"

#define SHARED_PAGE_MS 1000

/* Answer with what was made for another viewer; false: nothing fits. */
bool shared_page_find(const struct http_request *r, struct http_answer *a);

/* Keep that answer, if it is one for many. */
void shared_page_keep(const struct http_request *r, struct http_answer *a);

#endif
