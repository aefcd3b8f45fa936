/* explain_states.c - see explain_states.h */
#include "testsuite/unit/lib/explain_states.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"

#define TEXT 16384

static const char *const account_names[] = { "vision", "speech", "guest" };
static const char *const qos_names[] = { "normal", "scavenger", "high" };
static const char *const partition_names[] = { "batch", "small", "urgent" };
static const char *const licence_names[] = { "matlab", "trt" };

static unsigned pick(struct state *s, unsigned n)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return (unsigned)(s->random >> 11) % n;
}

static bool chance(struct state *s, unsigned percent)
{
	return pick(s, 100) < percent;
}

/* --- the configuration ----------------------------------------------------------------------- */

static void __attribute__((format(printf, 2, 3))) put(struct state *s, const char *fmt, ...)
{
	size_t used = strlen(s->text);
	va_list ap;

	va_start(ap, fmt);
	used += (size_t)vsnprintf(s->text + used, TEXT - used, fmt, ap);
	va_end(ap);
	assert_true(used < TEXT);
}

static void draw_knob(struct state *s, const char *scope, unsigned index, const char *part)
{
	static const struct {
		const char *key, *type;
		unsigned from, to;
	} kinds[] = {
		{ "gpus", "h100", 2, 10 },
		{ "gpus", "any", 2, 12 },
		{ "cpus", "", 6, 30 },
		{ "running", "", 1, 5 },
		{ "nodes", "", 1, 6 },
	};
	unsigned k = pick(s, 5);

	s->knobs[s->n_knobs++] = (struct knob){ scope, index, part, kinds[k].key, kinds[k].type,
		kinds[k].from + pick(s, kinds[k].to - kinds[k].from + 1) };
}

static void draw_knobs(struct state *s, const char *scope, unsigned n, unsigned percent)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		if (chance(s, percent))
			draw_knob(s, scope, i, "limits");
		if (chance(s, percent / 2))
			draw_knob(s, scope, i, "per_user");
	}
}

static void draw_conf(struct state *s)
{
	unsigned i;

	s->n_nodes = 1 + pick(s, STATE_NODES);
	s->shares = s->seed % 3 == 0;
	s->n_accounts = pick(s, 4);
	s->n_qos = pick(s, 4);
	s->n_partitions = 1 + pick(s, 3);
	s->n_licences = pick(s, 3);
	draw_knobs(s, "accounts", s->n_accounts, 40);
	draw_knobs(s, "qos", s->n_qos, 30);
	draw_knobs(s, "partitions", s->n_partitions, 20);
	for (i = 0; i < s->n_licences; i++)
		s->knobs[s->n_knobs++] =
		        (struct knob){ "licences", i, "", "count", "", 1 + pick(s, 4) };
	for (i = 0; i < s->n_accounts && chance(s, 30); i++, s->quotas = true)
		s->knobs[s->n_knobs++] =
		        (struct knob){ "accounts", i, "quota", "guaranteed", "h100", 1 };
}

static void put_knobs(struct state *s, const char *scope, unsigned index)
{
	size_t k;

	for (k = 0; k < s->n_knobs; k++) {
		const struct knob *x = &s->knobs[k];

		if (strcmp(x->scope, scope) || x->index != index || !*x->part)
			continue;
		if (!strcmp(x->part, "quota"))
			put(s, " quota = { guaranteed = \"h100:%u\"; lend = \"h100:0\"; };",
			        x->value);
		else if (*x->type)
			put(s, " %s = { %s = \"%s:%u\"; };", x->part, x->key, x->type, x->value);
		else
			put(s, " %s = { %s = %u; };", x->part, x->key, x->value);
	}
}

static void put_nodes(struct state *s)
{
	unsigned i;

	put(s, "nodes = ( ");
	for (i = 0; i < s->n_nodes; i++) {
		unsigned h100 = i == 0 ? 4 : pick(s, 3) * 2, l40s = pick(s, 3) ? 0 : 2;

		put(s, "%s{ name = \"n%u\"; cpus = %u; mem = \"%uG\";", i ? ", " : "", i,
		        4 + 2 * pick(s, 3), 16 + 16 * pick(s, 4));
		if (h100 && l40s)
			put(s, " gpus = \"h100:%u,l40s:%u\";", h100, l40s);
		else if (h100 || l40s)
			put(s, " gpus = \"%s:%u\";", h100 ? "h100" : "l40s", h100 + l40s);
		if (chance(s, 50))
			put(s, " features = [ \"fast\" ];");
		if (s->shares && (!i || chance(s, 60)))
			put(s, " share = \"watch\"; share_users = \"%s\";",
			        chance(s, 50) ? "one" : "any");
		put(s, " }");
	}
	put(s, " );\n");
}

static void put_partitions(struct state *s)
{
	unsigned p, i;

	put(s, "partitions = ( ");
	for (p = 0; p < s->n_partitions; p++) {
		put(s, "%s{ name = \"%s\"; plan_depth = %u; nodes = \"n0", p ? ", " : "",
		        partition_names[p], pick(s, 3) ? 20 : pick(s, 3));
		for (i = 1; i < s->n_nodes; i++) {
			if (!p || chance(s, 50))
				put(s, ",n%u", i);
		}
		put(s, "\"; default_time = \"1:00:00\";%s", p ? "" : " default = true;");
		if (chance(s, 30))
			put(s, " tier = %u;", pick(s, 3));
		if (chance(s, 30))
			put(s, " max_time = \"%u:00:00\";", 1 + pick(s, 8));
		if (chance(s, 30))
			put(s, " per_gpu = { cpus = 2; mem = \"8G\"; };");
		if (p == 2 && s->n_accounts && chance(s, 50))
			put(s, " accounts = [ \"vision\" ];");
		if (chance(s, 20))
			put(s, " place = \"spread\";");
		put_knobs(s, "partitions", p);
		put(s, " }");
	}
	put(s, " );\n");
}

static void put_policy(struct state *s)
{
	unsigned i;

	put(s, "accounts = ( ");
	for (i = 0; i < s->n_accounts; i++) {
		put(s, "%s{ name = \"%s\"; members = [ \"%s\" ];%s", i ? ", " : "",
		        account_names[i], i == 1 ? "bob" : "*",
		        i == 1 && chance(s, 50) ? " parent = \"vision\";" : "");
		put_knobs(s, "accounts", i);
		put(s, " }");
	}
	put(s, " );\nqos = ( ");
	for (i = 0; i < s->n_qos; i++) {
		put(s, "%s{ name = \"%s\"; priority = %d;%s", i ? ", " : "", qos_names[i],
		        (int)i == 1 ? -100 : (int)i * 50, i ? "" : " default = true;");
		if (i == 2 && s->n_accounts && chance(s, 50))
			put(s, " accounts = [ \"vision\" ];");
		put_knobs(s, "qos", i);
		put(s, " }");
	}
	put(s, " );\nlicences = ( ");
	for (i = 0; i < s->n_licences; i++) {
		size_t k;

		for (k = 0; strcmp(s->knobs[k].scope, "licences") || s->knobs[k].index != i; k++)
			;
		put(s, "%s{ name = \"%s\"; count = %u; }", i ? ", " : "", licence_names[i],
		        s->knobs[k].value);
	}
	put(s, " );\n");
}

/* The same text each time, but for the knobs. The order does not change while time passes. */
static void print_conf(struct state *s)
{
	uint64_t random = s->random;

	s->random = s->seed * 0x9e3779b97f4a7c15 + 77;
	s->text[0] = '\0';
	put(s, "cluster = \"test\"; controller = { host = \"h\"; };\n"
	       "priority = { weights = { age = 0; fair_share = 0; }; };\n"
	       "gpu_types = ( { name = \"h100\"; mem = \"80G\"; },"
	       " { name = \"l40s\"; mem = \"48G\"; } );\n");
	put_nodes(s);
	put_partitions(s);
	put_policy(s);
	s->random = random;
}

/* --- jobs ------------------------------------------------------------------------------------ */

static void draw_gpus(struct state *s, struct submit_job *job)
{
	static const char *const types[] = { "h100", "h100", "l40s", "" };

	if (chance(s, 20))
		return;
	job->gpus[job->n_gpus++] = (struct gpu_request){ types[pick(s, 4)], 1 + pick(s, 4) };
	if (chance(s, 15) && !strcmp(job->gpus[0].type, "h100"))
		job->gpus[job->n_gpus++] = (struct gpu_request){ "l40s", 1 + pick(s, 2) };
	if (chance(s, 10))
		job->gpu_mem_min_mb = 60 * 1024;
}

static void draw_part(struct state *s, struct submit_job *job)
{
	if (!s->shares || !job->n_gpus || chance(s, 40))
		return;
	job->gpus[0].count = 1 + pick(s, 2);
	job->n_gpus = 1;
	if (chance(s, 60))
		job->gpu_share_milli = 100 * (1 + pick(s, 8)) + (chance(s, 20) ? 25 : 0);
	if (!job->gpu_share_milli || chance(s, 30))
		job->gpu_mem_mb = 1024 * (1 + pick(s, 40)) + (chance(s, 20) ? 100 : 0);
	if (job->gpu_mem_mb && chance(s, 30))
		job->gpu_mem_burst_mb = job->gpu_mem_mb + 4096;
}

static void draw_nodes(struct state *s, struct submit_job *job, char *names, size_t size)
{
	if (chance(s, 15)) {
		job->nodes_min = 1 + pick(s, 3);
		job->nodes_max = job->nodes_min + pick(s, 2);
		job->gpus_per_node = job->n_gpus && chance(s, 50);
	}
	snprintf(names, size, "n%u", pick(s, s->n_nodes));
	if (chance(s, 6) && !job->nodes_max)
		job->nodelist = names;
	else if (chance(s, 6))
		job->exclude = names;
	if (chance(s, 10))
		job->constraint = "fast";
	if (chance(s, 10))
		job->prefer = "fast";
	job->exclusive = !s->n_knobs && !job->gpu_share_milli && !job->gpu_mem_mb && chance(s, 12);
}

static void draw_job(struct state *s)
{
	struct submit_job job = world_job(s->w, "");
	uint32_t uid = 1000 + pick(s, 3);
	char names[16], licences[32];
	uint64_t id;

	draw_gpus(s, &job);
	draw_part(s, &job);
	draw_nodes(s, &job, names, sizeof(names));
	job.cpus = chance(s, 40) ? 0 : 1 + pick(s, 4);
	job.mem_mb = chance(s, 60) ? 0 : 4096 * (1 + pick(s, 6));
	job.time_limit_s = chance(s, 30)  ? 0
	                   : chance(s, 5) ? TIME_LIMIT_NONE
	                                  : 60 * (1 + pick(s, 300));
	job.partition = chance(s, 60) ? "" : partition_names[pick(s, s->n_partitions)];
	if (s->n_qos && chance(s, 40))
		job.qos = qos_names[pick(s, s->n_qos)];
	if (s->n_accounts && chance(s, 40))
		job.account = account_names[pick(s, s->n_accounts)];
	if (s->n_licences && chance(s, 25)) {
		snprintf(licences, sizeof(licences), "%s:%u", licence_names[pick(s, s->n_licences)],
		        1 + pick(s, 2));
		job.licences = licences;
	}
	job.nice = chance(s, 20) ? (int32_t)pick(s, 500) : 0;
	id = world_submit_job(s->w, &job, uid);
	if (!id)
		return;
	s->uids[s->n_jobs] = uid;
	s->jobs[s->n_jobs++] = id;
}

/* --- the work so far ------------------------------------------------------------------------- */

static struct run_report report_of(struct state *s, const struct run_view *v, bool ended)
{
	struct run_report r = world_report(v->id, ended ? REPORT_ENDED : REPORT_RUNNING);

	r.start_time = v->start_time ? v->start_time : s->w->now.wall;
	if (ended) {
		r.end_time = s->w->now.wall;
		r.elapsed_us = (uint64_t)(r.end_time - r.start_time);
	}
	return r;
}

static void say_runs(struct state *s, uint64_t job, bool ended)
{
	struct run_view v;
	uint32_t rank = 0, n;

	while (core_job_run_next(s->w->core, job, &rank, s->w->now, &v)) {
		for (n = 0; n < s->n_nodes && strcmp(s->w->conf->nodes[n].name, v.node); n++)
			;
		world_apply(s->w, &(struct core_event){ .kind = EV_RUN_REPORT,
		                          .run = { .node = n,
		                                  .session = world_session(s->w, n),
		                                  .report = report_of(s, &v, ended) } });
	}
}

void state_end(struct state *s, uint64_t job)
{
	say_runs(s, job, true);
}

uint32_t state_uid(const struct state *s, uint64_t job)
{
	size_t i;

	for (i = 0; s->jobs[i] != job; i++)
		assert_true(i < s->n_jobs);
	return s->uids[i];
}

void state_pass(struct state *s, unsigned seconds)
{
	unsigned at;
	uint32_t n;

	for (at = 0; at < seconds; at += 10) {
		for (n = 0; n < s->n_nodes; n++) {
			struct core_event e = { .kind = EV_HEARTBEAT };

			e.agent.node = n;
			e.agent.session = world_session(s->w, n);
			world_apply(s->w, &e);
		}
		world_pass(s->w, 10);
	}
}

void state_go_on(struct state *s)
{
	size_t i;

	for (i = 0; i < s->n_jobs; i++) {
		struct job_view v;

		if (!core_job_view(s->w->core, s->jobs[i], s->w->now, &v) || v.ended)
			continue;
		if (!strcmp(v.state, "CONFIGURING"))
			say_runs(s, s->jobs[i], false);
		else if (!strcmp(v.state, "RUNNING") && v.time_limit_s &&
		         s->w->now.wall >= v.start_time + v.time_limit_s * (usec_t)1000000)
			say_runs(s, s->jobs[i], true);
	}
	world_schedule(s->w);
}

static void do_something(struct state *s)
{
	unsigned what = pick(s, 10);
	uint64_t job = s->n_jobs ? s->jobs[pick(s, (unsigned)s->n_jobs)] : 0;

	if (what < 6 || !job)
		draw_job(s);
	else if (what == 6)
		state_pass(s, 1 + pick(s, 300));
	else if (!strcmp(world_state(s->w, job), "CONFIGURING"))
		say_runs(s, job, false);
	else if (what == 9 && !strcmp(world_state(s->w, job), "RUNNING"))
		say_runs(s, job, true);
	world_schedule(s->w);
}

void state_make(struct state *s, uint64_t seed)
{
	unsigned i, steps;

	memset(s, 0, sizeof(*s));
	s->seed = seed;
	s->random = seed * 0x9e3779b97f4a7c15 + 1;
	s->text = xcalloc(TEXT, 1);
	draw_conf(s);
	print_conf(s);
	s->w = world_new(s->text);
	s->w->unchecked = true;
	for (i = 0; i < s->n_nodes; i++)
		world_register(s->w, i, "inc1", NULL, 0);
	if (chance(s, 25))
		world_node(s->w, NODE_DRAIN, pick(s, s->n_nodes), false);
	steps = 20 + pick(s, 60);
	for (i = 0; i < steps && s->n_jobs < STATE_JOBS; i++)
		do_something(s);
	world_pass(s->w, 2);
	world_clear(s->w);
}

void state_free(struct state *s)
{
	world_free(s->w);
	free(s->text);
}

/* --- other limits ---------------------------------------------------------------------------- */

static const char *name_of(const struct knob *k)
{
	return !strcmp(k->scope, "accounts")   ? account_names[k->index]
	       : !strcmp(k->scope, "qos")      ? qos_names[k->index]
	       : !strcmp(k->scope, "licences") ? licence_names[k->index]
	                                       : partition_names[k->index];
}

/* As blockers begin: "vision: limit h100:4, holds", "QOS high: limit 3 running jobs a user,",
 * "trt: 2 licences". */
static void say_knob(const struct knob *k, char *text, size_t size)
{
	static const struct {
		const char *key, *words;
	} words[] = { { "cpus", "CPUs" }, { "running", "running jobs" }, { "nodes", "nodes" } };
	const char *what = !strcmp(k->scope, "qos")          ? "QOS "
	                   : !strcmp(k->scope, "partitions") ? "partition "
	                                                     : "";
	char amount[40];
	size_t i;

	if (!strcmp(k->scope, "licences")) {
		snprintf(text, size, "%s: %u licence", name_of(k), k->value);
		return;
	}
	snprintf(amount, sizeof(amount), "%s:%u", k->type, k->value);
	for (i = 0; i < 3; i++) {
		if (!strcmp(k->key, words[i].key))
			snprintf(amount, sizeof(amount), "%u %.*s", k->value,
			        (int)strlen(words[i].words) - (k->value == 1), words[i].words);
	}
	snprintf(text, size, "%s%s: limit %s%s", what, name_of(k), amount,
	        strcmp(k->part, "per_user") ? ", " : " a user,");
}

struct knob *state_knob(struct state *s, const char *text)
{
	char start[120];
	size_t k;

	for (k = 0; k < s->n_knobs; k++) {
		say_knob(&s->knobs[k], start, sizeof(start));
		if (!strncmp(text, start, strlen(start)))
			return &s->knobs[k];
	}
	return NULL;
}

void state_reconfigure(struct state *s)
{
	print_conf(s);
	world_reconfigure(s->w, s->text);
}
