/* avoid_bad_nodes.c - see avoid_bad_nodes.h */
#include "ctld/core/services/avoid_bad_nodes.h"

#include <stdio.h>
#include <string.h>

#include "ctld/core/place/ledger.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/job_partitions.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/service.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/node_state.h"
#include "ctld/core/sched/sched.h"

#define PATIENCE (60 * USEC_PER_S) /* so long may a service be without a replica */

/* Those that are avoided, by index in the configuration. */
struct avoided {
	uint32_t v[SERVICE_AVOIDS_MAX];
	size_t n;
};

static bool is_among(const struct avoided *a, uint32_t node)
{
	size_t i = 0;

	while (i < a->n && a->v[i] != node)
		i++;
	return i < a->n;
}

/* Can a replica of this generation start on a node that is not avoided, now or when others end? */
static bool could_elsewhere(const struct core *core, const struct job *own, const struct avoided *a)
{
	const struct job_info *i = job_info(own);
	struct job_choice choice;
	uint32_t k, p, g;

	for (k = 0; k < job_choices(i); k++) {
		struct ask ask = { .gpus = i->gpus };

		job_choice(i, k, &choice);
		ask.cpus = choice.cpus;
		ask.mem_mb = choice.mem_mb;
		p = sched_partition(core->sched, choice.partition);
		for (size_t n = 0; p != CONF_NONE && n < core->conf->partitions[p].n_nodes; n++) {
			uint32_t node = core->conf->partitions[p].nodes[n];

			if (is_among(a, node) || !ledger_accepts(core->ledger, node))
				continue;
			for (g = 0; g < (i->gpus->n ? i->gpus->n : 1); g++)
				if (ledger_could_fit_part(core->ledger, node, &ask, g, TYPE_ANY))
					return true;
		}
	}
	return false;
}

/* The event by which people learn of it. */
static void say(struct core *core, struct service *s, struct service_avoid *a)
{
	char text[256];

	if (a->said)
		return;
	service_set_said(core->services, s, a);
	snprintf(text, sizeof(text),
	        "%s prefers other nodes to %.64s for %d min: replicas there failed or were unready "
	        "%u times in a row",
	        service_info(s)->name, a->node, SERVICE_AVOID_S / 60, a->times);
	audit_note(
	        core, "service.avoid", NULL, service_info(s)->gens[GEN_PRESENT].job, a->node, text);
}

/* Returns when the first of them is forgotten (mono). */
static usec_t collect(struct core *core, struct service *s, struct avoided *out)
{
	struct service_link *l = service_link(s);
	usec_t due = INT64_MAX;

	service_expire_avoids(core->services, s, core->now.wall);
	for (uint32_t i = 0; i < l->n_avoids; i++) {
		struct service_avoid *a = &l->avoids[i];
		const struct node *node = nodes_find(core->nodes, a->node);
		usec_t until = core->now.mono + (a->until - core->now.wall);

		due = until < due ? until : due;
		if (!service_avoids(a) || !node || node_link_of(node)->index == NODE_LEFT)
			continue;
		say(core, s, a);
		out->v[out->n++] = node_link_of(node)->index;
	}
	return due;
}

/* The scheduler looks again at nodes that may be used again. */
static void apply(struct core *core, const struct job *own, const struct avoided *a)
{
	const struct request *r = job_info(own)->gpus;
	struct avoided free_again = { .n = 0 };
	bool same = true;

	for (uint32_t i = 0; i < a->n; i++)
		same &= request_avoids(r, a->v[i]);
	for (uint32_t i = 0; r->avoided && i < core->conf->n_nodes; i++) {
		if (request_avoids(r, i) && !is_among(a, i) && free_again.n < SERVICE_AVOIDS_MAX)
			free_again.v[free_again.n++] = i;
	}
	if (same && !free_again.n)
		return;
	requests_avoid(core->requests, r, a->v, a->n);
	core->ledger_seen++;
	for (uint32_t i = 0; i < free_again.n; i++)
		node_settle(core, nodes_at(core->nodes, free_again.v[i]));
}

usec_t avoid_step(struct core *core, struct service *s, uint32_t alive)
{
	struct service_link *l = service_link(s);
	struct avoided avoided = { .n = 0 }, none = { .n = 0 };
	usec_t due = INT64_MAX, lift;

	if (alive || !service_info(s)->wanted)
		l->without_since = 0;
	else if (!l->without_since)
		l->without_since = core->now.mono;
	if (!l->n_avoids)
		return INT64_MAX;
	/* Goes on although the list may be empty now, so that the node of the last one is freed. */
	due = collect(core, s, &avoided);
	lift = l->without_since ? l->without_since + PATIENCE : INT64_MAX;
	if (lift <= core->now.mono)
		avoided = none;
	else if (avoided.n && lift < due)
		due = lift;
	for (int g = 0; g < GEN_COUNT; g++) {
		const struct job *own = l->jobs[g];

		if (!own)
			continue;
		apply(core, own,
		        avoided.n && could_elsewhere(core, own, &avoided) ? &avoided : &none);
	}
	return due;
}
