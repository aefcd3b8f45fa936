/* shared_page_cache.c - see shared_page_cache.h */
#include "cmds/web/pages/shared_page_cache.h"

#include <stdlib.h>
#include <string.h>

#include "cmds/web/snapshot.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"

#define KEPT       32                /* addresses with their questions; the oldest goes */
#define KEPT_BYTES (2 * 1024 * 1024) /* of all, but for the newest */

struct kept {
	char *raw;
	uint64_t serial;
	int64_t at_ms;
	struct http_body *body;
	const char *type;
};

static struct kept kept[KEPT];
static size_t next;  /* the oldest */
static size_t bytes; /* of all bodies */

static bool for_many(const struct http_request *r)
{
	const char *part = http_header(r, "X-Part");

	return part && !strcmp(part, "main") && r->snap && !*r->trouble &&
	       viewer_sees_all(r->viewer);
}

bool shared_page_find(const struct http_request *r, struct http_answer *a)
{
	if (!for_many(r))
		return false;
	for (size_t i = 0; i < KEPT; i++) {
		const struct kept *k = &kept[i];

		if (!k->raw || k->serial != r->snap->serial || strcmp(k->raw, r->raw) != 0 ||
		        clock_ms(CLOCK_MONOTONIC) - k->at_ms >= SHARED_PAGE_MS)
			continue;
		a->shared = http_body_ref(k->body);
		a->type = k->type;
		return true;
	}
	return false;
}

static void drop(struct kept *k)
{
	if (!k->raw)
		return;
	bytes -= http_body_size(k->body);
	free(k->raw);
	http_body_put(k->body);
	*k = (struct kept){ 0 };
}

void shared_page_keep(const struct http_request *r, struct http_answer *a)
{
	struct kept *k = &kept[next];

	if (!for_many(r) || a->status != 200 || a->shared)
		return;
	drop(k);
	next = (next + 1) % KEPT;
	for (size_t i = 0; i < KEPT && bytes > KEPT_BYTES; i++)
		drop(&kept[(next + i) % KEPT]);
	*k = (struct kept){ .raw = xstrdup(r->raw),
		.serial = r->snap->serial,
		.at_ms = clock_ms(CLOCK_MONOTONIC),
		.body = http_body_new(&a->body, true),
		.type = a->type };
	bytes += http_body_size(k->body);
	a->shared = http_body_ref(k->body);
}
