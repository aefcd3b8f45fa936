/* gang_world.h - a gang in a core_world.h: its ranks, what their nodes say of them
 *
 * Include behind cmocka.h.
 */
#ifndef TESTSUITE_UNIT_GANG_WORLD_H
#define TESTSUITE_UNIT_GANG_WORLD_H

#include <string.h>

#include "testsuite/unit/lib/core_world.h"

static inline struct run_id rank_of(struct world *w, uint64_t job, uint32_t rank)
{
	return (struct run_id){ job, 0, world_view(w, job).attempt, rank };
}

static inline struct run_view run_of(struct world *w, uint64_t job, uint32_t rank)
{
	struct run_view v = { .state = "none", .node = "", .nodes = "", .detail = "" };

	core_run_view(w->core, rank_of(w, job, rank), w->now, &v);
	return v;
}

static inline uint32_t node_of(struct world *w, uint64_t job, uint32_t rank)
{
	const char *name = run_of(w, job, rank).node;
	uint32_t n;

	for (n = 0; n < w->conf->n_nodes; n++) {
		if (!strcmp(w->conf->nodes[n].name, name))
			return n;
	}
	fail_msg("rank %u of job %llu is nowhere", rank, (unsigned long long)job);
	return 0;
}

static inline struct run_report report_of(
        struct world *w, uint64_t job, uint32_t rank, enum run_report_state state)
{
	struct run_report r = world_report(rank_of(w, job, rank), state);
	struct run_view v = run_of(w, job, rank);

	r.start_time = v.start_time ? v.start_time : w->now.wall;
	r.nodes = v.n_nodes;
	r.gpus = v.gpus;
	return r;
}

static inline void starts(struct world *w, uint64_t job, uint32_t rank)
{
	world_say(w, node_of(w, job, rank), report_of(w, job, rank, REPORT_RUNNING));
}

static inline void ends(
        struct world *w, uint64_t job, uint32_t rank, enum end_cause cause, uint32_t code,
        uint32_t sig)
{
	struct run_report r = report_of(w, job, rank, REPORT_ENDED);

	r.cause = cause;
	r.exit_code = code;
	r.exit_signal = sig;
	r.end_time = w->now.wall;
	r.elapsed_us = (uint64_t)(r.end_time - r.start_time);
	world_say(w, node_of(w, job, rank), r);
}

static inline void never(struct world *w, uint64_t job, uint32_t rank)
{
	struct run_report r = world_report(rank_of(w, job, rank), REPORT_NEVER);

	r.detail = "no such user";
	world_say(w, node_of(w, job, rank), r);
}

static inline struct submit_job gang_job(struct world *w, const char *gpus, uint32_t nodes)
{
	struct submit_job job = world_job(w, gpus);

	job.nodes_min = nodes;
	job.gpus_per_node = true;
	return job;
}

static inline uint64_t submit_gang(struct world *w, const char *gpus, uint32_t nodes)
{
	struct submit_job job = gang_job(w, gpus, nodes);
	uint64_t id = world_submit_job(w, &job, 1000);

	if (!id)
		fail_msg("refused: %s", w->error.text);
	return id;
}

/* Three nodes of four GPUs, a gang on two of them; all of it runs. */
static inline struct world *running(uint64_t *id, bool requeue)
{
	struct world *w = world_simple(3, "h100:4");
	struct submit_job job = gang_job(w, "h100:4", 2);

	world_register_all(w);
	job.requeue = requeue;
	*id = world_submit_job(w, &job, 1000);
	starts(w, *id, 0);
	starts(w, *id, 1);
	assert_string_equal(world_state(w, *id), "RUNNING");
	world_clear(w);
	return w;
}

/* The one EndRun since world_clear() is for that rank, because of a peer. */
static inline void only_told(struct world *w, uint64_t job, uint32_t rank, bool requeue)
{
	const struct effect *e = world_effect(w, EFFECT_END_RUN);
	struct run_id id = rank_of(w, job, rank);

	assert_int_equal(world_effect_count(w, EFFECT_END_RUN), 1);
	assert_true(run_id_equal(&e->run.run, &id));
	assert_int_equal(e->run.cause, END_PEER);
	assert_int_equal(e->run.requeue, requeue);
	assert_int_equal(e->node, node_of(w, job, rank));
}

#endif
