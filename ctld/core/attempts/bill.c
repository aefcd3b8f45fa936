/* bill.c - what runs used is billed to their users' accounts
 *
 * A run that is over has billed exactly its elapsed time, once: bill_run() compares what was
 * billed with the run's present record and bills the difference. So a late record corrects an
 * earlier one, and nothing is billed twice. For each user in each account, in integers and at
 * every moment (bill_check()):
 *
 *	usage = sum over the user's runs in memory + what was retired to history
 *
 * A start refuses a database in which this cannot hold. The account is the one under which the run
 * was ordered. The price is the one that applies when the run is over.
 *
 * While a run is booked it counts by a meter besides (bill_starts() to bill_stops()): its cost for
 * each hour, from the start of its booking. The meter makes fair-share and GPU-hours follow what
 * runs now; the bill at the end replaces what the meter had counted.
 */
#include "ctld/core/attempts/bill.h"

#include <stdio.h>
#include <string.h>

#include "common/base/each.h"
#include "common/conf/conf_find.h"
#include "ctld/core/accounts/accounts.h"
#include "ctld/core/accounts/cost_and_decay.h"
#include "ctld/core/accounts/gpu_hours_window.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/core.h"
#include "ctld/core/limits/limits.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"

/* A limit on the elapsed time that a node may report: 35 years of any number of GPUs still fit in
 * the sums. */
#define MAX_ELAPSED ((uint64_t)1 << 50)
#define HOUR_US     (3600 * (uint64_t)USEC_PER_S)

/* What the run is to have billed by now, in microseconds. */
static uint64_t used_us(const struct run *run)
{
	const struct run_info *i = run_info(run);

	if (i->state != RUN_ENDED)
		return i->billed_us; /* alive again, after it was given up too early: unchanged */
	return run_past(run)->elapsed_us < MAX_ELAPSED ? run_past(run)->elapsed_us : MAX_ELAPSED;
}

/* Thousandths of GPUs. */
static uint64_t gpu_milli(const struct run *run)
{
	uint32_t charge = run_share(run)->charge;

	return (uint64_t)__builtin_popcountll(run_info(run)->gpus) * (charge ? charge : GPU_MILLI);
}

/* Multiplied in this order, 35 years fit. */
static int64_t gpu_us(const struct run *run, uint64_t us)
{
	uint64_t milli = gpu_milli(run);

	return (int64_t)(us / GPU_MILLI * milli + us % GPU_MILLI * milli / GPU_MILLI);
}

/* The factor of that QOS for costs; 1 if the QOS does not exist. */
static double qos_factor(const struct core *core, const char *name)
{
	uint32_t qos = CONF_FIND(core->conf, qos, name);

	return qos == CONF_NONE ? 1 : core->conf->qos[qos].usage_factor;
}

/* The cost of a run for so much time, at the present prices; millionths. */
static uint64_t bill_cost_u(const struct core *core, const struct run *run, uint64_t us)
{
	const struct run_info *i = run_info(run);
	const struct job *job = run_link_of(run)->job;

	return usage_cost_u(core->conf, gpu_type_number(core->conf, i->gpu_type),
	        (double)gpu_milli(run) / GPU_MILLI, i->cpus, i->mem_mb, us,
	        qos_factor(core, job ? job_info(job)->qos : run_owner(run)->qos));
}

/* Returns the assoc with one more reference. */
static struct assoc *assoc_of(struct core *core, const struct run *run)
{
	const struct job *job = run_link_of(run)->job;
	const char *user = job ? job_info(job)->user : run_owner(run)->user;
	char uid[32];

	snprintf(uid, sizeof(uid), "uid %u", run_info(run)->uid);
	return accounts_want(core->accounts, run_info(run)->account, run_info(run)->uid,
	        *user ? user : uid);
}

/* Jobs that wait for less use may start now. A bill can lower the use: a run that never started
 * costs nothing, a late record corrects an earlier one, and clocks differ. */
static void look_again(struct core *core, const struct run *run)
{
	const struct job *job = run_link_of(run)->job;
	const struct run_info *i = run_info(run);
	struct job_info anybody = {
		.account = i->account, .uid = i->uid, .qos = "", .partition = ""
	};
	struct limit_chain *chain =
	        job_limit_chain(core, core->limits, job ? job_info(job) : &anybody);
	const uint32_t *limits;
	size_t n;

	limits = limits_of_hours(core->limits, chain, &n);
	sched_limits_released(core->sched, limits, n);
	limit_chain_free(core->limits, chain);
}

/* Billed to the time up to the run's end. */
static void bill_hours(struct core *core, const struct run *run, uint64_t used)
{
	const struct run_info *i = run_info(run);
	const struct job *job = run_link_of(run)->job;
	struct hours_of of = { i->account, job ? job_info(job)->qos : run_owner(run)->qos,
		job ? job_info(job)->partition : run_owner(run)->partition, i->uid };
	usec_t end = run_past(run)->end_time;

	if (!hours_limited(core->hours))
		return;
	if (used > i->billed_us)
		hours_bill(core->hours, &of, gpu_milli(run), end - (usec_t)(used - i->billed_us),
		        end, core->now.wall);
	else
		hours_unbill(core->hours, &of,
		        (uint64_t)(gpu_us(run, i->billed_us) - gpu_us(run, used)));
	look_again(core, run);
}

void bill_run(struct core *core, struct run *run)
{
	const struct run_info *i = run_info(run);
	uint64_t used = used_us(run), cost;
	struct usage_bill bill;
	struct assoc *assoc;

	if (used == i->billed_us)
		return;
	cost = bill_cost_u(core, run, used);
	bill = (struct usage_bill){ .gpu_us = gpu_us(run, used) - gpu_us(run, i->billed_us),
		.cpu_us = (int64_t)(i->cpus * used) - (int64_t)(i->cpus * i->billed_us),
		.cost_u = (int64_t)cost - (int64_t)i->cost_u,
		.runs = (used > 0) - (i->billed_us > 0) };
	assoc = assoc_of(core, run);
	accounts_bill(core->accounts, assoc, &bill, core->now.wall);
	assoc_drop(core->accounts, assoc);
	bill_hours(core, run, used);
	run_set_billed(core->runs, run, used, cost);
}

/* --- what is alive --------------------------------------------------------------------------- */

static struct hours_of hours_of(const struct run *run)
{
	const struct run_hours *h = run_link_of(run)->hours;

	return (struct hours_of){ run_info(run)->account, h->qos, h->partition,
		run_info(run)->uid };
}

/* GPU-hours are metered only where a limit counts them, and only of runs with GPUs. */
static void meter_hours(struct core *core, struct run *run)
{
	const struct job *job = run_link(run)->job;
	struct run_hours *h;
	struct hours_of of;

	if (!hours_limited(core->hours) || !gpu_milli(run)) {
		run_drop_hours(core->runs, run);
		return;
	}
	h = run_want_hours(core->runs, run, job ? job_info(job)->qos : run_owner(run)->qos,
	        job ? job_info(job)->partition : run_owner(run)->partition);
	of = hours_of(run);
	h->since = hours_meter_on(core->hours, &of, gpu_milli(run), run_link(run)->began);
}

static struct usage_meter meter_of(const struct run *run)
{
	return (struct usage_meter){ run_link_of(run)->rate_u, run_link_of(run)->began };
}

void bill_starts(struct core *core, struct run *run)
{
	struct run_link *l = run_link(run);
	struct usage_meter meter;

	l->rate_u = bill_cost_u(core, run, HOUR_US);
	l->assoc = assoc_of(core, run);
	meter = meter_of(run);
	accounts_meter_on(core->accounts, l->assoc, &meter);
	meter_hours(core, run);
}

void bill_stops(struct core *core, struct run *run)
{
	struct run_link *l = run_link(run);
	struct usage_meter meter = meter_of(run);

	accounts_meter_off(core->accounts, l->assoc, &meter);
	if (l->hours) {
		struct hours_of of = hours_of(run);

		hours_meter_off(core->hours, &of, gpu_milli(run), l->hours->since);
		run_drop_hours(core->runs, run);
	}
	if (hours_limited(core->hours))
		look_again(core, run);
	assoc_drop(core->accounts, l->assoc);
	l->assoc = NULL;
}

void bill_reconfigured(struct core *core)
{
	size_t cursor = 0;
	struct node *node;

	hours_configure(core->hours, core->conf, core->now);
	while ((node = nodes_each(core->nodes, &cursor))) {
		struct run *run = node_link(node)->runs;

		for (; run; run = run_link(run)->next_of_node)
			meter_hours(core, run);
	}
}

/* --- history --------------------------------------------------------------------------------- */

static struct usage_sums sums_of(const struct run *run)
{
	const struct run_info *i = run_info(run);

	return (struct usage_sums){ .gpu_us = (uint64_t)gpu_us(run, i->billed_us),
		.cpu_us = i->cpus * i->billed_us,
		.cost_u = i->cost_u,
		.runs = i->billed_us > 0 };
}

void run_retire(struct core *core, struct run *run)
{
	struct usage_sums sums = sums_of(run);
	struct assoc *assoc = assoc_of(core, run);

	assoc_retire(assoc, &sums, true);
	assoc_drop(core->accounts, assoc);
	run_link(run)->job = NULL;
	runs_retire(core->runs, run);
}

static int bad(const struct assoc *assoc, struct error *err, const char *what)
{
	return error_set(err, ERR_INTERNAL, "usage of user %u in account '%.60s': %s",
	        assoc_uid(assoc), assoc_name(assoc), what);
}

/* At a start: bills the runs that an older version of gpusched did not bill, and subtracts what the
 * runs in memory were billed from what each user has in history. */
int bill_start(struct core *core, struct run *const *v, size_t n, struct error *err)
{
	struct usage_sums all, retired;
	const struct assoc *assoc;
	size_t i, cursor = 0;

	for (i = 0; i < n; i++) {
		struct usage_sums sums;
		struct assoc *of;

		bill_run(core, v[i]);
		sums = sums_of(v[i]);
		of = assoc_of(core, v[i]);
		assoc_retire(of, &sums, false);
		assoc_drop(core->accounts, of);
	}
	/* The rest belongs to runs that are in history. */
	while ((assoc = accounts_each(core->accounts, &cursor))) {
		assoc_sums(assoc, &all, &retired);
		if (retired.gpu_us > all.gpu_us || retired.cpu_us > all.cpu_us ||
		        retired.cost_u > all.cost_u || retired.runs > all.runs)
			return bad(assoc, err, "less than that of his runs");
	}
	return 0;
}

/* The equation of the head, and that no run which is over has something left to bill. Costs users
 * times runs; core_check() calls it. */
int bill_check(const struct core *core, struct run *const *v, size_t n, struct error *err)
{
	const struct assoc *assoc;
	size_t cursor = 0, i;

	for (i = 0; i < n; i++) {
		if (run_info(v[i])->billed_us != used_us(v[i]) &&
		        run_info(v[i])->state == RUN_ENDED)
			return error_set(err, ERR_INTERNAL, "run %llu.%u has not been billed",
			        (unsigned long long)run_info(v[i])->id.job,
			        run_info(v[i])->id.attempt);
	}
	while ((assoc = accounts_each(core->accounts, &cursor))) {
		struct usage_sums all, sum, one;

		assoc_sums(assoc, &all, &sum);
		for (i = 0; i < n; i++) {
			/* Both texts are interned: equal texts are the same pointer. */
			if (run_info(v[i])->account != assoc_name(assoc) ||
			        run_info(v[i])->uid != assoc_uid(assoc))
				continue;
			one = sums_of(v[i]);
			ADD_FIELDS(&sum, &one, gpu_us, cpu_us, cost_u, runs);
		}
		if (sum.gpu_us != all.gpu_us || sum.cpu_us != all.cpu_us ||
		        sum.cost_u != all.cost_u || sum.runs != all.runs)
			return bad(assoc, err, "not the sum of his runs");
	}
	return 0;
}

/* --- looking --------------------------------------------------------------------------------- */

/* A living run has used what is booked for it since its start, also while it was suspended. */
static void row_as_if_ended(
        const struct core *core, const struct run *run, struct clocks now, struct row *row)
{
	const struct run_past *past = run_past(run);
	const struct run_used *used = run_used(run);
	uint64_t suspended = past->suspended_us, held;

	if (past->suspend_time && now.wall > past->suspend_time)
		suspended += (uint64_t)(now.wall - past->suspend_time);
	held = run_worked_us(run, now) + suspended;
	row->v[COL_RUN_elapsed_us] = value_int((int64_t)held);
	row->v[COL_RUN_suspended_us] = value_int((int64_t)suspended);
	row->v[COL_RUN_billed_us] = value_int((int64_t)held);
	row->v[COL_RUN_cost_u] = value_int((int64_t)bill_cost_u(core, run, held));
	row->v[COL_RUN_cpu_time_us] = value_int((int64_t)used->cpu_time_us);
	row->v[COL_RUN_max_rss_kb] = value_int((int64_t)used->mem_peak_mb * 1024);
	row->v[COL_RUN_read_bytes] = value_int((int64_t)used->read_bytes);
	row->v[COL_RUN_written_bytes] = value_int((int64_t)used->written_bytes);
	row->v[COL_RUN_gpu_seen_us] = value_int((int64_t)used->gpu_seen_us);
	row->v[COL_RUN_gpu_busy_us] = value_int((int64_t)used->gpu_busy_us);
	row->v[COL_RUN_gpu_idle_us] = value_int((int64_t)used->gpu_idle_us);
	row->v[COL_RUN_gpu_mem_peak_mb] = value_int((int64_t)used->gpu_mem_peak_mb);
	row->v[COL_RUN_energy_mj] = value_int((int64_t)used->energy_mj);
	row->v[COL_RUN_gpu_mem_mbs] = value_int((int64_t)used->gpu_mem_mbs);
}

size_t core_job_rows(
        const struct core *core, uint64_t ref, struct clocks now, core_row_sink *sink, void *arg)
{
	uint32_t before;
	const struct job *job = jobs_find_waiting(core->jobs, ref, &before);
	const struct run *run;
	struct row row;
	size_t n = 1;

	if (!job)
		return 0;
	job_encode(job, &row, ROW_PUT);
	sink(arg, &row);
	for (run = job_link_of(job)->runs; run; run = run_link_of(run)->next_of_job, n++) {
		run_encode(run, &row, ROW_PUT);
		if (run_info(run)->state == RUN_RUNNING)
			row_as_if_ended(core, run, now, &row);
		sink(arg, &row);
	}
	return n;
}

double job_cost_max(const struct core *core, const struct job_info *i)
{
	const struct request *r = i->gpus;
	uint32_t type = r->n ? r->v[0].number : TYPE_NONE, t;
	double price = 0, sum;
	struct share share;

	if (!i->time_limit_s)
		return -1;
	for (t = 0; r->n && t < core->conf->n_gpu_types; t++) {
		double of_one = core->conf->gpu_types[t].price;

		ledger_share_of(core->ledger, r, (uint16_t)t, &share);
		if (share.charge)
			of_one *= (double)share.charge / GPU_MILLI;
		if ((type == TYPE_ANY || type == t) && of_one > price)
			price = of_one;
	}
	sum = price * (r->n ? request_all_gpus(r, 0, r->nodes_max) : 0);
	sum += core->conf->prices.cpu * i->cpus * r->nodes_max;
	sum += core->conf->prices.mem_gb * (double)i->mem_mb / 1024 * r->nodes_max;
	return sum * qos_factor(core, i->qos) * i->time_limit_s / 3600;
}

double job_cost_at(
        const struct core *core, const struct job_info *info, const struct places *places)
{
	double hours = (double)info->time_limit_s / 3600, sum = 0;

	if (!info->time_limit_s)
		return -1;
	for (size_t i = 0; i < places->n; i++) {
		const struct place *p = &places->v[i];
		uint32_t gpus = (uint32_t)__builtin_popcountll(p->gpus);
		double part = p->share.charge ? (double)p->share.charge / GPU_MILLI : 1;

		sum += core->conf->prices.cpu * p->cpus;
		sum += core->conf->prices.mem_gb * (double)p->mem_mb / 1024;
		if (gpus)
			sum += core->conf->gpu_types[places->type].price * gpus * part;
	}
	return sum * hours * qos_factor(core, info->qos);
}
