/* world.c - the core, the clocks and what the core orders; see world.h */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/conf/nodewords.h"
#include "ctld/gsim/cluster.h"
#include "ctld/gsim/world_impl.h"

#define START_WALL  ((usec_t)1767225600 * 1000000) /* 2026-01-01, a date like any other */
#define START_MONO  ((usec_t)1000000)
#define INCARNATION "gsim"
#define SLICE       1024
#define SEAL_EVERY  1024                                 /* events */
#define TIMER_TURNS 100000                               /* in one moment */
#define FAR         ((usec_t)10 * 365 * 86400 * 1000000) /* is never */

void world_fail(struct world *w, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	if (w->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w->failed = true;
	error_set(&w->error, ERR_INTERNAL, "at %.6f s, after %llu events: %s",
	        (double)world_now(w) / 1e6, (unsigned long long)w->n_events, text);
}

int world_check(const struct world *w, struct error *err)
{
	if (!w->failed)
		return 0;
	*err = w->error;
	return -1;
}

/* --- effects --------------------------------------------------------------------------------- */

static void note_order(struct world *w, const struct effect *e)
{
	struct order *o = XADD(w->orders, w->n_orders, w->orders_size);

	*o = (struct order){ .kind = e->kind, .run = e->run.run, .node = e->node };
	if (e->kind == EFFECT_END_RUN) {
		o->cause = e->run.cause;
		o->grace_s = e->run.grace_s;
	}
}

static void collect(struct world *w)
{
	size_t n, i;
	const struct effect *v = core_effects(w->core, &n);

	for (i = 0; i < n; i++) {
		switch (v[i].kind) {
		case EFFECT_START_RUN:
		case EFFECT_END_RUN:
			note_order(w, &v[i]);
			break;
		case EFFECT_SUBMITTED:
			w->submitted = v[i].submitted.ids[0];
			break;
		case EFFECT_REPLY:
			w->submitted = 0;
			w->refusal = *v[i].error;
			break;
		case EFFECT_CLOSE_AGENT:
			world_fail(w, "node %s was refused: %s", w->conf->nodes[v[i].node].name,
			        v[i].text);
			break;
		default:
			break;
		}
	}
	core_effects_clear(w->core);
}

void world_apply(struct world *w, const struct core_event *event)
{
	struct error err;

	core_apply(w->core, event, w->now);
	collect(w);
	w->n_events++;
	if (w->o.check_every && w->n_events % w->o.check_every == 0 &&
	        core_check(w->core, &err) < 0)
		world_fail(w, "the core's own check: %s", err.text);
	/* What has ended leaves memory with the rows. */
	if (w->n_events - w->n_sealed >= SEAL_EVERY) {
		w->n_sealed = w->n_events;
		core_seal(w->core, NULL, NULL);
	}
}

static void carry_out(struct world *w)
{
	size_t i;

	/* What is carried out may bring more. */
	for (i = 0; i < w->n_orders; i++) {
		struct order o = w->orders[i];

		if (o.kind == EFFECT_START_RUN)
			world_run_start(w, &o);
		else
			world_run_stop(w, &o);
	}
	w->n_orders = 0;
}

void world_schedule(struct world *w)
{
	bool more;

	do {
		more = core_schedule(w->core, w->now, SLICE);
		collect(w);
		more |= w->n_orders > 0;
		carry_out(w);
	} while (more && !w->failed);
}

/* --- time ------------------------------------------------------------------------------------ */

usec_t world_now(const struct world *w)
{
	return w->now.mono - w->start.mono;
}

usec_t world_next(const struct world *w)
{
	usec_t timer = core_next_timer(w->core), next = WORLD_NEVER;

	if (timer < w->now.mono + FAR)
		next = timer > w->now.mono ? timer - w->start.mono : world_now(w);
	if (heap_first(w->ends) && (usec_t)heap_first_key(w->ends).a < next)
		next = (usec_t)heap_first_key(w->ends).a;
	return next;
}

bool world_runs(const struct world *w)
{
	return heap_count(w->ends);
}

void world_idle_to(struct world *w, usec_t now)
{
	w->now.mono = w->start.mono + now;
	w->now.wall = w->start.wall + now;
}

void world_to(struct world *w, usec_t now)
{
	measures_pass(&w->m, now);
	world_idle_to(w, now);
}

void world_ends(struct world *w)
{
	while (heap_first(w->ends) && heap_first_key(w->ends).a <= (uint64_t)world_now(w))
		world_run_ends(w, heap_first(w->ends));
	carry_out(w);
}

void world_timers(struct world *w)
{
	struct core_event e = { .kind = EV_CLOCK };
	unsigned n;

	for (n = 0; core_next_timer(w->core) <= w->now.mono && !w->failed; n++) {
		if (n == TIMER_TURNS)
			world_fail(w, "the core asks for the time again and again");
		world_apply(w, &e);
	}
	carry_out(w);
}

void world_results(struct world *w)
{
	const struct world_run *run;
	struct world_job *job;
	uint64_t id = 0;

	while (w->m.results && (job = idmap_next(w->jobs, id))) {
		id = job->id;
		for (run = job->runs; run; run = run->next)
			world_run_result(w, run, world_now(w));
	}
}

/* --- making ---------------------------------------------------------------------------------- */

static void run_moved(void *item, uint32_t index)
{
	((struct world_run *)item)->slot = index;
}

static void add_gpus(
        struct world_node *node, const struct conf_gpu_type *type, uint32_t number, uint32_t count)
{
	uint64_t size_mb =
	        type->mem_mb > type->mem_reserve_mb ? type->mem_mb - type->mem_reserve_mb : 0;

	while (count--)
		node->cards[node->n_gpus++] = (struct world_card){ .type = number,
			.memory_bursts = { .size_mb = size_mb } };
}

static void register_node(struct world *w, uint32_t index)
{
	const struct conf_node *conf = &w->conf->nodes[index];
	struct world_node *node = &w->nodes[index];
	struct core_event e = { .kind = EV_AGENT_UP };
	size_t g;

	node->cpus = conf->cpus ? conf->cpus : CLUSTER_CPUS;
	node->mem_mb = conf->mem_mb ? conf->mem_mb : CLUSTER_MEM_MB;
	for (g = 0; g < conf->n_gpus; g++)
		add_gpus(node, &w->conf->gpu_types[conf->gpus[g].type], conf->gpus[g].type,
		        conf->gpus[g].count);
	e.agent_up.node = index;
	e.agent_up.session = 1 + (uint64_t)index;
	e.agent_up.boot_id = "gsim";
	e.agent_up.incarnation = INCARNATION;
	e.agent_up.version = "gsim";
	e.agent_up.containment = CONTAIN_WORDS; /* all that can be demanded */
	e.agent_up.cpus = node->cpus;
	e.agent_up.mem_mb = node->mem_mb;
	e.agent_up.pretended = true;
	world_apply(w, &e);
}

static uint32_t *make_largest(const struct conf *conf)
{
	size_t types = conf->n_gpu_types, p, t;
	uint32_t *v = xcalloc(conf->n_partitions * (types + 1), sizeof(*v));

	for (p = 0; p < conf->n_partitions; p++) {
		for (t = 0; t <= types; t++)
			v[p * (types + 1) + t] = cluster_largest(
			        conf, (uint32_t)p, t < types ? (uint32_t)t : UINT32_MAX);
	}
	return v;
}

struct world *world_new(const struct conf *conf, const struct world_options *o, struct error *err)
{
	struct world *w = xcalloc(1, sizeof(*w));
	uint32_t i;

	w->conf = conf;
	w->o = *o;
	w->start = w->now = (struct clocks){ START_WALL, START_MONO };
	measures_init(&w->m, cluster_gpus(conf));
	for (i = 0; i < conf->n_nodes; i++)
		w->m.has_near |= conf->nodes[i].gpu_near.n > 0;
	w->ends = heap_new(run_moved);
	w->jobs = idmap_new();
	w->names = text_numbers_new();
	w->nodes = xcalloc(conf->n_nodes, sizeof(*w->nodes));
	w->largest = make_largest(conf);
	w->core = core_new(conf, o->seed);
	if (core_start(w->core, w->now, err) < 0) {
		world_free(w);
		return NULL;
	}
	for (i = 0; i < conf->n_nodes; i++)
		register_node(w, i);
	world_schedule(w);
	return w;
}

void world_free(struct world *w)
{
	uint64_t id = 0;
	struct world_job *job;

	if (!w)
		return;
	while ((job = idmap_next(w->jobs, id))) {
		id = job->id;
		idmap_remove(w->jobs, id);
		world_job_free(job);
	}
	core_free(w->core);
	heap_free(w->ends);
	idmap_free(w->jobs);
	text_numbers_free(w->names);
	measures_clear(&w->m);
	free(w->nodes);
	free(w->largest);
	free(w->orders);
	free(w);
}

const struct conf *world_conf(const struct world *w)
{
	return w->conf;
}

struct measures *world_measures(struct world *w)
{
	return &w->m;
}
