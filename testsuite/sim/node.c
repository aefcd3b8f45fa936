/* node.c - see node.h */
#include "testsuite/sim/node.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/frame.h"
#include "common/msg.h"
#include "common/signedjob.h"
#include "common/xalloc.h"
#include "noded/convert.h"
#include "noded/core/agent.h"

enum { SIGNAL_KILL = 9, SIGNAL_TERM = 15 };

/* A run's record: what the launcher and its shepherd know. */
struct record {
	struct run_report report; /* strings: the two below, or constants */
	char incarnation[48], gpu_type[64], detail[160];
	uint64_t serial; /* tells this record from a later one in the same place */
	usec_t began;    /* mono */
	usec_t ended;    /* mono; for what survives a reboot */
	bool ignores_term;
	uint32_t limit_s;
	struct record *next;
};

/* How often a signature was used here: as noded/uses.h. */
struct use {
	uint32_t uid, n;
	uint8_t nonce[SIGNEDJOB_NONCE_LEN];
	struct use *next;
};

struct sim_node {
	struct sim_node_options o;
	struct agent *agent; /* NULL: the agent is down */
	unsigned life;       /* grows with each start of the agent */
	unsigned boots;
	uint64_t link;
	bool on; /* has power */
	char incarnation[48], boot_id[32];
	uint64_t max_epoch, max_job, serial;
	struct record *records;
	struct use *uses; /* on disk: outlives boots */
	struct convert *convert;
	struct arena *arena;
	usec_t last_tell; /* the launcher's reports stay in order */
	usec_t timer;     /* the earliest AGENT_CLOCK that is under way */
};

/* Something for an agent's life, and for no later one. */
struct told {
	unsigned life, boots;
	uint64_t serial;
	struct run_report report;
	char incarnation[48], gpu_type[64], detail[160];
	uint32_t signal;
	enum end_cause cause;
};

static void carry_out(struct sim_node *n);
static void apply(struct sim_node *n, struct agent_event *ev);

void sim_program(uint64_t job, uint32_t *code, uint32_t *signal)
{
	uint64_t h = job * 0x9e3779b97f4a7c15u >> 32;

	*code = h % 4 == 1 ? (uint32_t)(h / 4 % 255 + 1) : 0;
	*signal = h % 16 == 2 ? 11 : 0;
	if (*signal)
		*code = 0;
}

/* --- the stand-in launcher ------------------------------------------------------------------- */

static struct record *record_find(struct sim_node *n, struct run_id id)
{
	struct record *r = n->records;

	while (r && (r->report.run.job != id.job || r->report.run.task != id.task ||
	                    r->report.run.attempt != id.attempt))
		r = r->next;
	return r;
}

static struct record *record_new(struct sim_node *n, struct run_id id)
{
	struct record *r = xcalloc(1, sizeof(*r));

	r->report.run = id;
	r->report.incarnation = r->incarnation;
	r->report.gpu_type = r->gpu_type;
	r->report.detail = r->detail;
	r->serial = ++n->serial;
	r->next = n->records;
	n->records = r;
	return r;
}

static void record_free(struct sim_node *n, struct record *r)
{
	struct record **at = &n->records;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	free(r);
}

static struct run_report told_report(struct told *t)
{
	struct run_report report = t->report;

	report.incarnation = t->incarnation;
	report.gpu_type = t->gpu_type;
	report.detail = t->detail;
	return report;
}

static void launcher_says(void *arg, void **own)
{
	struct sim_node *n = arg;
	struct told *t = *own;
	struct agent_event ev = { .kind = AGENT_LAUNCHER_RUN };

	if (!n->agent || t->life != n->life)
		return;
	ev.report = told_report(t);
	apply(n, &ev);
}

static struct told *told_new(const struct sim_node *n, const struct record *r)
{
	struct told *t = xcalloc(1, sizeof(*t));

	t->life = n->life;
	t->boots = n->boots;
	t->serial = r->serial;
	t->report = r->report;
	memcpy(t->incarnation, r->incarnation, sizeof(t->incarnation));
	memcpy(t->gpu_type, r->gpu_type, sizeof(t->gpu_type));
	memcpy(t->detail, r->detail, sizeof(t->detail));
	return t;
}

/* Tell the agent how a run is, a little later and in order. */
static void tell(struct sim_node *n, const struct record *r)
{
	usec_t now = engine_now(n->o.engine).mono, due;

	if (!n->agent)
		return;
	due = now + engine_between(n->o.engine, 50, 5 * MS);
	if (due <= n->last_tell)
		due = n->last_tell + 1;
	n->last_tell = due;
	engine_at(n->o.engine, due - now, launcher_says, n, told_new(n, r));
}

/* `cause` END_LAUNCH: it was refused; END_NONE: the order never came. */
static void never(struct sim_node *n, struct run_id id, enum end_cause cause, const char *why)
{
	struct record *r = record_find(n, id);

	if (!r) {
		r = record_new(n, id);
		r->report.state = REPORT_NEVER;
		r->report.cause = cause;
		snprintf(r->detail, sizeof(r->detail), "%s", why);
		memcpy(r->incarnation, n->incarnation, sizeof(r->incarnation));
	}
	tell(n, r);
}

static struct record *alive_serial(struct sim_node *n, const struct told *t)
{
	struct record *r = n->records;

	if (t->boots != n->boots)
		return NULL;
	while (r && r->serial != t->serial)
		r = r->next;
	return r && (r->report.state == REPORT_RUNNING || r->report.state == REPORT_STARTING)
	               ? r
	               : NULL;
}

/* The shepherd's work: it lives on when the agent dies, so only the node's boots count. */
static void shepherd_ends(void *arg, void **own)
{
	struct sim_node *n = arg;
	struct told *t = *own;
	struct record *r = alive_serial(n, t);
	struct clocks now = engine_now(n->o.engine);

	if (!r)
		return;
	r->report.state = REPORT_ENDED;
	r->report.cause = t->cause;
	r->report.end_time = now.wall;
	r->report.elapsed_us = (uint64_t)(now.mono - r->began);
	r->ended = now.mono;
	if (t->signal) {
		r->report.exit_signal = t->signal;
	} else {
		sim_program(r->report.run.job, &r->report.exit_code, &r->report.exit_signal);
	}
	checker_say(n->o.checker, "end %" PRIu64 " %u %u %s %u %u %" PRId64, r->report.run.job,
	        r->report.run.task, r->report.run.attempt, n->o.name, r->report.exit_code,
	        r->report.exit_signal, now.mono);
	tell(n, r);
}

static void end_after(struct sim_node *n, const struct record *r, usec_t after,
        enum end_cause cause, uint32_t sig)
{
	struct told *t = told_new(n, r);

	t->cause = cause;
	t->signal = sig;
	engine_at(n->o.engine, after, shepherd_ends, n, t);
}

static void shepherd_execs(void *arg, void **own)
{
	struct sim_node *n = arg;
	struct record *r = alive_serial(n, *own);
	struct engine *e = n->o.engine;

	if (!r || r->report.state != REPORT_STARTING)
		return;
	r->report.state = REPORT_RUNNING;
	r->report.start_time = engine_now(e).wall;
	tell(n, r);
	end_after(n, r, engine_between(e, n->o.run_low, n->o.run_high), END_EXIT, 0);
	if (r->limit_s)
		end_after(n, r, (usec_t)r->limit_s * SEC, END_TIME_LIMIT, SIGNAL_TERM);
}

static struct use *use_of(struct sim_node *n, const Gpusched__SignedSpec *spec)
{
	struct use *u = n->uses;

	while (u &&
	        (u->uid != spec->uid || memcmp(u->nonce, spec->nonce.data, sizeof(u->nonce)) != 0))
		u = u->next;
	if (u)
		return u;
	u = xcalloc(1, sizeof(*u));
	u->uid = spec->uid;
	memcpy(u->nonce, spec->nonce.data, sizeof(u->nonce));
	u->next = n->uses;
	n->uses = u;
	return u;
}

/* As often as its owner signed; the use is counted. */
static int take_use(struct sim_node *n, const Gpusched__SignedSpec *spec, struct error *err)
{
	struct use *u = use_of(n, spec);

	if (u->n >= spec->max_attempts)
		return error_set(err, ERR_SIGNATURE, "started %u times here already", u->n);
	u->n++;
	return 0;
}

/* What the real launcher demands before it touches anything. */
static int verify(struct sim_node *n, const Gpusched__StartRun *order, struct error *err)
{
	struct signedjob job = { order->spec.data, order->spec.len, order->script.data,
		order->script.len };
	struct arena *arena = arena_new(1 << 20);
	struct mcred cred = { 0 };
	struct signedjob_hash hash;
	Gpusched__SignedSpec *spec;
	char *text = xcalloc(order->credential.len + 1, 1);
	int rc = -1;

	memcpy(text, order->credential.data, order->credential.len);
	if (order->epoch < n->max_epoch)
		error_set(err, ERR_EPOCH, "epoch %" PRIu64 " is below %" PRIu64, order->epoch,
		        n->max_epoch);
	else if (strcmp(order->incarnation, n->incarnation) != 0)
		error_set(err, ERR_LAUNCH, "another incarnation");
	else if (n->o.mcred->decode(n->o.mcred, text, &cred, err) == 0 &&
	         signedjob_cred_check(&cred, err) >= 0 &&
	         signedjob_check(&cred, n->o.cluster, &job, arena, &spec, &hash, err) == 0 &&
	         signedjob_run_check(order->run->task, order->run->attempt, err) == 0 &&
	         take_use(n, spec, err) == 0)
		rc = 0;
	mcred_clear(&cred);
	arena_free(arena);
	free(text);
	return rc;
}

static uint64_t gpu_set(const Gpusched__StartRun *order)
{
	uint64_t set = 0;

	for (size_t i = 0; i < order->n_gpus; i++)
		set |= (uint64_t)1 << order->gpus[i];
	return set;
}

static uint64_t gpus_held(const struct sim_node *n)
{
	uint64_t set = 0;

	for (const struct record *r = n->records; r; r = r->next) {
		if (r->report.state == REPORT_STARTING || r->report.state == REPORT_RUNNING)
			set |= r->report.gpus;
	}
	return set;
}

static void launch(struct sim_node *n, struct run_id id, const Gpusched__StartRun *order)
{
	struct record *r = record_find(n, id);
	struct clocks now = engine_now(n->o.engine);
	struct error err;

	if (r) {
		tell(n, r);
		return;
	}
	if (gpus_held(n) & gpu_set(order)) {
		never(n, id, END_LAUNCH, "a GPU is held by another run");
		return;
	}
	if (verify(n, order, &err) < 0) {
		never(n, id, END_LAUNCH, err.text);
		return;
	}
	if (order->epoch > n->max_epoch)
		n->max_epoch = order->epoch;
	if (id.job > n->max_job)
		n->max_job = id.job;
	r = record_new(n, id);
	r->report.state = REPORT_STARTING;
	r->report.epoch = order->epoch;
	r->report.gpus = gpu_set(order);
	r->report.cpus = order->cpus;
	r->report.mem_mb = order->mem_mb;
	r->began = now.mono;
	r->ignores_term = engine_chance(n->o.engine, n->o.ignores_term_ppm);
	r->limit_s = order->time_limit_s;
	memcpy(r->incarnation, n->incarnation, sizeof(r->incarnation));
	snprintf(r->gpu_type, sizeof(r->gpu_type), "%s", order->gpu_type);
	checker_say(n->o.checker, "start %" PRIu64 " %u %u %s %" PRIu64 " %" PRIx64 " %" PRId64,
	        id.job, id.task, id.attempt, n->o.name, order->epoch, r->report.gpus, now.mono);
	tell(n, r);
	engine_at(n->o.engine, engine_between(n->o.engine, 100, 20 * MS), shepherd_execs, n,
	        told_new(n, r));
}

static void end_run(struct sim_node *n, const struct agent_end *end)
{
	struct record *r = record_find(n, end->run);
	struct engine *e = n->o.engine;

	if (!r) {
		never(n, end->run, END_NONE, "it was never started here");
	} else if (r->report.state == REPORT_STARTING || r->report.state == REPORT_RUNNING) {
		if (end->grace_s && !r->ignores_term)
			end_after(n, r, engine_between(e, 0, 50 * MS), end->cause, SIGNAL_TERM);
		else
			end_after(n, r, (usec_t)end->grace_s * SEC, end->cause, SIGNAL_KILL);
	} else {
		tell(n, r);
	}
}

/* --- the agent's world ----------------------------------------------------------------------- */

static void clock_fires(void *arg, void **own)
{
	struct sim_node *n = arg;
	struct told *t = *own;
	struct agent_event ev = { .kind = AGENT_CLOCK };

	if (!n->agent || t->life != n->life)
		return;
	n->timer = INT64_MAX;
	apply(n, &ev);
}

static void arm(struct sim_node *n)
{
	usec_t at = agent_next_timer(n->agent), now = engine_now(n->o.engine).mono;
	struct told *t;

	if (at >= n->timer)
		return;
	n->timer = at;
	t = xcalloc(1, sizeof(*t));
	t->life = n->life;
	engine_at(n->o.engine, at - now, clock_fires, n, t);
}

static void apply(struct sim_node *n, struct agent_event *ev)
{
	struct error err;

	agent_apply(n->agent, ev, engine_now(n->o.engine));
	carry_out(n);
	if (agent_check(n->agent, &err) < 0) {
		fprintf(stderr, "%s: %s\n", n->o.name, err.text);
		abort();
	}
	arm(n);
}

static void send_effect(struct sim_node *n, const struct agent_effect *f)
{
	struct node_facts facts = { .node = n->o.name,
		.version = "sim",
		.cpus = n->o.cpus,
		.mem_mb = n->o.mem_mb,
		.pretended = true };
	unsigned type;
	const ProtobufCMessage *m = convert_effect(n->convert, f, &facts, &type);
	size_t len;
	uint8_t *bytes;

	assert(m);
	len = protobuf_c_message_get_packed_size(m);
	bytes = xcalloc(len + 1, 1);
	protobuf_c_message_pack(m, bytes);
	if (f->session == n->link)
		link_send(n->o.engine, n->link, SIDE_NODE, (int)type, bytes, len);
	free(bytes);
	convert_clear(n->convert);
}

static void connect_later(struct sim_node *n);

static void close_session(struct sim_node *n, uint64_t session)
{
	if (session != n->link)
		return;
	link_drop_end(n->o.engine, n->link, SIDE_NODE, 2 * SEC);
	n->link = 0;
	connect_later(n);
}

static void carry_out(struct sim_node *n)
{
	size_t count;
	const struct agent_effect *f = agent_effects(n->agent, &count);

	for (size_t i = 0; i < count; i++) {
		struct record *r;

		switch (f[i].kind) {
		case AGENT_SEND_REGISTER:
		case AGENT_SEND_REPORT:
		case AGENT_SEND_HEARTBEAT:
			send_effect(n, &f[i]);
			break;
		case AGENT_CLOSE_SESSION:
			close_session(n, f[i].session);
			break;
		case AGENT_TELL_START:
			launch(n, f[i].start.run, f[i].start.order);
			break;
		case AGENT_TELL_END:
			end_run(n, &f[i].end);
			break;
		case AGENT_TELL_SIGNAL:
			break; /* programs here do not listen to signals */
		case AGENT_TELL_FORGET:
			r = record_find(n, f[i].forget);
			if (r && (r->report.state == REPORT_ENDED ||
			                 r->report.state == REPORT_NEVER))
				record_free(n, r);
			break;
		case AGENT_TELL_EPOCH:
			if (f[i].epoch > n->max_epoch)
				n->max_epoch = f[i].epoch;
			break;
		case AGENT_NOTE:
		case AGENT_EFFECT_COUNT:
			break;
		}
	}
	agent_effects_clear(n->agent);
}

/* --- links ----------------------------------------------------------------------------------- */

static void on_message(void *owner, uint64_t link, int type, const void *bytes, size_t len)
{
	struct sim_node *n = owner;
	struct agent_event ev = { 0 };
	struct error err;
	ProtobufCMessage *m;

	if (!n->agent || link != n->link)
		return;
	m = msg_unpack((unsigned)type, bytes, len, n->arena, &err);
	if (!m || convert_event(n->convert, (unsigned)type, m, link, &ev, &err) < 0) {
		fprintf(stderr, "%s: message %s: %s\n", n->o.name, msg_name((unsigned)type),
		        err.text);
		abort(); /* our own controller must not send what its agents refuse */
	}
	apply(n, &ev);
	convert_clear(n->convert);
}

static void on_gone(void *owner, uint64_t link)
{
	struct sim_node *n = owner;
	struct agent_event ev = { .kind = AGENT_SESSION_GONE, .session = link };

	if (!n->agent || link != n->link)
		return;
	n->link = 0;
	apply(n, &ev);
	connect_later(n);
}

static const struct link_ops node_link_ops = { on_message, on_gone };

static void connect_now(void *arg, void **own)
{
	struct sim_node *n = arg;
	struct told *t = *own;
	struct agent_event ev = { .kind = AGENT_SESSION_UP };

	if (!n->agent || t->life != n->life || n->link)
		return;
	n->link = n->o.connect(n->o.arg, n->o.index, &node_link_ops, n);
	if (!n->link) {
		connect_later(n);
		return;
	}
	ev.session = n->link;
	apply(n, &ev);
}

static void connect_later(struct sim_node *n)
{
	struct told *t = xcalloc(1, sizeof(*t));

	t->life = n->life;
	engine_at(n->o.engine, engine_between(n->o.engine, 10 * MS, 3 * SEC), connect_now, n, t);
}

/* --- its life -------------------------------------------------------------------------------- */

static void new_incarnation(struct sim_node *n)
{
	snprintf(n->boot_id, sizeof(n->boot_id), "%s-boot%u", n->o.name, n->boots);
	snprintf(n->incarnation, sizeof(n->incarnation), "%s/%08x", n->boot_id,
	        (unsigned)engine_below(n->o.engine, UINT32_MAX));
}

struct sim_node *sim_node_new(const struct sim_node_options *options)
{
	struct sim_node *n = xcalloc(1, sizeof(*n));

	n->o = *options;
	n->convert = convert_new();
	n->arena = arena_new(1 << 20);
	n->on = true;
	new_incarnation(n);
	return n;
}

void sim_node_free(struct sim_node *n)
{
	struct use *u;

	if (!n)
		return;
	while (n->records)
		record_free(n, n->records);
	while ((u = n->uses)) {
		n->uses = u->next;
		free(u);
	}
	agent_free(n->agent);
	convert_free(n->convert);
	arena_free(n->arena);
	free(n);
}

void sim_node_start(struct sim_node *n)
{
	struct agent_event ev = { .kind = AGENT_LAUNCHER_HELLO };
	struct run_report *runs;
	size_t count = 0;

	if (n->agent)
		return;
	n->on = true;
	n->life++;
	n->timer = INT64_MAX;
	n->agent = agent_new();
	for (struct record *r = n->records; r; r = r->next)
		count++;
	runs = xcalloc(count + 1, sizeof(*runs));
	count = 0;
	for (struct record *r = n->records; r; r = r->next)
		runs[count++] = r->report;
	ev.hello.incarnation = n->incarnation;
	ev.hello.boot_id = n->boot_id;
	ev.hello.containment = "sim";
	ev.hello.max_epoch = n->max_epoch;
	ev.hello.max_job = n->max_job;
	ev.hello.runs = runs;
	ev.hello.n_runs = count;
	apply(n, &ev);
	free(runs);
	connect_later(n);
}

void sim_node_kill_agent(struct sim_node *n)
{
	if (!n->agent)
		return;
	if (n->link)
		link_drop_end(n->o.engine, n->link, SIDE_NODE, 5 * SEC);
	n->link = 0;
	agent_free(n->agent);
	n->agent = NULL;
}

void sim_node_reboot(struct sim_node *n)
{
	usec_t now = engine_now(n->o.engine).mono;
	struct record *r, *next;

	sim_node_kill_agent(n);
	checker_say(n->o.checker, "reboot %s %" PRId64, n->o.name, now);
	n->on = false;
	n->boots++;
	/* tmpfs is gone; ends that nobody acknowledged for a second were synced to disk. */
	for (r = n->records; r; r = next) {
		next = r->next;
		if (r->report.state != REPORT_ENDED || now - r->ended < SEC)
			record_free(n, r);
	}
	new_incarnation(n);
}

void sim_node_print(const struct sim_node *n, FILE *out)
{
	fprintf(out, "%s: agent %s, link %" PRIu64 ", incarnation %s, epoch %" PRIu64 "\n",
	        n->o.name, n->agent ? "up" : "down", n->link, n->incarnation, n->max_epoch);
	for (const struct record *r = n->records; r; r = r->next)
		fprintf(out, "  run %" PRIu64 ".%u state %d of %s; the agent says %s\n",
		        r->report.run.job, r->report.run.attempt, r->report.state, r->incarnation,
		        n->agent ? agent_run_state_name(agent_run_state(n->agent, r->report.run))
		                 : "-");
}

bool sim_node_is_up(const struct sim_node *n)
{
	return n->agent != NULL;
}

uint64_t sim_node_link(const struct sim_node *n)
{
	return n->link;
}

size_t sim_node_alive(const struct sim_node *n)
{
	size_t count = 0;

	for (const struct record *r = n->records; r; r = r->next)
		count += r->report.state == REPORT_STARTING || r->report.state == REPORT_RUNNING;
	return count;
}
