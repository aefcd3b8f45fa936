/* bench_steps.c - the core alone, in hostile states: how long one step takes
 *
 * The loop calls the scheduler again and again until its slice is over, so one step is what nobody
 * can interrupt. Each state below is one that users can bring about: ten thousand classes that wait
 * under quotas, gangs of 64 GPUs, jobs each of which asks for something else, nodes full of small
 * runs. Prints lines "NAME VALUE UNIT", in processor time.
 * usage: bench_steps [NODES [CLASSES [STATE]]]
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/xalloc.h"
#include "common/conf/conf.h"
#include "common/job/run.h"
#include "ctld/core/core.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/rows/state.h"

struct run;

#define NODE_CPUS 256
#define NODE_MEM  (1024 * 1024)
#define NODE_GPUS 8
#define ACCOUNTS  100
#define BATCH     64
#define WALL      ((usec_t)1800000000 * 1000000)
#define ENDS      300 /* runs that end, one after another */
#define STEPS_MAX 2000000
#define ASKED     30 /* jobs, of which it is asked why they wait */
#define PHASE_NS  4000000000LL /* of a phase no more is measured than so long */

/* What the waiting jobs ask for. */
struct state {
	const char *name;
	uint32_t gpus, nodes_min, nodes_max;
	bool per_node, own_asks, quotas;
	size_t taken;     /* hundredths of the cluster that are taken */
	bool small;       /* by runs of one CPU each, 200 on a node */
	bool down;        /* they wait because the partition is down, which then comes up */
	size_t lost;       /* then so many nodes are lost and come back */
	size_t most_nodes; /* 0: as many as there are */
};

static const struct state states[] = {
	{ "up_quotas", 1, 0, 0, false, false, true, 50, false, true, 0, 0 },
	{ "up_quotas_own", 1, 0, 0, false, true, true, 50, false, true, 0, 0 },
	{ "up_own", 1, 0, 0, false, true, false, 50, false, true, 0, 0 },
	{ "ones", 1, 0, 0, false, true, false, 100, false, false, 64, 0 },
	{ "ones_quotas", 1, 0, 0, false, true, true, 100, false, false, 64, 0 },
	{ "gangs", 64, 1, 64, false, true, false, 100, false, false, 64, 0 },
	{ "gangs_quotas", 64, 1, 64, false, true, true, 100, false, false, 64, 0 },
	{ "gangs_of_8", 8, 8, 8, true, true, true, 100, false, false, 64, 0 },
	{ "gangs_of_512", 8, 512, 512, true, false, false, 100, false, false, 64, 0 },
	{ "small_runs", 64, 8, 64, false, true, true, 100, true, false, 16, 1000 },
};

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Time goes on as the processor's does, and faster where that is wanted. */
static usec_t skipped;

static struct clocks clocks_now(void)
{
	struct timespec t;
	usec_t us;

	clock_gettime(CLOCK_MONOTONIC, &t);
	us = t.tv_sec * 1000000LL + t.tv_nsec / 1000 + skipped;
	return (struct clocks){ WALL + us, us };
}

static uint64_t rng = 88172645463325252ull;
static uint64_t next_random(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static void figure(const char *state, const char *name, double value, const char *unit)
{
	printf("steps_%s_%s %.6g %s\n", state, name, value, unit);
	fflush(stdout);
}

/* --- the cluster ----------------------------------------------------------------------------- */

static struct conf *make_conf(const struct state *st, size_t nodes)
{
	struct conf_problems problems = { 0 };
	size_t size = ACCOUNTS * 160 + 2048, used, i;
	char *text = xcalloc(size, 1);
	struct conf *conf;

	used = (size_t)snprintf(text, size,
	        "cluster = \"bench\";\n"
	        "controller = { host = \"h\"; node_timeout = \"1-00:00:00\";\n"
	        "\tkeep_ended = \"30-00:00:00\"; max_jobs = 100000000; };\n"
	        "gpu_types = ( { name = \"h100\"; } );\n"
	        "nodes = ( { name = \"n[0-%zu]\"; cpus = %d; mem = \"%dM\"; gpus = \"h100:%d\"; } "
	        ");\n"
	        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true;\n"
	        "\tdefault_time = \"1:00:00\"; %s } );\n"
	        "accounts = ( { name = \"root\"; quota = { guaranteed = \"h100:%zu\"; }; }",
	        nodes - 1, NODE_CPUS, NODE_MEM, NODE_GPUS,
	        st->quotas ? "preempt_mode = \"requeue\"; min_run = \"0s\";" : "",
	        nodes * NODE_GPUS);
	for (i = 0; i < ACCOUNTS; i++) {
		used += (size_t)snprintf(text + used, size - used,
		        ",\n{ name = \"a%zu\"; parent = \"root\"; members = [ \"user%zu\" ];", i,
		        i);
		if (st->quotas)
			used += (size_t)snprintf(text + used, size - used,
			        " quota = { guaranteed = \"h100:%zu\"; };",
			        nodes * NODE_GPUS / ACCOUNTS);
		used += (size_t)snprintf(text + used, size - used, " }");
	}
	snprintf(text + used, size - used, " );\n");
	conf = conf_parse(text, "bench", &problems);
	if (!conf) {
		conf_problems_print(&problems, stderr);
		exit(1);
	}
	free(text);
	return conf;
}

static void apply(struct core *core, const struct core_event *e)
{
	core_apply(core, e, clocks_now());
	core_effects_clear(core);
}

static void agent_up(struct core *core, uint32_t node, uint64_t session)
{
	struct core_event e = { .kind = EV_AGENT_UP };

	e.agent_up.node = node;
	e.agent_up.session = session + node;
	e.agent_up.boot_id = "boot";
	e.agent_up.incarnation = "inc";
	e.agent_up.version = "1";
	e.agent_up.containment = "none";
	e.agent_up.cpus = NODE_CPUS;
	e.agent_up.mem_mb = NODE_MEM;
	apply(core, &e);
}

static void partition(struct core *core, enum conf_partition_state state)
{
	struct core_event e = { .kind = EV_PARTITION_CONTROL,
		.partition = { .partition = 0, .state = state, .reason = "" } };

	e.caller.role = ROLE_ADMIN;
	e.caller.user = e.caller.host = "root";
	core_apply(core, &e, clocks_now());
}

static void fill_job(struct submit_job *job, uint64_t number)
{
	memset(job, 0, sizeof(*job));
	job->name = "job";
	job->partition = job->account = job->array = job->error = job->qos = "";
	job->constraint = job->prefer = job->nodelist = job->exclude = job->licences = "";
	job->submit_host = "login1";
	job->cwd = "/home/user/project";
	job->output = "gpusched-%j.out";
	job->cpus = 1;
	job->mem_mb = 1024;
	job->max_attempts = 10;
	job->requeue = true;
	job->sign_time = WALL;
	memcpy(job->nonce, &number, sizeof(number));
	memcpy(job->spec_hash, &number, sizeof(number));
}

static uint64_t submitted;

/* `fill` is called for each job with its number among `n`. */
static void submit(struct core *core, const struct state *st, size_t n,
        void (*fill)(const struct state *st, struct submit_job *job, size_t i))
{
	static struct submit_job jobs[BATCH];
	char user[32];
	size_t done, i, k;

	for (done = 0; done < n; done += k) {
		size_t who = done / BATCH % ACCOUNTS;
		struct core_event e = { .kind = EV_SUBMIT };

		k = n - done < BATCH ? n - done : BATCH;
		for (i = 0; i < k; i++) {
			fill_job(&jobs[i], ++submitted);
			fill(st, &jobs[i], done + i);
		}
		snprintf(user, sizeof(user), "user%zu", who);
		e.submit.jobs = jobs;
		e.submit.n = k;
		e.caller.uid = 1000 + (uint32_t)who;
		e.caller.user = user;
		e.caller.host = "login1";
		apply(core, &e);
	}
}

/* Runs that end at many different times. */
static void fill_running(const struct state *st, struct submit_job *job, size_t i)
{
	(void)i;
	job->time_limit_s = 3600 + (uint32_t)(next_random() % 360000);
	if (st->small)
		return;
	job->n_gpus = 1;
	job->gpus[0].type = "h100";
	job->gpus[0].count = 1;
}

static void fill_waiting(const struct state *st, struct submit_job *job, size_t i)
{
	job->n_gpus = 1;
	job->gpus[0].type = "h100";
	job->gpus[0].count = st->gpus;
	job->gpus_per_node = st->per_node;
	job->nodes_min = st->nodes_min;
	job->nodes_max = st->nodes_max;
	if (st->own_asks)
		job->mem_mb += i;
	else
		job->nice = (int32_t)i;
}

/* --- measuring ------------------------------------------------------------------------------- */

struct times {
	double *v;
	size_t n;
	double longest_event;
	long long began;
};

static bool phase_over(const struct times *t)
{
	return t->n == STEPS_MAX || cpu_ns() - t->began > PHASE_NS;
}

static void one_step(struct core *core, struct times *t, bool *more)
{
	long long start = cpu_ns();

	*more = core_schedule(core, clocks_now(), 1);
	t->v[t->n++] = (double)(cpu_ns() - start) / 1e3;
	core_effects_clear(core);
}

static void steps(struct core *core, struct times *t)
{
	bool more = true;

	while (more && !phase_over(t))
		one_step(core, t, &more);
}

static void event_took(struct times *t, long long start)
{
	double took = (double)(cpu_ns() - start) / 1e3;

	t->longest_event = took > t->longest_event ? took : t->longest_event;
}

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static void tell(const char *state, const char *what, struct times *t)
{
	char name[80];
	double sum = 0;
	size_t i;

	if (!t->n)
		return;
	for (i = 0; i < t->n; i++)
		sum += t->v[i];
	qsort(t->v, t->n, sizeof(*t->v), by_value);
	snprintf(name, sizeof(name), "%s_steps", what);
	figure(state, name, (double)t->n, "");
	snprintf(name, sizeof(name), "%s_all", what);
	figure(state, name, sum / 1e3, "ms");
	snprintf(name, sizeof(name), "%s_p99", what);
	figure(state, name, t->v[t->n * 99 / 100], "us");
	snprintf(name, sizeof(name), "%s_longest", what);
	figure(state, name, t->v[t->n - 1], "us");
	snprintf(name, sizeof(name), "%s_event_longest", what);
	figure(state, name, t->longest_event, "us");
	t->n = 0;
	t->longest_event = 0;
	t->began = cpu_ns();
}

static void end_run(struct core *core, const struct run *run, struct times *t)
{
	struct core_event e = { .kind = EV_RUN_REPORT };
	long long start = cpu_ns();

	e.run.node = node_link(run_link_of(run)->node)->index;
	e.run.session = node_link(run_link_of(run)->node)->session;
	e.run.report = (struct run_report){ .run = run_info(run)->id,
		.state = REPORT_ENDED,
		.cause = END_EXIT,
		.detail = "",
		.incarnation = "inc",
		.gpu_type = "" };
	apply(core, &e);
	event_took(t, start);
}

static void ends(struct core *core, struct times *t)
{
	size_t n, i;
	struct run **runs = runs_sorted(core->runs, &n);

	for (i = 0; i < ENDS && i < n && !phase_over(t); i++) {
		size_t k = i + next_random() % (n - i);
		const struct run *run = runs[k];

		runs[k] = runs[i];
		end_run(core, run, t);
		steps(core, t);
		if (i % 10 == 0)
			skipped += 1000000; /* an ordering is due */
	}
	free(runs);
}

static void drain(struct core *core, uint32_t node, enum node_verb verb, struct times *t)
{
	struct core_event e = { .kind = EV_NODE_CONTROL };
	long long start = cpu_ns();

	e.node.nodes = &node;
	e.node.n = 1;
	e.node.verb = verb;
	e.node.reason = "bench";
	e.caller.role = ROLE_ADMIN;
	e.caller.user = e.caller.host = "root";
	apply(core, &e);
	event_took(t, start);
}

static void lose(struct core *core, size_t n, size_t nodes, struct times *t)
{
	size_t i;

	for (i = 0; i < n; i++)
		drain(core, (uint32_t)(i * 37 % nodes), NODE_DRAIN, t);
	steps(core, t);
	skipped += 1000000;
	steps(core, t);
	for (i = 0; i < n; i++)
		drain(core, (uint32_t)(i * 37 % nodes), NODE_RESUME, t);
	steps(core, t);
	skipped += 1000000;
	steps(core, t);
}

/* Why jobs wait: each answer is one piece of the loop's work. */
static void questions(struct core *core, struct times *t)
{
	struct job_view job;
	uint64_t after = 0;
	size_t asked = 0;

	while (asked < ASKED && core_job_next_brief(core, after, &job) && !phase_over(t)) {
		struct job_why why;
		long long start = cpu_ns();

		after = job.ref;
		if (strcmp(job.state, "PENDING") != 0)
			continue;
		core_job_why(core, job.ref, clocks_now(), &why);
		t->v[t->n++] = (double)(cpu_ns() - start) / 1e3;
		asked++;
	}
}

static void one_state(const struct state *st, size_t nodes, size_t classes)
{
	struct times t = { .v = xcalloc(STEPS_MAX, sizeof(double)), .began = cpu_ns() };
	size_t i, slots = st->small ? 200 : NODE_GPUS;
	struct core_stats before, after;
	struct conf *conf;
	struct core *core;
	struct error err;
	long long start;

	nodes = st->most_nodes && nodes > st->most_nodes ? st->most_nodes : nodes;
	conf = make_conf(st, nodes);
	core = core_new(conf, 1);
	if (core_start(core, clocks_now(), &err) < 0) {
		fprintf(stderr, "bench_steps: error: %s\n", err.text);
		exit(1);
	}
	for (i = 0; i < nodes; i++)
		agent_up(core, (uint32_t)i, 1);
	submit(core, st, nodes * slots * st->taken / 100, fill_running);
	while (core_schedule(core, clocks_now(), 256))
		core_effects_clear(core);
	core_effects_clear(core);
	t.began = cpu_ns();
	if (st->down)
		partition(core, CONF_PARTITION_DOWN);
	submit(core, st, classes, fill_waiting);
	steps(core, &t);
	skipped += 1000000;
	steps(core, &t);
	core_stats(core, &before);
	tell(st->name, "submit", &t);
	if (st->down) {
		start = cpu_ns();
		partition(core, CONF_PARTITION_UP);
		event_took(&t, start);
		steps(core, &t);
		core_stats(core, &after);
		figure(st->name, "up_starts", (double)(after.started - before.started), "");
		tell(st->name, "up", &t);
	}
	ends(core, &t);
	tell(st->name, "ends", &t);
	questions(core, &t);
	tell(st->name, "why", &t);
	if (st->lost) {
		lose(core, st->lost, nodes, &t);
		tell(st->name, "lost", &t);
	}
	core_stats(core, &after);
	figure(st->name, "classes", (double)after.classes, "");
	free(t.v);
	core_free(core);
	conf_free(conf);
}

int main(int argc, char **argv)
{
	size_t nodes = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
	size_t classes = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000, i;

	if (nodes < 1 || nodes > CONF_MAX_NODES || !classes) {
		fprintf(stderr, "usage: bench_steps [NODES [CLASSES [STATE]]]\n");
		return 2;
	}
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (argc <= 3 || !strcmp(argv[3], states[i].name))
			one_state(&states[i], nodes, classes);
	}
	return 0;
}
