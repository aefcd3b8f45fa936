/* bench_core.c - the core alone: a million waiting jobs, ten thousand nodes
 *
 * Prints lines "NAME VALUE UNIT", first what this machine's memory can do: the core does nothing
 * but follow pointers. No I/O, no threads: what the daemon adds comes on top.
 * usage: bench_core [FOLDER [JOBS [NODES [CLASSES]]]] (the folder is for the runner; nothing is
 * written), or bench_core --curve [NODES [KIND]]: how the times depend on the queue (only rows of
 * that kind: "own_", "quota_", ...)
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/xalloc.h"
#include "common/conf/conf.h"
#include "common/job/run.h"
#include "ctld/core/core.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"
#include "testsuite/bench/core_bench.h"

#define CLASSES    100
#define BATCH      64
#define EVENTS     20000
#define NODE_CPUS  128
#define NODE_MEM   (1024 * 1024)
#define NODE_GPUS  8
#define WALL       ((usec_t)1800000000 * 1000000)
#define LATENCY_MB 256

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* What we used of it ourselves: the longest of a million is else the scheduler's of the machine. */
long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static struct clocks clocks_now(void)
{
	long long us = now_ns() / 1000;

	return (struct clocks){ WALL + us, us };
}

void figure(const char *name, double value, const char *unit)
{
	printf("%s %.6g %s\n", name, value, unit);
	fflush(stdout);
}

static uint64_t rng = 88172645463325252ull;
uint64_t next_random(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static size_t heap_used(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* --- the machine ----------------------------------------------------------------------------- */

/* One dependent load after another, all over a big block: the price of a pointer. */
static void bench_memory(void)
{
	size_t n = (size_t)LATENCY_MB * 1024 * 1024 / sizeof(size_t), i, at = 0, steps = 5000000;
	size_t *next = xcalloc(n, sizeof(*next));
	long long start;

	for (i = 0; i < n; i++)
		next[i] = i;
	for (i = n - 1; i > 0; i--) { /* one single cycle */
		size_t j = next_random() % i, t = next[i];

		next[i] = next[j];
		next[j] = t;
	}
	start = now_ns();
	for (i = 0; i < steps; i++)
		at = next[at];
	figure("memory_latency", (double)(now_ns() - start) / (double)steps + (at == n), "ns");
	free(next);
}

/* --- the cluster ----------------------------------------------------------------------------- */

static struct conf *make_conf_with(size_t nodes, const char *policy, const char *partition)
{
	struct conf_problems problems = { 0 };
	char *text = xasprintf("cluster = \"bench\";\n"
	                       "controller = { host = \"h\"; node_timeout = \"1-00:00:00\";\n"
	                       "\tkeep_ended = \"30-00:00:00\"; max_jobs = 100000000; };\n"
	                       "gpu_types = ( { name = \"h100\"; } );\n"
	                       "nodes = ( { name = \"n[0-%zu]\"; cpus = %d; mem = \"%dM\";\n"
	                       "\tgpus = \"h100:%d\"; } );\n"
	                       "partitions = ( { name = \"batch\"; nodes = \"ALL\";\n"
	                       "\tdefault = true; default_time = \"1:00:00\"; %s } );\n%s",
	        nodes - 1, NODE_CPUS, NODE_MEM, NODE_GPUS, partition, policy);
	struct conf *conf = conf_parse(text, "bench", &problems);

	if (!conf) {
		conf_problems_print(&problems, stderr);
		exit(1);
	}
	free(text);
	return conf;
}

struct conf *make_conf(size_t nodes)
{
	return make_conf_with(nodes, "", "");
}

/* Cohorts of so many accounts, each of them guaranteed the same; all of it is lent and taken back.
 */
#define COHORT 100

static struct conf *make_quotas(size_t nodes, size_t accounts)
{
	size_t size = accounts * 160 + 64, used, i;
	char *text = xcalloc(size, 1);
	struct conf *conf;

	used = (size_t)snprintf(text, size, "accounts = ( ");
	for (i = 0; i < accounts / COHORT; i++)
		used += (size_t)snprintf(text + used, size - used,
		        "%s{ name = \"c%zu\"; quota = { guaranteed = \"h100:%zu\"; }; }",
		        i ? ",\n" : "", i, nodes * NODE_GPUS * COHORT / accounts);
	for (i = 0; i < accounts; i++)
		used += (size_t)snprintf(text + used, size - used,
		        ",\n{ name = \"a%zu\"; parent = \"c%zu\"; members = [ \"user%zu\" ];\n"
		        "\tquota = { guaranteed = \"h100:%zu\"; }; }",
		        i, i / COHORT, i, nodes * NODE_GPUS / accounts);
	snprintf(text + used, size - used, " );\n");
	conf = make_conf_with(nodes, text, "preempt_mode = \"requeue\"; min_run = \"0s\";");
	free(text);
	return conf;
}

static void agent_up(struct core *core, uint32_t node)
{
	struct core_event e = { .kind = EV_AGENT_UP };

	e.agent_up.node = node;
	e.agent_up.session = 1 + node;
	e.agent_up.boot_id = "boot";
	e.agent_up.incarnation = "inc";
	e.agent_up.version = "1";
	e.agent_up.containment = "none";
	e.agent_up.cpus = NODE_CPUS;
	e.agent_up.mem_mb = NODE_MEM;
	core_apply(core, &e, clocks_now());
	core_effects_clear(core);
}

/* --- submits --------------------------------------------------------------------------------- */

static void fill_job(struct submit_job *job, char name[32], uint64_t number)
{
	static const uint32_t gpus[] = { 1, 1, 1, 2, 2, 4, 4, 8 };

	snprintf(name, 32, "job-%llu", (unsigned long long)number);
	memset(job, 0, sizeof(*job));
	job->name = name;
	job->partition = job->account = job->array = job->error = job->qos = "";
	job->constraint = job->prefer = job->nodelist = job->exclude = job->licences = "";
	job->submit_host = "login1";
	job->cwd = "/home/user/project";
	job->output = "gpusched-%j.out";
	job->n_gpus = 1;
	job->gpus[0].type = "h100";
	job->gpus[0].count = gpus[number % CLASSES % 8];
	job->cpus = job->gpus[0].count;
	job->mem_mb = 1024;
	job->max_attempts = 10;
	job->requeue = true;
	job->sign_time = WALL;
	memcpy(job->nonce, &number, sizeof(number));
	memcpy(job->spec_hash, &number, sizeof(number));
}

/* Jobs come from so many users; each user's are of so many classes. */
static size_t users = CLASSES, shapes = 1;
static bool own_asks; /* and each of these asks for memory of its own */

/* Jobs come in runs of BATCH from one user. */
static void submit_batch(struct core *core, uint64_t *number, size_t n)
{
	static char names[BATCH][32];
	static struct submit_job jobs[BATCH];
	char user[32];
	uint64_t class = *number / BATCH % users, round = *number / BATCH / users;
	struct core_event e = { .kind = EV_SUBMIT, .submit = { .jobs = jobs, .n = n } };
	size_t i;

	for (i = 0; i < n; i++) {
		fill_job(&jobs[i], names[i], *number + i);
		jobs[i].gpus[0].count = 1u << class % 4;
		jobs[i].cpus = jobs[i].gpus[0].count;
		jobs[i].nice = (int32_t)((round * BATCH + i) % shapes);
		if (own_asks)
			jobs[i].mem_mb += class * shapes + (round * BATCH + i) % shapes;
	}
	snprintf(user, sizeof(user), "user%llu", (unsigned long long)class);
	e.caller.uid = 1000 + (uint32_t) class;
	e.caller.user = user;
	e.caller.host = "login1";
	core_apply(core, &e, clocks_now());
	core_effects_clear(core);
	*number += n;
}

static void schedule(struct core *core)
{
	while (core_schedule(core, clocks_now(), 256))
		core_effects_clear(core);
	core_effects_clear(core);
}

static void count_row(void *arg, const struct row *row)
{
	*(size_t *)arg += row_bytes(row);
}

/* As in the daemon, what has changed is sealed every now and then. */
static void bench_submits(struct core *core, size_t jobs)
{
	size_t before = heap_used(), bytes = 0, rows = 0;
	uint64_t number = 0;
	long long submits = 0, seals = 0, longest = 0, start, cpu;

	while (number < jobs) {
		start = now_ns();
		cpu = cpu_ns();
		submit_batch(core, &number, jobs - number < BATCH ? jobs - number : BATCH);
		cpu = cpu_ns() - cpu;
		submits += now_ns() - start;
		longest = cpu > longest ? cpu : longest;
		if (number / BATCH % 16 && number < jobs)
			continue;
		start = now_ns();
		rows += core_seal(core, count_row, &bytes);
		seals += now_ns() - start;
	}
	figure("submits", (double)jobs * 1e9 / (double)submits, "/s");
	figure("submit_of_64_longest_cpu", (double)longest / 1e6, "ms");
	figure("seal", (double)rows * 1e9 / (double)seals, "rows/s");
	figure("memory_per_waiting_job", (double)(heap_used() - before) / (double)jobs, "bytes");
}

/* --- deciding -------------------------------------------------------------------------------- */

struct running {
	struct run_id id;
	uint32_t node;
};

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static void percentiles(const char *name, double *v, size_t n)
{
	char text[80];

	qsort(v, n, sizeof(*v), by_value);
	snprintf(text, sizeof(text), "%s_p50", name);
	figure(text, v[n / 2] / 1e3, "us");
	snprintf(text, sizeof(text), "%s_p99", name);
	figure(text, v[n * 99 / 100] / 1e3, "us");
	snprintf(text, sizeof(text), "%s_longest", name);
	figure(text, v[n - 1] / 1e3, "us");
}

/* Every GPU of an empty cluster is given to somebody. */
static void bench_fill(struct core *core, size_t nodes)
{
	struct core_stats stats;
	long long start;
	size_t i;

	start = now_ns();
	for (i = 0; i < nodes; i++)
		agent_up(core, (uint32_t)i);
	figure("registrations", (double)nodes * 1e9 / (double)(now_ns() - start), "/s");
	start = now_ns();
	schedule(core);
	core_stats(core, &stats);
	figure("fill_runs_started", (double)stats.started, "runs");
	figure("fill_per_start", (double)(now_ns() - start) / 1e3 / (double)stats.started, "us");
}

/* Why jobs wait, spread over the queue. */
static void bench_why(struct core *core)
{
	double took[50];
	struct job_view v;
	struct job_why why;
	struct core_stats stats;
	uint64_t after = 0, step;
	size_t n = 0;

	core_stats(core, &stats);
	step = stats.jobs / (sizeof(took) / sizeof(took[0])) + 1;
	while (n < sizeof(took) / sizeof(took[0]) && core_job_next(core, after, clocks_now(), &v)) {
		long long start = cpu_ns();

		if (core_job_why(core, v.id, clocks_now(), &why))
			took[n++] = (double)(cpu_ns() - start);
		after = v.id + step;
	}
	figure("why_classes", (double)stats.classes, "");
	if (n)
		percentiles("why", took, n);
}

static void end_run(struct core *core, const struct run *run)
{
	struct core_event e = { .kind = EV_RUN_REPORT };

	e.run.node = node_link(run_link_of(run)->node)->index;
	e.run.session = 1 + e.run.node;
	e.run.report = (struct run_report){ .run = run_info(run)->id,
		.state = REPORT_ENDED,
		.cause = END_EXIT,
		.detail = "",
		.incarnation = "inc",
		.gpu_type = "" };
	core_apply(core, &e, clocks_now());
}

/* A run ends; its GPUs are given away again: report in, decisions out. */
static void bench_events(struct core *core)
{
	double *took = xcalloc(EVENTS, sizeof(*took));
	size_t n, i;
	struct run **runs = runs_sorted(core->runs, &n);
	struct core_stats before, after;
	long long longest = 0;
	size_t bytes = 0;

	core_stats(core, &before);
	for (i = 0; i < EVENTS && i < n; i++) {
		size_t k = i + next_random() % (n - i);
		struct run *run = runs[k];
		long long start, cpu;

		runs[k] = runs[i];
		start = now_ns();
		cpu = cpu_ns();
		end_run(core, run);
		while (core_schedule(core, clocks_now(), 256))
			;
		cpu = cpu_ns() - cpu;
		took[i] = (double)(now_ns() - start);
		longest = cpu > longest ? cpu : longest;
		core_effects_clear(core);
	}
	core_stats(core, &after);
	percentiles("event_to_decisions", took, i);
	figure("event_to_decisions_longest_cpu", (double)longest / 1e3, "us");
	figure("events_started", (double)(after.started - before.started), "runs");
	core_seal(core, count_row, &bytes);
	free(runs);
	free(took);
}

static void bench_passes(struct core *core)
{
	double took[30];
	size_t i;

	for (i = 0; i < sizeof(took) / sizeof(took[0]); i++) {
		long long start = now_ns();

		sched_wake_all(core->sched);
		schedule(core);
		took[i] = (double)(now_ns() - start);
	}
	percentiles("full_pass", took, i);
}

/* --- the curve ------------------------------------------------------------------------------- */

#define CURVE_EVENTS 500
#define CURVE_PASSES 5

/* All in processor time: what waits for a core beside others says nothing of the queue. */
struct curve {
	double event[CURVE_EVENTS], pass[CURVE_PASSES];
	long long slice; /* the longest: nobody is served meanwhile */
};

static double sliced(struct core *core, struct curve *c)
{
	long long start = cpu_ns(), now, last = start;
	bool more;

	do {
		more = core_schedule(core, clocks_now(), 256);
		core_effects_clear(core);
		now = cpu_ns();
		c->slice = now - last > c->slice ? now - last : c->slice;
		last = now;
	} while (more);
	return (double)(now - start);
}

/* Every GPU is taken, with quotas by half of the users, and so many wait. */
static void curve_fill(struct core *core, size_t nodes, size_t jobs, bool borrow)
{
	struct core_stats stats;
	uint64_t number = 0;
	size_t i, all = users;

	if (borrow)
		users /= 2;

	for (i = 0; i < nodes; i++)
		agent_up(core, (uint32_t)i);
	do {
		submit_batch(core, &number, BATCH);
		schedule(core);
		core_stats(core, &stats);
	} while (stats.started == number || number < nodes * 2);
	users = all;
	jobs += stats.started;
	while (number < jobs)
		submit_batch(core, &number, jobs - number < BATCH ? jobs - number : BATCH);
	schedule(core);
}

static void curve_measure(struct core *core, struct curve *c)
{
	size_t n, i, bytes = 0;
	struct run **runs = runs_sorted(core->runs, &n);

	core_seal(core, count_row, &bytes);
	for (i = 0; i < CURVE_EVENTS && i < n; i++) {
		size_t k = i + next_random() % (n - i);
		const struct run *run = runs[k];
		long long start = cpu_ns();

		runs[k] = runs[i];
		end_run(core, run);
		c->event[i] = (double)(cpu_ns() - start);
		c->event[i] += sliced(core, c);
	}
	free(runs);
	for (i = 0; i < CURVE_PASSES; i++) {
		sched_wake_all(core->sched);
		c->pass[i] = sliced(core, c);
	}
}

/* One row: so many jobs in so many classes. */
struct curve_row {
	const char *name;
	size_t jobs, classes;
	size_t accounts; /* with quotas, of which half of the users borrow what the others reclaim
	                  */
	bool own_asks;
};

static const struct curve_row curve_rows[] = {
	{ "", 1000, 1, 0, false },
	{ "", 10000, 1, 0, false },
	{ "", 100000, 1, 0, false },
	{ "", 1000000, 1, 0, false },
	{ "", 1000, 100, 0, false },
	{ "", 10000, 100, 0, false },
	{ "", 100000, 100, 0, false },
	{ "", 1000000, 100, 0, false },
	{ "", 10000, 10000, 0, false },
	{ "", 100000, 10000, 0, false },
	{ "", 1000000, 10000, 0, false },
	{ "own_", 100000, 10000, 0, true },
	{ "quota_", 10000, 100, 100, false },
	{ "quota_", 1000000, 100, 100, false },
	{ "quota_", 100000, 10000, 100, false },
	{ "quota_", 1000000, 10000, 100, false },
	{ "quotas_", 1000000, 10000, 1000, false },
};

static void curve_point(const struct conf *conf, size_t nodes, const struct curve_row *row)
{
	struct core *core = core_new(conf, 1);
	struct curve c = { .slice = 0 };
	struct core_stats stats;
	char name[80], figure_name[120];
	struct error err;

	users = row->classes < CLASSES ? row->classes : row->accounts ? row->accounts : CLASSES;
	shapes = row->classes / users;
	own_asks = row->own_asks;
	if (core_start(core, clocks_now(), &err) < 0) {
		fprintf(stderr, "bench_core: error: %s\n", err.text);
		exit(1);
	}
	curve_fill(core, nodes, row->jobs, row->accounts > 0);
	core_stats(core, &stats);
	curve_measure(core, &c);
	snprintf(name, sizeof(name), "curve_%s%zu_%zu", row->name, row->jobs, row->classes);
	snprintf(figure_name, sizeof(figure_name), "%s_classes", name);
	figure(figure_name, (double)stats.classes, "");
	snprintf(figure_name, sizeof(figure_name), "%s_event", name);
	percentiles(figure_name, c.event, CURVE_EVENTS);
	snprintf(figure_name, sizeof(figure_name), "%s_pass", name);
	percentiles(figure_name, c.pass, CURVE_PASSES);
	snprintf(figure_name, sizeof(figure_name), "%s_slice_longest", name);
	figure(figure_name, (double)c.slice / 1e3, "us");
	core_free(core);
	own_asks = false;
}

static int curve(size_t nodes, const char *only)
{
	struct conf *conf;
	size_t i;

	for (i = 0; i < sizeof(curve_rows) / sizeof(curve_rows[0]); i++) {
		const struct curve_row *row = &curve_rows[i];

		if (only && strcmp(only, row->name) != 0)
			continue;
		conf = row->accounts ? make_quotas(nodes, row->accounts) : make_conf(nodes);
		curve_point(conf, nodes, row);
		conf_free(conf);
	}
	return 0;
}

/* --- the rest -------------------------------------------------------------------------------- */

static void bench_listing(struct core *core)
{
	struct job_view v;
	uint64_t after = 0, n = 0;
	long long start = now_ns();

	while (core_job_next(core, after, clocks_now(), &v)) {
		after = v.id;
		n++;
	}
	figure("listing_per_job", (double)(now_ns() - start) / (double)n, "ns");
}

struct loader {
	struct core *core;
	double ns;
	size_t rows;
};

/* Straight from one core into another: what SQLite adds is measured elsewhere. */
static void load_row(struct loader *l, const struct row *row)
{
	long long start = now_ns();
	struct error err;

	if (core_load(l->core, row, &err) < 0) {
		fprintf(stderr, "bench_core: error: %s\n", err.text);
		exit(1);
	}
	l->ns += (double)(now_ns() - start);
	l->rows++;
}

static void load_meta(void *arg, const struct row *row)
{
	load_row(arg, row);
}

static void bench_load(const struct core *from, const struct conf *conf)
{
	struct loader l = { .core = core_new(conf, 2) };
	const struct job *job;
	size_t n, i;
	struct run **runs = runs_sorted(from->runs, &n);
	struct row row;
	struct error err;
	long long start;

	meta_rows(from->meta, load_meta, &l);
	for (job = jobs_next(from->jobs, 0); job; job = jobs_next(from->jobs, job_id(job))) {
		job_encode(job, &row, ROW_PUT);
		load_row(&l, &row);
	}
	for (i = 0; i < n; i++) {
		run_encode(runs[i], &row, ROW_PUT);
		load_row(&l, &row);
	}
	start = now_ns();
	if (core_start(l.core, clocks_now(), &err) < 0) {
		fprintf(stderr, "bench_core: error: %s\n", err.text);
		exit(1);
	}
	figure("load_rows", (double)l.rows * 1e9 / l.ns, "/s");
	figure("start", (double)(now_ns() - start) / 1e6, "ms");
	free(runs);
	core_free(l.core);
}

int main(int argc, char **argv)
{
	bool wants_curve = argc > 1 && !strcmp(argv[1], "--curve");
	size_t jobs = argc > 2 && !wants_curve ? strtoul(argv[2], NULL, 10) : 1000000;
	size_t nodes = argc > 3 ? strtoul(argv[3], NULL, 10) : 10000;
	struct conf *conf;
	struct core *core;
	struct error err;

	if (wants_curve)
		return curve(
		        argc > 2 ? strtoul(argv[2], NULL, 10) : 10000, argc > 3 ? argv[3] : NULL);
	if (jobs < BATCH || nodes < 1 || nodes > CONF_MAX_NODES) {
		fprintf(stderr, "usage: bench_core [FOLDER [JOBS [NODES [CLASSES]]]]\n");
		return 2;
	}
	shapes = argc > 4 ? strtoul(argv[4], NULL, 10) / CLASSES : 1;
	shapes = shapes ? shapes : 1;
	bench_memory();
	conf = make_conf(nodes);
	core = core_new(conf, 1);
	if (core_start(core, clocks_now(), &err) < 0) {
		fprintf(stderr, "bench_core: error: %s\n", err.text);
		return 1;
	}
	bench_submits(core, jobs);
	bench_fill(core, nodes);
	bench_why(core);
	bench_events(core);
	bench_passes(core);
	bench_listing(core);
	bench_load(core, conf);
	core_free(core);
	conf_free(conf);
	bench_places(nodes, false);
	bench_places(nodes, true);
	return 0;
}
