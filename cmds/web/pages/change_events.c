/* change_events.c - see change_events.h */
#include "cmds/web/pages/change_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmds/web/snapshot.h"
#include "common/base/xalloc.h"

struct changes {
	struct http_stream stream; /* first: it is one */
	uint64_t told;             /* serial; 0: none */
};

static ssize_t read_change(
        struct http_stream *stream, const struct snapshot *snap, bool beat, char *buf, size_t max)
{
	struct changes *c = (struct changes *)stream;
	int n = 0;

	if (http_stream_is_over(stream, 0))
		return -1;
	if (snap && snap->serial != c->told) {
		n = snprintf(buf, max, "event: changed\ndata: %" PRIu64 "\n\n", snap->serial);
		c->told = (size_t)n < max ? snap->serial : c->told;
	} else if (beat) {
		n = snprintf(buf, max, "event: beat\ndata: %" PRIu64 "\n\n", c->told);
	}
	return (size_t)n < max ? n : 0;
}

static void free_changes(struct http_stream *stream)
{
	free(stream);
}

void changes_get(const struct http_request *r, struct http_answer *a)
{
	struct changes *c = xcalloc(1, sizeof(*c));

	(void)r;
	c->stream = (struct http_stream){ .read = read_change, .free = free_changes };
	http_stream_begin(&c->stream);
	a->type = "text/event-stream; charset=utf-8";
	a->stream = &c->stream;
}
