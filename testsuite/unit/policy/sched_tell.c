/* sched_tell.c - see sched_tell.h */
#include "testsuite/unit/policy/sched_tell.h"

#include <stdio.h>
#include <string.h>

#include "ctld/core/place/ledger.h"
#include "ctld/core/plan/plan.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/class.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/util/heap.h"

#define ID(j) ((unsigned long long)(j)->id)

static double story_time(usec_t mono)
{
	return mono >= PLAN_FAR ? -1 : (double)(mono - 5000 * LAB_SECOND) / 1e6;
}

/* What the core takes the end of a run to be. */
static usec_t core_end(const struct lab *lab, const struct lab_job *j, const struct lab_run *r)
{
	size_t n, i;
	const struct run_snapshot *v =
	        plan_snapshots(sched_view(lab->w->core->sched)->plan, r->node, &n);

	for (i = 0; i < n; i++) {
		if (v[i].job == j->id)
			return v[i].end;
	}
	return PLAN_FAR;
}

/* Of each GPU. */
static void tell_part(uint32_t milli, uint64_t mem_mb)
{
	if (milli || mem_mb)
		printf(" parts of %u and %llum", milli, (unsigned long long)mem_mb);
}

void tell_order(const struct lab *lab)
{
	size_t cursor = 0, i, k;
	struct class *class;

	printf("   ---- %.3f %s\n", story_time(lab->w->now.mono), lab->doing);
	while ((class = sched_each_class(lab->w->core->sched, &cursor))) {
		const struct class_link *l = class_link_of(class);
		const struct reservation *e = l->reservation;

		printf("    class of %llu: key %016llx %016llx, verdict %d%s%s%s",
		        (unsigned long long)job_id(class_head(class)), (unsigned long long)l->key.a,
		        (unsigned long long)l->key.b, (int)l->last.verdict,
		        class_ready(class) ? ", awake" : "", l->broken ? ", broken: " : "",
		        l->broken ? l->broken : "");
		for (i = 0; e && i < e->places.n; i++) {
			const struct place *p = &e->places.v[i];

			if (!i)
				printf(", %s %.3f to %.3f", e->preempts ? "claims" : "planned",
				        story_time(e->start), story_time(e->end));
			printf(" n%u:%dx%u,%uc,%llum", p->node, __builtin_popcountll(p->gpus),
			        p->type, p->cpus, (unsigned long long)p->mem_mb);
			tell_part(p->share.milli, p->share.mem_mb);
		}
		printf("\n");
	}
	for (i = 0; i < lab->n_jobs; i++) {
		for (k = 0; k < lab->jobs[i].n_runs; k++) {
			const struct lab_run *r = &lab->jobs[i].runs[k];

			if (r->over)
				continue;
			printf("    run of %llu on n%u: GPUs %llx, %uc, until %.3f (%.3f)%s",
			        ID(&lab->jobs[i]), r->node, (unsigned long long)r->gpus, r->cpus,
			        story_time(rules_end(lab, &lab->jobs[i], r)),
			        story_time(core_end(lab, &lab->jobs[i], r)),
			        r->told ? ", told to end" : "");
			tell_part(r->share.milli, r->share.mem_mb);
			if (r->share.charge)
				printf(" of %u%s", lab->jobs[i].uid,
				        lab->w->conf->nodes[r->node].share_users == CONF_USERS_ONE
				                ? ", alone"
				                : "");
			printf("\n");
		}
	}
}

void tell_step(const struct lab *lab)
{
	size_t i;

	for (i = 0; i < lab->n_nodes && lab->disturbed; i++)
		printf("%s %zu%s%s", i ? "" : lab->doing, i, lab->nodes[i].heard ? "" : "?",
		        lab->nodes[i].drained ? "-" : "");
	if (lab->disturbed)
		printf("\n");

	for (i = 0; i < lab->n_jobs; i++) {
		const struct lab_job *j = &lab->jobs[i];

		if (j->before.state == j->now.state && j->before.planned == j->now.planned &&
		        !strcmp(j->before.reason, j->now.reason))
			continue;
		printf("%10.3f %s: job %llu p%u %s %s %u/%u*%u%s %uc %llum t%u nice%lld lic%u%s: "
		       "%s%s on %u (%zu), planned %.3f\n",
		        (double)(lab->w->now.mono - 5000 * LAB_SECOND) / 1e6, lab->doing, ID(j),
		        j->partition, lab->w->conf->accounts[j->account].name,
		        lab->w->conf->qos[j->qos].name, j->n_wants ? j->wants[0].type : 0,
		        j->n_wants ? j->wants[0].count : 0, j->nodes_min, j->n_wants > 1 ? "|" : "",
		        j->cpus, (unsigned long long)j->mem_mb, j->time_s,
		        (long long)j->now.priority, j->licences, j->exclusive ? " exclusive" : "",
		        (const char *const[]){ "waits ", "holds", "ended" }[j->now.state],
		        j->now.reason, j->runs[0].node, j->n_runs,
		        j->now.planned ? (double)(j->now.planned - 5000 * LAB_SECOND) / 1e6 : -1);
		if (j->part.milli || j->part.mem_mb)
			printf("           its part: %u of each, %llum, for %u\n", j->part.milli,
			        (unsigned long long)j->part.mem_mb, j->uid);
	}
	for (i = 0; i < lab->n_stops; i++)
		printf("           stopped: %llu for %llu, cause %d\n",
		        (unsigned long long)lab->stops[i].run.job,
		        (unsigned long long)lab->stops[i].by_job, lab->stops[i].cause);
}
