/* gpu_count_events.c - see gpu_count_events.h */
#include "ctld/loop/gpu_count_events.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "common/conf/conf_find.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/tick.h"

#define SLICE_NODES 1000 /* looked at at once: half a millisecond */
#define EVERY_S     10   /* a slice */
#define SOON_US     200000
#define TEXT_MAX    400

struct census {
	struct ctld *c;
	struct event *timer;
	uint64_t generation; /* of the configuration that the nodes belong to */
	uint32_t at;         /* the next node */
	uint64_t *counts;    /* of the nodes before it, by type in the order of the configuration */
	size_t n_counts;
	char *reported;
};

static void set_timer(struct census *census, long s, long us)
{
	struct timeval tv = { s, us };

	event_add(census->timer, &tv);
}

static void begin_count(struct census *census)
{
	const struct conf *conf = census->c->conf;

	free(census->counts);
	census->n_counts = conf->n_gpu_types;
	census->counts = xcalloc(census->n_counts + 1, sizeof(*census->counts));
	census->generation = census->c->generation;
	census->at = 0;
}

static void add_node(struct census *census, const struct node_view *view)
{
	const struct conf *conf = census->c->conf;

	for (size_t i = 0; i < view->n_gpus; i++) {
		uint32_t type = CONF_FIND(conf, gpu_types, view->gpus[i].type);

		if (type < census->n_counts)
			census->counts[type] += view->gpus[i].total;
	}
}

static char *text_of(const struct census *census)
{
	struct strbuf text = { 0 };

	for (size_t t = 0; t < census->n_counts && text.len < TEXT_MAX; t++)
		if (census->counts[t])
			strbuf_addf(&text, "%s%s:%llu", text.len ? "," : "",
			        census->c->conf->gpu_types[t].name,
			        (unsigned long long)census->counts[t]);
	return strbuf_take(&text);
}

static void report_capacity(struct census *census, struct clocks now)
{
	struct core_event ev = { .kind = EV_NOTE };
	char *text = text_of(census);

	if (census->reported && !strcmp(census->reported, text)) {
		free(text);
		return;
	}
	free(census->reported);
	census->reported = text;
	ev.note.kind = "cluster.capacity";
	ev.note.text = text;
	ev.note.nobody = true;
	inputs_apply(census->c, &ev, now);
}

static void count_nodes(struct ctld *c, void *arg, struct clocks now)
{
	struct census *census = arg;
	struct node_view view;

	if (census->generation != c->generation)
		begin_count(census);
	for (uint32_t n = 0; n < SLICE_NODES && census->at < c->conf->n_nodes; n++, census->at++)
		if (core_node_view(c->core, census->at, now, &view))
			add_node(census, &view);
	if (census->at < c->conf->n_nodes)
		return;
	report_capacity(census, now);
	begin_count(census);
}

static const struct tick_work count_work = { count_nodes, NULL };

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct census *census = arg;

	(void)fd;
	(void)what;
	tick_post(census->c->tick, &count_work, census);
	set_timer(census, EVERY_S, 0);
}

void census_soon(struct census *census)
{
	set_timer(census, 0, SOON_US);
}

struct census *census_new(struct ctld *c, struct error *err)
{
	struct census *census = xcalloc(1, sizeof(*census));

	census->c = c;
	census->timer = evtimer_new(c->base, on_timer, census);
	if (!census->timer) {
		error_set(err, ERR_SYSTEM, "event loop: out of memory");
		census_free(census);
		return NULL;
	}
	begin_count(census);
	census_soon(census);
	return census;
}

void census_free(struct census *census)
{
	if (!census)
		return;
	if (census->timer)
		event_free(census->timer);
	free(census->counts);
	free(census->reported);
	free(census);
}
