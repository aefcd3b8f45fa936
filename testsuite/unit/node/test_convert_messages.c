/* test_convert_messages.c - messages and the agent core's words, and the launcher that only seems
 * to run */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "noded/net/convert_messages.h"
#include "noded/sim/sim_launcher.h"

#define T(name) GPUSCHED__MSG_TYPE__MSG_##name

static void every_field_of_a_report_survives(void **state)
{
	const struct run_report in = { .run = { 7, 8, 9, 10 },
		.state = REPORT_ENDED,
		.start_time = 1,
		.end_time = 2,
		.elapsed_us = 3,
		.exit_code = 4,
		.exit_signal = 5,
		.cause = END_TIME_LIMIT,
		.detail = "why",
		.incarnation = "boot-1",
		.epoch = 6,
		.gpus = 0x8000000000000005u,
		.gpu_type = "h100",
		.cpus = 10,
		.mem_mb = 11,
		.cpu_time_us = 12,
		.max_rss_kb = 13,
		.uid = 14,
		.checkpoint_time = 15,
		.progress = "71%",
		.suspended = true,
		.suspended_us = 16,
		.share_charge = 17,
		.share_milli = 16,
		.share_mb = 18,
		.share_burst_mb = 19 };
	struct convert *c = convert_new();
	struct agent_event event;
	struct run_report out;
	Gpusched__RunReport m;
	struct error err;

	(void)state;
	convert_report(c, &in, &m);
	assert_int_equal(m.n_gpus, 3);
	assert_int_equal(m.gpus[2], 63);
	assert_int_equal(convert_event(c, T(LAUNCHER_RUN), &m.base, 0, &event, &err), 0);
	assert_int_equal(event.kind, AGENT_LAUNCHER_RUN);
	out = event.report;
	assert_string_equal(out.detail, in.detail);
	assert_string_equal(out.incarnation, in.incarnation);
	assert_string_equal(out.gpu_type, in.gpu_type);
	assert_string_equal(out.progress, in.progress);
	assert_int_equal(out.checkpoint_time, in.checkpoint_time);
	assert_true(out.suspended);
	assert_int_equal(out.suspended_us, in.suspended_us);
	assert_int_equal(out.share_charge, in.share_charge);
	assert_int_equal(out.share_milli, in.share_milli);
	assert_int_equal(out.share_mb, in.share_mb);
	assert_int_equal(out.share_burst_mb, in.share_burst_mb);
	assert_int_equal(out.start_time, in.start_time);
	assert_int_equal(out.end_time, in.end_time);
	assert_int_equal(out.elapsed_us, in.elapsed_us);
	assert_int_equal(out.exit_code, in.exit_code);
	assert_int_equal(out.exit_signal, in.exit_signal);
	assert_int_equal(out.cause, in.cause);
	assert_int_equal(out.epoch, in.epoch);
	assert_int_equal(out.gpus, in.gpus);
	assert_int_equal(out.cpus, in.cpus);
	assert_int_equal(out.mem_mb, in.mem_mb);
	assert_int_equal(out.cpu_time_us, in.cpu_time_us);
	assert_int_equal(out.max_rss_kb, in.max_rss_kb);
	assert_int_equal(out.uid, in.uid);
	assert_true(run_id_equal(&out.run, &in.run));
	assert_int_equal(out.state, in.state);
	convert_free(c);
}

static void a_replica_survives(void **state)
{
	const struct replica_report in = { HEALTH_READY, "503", 20, 21, "", { 7001, 65535 }, 2, 22,
		23 };
	struct agent_effect effect = { .kind = AGENT_SEND_REPORT,
		.report = { .run = { 7, 8, 9, 0 },
		        .state = REPORT_RUNNING,
		        .detail = "",
		        .incarnation = "",
		        .gpu_type = "",
		        .progress = "",
		        .node_trouble = "",
		        .replica = in } };
	const struct node_facts facts = { .node = "n1", .service_address = "10.0.0.1" };
	struct convert *c = convert_new();
	const struct replica_report *out;
	struct agent_event event;
	Gpusched__RunReport *m;
	struct error err;
	unsigned type;

	(void)state;
	m = (Gpusched__RunReport *)convert_effect(c, &effect, &facts, &type);
	assert_int_equal(convert_event(c, T(LAUNCHER_RUN), &m->base, 0, &event, &err), 0);
	out = &event.report.replica;
	assert_int_equal(out->health, in.health);
	assert_string_equal(out->text, in.text);
	assert_int_equal(out->ready_time, in.ready_time);
	assert_int_equal(out->ready_us, in.ready_us);
	assert_string_equal(out->address, "10.0.0.1");
	assert_int_equal(out->n_ports, 2);
	assert_int_equal(out->ports[0], 7001);
	assert_int_equal(out->ports[1], 65535);
	assert_int_equal(out->requests, in.requests);
	assert_int_equal(out->tokens, in.tokens);
	m->replica->ports[1] = 65536;
	assert_int_equal(convert_event(c, T(LAUNCHER_RUN), &m->base, 0, &event, &err), -1);
	m->replica->n_ports = REPLICA_PORTS_MAX + 1;
	assert_int_equal(convert_event(c, T(LAUNCHER_RUN), &m->base, 0, &event, &err), -1);
	m->replica->n_ports = 0;
	m->replica->health = HEALTH_LAST + 1;
	assert_int_equal(convert_event(c, T(LAUNCHER_RUN), &m->base, 0, &event, &err), -1);
	convert_free(c);
}

static void an_end_survives(void **state)
{
	struct agent_effect effect = { .kind = AGENT_TELL_END };
	struct convert *c = convert_new();
	const ProtobufCMessage *m;
	struct agent_event event;
	unsigned type = 0;

	(void)state;
	effect.end = (struct agent_end){ .run = { 1, 2, 3, 4 },
		.epoch = 4,
		.cause = END_PREEMPT,
		.signal = 10,
		.grace_s = 11,
		.by_user = "u",
		.by_account = "a",
		.by_qos = "q",
		.by_job = 12,
		.requeue = true };
	m = convert_effect(c, &effect, NULL, &type);
	assert_int_equal(type, T(END_RUN));
	assert_int_equal(convert_event(c, type, m, 77, &event, NULL), 0);
	assert_int_equal(event.kind, AGENT_END);
	assert_int_equal(event.session, 77);
	assert_string_equal(event.end.by_user, "u");
	assert_string_equal(event.end.by_account, "a");
	assert_string_equal(event.end.by_qos, "q");
	assert_int_equal(event.end.run.attempt, 3);
	assert_int_equal(event.end.run.rank, 4);
	assert_int_equal(event.end.cause, END_PREEMPT);
	assert_int_equal(event.end.signal, 10);
	assert_int_equal(event.end.grace_s, 11);
	assert_int_equal(event.end.by_job, 12);
	assert_true(event.end.requeue);
	convert_free(c);
}

static void suspensions_go_both_ways(void **state)
{
	struct agent_effect in = { .kind = AGENT_TELL_SUSPEND,
		.suspend = { { 1, 2, 3, 4 }, 5, true, 77 } };
	struct convert *c = convert_new();
	struct agent_event event;
	const ProtobufCMessage *m;
	unsigned type;

	(void)state;
	m = convert_effect(c, &in, NULL, &type);
	assert_int_equal(type, GPUSCHED__MSG_TYPE__MSG_SUSPEND_RUN);
	assert_int_equal(convert_event(c, type, m, 9, &event, NULL), 0);
	assert_int_equal(event.kind, AGENT_SUSPEND);
	assert_true(run_id_equal(&event.suspend.run, &in.suspend.run));
	assert_int_equal(event.suspend.epoch, 5);
	assert_true(event.suspend.suspend);
	assert_int_equal(event.suspend.time_limit_s, 77);
	convert_free(c);
}

/* A run without an id is run 0, which the core refuses; it must not crash here. */
static void missing_ids_are_zero(void **state)
{
	Gpusched__StartRun start = GPUSCHED__START_RUN__INIT;
	Gpusched__EndRun end = GPUSCHED__END_RUN__INIT;
	Gpusched__SignalRun sig = GPUSCHED__SIGNAL_RUN__INIT;
	Gpusched__SuspendRun stop = GPUSCHED__SUSPEND_RUN__INIT;
	Gpusched__RunReport report = GPUSCHED__RUN_REPORT__INIT;
	struct convert *c = convert_new();
	struct agent_event event;

	(void)state;
	assert_int_equal(convert_event(c, T(START_RUN), &start.base, 1, &event, NULL), 0);
	assert_int_equal(event.start.run.job, 0);
	assert_ptr_equal(event.start.order, &start);
	assert_int_equal(convert_event(c, T(END_RUN), &end.base, 1, &event, NULL), 0);
	assert_int_equal(event.end.run.job, 0);
	assert_int_equal(convert_event(c, T(SIGNAL_RUN), &sig.base, 1, &event, NULL), 0);
	assert_int_equal(event.signal.run.job, 0);
	assert_int_equal(convert_event(c, T(SUSPEND_RUN), &stop.base, 1, &event, NULL), 0);
	assert_int_equal(event.suspend.run.job, 0);
	report.state = GPUSCHED__RUN_REPORT__STATE__RUNNING;
	assert_int_equal(convert_event(c, T(LAUNCHER_RUN), &report.base, 1, &event, NULL), 0);
	assert_int_equal(event.report.run.job, 0);
	convert_free(c);
}

static void what_cannot_be_is_refused(void **state)
{
	Gpusched__StartRun start = GPUSCHED__START_RUN__INIT;
	Gpusched__RunReport report = GPUSCHED__RUN_REPORT__INIT;
	Gpusched__LauncherHello hello = GPUSCHED__LAUNCHER_HELLO__INIT;
	Gpusched__RunReport *reports[] = { &report };
	Gpusched__Ping ping = GPUSCHED__PING__INIT;
	uint32_t gpu = 64;
	struct convert *c = convert_new();
	struct agent_event event = { .session = 5 };
	struct error err;

	(void)state;
	start.gpus = report.gpus = &gpu;
	start.n_gpus = 1;
	assert_int_equal(convert_event(c, T(START_RUN), &start.base, 1, &event, &err), -1);
	assert_int_equal(err.code, ERR_PROTOCOL);
	assert_int_equal(convert_event(c, T(LAUNCHER_RUN), &report.base, 1, &event, &err), -1);
	report.state = GPUSCHED__RUN_REPORT__STATE__RUNNING;
	report.n_gpus = 1;
	assert_int_equal(convert_event(c, T(LAUNCHER_RUN), &report.base, 1, &event, &err), -1);
	hello.runs = reports;
	hello.n_runs = 1;
	assert_int_equal(convert_event(c, T(LAUNCHER_HELLO), &hello.base, 1, &event, &err), -1);
	assert_int_equal(convert_event(c, T(PING), &ping.base, 1, &event, &err), -1);
	assert_int_equal(err.code, ERR_PROTOCOL);
	assert_int_equal(event.session, 5); /* untouched */
	convert_free(c);
}

/* --- the simulated launcher ------------------------------------------------------------------ */

static const struct sim_case {
	const char *label;
	uint32_t time_limit_s;
	usec_t end_at;
	uint32_t exit_code, exit_signal;
	enum end_cause cause;
} sim_cases[] = {
	{ NULL, 0, 0, 0, 0, END_EXIT },
	{ "2", 0, 2000000, 0, 0, END_EXIT },
	{ "0.5:7", 0, 500000, 7, 0, END_EXIT },
	{ ":3", 0, 0, 3, 0, END_EXIT },
	{ "nonsense", 0, 0, 0, 0, END_EXIT },
	{ "-5", 0, 0, 0, 0, END_EXIT },
	{ "100:7", 60, 60000000, 0, 15, END_TIME_LIMIT },
	{ "60:7", 60, 60000000, 7, 0, END_EXIT },
};

static void start_simulated(
        struct sim_launcher *l, uint64_t job, const char *label, uint32_t time_limit_s)
{
	Gpusched__StartRun order = GPUSCHED__START_RUN__INIT;
	Gpusched__RunId id = GPUSCHED__RUN_ID__INIT;
	Gpusched__KeyValue kv = GPUSCHED__KEY_VALUE__INIT, *labels[] = { &kv };
	struct agent_effect tell = { .kind = AGENT_TELL_START };

	id.job = job;
	id.attempt = 1;
	order.run = &id;
	order.epoch = 1;
	order.incarnation = (char *)"boot";
	order.time_limit_s = time_limit_s;
	order.grace_s = 30;
	if (label) {
		kv.key = (char *)"sim";
		kv.value = (char *)label;
		order.labels = labels;
		order.n_labels = 1;
	}
	tell.start.order = &order;
	sim_launcher_tell(l, &tell, (struct clocks){ 0, 0 });
}

static void simulated_runs_go_as_labelled(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sim_cases) / sizeof(*sim_cases); i++) {
		const struct sim_case *t = &sim_cases[i];
		struct sim_launcher *l = sim_launcher_new("boot", NULL);
		struct agent_event event;

		assert_true(sim_launcher_next(l, &event, (struct clocks){ 0, 0 }));
		assert_int_equal(event.kind, AGENT_LAUNCHER_HELLO);
		start_simulated(l, 1, t->label, t->time_limit_s);
		if (t->end_at) {
			struct clocks before = { 0, t->end_at - 1 };

			assert_true(sim_launcher_next(l, &event, before));
			assert_int_equal(event.report.state, REPORT_STARTING);
			assert_true(sim_launcher_next(l, &event, before));
			assert_int_equal(event.report.state, REPORT_RUNNING);
			assert_false(sim_launcher_next(l, &event, before));
			assert_int_equal(sim_launcher_next_timer(l), t->end_at);
		}
		do
			assert_true(sim_launcher_next(l, &event, (struct clocks){ 0, t->end_at }));
		while (event.report.state != REPORT_ENDED);
		assert_int_equal(event.report.exit_code, t->exit_code);
		assert_int_equal(event.report.exit_signal, t->exit_signal);
		assert_int_equal(event.report.cause, t->cause);
		assert_int_equal(event.report.elapsed_us, t->end_at);
		assert_int_equal(sim_launcher_records(l), 1);
		sim_launcher_free(l);
	}
}

static void start_replica(struct sim_launcher *l, const char *load)
{
	Gpusched__StartRun order = GPUSCHED__START_RUN__INIT;
	Gpusched__RunId id = GPUSCHED__RUN_ID__INIT;
	Gpusched__KeyValue kv = GPUSCHED__KEY_VALUE__INIT, *labels[] = { &kv };
	Gpusched__SignedSpec spec = GPUSCHED__SIGNED_SPEC__INIT;
	Gpusched__ServiceSpec service = GPUSCHED__SERVICE_SPEC__INIT;
	struct agent_effect tell = { .kind = AGENT_TELL_START };
	uint8_t bytes[256];

	id.job = id.attempt = 1;
	order.run = &id;
	order.epoch = 1;
	order.incarnation = (char *)"boot";
	kv.key = (char *)"sim-load";
	kv.value = (char *)load;
	order.labels = labels;
	order.n_labels = 1;
	service.ports = 2;
	spec.service = &service;
	order.spec.len = gpusched__signed_spec__pack(&spec, bytes);
	order.spec.data = bytes;
	tell.start.order = &order;
	sim_launcher_tell(l, &tell, (struct clocks){ 100, 0 });
}

static const struct run_report *next_report(struct sim_launcher *l, usec_t mono)
{
	static struct agent_event event;

	assert_true(sim_launcher_next(l, &event, (struct clocks){ 100 + mono, mono }));
	assert_int_equal(event.kind, AGENT_LAUNCHER_RUN);
	return &event.report;
}

static void simulated_replicas_load_serve_and_drain(void **state)
{
	struct sim_launcher *l = sim_launcher_new("boot", NULL);
	struct agent_effect suspend = { .kind = AGENT_TELL_SUSPEND,
		.suspend = { .run = { 1, 0, 1, 0 }, .epoch = 1, .suspend = true } };
	struct agent_effect end = { .kind = AGENT_TELL_END,
		.end = { .run = { 1, 0, 1, 0 }, .epoch = 1, .cause = END_SCALE, .grace_s = 9 } };
	const struct run_report *r;
	struct agent_event event;

	(void)state;
	assert_true(sim_launcher_next(l, &event, (struct clocks){ 100, 0 }));
	start_replica(l, "5");
	r = next_report(l, 0);
	assert_int_equal(r->state, REPORT_STARTING);
	assert_int_equal(r->replica.health, HEALTH_LOADING);
	assert_int_equal(r->replica.n_ports, 2);
	assert_int_not_equal(r->replica.ports[0], r->replica.ports[1]);
	assert_int_equal(next_report(l, 0)->state, REPORT_RUNNING);
	assert_false(sim_launcher_next(l, &event, (struct clocks){ 0, 0 }));
	assert_int_equal(sim_launcher_next_timer(l), 5000000);
	assert_false(sim_launcher_next(l, &event, (struct clocks){ 0, 4999999 }));
	r = next_report(l, 5000000);
	assert_int_equal(r->replica.health, HEALTH_READY);
	assert_int_equal(r->replica.ready_time, 5000100);
	sim_launcher_tell(l, &suspend, (struct clocks){ 0, 7000000 });
	r = next_report(l, 7000000);
	assert_int_equal(r->replica.health, HEALTH_UNREADY);
	assert_int_equal(r->replica.ready_us, 2000000);
	suspend.suspend.suspend = false;
	sim_launcher_tell(l, &suspend, (struct clocks){ 0, 9000000 });
	assert_int_equal(next_report(l, 9000000)->replica.health, HEALTH_READY);
	end.end.by_user = end.end.by_account = end.end.by_qos = "";
	sim_launcher_tell(l, &end, (struct clocks){ 0, 10000000 });
	r = next_report(l, 10000000);
	while (r->state != REPORT_ENDED)
		r = next_report(l, 10000000);
	assert_int_equal(r->cause, END_SCALE);
	assert_int_equal(r->replica.ready_us, 3000000);
	assert_int_equal(r->replica.ready_time, 5000100);
	sim_launcher_free(l);
}

/* What was in tmpfs is lost; an end that had its time to reach the disk is told still. */
static void simulated_reboot_forgets_what_ran(void **state)
{
	struct sim_launcher *l = sim_launcher_new("boot", NULL);
	struct clocks down = { 0, 5 + SIM_SYNC };
	struct agent_event event;

	(void)state;
	start_simulated(l, 1, "1000", 0);
	start_simulated(l, 2, "0.000005", 0);
	start_simulated(l, 3, "0.000006", 0);
	sim_launcher_pass(l, (struct clocks){ 0, 5 });
	sim_launcher_pass(l, (struct clocks){ 0, 6 });
	sim_launcher_reboot(l, "boot-2", down);
	assert_true(sim_launcher_next(l, &event, down));
	assert_int_equal(event.kind, AGENT_LAUNCHER_HELLO);
	assert_string_equal(event.hello.incarnation, "boot-2");
	assert_int_equal(event.hello.n_runs, 1);
	assert_int_equal(event.hello.runs[0].run.job, 2);
	assert_int_equal(event.hello.runs[0].state, REPORT_ENDED);
	assert_string_equal(event.hello.runs[0].incarnation, "boot");
	assert_false(sim_launcher_next(l, &event, down));
	sim_launcher_free(l);
}

static struct sim_course slow_and_deaf(void *arg, const Gpusched__StartRun *order)
{
	(void)arg;
	(void)order;
	return (struct sim_course){
		.begin_after = 10, .duration = 1000000000, .ignores_term = true
	};
}

static void assert_says(struct sim_launcher *l, usec_t at, enum run_report_state state)
{
	struct agent_event event;

	assert_true(sim_launcher_next(l, &event, (struct clocks){ 0, at }));
	assert_int_equal(event.kind, AGENT_LAUNCHER_RUN);
	assert_int_equal(event.report.state, state);
}

static void simulated_runs_go_as_their_world_says(void **state)
{
	const struct sim_world world = { .course = slow_and_deaf };
	struct sim_launcher *l = sim_launcher_new("boot", &world);
	struct agent_effect end = { .kind = AGENT_TELL_END,
		.end = { .run = { 1, 0, 1, 0 }, .epoch = 1, .cause = END_CANCEL, .grace_s = 2 } };
	struct agent_event event;

	(void)state;
	sim_launcher_next(l, &event, (struct clocks){ 0, 0 });
	start_simulated(l, 1, NULL, 0);
	assert_says(l, 0, REPORT_STARTING);
	assert_false(sim_launcher_next(l, &event, (struct clocks){ 0, 9 }));
	assert_int_equal(sim_launcher_next_due(l), 10);
	assert_says(l, 10, REPORT_RUNNING);
	sim_launcher_tell(l, &end, (struct clocks){ 0, 20 });
	assert_false(sim_launcher_next(l, &event, (struct clocks){ 0, 2000019 }));
	assert_true(sim_launcher_next(l, &event, (struct clocks){ 0, 2000020 }));
	assert_int_equal(event.report.state, REPORT_ENDED);
	assert_int_equal(event.report.exit_signal, 9);
	assert_int_equal(event.report.cause, END_CANCEL);
	assert_false(sim_launcher_next(l, &event, (struct clocks){ 0, 2000021 }));
	sim_launcher_tell(l, &end, (struct clocks){ 0, 2000021 }); /* asked again, told again */
	assert_says(l, 2000021, REPORT_ENDED);
	sim_launcher_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_of_a_report_survives),
		cmocka_unit_test(a_replica_survives),
		cmocka_unit_test(an_end_survives),
		cmocka_unit_test(suspensions_go_both_ways),
		cmocka_unit_test(missing_ids_are_zero),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(simulated_runs_go_as_labelled),
		cmocka_unit_test(simulated_replicas_load_serve_and_drain),
		cmocka_unit_test(simulated_reboot_forgets_what_ran),
		cmocka_unit_test(simulated_runs_go_as_their_world_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
