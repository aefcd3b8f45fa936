/* fuzz_stall.c - no request takes the loop long, in a state that users made hard
 *
 * A core in a hostile state is built once: fragmented arrays, one of which thousands run, jobs
 * that wait for hundreds of others, a thousand classes under quotas, gangs, a full cluster. An
 * input is a list of choices of which requests are made: controls and updates by filters,
 * listings, questions, submits; between them runs end, nodes come and go, time passes. Each goes
 * through the decoder and is then done piece by piece, as ctld/rpc does; a piece is what the loop
 * does without looking at its sockets.
 *
 * FUZZ_STALL_MS=N judges: an input with a piece of more than N ms of processor time is tried again
 * in fresh states, and fails when it takes as long each time. Without it no time is judged, so that
 * `make check` does not depend on the machine; `make fuzz` sets it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/xalloc.h"
#include "common/conf/conf.h"
#include "common/net/msg.h"
#include "common/net/signedjob.h"
#include "ctld/core/core.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/loop/slice.h"
#include "ctld/rpc/call/job_filter.h"
#include "ctld/wire/convert.h"
#include "testsuite/fuzz/fuzz.h"

#define NODES      400
#define USERS      10
#define ARRAYS     4
#define EDGES      500 /* jobs that wait for TERMS others */
#define TERMS      500
#define CLASSES    2000
#define RUNNING    "0-4999" /* tasks, each with a run */
#define REQUESTS   12 /* of one input */
#define STEPS      300 /* of the scheduler, after each */
#define PIECES     200 /* of one request */
#define RESET      32  /* inputs after which the state is made anew */
#define EVENT_WORK 256
#define CHOSEN_MAX 200
#define FOUND_MAX  16
#define TEXT_MAX   60000
#define TRIES      3
#define WALL       ((usec_t)1800000000 * 1000000)

static const char conf_text[] =
        "cluster = \"fuzz\";\n"
        "controller = { host = \"h\"; node_timeout = \"1-00:00:00\"; max_jobs = 1000000; };\n"
        "gpu_types = ( { name = \"h100\"; } );\n"
        "nodes = ( { name = \"n[0-399]\"; cpus = 64; mem = \"512G\"; gpus = \"h100:8\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true;\n"
        "\tdefault_time = \"1:00:00\"; preempt_mode = \"requeue\"; min_run = \"0s\"; } );\n"
        "accounts = ( { name = \"root\"; quota = { guaranteed = \"h100:3200\"; }; },\n"
        "\t{ name = \"a\"; parent = \"root\"; members = [ \"u0\", \"u1\", \"u2\", \"u3\", \"u4\" ];\n"
        "\t  quota = { guaranteed = \"h100:1200\"; }; },\n"
        "\t{ name = \"b\"; parent = \"root\"; members = [ \"*\" ];\n"
        "\t  quota = { guaranteed = \"h100:1600\"; }; } );\n";

static struct conf *conf;
static struct core *core;
static struct clocks now;
static struct arena *arena, *made; /* what was decoded; what is built of the input */
static uint64_t last_id, nonce;

/* --- judging ---------------------------------------------------------------------------------- */

static usec_t worst;
static const char *worst_what;

static void took(const char *what, usec_t since)
{
	usec_t us = thread_cpu_time() - since;

	if (us > worst) {
		worst = us;
		worst_what = what;
	}
}

#define PIECE(what, ...)                           \
	do {                                       \
		usec_t since_ = thread_cpu_time(); \
		__VA_ARGS__;                       \
		took(what, since_);                \
	} while (0)

/* --- the choices ------------------------------------------------------------------------------ */

struct choices {
	const uint8_t *p;
	size_t n;
};

static uint32_t byte(struct choices *in)
{
	if (!in->n)
		return 0;
	in->n--;
	return *in->p++;
}

static uint32_t below(struct choices *in, uint32_t n)
{
	uint32_t v = byte(in);

	if (n > 256)
		v = v << 16 | byte(in) << 8 | byte(in);
	return v % n;
}

/* Few, or very many. */
static uint32_t many(struct choices *in, uint32_t most)
{
	uint32_t n = 1u << byte(in) % 14;

	return n < most ? n : most;
}

static void *make(size_t size)
{
	void *p = arena_alloc(made, size ? size : 1);

	FUZZ_CHECK(p);
	memset(p, 0, size ? size : 1);
	return p;
}

/* A set of tasks of as many ranges as the choices say. */
static char *tasks_text(struct choices *in)
{
	uint32_t n = many(in, 5000), at = below(in, 20000), step = 1 + byte(in) % 4, by = byte(in), i;
	char *text = make(TEXT_MAX + 64);
	size_t used = 0;

	for (i = 0; i < n && used < TEXT_MAX; i++, at += step) {
		used += (size_t)sprintf(text + used, "%s%u", i ? "," : "", at);
		if (by & 1)
			used += (size_t)sprintf(text + used, "-899999:%u", 1 + by * 7);
		else if (by & 2)
			used += (size_t)sprintf(text + used, "-%u", at + by % 8);
	}
	return text;
}

static const char *const names[] = { "job", "x", "edge" };
static const char *const users[] = { "u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "u9" };
static const char *const states[] = { "PENDING", "R", "CANCELLED", "CD", "CONFIGURING" };
static const char *const hosts[] = { "n[0-399]", "n7", "n[0-98]", "n[1-3,7-9,15]" };
static const char *const accounts[] = { "a", "b", "root" };

#define WORDS(in, v, n, of, most) words(in, &(v), &(n), of, sizeof(of) / sizeof(*(of)), most)

static void words(struct choices *in, char ***v, size_t *n, const char *const *of, uint32_t n_of,
        uint32_t most)
{
	uint32_t i, count = many(in, most);

	*v = make(count * sizeof(char *));
	for (i = 0; i < count; i++)
		(*v)[i] = (char *)(uintptr_t)of[(i < 4 ? byte(in) : i) % n_of];
	*n = count;
}

static Gpusched__JobFilter *filter_of(struct choices *in)
{
	Gpusched__JobFilter *f = make(sizeof(*f));
	uint32_t what = byte(in) & byte(in), n, i;

	gpusched__job_filter__init(f);
	if (what & 1) {
		n = many(in, 8192);
		f->ids = make(n * sizeof(*f->ids));
		for (i = 0; i < n; i++)
			f->ids[i] = 1 + (i < 64 ? below(in, (uint32_t)last_id + 2) : i * 7919 % last_id);
		f->n_ids = n;
	}
	if (what & 2) {
		n = many(in, 64);
		f->tasks = make(n * sizeof(*f->tasks));
		for (i = 0; i < n; i++) {
			f->tasks[i] = make(sizeof(**f->tasks));
			gpusched__job_tasks__init(f->tasks[i]);
			f->tasks[i]->job = 1 + byte(in) % (ARRAYS + 2); /* one that runs, too */
			f->tasks[i]->tasks = i < 4 ? tasks_text(in) : f->tasks[i % 4]->tasks;
		}
		f->n_tasks = n;
	}
	if (what & 4)
		WORDS(in, f->users, f->n_users, users, 1024);
	if (what & 8)
		WORDS(in, f->states, f->n_states, states, 64);
	if (what & 16)
		WORDS(in, f->names, f->n_names, names, 1024);
	if (what & 32)
		WORDS(in, f->nodes, f->n_nodes, hosts, 32);
	if (what & 64)
		WORDS(in, f->accounts, f->n_accounts, accounts, 1024);
	f->include_ended = what & 128;
	return f;
}

static char *dependency_of(struct choices *in)
{
	static const char *const kinds[] = { "afterany", "afterok", "after", "aftercorr", "afternotok" };
	uint32_t n = many(in, 1000), first = below(in, (uint32_t)last_id), step = 1 + byte(in) % 5, i;
	char *text = make(TEXT_MAX + 64);
	size_t used = (size_t)sprintf(text, "%s", kinds[byte(in) % 5]);

	for (i = 0; i < n && used < TEXT_MAX; i++)
		used += (size_t)snprintf(text + used, 32, ":%u", 1 + (first + i * step) % (uint32_t)last_id);
	return text;
}

static Gpusched__JobRequest *request_of(struct choices *in)
{
	Gpusched__JobRequest *r = make(sizeof(*r));
	uint32_t what = byte(in), n = byte(in) % 3, i;

	gpusched__job_request__init(r);
	r->gpus = make(n * sizeof(*r->gpus));
	for (i = 0; i < n; i++) {
		r->gpus[i] = make(sizeof(**r->gpus));
		gpusched__gpu_count__init(r->gpus[i]);
		r->gpus[i]->type = (char *)(uintptr_t)(byte(in) % 2 ? "h100" : "");
		r->gpus[i]->count = 1 + byte(in) % 64;
	}
	r->n_gpus = n;
	r->cpus = 1 + byte(in) % 64;
	r->mem_mb = 1 + below(in, 100000);
	r->time_limit_s = 60 * below(in, 100000);
	r->hold = what & 1;
	r->gpus_per_node = what & 2;
	if (what & 4)
		r->nodes_min = 1 + byte(in) % NODES;
	if (what & 8)
		r->nodes_max = r->nodes_min + byte(in) % NODES;
	if (what & 16)
		r->dependency = dependency_of(in);
	if (what & 32)
		r->nodelist = (char *)(uintptr_t)hosts[byte(in) % 4];
	if (what & 64)
		r->exclude = (char *)(uintptr_t) "n[0-98]";
	r->exclusive = what & 128;
	r->nice = (int32_t)(byte(in) % 100);
	return r;
}

/* --- through the decoder ---------------------------------------------------------------------- */

static uint8_t *packed(const ProtobufCMessage *m, size_t *n)
{
	uint8_t *bytes = make(*n = protobuf_c_message_get_packed_size(m));

	protobuf_c_message_pack(m, bytes);
	return bytes;
}

static const ProtobufCMessage *decoded(unsigned type, const ProtobufCMessage *m)
{
	const ProtobufCMessage *got;
	uint8_t *bytes;
	size_t n;

	bytes = packed(m, &n);
	PIECE("decode", got = n > 65536 ? NULL : msg_unpack(type, bytes, n, arena, NULL));
	return got;
}

/* --- the core --------------------------------------------------------------------------------- */

static struct caller caller(struct choices *in)
{
	uint32_t who = byte(in) % USERS;

	return (struct caller){ .reply = 1,
		.uid = 1000 + who,
		.role = byte(in) % 8 ? ROLE_USER : ROLE_ADMIN,
		.user = users[who],
		.host = "h" };
}

static void apply(const char *what, const struct core_event *e)
{
	PIECE(what, core_apply(core, e, now));
}

static void drop_row(void *arg, const struct row *row)
{
	(void)arg;
	(void)row;
}

static void schedule(unsigned steps)
{
	bool more = true;

	while (more && steps--) {
		PIECE("schedule", more = core_schedule(core, now, 16));
		core_effects_clear(core);
	}
	if (core_dirty_bytes(core) > (1 << 20) || nonce % 8 == 0)
		PIECE("seal", core_seal(core, drop_row, NULL));
}

static void pass(usec_t us)
{
	now.mono += us;
	now.wall += us;
	if (core_next_timer(core) <= now.mono) {
		struct core_event e = { .kind = EV_CLOCK };

		apply("clock", &e);
		core_effects_clear(core);
	}
}

/* What is done to next: refs, and which tasks of them. */
struct chosen {
	uint64_t ids[CHOSEN_MAX];
	const struct taskset *tasks[CHOSEN_MAX];
	size_t n, next; /* next: of those that are named */
};

/* False: these are the last. */
static bool choose(const struct filter *f, struct filter_walk *walk, struct chosen *out)
{
	struct slice slice = slice_begin(SLICE_US);
	struct job_view view;
	size_t n;
	const struct filter_named *named = filter_only_named(f, &n);
	int found = 1;

	for (out->n = 0; named && out->n < CHOSEN_MAX && out->next < n; out->n++, out->next++) {
		out->ids[out->n] = named[out->next].id;
		out->tasks[out->n] = named[out->next].some ? &named[out->next].tasks : NULL;
	}
	if (named)
		return out->next < n;
	while (out->n < FOUND_MAX && (found = filter_next(f, walk, core, now, &slice, &view)) > 0) {
		out->tasks[out->n] = NULL;
		out->ids[out->n++] = view.ref;
	}
	return found != 0;
}

/* As ctld/rpc/jobs/control.c. */
static void control(const Gpusched__JobControl *m, struct caller by)
{
	struct core_event e = { .kind = EV_JOB_CONTROL, .caller = by };
	struct filter_walk walk = { .brief = true };
	struct chosen chosen = { .n = 0 };
	struct filter *f = NULL;
	struct error err;
	unsigned pieces = 0;
	bool more = true;

	if (wire_job_control(m, arena, &e, &err) < 0)
		return;
	PIECE("filter", f = filter_new(m->filter, conf, &err));
	while (f && more && pieces++ < PIECES) {
		size_t at = 0;

		e.job.walk = (struct array_walk){ 0 };
		PIECE("find", more = choose(f, &walk, &chosen));
		while (at < chosen.n && pieces++ < PIECES) {
			const struct effect *effects;
			size_t n_effects;

			e.job.ids = chosen.ids + at;
			e.job.tasks = chosen.tasks + at;
			e.job.n = chosen.n - at;
			e.job.most = EVENT_WORK;
			apply("control", &e);
			effects = core_effects(core, &n_effects);
			if (!n_effects || effects[n_effects - 1].kind != EFFECT_CONTROLLED) {
				at = chosen.n;
			} else {
				at += effects[n_effects - 1].controlled.at;
				e.job.walk = effects[n_effects - 1].controlled.walk;
			}
			core_effects_clear(core);
		}
	}
	filter_free(f);
}

static void control_tasks(uint64_t id, const char *text, enum job_verb verb)
{
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = { .reply = 1, .uid = 0, .role = ROLE_ADMIN, .user = "root", .host = "h" },
		.job = { .verb = verb, .ids = &id, .n = 1 } };
	const struct taskset *some;
	size_t steps = TASKSET_STEPS_MAX;
	struct taskset set;
	struct error err;

	FUZZ_CHECK(taskset_parse_some(text, &set, &steps, &err) == 0);
	some = &set;
	e.job.tasks = &some;
	core_apply(core, &e, now);
	core_effects_clear(core);
	taskset_clear(&set);
}

/* As ctld/rpc/jobs/list_jobs.c. */
static void list(const Gpusched__ListJobs *m)
{
	struct filter_walk walk = { 0 };
	struct filter *f = NULL;
	struct job_view view;
	struct error err;
	unsigned pieces = 0;
	int found = 1;

	PIECE("filter", f = filter_new(m->filter, conf, &err));
	while (f && found && pieces++ < PIECES) {
		struct slice slice = slice_begin(SLICE_US);

		PIECE("list", while ((found = filter_next(f, &walk, core, now, &slice, &view)) > 0));
	}
	filter_free(f);
}

static void submit(const Gpusched__JobRequest *r, const char *array, struct caller by, bool test_only)
{
	Gpusched__SignedSpec m = GPUSCHED__SIGNED_SPEC__INIT;
	struct core_event e = { .kind = EV_SUBMIT, .caller = by, .submit = { .n = 1, .test_only = test_only } };
	const Gpusched__JobRequest *request;
	const Gpusched__SignedSpec *spec;
	struct signedjob_hash hash;
	struct submit_job job;
	const struct effect *effects;
	uint8_t *bytes, token[16] = { 0 };
	struct error err;
	size_t n;

	nonce++;
	memcpy(token, &nonce, sizeof(nonce));
	m.version = m.tasks_per_node = m.max_attempts = 1;
	m.cluster = (char *)(uintptr_t) "fuzz";
	m.nonce = (ProtobufCBinaryData){ sizeof(token), token };
	m.uid = m.gid = by.uid;
	m.name = (char *)(uintptr_t) "job";
	m.cwd = m.output = (ProtobufCBinaryData){ 1, (uint8_t *)(uintptr_t) "/" };
	m.array = (char *)(uintptr_t)array;
	bytes = packed(&m.base, &n);
	hash = signedjob_hash(bytes, n);
	spec = (const void *)msg_unpack_desc(&gpusched__signed_spec__descriptor, bytes, n, MSG_STRICT, arena, NULL);
	bytes = packed(&r->base, &n);
	request = (const void *)msg_unpack_desc(&gpusched__job_request__descriptor, bytes, n, MSG_STRICT, arena, NULL);
	if (!spec || !request ||
	        wire_submit_job(request, spec, &hash, now.wall / 1000000, arena, &job, &err) < 0)
		return;
	e.submit.jobs = &job;
	apply(test_only ? "test-only" : "submit", &e);
	effects = core_effects(core, &n);
	if (n && effects[n - 1].kind == EFFECT_SUBMITTED && !test_only && effects[n - 1].submitted.ids[0] > last_id)
		last_id = effects[n - 1].submitted.ids[0];
	core_effects_clear(core);
}

static void why(uint64_t ref)
{
	struct job_why said;

	PIECE("why", core_job_why(core, ref, now, &said));
}

static void agent_up(uint32_t node, uint64_t session)
{
	struct core_event e = { .kind = EV_AGENT_UP,
		.agent_up = { .node = node,
		        .session = session,
		        .boot_id = "b",
		        .incarnation = "i",
		        .version = "1",
		        .containment = "none",
		        .cpus = 64,
		        .mem_mb = 512 * 1024 } };

	core_apply(core, &e, now);
	core_effects_clear(core);
}

static void end_runs(struct choices *in, uint32_t n)
{
	struct core_event e = { .kind = EV_RUN_REPORT };
	size_t all;
	struct run **runs = runs_sorted(core->runs, &all);

	for (; n && all; n--) {
		const struct run *run = runs[below(in, (uint32_t)all)];

		if (run_over(run) || !run_link_of(run)->node)
			continue;
		e.run.node = node_link(run_link_of(run)->node)->index;
		e.run.session = node_link(run_link_of(run)->node)->session;
		e.run.report = (struct run_report){ .run = run_info(run)->id,
			.state = REPORT_ENDED,
			.cause = END_EXIT,
			.exit_code = byte(in) % 2,
			.detail = "",
			.incarnation = "i",
			.gpu_type = "" };
		apply("end", &e);
		core_effects_clear(core);
		free(runs);
		runs = runs_sorted(core->runs, &all);
	}
	free(runs);
}

/* --- the state -------------------------------------------------------------------------------- */

static void plain(uint32_t user, uint32_t gpus, bool hold, uint64_t mem_mb, char *dependency, const char *array,
        uint32_t minutes)
{
	const uint8_t who[] = { (uint8_t)user, 1 };
	struct choices in = { who, 2 };
	Gpusched__JobRequest r = GPUSCHED__JOB_REQUEST__INIT;
	Gpusched__GpuCount count = GPUSCHED__GPU_COUNT__INIT, *counts[] = { &count };

	arena_reset(made, 64 << 20);
	arena_reset(arena, 64 << 20);
	count.type = (char *)(uintptr_t) "h100";
	count.count = gpus;
	r.gpus = counts;
	r.n_gpus = gpus > 0;
	r.cpus = 1;
	r.mem_mb = mem_mb;
	r.hold = hold;
	r.time_limit_s = 60 * minutes;
	if (gpus > 8)
		r.nodes_min = r.nodes_max = gpus / 8;
	if (dependency)
		r.dependency = dependency;
	submit(&r, array, caller(&in), false);
}

static char *odd_text(uint32_t n)
{
	char *text = xcalloc(n + 1, 8);
	size_t used = 0;

	for (uint32_t i = 0; i < n; i++)
		used += (size_t)sprintf(text + used, "%s%u", i ? "," : "", 2 * i + 1);
	return text;
}

static void build(void)
{
	struct conf_problems problems = { 0 };
	char *odd = odd_text(2000), *terms = xcalloc(TERMS + 2, 12);
	struct error err;
	size_t used;
	uint32_t i;

	core_free(core);
	if (!conf)
		conf = conf_parse(conf_text, "fuzz", &problems);
	FUZZ_CHECK(conf);
	conf_problems_clear(&problems);
	arena = arena ? arena : arena_new(0);
	made = made ? made : arena_new(0);
	now = (struct clocks){ .wall = WALL, .mono = 1000000000 };
	last_id = nonce = 0;
	core = core_new(conf, 1);
	FUZZ_CHECK(core_start(core, now, &err) == 0);
	for (i = 0; i < NODES; i++)
		agent_up(i, 1 + i);
	for (i = 0; i < ARRAYS; i++) {
		plain(i, 1, true, 1024, NULL, "0-899999", 10);
		control_tasks(last_id, odd, JOB_CANCEL);
	}
	plain(0, 0, false, 1024, NULL, RUNNING, 500);
	for (i = 0; i < NODES * 8; i++)
		plain(i % USERS, 1, false, 1024, NULL, "", 10 + i % 500);
	schedule(UINT32_MAX);
	used = (size_t)sprintf(terms, "afterany");
	for (i = 0; i < TERMS; i++) {
		plain(i % USERS, 1, true, 1024, NULL, "", 10);
		used += (size_t)sprintf(terms + used, ":%u", (uint32_t)last_id);
	}
	for (i = 0; i < EDGES; i++)
		plain(i % USERS, 1, false, 1024, terms, "", 10);
	for (i = 0; i < CLASSES; i++)
		plain(i % USERS, i % 20 ? 1 + i % 8 : 32, false, 1024 + i, NULL, "", 1 + i % 100);
	schedule(UINT32_MAX);
	free(odd);
	free(terms);
}

/* --- an input --------------------------------------------------------------------------------- */

static void do_control(struct choices *in)
{
	Gpusched__JobControl m = GPUSCHED__JOB_CONTROL__INIT;
	const ProtobufCMessage *got;
	uint32_t i, n = byte(in) % 4;

	m.verb = (Gpusched__JobControl__Verb)(1 + byte(in) % 10);
	m.signal = 10;
	m.filter = filter_of(in);
	m.change = request_of(in);
	m.fields = make(n * sizeof(*m.fields));
	for (i = 0; i < n; i++)
		m.fields[i] = (Gpusched__JobControl__Field)(1 + byte(in) % 34);
	m.n_fields = n;
	got = decoded(GPUSCHED__MSG_TYPE__MSG_JOB_CONTROL, &m.base);
	if (got)
		control((const void *)got, caller(in));
}

static void do_list(struct choices *in)
{
	Gpusched__ListJobs m = GPUSCHED__LIST_JOBS__INIT;
	const ProtobufCMessage *got;

	m.filter = filter_of(in);
	got = decoded(GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &m.base);
	if (got)
		list((const void *)got);
}

static void do_submit(struct choices *in)
{
	const char *array = byte(in) % 4 ? "" : tasks_text(in);

	submit(request_of(in), array, caller(in), byte(in) % 2);
}

static void do_why(struct choices *in)
{
	why(1 + below(in, (uint32_t)last_id));
	why(core_task_ref(1 + byte(in) % ARRAYS, below(in, 5000)));
}

static void do_runs(struct choices *in)
{
	end_runs(in, many(in, 64));
}

static void do_node(struct choices *in)
{
	uint32_t node = below(in, NODES);
	struct core_event e = { .kind = EV_NODE_CONTROL,
		.caller = { .role = ROLE_ADMIN, .user = "root", .host = "h" },
		.node = { .verb = (enum node_verb)(1 + byte(in) % 4), .nodes = &node, .n = 1, .reason = "fuzz" } };

	apply("node", &e);
	core_effects_clear(core);
}

static void do_time(struct choices *in)
{
	pass((usec_t)1 << byte(in) % 36);
}

static void run_input(const uint8_t *data, size_t size)
{
	static void (*const requests[])(struct choices *) = { do_control, do_list, do_submit, do_why, do_runs,
		do_node, do_time, do_control };
	struct choices in = { data, size };
	unsigned n;

	for (n = 0; n < REQUESTS && in.n; n++) {
		arena_reset(made, 64 << 20);
		arena_reset(arena, 64 << 20);
		requests[byte(&in) % (sizeof(requests) / sizeof(*requests))](&in);
		schedule(STEPS);
		pass(10000);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned inputs;
	const char *bound = getenv("FUZZ_STALL_MS");
	usec_t most = bound && *bound ? strtol(bound, NULL, 10) * 1000 : INT64_MAX;
	struct error err;
	unsigned tries;

	if (inputs++ % RESET == 0)
		build();
	worst = 0;
	run_input(data, size);
	for (tries = 0; worst > most && tries < TRIES; tries++) {
		build();
		worst = 0;
		run_input(data, size);
	}
	if (worst > most)
		fprintf(stderr, "%s: %.1f ms of processor time, each time\n", worst_what, (double)worst / 1000);
	FUZZ_CHECK(worst <= most);
	if (inputs % RESET == 0)
		FUZZ_CHECK(core_check(core, &err) == 0);
	return 0;
}
