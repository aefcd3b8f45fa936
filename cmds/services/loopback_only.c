/* loopback_only.c - see loopback_only.h */
#include "cmds/services/loopback_only.h"

#include <stdlib.h>

#include "cmds/services/fetch.h"
#include "cmds/services/owner_messages.h"
#include "common/base/xalloc.h"

struct loopback_only {
	struct server_address target;
	struct fetch *fetch;
};

static void on_answer(void *arg, const struct fetch_end *end)
{
	(void)arg;
	if (end->err)
		owner_message("warning: the server answers at 127.0.0.1 only; clients on other "
		              "hosts cannot "
		              "reach it (%s). Most servers have an option for that: --host 0.0.0.0",
		        end->err->text);
}

struct loopback_only *loopback_only_new(
        struct loop *loop, struct server_address *target, int64_t timeout_ms)
{
	struct fetch_request request = { .timeout_ms = timeout_ms, .done = on_answer };
	struct loopback_only *r = xcalloc(1, sizeof(*r));

	if (!server_address_other(target, &r->target, loop_now_ms())) {
		free(r);
		return NULL;
	}
	r->fetch = fetch_new(loop, &r->target);
	request.arg = r;
	fetch_start(r->fetch, &request);
	return r;
}

int64_t loopback_only_wake_ms(const struct loopback_only *r)
{
	return r ? fetch_wake_ms(r->fetch) : INT64_MAX;
}

void loopback_only_tick(struct loopback_only *r, int64_t now_ms)
{
	if (r)
		fetch_tick(r->fetch, now_ms);
}
