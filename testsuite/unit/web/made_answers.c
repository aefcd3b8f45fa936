/* made_answers.c - what the controller of a made cluster answers (made_cluster.h) */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "made_cluster.h"

#define USEC     INT64_C(1000000)
#define HOURS    UINT64_C(3600000000)
#define ARRAY(a) (sizeof(a) / sizeof((a)[0]))

int __wrap_ask_as(struct client *c, uid_t uid, const struct client_call *call,
        void (*again)(void *arg), struct error *err);

static int answer_why(const struct client_call *call, struct error *err)
{
	Gpusched__WhyResult r = GPUSCHED__WHY_RESULT__INIT;
	Gpusched__Job job = GPUSCHED__JOB__INIT;
	Gpusched__Why why = GPUSCHED__WHY__INIT;
	Gpusched__Blocker b[2], *blockers[] = { &b[0], &b[1] };
	Gpusched__Change change[2], *changes[] = { &change[0], &change[1] };
	Gpusched__GpuCount gpus = GPUSCHED__GPU_COUNT__INIT, *asked[] = { &gpus };

	r.now_time = clock_us(CLOCK_REALTIME);
	for (size_t i = 0; i < 2; i++) {
		gpusched__blocker__init(&b[i]);
		gpusched__change__init(&change[i]);
	}
	gpus.type = (char *)"h100";
	gpus.count = 8;
	job.gpus = asked;
	job.n_gpus = 1;
	job.cpus = 112;
	job.nodes_min = job.nodes_max = 1;
	job.constraint = (char *)HOSTILE;
	b[0].reason = (char *)"AssocGrpGRES";
	b[0].text = (char *)"vision: limit h100:32, holds 28, +8";
	b[0].clears = (char *)"4690 must end";
	b[0].clears_time = r.now_time + 2000 * USEC;
	b[1].reason = (char *)"Priority";
	b[1].text = (char *)HOSTILE;
	change[0].option = (char *)"--gpus=h100:4";
	change[0].effect = (char *)"on h07, within the limit (32 of 32)";
	change[1].option = (char *)HOSTILE;
	change[1].effect = (char *)HOSTILE;
	why.blockers = blockers;
	why.n_blockers = 2;
	why.changes = changes;
	why.n_changes = 2;
	why.tried = (char *)"shorter --time";
	why.position = 3;
	why.position_of = 17;
	why.planned_start_time = r.now_time + 3900 * USEC;
	why.planned_nodes = (char *)"h07";
	r.job = &job;
	r.why = &why;
	return call->on_chunk(&r.base, call->arg, err);
}

static void make_run(
        Gpusched__AcctRun *r, Gpusched__RunUsed *u, uint32_t attempt, int64_t start, int64_t end)
{
	static uint32_t gpus[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	gpusched__acct_run__init(r);
	gpusched__run_used__init(u);
	u->gpu_seen_us = 8 * HOURS;
	u->gpu_busy_us = 7 * HOURS;
	u->gpu_mem_peak_mb = 61000;
	r->attempt = attempt;
	r->node = (char *)"h01";
	r->state = end ? (char *)"ENDED" : (char *)"RUNNING";
	r->gpu_type = (char *)"h100";
	r->gpus = gpus;
	r->n_gpus = 8;
	r->start_time = start;
	r->end_time = end;
	r->gpu_us = 8 * HOURS;
	r->held_us = HOURS;
	r->cost = 20.5;
	r->cause = end ? (char *)"preempt" : (char *)"";
	r->detail = end ? (char *)HOSTILE : (char *)"";
	r->used = u;
}

static int answer_past(const struct client_call *call, struct error *err)
{
	const Gpusched__ListAcct *q = (const Gpusched__ListAcct *)call->request;
	Gpusched__AcctChunk chunk = GPUSCHED__ACCT_CHUNK__INIT;
	Gpusched__Acct a = GPUSCHED__ACCT__INIT, *jobs[] = { &a };
	Gpusched__RunUsed used = GPUSCHED__RUN_USED__INIT, ru[2];
	Gpusched__AcctRun r[2], *runs[] = { &r[0], &r[1] };
	int64_t now = clock_us(CLOCK_REALTIME);

	a.id = q->filter->n_ids ? q->filter->ids[0] : q->filter->tasks[0]->job;
	if (a.id < 4000)
		return error_set(err, ERR_NO_JOB, "job not known");
	a.name = (char *)HOSTILE;
	a.user = (char *)"ana";
	a.account = (char *)"vision";
	a.partition = (char *)"batch";
	a.state = a.id == MADE_PAST ? (char *)"COMPLETED" : (char *)"RUNNING";
	a.submit_time = now - 40000 * USEC;
	a.eligible_time = now - 36000 * USEC;
	make_run(&r[0], &ru[0], 1, now - 30000 * USEC, now - 21000 * USEC);
	make_run(&r[1], &ru[1], 2, now - 20000 * USEC, 0);
	if (a.id != MADE_WAITS) {
		a.first_start_time = r[0].start_time;
		a.runs = runs;
		a.n_runs = 2;
	}
	used.gpu_seen_us = 16 * HOURS;
	used.gpu_busy_us = 4 * HOURS;
	used.gpu_idle_us = 9 * HOURS;
	used.gpu_mem_peak_mb = 61000;
	used.energy_mj = UINT64_C(9000000000);
	a.used = &used;
	a.gpu_us = 16 * HOURS;
	a.cost = 41;
	a.elapsed_s = 3000;
	a.time_limit_s = 86400;
	a.mem_mb = 400000;
	a.max_rss_kb = 1000000;
	chunk.jobs = jobs;
	chunk.n_jobs = 1;
	chunk.currency = (char *)"EUR";
	return call->on_chunk(&chunk.base, call->arg, err);
}

/* A line for each of these accounts, or for each day, or for both. */
static int answer_report(const struct client_call *call, struct error *err)
{
	static const char *const accounts[] = { "research", "speech", HOSTILE };
	const Gpusched__Report *q = (const Gpusched__Report *)call->request;
	bool days = !strcmp(q->by[q->n_by - 1], "day");
	Gpusched__ReportChunk chunk = GPUSCHED__REPORT_CHUNK__INIT;
	Gpusched__ReportLine line = GPUSCHED__REPORT_LINE__INIT, *lines[] = { &line };
	Gpusched__ReportType type = GPUSCHED__REPORT_TYPE__INIT, *types[] = { &type };
	int64_t now = clock_us(CLOCK_REALTIME);
	char day[20], *keys[2];

	chunk.lines = lines;
	chunk.n_lines = 1;
	chunk.currency = (char *)"EUR";
	for (int d = 0; d < (days ? 7 : 1); d++)
		for (size_t i = 0; i < (days && q->n_by == 1 ? 1 : ARRAY(accounts)); i++) {
			time_t s = (time_t)(now / USEC) - d * 86400;
			struct tm tm;

			strftime(day, sizeof(day), "%Y-%m-%d", localtime_r(&s, &tm));
			keys[0] = days && q->n_by == 1 ? day : (char *)accounts[i];
			keys[1] = day;
			line.keys = keys;
			line.n_keys = q->n_by;
			line.jobs = 120 + i;
			line.gpu_us = (uint64_t)(900 + 130 * d % 400 + 77 * i) * HOURS;
			line.gpu_seen_us = line.gpu_us;
			line.gpu_busy_us = line.gpu_us / (i + 2);
			line.gpu_idle_us = line.gpu_us / 10;
			line.started = 100;
			line.wait_p50_s = 40 + 30 * (uint64_t)d;
			line.wait_p95_s = 4000 - 300 * (uint64_t)d;
			line.wait_max_s = 90000;
			line.used = 0.3;
			line.cost = 2222.22;
			if (call->on_chunk(&chunk.base, call->arg, err) < 0)
				return -1;
		}
	type.type = (char *)"h100";
	type.gpu_us = 3000 * HOURS;
	type.capacity_us = 5000 * HOURS;
	line.n_keys = 0;
	chunk.types = types;
	chunk.n_types = 1;
	return call->on_chunk(&chunk.base, call->arg, err);
}

int __wrap_ask_as(struct client *c, uid_t uid, const struct client_call *call,
        void (*again)(void *arg), struct error *err)
{
	(void)c, (void)uid;
	again(call->arg); /* as if the connection had broken once */
	if (made_silent)
		return error_set(err, ERR_UNREACHABLE, "the controller does not answer");
	switch (call->type) {
	case GPUSCHED__MSG_TYPE__MSG_JOB_WHY:
		return answer_why(call, err);
	case GPUSCHED__MSG_TYPE__MSG_LIST_ACCT:
		return answer_past(call, err);
	default:
		return answer_report(call, err);
	}
}
