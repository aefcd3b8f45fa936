/* answers.c - see answers.h */
#include "testsuite/sim/answers.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/net/msg.h"
#include "ctld/rpc/call/answer_parts.h"
#include "ctld/wire/answer_frame.h"
#include "ctld/wire/convert.h"

/* Each job is told so often, as if there were as many more: a list is more than one frame takes. */
#define COPIES 6
#define WHYS   4 /* jobs whose reasons are told with each list: they take time */

struct answers {
	struct core *core;
	const struct conf *conf;
	struct clocks now;
	struct arena *arena;
	unsigned type;
	size_t parts;
};

static void measure(struct answers *a, unsigned type, const ProtobufCMessage *m)
{
	size_t len = protobuf_c_message_get_packed_size(m);
	struct error err;

	if (answer_check(type, len, &err) < 0) {
		fprintf(stderr, "I27: an answer does not fit: a %s of %zu bytes: %s\n",
		        msg_name(type), len, err.text);
		abort();
	}
	a->parts++;
}

static void on_part(void *to, const ProtobufCMessage *chunk)
{
	struct answers *a = to;

	measure(a, a->type, chunk);
}

static struct part begin(struct answers *a, unsigned type, ProtobufCMessage *chunk, bool whole)
{
	struct part part = {
		.chunk = chunk, .arena = a->arena, .whole = whole, .send = on_part, .to = a
	};

	arena_reset(a->arena, WIRE_ARENA_CAP);
	a->type = type;
	part_begin(&part);
	return part;
}

static void list_jobs(struct answers *a, bool whole)
{
	Gpusched__JobChunk chunk = GPUSCHED__JOB_CHUNK__INIT;
	struct part part = begin(a, GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, &chunk.base, whole);
	struct job_view view;
	Gpusched__Job *m;

	for (unsigned copy = 0; copy < COPIES; copy++)
		for (uint64_t after = 0; core_job_next(a->core, after, a->now, &view);
		        after = view.ref) {
			m = wire_job(&view, a->arena);
			wire_job_runs(a->core, a->now, view.ref, m, a->arena);
			part_add(&part, &m->base);
		}
	part_end(&part);
}

/* Those that run, of names as their owners have chosen them. */
static void list_steps(struct answers *a)
{
	Gpusched__StepChunk chunk = GPUSCHED__STEP_CHUNK__INIT;
	struct part part = begin(a, GPUSCHED__MSG_TYPE__MSG_STEP_CHUNK, &chunk.base, false);
	const struct step_report *step;
	struct job_view view;

	for (uint64_t after = 0; core_job_next(a->core, after, a->now, &view); after = view.ref)
		for (int64_t n = -1; (step = core_step_next(a->core, view.ref, n)); n = step->step)
			part_add(&part, &wire_step(&view, step, a->now, a->arena)->base);
	part_end(&part);
}

static void list_prios(struct answers *a)
{
	Gpusched__PrioChunk chunk = GPUSCHED__PRIO_CHUNK__INIT;
	struct part part = begin(a, GPUSCHED__MSG_TYPE__MSG_PRIO_CHUNK, &chunk.base, false);
	struct prio_view prio;
	struct job_view view;

	for (uint64_t after = 0; core_job_next(a->core, after, a->now, &view); after = view.ref)
		if (core_job_prio(a->core, view.ref, a->now, &prio))
			part_add(&part, &wire_prio(&view, &prio, a->arena)->base);
	part_end(&part);
}

static void tell_why(struct answers *a)
{
	struct job_view view;
	struct job_why why;
	unsigned n = 0;

	arena_reset(a->arena, WIRE_ARENA_CAP);
	for (uint64_t after = 0; n < WHYS && core_job_next(a->core, after, a->now, &view);
	        after = view.ref) {
		if (!core_job_why(a->core, view.ref, a->now, &why))
			continue;
		n++;
		measure(a, GPUSCHED__MSG_TYPE__MSG_WHY_RESULT,
		        &wire_why_result(&view, &why, a->conf, a->now, a->arena)->base);
	}
}

static void add_devices(struct answers *a, uint32_t node, Gpusched__Node *m)
{
	struct gpu_view view;

	m->devices = arena_alloc(a->arena, CONF_MAX_GPUS_PER_NODE * sizeof(*m->devices));
	for (uint32_t i = 0; core_gpu_view(a->core, node, i, &view); i++)
		m->devices[m->n_devices++] =
		        wire_node_gpu(a->core, node, &view, "operator", a->arena);
}

static void list_nodes(struct answers *a, bool whole)
{
	Gpusched__NodeChunk chunk = GPUSCHED__NODE_CHUNK__INIT;
	struct part part = begin(a, GPUSCHED__MSG_TYPE__MSG_NODE_CHUNK, &chunk.base, whole);
	struct node_view view;
	Gpusched__Node *m;

	for (uint32_t node = 0; core_node_view(a->core, node, a->now, &view); node++) {
		m = wire_node(a->core, a->conf, node, &view, "operator", a->arena);
		add_devices(a, node, m);
		part_add(&part, &m->base);
	}
	part_end(&part);
}

static void list_partitions(struct answers *a)
{
	Gpusched__PartitionChunk chunk = GPUSCHED__PARTITION_CHUNK__INIT;
	struct part part = begin(a, GPUSCHED__MSG_TYPE__MSG_PARTITION_CHUNK, &chunk.base, false);
	struct partition_view view;

	for (uint32_t p = 0; core_partition_view(a->core, p, &view); p++)
		part_add(&part, &wire_partition(&view, a->arena)->base);
	part_end(&part);
}

static void list_shares(struct answers *a)
{
	Gpusched__ShareChunk chunk = GPUSCHED__SHARE_CHUNK__INIT;
	struct part part = begin(a, GPUSCHED__MSG_TYPE__MSG_SHARE_CHUNK, &chunk.base, false);
	struct share_view view;
	size_t cursor = 0;

	while (core_share_next(a->core, &cursor, &view))
		part_add(&part, &wire_share(a->core, &view, a->arena)->base);
	part_end(&part);
}

size_t sim_answers_fit(
        struct core *core, const struct conf *conf, struct clocks now, struct arena *arena)
{
	struct answers a = { .core = core, .conf = conf, .now = now, .arena = arena };

	for (int whole = 0; whole <= 1; whole++) {
		list_jobs(&a, whole);
		list_nodes(&a, whole);
	}
	list_steps(&a);
	list_prios(&a);
	list_partitions(&a);
	list_shares(&a);
	tell_why(&a);
	return a.parts;
}
