/* service_view.c - the replicas of a service, as their records say; and what the service is like
 *
 * Nothing is changed here. A slot has a record of its own from its first start on (array.h); slots
 * that never ran stand under the array parent and are no replicas.
 */
#include "ctld/core/services/services.h"

#include <stdio.h>
#include <string.h>

#include "common/base/each.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/job_partitions.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/services/rolling_update.h"
#include "ctld/core/util/idmap.h"

#define X(sym, name) [sym] = name,
static const char *const replica_names[] = { REPLICA_STATES(X) };
static const char *const service_names[] = { SERVICE_STATES(X) };
#undef X

const char *replica_state_name(enum replica_state state)
{
	return replica_names[state];
}

const char *service_state_name(enum service_state state)
{
	return service_names[state];
}

static enum replica_state state_of(const struct job *job, const struct run *run)
{
	const struct run_replica *r = run_replica(run);

	switch ((enum job_state)job_info(job)->state) {
	case JOB_PENDING:
		return REPLICA_PENDING;
	case JOB_COMPLETING:
		return REPLICA_DRAINING;
	case JOB_CONFIGURING:
		return REPLICA_CONFIGURING;
	default:
		break;
	}
	if (r->health == HEALTH_READY)
		return REPLICA_READY;
	return r->ready_time ? REPLICA_UNREADY : REPLICA_LOADING;
}

static void fill(struct replica *r, const struct job *job, enum generation_role role)
{
	const struct run *run = job_info(job)->state == JOB_PENDING ? NULL : job_run(job);
	const struct node *node = run ? run_link_of(run)->node : NULL;

	*r = (struct replica){ .job = job, .run = run, .slot = job_task(job), .role = role };
	r->state = run ? state_of(job, run) : REPLICA_PENDING;
	r->lost = node && node_link_of(node)->hearing == NODE_UNKNOWN;
	r->serves = r->state == REPLICA_READY && !r->lost &&
	            run_info(run)->state == RUN_RUNNING && run_info(run)->end_wanted == END_NONE &&
	            !run_past(run)->suspend_time;
}

bool service_each(const struct service *s, struct replica_walk *at, struct replica *r)
{
	for (; at->role < GEN_COUNT; at->role++, at->part = 0) {
		const struct job *own = service_link_of(s)->jobs[at->role];
		const struct array *a = own ? job_array(own) : NULL;
		const struct job *part = a ? idmap_next(a->parts, at->part) : NULL;

		while (part && (job_state_ended((enum job_state)job_info(part)->state) ||
		                       job_tasks(part)))
			part = idmap_next(a->parts, job_info(part)->part);
		if (!part)
			continue;
		at->part = job_info(part)->part;
		fill(r, part, (enum generation_role)at->role);
		return true;
	}
	return false;
}

uint32_t services_in_reserve(const struct core *core, const char *partition, uint32_t most)
{
	const struct service *s = most ? services_next(core->services, NULL) : NULL;
	struct job_choice choice;
	uint32_t n = 0, k;

	for (; s; s = services_next(core->services, service_info(s)->name)) {
		for (int g = 0; g < GEN_COUNT; g++) {
			const struct job *own = service_link_of(s)->jobs[g];

			for (k = 0; own && k < job_choices(job_info(own)); k++) {
				job_choice(job_info(own), k, &choice);
				if (!strcmp(choice.partition, partition))
					n += array_in_reserve(job_array(own));
			}
		}
	}
	return n < most ? n : most;
}

/* --- the state ------------------------------------------------------------------------------- */

static struct service_counts sum_of(const struct service *s)
{
	const struct service_link *l = service_link_of(s);
	struct service_counts sum = { 0 };

	for (int g = 0; g < GEN_COUNT; g++) {
		const struct service_counts *c = &l->counts[g];

		ADD_FIELDS(&sum, c, ready, loading, unready, draining, lost, backing_off);
	}
	return sum;
}

static enum service_state rolling(const struct service *s, char *text, size_t size)
{
	const struct service_info *i = service_info(s);
	const struct service_counts *next = &service_link_of(s)->counts[GEN_NEXT];

	snprintf(text, size, "generation %u takes over from %u: %u of %u READY%s",
	        i->gens[GEN_NEXT].number, i->gens[GEN_PRESENT].number, next->ready, i->wanted,
	        next->alive + next->backing_off ? "" : "; its next replica waits for room");
	return SERVICE_ROLLING;
}

enum service_state service_state(
        const struct core *core, const struct service *s, char *text, size_t size)
{
	const struct service_info *i = service_info(s);
	struct service_counts n = sum_of(s);

	(void)core;
	snprintf(text, size, "%s", "");
	if (i->stopping) {
		snprintf(text, size, "it ends: %u replicas are draining", n.draining);
		return SERVICE_STOPPED;
	}
	if (i->paused) {
		snprintf(text, size, "gserve resume %s", i->name);
		return SERVICE_PAUSED;
	}
	if (i->gens[GEN_NEXT].job)
		return rolling(s, text, size);
	if (!i->wanted) {
		snprintf(text, size, "no replica is wanted: %.180s", i->decision);
		return SERVICE_IDLE;
	}
	if (!n.ready && n.backing_off) {
		snprintf(text, size, "%u of its replicas failed and wait to be started again",
		        n.backing_off);
		return SERVICE_FAILING;
	}
	if (!n.ready && !n.unready) {
		snprintf(text, size, "%u loading, %u of %u wait for room", n.loading,
		        i->wanted > n.loading ? i->wanted - n.loading : 0, i->wanted);
		return SERVICE_WAKING;
	}
	if (n.ready < i->wanted) {
		snprintf(text, size, "%u of %u READY: %u loading, %u unready, %u on nodes that do not "
		                     "answer, %u wait",
		        n.ready, i->wanted, n.loading, n.unready, n.lost,
		        i->wanted > n.ready + n.loading + n.unready
		                ? i->wanted - n.ready - n.loading - n.unready
		                : 0);
		return n.ready ? SERVICE_DEGRADED : SERVICE_FAILING;
	}
	snprintf(text, size, "%s", i->trouble);
	return SERVICE_SERVING;
}
