/* probe.c - see probe.h */
#include "cmds/services/probe.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmds/services/runfile.h"
#include "common/base/xalloc.h"

#define READY_FILE "ready"

struct probe {
	struct probe_ops ops;
	struct fetch *fetch; /* NULL: of a file */
	int64_t began_ms;
};

struct probe *probe_new(
        struct loop *loop, struct server_address *target, const struct probe_ops *ops)
{
	struct probe *p = xcalloc(1, sizeof(*p));

	p->ops = *ops;
	p->began_ms = INT64_MIN / 2;
	if (ops->spec->kind != PROBE_FILE)
		p->fetch = fetch_new(loop, target);
	return p;
}

void probe_set_every(struct probe *p, int64_t every_ms)
{
	p->ops.every_ms = every_ms;
}

static void tell(const struct probe *p, bool well, const char *text)
{
	p->ops.found(p->ops.arg, well, text);
}

static void on_answer(void *arg, const struct fetch_end *end)
{
	struct probe *p = arg;
	char text[PROBE_PATH_MAX + 64];

	if (end->err) {
		tell(p, false, end->err->text);
	} else if (p->ops.spec->kind == PROBE_HTTP && (end->status < 200 || end->status > 299)) {
		snprintf(text, sizeof(text), "%s: status %u", p->ops.spec->path, end->status);
		tell(p, false, text);
	} else {
		tell(p, true, "");
	}
}

static void begin(struct probe *p)
{
	struct fetch_request r = { .path = p->ops.spec->path,
		.max_body = PROBE_BODY_MAX,
		.timeout_ms = p->ops.timeout_ms,
		.done = on_answer,
		.arg = p };

	if (p->fetch)
		fetch_start(p->fetch, &r);
	else if (runfile_exists(p->ops.run_dir, READY_FILE))
		tell(p, true, "");
	else
		tell(p, false, "there is no file " READY_FILE " in its run directory");
}

int64_t probe_wake_ms(const struct probe *p)
{
	if (!p)
		return INT64_MAX;
	return p->fetch && fetch_is_busy(p->fetch) ? fetch_wake_ms(p->fetch)
	                                           : p->began_ms + p->ops.every_ms;
}

void probe_tick(struct probe *p, int64_t now_ms)
{
	if (!p || now_ms < probe_wake_ms(p))
		return;
	if (p->fetch && fetch_is_busy(p->fetch)) {
		fetch_tick(p->fetch, now_ms);
		return;
	}
	p->began_ms = now_ms;
	begin(p);
}
