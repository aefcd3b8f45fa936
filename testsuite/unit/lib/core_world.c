/* core_world.c - see core_world.h */
#include "testsuite/unit/lib/core_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "common/job/reason.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/util/hash.h"

#define START_WALL ((usec_t)1800000000 * 1000000)
#define START_MONO ((usec_t)5000 * 1000000)

/* --- rows in memory -------------------------------------------------------------------------- */

struct kept {
	struct row row;
	char *bytes; /* owned, what the values point to */
};

struct rows {
	struct kept *v[TABLE_COUNT];
	size_t n[TABLE_COUNT], size[TABLE_COUNT];
};

static int compare_keys(const struct row *x, const struct row *y)
{
	size_t k, keys = row_keys(x->table);

	for (k = 0; k < keys; k++) {
		const struct value *a = &x->v[k], *b = &y->v[k];

		if (a->type == VALUE_INT) {
			if (a->i != b->i)
				return a->i < b->i ? -1 : 1;
		} else {
			size_t n = a->n < b->n ? a->n : b->n;
			int c = n ? memcmp(a->p, b->p, n) : 0;

			if (c || a->n != b->n)
				return c ? c : a->n < b->n ? -1 : 1;
		}
	}
	return 0;
}

/* Where the row is, or belongs. */
static size_t rows_seek(const struct rows *r, const struct row *row, bool *found)
{
	size_t low = 0, high = r->n[row->table];

	*found = false;
	while (low < high) {
		size_t mid = (low + high) / 2;
		int c = compare_keys(&r->v[row->table][mid].row, row);

		if (c == 0) {
			*found = true;
			return mid;
		}
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void keep(struct kept *k, const struct row *row)
{
	size_t used = 0, i;

	k->row = *row;
	k->bytes = xcalloc(row_bytes(row) + 1, 1);
	for (i = 0; i < row->n; i++) {
		struct value *v = &k->row.v[i];

		if (v->type == VALUE_INT)
			continue;
		if (v->n)
			memcpy(k->bytes + used, v->p, v->n);
		v->p = k->bytes + used;
		used += v->n;
	}
}

static void rows_put(struct rows *r, const struct row *row)
{
	enum row_table t = row->table;
	bool found;
	size_t i = rows_seek(r, row, &found);

	if (found) {
		free(r->v[t][i].bytes);
	} else {
		if (r->n[t] == r->size[t]) {
			r->size[t] = r->size[t] ? r->size[t] * 2 : 64;
			r->v[t] = xrealloc(r->v[t], r->size[t], sizeof(struct kept));
		}
		memmove(&r->v[t][i + 1], &r->v[t][i], (r->n[t] - i) * sizeof(struct kept));
		r->n[t]++;
	}
	keep(&r->v[t][i], row);
}

static bool rows_remove(struct rows *r, const struct row *row)
{
	enum row_table t = row->table;
	bool found;
	size_t i = rows_seek(r, row, &found);

	if (!found)
		return false;
	free(r->v[t][i].bytes);
	r->n[t]--;
	memmove(&r->v[t][i], &r->v[t][i + 1], (r->n[t] - i) * sizeof(struct kept));
	return true;
}

static void rows_free(struct rows *r)
{
	size_t t, i;

	for (t = 0; t < TABLE_COUNT; t++) {
		for (i = 0; i < r->n[t]; i++)
			free(r->v[t][i].bytes);
		free(r->v[t]);
	}
	free(r);
}

static void take_step(struct world *w, const struct row *row)
{
	const struct value *v = row->v;

	assert_int_equal(row->change, ROW_PUT);
	w->steps.n++;
	w->steps.job = (uint64_t)v[COL_STEP_job].i;
	w->steps.task = (uint32_t)v[COL_STEP_task].i;
	w->steps.attempt = (uint32_t)v[COL_STEP_attempt].i;
	w->steps.step = (uint32_t)v[COL_STEP_step].i;
	w->steps.end_time = v[COL_STEP_end_time].i;
	snprintf(w->steps.state, sizeof(w->steps.state), "%.*s", (int)v[COL_STEP_state].n,
	        (const char *)v[COL_STEP_state].p);
	snprintf(w->steps.name, sizeof(w->steps.name), "%.*s", (int)v[COL_STEP_name].n,
	        (const char *)v[COL_STEP_name].p);
}

static void take_audit(struct world *w, const struct value *v)
{
	const struct value *kind = &v[COL_EVENT_kind], *text = &v[COL_EVENT_text];

	w->audit_rows++;
	if (w->audit_kind && kind->n == strlen(w->audit_kind) &&
	        !memcmp(kind->p, w->audit_kind, kind->n))
		snprintf(w->audit_text, sizeof(w->audit_text), "%.*s", (int)text->n,
		        (const char *)text->p);
}

static void take_row(void *arg, const struct row *row)
{
	struct world *w = arg;

	if (row->table == TABLE_EVENT) {
		take_audit(w, row->v);
		return;
	}
	if (row->table == TABLE_STEP) {
		take_step(w, row);
		return;
	}
	if (row->change == ROW_PUT) {
		assert_int_equal(row->n, row_columns(row->table));
		rows_put(w->rows, row);
		return;
	}
	/* A whole row may go to history without having been here. */
	if (row->change != ROW_RETIRE || row->n != row_columns(row->table))
		assert_int_equal(row->n, row_keys(row->table));
	if (!rows_remove(w->rows, row) && row->change == ROW_RETIRE &&
	        row->n != row_columns(row->table))
		fail_msg("%s: retired and was never written", row_table_name(row->table));
	w->history_jobs += row->table == TABLE_JOB;
	w->history_runs += row->table == TABLE_RUN;
}

/* --- the core -------------------------------------------------------------------------------- */

static void check(struct world *w)
{
	struct error err;

	if (!w->unchecked && core_check(w->core, &err) < 0)
		fail_msg("invariant: %s", err.text);
}

static void load(struct world *w, struct core *core)
{
	struct error err;
	size_t t, i;

	for (t = 0; t < TABLE_COUNT; t++) {
		for (i = 0; i < w->rows->n[t]; i++) {
			if (core_load(core, &w->rows->v[t][i].row, &err) < 0)
				fail_msg("load: %s", err.text);
		}
	}
}

static void start(struct world *w)
{
	struct error err;

	w->core = core_new(w->conf, 42);
	load(w, w->core);
	if (core_start(w->core, w->now, &err) < 0)
		fail_msg("start: %s", err.text);
	if (w->search_step)
		sched_search_step(w->core->sched, w->search_step);
	if (core_check(w->core, &err) < 0)
		fail_msg("invariant after the start: %s", err.text);
}

static struct conf *parse(const char *text)
{
	struct conf_problems problems = { 0 };
	struct conf *conf = conf_parse(text, "test", &problems);

	if (!conf)
		fail_msg("configuration: %s", problems.v[0].text);
	conf_problems_clear(&problems);
	return conf;
}

struct world *world_new(const char *conf)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->conf = parse(conf);
	w->now = (struct clocks){ START_WALL, START_MONO };
	w->rows = xcalloc(1, sizeof(*w->rows));
	w->next_session = 1;
	start(w);
	return w;
}

struct world *world_simple(unsigned nodes, const char *gpus)
{
	char text[1024];

	snprintf(text, sizeof(text),
	        "cluster = \"test\"; controller = { host = \"h\"; };\n"
	        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; }, { name = \"l40s\"; mem = "
	        "\"48G\"; } );\n"
	        "nodes = ( { name = \"n[0-%u]\"; cpus = 8; mem = \"64G\"; %s%s%s } );\n"
	        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true;\n"
	        "  max_time = \"2-00:00:00\"; default_time = \"1:00:00\"; } );\n",
	        nodes - 1, *gpus ? "gpus = \"" : "", gpus, *gpus ? "\";" : "");
	return world_new(text);
}

void world_free(struct world *w)
{
	core_free(w->core);
	conf_free(w->conf);
	rows_free(w->rows);
	free(w->effects);
	free(w);
}

static void note_registered(struct world *w, const struct effect *e)
{
	size_t i;

	w->n_wanted = e->registered.n;
	for (i = 0; i < w->n_wanted && i < 64; i++)
		w->wanted[i] = e->registered.wanted[i];
}

static void note_submitted(struct world *w, const struct effect *e)
{
	size_t i;

	w->n_ids = e->submitted.n < 64 ? e->submitted.n : 64;
	for (i = 0; i < w->n_ids; i++) {
		w->ids[i] = e->submitted.ids[i];
		w->known[i] = e->submitted.known[i];
	}
	w->would_start = e->submitted.would_start_now;
	w->why[0] = '\0';
	if (e->submitted.why)
		snprintf(w->why, sizeof(w->why), "%s: %.50s", e->submitted.why->blockers[0].reason,
		        e->submitted.why->blockers[0].text);
	w->place = e->submitted.n_places ? e->submitted.places[0] : (struct test_place){ 0 };
	memset(&w->error, 0, sizeof(w->error));
}

static void note(struct world *w, const struct effect *e)
{
	switch (e->kind) {
	case EFFECT_REPLY:
		w->error = *e->error;
		break;
	case EFFECT_SUBMITTED:
		note_submitted(w, e);
		break;
	case EFFECT_CONTROLLED:
		w->done = e->controlled.done;
		memset(&w->error, 0, sizeof(w->error));
		if (e->controlled.n)
			w->error = e->controlled.errors[0].error;
		break;
	case EFFECT_CLOSE_AGENT:
		snprintf(w->close_text, sizeof(w->close_text), "%s", e->text);
		break;
	case EFFECT_REGISTERED:
		note_registered(w, e);
		break;
	default:
		break;
	}
}

static void collect(struct world *w)
{
	size_t n, i;
	const struct effect *v = core_effects(w->core, &n);

	for (i = 0; i < n; i++) {
		if (w->n_effects == w->effects_size) {
			w->effects_size = w->effects_size ? w->effects_size * 2 : 64;
			w->effects = xrealloc(w->effects, w->effects_size, sizeof(*w->effects));
		}
		if (v[i].change != core_change(w->core))
			fail_msg("an effect with change %llu, the core is at %llu",
			        (unsigned long long)v[i].change,
			        (unsigned long long)core_change(w->core));
		w->effects[w->n_effects++] = v[i];
		note(w, &v[i]);
		if (w->hook)
			w->hook(w->hook_arg, &v[i]);
	}
	core_effects_clear(w->core);
}

void world_apply(struct world *w, const struct core_event *event)
{
	core_apply(w->core, event, w->now);
	collect(w);
	check(w);
	if (w->settled)
		w->settled(w->hook_arg, false);
}

void world_schedule(struct world *w)
{
	bool more;

	do {
		more = core_schedule(w->core, w->now, w->settled ? 1 : 7);
		collect(w);
		check(w);
		if (w->settled)
			w->settled(w->hook_arg, true);
	} while (more && !(w->breaks_off && w->breaks_off(w->hook_arg)));
}

void world_search_step(struct world *w, size_t nodes)
{
	w->search_step = nodes;
	sched_search_step(w->core->sched, nodes);
}

void world_seal(struct world *w)
{
	struct core *other;
	struct error err;

	core_seal(w->core, take_row, w);
	assert_int_equal(core_dirty_bytes(w->core), 0);
	if (core_check(w->core, &err) < 0)
		fail_msg("invariant: %s", err.text);
	other = core_new(w->conf, 43);
	load(w, other);
	if (core_hash(other) != core_hash(w->core))
		fail_msg("a core loaded from the rows differs from the living one");
	core_free(other);
}

void world_crash(struct world *w)
{
	core_free(w->core);
	start(w);
}

void world_restart(struct world *w)
{
	world_seal(w);
	world_crash(w);
}

void world_again(struct world *w)
{
	struct run_report alive[64];
	struct job_view v;
	uint64_t ref = 0;
	size_t n = 0;

	for (; core_job_next(w->core, ref, w->now, &v); ref = v.ref) {
		if (strcmp(v.state, "CONFIGURING") != 0 && strcmp(v.state, "RUNNING") != 0)
			continue;
		alive[n] =
		        world_report((struct run_id){ v.id, *v.tasks ? (uint32_t)atoi(v.tasks) : 0,
		                             v.attempt, 0 },
		                REPORT_RUNNING);
		alive[n++].start_time = v.start_time ? v.start_time : w->now.wall;
	}
	world_restart(w);
	world_register(w, 0, "inc1", alive, n);
	world_schedule(w);
}

void world_pass(struct world *w, double seconds)
{
	usec_t until = w->now.mono + (usec_t)(seconds * 1e6), next;
	struct core_event e = { .kind = EV_CLOCK };

	do {
		next = core_next_timer(w->core);
		next = next > until ? until : next < w->now.mono ? w->now.mono : next;
		w->now.wall += next - w->now.mono;
		w->now.mono = next;
		world_apply(w, &e);
		world_schedule(w);
	} while (w->now.mono < until);
}

void world_reconfigure(struct world *w, const char *text)
{
	struct conf *old = w->conf;

	w->conf = parse(text);
	core_reconfigure(w->core, w->conf, w->now);
	collect(w);
	conf_free(old);
	check(w);
	if (w->settled)
		w->settled(w->hook_arg, false);
	world_schedule(w);
}

/* --- events ---------------------------------------------------------------------------------- */

struct caller world_user(uint32_t uid)
{
	return (struct caller){ .reply = 77, .uid = uid, .user = "ana", .host = "login1" };
}

struct caller world_admin(void)
{
	return (struct caller){ .reply = 77, .role = ROLE_ADMIN, .user = "root", .host = "head" };
}

static size_t parse_gpus(const char *text, struct gpu_request *v)
{
	static const char *const types[] = { "h100", "l40s", "h10", "1g", "3g", "any", "" };
	size_t n = 0, t;

	while (*text) {
		size_t len = strcspn(text, ":");

		for (t = 0; types[t][0]; t++) {
			if (strlen(types[t]) == len && !memcmp(types[t], text, len))
				break;
		}
		v[n].type = strcmp(types[t], "any") ? types[t] : "";
		v[n++].count = (uint32_t)strtoul(text + len + 1, (char **)&text, 10);
		text += *text == '|';
	}
	return n;
}

struct submit_job world_job(struct world *w, const char *gpus)
{
	struct submit_job job = { .name = "job",
		.partition = "",
		.account = "",
		.submit_host = "login1",
		.array = "",
		.cwd = "/home/ana",
		.output = "out",
		.error = "",
		.qos = "",
		.gid = 100,
		.cpus = 1,
		.max_attempts = 3,
		.requeue = true,
		.sign_time = w->now.wall };

	job.n_gpus = parse_gpus(gpus, job.gpus);
	w->next_nonce++;
	memcpy(job.nonce, &w->next_nonce, sizeof(w->next_nonce));
	job.spec_hash[3] = (uint8_t)w->next_nonce;
	return job;
}

uint64_t world_submit_job(struct world *w, const struct submit_job *job, uint32_t uid)
{
	struct core_event e = {
		.kind = EV_SUBMIT, .caller = world_user(uid), .submit = { .jobs = job, .n = 1 }
	};

	w->n_ids = 0;
	world_apply(w, &e);
	world_schedule(w);
	return w->n_ids ? w->ids[0] : 0;
}

uint64_t world_submit(struct world *w, const char *gpus)
{
	struct submit_job job = world_job(w, gpus);
	uint64_t id = world_submit_job(w, &job, 1000);

	if (!id)
		fail_msg("refused: %s", w->error.text);
	return id;
}

uint64_t world_register(struct world *w, uint32_t node, const char *incarnation,
        const struct run_report *runs, size_t n)
{
	struct core_event e = { .kind = EV_AGENT_UP };

	e.agent_up.node = node;
	e.agent_up.session = w->next_session++;
	e.agent_up.boot_id = "boot";
	e.agent_up.incarnation = incarnation;
	e.agent_up.version = "1";
	e.agent_up.containment = "none";
	e.agent_up.cpus = 8;
	e.agent_up.mem_mb = 65536;
	e.agent_up.runs = runs;
	e.agent_up.n_runs = n;
	world_apply(w, &e);
	world_schedule(w);
	return e.agent_up.session;
}

void world_register_all(struct world *w)
{
	uint32_t n;

	for (n = 0; n < w->conf->n_nodes; n++)
		world_register(w, n, "inc1", NULL, 0);
}

uint64_t world_session(struct world *w, uint32_t node)
{
	struct node_view v;

	return core_node_view(w->core, node, w->now, &v) ? v.session : 0;
}

void world_gone(struct world *w, uint32_t node)
{
	struct core_event e = { .kind = EV_AGENT_GONE };

	e.agent.node = node;
	e.agent.session = world_session(w, node);
	world_apply(w, &e);
	world_schedule(w);
}

struct run_report world_report(struct run_id id, enum run_report_state state)
{
	return (struct run_report){ .run = id,
		.state = state,
		.detail = "",
		.incarnation = "inc1",
		.gpu_type = "",
		.epoch = 1,
		.uid = 1000,
		.cause = state == REPORT_ENDED ? END_EXIT : END_NONE };
}

void world_say(struct world *w, uint32_t node, struct run_report report)
{
	struct core_event e = { .kind = EV_RUN_REPORT };

	e.run.node = node;
	e.run.session = world_session(w, node);
	e.run.report = report;
	world_apply(w, &e);
	world_schedule(w);
}

uint32_t world_control(struct world *w, struct caller by, enum job_verb verb, uint64_t id)
{
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = by,
		.job = { .verb = verb, .ids = &id, .n = 1, .reason = "", .signal = 10 } };

	world_apply(w, &e);
	world_schedule(w);
	return w->done;
}

uint32_t world_control_tasks(
        struct world *w, struct caller by, enum job_verb verb, uint64_t id, const char *tasks)
{
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = by,
		.job = { .verb = verb, .ids = &id, .n = 1, .reason = "", .signal = 10 } };
	struct taskset set;
	const struct taskset *sets[1] = { &set };

	assert_int_equal(taskset_parse(tasks, &set, NULL), 0);
	e.job.tasks = sets;
	world_apply(w, &e);
	world_schedule(w);
	taskset_clear(&set);
	return w->done;
}

int world_node(struct world *w, enum node_verb verb, uint32_t node, bool confirmed_off)
{
	struct core_event e = { .kind = EV_NODE_CONTROL,
		.caller = world_admin(),
		.node = { .verb = verb,
		        .nodes = &node,
		        .n = 1,
		        .reason = "maintenance",
		        .confirmed_off = confirmed_off } };

	world_apply(w, &e);
	world_schedule(w);
	return w->error.code;
}

void world_run_starts(struct world *w, uint64_t job)
{
	struct run_report r = world_report(world_run(w, job), REPORT_STARTING);

	world_say(w, world_node_of(w, job), r);
	r.state = REPORT_RUNNING;
	r.start_time = w->now.wall;
	world_say(w, world_node_of(w, job), r);
}

void world_run_ends(struct world *w, uint64_t job, uint32_t code)
{
	struct run_report r = world_report(world_run(w, job), REPORT_ENDED);

	r.exit_code = code;
	r.end_time = w->now.wall;
	r.start_time = world_view(w, job).start_time;
	if (!r.start_time)
		r.start_time = r.end_time;
	r.elapsed_us = (uint64_t)(r.end_time - r.start_time);
	world_say(w, world_node_of(w, job), r);
}

/* --- looking --------------------------------------------------------------------------------- */

struct job_view world_view(struct world *w, uint64_t job)
{
	struct job_view v = { .state = "none", .reason = "none" };

	core_job_view(w->core, job, w->now, &v);
	assert_true(!*v.reason || !strcmp(v.state, "none") || reason_known(v.reason));
	return v;
}

struct job_view world_task_view(struct world *w, uint64_t job, uint32_t task)
{
	struct job_view v;

	if (!core_job_view(w->core, core_task_ref(job, task), w->now, &v))
		fail_msg("no task %llu_%u", (unsigned long long)job, task);
	return v;
}

const char *world_state(struct world *w, uint64_t job)
{
	return world_view(w, job).state;
}

const char *world_reason(struct world *w, uint64_t job)
{
	return world_view(w, job).reason;
}

struct run_id world_run(struct world *w, uint64_t job)
{
	return (struct run_id){ job, 0, world_view(w, job).attempt, 0 };
}

uint32_t world_node_of(struct world *w, uint64_t job)
{
	const char *name = world_view(w, job).node;
	uint32_t n;

	for (n = 0; n < w->conf->n_nodes; n++) {
		if (!strcmp(w->conf->nodes[n].name, name))
			return n;
	}
	return UINT32_MAX;
}

const struct effect *world_effect(const struct world *w, enum effect_kind kind)
{
	size_t i;

	for (i = w->n_effects; i > 0; i--) {
		if (w->effects[i - 1].kind == kind)
			return &w->effects[i - 1];
	}
	return NULL;
}

size_t world_effect_count(const struct world *w, enum effect_kind kind)
{
	size_t i, n = 0;

	for (i = 0; i < w->n_effects; i++)
		n += w->effects[i].kind == kind;
	return n;
}

void world_clear(struct world *w)
{
	w->n_effects = 0;
}

struct node_view world_node_view(struct world *w, uint32_t n)
{
	struct node_view v;

	assert_true(core_node_view(w->core, n, w->now, &v));
	return v;
}

uint64_t world_running(struct world *w, bool requeue)
{
	struct submit_job job = world_job(w, "h100:4");
	uint64_t id;

	job.requeue = requeue;
	world_register(w, 0, "inc1", NULL, 0);
	id = world_submit_job(w, &job, 1000);
	assert_true(id);
	world_run_starts(w, id);
	assert_string_equal(world_state(w, id), "RUNNING");
	return id;
}

struct run_report world_alive(struct world *w, uint64_t id)
{
	struct run_report r = world_report(world_run(w, id), REPORT_RUNNING);

	r.gpus = 0xf;
	r.cpus = 1;
	return r;
}
