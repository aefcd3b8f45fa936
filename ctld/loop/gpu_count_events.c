/* gpu_count_events.c - see gpu_count_events.h */
#include "ctld/loop/gpu_count_events.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "common/conf/conf_find.h"
#include "common/net/event_end.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/tick.h"

#define SLICE_NODES 1000 /* looked at at once: half a millisecond */
#define EVERY_S     10   /* a slice */
#define SOON_US     200000
#define TEXT_MAX    400

struct gpu_count_events {
	struct ctld *c;
	struct event *timer;
	uint64_t generation; /* of the configuration that the nodes belong to */
	uint32_t at;         /* the next node */
	uint64_t *counts;    /* of the nodes before it, by type in the order of the configuration */
	size_t n_counts;
	char *reported;
};

static void set_timer(struct gpu_count_events *events, long s, long us)
{
	struct timeval tv = { s, us };

	event_add(events->timer, &tv);
}

static void begin_count(struct gpu_count_events *events)
{
	const struct conf *conf = events->c->conf;

	free(events->counts);
	events->n_counts = conf->n_gpu_types;
	events->counts = xcalloc(events->n_counts + 1, sizeof(*events->counts));
	events->generation = events->c->generation;
	events->at = 0;
}

static void add_node(struct gpu_count_events *events, const struct node_view *view)
{
	const struct conf *conf = events->c->conf;

	for (size_t i = 0; i < view->n_gpus; i++) {
		uint32_t type = CONF_FIND(conf, gpu_types, view->gpus[i].type);

		if (type < events->n_counts)
			events->counts[type] += view->gpus[i].total;
	}
}

static char *text_of(const struct gpu_count_events *events)
{
	struct strbuf text = { 0 };

	for (size_t t = 0; t < events->n_counts && text.len < TEXT_MAX; t++)
		if (events->counts[t])
			strbuf_addf(&text, "%s%s:%llu", text.len ? "," : "",
			        events->c->conf->gpu_types[t].name,
			        (unsigned long long)events->counts[t]);
	return strbuf_take(&text);
}

static void report_capacity(struct gpu_count_events *events, struct clocks now)
{
	struct core_event ev = { .kind = EV_NOTE };
	char *text = text_of(events);

	if (events->reported && !strcmp(events->reported, text)) {
		free(text);
		return;
	}
	free(events->reported);
	events->reported = text;
	ev.note.kind = "cluster.capacity";
	ev.note.text = text;
	ev.note.nobody = true;
	inputs_apply(events->c, &ev, now);
}

static void count_nodes(struct ctld *c, void *arg, struct clocks now)
{
	struct gpu_count_events *events = arg;
	struct node_view view;

	if (events->generation != c->generation)
		begin_count(events);
	for (uint32_t n = 0; n < SLICE_NODES && events->at < c->conf->n_nodes; n++, events->at++)
		if (core_node_view(c->core, events->at, now, &view))
			add_node(events, &view);
	if (events->at < c->conf->n_nodes)
		return;
	report_capacity(events, now);
	begin_count(events);
}

static const struct tick_work count_work = { count_nodes, NULL };

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct gpu_count_events *events = arg;

	(void)fd;
	(void)what;
	tick_post(events->c->tick, &count_work, events);
	set_timer(events, EVERY_S, 0);
}

void gpu_count_events_soon(struct gpu_count_events *events)
{
	set_timer(events, 0, SOON_US);
}

struct gpu_count_events *gpu_count_events_new(struct ctld *c, struct error *err)
{
	struct gpu_count_events *events = xcalloc(1, sizeof(*events));

	events->c = c;
	events->timer = evtimer_new(c->base, on_timer, events);
	if (!events->timer) {
		error_set(err, ERR_SYSTEM, "event loop: out of memory");
		gpu_count_events_free(events);
		return NULL;
	}
	begin_count(events);
	gpu_count_events_soon(events);
	return events;
}

void gpu_count_events_free(struct gpu_count_events *events)
{
	if (!events)
		return;
	event_end(events->timer);
	free(events->counts);
	free(events->reported);
	free(events);
}
