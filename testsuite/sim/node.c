/* node.c - see node.h */
#include "testsuite/sim/node.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/job/runused.h"
#include "common/net/frame.h"
#include "common/net/msg.h"
#include "common/net/signedjob.h"
#include "noded/net/convert_messages.h"
#include "noded/sim/sim_launcher.h"
#include "noded/sim/sim_samples.h"
#include "testsuite/sim/gpus.h"
#include "testsuite/sim/owners.h"
#include "testsuite/sim/step_managers.h"

#define DAY_S 86400

/* How often a signature was used here: as noded/runs/signature_uses.h. */
struct use {
	uint32_t uid, task, n;
	uint8_t nonce[SIGNEDJOB_NONCE_LEN];
	struct use *next;
};

struct sim_node {
	struct sim_node_options o;
	struct sim_launcher *launcher; /* and its shepherds: outlives the agent */
	struct agent *agent;           /* NULL: the agent is down, and the launcher with it */
	unsigned life;                 /* grows with each start of the agent */
	unsigned boots;
	uint64_t link;
	uint64_t lost_link; /* to the controller whose state is lost; 0: none was */
	struct use *uses;         /* on disk: outlives boots */
	struct sim_gpus *gpus;    /* NULL: they are as configured, and never fail */
	struct sim_gpu_samples cards; /* as the controller has them */
	uint64_t signature_age_s; /* the controller's; 0: none said */
	bool takes_faults;        /* the controller that it is registered with does */
	struct convert *convert;
	struct arena *arena;
	usec_t timer, due; /* the earliest AGENT_CLOCK and the earliest work() under way */
};

/* Something for an agent's life, and for no later one. */
struct life {
	unsigned life;
};

static void carry_out(struct sim_node *n);
static void apply(struct sim_node *n, struct agent_event *ev);

/* What a run's program ends with, unless something ends it. */
static void sim_program(const Gpusched__RunId *run, uint32_t *code, uint32_t *signal)
{
	uint64_t h = (run->job + ((uint64_t)run->task << 20) + ((uint64_t)run->rank << 40)) *
	                     0x9e3779b97f4a7c15u >>
	             32;

	*code = h % 4 == 1 ? (uint32_t)(h / 4 % 255 + 1) : 0;
	*signal = h % 16 == 2 ? 11 : 0;
	/* Some go better the next time, or the time after. */
	if (*signal || (h >> 16) % 8 < run->attempt)
		*code = 0;
}

/* --- the launcher's world -------------------------------------------------------------------- */

static struct use *use_of(struct sim_node *n, const Gpusched__SignedSpec *spec, uint32_t task)
{
	struct use *u = n->uses;

	while (u && (u->uid != spec->uid || u->task != task ||
	                    memcmp(u->nonce, spec->nonce.data, sizeof(u->nonce)) != 0))
		u = u->next;
	if (u)
		return u;
	u = xcalloc(1, sizeof(*u));
	u->uid = spec->uid;
	u->task = task;
	memcpy(u->nonce, spec->nonce.data, sizeof(u->nonce));
	u->next = n->uses;
	n->uses = u;
	return u;
}

/* As often as its owner signed; the use is counted. */
static int take_use(
        struct sim_node *n, const Gpusched__SignedSpec *spec, uint32_t task, struct error *err)
{
	struct use *u = use_of(n, spec, task);

	if (u->n >= (spec->service ? spec->service->starts_per_day : spec->max_attempts))
		return error_set(err, ERR_SIGNATURE, "started %u times here already", u->n);
	u->n++;
	return 0;
}

/* No controller orders what its owner has to sign anew, and orders are not so long under way. What
 * is from the future, where clocks jump, is taken here. */
static int check_age(const struct sim_node *n, const Gpusched__StartRun *order,
        const Gpusched__SignedSpec *spec, const struct mcred *cred, struct error *err)
{
	int64_t now_s = engine_now(n->o.engine).wall / SEC;
	uint64_t age_s = spec->service ? (uint64_t)spec->service->valid_days * DAY_S
	                               : n->signature_age_s;

	if (!age_s || now_s < cred->encode_time ||
	        signedjob_cred_age(cred, now_s, age_s, err) == 0)
		return 0;
	checker_say(n->o.checker, "stale %" PRIu64 " %u %u %u", order->run->job, order->run->task,
	        order->run->attempt, order->run->rank);
	return -1;
}

/* What the real launcher demands of the job. */
static int accept_order(void *arg, const Gpusched__StartRun *order, struct error *err)
{
	struct sim_node *n = arg;
	struct signedjob job = { order->spec.data, order->spec.len, order->script.data,
		order->script.len };
	struct arena *arena = arena_new(1 << 20);
	struct mcred cred = { 0 };
	struct signedjob_hash hash;
	Gpusched__SignedSpec *spec;
	char *text = xstrndup((const char *)order->credential.data, order->credential.len);
	int rc = -1;

	if (n->o.mcred->decode(n->o.mcred, text, &cred, err) == 0 &&
	        signedjob_cred_check(&cred, err) >= 0 &&
	        signedjob_check(&cred, n->o.cluster, &job, arena, &spec, &hash, err) == 0 &&
	        check_age(n, order, spec, &cred, err) == 0 &&
	        signedjob_run_check(spec, order->run->task, order->run->attempt, err) == 0 &&
	        take_use(n, spec, order->run->task, err) == 0) {
		if (!spec->service)
			step_managers_expect(n->o.steps,
			        (struct run_id){ order->run->job, order->run->task,
			                order->run->attempt, order->run->rank },
			        spec->uid);
		rc = 0;
	}
	mcred_clear(&cred);
	arena_free(arena);
	free(text);
	return rc;
}

static bool has_label(const Gpusched__StartRun *order, const char *key)
{
	for (size_t i = 0; i < order->n_labels; i++)
		if (!strcmp(order->labels[i]->key, key))
			return true;
	return false;
}

/* It loads, and serves for a while or as long as it may; or it ends while it loads. */
static void choose_replica(
        const Gpusched__StartRun *order, struct engine *e, struct sim_course *c)
{
	c->load_time = engine_between(e, 0, 8 * SEC);
	c->duration = engine_chance(e, 300000) ? engine_between(e, SEC, 60 * SEC) : 100000 * SEC;
	if (has_label(order, OWNERS_LABEL_BAD)) {
		c->duration = engine_between(e, 100 * MS, 2 * SEC);
		c->load_time = 60 * SEC;
	}
}

static struct sim_course choose_course(void *arg, const Gpusched__StartRun *order)
{
	const struct sim_node *n = arg;
	struct engine *e = n->o.engine;
	struct sim_course c = {
		.begin_after = engine_between(e, 100, 20 * MS),
		.duration = engine_between(e, n->o.run_low, n->o.run_high),
		.obey_after = engine_between(e, 0, 50 * MS),
		.ignores_term = engine_chance(e, n->o.ignores_term_ppm),
	};

	sim_program(order->run, &c.exit_code, &c.exit_signal);
	if (has_label(order, "service"))
		choose_replica(order, e, &c);
	if (order->share_burst_mb > order->share_mb && engine_chance(e, 900000)) {
		c.own_mb = order->share_burst_mb;
		if (engine_chance(e, 400000))
			c.own_mb = (uint64_t)engine_between(
			        e, (usec_t)order->share_mb, (usec_t)order->share_burst_mb);
		c.duration += engine_between(e, 0, n->o.run_high); /* that others come in time */
		c.takes_after = engine_between(e, 0, 200 * MS);
		c.gives_back = engine_chance(e, 500000);
	}
	return c;
}

/* The step manager of a run is a process of it. */
static void tell_manager(const struct sim_node *n, const struct run_report *r)
{
	if (r->state == REPORT_STARTING)
		step_managers_begin(n->o.steps, r->run);
	else if (r->state == REPORT_ENDED)
		step_managers_end(n->o.steps, r->run, r->cause == END_NODE_FAIL);
}

static void happened(void *arg, const struct run_report *r, struct clocks now)
{
	const struct sim_node *n = arg;

	tell_manager(n, r);

	if (r->state == REPORT_STARTING && r->share_charge)
		checker_say(n->o.checker, "share %" PRIu64 " %u %u %u %u %" PRIu64 " %" PRIu64,
		        r->run.job, r->run.task, r->run.attempt, r->run.rank, r->share_milli,
		        r->share_mb, r->share_burst_mb);
	if (r->state == REPORT_ENDED && r->cause == END_RECLAIM)
		checker_say(n->o.checker, "reclaimed %" PRIu64 " %u %u %u", r->run.job, r->run.task,
		        r->run.attempt, r->run.rank);
	if (r->state == REPORT_STARTING)
		checker_say(n->o.checker,
		        "start %" PRIu64 " %u %u %u %u %s %" PRIu64 " %" PRIx64 " %" PRId64,
		        r->run.job, r->run.task, r->run.attempt, r->run.rank, r->nodes, n->o.name,
		        r->epoch, r->gpus, now.mono);
	else if (r->state == REPORT_RUNNING && r->suspended)
		checker_say(n->o.checker, "stop %" PRIu64 " %u %u %u", r->run.job, r->run.task,
		        r->run.attempt, r->run.rank);
	else if (r->state == REPORT_ENDED &&
	         r->cause != END_NODE_FAIL) /* the reboot is a fact of its own */
		checker_say(n->o.checker, "end %" PRIu64 " %u %u %u %s %u %u %" PRId64, r->run.job,
		        r->run.task, r->run.attempt, r->run.rank, n->o.name, r->exit_code,
		        r->exit_signal, now.mono);
}

static uint64_t card_mb(void *arg, unsigned gpu)
{
	const struct sim_node *n = arg;
	uint64_t mb = n->gpus ? sim_gpus_mem_mb(n->gpus, gpu) : 0;

	return n->o.boundless ? mb * 100 : mb;
}

static void memory_happened(
        void *arg, enum sim_memory what, const struct run_report *r, uint64_t used_mb)
{
	static const char *const facts[] = { [SIM_MEMORY_NEEDED] = "needs",
		[SIM_MEMORY_WAIVED] = "waived",
		[SIM_MEMORY_USED] = "uses",
		[SIM_MEMORY_ASKED] = "asked",
		[SIM_MEMORY_LEFT] = "excused" };
	const struct sim_node *n = arg;
	char more[120] = "";

	if (what == SIM_MEMORY_NEEDED)
		snprintf(more, sizeof(more), " %s %" PRIx64 " %" PRIu64, n->o.name, r->gpus,
		        r->share_mb);
	else if (what == SIM_MEMORY_USED)
		snprintf(more, sizeof(more), " %" PRIu64, used_mb);
	checker_say(n->o.checker, "%s %" PRIu64 " %u %u %u%s", facts[what], r->run.job, r->run.task,
	        r->run.attempt, r->run.rank, more);
}

/* As noded/net/agent_loop.c: to a controller whose orders count. */
static void tell_used(void *arg, struct run_id run, const struct run_used *used)
{
	struct sim_node *n = arg;
	Gpusched__RunsUsed m = GPUSCHED__RUNS_USED__INIT;
	Gpusched__RunUsed one, *list = &one;
	Gpusched__RunId id = GPUSCHED__RUN_ID__INIT;
	Gpusched__GpuSample samples[SIM_NODE_GPUS_MAX], *gpus[SIM_NODE_GPUS_MAX];
	uint8_t bytes[SIM_NODE_GPUS_MAX * 80 + 256];

	if (!sim_node_is_registered(n))
		return;
	m.n_gpus = sim_gpu_samples_take(&n->cards, n->launcher, engine_now(n->o.engine), samples);
	m.gpus = gpus;
	for (size_t i = 0; i < m.n_gpus; i++)
		gpus[i] = &samples[i];
	run_used_to_message(used, &one);
	id.job = run.job;
	id.task = run.task;
	id.attempt = run.attempt;
	id.rank = run.rank;
	one.run = &id;
	m.n_runs = 1;
	m.runs = &list;
	assert(gpusched__runs_used__get_packed_size(&m) <= sizeof(bytes));
	link_send(n->o.engine, n->link, SIDE_NODE, GPUSCHED__MSG_TYPE__MSG_RUNS_USED, bytes,
	        gpusched__runs_used__pack(&m, bytes));
}

static void work(void *arg, void **own);

/* The shepherds when it is time, whoever is up; the launcher's words a little later, in order. */
static void arm_work(struct sim_node *n)
{
	usec_t now = engine_now(n->o.engine).mono;
	usec_t at = n->agent ? sim_launcher_next_timer(n->launcher)
	                     : sim_launcher_next_due(n->launcher);

	if (n->agent && at <= now)
		at = now + engine_between(n->o.engine, 50, 5 * MS);
	if (at >= n->due)
		return;
	n->due = at;
	engine_at(n->o.engine, at > now ? at - now : 0, work, n, NULL);
}

static void work(void *arg, void **own)
{
	struct sim_node *n = arg;
	struct clocks now = engine_now(n->o.engine);
	struct agent_event ev;

	(void)own;
	if (n->due > now.mono) /* an earlier one has done this one's work */
		return;
	n->due = INT64_MAX;
	if (!n->agent)
		sim_launcher_pass(n->launcher, now);
	else if (sim_launcher_next(n->launcher, &ev, now))
		apply(n, &ev);
	arm_work(n);
}

/* --- the agent's world ----------------------------------------------------------------------- */

static void clock_fires(void *arg, void **own)
{
	struct sim_node *n = arg;
	struct life *t = *own;
	struct agent_event ev = { .kind = AGENT_CLOCK };

	if (!n->agent || t->life != n->life)
		return;
	n->timer = INT64_MAX;
	apply(n, &ev);
}

static void arm(struct sim_node *n)
{
	usec_t at = agent_next_timer(n->agent), now = engine_now(n->o.engine).mono;
	struct life *t;

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
	arm_work(n);
}

static void send_effect(struct sim_node *n, const struct agent_effect *f)
{
	struct node_facts facts = { .node = n->o.name,
		.service_ports = 20,
		.tmp_mb = 1 << 20,
		.version = "sim",
		.cpus = n->o.cpus,
		.mem_mb = n->o.mem_mb,
		.pretended = true,
		.inventory = n->gpus ? sim_gpus_inventory(n->gpus) : NULL };
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

/* It lives, and was told to end. */
static void say_told(struct sim_node *n, const struct agent_end *end)
{
	const struct run_report *r;
	const void *at = NULL;

	while ((r = sim_launcher_each(n->launcher, &at))) {
		if (run_id_equal(&r->run, &end->run) &&
		        (r->state == REPORT_STARTING || r->state == REPORT_RUNNING))
			checker_say(n->o.checker, "told %" PRIu64 " %u %u %u %s", r->run.job,
			        r->run.task, r->run.attempt, r->run.rank,
			        end->cause == END_DRAIN ? "drain" : "other");
	}
}

/* By an order that was under way when the controller's state was lost: only that state knew how the run
 * ended. */
static void say_unowed(struct sim_node *n, struct run_id id)
{
	if (n->link && n->link == n->lost_link)
		checker_say(n->o.checker, "unowed %" PRIu64 " %u %u %u", id.job, id.task,
		        id.attempt, id.rank);
}

static void carry_out(struct sim_node *n)
{
	size_t count;
	const struct agent_effect *f = agent_effects(n->agent, &count);

	for (size_t i = 0; i < count; i++) {
		switch (f[i].kind) {
		case AGENT_SEND_REPORT:
			if (n->o.forgetful && f[i].report.state == REPORT_ENDED)
				break;
			/* fallthrough */
		case AGENT_SEND_REGISTER:
		case AGENT_SEND_HEARTBEAT:
			send_effect(n, &f[i]);
			break;
		case AGENT_CLOSE_SESSION:
			close_session(n, f[i].session);
			break;
		case AGENT_TELL_EPOCH:
			n->signature_age_s = f[i].signature_age_s;
			sim_launcher_tell(n->launcher, &f[i], engine_now(n->o.engine));
			break;
		case AGENT_TELL_END:
			say_told(n, &f[i].end);
			/* fallthrough */
		case AGENT_TELL_START:
		case AGENT_TELL_SIGNAL:
		case AGENT_TELL_SUSPEND:
			sim_launcher_tell(n->launcher, &f[i], engine_now(n->o.engine));
			break;
		case AGENT_TELL_FORGET:
			say_unowed(n, f[i].forget);
			sim_launcher_tell(n->launcher, &f[i], engine_now(n->o.engine));
			break;
		case AGENT_NOTE:
		case AGENT_EFFECT_COUNT:
			break;
		}
	}
	agent_effects_clear(n->agent);
}

/* --- its GPUs -------------------------------------------------------------------------------- */

/* Is there a controller whose orders count? As noded/net/agent_loop.c. */
static bool is_heard(const struct sim_node *n)
{
	struct agent_stats stats;

	agent_stats(n->agent, &stats);
	return stats.registered && !stats.stale;
}

static void tell_gpus(struct sim_node *n, const Gpusched__GpuCheck *check)
{
	struct arena *arena = arena_new(1 << 20);
	const Gpusched__GpuReport *m;

	if (n->gpus && n->agent && n->link && n->takes_faults && is_heard(n) &&
	        (m = sim_gpus_report(n->gpus, check, arena))) {
		size_t len = gpusched__gpu_report__get_packed_size(m);
		uint8_t *bytes = arena_alloc(arena, len + 1);

		gpusched__gpu_report__pack(m, bytes);
		link_send(n->o.engine, n->link, SIDE_NODE, GPUSCHED__MSG_TYPE__MSG_GPU_REPORT,
		        bytes, len);
	}
	arena_free(arena);
}

static bool take_gpus(struct sim_node *n, unsigned type, const ProtobufCMessage *m)
{
	if (type != GPUSCHED__MSG_TYPE__MSG_GPU_ACK && type != GPUSCHED__MSG_TYPE__MSG_GPU_CHECK)
		return false;
	if (!n->gpus || !is_heard(n))
		return true;
	if (type == GPUSCHED__MSG_TYPE__MSG_GPU_ACK)
		sim_gpus_ack(n->gpus, ((const Gpusched__GpuAck *)m)->seq);
	else
		tell_gpus(n, (const Gpusched__GpuCheck *)m);
	return true;
}

void sim_node_gpu_fails(struct sim_node *n)
{
	/* With the agent down nobody sees it. */
	if (n->gpus && n->agent && sim_gpus_happens(n->gpus))
		tell_gpus(n, NULL);
}

void sim_node_gpus_heal(struct sim_node *n)
{
	if (!n->gpus)
		return;
	sim_gpus_heal(n->gpus);
	tell_gpus(n, NULL);
}

bool sim_node_resume(struct sim_node *n, uint64_t *gpus)
{
	return n->gpus && sim_gpus_resume(n->gpus, gpus);
}

size_t sim_node_gpu_faults(const struct sim_node *n)
{
	return n->gpus ? sim_gpus_faults(n->gpus) : 0;
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
	if (m && take_gpus(n, (unsigned)type, m))
		return;
	if (!m || convert_event(n->convert, (unsigned)type, m, link, &ev, &err) < 0) {
		fprintf(stderr, "%s: message %s: %s\n", n->o.name, msg_name((unsigned)type),
		        err.text);
		abort(); /* our own controller must not send what its agents refuse */
	}
	apply(n, &ev);
	convert_clear(n->convert);
	if (ev.kind == AGENT_REGISTERED) {
		n->takes_faults = ((const Gpusched__Registered *)m)->takes_faults;
		sim_gpu_samples_configure(&n->cards, (const Gpusched__Registered *)m);
		tell_gpus(n, NULL);
		sim_launcher_tell_used(n->launcher);
	}
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
	struct life *t = *own;
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
	struct life *t = xcalloc(1, sizeof(*t));

	t->life = n->life;
	engine_at(n->o.engine, engine_between(n->o.engine, 10 * MS, 3 * SEC), connect_now, n, t);
}

/* --- its life -------------------------------------------------------------------------------- */

static void incarnation_of(const struct sim_node *n, char out[64])
{
	snprintf(out, 64, "%s-boot%u/%08x", n->o.name, n->boots,
	        (unsigned)engine_below(n->o.engine, UINT32_MAX));
}

struct sim_node *sim_node_new(const struct sim_node_options *options)
{
	struct sim_node *n = xcalloc(1, sizeof(*n));
	const struct sim_world world = { .accept = accept_order,
		.course = choose_course,
		.fact = happened,
		.card_mb = card_mb,
		.memory = memory_happened,
		.used = tell_used,
		.arg = n };
	char incarnation[64];

	n->o = *options;
	n->convert = convert_new();
	n->arena = arena_new(1 << 20);
	n->due = INT64_MAX;
	incarnation_of(n, incarnation);
	n->launcher = sim_launcher_new(incarnation, &world);
	if (n->o.conf)
		n->gpus = sim_gpus_new(n->o.engine, n->o.checker, n->o.conf, n->o.index);
	return n;
}

void sim_node_free(struct sim_node *n)
{
	struct use *u;

	if (!n)
		return;
	while ((u = n->uses)) {
		n->uses = u->next;
		free(u);
	}
	agent_free(n->agent);
	sim_launcher_free(n->launcher);
	sim_gpus_free(n->gpus);
	convert_free(n->convert);
	arena_free(n->arena);
	free(n);
}

void sim_node_start(struct sim_node *n)
{
	if (n->agent)
		return;
	n->life++;
	n->timer = INT64_MAX;
	n->agent = agent_new();
	sim_launcher_restart(n->launcher);
	arm_work(n); /* its hello */
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
	char incarnation[64];

	sim_node_kill_agent(n);
	n->boots++;
	incarnation_of(n, incarnation);
	sim_launcher_reboot(n->launcher, incarnation, engine_now(n->o.engine));
	if (n->gpus)
		sim_gpus_boot(n->gpus);
	checker_say(n->o.checker, "reboot %s %" PRId64, n->o.name, engine_now(n->o.engine).mono);
}

void sim_node_print(const struct sim_node *n, FILE *out)
{
	const struct run_report *r;
	const void *at = NULL;

	fprintf(out, "%s: agent %s, boot %u, link %" PRIu64 "\n", n->o.name,
	        n->agent ? "up" : "down", n->boots, n->link);
	while ((r = sim_launcher_each(n->launcher, &at)))
		fprintf(out, "  run %" PRIu64 ".%u.%u state %d of %s; the agent says %s\n",
		        r->run.job, r->run.attempt, r->run.rank, r->state, r->incarnation,
		        n->agent ? agent_run_state_name(agent_run_state(n->agent, r->run)) : "-");
}

uint64_t sim_node_link(const struct sim_node *n)
{
	return n->link;
}

bool sim_node_is_registered(const struct sim_node *n)
{
	return n->agent && n->link && is_heard(n);
}

void sim_node_tell_runs(const struct sim_node *n)
{
	const struct run_report *r;
	const void *at = NULL;

	while ((r = sim_launcher_each(n->launcher, &at))) {
		enum agent_run_state state = agent_run_state(n->agent, r->run);

		if (state != AGENT_RUN_NONE && state != AGENT_RUN_FORGOTTEN)
			checker_say(n->o.checker, "tells %" PRIu64 " %u %u %u %s", r->run.job,
			        r->run.task, r->run.attempt, r->run.rank, n->o.name);
	}
}

void sim_node_tell_owed(struct sim_node *n)
{
	const struct run_report *r;
	const void *at = NULL;

	n->lost_link = n->link;
	while ((r = sim_launcher_each(n->launcher, &at)))
		checker_say(n->o.checker, "owed %" PRIu64 " %u %u %u", r->run.job, r->run.task,
		        r->run.attempt, r->run.rank);
}
