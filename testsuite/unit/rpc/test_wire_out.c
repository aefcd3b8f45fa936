/* test_wire_out.c - the core's structs as messages: a peer accepts them, and nothing is lost
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/xalloc.h"
#include "common/net/frame.h"
#include "common/net/msg.h"
#include "testsuite/unit/lib/wire_arena.h"

/* The views that conversions read. */
bool core_job_run_next(const struct core *core, uint64_t job, uint32_t *rank, struct clocks now,
        struct run_view *view)
{
	(void)core;
	(void)now;
	*view = (struct run_view){ .id = { job, 0, 2, *rank },
		.node = *rank ? "h08" : "h07",
		.state = "ENDED",
		.gpu_type = "h100",
		.gpus = 3,
		.cause = END_PEER,
		.detail = "" };
	return (*rank)++ < 2;
}

size_t core_node_runs(const struct core *core, uint32_t node, struct run_id *runs, size_t max)
{
	const struct run_id held = { 7, 0, 1, 0 };

	(void)core;
	(void)node;
	if (max > 0)
		runs[0] = held;
	return 1;
}

bool core_share_gpus(
        const struct core *core, uint32_t account, size_t *cursor, struct share_gpus *view)
{
	(void)core, (void)account;
	*view = (struct share_gpus){ "h100", 16000, 4000, 20500, 32, 0, 2500 };
	return !(*cursor)++;
}

size_t core_gpu_runs(const struct core *core, uint32_t node, uint32_t index,
        struct gpu_run_view *runs, size_t max)
{
	(void)index;
	runs->share = (struct share){ .milli = 250, .charge = 427, .mem_mb = 20480 };
	runs->burst_mb = 30720;
	return core_node_runs(core, node, &runs->run, max);
}

void core_gpu_near(
        const struct core *core, uint32_t node, uint32_t index, char text[GPU_NEAR_TEXT])
{
	(void)core, (void)node;
	snprintf(text, GPU_NEAR_TEXT, "%s", index == 1 ? "PIX,X" : "");
}

static struct conf_node nodes[100];
static char node_names[100][16];

static struct conf small_conf(void)
{
	for (int i = 0; i < 100; i++) {
		snprintf(node_names[i], sizeof(node_names[i]), "n%02d", i);
		nodes[i].name = node_names[i];
	}
	return (struct conf){ .cluster = S("lab"), .nodes = nodes, .n_nodes = 100 };
}

/* Through real bytes: what is packed must be what a peer accepts. */
static ProtobufCMessage *through_the_wire(unsigned type, const ProtobufCMessage *m)
{
	static struct arena *other;
	struct error err;
	ProtobufCMessage *back;
	uint8_t *bytes;
	size_t len;

	if (!other)
		other = arena_new(1 << 20);
	assert_int_equal(frame_pack(type, 1, m, &bytes, &len, &err), 0);
	back = msg_unpack(type, bytes + FRAME_HEADER_LEN, len - FRAME_HEADER_LEN, other, &err);
	if (!back)
		fail_msg("%s", err.text);
	free(bytes);
	return back; /* good until the next */
}

static void test_job(void **state)
{
	static const struct label labels[] = { { "model", "bge" } };
	struct job_view v = {
		.id = 4812,
		.uid = 1000,
		.name = "evil\x1b[2Jname",
		.user = "ana",
		.account = "",
		.partition = "batch",
		.state = "RUNNING",
		.state_code = "R",
		.reason = "",
		.gpus = { { "h100", 2 }, { "", 4 } },
		.n_gpus = 2,
		.cpus = 3,
		.node = "h07",
		.gpu_type = "h100",
		.gpu_set = 0x8000000000000005ULL,
		.attempt = 2,
		.priority = -7,
		.nice = -3,
		.labels = labels,
		.n_labels = 1,
		.cwd = "/home/\xff",
		.output = "o",
		.error = "",
		.submit_host = "h",
		.comment = "",
		.requeue = true,
		.qos = "normal",
		.nodes_min = 1,
		.nodes_max = 2,
		.constraint = "nvlink",
		.licences = "trtllm:2",
		.nodes = "h[07-08]",
		.n_nodes = 2,
		.gpus_held = 7,
		.checkpoint_time = 55,
		.suspended_s = 66,
		.progress = "71%",
		.planned_start = 77,
		.planned_nodes = "h09",
		.position = 3,
		.position_of = 9,
		.order = 3,
		.n_blockers = 2,
		.cost_max = 8.5,
	};
	Gpusched__JobChunk chunk = GPUSCHED__JOB_CHUNK__INIT;
	Gpusched__Job *list[1];
	const Gpusched__Job *back;

	(void)state;
	list[0] = wire_job(&v, arena);
	wire_job_runs(NULL, (struct clocks){ 0, 0 }, v.ref, list[0], arena);
	chunk.jobs = list;
	chunk.n_jobs = 1;
	back = ((Gpusched__JobChunk *)through_the_wire(
	                GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, &chunk.base))
	               ->jobs[0];
	assert_int_equal(back->id, 4812);
	assert_string_equal(back->name, "evil\\x1B[2Jname");
	assert_string_equal(back->cwd, "/home/\\xFF");
	assert_string_equal(back->state, "RUNNING");
	assert_int_equal(back->n_gpus, 2);
	assert_string_equal(back->gpus[1]->type, "");
	assert_int_equal(back->gpus[1]->count, 4);
	assert_int_equal(back->n_gpu_indices, 3);
	assert_int_equal(back->gpu_indices[2], 63);
	assert_int_equal(back->priority, -7);
	assert_int_equal(back->nice, -3);
	assert_string_equal(back->labels[0]->value, "bge");
	assert_true(back->requeue);
	assert_string_equal(back->qos, "normal");
	assert_int_equal(back->nodes_max, 2);
	assert_int_equal(back->gpus_held, 7);
	assert_int_equal(back->n_runs, 2);
	assert_int_equal(back->runs[1]->rank, 1);
	assert_string_equal(back->runs[1]->node, "h08");
	assert_int_equal(back->runs[1]->n_gpus, 2);
	assert_int_equal(back->runs[1]->cause, GPUSCHED__END_CAUSE__CAUSE_PEER);
	assert_string_equal(back->constraint, "nvlink");
	assert_string_equal(back->prefer, "");
	assert_string_equal(back->licences, "trtllm:2");
	assert_string_equal(back->nodes, "h[07-08]");
	assert_int_equal(back->n_nodes, 2);
	assert_int_equal(back->checkpoint_time, 55);
	assert_int_equal(back->suspended_s, 66);
	assert_string_equal(back->progress, "71%");
	assert_int_equal(back->planned_start_time, 77);
	assert_string_equal(back->planned_nodes, "h09");
	assert_int_equal(back->position, 3);
	assert_int_equal(back->position_of, 9);
	assert_int_equal(back->order, 3);
	assert_int_equal(back->n_blockers, 2);
	assert_true(back->cost_max > 8.4 && back->cost_max < 8.6);
	assert_false(back->cost_unlimited);
	/* As in a listing: the view is the next job's before the first is packed. */
	snprintf(v.reason_text, sizeof(v.reason_text), "first");
	list[0] = wire_job(&v, arena);
	memset(&v, 'x', sizeof(v));
	assert_string_equal(list[0]->reason_text, "first");
	assert_string_equal(list[0]->planned_nodes, "h09");
	memset(&v, 0, sizeof(v));
	v.cost_max = -1;
	assert_true(wire_job(&v, arena)->cost_unlimited);
}

static struct job_why some_why(void)
{
	struct job_why why = { .position = 3,
		.of = 9,
		.planned_start = 5,
		.first_planned = 4,
		.planned_nodes = "h[07-08]",
		.planned_why = "a node was lost",
		.tried = "shorter --time",
		.cut_short = true };

	why.blockers[0] = (struct why_blocker){ .reason = "AssocGrpGRES",
		.text = "vision\x1b: limit h100:32",
		.clears = 7,
		.clears_text = "4690 must end" };
	why.blockers[1] = (struct why_blocker){ .reason = "Priority" };
	why.n_blockers = 2;
	why.changes[0] = (struct why_change){ "--gpus=h100:4", "on h07" };
	why.n_changes = 1;
	return why;
}

static void check_why(const Gpusched__Why *back)
{
	assert_int_equal(back->n_blockers, 2);
	assert_string_equal(back->blockers[0]->reason, "AssocGrpGRES");
	assert_string_equal(back->blockers[0]->text, "vision\\x1B: limit h100:32");
	assert_int_equal(back->blockers[0]->clears_time, 7);
	assert_string_equal(back->blockers[0]->clears, "4690 must end");
	assert_string_equal(back->blockers[1]->reason, "Priority");
	assert_int_equal(back->position, 3);
	assert_int_equal(back->position_of, 9);
	assert_int_equal(back->planned_start_time, 5);
	assert_int_equal(back->first_planned_start_time, 4);
	assert_string_equal(back->planned_nodes, "h[07-08]");
	assert_string_equal(back->planned_why, "a node was lost");
	assert_int_equal(back->n_changes, 1);
	assert_string_equal(back->changes[0]->option, "--gpus=h100:4");
	assert_string_equal(back->changes[0]->effect, "on h07");
	assert_string_equal(back->tried, "shorter --time");
	assert_true(back->cut_short);
}

static void test_why(void **state)
{
	struct conf conf = { .cluster = S("lab"), .prices.currency = S("EUR") };
	struct job_view job = { .id = 4812, .state = "PENDING" };
	struct clocks now = { .wall = 77 };
	struct job_why why = some_why();
	const Gpusched__WhyResult *back;

	(void)state;
	back = (const void *)through_the_wire(GPUSCHED__MSG_TYPE__MSG_WHY_RESULT,
	        &wire_why_result(&job, &why, &conf, now, arena)->base);
	assert_int_equal(back->job->id, 4812);
	assert_string_equal(back->currency, "EUR");
	assert_int_equal(back->now_time, 77);
	check_why(back->why);
	back = (const void *)through_the_wire(GPUSCHED__MSG_TYPE__MSG_WHY_RESULT,
	        &wire_why_result(&job, NULL, &conf, now, arena)->base);
	assert_null(back->why);
}

static void test_submitted(void **state)
{
	struct conf_node two[] = { { .name = S("h07") }, { .name = S("h08") } };
	struct conf conf = { .nodes = two, .n_nodes = 2, .prices.currency = S("EUR") };
	struct test_place places[] = { { 1, 6 }, { 0, 9 } };
	struct job_why why = some_why();
	struct effect e = { .kind = EFFECT_SUBMITTED,
		.submitted = { .ids = (uint64_t[]){ 0 },
		        .n = 1,
		        .test_only = true,
		        .next_job = 4813,
		        .would_start_now = true,
		        .places = places,
		        .n_places = 2,
		        .gpu_type = "h100",
		        .cost_max = 8.5 } };
	const Gpusched__SubmitResult *back;

	(void)state;
	back = (const void *)through_the_wire(
	        GPUSCHED__MSG_TYPE__MSG_SUBMIT_RESULT, &wire_submitted(&e, &conf, arena)->base);
	assert_int_equal(back->next_job, 4813);
	assert_true(back->would_start_now);
	assert_string_equal(back->node, "h08");
	assert_int_equal(back->n_gpus, 2);
	assert_int_equal(back->n_places, 2);
	assert_string_equal(back->places[1]->node, "h07");
	assert_int_equal(back->places[1]->gpus[1], 3);
	assert_string_equal(back->places[1]->gpu_type, "h100");
	assert_true(back->cost_max > 8.4 && !back->cost_unlimited);
	assert_string_equal(back->currency, "EUR");
	assert_null(back->why);

	e.submitted.would_start_now = false;
	e.submitted.why = &why;
	e.submitted.cost_max = -1;
	back = (const void *)through_the_wire(
	        GPUSCHED__MSG_TYPE__MSG_SUBMIT_RESULT, &wire_submitted(&e, &conf, arena)->base);
	assert_false(back->would_start_now);
	assert_int_equal(back->n_places, 0);
	assert_string_equal(back->reason, "AssocGrpGRES: vision\\x1B: limit h100:32");
	assert_true(back->cost_unlimited);
	check_why(back->why);
}

static void test_prio_and_share(void **state)
{
	struct conf conf = { .priority = { 1, 2, 3, 4, 5, 6, 7, 8 } };
	struct job_view job = { .id = 4812, .partition = "batch", .user = "ana" };
	struct prio_view prio = { { 0.1, 0.2, 0.3, 0.4, -0.5, 0.6 }, { 1, 2, 3, 4, -5, 6, 7, 4 } };
	struct share_view share = { .account = "vision",
		.user = "ana",
		.depth = 1,
		.shares = 3,
		.norm = 0.6,
		.gpu_us = UINT64_MAX,
		.cost = 8.5,
		.rank = 2,
		.index = CONF_NONE };
	Gpusched__PrioChunk prios = GPUSCHED__PRIO_CHUNK__INIT;
	Gpusched__ShareChunk shares = GPUSCHED__SHARE_CHUNK__INIT;
	Gpusched__Prio *p = wire_prio(&job, &prio, arena);
	Gpusched__Share *s = wire_share(NULL, &share, arena), *account;

	(void)state;
	assert_int_equal(s->n_gpus, 0);
	share.index = 3;
	account = wire_share(NULL, &share, arena);
	assert_int_equal(account->n_gpus, 1);
	assert_string_equal(account->gpus[0]->type, "h100");
	assert_int_equal(account->gpus[0]->guaranteed_milli, 16000);
	assert_int_equal(account->gpus[0]->kept_milli, 4000);
	assert_int_equal(account->gpus[0]->held_milli, 20500);
	assert_int_equal(account->gpus[0]->lent_milli, 0);
	assert_int_equal(account->gpus[0]->borrowed_milli, 2500);
	assert_int_equal(account->gpus[0]->limit, 32);
	prios.prios = &p;
	prios.n_prios = 1;
	prios.weights = wire_weights(&conf, arena);
	prios = *(Gpusched__PrioChunk *)through_the_wire(
	        GPUSCHED__MSG_TYPE__MSG_PRIO_CHUNK, &prios.base);
	p = prios.prios[0];
	assert_int_equal(p->id, 4812);
	assert_string_equal(p->qos, "");
	assert_int_equal(p->priority, 4);
	assert_int_equal(p->points->qos, -5);
	assert_int_equal(p->points->nice, 7);
	assert_true(p->factors->qos < -0.4 && p->factors->wait > 0.5);
	assert_int_equal(prios.weights->fair_share, 2);
	assert_int_equal(prios.weights->half_life_s, 8);

	shares.shares = &s;
	shares.n_shares = 1;
	shares.currency = S("EUR");
	shares = *(Gpusched__ShareChunk *)through_the_wire(
	        GPUSCHED__MSG_TYPE__MSG_SHARE_CHUNK, &shares.base);
	s = shares.shares[0];
	assert_string_equal(s->account, "vision");
	assert_string_equal(s->user, "ana");
	assert_true(s->gpu_us == UINT64_MAX && s->cost > 8.4);
	assert_int_equal(s->shares, 3);
	assert_int_equal(s->rank, 2);
}

static void test_reply(void **state)
{
	const Gpusched__Reply *back;
	struct error err;

	(void)state;
	back = (Gpusched__Reply *)through_the_wire(
	        GPUSCHED__MSG_TYPE__MSG_REPLY, &wire_reply(NULL, arena)->base);
	assert_int_equal(back->code, 0);
	error_set(&err, ERR_NO_JOB, "no job 7\n");
	error_hint(&err, "look again");
	back = (Gpusched__Reply *)through_the_wire(
	        GPUSCHED__MSG_TYPE__MSG_REPLY, &wire_reply(&err, arena)->base);
	assert_int_equal(back->code, ERR_NO_JOB);
	assert_string_equal(back->text, "no job 7\\x0A");
	assert_string_equal(back->hint, "look again");
	assert_int_equal(back->retry_after_ms, 0);
	error_set(&err, ERR_BUSY, "later");
	back = (Gpusched__Reply *)through_the_wire(
	        GPUSCHED__MSG_TYPE__MSG_REPLY, &wire_reply(&err, arena)->base);
	assert_int_equal(back->retry_after_ms, WIRE_RETRY_MS);
}

/* The order and the signed bytes, packed one behind the other, are one message. */
static void test_start_run_in_two_parts(void **state)
{
	struct run_view run = {
		.id = { 4812, 0, 1, 0 },
		.node = "h07",
		.state = "ORDERED",
		.gpu_type = "h100",
		.incarnation = "boot-1",
		.nodes = "h[07-08]",
		.n_nodes = 2,
		.gpus = 5,
		.gpu_uuids = "GPU-a,GPU-b,GPU-c",
		.cpus = 8,
		.grace_s = 30,
		.mem_mb = 100,
		.epoch = 12,
		.gpu_mem_mb = 81920,
		.share = { .milli = 250, .charge = 300, .mem_mb = 24576 },
		.share_burst_mb = 30720,
		.share_mps = true,
		.cost_hour_u = 5720000,
		.order_time = 1700000012000000,
	};
	struct job_view job = { .user = "ana",
		.submit_time = 1700000000000000,
		.account = "",
		.partition = "batch",
		.submit_host = "login",
		.time_limit_s = 60,
		.warn_signal = 10 };
	struct store_blob blob = { .job = 4812,
		.spec = "spec\0x",
		.spec_len = 6,
		.script = "#!",
		.script_len = 2,
		.credential = "MUNGE:",
		.credential_len = 6 };
	const ProtobufCMessage *head = &wire_start_run(&run, &job, "EUR", arena)->base;
	const ProtobufCMessage *tail = &wire_start_bytes(&blob, arena)->base;
	size_t n = protobuf_c_message_get_packed_size(head);
	size_t m = protobuf_c_message_get_packed_size(tail);
	uint8_t *bytes = xcalloc(n + m, 1);
	struct arena *in = arena_new(0);
	const Gpusched__StartRun *back;
	struct error err;

	(void)state;
	protobuf_c_message_pack(head, bytes);
	protobuf_c_message_pack(tail, bytes + n);
	back = (Gpusched__StartRun *)msg_unpack(
	        GPUSCHED__MSG_TYPE__MSG_START_RUN, bytes, n + m, in, &err);
	assert_non_null(back);
	assert_int_equal(back->run->job, 4812);
	assert_int_equal(back->epoch, 12);
	assert_string_equal(back->incarnation, "boot-1");
	assert_string_equal(back->user, "ana");
	assert_int_equal(back->n_gpus, 2);
	assert_int_equal(back->gpus[1], 2);
	assert_int_equal(back->n_gpu_uuids, 2);
	assert_string_equal(back->gpu_uuids[1], "GPU-c");
	assert_int_equal(back->gpu_mem_mb, 24576);
	assert_int_equal(back->share_milli, 250);
	assert_int_equal(back->share_charge, 300);
	assert_int_equal(back->share_mb, 24576);
	assert_int_equal(back->share_burst_mb, 30720);
	assert_true(back->share_mps);
	assert_int_equal(back->waited_us, 12000000);
	assert_int_equal(back->cost_hour_u, 5720000);
	assert_string_equal(back->currency, "EUR");
	assert_int_equal(back->time_limit_s, 60);
	assert_string_equal(back->nodelist, "h[07-08]");
	assert_int_equal(back->nnodes, 2);
	assert_int_equal(back->spec.len, 6);
	assert_memory_equal(back->spec.data, "spec\0x", 6);
	assert_int_equal(back->script.len, 2);
	assert_memory_equal(back->credential.data, "MUNGE:", 6);
	arena_free(in);
	free(bytes);
}

static void test_orders(void **state)
{
	struct conf_gpu_type types[] = { { .name = S("h100"), .mem_mb = 81920 },
		{ .name = S("l40s"), .mem_mb = 49152 } };
	struct conf_gpu_count counts[] = { { 1, 2, 0 }, { 0, 1, 0 } };
	struct conf conf = small_conf();
	struct wire_facts facts = { &conf, 12 };
	struct run_id wanted[] = { { 1, 0, 1, 0 }, { 2, 0, 3, 5 } };
	struct effect e = { .kind = EFFECT_REGISTERED, .node = 4 };
	const Gpusched__Registered *reg;
	const Gpusched__EndRun *end;
	const Gpusched__ForgetRun *forget;
	unsigned type;

	(void)state;
	conf.gpu_types = types;
	conf.n_gpu_types = 2;
	conf.nodes[4].gpus = counts;
	conf.nodes[4].n_gpus = 2;
	conf.controller.heartbeat_ms = 500;
	conf.controller.signature_age_s = 99;
	e.registered.wanted = wanted;
	e.registered.n = 2;
	reg = (Gpusched__Registered *)through_the_wire(
	        GPUSCHED__MSG_TYPE__MSG_REGISTERED, &wire_registered(&e, &facts, arena)->base);
	assert_int_equal(reg->epoch, 12);
	assert_int_equal(reg->n_wanted, 2);
	assert_int_equal(reg->wanted[1]->attempt, 3);
	assert_int_equal(reg->wanted[1]->rank, 5);
	assert_int_equal(reg->n_gpus, 3);
	assert_int_equal(reg->gpus[2]->index, 2);
	assert_string_equal(reg->gpus[0]->type, "l40s");
	assert_string_equal(reg->gpus[2]->type, "h100");
	assert_int_equal(reg->gpus[2]->mem_mb, 81920);
	assert_int_equal(reg->heartbeat_ms, 500);
	assert_int_equal(reg->signature_age_s, 99);
	assert_string_equal(reg->cluster, "lab");

	e = (struct effect){ .kind = EFFECT_END_RUN };
	e.run.run = wanted[1];
	e.run.cause = END_CANCEL;
	e.run.grace_s = 30;
	e.run.by_user = "root";
	end = (Gpusched__EndRun *)through_the_wire(
	        GPUSCHED__MSG_TYPE__MSG_END_RUN, wire_order(&e, &facts, arena, &type));
	assert_int_equal(end->run->job, 2);
	assert_int_equal(end->cause, GPUSCHED__END_CAUSE__CAUSE_CANCEL);
	assert_int_equal(end->grace_s, 30);
	assert_int_equal(end->epoch, 12);
	assert_string_equal(end->by_user, "root");

	assert_int_equal(type, GPUSCHED__MSG_TYPE__MSG_END_RUN);

	e = (struct effect){ .kind = EFFECT_FORGET_RUN, .run.run = wanted[1] };
	forget = (Gpusched__ForgetRun *)through_the_wire(
	        GPUSCHED__MSG_TYPE__MSG_FORGET_RUN, wire_order(&e, &facts, arena, &type));
	assert_int_equal(forget->n_runs, 1);
	assert_int_equal(forget->runs[0]->job, 2);
	conf.nodes[4].gpus = NULL;
	conf.nodes[4].n_gpus = 0;
}

/* Who has how much of a GPU. */
static void test_parts(void **state)
{
	struct gpu_view view = { .index = 1,
		.type = "l40s",
		.state = "shared",
		.parts_mem_mb = 40960,
		.mem_mb = 49152 };
	Gpusched__NodeGpu *gpu = wire_node_gpu(NULL, 4, &view, NULL, arena);

	(void)state;
	assert_int_equal(gpu->parts_mem_mb, 40960);
	assert_int_equal(gpu->n_runs, 1);
	assert_int_equal(gpu->n_parts, 1);
	assert_int_equal(gpu->parts[0]->run->job, 7);
	assert_int_equal(gpu->parts[0]->mem_mb, 20480);
	assert_int_equal(gpu->parts[0]->milli, 250);
	assert_int_equal(gpu->parts[0]->burst_mb, 30720);
	assert_string_equal(gpu->near, "PIX,X");
	assert_true(protobuf_c_message_check(&gpu->base));
}

static void test_node(void **state)
{
	struct conf conf = small_conf();
	uint32_t all[] = { 1, 4, 9 }, few[] = { 2 };
	struct conf_partition partitions[] = {
		{ .name = S("batch"), .nodes = all, .n_nodes = 3 },
		{ .name = S("small"), .nodes = few, .n_nodes = 1 },
		{ .name = S("none") },
	};
	struct node_view view = { .name = "n04",
		.state = "drained",
		.reason = "fan\n",
		.reason_uid = 7,
		.reason_time = 1795255320LL * 1000000,
		.boot_id = "b",
		.version = "1",
		.containment = "",
		.n_runs = 1,
		.gpus = { { "h100", 8, 3, 3, "n04", { .largest_node = "" } },
		        { "l40s", 4, 0, 0, "", { 3, 1500, 120, 70, 40, "n04" } } },
		.n_gpus = 2 };
	Gpusched__NodeChunk chunk = GPUSCHED__NODE_CHUNK__INIT;
	Gpusched__Node *list[1];
	const Gpusched__Node *back;

	(void)state;
	conf.partitions = partitions;
	conf.n_partitions = 3;
	chunk.nodes = list;
	chunk.n_nodes = 1;
	list[0] = wire_node(NULL, &conf, 4, &view, "ana", arena);
	back = ((Gpusched__NodeChunk *)through_the_wire(
	                GPUSCHED__MSG_TYPE__MSG_NODE_CHUNK, &chunk.base))
	               ->nodes[0];
	assert_string_equal(back->reason, "fan\\x0A [ana@2026-11-21T10:02:00Z]");
	assert_int_equal(back->n_partitions, 1);
	assert_string_equal(back->partitions[0], "batch");
	assert_int_equal(back->n_runs, 1);
	assert_int_equal(back->runs[0]->job, 7);
	assert_int_equal(back->gpus[0]->free, 3);
	assert_null(back->gpus[0]->shared);
	assert_int_equal(back->gpus[1]->shared->gpus, 3);
	assert_int_equal(back->gpus[1]->shared->granted_milli, 1500);
	assert_int_equal(back->gpus[1]->shared->mem_mb, 120);
	assert_int_equal(back->gpus[1]->shared->granted_mem_mb, 70);
	assert_int_equal(back->gpus[1]->shared->largest_mem_mb, 40);
	assert_string_equal(back->gpus[1]->shared->largest_node, "n04");
	list[0] = wire_node(NULL, &conf, 4, &view, NULL, arena);
	assert_string_equal(list[0]->reason, "fan\\x0A [uid 7@2026-11-21T10:02:00Z]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_job),
		cmocka_unit_test(test_why),
		cmocka_unit_test(test_submitted),
		cmocka_unit_test(test_prio_and_share),
		cmocka_unit_test(test_reply),
		cmocka_unit_test(test_start_run_in_two_parts),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_node),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
