/* controller.c - see controller.h */
#include "testsuite/sim/controller.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/taskset.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"
#include "ctld/core/core.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/loop/commit_gate.h"
#include "ctld/rpc/call/answer_parts.h"
#include "ctld/store/batch_items.h"
#include "ctld/store/store.h"
#include "ctld/wire/convert.h"
#include "testsuite/sim/answers.h"
#include "testsuite/sim/controller_impl.h"

#define ANSWERS_EVERY 8 /* commits: then all listings are made, and measured */
#define TAKEOVER_EPOCHS 1000
#define TAKEOVER_JOBS   1000000
#define SCHEDULE_BUDGET 16 /* small, so that slices end in the middle of things */

struct life {
	unsigned life;
};

static const struct link_ops controller_link_ops;

void sim_bug(const char *what, const struct error *err)
{
	fprintf(stderr, "simulated controller: %s: %s\n", what, err ? err->text : "");
	abort();
}

struct peer *sim_peer(struct sim_controller *c, uint64_t link)
{
	for (size_t i = 0; i < c->n_peers; i++) {
		if (c->peers[i].link == link && c->peers[i].open)
			return &c->peers[i];
	}
	return NULL;
}

/* --- out: frames are { type (2 bytes), body } here; links keep their borders ----------------- */

static uint8_t *pack(unsigned type, const ProtobufCMessage *m, size_t *len)
{
	struct error err;
	uint8_t *bytes;

	if (msg_packed_size(type, m, &err) < 0)
		sim_bug(msg_name(type), &err);
	*len = 2 + protobuf_c_message_get_packed_size(m);
	bytes = xcalloc(*len, 1);
	memcpy(bytes, &(uint16_t){ (uint16_t)type }, 2);
	protobuf_c_message_pack(m, bytes + 2);
	return bytes;
}

static void commit_gate_sends(void *arg, uint64_t session, const uint8_t *frames, size_t len)
{
	struct sim_controller *c = arg;
	uint16_t type;

	memcpy(&type, frames, 2);
	if (sim_peer(c, session))
		link_send(c->o.engine, session, SIDE_CONTROLLER, type, frames + 2, len - 2);
}

void sim_put(struct sim_controller *c, uint64_t session, uint64_t change, unsigned type,
        const void *message)
{
	const struct peer *peer = sim_peer(c, session);
	size_t len;
	uint8_t *bytes;

	if (!peer)
		return; /* it has gone */
	bytes = pack(type, message, &len);
	commit_gate_put(c->gate, peer->node < 0 ? commit_gate_user(peer->uid) : COMMIT_GATE_AGENTS,
	        session, change, bytes, len);
}

void sim_reply(struct sim_controller *c, uint64_t link, uint64_t change, const struct error *err)
{
	sim_put(c, link, change, GPUSCHED__MSG_TYPE__MSG_REPLY, wire_reply(err, c->out));
}

static void put_start(struct sim_controller *c, const struct effect *f)
{
	struct pending_start *p = xcalloc(1, sizeof(*p));
	struct run_view run;
	struct job_view job;
	Gpusched__StartRun *m;

	if (!core_run_view(c->core, f->run.run, engine_now(c->o.engine), &run) ||
	        !core_job_view(
	                c->core, core_run_ref(c->core, f->run.run), engine_now(c->o.engine), &job))
		sim_bug("a start of a run that is not there", NULL);
	m = wire_start_run(&run, &job, c->o.conf->prices.currency, c->out);
	p->bytes = pack(GPUSCHED__MSG_TYPE__MSG_START_RUN, &m->base, &p->len);
	p->slot = commit_gate_reserve(c->gate, COMMIT_GATE_AGENTS, f->session, f->change);
	p->next = c->starts;
	c->starts = p;
	/* The tag finds the job of the start again when the batch is filled. */
	p->bytes = xrealloc(p->bytes, p->len + sizeof(uint64_t), 1);
	memcpy(p->bytes + p->len, &f->run.run.job, sizeof(uint64_t));
}

struct job_list {
	struct sim_controller *c;
	uint64_t link;
};

static void put_jobs(void *to, const ProtobufCMessage *chunk)
{
	struct job_list *list = to;

	sim_put(list->c, list->link, core_change(list->c->core), GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK,
	        chunk);
}

static void reply_job_list(struct sim_controller *c, uint64_t link)
{
	struct clocks now = engine_now(c->o.engine);
	Gpusched__JobChunk chunk = GPUSCHED__JOB_CHUNK__INIT;
	struct job_list list = { c, link };
	struct part part = {
		.chunk = &chunk.base, .arena = c->out, .send = put_jobs, .to = &list
	};
	struct job_view view;

	arena_reset(c->out, WIRE_ARENA_CAP);
	part_begin(&part);
	for (uint64_t after = 0; core_job_next(c->core, after, now, &view); after = view.ref)
		part_add(&part, &wire_job(&view, c->out)->base);
	part_end(&part);
	sim_reply(c, link, core_change(c->core), NULL);
}

static void release(struct sim_controller *c, const struct effect *f)
{
	struct wire_facts facts = { c->o.conf, 0 };
	const ProtobufCMessage *order;
	struct core_stats stats;
	struct peer *peer;
	unsigned type;

	core_stats(c->core, &stats);
	facts.epoch = stats.epoch;
	switch (f->kind) {
	case EFFECT_REPLY:
		sim_reply(c, f->reply, f->change, f->error);
		break;
	case EFFECT_SUBMITTED:
		sim_put(c, f->reply, f->change, GPUSCHED__MSG_TYPE__MSG_SUBMIT_RESULT,
		        wire_submitted(f, c->o.conf, c->out));
		sim_reply(c, f->reply, f->change, NULL);
		break;
	case EFFECT_CONTROLLED:
		sim_reply(c, f->reply, f->change,
		        f->controlled.n ? &f->controlled.errors[0].error : NULL);
		break;
	case EFFECT_REGISTERED:
		c->repeating = true;
		sim_put(c, f->session, f->change, GPUSCHED__MSG_TYPE__MSG_REGISTERED,
		        wire_registered(f, &facts, c->out));
		break;
	case EFFECT_CLOSE_AGENT:
		peer = sim_peer(c, f->session);
		if (peer) {
			peer->open = false;
			link_drop_end(c->o.engine, f->session, SIDE_CONTROLLER, SEC);
		}
		break;
	case EFFECT_START_RUN:
		put_start(c, f);
		sim_service_start(c, f->run.run);
		break;
	case EFFECT_END_RUN:
		sim_service_end(c, f);
		/* fallthrough */
	case EFFECT_SIGNAL_RUN:
	case EFFECT_SUSPEND_RUN:
	case EFFECT_FORGET_RUN:
	case EFFECT_ACK_GPUS:
	case EFFECT_CHECK_GPUS:
		order = wire_order(f, &facts, c->out, &type);
		sim_put(c, f->session, f->change, type, order);
		break;
	case EFFECT_FENCE:
		if (c->o.fence)
			c->o.fence(c->o.arg, f->node);
		break;
	case EFFECT_BULK:
		sim_bulk_stepped(c, f);
		break;
	case EFFECT_MAIL:
	case EFFECT_JOB_ENDED:
	case EFFECT_JOB_CHANGED:
		break;
	}
}

static void starts_free(struct pending_start **list)
{
	while (*list) {
		struct pending_start *p = *list;

		*list = p->next;
		free(p->bytes);
		free(p);
	}
}

/* --- the tick -------------------------------------------------------------------------------- */

/* What is on its way to the database: what runs are accounted for is a fact. */
static void row_to_batch(void *arg, const struct row *row)
{
	struct sim_controller *c = arg;
	const struct value *v = row->v;

	if (row->table == TABLE_RUN && row->n > COL_RUN_end_time && v[COL_RUN_end_time].i)
		checker_say(c->o.checker,
		        "billed %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
		        v[COL_RUN_job].i, v[COL_RUN_task].i, v[COL_RUN_attempt].i,
		        v[COL_RUN_rank].i, v[COL_RUN_elapsed_us].i);
	sim_service_row(c, row);
	store_batch_row(c->sealing, row);
}

static int load_row(void *arg, const struct row *row, struct error *err)
{
	return core_load(arg, row, err);
}

/* `loaded` has just been read from the database. */
static void check_hash(struct sim_controller *c, const struct core *loaded)
{
	if (!c->has_committed)
		return;
	c->stats.hash_checks++;
	if (core_hash(loaded) != c->committed_hash)
		sim_bug("the database gives another core than the one that was committed", NULL);
}

/* What a controller would find that started now: the core that was sealed, able to start and with
 * everything that it derives in order. */
static void check_commit(struct sim_controller *c)
{
	struct core *other = core_new(c->o.conf, c->life + 1);
	struct error err;

	if (store_load(c->store, load_row, other, &err) < 0)
		sim_bug("load after a commit", &err);
	check_hash(c, other);
	if (core_start(other, engine_now(c->o.engine), &err) < 0 || core_check(other, &err) < 0)
		sim_bug("a restart after a commit", &err);
	core_free(other);
}

static void committed(void *arg, const struct store_result *result, const struct error *err)
{
	struct sim_controller *c = arg;

	if (err)
		sim_bug("commit", err);
	c->stats.commits++;
	c->in_flight = NULL;
	sim_services_committed(c, false);
	c->committed_hash = c->sealed_hash;
	c->has_committed = true;
	for (size_t i = 0; i < result->n_blobs; i++) {
		struct pending_start *p = result->tags[i];
		Gpusched__StartRun *m;
		size_t len;

		if (!result->blobs[i].spec)
			sim_bug("a start without its signed bytes", NULL);
		m = wire_start_bytes(&result->blobs[i], c->out);
		len = protobuf_c_message_get_packed_size(&m->base);
		p->bytes = xrealloc(p->bytes, p->len + len, 1);
		protobuf_c_message_pack(&m->base, p->bytes + p->len);
		commit_gate_fill(p->slot, p->bytes, p->len + len);
		p->bytes = NULL;
	}
	starts_free(&c->wanted);
	while (commit_gate_release(c->gate, c->sealed_change))
		;
	check_commit(c);
	if (c->stats.commits % ANSWERS_EVERY == 0)
		c->stats.answers +=
		        sim_answers_fit(c->core, c->o.conf, engine_now(c->o.engine), c->out);
}

static void commit_due(void *arg, void **own)
{
	struct sim_controller *c = arg;
	struct life *l = *own;

	if (!c->core || l->life != c->life)
		return;
	store_commit(c->store, c->in_flight, committed, c);
	if (c->in_flight)
		sim_bug("a synchronous commit did not end", NULL);
	sim_tick(c);
}

static void seal(struct sim_controller *c)
{
	struct store_batch *batch;
	struct life *l;

	if (c->in_flight ||
	        (commit_gate_committed(c->gate) == core_change(c->core) && !c->starts && !c->blobs))
		return;
	batch = store_batch_new(c->store);
	c->sealing = batch;
	core_seal(c->core, row_to_batch, c);
	while (c->blobs) {
		struct blob *b = c->blobs;

		c->blobs = b->next;
		(b->resigned ? store_batch_sign : store_batch_blob)(batch, &b->b);
		free(b->bytes);
		free(b);
	}
	while (c->starts) {
		struct pending_start *p = c->starts;
		uint64_t job;

		c->starts = p->next;
		p->next = c->wanted;
		c->wanted = p;
		memcpy(&job, p->bytes + p->len, sizeof(job));
		store_batch_want_blob(batch, job, p);
	}
	c->sealed_change = core_change(c->core);
	c->sealed_hash = core_hash(c->core);
	c->in_flight = batch;
	l = xcalloc(1, sizeof(*l));
	l->life = c->life;
	engine_at(c->o.engine, engine_between(c->o.engine, c->o.commit_low, c->o.commit_high),
	        commit_due, c, l);
}

static void clock_fires(void *arg, void **own)
{
	struct sim_controller *c = arg;
	struct life *l = *own;
	struct core_event ev = { .kind = EV_CLOCK };

	if (!c->core || l->life != c->life)
		return;
	c->timer = INT64_MAX;
	core_apply(c->core, &ev, engine_now(c->o.engine));
	sim_tick(c);
}

static void arm(struct sim_controller *c)
{
	usec_t at = core_next_timer(c->core), now = engine_now(c->o.engine).mono;
	struct life *l;

	if (at >= c->timer)
		return;
	c->timer = at;
	l = xcalloc(1, sizeof(*l));
	l->life = c->life;
	engine_at(c->o.engine, at - now, clock_fires, c, l);
}

static void drain_effects(struct sim_controller *c)
{
	size_t n;
	const struct effect *effects = core_effects(c->core, &n);

	arena_reset(c->out, WIRE_ARENA_CAP);
	for (size_t i = 0; i < n; i++)
		release(c, &effects[i]);
	core_effects_clear(c->core);
}

void sim_tick(struct sim_controller *c)
{
	struct error err;

	drain_effects(c);
	while (core_schedule(c->core, engine_now(c->o.engine), SCHEDULE_BUDGET))
		drain_effects(c);
	drain_effects(c);
	sim_services_ticked(c);
	if (core_check(c->core, &err) < 0)
		sim_bug("invariant", &err);
	seal(c);
	arm(c);
}

/* --- in -------------------------------------------------------------------------------------- */

/* Of one job, or of some tasks of one array. */
static int take_control(struct sim_controller *c, const struct peer *peer,
        const Gpusched__JobControl *m, struct error *err)
{
	struct core_event ev = { .kind = EV_JOB_CONTROL, .caller = sim_caller(peer) };
	struct taskset set = { 0 };
	const struct taskset *some[1] = { &set };

	if (wire_job_control(m, c->spec, &ev, err) < 0)
		return -1;
	ev.job.ids = m->filter->ids;
	ev.job.n = m->filter->n_ids;
	if (m->filter->n_tasks) {
		if (taskset_parse(m->filter->tasks[0]->tasks, &set, err) < 0)
			return -1;
		ev.job.ids = &m->filter->tasks[0]->job;
		ev.job.tasks = some;
		ev.job.n = 1;
	}
	core_apply(c->core, &ev, engine_now(c->o.engine));
	taskset_clear(&set);
	return 0;
}

static int take_user(struct sim_controller *c, const struct peer *peer, unsigned type,
        const ProtobufCMessage *m, struct error *err)
{
	switch (type) {
	case GPUSCHED__MSG_TYPE__MSG_SUBMIT:
		return sim_take_submit(c, peer, (const void *)m, err);
	case GPUSCHED__MSG_TYPE__MSG_SUBMIT_BULK:
		return sim_take_bulk(c, peer, (const void *)m, err);
	case GPUSCHED__MSG_TYPE__MSG_RESIGN:
		return sim_take_resign(c, peer, (const void *)m, err);
	case GPUSCHED__MSG_TYPE__MSG_STEP_REPORTS:
		return sim_take_step_reports(c, peer, (const void *)m, err);
	case GPUSCHED__MSG_TYPE__MSG_LIST_JOBS:
		reply_job_list(c, peer->link);
		return 0;
	case GPUSCHED__MSG_TYPE__MSG_SERVICE_CONTROL:
		return sim_take_service_control(c, peer, (const void *)m, err);
	case GPUSCHED__MSG_TYPE__MSG_LIST_SERVICES:
		return sim_take_list_services(c, peer, (const void *)m, err);
	case GPUSCHED__MSG_TYPE__MSG_JOB_CONTROL:
		return take_control(c, peer, (const void *)m, err);
	default:
		return error_set(err, ERR_PROTOCOL, "message %s", msg_name(type));
	}
}

static int take_agent(struct sim_controller *c, const struct peer *peer, unsigned type,
        const ProtobufCMessage *m, struct error *err)
{
	struct core_event ev = { 0 };

	switch (type) {
	case GPUSCHED__MSG_TYPE__MSG_REGISTER:
		ev.kind = EV_AGENT_UP;
		if (wire_register((const void *)m, c->spec, &ev, err) < 0)
			return -1;
		ev.agent_up.node = (uint32_t)peer->node;
		ev.agent_up.session = peer->link;
		break;
	case GPUSCHED__MSG_TYPE__MSG_RUN_REPORT:
		ev.kind = EV_RUN_REPORT;
		ev.run.node = (uint32_t)peer->node;
		ev.run.session = peer->link;
		if (wire_report((const void *)m, &ev.run.report, err) < 0)
			return -1;
		break;
	case GPUSCHED__MSG_TYPE__MSG_RUNS_USED:
		if (wire_runs_used((const void *)m, c->spec, &ev, err) < 0)
			return -1;
		ev.used.node = (uint32_t)peer->node;
		ev.used.session = peer->link;
		break;
	case GPUSCHED__MSG_TYPE__MSG_GPU_REPORT:
		if (wire_gpu_report((const void *)m, c->spec, &ev, err) < 0)
			return -1;
		ev.gpus.node = (uint32_t)peer->node;
		ev.gpus.session = peer->link;
		break;
	case GPUSCHED__MSG_TYPE__MSG_HEARTBEAT:
		ev.kind = EV_HEARTBEAT;
		ev.agent.node = (uint32_t)peer->node;
		ev.agent.session = peer->link;
		break;
	default:
		return error_set(err, ERR_PROTOCOL, "message %s", msg_name(type));
	}
	core_apply(c->core, &ev, engine_now(c->o.engine));
	return 0;
}

static void on_message(void *owner, uint64_t link, int type, const void *bytes, size_t n)
{
	struct sim_controller *c = owner;
	struct peer *peer = c->core ? sim_peer(c, link) : NULL;
	ProtobufCMessage *m;
	struct error err;
	int rc;

	if (!peer)
		return;
	m = msg_unpack((unsigned)type, bytes, n, c->in, &err);
	arena_reset(c->spec, 1 << 20);
	rc = !m               ? -1
	     : peer->node < 0 ? take_user(c, peer, (unsigned)type, m, &err)
	                      : take_agent(c, peer, (unsigned)type, m, &err);
	if (rc < 0 && peer->node >= 0)
		sim_bug("an agent's message", &err);
	if (rc < 0) {
		arena_reset(c->out, WIRE_ARENA_CAP);
		sim_reply(c, link, core_change(c->core), &err);
	}
	sim_tick(c);
}

static void on_gone(void *owner, uint64_t link)
{
	struct sim_controller *c = owner;
	struct peer *peer = c->core ? sim_peer(c, link) : NULL;
	struct core_event ev = { .kind = EV_AGENT_GONE };

	if (!peer)
		return;
	peer->open = false;
	if (peer->node < 0)
		return;
	ev.agent.node = (uint32_t)peer->node;
	ev.agent.session = link;
	core_apply(c->core, &ev, engine_now(c->o.engine));
	sim_tick(c);
}

static const struct link_ops controller_link_ops = { on_message, on_gone };

uint64_t sim_controller_connect(
        struct sim_controller *c, int node, uint32_t uid, const struct link_ops *ops, void *owner)
{
	const struct link_ops *both[2] = {
		[SIDE_CONTROLLER] = &controller_link_ops, [SIDE_NODE] = ops
	};
	void *owners[2] = { [SIDE_CONTROLLER] = c, [SIDE_NODE] = owner };
	struct link_faults faults;
	uint64_t link;

	if (!c->core)
		return 0;
	faults = c->o.faults;
	if (node < 0)
		faults.twice_ppm =
		        0; /* users' answers are told apart by request ids, not modelled here */
	link = link_open(c->o.engine, &faults, both, owners);
	c->peers = xrealloc(c->peers, c->n_peers + 1, sizeof(*c->peers));
	c->peers[c->n_peers++] = (struct peer){ link, node, uid, true };
	return link;
}

void sim_controller_resume(struct sim_controller *c, unsigned node, int gpu)
{
	struct peer root = { 0 };
	struct core_event ev = { .kind = EV_NODE_CONTROL, .caller = sim_caller(&root) };
	uint32_t index = node;
	char text[16] = "";

	if (!c->core)
		return;
	if (gpu >= 0)
		snprintf(text, sizeof(text), "%d", gpu);
	ev.node.verb = NODE_RESUME;
	ev.node.nodes = &index;
	ev.node.n = 1;
	ev.node.gpu = text;
	ev.node.reason = "";
	core_apply(c->core, &ev, engine_now(c->o.engine));
	sim_tick(c);
}

void sim_controller_fenced(struct sim_controller *c, unsigned node, bool off)
{
	struct core_event ev = { .kind = EV_FENCED, .fenced = { node, off } };

	if (!c->core)
		return;
	core_apply(c->core, &ev, engine_now(c->o.engine));
	sim_tick(c);
}

/* --- its life -------------------------------------------------------------------------------- */

struct sim_controller *sim_controller_new(const struct sim_controller_options *options)
{
	struct sim_controller *c = xcalloc(1, sizeof(*c));

	c->o = *options;
	c->in = arena_new(1 << 20);
	c->out = arena_new(WIRE_ARENA_CAP);
	c->spec = arena_new(1 << 20);
	return c;
}

/* As gctld --takeover does. */
static void take_over(struct sim_controller *c)
{
	struct core_stats stats;

	core_stats(c->core, &stats);
	core_takeover(c->core, stats.epoch + TAKEOVER_EPOCHS, c->lost_next_job + TAKEOVER_JOBS);
	c->restored = false;
}

void sim_controller_start(struct sim_controller *c)
{
	struct store_options so = { .dir = c->o.dir,
		.cluster = c->o.conf->cluster,
		.vfs = c->o.vfs_name,
		.synchronous_only = true };
	struct core_event ev = { .kind = EV_DISK_FREE, .disk_free_mb = 1 << 20 };
	struct error err;

	if (c->core)
		return;
	c->life++;
	c->timer = INT64_MAX;
	c->stats.restarts++;
	c->store = store_open(&so, NULL, &err);
	if (!c->store)
		sim_bug("store_open", &err);
	c->core = core_new(c->o.conf, c->life);
	if (store_load(c->store, load_row, c->core, &err) < 0)
		sim_bug("load", &err);
	check_hash(c, c->core);
	if (core_start(c->core, engine_now(c->o.engine), &err) < 0)
		sim_bug("core_start", &err);
	if (c->restored)
		take_over(c);
	c->gate = commit_gate_new(commit_gate_sends, c);
	checker_say(c->o.checker, "begun");
	sim_controller_tell_kept_steps(c);
	core_apply(c->core, &ev, engine_now(c->o.engine));
	sim_tick(c);
}

static void forget_unsent(struct sim_controller *c)
{
	while (c->blobs) {
		struct blob *b = c->blobs;

		c->blobs = b->next;
		free(b->bytes);
		free(b);
	}
	starts_free(&c->starts);
}

/* The batch in flight reached the disk and nobody was told. */
static void committed_unheard(void *arg, const struct store_result *result, const struct error *err)
{
	struct sim_controller *c = arg;

	(void)result;
	if (err)
		sim_bug("commit", err);
	c->in_flight = NULL;
	sim_services_committed(c, false);
	c->committed_hash = c->sealed_hash;
	c->has_committed = true;
}

void sim_controller_crash(struct sim_controller *c, bool power)
{
	if (!c->core)
		return;
	for (size_t i = 0; i < c->n_peers; i++) {
		if (c->peers[i].open)
			link_drop_end(c->o.engine, c->peers[i].link, SIDE_CONTROLLER, 5 * SEC);
	}
	c->n_peers = 0;
	sim_bulks_free(c);
	forget_unsent(c);
	/* Whether the commit made it or not: the world must be whole either way. */
	if (c->in_flight && engine_chance(c->o.engine, 500000))
		store_commit(c->store, c->in_flight, committed_unheard, c);
	else if (c->in_flight)
		batch_free(c->in_flight);
	sim_services_committed(c, true);
	c->in_flight = NULL;
	starts_free(&c->wanted);
	if (power)
		fault_vfs_cut_power(c->o.vfs);
	else
		fault_vfs_crash_process(c->o.vfs);
	store_close(c->store);
	commit_gate_free(c->gate);
	core_free(c->core);
	c->store = NULL;
	c->gate = NULL;
	c->core = NULL;
}

static void copy_state(struct sim_controller *c, const char *from, const char *to)
{
	static const char *const parts[] = { "", "-wal" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		char *source = xasprintf("%s/%s%s", c->o.dir, from, parts[i]);
		char *target = xasprintf("%s/%s%s", c->o.dir, to, parts[i]);

		fault_vfs_copy(c->o.vfs, source, target);
		free(source);
		free(target);
	}
}

bool sim_controller_back_up(struct sim_controller *c)
{
	if (c->core)
		copy_state(c, "state.db", "copy.db");
	return c->core != NULL;
}

void sim_controller_restore(struct sim_controller *c)
{
	struct core_stats stats;

	sim_controller_start(c);
	core_stats(c->core, &stats);
	c->lost_next_job = stats.next_job;
	sim_controller_crash(c, false);
	copy_state(c, "copy.db", "state.db");
	c->has_committed = false;
	c->restored = true;
	sim_controller_start(c);
}

bool sim_controller_is_up(const struct sim_controller *c)
{
	return c->core != NULL;
}

void sim_controller_stats(const struct sim_controller *c, struct sim_controller_stats *stats)
{
	*stats = c->stats;
}

void sim_controller_free(struct sim_controller *c)
{
	if (!c)
		return;
	sim_controller_crash(c, false);
	free(c->peers);
	arena_free(c->in);
	arena_free(c->out);
	arena_free(c->spec);
	free(c);
}
