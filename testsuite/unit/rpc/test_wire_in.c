/* test_wire_in.c - messages to the core's structs: what is refused, and that nothing is lost
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/label.h"
#include "testsuite/unit/lib/wire_arena.h"

/* --- submit -------------------------------------------------------------------------------- */

static void job_request(
        Gpusched__JobRequest *r, Gpusched__GpuCount **gpus, Gpusched__KeyValue **labels)
{
	static Gpusched__GpuCount counts[16];
	static Gpusched__KeyValue pairs[40];
	static char keys[40][8];

	gpusched__job_request__init(r);
	for (size_t i = 0; i < 16; i++) {
		gpusched__gpu_count__init(&counts[i]);
		counts[i].type = S("h100");
		counts[i].count = (uint32_t)i + 1;
		gpus[i] = &counts[i];
	}
	for (size_t i = 0; i < 40; i++) {
		gpusched__key_value__init(&pairs[i]);
		snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
		pairs[i].key = keys[i];
		pairs[i].value = S("v");
		labels[i] = &pairs[i];
	}
	r->gpus = gpus;
	r->n_gpus = 2;
	r->labels = labels;
	r->n_labels = 2;
	r->partition = S("batch");
	r->cpus = 4;
	r->mem_mb = 1024;
	r->time_limit_s = 60;
	r->warn_signal = 10;
	r->warn_before_s = 30;
	r->nice = 5;
	r->no_requeue = true;
	r->hold = true;
	r->nodes_min = 2;
	r->nodes_max = 4;
	r->gpus_per_node = true;
	r->qos = S("normal");
	r->constraint = S("nvlink&ib");
	r->prefer = S("fast");
	r->nodelist = S("h[01-04]");
	r->exclude = S("h03");
	r->licences = S("trtllm:2");
	r->exclusive = true;
	r->max_wait_s = 120;
	r->gpu_mem_min_mb = 81920;
	r->gpu_mem_mb = 20480;
	r->gpu_mem_burst_mb = 30720;
	r->gpu_share_milli = 250;
}

static void spec_of(Gpusched__SignedSpec *spec)
{
	static uint8_t nonce[16] = { 1, 2, 3 };

	gpusched__signed_spec__init(spec);
	spec->nonce = (ProtobufCBinaryData){ 16, nonce };
	spec->gid = 100;
	spec->max_attempts = 3;
	spec->name = S("embed");
	spec->cwd = (ProtobufCBinaryData){ 5, (uint8_t *)S("/home") };
	spec->output = (ProtobufCBinaryData){ 2, (uint8_t *)S("\xff\n") };
}

static void test_submit_job(void **state)
{
	struct signedjob_hash hash = { { 9 } };
	Gpusched__GpuCount *gpus[16];
	Gpusched__KeyValue *labels[40];
	Gpusched__SignedSpec spec;
	Gpusched__JobRequest r;
	struct submit_job job;
	struct error err;

	(void)state;
	job_request(&r, gpus, labels);
	spec_of(&spec);
	assert_int_equal(wire_submit_job(&r, &spec, &hash, 77, arena, &job, &err), 0);
	assert_string_equal(job.name, "embed");
	assert_string_equal(job.partition, "batch");
	assert_string_equal(job.account, "");
	assert_string_equal(job.cwd, "/home");
	assert_string_equal(job.output, "\xff\n");
	assert_string_equal(job.error, "");
	assert_int_equal(job.n_gpus, 2);
	assert_int_equal(job.gpus[1].count, 2);
	assert_int_equal(job.n_labels, 2);
	assert_string_equal(job.labels[1].key, "k1");
	assert_int_equal(job.cpus, 4);
	assert_int_equal(job.mem_mb, 1024);
	assert_int_equal(job.time_limit_s, 60);
	assert_int_equal(job.warn_signal, 10);
	assert_int_equal(job.warn_before_s, 30);
	assert_int_equal(job.nice, 5);
	assert_int_equal(job.gid, 100);
	assert_int_equal(job.max_attempts, 3);
	assert_true(job.hold);
	assert_false(job.requeue);
	assert_int_equal(job.nonce[2], 3);
	assert_int_equal(job.spec_hash[0], 9);
	assert_int_equal(job.sign_time, 77000000);
	assert_int_equal(job.nodes_min, 2);
	assert_int_equal(job.nodes_max, 4);
	assert_true(job.gpus_per_node);
	assert_string_equal(job.qos, "normal");
	assert_string_equal(job.constraint, "nvlink&ib");
	assert_string_equal(job.prefer, "fast");
	assert_string_equal(job.nodelist, "h[01-04]");
	assert_string_equal(job.exclude, "h03");
	assert_string_equal(job.licences, "trtllm:2");
	assert_true(job.exclusive);
	assert_int_equal(job.max_wait_s, 120);
	assert_int_equal(job.gpu_mem_min_mb, 81920);
	assert_int_equal(job.gpu_mem_mb, 20480);
	assert_int_equal(job.gpu_mem_burst_mb, 30720);
	assert_int_equal(job.gpu_share_milli, 250);
	assert_int_equal(wire_submit_job(NULL, &spec, &hash, 77, arena, &job, &err), 0);
	assert_true(job.requeue);
	assert_int_equal(job.n_gpus, 0);
}

static char long_text[600];

static void bad_partition(Gpusched__JobRequest *r)
{
	r->partition = long_text;
}

static void bad_account(Gpusched__JobRequest *r)
{
	r->account = S("a\nb");
}

static void bad_host(Gpusched__JobRequest *r)
{
	r->submit_host = S("\x1b[2J");
}

static void bad_gpu_none(Gpusched__JobRequest *r)
{
	r->gpus[0]->count = 0;
}

static void bad_gpu_many(Gpusched__JobRequest *r)
{
	r->gpus[0]->count = WIRE_GPUS_MAX + 1;
}

static void bad_gpu_type(Gpusched__JobRequest *r)
{
	r->gpus[1]->type = S("\xff");
}

static void bad_alternatives(Gpusched__JobRequest *r)
{
	r->n_gpus = MAX_GPU_ALTERNATIVES + 1;
}

static void bad_labels(Gpusched__JobRequest *r)
{
	r->n_labels = LABELS_MAX + 1;
}

static void bad_label_key(Gpusched__JobRequest *r)
{
	r->labels[1]->key = S("a=b");
}

static void bad_label_empty(Gpusched__JobRequest *r)
{
	r->labels[1]->key = S("");
}

static void bad_label_twice(Gpusched__JobRequest *r)
{
	r->labels[1]->key = S("k0");
}

static void bad_label_value(Gpusched__JobRequest *r)
{
	r->labels[1]->value = long_text;
}

static void bad_cpus(Gpusched__JobRequest *r)
{
	r->cpus = UINT32_MAX;
}

static void bad_mem(Gpusched__JobRequest *r)
{
	r->mem_mb = UINT64_MAX;
}

static void bad_time(Gpusched__JobRequest *r)
{
	r->time_limit_s = UINT32_MAX - 1; /* UINT32_MAX asks for none */
}

static void bad_signal(Gpusched__JobRequest *r)
{
	r->warn_signal = 65;
}

static void bad_before(Gpusched__JobRequest *r)
{
	r->warn_before_s = UINT32_MAX;
}

static void bad_nice(Gpusched__JobRequest *r)
{
	r->nice = INT32_MIN;
}

static void bad_nodes(Gpusched__JobRequest *r)
{
	r->nodes_max = CONF_MAX_NODES + 1;
}

static void bad_nodes_turned(Gpusched__JobRequest *r)
{
	r->nodes_min = 5;
}

static void bad_constraint(Gpusched__JobRequest *r)
{
	r->constraint = long_text;
}

static void bad_prefer(Gpusched__JobRequest *r)
{
	r->prefer = S("a\nb");
}

static void bad_qos(Gpusched__JobRequest *r)
{
	r->qos = long_text;
}

static void bad_nodelist(Gpusched__JobRequest *r)
{
	r->nodelist = S("h\x7f");
}

static void bad_licences(Gpusched__JobRequest *r)
{
	r->licences = long_text;
}

static void bad_max_wait(Gpusched__JobRequest *r)
{
	r->max_wait_s = UINT32_MAX;
}

static void bad_gpu_mem(Gpusched__JobRequest *r)
{
	r->gpu_mem_min_mb = UINT64_MAX;
}

static void test_submit_job_refused(void **state)
{
	static const struct {
		void (*spoil)(Gpusched__JobRequest *r);
		const char *part;
	} rows[] = {
		{ bad_partition, "partition" },
		{ bad_account, "account" },
		{ bad_host, "submit host" },
		{ bad_gpu_none, "0: a job has 1 to 4096 GPUs" },
		{ bad_gpu_many, "4097: a job has 1 to 4096 GPUs" },
		{ bad_gpu_type, "GPU type" },
		{ bad_alternatives, "alternatives: 9" },
		{ bad_labels, "--label: 33" },
		{ bad_label_key, "label key 'a=b'" },
		{ bad_label_empty, "label key ''" },
		{ bad_label_twice, "'k0' is given twice" },
		{ bad_label_value, "label value" },
		{ bad_cpus, "CPUs: 4294967295" },
		{ bad_mem, "memory" },
		{ bad_time, "time limit" },
		{ bad_signal, "signal: 65" },
		{ bad_before, "warning: 4294967295" },
		{ bad_nice, "--nice=-2147483648: must be" },
		{ bad_nodes, "nodes: 65537" },
		{ bad_nodes_turned, "nodes: 5 to 4" },
		{ bad_constraint, "constraint" },
		{ bad_prefer, "prefer" },
		{ bad_qos, "qos" },
		{ bad_nodelist, "nodelist" },
		{ bad_licences, "licences" },
		{ bad_max_wait, "waiting" },
		{ bad_gpu_mem, "memory of a GPU" },
	};
	struct signedjob_hash hash = { { 0 } };
	Gpusched__SignedSpec spec;

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	spec_of(&spec);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Gpusched__GpuCount *gpus[16];
		Gpusched__KeyValue *labels[40];
		Gpusched__JobRequest r;
		struct submit_job job;
		struct error err = { 0 };

		job_request(&r, gpus, labels);
		rows[i].spoil(&r);
		if (wire_submit_job(&r, &spec, &hash, 0, arena, &job, &err) != -1 ||
		        err.code != ERR_USAGE || !strstr(err.text, rows[i].part))
			fail_msg("row %zu (%s): code %d %s", i, rows[i].part, err.code, err.text);
	}
}

/* --- control ------------------------------------------------------------------------------- */

static void test_job_control(void **state)
{
	static const struct {
		int verb;
		uint32_t signal;
		const char *reason;
		const char *part; /* NULL: it passes */
	} rows[] = {
		{ GPUSCHED__JOB_CONTROL__VERB__CANCEL, 0, "", NULL },
		{ GPUSCHED__JOB_CONTROL__VERB__SIGNAL, 10, "why", NULL },
		{ GPUSCHED__JOB_CONTROL__VERB__NONE, 0, "", "without a verb" },
		{ GPUSCHED__JOB_CONTROL__VERB__SIGNAL, 0, "", "signal: 0" },
		{ GPUSCHED__JOB_CONTROL__VERB__SIGNAL, 65, "", "signal: 65" },
		{ GPUSCHED__JOB_CONTROL__VERB__HOLD, 0, "a\nb", "reason" },
		{ GPUSCHED__JOB_CONTROL__VERB__HOLD, 0, long_text, "reason" },
	};

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Gpusched__JobControl m = GPUSCHED__JOB_CONTROL__INIT;
		struct core_event ev = { 0 };
		struct error err = { 0 };
		int ret;

		m.verb = rows[i].verb;
		m.signal = rows[i].signal;
		m.reason = S(rows[i].reason);
		ret = wire_job_control(&m, arena, &ev, &err);
		if (rows[i].part ? ret != -1 || !strstr(err.text, rows[i].part) : ret != 0)
			fail_msg("row %zu: %d %s", i, ret, err.text);
		if (ret == 0) {
			assert_int_equal(ev.kind, EV_JOB_CONTROL);
			assert_int_equal(ev.job.verb, rows[i].verb);
			assert_int_equal(ev.job.signal, rows[i].signal);
		}
	}
}

static void test_job_update(void **state)
{
	Gpusched__JobControl__Field fields[] = { GPUSCHED__JOB_CONTROL__FIELD__GPUS,
		GPUSCHED__JOB_CONTROL__FIELD__GPU_MEM_MIN };
	Gpusched__JobControl m = GPUSCHED__JOB_CONTROL__INIT;
	Gpusched__JobRequest r = GPUSCHED__JOB_REQUEST__INIT;
	Gpusched__GpuCount gpu = GPUSCHED__GPU_COUNT__INIT, *gpus = &gpu;
	struct core_event ev = { 0 };
	struct error err = { 0 };

	(void)state;
	m.verb = GPUSCHED__JOB_CONTROL__VERB__UPDATE;
	m.fields = fields;
	m.n_fields = 2;
	assert_int_equal(wire_job_control(&m, arena, &ev, &err), -1);
	assert_string_equal(err.text, "no change is requested");
	m.change = &r;
	r.gpus = &gpus;
	r.n_gpus = 1;
	gpu.type = S("h100");
	gpu.count = 4;
	assert_int_equal(wire_job_control(&m, arena, &ev, &err), 0);
	assert_int_equal(ev.job.fields, UPDATE_GPUS | UPDATE_GPU_MEM_MIN);
	assert_int_equal(ev.job.change->gpus[0].count, 4);
	assert_string_equal(ev.job.change->qos, "");
	gpu.count = 0;
	assert_int_equal(wire_job_control(&m, arena, &ev, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	gpu.count = 1;
	m.n_fields = 0;
	assert_int_equal(wire_job_control(&m, arena, &ev, &err), -1);
	m.n_fields = 2;
	fields[1] = GPUSCHED__JOB_CONTROL__FIELD__FIELD_NONE; /* as unknown ones are read */
	assert_int_equal(wire_job_control(&m, arena, &ev, &err), -1);
	assert_non_null(strstr(err.text, "not known"));
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

static void test_node_control(void **state)
{
	static const struct {
		int verb;
		const char *list, *reason;
		bool off;
		size_t n;
		uint32_t first, last;
		int code;
	} rows[] = {
		{ GPUSCHED__NODE_CONTROL__VERB__DRAIN, "n05", "ECC", false, 1, 5, 5, 0 },
		{ GPUSCHED__NODE_CONTROL__VERB__RESUME, "n[00-99]", "", false, 100, 0, 99, 0 },
		{ GPUSCHED__NODE_CONTROL__VERB__DOWN, "n99,n03", "gone", true, 2, 3, 99, 0 },
		{ GPUSCHED__NODE_CONTROL__VERB__NONE, "n05", "x", false, 0, 0, 0, ERR_USAGE },
		{ GPUSCHED__NODE_CONTROL__VERB__DRAIN, "n05", "", false, 0, 0, 0, ERR_USAGE },
		{ GPUSCHED__NODE_CONTROL__VERB__DRAIN, "n05", "x", true, 0, 0, 0, ERR_USAGE },
		{ GPUSCHED__NODE_CONTROL__VERB__DRAIN, "n05,n5", "x", false, 0, 0, 0, ERR_NO_NODE },
		{ GPUSCHED__NODE_CONTROL__VERB__DRAIN, "n[0-4294967295]", "x", false, 0, 0, 0,
		        ERR_USAGE },
		{ GPUSCHED__NODE_CONTROL__VERB__DRAIN, "", "x", false, 0, 0, 0, ERR_USAGE },
		{ GPUSCHED__NODE_CONTROL__VERB__DRAIN, "n05", "\x1b[0m", false, 0, 0, 0,
		        ERR_USAGE },
	};
	struct conf conf = small_conf();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Gpusched__NodeControl m = GPUSCHED__NODE_CONTROL__INIT;
		struct core_event ev = { 0 };
		struct error err = { 0 };
		int ret;

		m.verb = rows[i].verb;
		m.nodes = S(rows[i].list);
		m.reason = S(rows[i].reason);
		m.confirmed_off = rows[i].off;
		ret = wire_node_control(&m, &conf, arena, &ev, &err);
		if (ret != (rows[i].code ? -1 : 0) || err.code != rows[i].code)
			fail_msg("row %zu: %d, %d %s", i, ret, err.code, err.text);
		if (ret)
			continue;
		assert_int_equal(ev.node.n, rows[i].n);
		assert_int_equal(ev.node.nodes[0], rows[i].first);
		assert_int_equal(ev.node.nodes[rows[i].n - 1], rows[i].last);
		assert_int_equal(ev.node.confirmed_off, rows[i].off);
	}
}

static void test_node_list(void **state)
{
	char *lists[] = { S("n[10-12]"), S("n11,n00") };
	char *bad[] = { S("n00"), S("n01,m7") };
	struct conf conf = small_conf();
	struct error err;
	uint32_t *found;
	size_t n;

	(void)state;
	assert_int_equal(wire_node_list(lists, 2, &conf, arena, &found, &n, &err), 0);
	assert_int_equal(n, 4);
	assert_int_equal(found[0], 0);
	assert_int_equal(found[1], 10);
	assert_int_equal(found[3], 12);
	assert_int_equal(wire_node_list(bad, 2, &conf, arena, &found, &n, &err), -1);
	assert_int_equal(err.code, ERR_NO_NODE);
	assert_string_equal(err.text, "no node 'm7'");
}

/* --- agents -------------------------------------------------------------------------------- */

static Gpusched__RunId run_name = GPUSCHED__RUN_ID__INIT;
static uint32_t held[] = { 0, 3, 63 };

static Gpusched__RunReport good_report(void)
{
	Gpusched__RunReport m = GPUSCHED__RUN_REPORT__INIT;

	run_name.job = 4812;
	run_name.attempt = 2;
	run_name.rank = 3;
	m.run = &run_name;
	m.state = GPUSCHED__RUN_REPORT__STATE__ENDED;
	m.cause = GPUSCHED__END_CAUSE__CAUSE_TIME_LIMIT;
	m.exit_signal = 15;
	m.start_time = 5;
	m.end_time = 6;
	m.elapsed_us = 7;
	m.gpus = held;
	m.n_gpus = 3;
	m.uid = 1000;
	m.detail = S("over");
	m.incarnation = S("boot-1");
	m.checkpoint_time = 4;
	m.progress = S("step 7");
	m.suspended = true;
	m.suspended_us = 6;
	m.share_charge = 300;
	m.share_milli = 250;
	m.share_mb = 24576;
	m.share_burst_mb = 30720;
	return m;
}

static void test_report(void **state)
{
	Gpusched__RunReport m = good_report();
	struct run_report r;
	struct error err;

	(void)state;
	assert_int_equal(wire_report(&m, &r, &err), 0);
	assert_int_equal(r.run.job, 4812);
	assert_int_equal(r.run.attempt, 2);
	assert_int_equal(r.run.rank, 3);
	assert_int_equal(r.state, REPORT_ENDED);
	assert_int_equal(r.cause, END_TIME_LIMIT);
	assert_int_equal(r.exit_signal, 15);
	assert_true(r.gpus == (1ULL << 63 | 1 << 3 | 1));
	assert_string_equal(r.detail, "over");
	assert_string_equal(r.incarnation, "boot-1");
	assert_int_equal(r.uid, 1000);
	assert_int_equal(r.checkpoint_time, 4);
	assert_string_equal(r.progress, "step 7");
	assert_true(r.suspended);
	assert_int_equal(r.suspended_us, 6);
	assert_int_equal(r.share_charge, 300);
	assert_int_equal(r.share_milli, 250);
	assert_int_equal(r.share_mb, 24576);
	assert_int_equal(r.share_burst_mb, 30720);
}

static void no_run(Gpusched__RunReport *m)
{
	m->run = NULL;
}

static void run_of_no_job(Gpusched__RunReport *m)
{
	m->run->job = 0;
}

static void run_of_huge_job(Gpusched__RunReport *m)
{
	m->run->job = UINT64_MAX;
}

static void no_attempt(Gpusched__RunReport *m)
{
	m->run->attempt = 0;
}

static void no_state(Gpusched__RunReport *m)
{
	m->state = 0;
}

static void gpu_64(Gpusched__RunReport *m)
{
	held[2] = 64;
	(void)m;
}

static void gpu_twice(Gpusched__RunReport *m)
{
	held[2] = 3;
	(void)m;
}

static void negative_time(Gpusched__RunReport *m)
{
	m->end_time = -1;
}

static void huge_elapsed(Gpusched__RunReport *m)
{
	m->elapsed_us = UINT64_MAX;
}

static void exit_256(Gpusched__RunReport *m)
{
	m->exit_code = 256;
}

static void signal_65(Gpusched__RunReport *m)
{
	m->exit_signal = 65;
}

static void negative_checkpoint(Gpusched__RunReport *m)
{
	m->checkpoint_time = -1;
}

static void huge_suspension(Gpusched__RunReport *m)
{
	m->suspended_us = UINT64_MAX;
}

static void more_than_a_gpu(Gpusched__RunReport *m)
{
	m->share_charge = 1001;
}

static void more_compute_than_charged(Gpusched__RunReport *m)
{
	m->share_milli = m->share_charge + 1;
}

static void progress_in_lines(Gpusched__RunReport *m)
{
	m->progress = S("one\ntwo");
}

static void long_detail(Gpusched__RunReport *m)
{
	m->detail = long_text;
}

static void test_report_refused(void **state)
{
	static void (*const spoils[])(Gpusched__RunReport *) = { no_run, run_of_no_job,
		run_of_huge_job, no_attempt, no_state, gpu_64, gpu_twice, negative_time,
		huge_elapsed, exit_256, signal_65, negative_checkpoint, huge_suspension,
		more_than_a_gpu, more_compute_than_charged, progress_in_lines, long_detail };

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		Gpusched__RunReport m = good_report();
		struct run_report r;
		struct error err = { 0 };

		spoils[i](&m);
		if (wire_report(&m, &r, &err) != -1 || err.code != ERR_PROTOCOL)
			fail_msg("row %zu: code %d %s", i, err.code, err.text);
		held[2] = 63;
	}
}

static void test_register(void **state)
{
	Gpusched__RunReport report = good_report(), *runs[] = { &report, &report };
	Gpusched__Register m = GPUSCHED__REGISTER__INIT;
	Gpusched__GpuDevice devices[3], *found[3];
	uint32_t groups[5] = { 0, 0, 2, 63, 0 }, peers[] = { 1, 3 }, links[] = { 18, 4000 };
	char long_uuid[100];
	struct core_event ev = { 0 };
	struct error err;

	(void)state;
	memset(long_uuid, 'x', sizeof(long_uuid) - 1);
	long_uuid[sizeof(long_uuid) - 1] = '\0';
	m.boot_id = S("b");
	m.incarnation = S("b-1");
	m.version = S("1");
	m.containment = S("cgroup2");
	m.cpus = 64;
	m.mem_mb = 1000;
	m.runs = runs;
	m.n_runs = 2;
	m.max_epoch = 3;
	m.max_job = 9;
	m.service_ports = 20;
	m.tmp_mb = 1 << 20;
	assert_int_equal(wire_register(&m, arena, &ev, &err), 0);
	assert_int_equal(ev.kind, EV_AGENT_UP);
	assert_true(ev.agent_up.no_services);
	assert_int_equal(ev.agent_up.service_ports, 20);
	assert_int_equal(ev.agent_up.tmp_mb, 1 << 20);
	assert_int_equal(ev.agent_up.n_runs, 2);
	assert_int_equal(ev.agent_up.runs[1].run.job, 4812);
	assert_int_equal(ev.agent_up.max_job, 9);
	assert_string_equal(ev.agent_up.incarnation, "b-1");
	assert_int_equal(ev.agent_up.n_gpus, 0);
	for (uint32_t i = 0; i < 3; i++) {
		gpusched__gpu_device__init(&devices[i]);
		devices[i].index = 2 * i;
		devices[i].type = S(i == 2 ? "1g.10gb" : "h100");
		devices[i].uuid = S(i == 0 ? "GPU-0" : i == 1 ? "GPU-1" : "MIG-2");
		devices[i].mig_mode = i > 0;
		devices[i].mig = i == 2;
		devices[i].host = i > 0;
		found[i] = &devices[i];
	}
	m.gpus = found;
	m.n_gpus = 3;
	m.gpus_asked = true;
	assert_int_equal(wire_register(&m, arena, &ev, &err), 0);
	assert_int_equal(ev.agent_up.n_gpus, 2); /* the GPU in MIG mode is none */
	assert_true(ev.agent_up.gpus_asked);
	assert_string_equal(ev.agent_up.gpus[0].type, "h100");
	assert_string_equal(ev.agent_up.gpus[0].uuid, "GPU-0");
	assert_string_equal(ev.agent_up.gpus[1].type, "1g.10gb");
	assert_int_equal(ev.agent_up.gpus[1].host, 1);
	/* Where they are: groups and links. */
	assert_string_equal(ev.agent_up.gpus[0].near, "");
	devices[0].pcie_groups = groups;
	devices[0].n_pcie_groups = 4;
	devices[0].nvlink_peers = peers;
	devices[0].n_nvlink_peers = 2;
	assert_int_equal(wire_register(&m, arena, &ev, &err), 0);
	assert_string_equal(ev.agent_up.gpus[0].near, "0.0.2.63 1*1 3*1"); /* an older agent */
	devices[0].peer_nvlinks = links;
	devices[0].n_peer_nvlinks = 2;
	devices[0].n_pcie_groups = 5; /* a newer one */
	assert_int_equal(wire_register(&m, arena, &ev, &err), 0);
	assert_string_equal(ev.agent_up.gpus[0].near, "1*18 3*30");
	devices[0].n_pcie_groups = 4;
	groups[3] = 64;
	assert_int_equal(wire_register(&m, arena, &ev, &err), -1);
	groups[3] = 3;
	peers[1] = 64;
	assert_int_equal(wire_register(&m, arena, &ev, &err), -1);
	peers[1] = 3;
	assert_int_equal(wire_register(&m, arena, &ev, &err), 0);
	devices[1].trouble = S("it hangs"); /* that is to be told */
	assert_int_equal(wire_register(&m, arena, &ev, &err), 0);
	assert_int_equal(ev.agent_up.n_gpus, 3);
	assert_string_equal(ev.agent_up.gpus[1].trouble, "it hangs");
	devices[1].trouble = S("");
	devices[1].host = 256;
	assert_int_equal(wire_register(&m, arena, &ev, &err), -1);
	devices[1].host = 1;
	devices[2].uuid = S("GPU-0");
	assert_int_equal(wire_register(&m, arena, &ev, &err), -1);
	devices[2].trouble = S("the same UUID"); /* two in trouble may be one */
	assert_int_equal(wire_register(&m, arena, &ev, &err), 0);
	assert_string_equal(ev.agent_up.gpus[1].trouble, "the same UUID");
	devices[2].uuid = S("GPU-0,GPU-1");
	assert_int_equal(wire_register(&m, arena, &ev, &err), -1);
	devices[2].uuid = long_uuid;
	assert_int_equal(wire_register(&m, arena, &ev, &err), -1);
	devices[2].uuid = S("GPU-2");
	devices[2].trouble = S("\033[2J");
	assert_int_equal(wire_register(&m, arena, &ev, &err), -1);
	m.n_gpus = 0;
	m.gpu_trouble = S("two\nlines");
	assert_int_equal(wire_register(&m, arena, &ev, &err), -1);
	m.gpu_trouble = S("");
	m.max_job = UINT64_MAX;
	assert_int_equal(wire_register(&m, arena, &ev, &err), -1);
	m.max_job = 9;
	m.incarnation = S("");
	assert_int_equal(wire_register(&m, arena, &ev, &err), -1);
	m.incarnation = S("b-1");
	report.state = 0;
	assert_int_equal(wire_register(&m, arena, &ev, &err), -1);
	assert_int_equal(err.code, ERR_PROTOCOL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_submit_job),
		cmocka_unit_test(test_submit_job_refused),
		cmocka_unit_test(test_job_control),
		cmocka_unit_test(test_job_update),
		cmocka_unit_test(test_node_control),
		cmocka_unit_test(test_node_list),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_report_refused),
		cmocka_unit_test(test_register),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
