/* controller_services.c - what ctld/rpc does with services, and what the simulated controller says
 * of them, as facts; see controller_impl.h */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/services/services.h"
#include "ctld/wire/convert.h"
#include "testsuite/sim/controller_impl.h"

/* --- requests -------------------------------------------------------------------------------- */

int sim_take_service_control(struct sim_controller *c, const struct peer *peer,
        const Gpusched__ServiceControl *m, struct error *err)
{
	struct core_event ev = { .caller = sim_caller(peer) };

	if (wire_service_control(m, &ev, err) < 0)
		return -1;
	c->undoing = ev.service.verb == SERVICE_UNDO;
	core_apply(c->core, &ev, engine_now(c->o.engine));
	return 0;
}

static void tell_endpoints(const struct sim_controller *c, const Gpusched__Service *m)
{
	for (size_t i = 0; i < m->n_replicas; i++)
		if (m->replicas[i]->serves)
			checker_say(c->o.checker, "serves %" PRIu64 " %u %u", m->replicas[i]->job,
			        m->replicas[i]->slot, m->replicas[i]->attempt);
}

/* Of one service. */
int sim_take_list_services(struct sim_controller *c, const struct peer *peer,
        const Gpusched__ListServices *m, struct error *err)
{
	const struct service *s = m->n_names ? core_service(c->core, m->names[0]) : NULL;
	Gpusched__ServiceChunk chunk = GPUSCHED__SERVICE_CHUNK__INIT;
	Gpusched__Service *one[1];

	if (!s)
		return error_set(err, ERR_NO_SERVICE, "there is no such service");
	arena_reset(c->out, WIRE_ARENA_CAP);
	one[0] = wire_service(c->core, s, true, c->out);
	tell_endpoints(c, one[0]);
	chunk.services = one;
	chunk.n_services = 1;
	sim_put(c, peer->link, core_change(c->core), GPUSCHED__MSG_TYPE__MSG_SERVICE_CHUNK, &chunk);
	sim_reply(c, peer->link, core_change(c->core), NULL);
	return 0;
}

/* --- what it has ----------------------------------------------------------------------------- */

static bool is_lost(const struct run *run)
{
	const struct node *node = run_link_of(run)->node;

	return node && node_link_of(node)->hearing == NODE_UNKNOWN;
}

static void tell_slots(const struct sim_controller *c)
{
	size_t n;
	struct run **runs = runs_sorted(c->core->runs, &n);

	for (size_t i = 0; i < n; i++) {
		const struct run_info *info = run_info(runs[i]);
		bool ready = run_replica(runs[i])->health == HEALTH_READY &&
		             info->state == RUN_RUNNING && info->end_wanted == END_NONE;

		if (!run_over(runs[i]) && info->state != RUN_ORPHAN)
			checker_say(c->o.checker, "slot %" PRIu64 " %u %u %d %d", info->id.job,
			        info->id.task, info->id.attempt, is_lost(runs[i]), ready);
	}
	free(runs);
}

static void tell_service(const struct sim_controller *c, const struct service *s)
{
	const struct service_info *i = service_info(s);

	checker_say(c->o.checker, "isservice %s %u %u %u", i->name, i->wanted, i->policy.surge,
	        i->policy.kept);
	for (int g = 0; g < GEN_COUNT; g++)
		if (i->gens[g].job)
			checker_say(c->o.checker, "generation %s %" PRIu64, i->name,
			        i->gens[g].job);
}

static void tell_look(struct sim_controller *c)
{
	const struct service *s = core_service_after(c->core, NULL);

	for (; s; s = core_service_after(c->core, service_info(s)->name))
		tell_service(c, s);
	tell_slots(c);
	checker_say(c->o.checker, "slots");
}

void sim_controller_tell_services(struct sim_controller *c)
{
	const struct service *s = core_service_after(c->core, NULL);

	if (!c->o.services)
		return;
	tell_look(c);
	arena_reset(c->out, WIRE_ARENA_CAP);
	for (; s; s = core_service_after(c->core, service_info(s)->name))
		tell_endpoints(c, wire_service(c->core, s, true, c->out));
}

/* --- orders ---------------------------------------------------------------------------------- */

void sim_service_start(struct sim_controller *c, struct run_id run)
{
	(void)run;
	c->ordered = c->o.services;
}

/* Decided in this tick: an order of before is sent again after a node has registered. */
void sim_service_end(struct sim_controller *c, const struct effect *f)
{
	const struct run *run = runs_find(c->core->runs, f->run.run);
	bool own = f->run.cause == END_SCALE || f->run.cause == END_ROLL ||
	           f->run.cause == END_PREEMPT;

	if (!own || !run || c->undoing || c->repeating ||
	        run_replica(run)->health != HEALTH_READY || is_lost(run))
		return;
	c->ordered = true;
	checker_say(c->o.checker, "sheds %" PRIu64 " %u %u", f->run.run.job, f->run.run.task,
	        f->run.run.attempt);
}

void sim_services_ticked(struct sim_controller *c)
{
	if (c->ordered)
		tell_look(c);
	c->ordered = c->undoing = c->repeating = false;
}

/* --- what is committed ----------------------------------------------------------------------- */

void sim_service_row(struct sim_controller *c, const struct row *row)
{
	const struct value *v = row->v;
	struct kept_run *k;

	if (!c->o.services || row->table != TABLE_RUN)
		return;
	k = xcalloc(1, sizeof(*k));
	k->id = (struct run_id){ (uint64_t)v[COL_RUN_job].i, (uint32_t)v[COL_RUN_task].i,
		(uint32_t)v[COL_RUN_attempt].i, (uint32_t)v[COL_RUN_rank].i };
	k->over = row->change != ROW_PUT || v[COL_RUN_end_time].i;
	k->ending = k->over || v[COL_RUN_end_wanted].i;
	k->next = c->kept;
	c->kept = k;
}

void sim_services_committed(struct sim_controller *c, bool lost)
{
	while (c->kept) {
		struct kept_run *k = c->kept;

		c->kept = k->next;
		if (!lost && !k->id.rank)
			checker_say(c->o.checker, "keptrun %" PRIu64 " %u %u %d %d", k->id.job,
			        k->id.task, k->id.attempt, k->ending, k->over);
		free(k);
	}
}
