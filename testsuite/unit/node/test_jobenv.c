/* test_jobenv.c - noded/job/jobenv.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "noded/job/jobenv.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MAX    128

struct fixture {
	Gpusched__RunId run;
	Gpusched__StartRun order;
	Gpusched__SignedSpec spec;
	ProtobufCBinaryData env[MAX];
	uint32_t gpus[4];
	struct jobenv_in in;
};

static ProtobufCBinaryData bytes(const char *s)
{
	return (ProtobufCBinaryData){ .len = strlen(s), .data = (uint8_t *)s };
}

/* A job of ana's with four GPUs, whose environment is `env` (NULL at its end). */
static void init(struct fixture *f, const char *const *env)
{
	gpusched__run_id__init(&f->run);
	gpusched__start_run__init(&f->order);
	gpusched__signed_spec__init(&f->spec);
	f->run.job = 4812;
	f->run.attempt = 3;
	f->gpus[0] = 0;
	f->gpus[1] = 2;
	f->gpus[2] = 3;
	f->gpus[3] = 10;
	f->order.run = &f->run;
	f->order.gpus = f->gpus;
	f->order.n_gpus = 4;
	f->order.gpu_type = "h100";
	f->order.gpu_mem_mb = 81920;
	f->order.cpus = 14;
	f->order.mem_mb = 1024;
	f->order.account = "vision";
	f->order.partition = "batch";
	f->order.time_limit_s = 3600;
	f->order.submit_host = "login1";
	f->order.nodelist = "h[05-08]";
	f->order.nnodes = 4;
	f->run.rank = 2;
	f->spec.name = "embed";
	f->spec.cwd = bytes("/home/ana/work");
	f->spec.env = f->env;
	f->spec.n_env = 0;
	for (; *env; env++)
		f->env[f->spec.n_env++] = bytes(*env);
	f->in = (struct jobenv_in){ .order = &f->order,
		.spec = &f->spec,
		.cluster = "atlas",
		.node = "h07",
		.user = "ana",
		.home = "/home/ana",
		.shell = "/bin/zsh",
		.run_dir = "/var/spool/gpusched/runs/4812_0_3",
		.start_time = 1795255320999999 };
}

static const char *const nothing[] = { NULL };

static const struct {
	const char *name, *value; /* NULL: not there */
} golden[] = {
	{ "CUDA_VISIBLE_DEVICES", "0,2,3,10" },
	{ "CUDA_DEVICE_ORDER", "PCI_BUS_ID" },
	{ "NVIDIA_VISIBLE_DEVICES", "0,2,3,10" },
	{ "GPUSCHED_JOB_ID", "4812" },
	{ "GPUSCHED_JOB_NAME", "embed" },
	{ "GPUSCHED_CLUSTER", "atlas" },
	{ "GPUSCHED_USER", "ana" },
	{ "GPUSCHED_ACCOUNT", "vision" },
	{ "GPUSCHED_PARTITION", "batch" },
	{ "GPUSCHED_QOS", "" },
	{ "GPUSCHED_RESTART_COUNT", "2" },
	{ "GPUSCHED_ARRAY_JOB_ID", NULL },
	{ "GPUSCHED_ARRAY_TASK_ID", NULL },
	{ "GPUSCHED_NODELIST", "h[05-08]" },
	{ "GPUSCHED_NNODES", "4" },
	{ "GPUSCHED_NODE", "h07" },
	{ "GPUSCHED_NODE_RANK", "2" },
	{ "GPUSCHED_CPUS", "14" },
	{ "GPUSCHED_MEM_MB", "1024" },
	{ "GPUSCHED_GPUS", "0,2,3,10" },
	{ "GPUSCHED_GPU_COUNT", "4" },
	{ "GPUSCHED_GPU_TYPE", "h100" },
	{ "GPUSCHED_GPU_MEM_MB", "81920" },
	{ "GPUSCHED_START_TIME", "1795255320" },
	{ "GPUSCHED_END_TIME", "1795258920" },
	{ "GPUSCHED_SUBMIT_DIR", "/home/ana/work" },
	{ "GPUSCHED_SUBMIT_HOST", "login1" },
	{ "GPUSCHED_RUN_DIR", "/var/spool/gpusched/runs/4812_0_3" },
	{ "GPUSCHED_INTERRUPT_FILE", "/var/spool/gpusched/runs/4812_0_3/interrupt" },
	{ "HOME", "/home/ana" },
	{ "USER", "ana" },
	{ "LOGNAME", "ana" },
	{ "SHELL", "/bin/zsh" },
	{ "PATH", "/usr/local/bin:/usr/bin:/bin" },
};

static void assert_value(char **env, const char *name, const char *value)
{
	const char *got = jobenv_get(env, name);

	if (!value)
		assert_null(got);
	else if (!got)
		fail_msg("%s is not there", name);
	else
		assert_string_equal(got, value);
}

static size_t count(char **env)
{
	size_t n = 0;

	while (env[n])
		n++;
	return n;
}

static void all_that_is_ours(void **state)
{
	struct fixture f;
	char **env;
	size_t there = 0;

	(void)state;
	init(&f, nothing);
	env = jobenv_make(&f.in, NULL);
	assert_non_null(env);
	for (size_t i = 0; i < LEN(golden); i++) {
		assert_value(env, golden[i].name, golden[i].value);
		there += golden[i].value != NULL;
	}
	assert_int_equal(count(env), there); /* and nothing else */
	jobenv_free(env);
}

static void without_gpus_and_limit(void **state)
{
	struct fixture f;
	char **env;

	(void)state;
	init(&f, nothing);
	f.order.n_gpus = 0;
	f.order.time_limit_s = 0;
	f.order.nodelist = "";
	env = jobenv_make(&f.in, NULL);
	assert_non_null(env);
	assert_value(env, "CUDA_VISIBLE_DEVICES", "");
	assert_value(env, "GPUSCHED_GPUS", "");
	assert_value(env, "NVIDIA_VISIBLE_DEVICES", "void");
	assert_value(env, "GPUSCHED_GPU_COUNT", "0");
	assert_value(env, "GPUSCHED_GPU_TYPE", NULL);
	assert_value(env, "GPUSCHED_GPU_MEM_MB", NULL);
	assert_value(env, "GPUSCHED_END_TIME", NULL);
	assert_value(env, "GPUSCHED_NODELIST", "h07");
	jobenv_free(env);
}

/* GPUs that were found: the host's numbers, MIG instances by UUID. */
static void found_gpus(void **state)
{
	static const struct jobenv_gpu whole[] = { { 4, false, "GPU-a" }, { 6, false, "GPU-b" } };
	static const struct jobenv_gpu mig[] = { { 1, true, "MIG-a" }, { 1, true, "MIG-b" } };
	struct fixture f;
	char **env;

	(void)state;
	init(&f, nothing);
	f.order.n_gpus = 2;
	f.in.gpus = whole;
	env = jobenv_make(&f.in, NULL);
	assert_value(env, "CUDA_VISIBLE_DEVICES", "4,6");
	assert_value(env, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
	assert_value(env, "GPUSCHED_GPUS", "4,6");
	assert_value(env, "GPUSCHED_GPU_UUIDS", "GPU-a,GPU-b");
	assert_value(env, "NVIDIA_VISIBLE_DEVICES", "GPU-a,GPU-b");
	jobenv_free(env);
	f.in.gpus = mig;
	env = jobenv_make(&f.in, NULL);
	assert_value(env, "CUDA_VISIBLE_DEVICES", "MIG-a,MIG-b");
	assert_value(env, "GPUSCHED_GPU_UUIDS", "MIG-a,MIG-b");
	jobenv_free(env);
	f.in.gpus = NULL;
	env = jobenv_make(&f.in, NULL);
	assert_value(env, "GPUSCHED_GPU_UUIDS", NULL);
	jobenv_free(env);
}

/* What MPS holds a run to is not its owner's to say; without MPS it is. */
static void mps(void **state)
{
	static const struct jobenv_gpu gpu[] = { { 4, false, "GPU-a" } };
	static const char *const owners[] = { "CUDA_MPS_PIPE_DIRECTORY=/tmp/mine",
		"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100", "CUDA_MPS_LOG_DIRECTORY=/tmp/mine",
		"CUDA_MPSX=kept", NULL };
	struct fixture f;
	char **env;

	(void)state;
	init(&f, owners);
	f.order.n_gpus = 1;
	f.in.gpus = gpu;
	env = jobenv_make(&f.in, NULL);
	assert_value(env, "CUDA_MPS_PIPE_DIRECTORY", "/tmp/mine");
	assert_value(env, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", NULL);
	jobenv_free(env);
	f.in.own_numbers = true;
	f.in.mps_pipe = "/spool/mps/1000.4/pipe";
	f.order.share_milli = 255;
	f.order.share_mb = 20480;
	env = jobenv_make(&f.in, NULL);
	assert_value(env, "CUDA_VISIBLE_DEVICES", "GPU-a");
	assert_value(env, "CUDA_MPS_PIPE_DIRECTORY", "/spool/mps/1000.4/pipe");
	assert_value(env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25.5");
	assert_value(env, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=20480M");
	assert_value(env, "GPUSCHED_GPU_MEM_BURST_MB", NULL);
	assert_value(env, "CUDA_MPS_LOG_DIRECTORY", NULL);
	assert_value(env, "CUDA_MPSX", "kept");
	jobenv_free(env);
	f.order.share_milli = 0;
	f.order.share_burst_mb = 30720;
	env = jobenv_make(&f.in, NULL);
	assert_value(env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", NULL);
	assert_value(env, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=30720M");
	assert_value(env, "GPUSCHED_GPU_MEM_BURST_MB", "30720");
	jobenv_free(env);
}

static void arrays_name_their_task(void **state)
{
	struct fixture f;
	char **env;

	(void)state;
	init(&f, nothing);
	f.spec.array = "1-9:3%2";
	f.run.task = 7;
	env = jobenv_make(&f.in, NULL);
	assert_value(env, "GPUSCHED_ARRAY_JOB_ID", "4812");
	assert_value(env, "GPUSCHED_ARRAY_TASK_ID", "7");
	assert_value(env, "GPUSCHED_ARRAY_TASK_COUNT", "3");
	assert_value(env, "GPUSCHED_ARRAY_TASK_MIN", "1");
	assert_value(env, "GPUSCHED_ARRAY_TASK_MAX", "7");
	assert_value(env, "GPUSCHED_ARRAY_TASK_STEP", "3");
	jobenv_free(env);
}

/* Slurm's names, for a job that asks for them; one that does not sees none. */
static void slurms_names(void **state)
{
	static const char *const asks[] = { "SLURM_JOB_ID=", "SLURM_NTASKS=8",
		"SLURM_TASKS_PER_NODE=8", "SLURM_JOB_UID=0", "SLURM_NODELIST=lie",
		"SLURMD_NODENAME=lie", "SLURM_OTHER=kept", NULL };
	static const char *const asks_not[] = { "SLURM_JOB_IDS=1", "SLURM_NODELIST=kept", NULL };
	static const struct {
		const char *name, *value;
	} want[] = {
		{ "SLURM_JOB_ID", "4812" },
		{ "SLURM_JOBID", "4812" },
		{ "SLURM_JOB_NAME", "embed" },
		{ "SLURM_CLUSTER_NAME", "atlas" },
		{ "SLURM_JOB_USER", "ana" },
		{ "SLURM_JOB_UID", "1001" },
		{ "SLURM_JOB_GID", "1002" },
		{ "SLURM_JOB_ACCOUNT", "vision" },
		{ "SLURM_JOB_PARTITION", "batch" },
		{ "SLURM_JOB_QOS", NULL },
		{ "SLURM_RESTART_COUNT", "2" },
		{ "SLURM_ARRAY_JOB_ID", NULL },
		{ "SLURM_ARRAY_TASK_ID", NULL },
		{ "SLURM_JOB_NODELIST", "h[05-08]" },
		{ "SLURM_NODELIST", "h[05-08]" },
		{ "SLURM_JOB_NUM_NODES", "4" },
		{ "SLURM_NNODES", "4" },
		{ "SLURMD_NODENAME", "h07" },
		{ "SLURM_NODEID", "2" },
		{ "SLURM_PROCID", "2" },
		{ "SLURM_GTIDS", "2" },
		{ "SLURM_LOCALID", "0" },
		{ "SLURM_NTASKS", "8" },
		{ "SLURM_TASKS_PER_NODE", "8" },
		{ "SLURM_CPUS_ON_NODE", "14" },
		{ "SLURM_JOB_CPUS_PER_NODE", "14(x4)" },
		{ "SLURM_MEM_PER_NODE", "1024" },
		{ "SLURM_JOB_GPUS", "0,2,3,10" },
		{ "SLURM_GPUS_ON_NODE", "4" },
		{ "SLURM_JOB_START_TIME", "1795255320" },
		{ "SLURM_JOB_END_TIME", "1795258920" },
		{ "SLURM_SUBMIT_DIR", "/home/ana/work" },
		{ "SLURM_SUBMIT_HOST", "login1" },
		{ "SLURM_OTHER", "kept" },
	};
	struct fixture f;
	char **env;
	size_t there = 0, n = 0;

	(void)state;
	init(&f, asks);
	f.spec.uid = 1001;
	f.spec.gid = 1002;
	env = jobenv_make(&f.in, NULL);
	assert_non_null(env);
	for (size_t i = 0; i < LEN(want); i++) {
		assert_value(env, want[i].name, want[i].value);
		there += want[i].value != NULL;
	}
	for (char **e = env; *e; e++)
		n += !strncmp(*e, "SLURM", 5);
	assert_int_equal(n, there);
	jobenv_free(env);

	init(&f, asks_not);
	env = jobenv_make(&f.in, NULL);
	assert_value(env, "SLURM_JOB_ID", NULL);
	assert_value(env, "SLURM_NODELIST", "kept");
	jobenv_free(env);
}

/* A job of several components: each has its part of the nodes, in their order. */
static void components(void **state)
{
	static const char *const good[] = { "SLURM_JOB_ID=", "GPUSCHED_HET_NODES=1,3",
		"SLURM_HET_SIZE=9", "SLURM_JOB_NODELIST_HET_GROUP_5=outer", NULL };
	static const char *const wrong[] = { "1,2", "1,4", "4", "0,4", "1,,3", ",1,3", "1,3,", "1,3x",
		"", "99999999999999999999,1", "1 3", "-1,5" };
	static const struct {
		const char *name, *value;
	} want[] = {
		{ "SLURM_HET_SIZE", "2" },
		{ "SLURM_HET_JOB_ID", "4812" },
		{ "SLURM_HET_JOB_OFFSET", "0" },
		{ "SLURM_JOB_ID_HET_GROUP_1", "4812" },
		{ "SLURM_JOB_NODELIST_HET_GROUP_0", "h05" },
		{ "SLURM_JOB_NODELIST_HET_GROUP_1", "h[06-08]" },
		{ "SLURM_NODELIST_HET_GROUP_1", "h[06-08]" },
		{ "SLURM_JOB_NUM_NODES_HET_GROUP_0", "1" },
		{ "SLURM_NNODES_HET_GROUP_1", "3" },
		{ "SLURM_JOB_NODELIST_HET_GROUP_2", NULL },
		{ "SLURM_JOB_NODELIST_HET_GROUP_5", NULL },
		{ "SLURM_JOB_NODELIST", "h[05-08]" },
		{ "GPUSCHED_HET_NODES", "1,3" },
	};
	struct fixture f;
	char **env;

	(void)state;
	init(&f, good);
	env = jobenv_make(&f.in, NULL);
	for (size_t i = 0; i < LEN(want); i++)
		assert_value(env, want[i].name, want[i].value);
	jobenv_free(env);
	for (size_t i = 0; i < LEN(wrong); i++) {
		char entry[64];
		const char *const asks[] = { "SLURM_JOB_ID=", entry, NULL };

		snprintf(entry, sizeof(entry), "GPUSCHED_HET_NODES=%s", wrong[i]);
		init(&f, asks);
		env = jobenv_make(&f.in, NULL);
		assert_value(env, "SLURM_HET_SIZE", NULL);
		assert_value(env, "GPUSCHED_HET_NODES", NULL);
		jobenv_free(env);
	}
}

static void slurms_names_on_one_node(void **state)
{
	static const char *const asks[] = { "SLURM_JOB_ID=7", NULL };
	struct fixture f;
	char **env;

	(void)state;
	init(&f, asks);
	f.order.nnodes = 0;
	f.order.n_gpus = 0;
	f.order.account = "";
	f.order.mem_mb = 0;
	f.run.attempt = 1;
	f.run.task = 3;
	f.spec.array = "1-3";
	env = jobenv_make(&f.in, NULL);
	assert_value(env, "SLURM_JOB_ID", "4812");
	assert_value(env, "SLURM_JOB_CPUS_PER_NODE", "14");
	assert_value(env, "SLURM_TASKS_PER_NODE", "1");
	assert_value(env, "SLURM_JOB_ACCOUNT", NULL);
	assert_value(env, "SLURM_MEM_PER_NODE", NULL);
	assert_value(env, "SLURM_JOB_GPUS", NULL);
	assert_value(env, "SLURM_GPUS_ON_NODE", NULL);
	assert_value(env, "SLURM_RESTART_COUNT", NULL);
	assert_value(env, "SLURM_ARRAY_JOB_ID", "4812");
	assert_value(env, "SLURM_ARRAY_TASK_ID", "3");
	assert_value(env, "SLURM_ARRAY_TASK_COUNT", "3");
	jobenv_free(env);
}

static void a_replica_knows_its_ports(void **state)
{
	static const char *const none[] = { "GPUSCHED_PORT=1", NULL };
	static const uint32_t ports[] = { 20003, 20004, 65535 };
	Gpusched__ServiceSpec service = GPUSCHED__SERVICE_SPEC__INIT;
	struct fixture f;
	char **env;

	(void)state;
	init(&f, none);
	env = jobenv_make(&f.in, NULL);
	assert_value(env, "GPUSCHED_SERVICE", NULL);
	assert_value(env, "GPUSCHED_SLOT", NULL);
	assert_value(env, "GPUSCHED_PORT", NULL);
	jobenv_free(env);
	service.name = "chat";
	f.spec.service = &service;
	f.spec.array = "0-8";
	f.run.task = 7;
	env = jobenv_make(&f.in, NULL);
	assert_value(env, "GPUSCHED_SERVICE", "chat");
	assert_value(env, "GPUSCHED_SLOT", "7");
	assert_value(env, "GPUSCHED_PORT", NULL);
	assert_value(env, "GPUSCHED_PORTS", NULL);
	jobenv_free(env);
	f.in.ports = ports;
	f.in.n_ports = 3;
	env = jobenv_make(&f.in, NULL);
	assert_value(env, "GPUSCHED_PORT", "20003");
	assert_value(env, "GPUSCHED_PORTS", "20003,20004,65535");
	jobenv_free(env);
}

/* What the owner may say and what he may not. */
static void the_owner_is_heard_but_not_about_us(void **state)
{
	static const char *const mine[] = {
		"PATH=/opt/bin",
		"HOME=/scratch/ana",
		"LANG=",
		"EMPTY=",
		"LD_PRELOAD=/home/ana/x.so",
		"BASH_ENV=/home/ana/rc",
		"IFS=\n",
		"PS4=$(id)",
		"BASH_FUNC_f%%=() {  echo\n}",
		"CUDA_VISIBLE_DEVICES=all",
		"CUDA_DEVICE_ORDER=FASTEST_FIRST",
		"NVIDIA_VISIBLE_DEVICES=all",
		"GPUSCHED_JOB_ID=1",
		"GPUSCHED_EVIL=1",
		"GPUSCHED_RUN_DIR=/root",
		"CUDA_VISIBLE_DEVICES_2=kept",
		"GPUSCHED=kept",
		"GPUSCHED_CONF=/home/ana/client.conf",
		"GPUSCHED_CONFIG=lost",
		NULL,
	};
	struct fixture f;
	char **env;

	(void)state;
	init(&f, mine);
	env = jobenv_make(&f.in, NULL);
	assert_non_null(env);
	assert_value(env, "PATH", "/opt/bin");
	assert_value(env, "HOME", "/scratch/ana");
	assert_value(env, "SHELL", "/bin/zsh");
	assert_value(env, "EMPTY", "");
	assert_value(env, "LD_PRELOAD", "/home/ana/x.so");
	assert_value(env, "IFS", "\n");
	assert_value(env, "BASH_FUNC_f%%", "() {  echo\n}");
	assert_value(env, "CUDA_VISIBLE_DEVICES", "0,2,3,10");
	assert_value(env, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
	assert_value(env, "NVIDIA_VISIBLE_DEVICES", "0,2,3,10");
	assert_value(env, "GPUSCHED_JOB_ID", "4812");
	assert_value(env, "GPUSCHED_EVIL", NULL);
	assert_value(env, "GPUSCHED_RUN_DIR", "/var/spool/gpusched/runs/4812_0_3");
	assert_value(env, "CUDA_VISIBLE_DEVICES_2", "kept");
	assert_value(env, "GPUSCHED", "kept");
	assert_value(env, "GPUSCHED_CONF", "/home/ana/client.conf");
	assert_value(env, "GPUSCHED_CONFIG", NULL);
	jobenv_free(env);
}

static void malformed_entries_are_refused(void **state)
{
	static const struct {
		const char *s;
		size_t n;
	} bad[] = { { "", 0 }, { "NAME", 4 }, { "=x", 2 }, { "A=b\0c", 5 }, { "A\0=b", 4 } };
	struct fixture f;
	struct error err;

	(void)state;
	for (size_t i = 0; i < LEN(bad); i++) {
		init(&f, nothing);
		f.env[0] = (ProtobufCBinaryData){ .len = bad[i].n, .data = (uint8_t *)bad[i].s };
		f.spec.n_env = 1;
		assert_null(jobenv_make(&f.in, &err));
		assert_int_equal(err.code, ERR_JOB_SPEC);
	}
}

/* The controller's words are not signed: none may break a line. */
static void control_characters_are_refused(void **state)
{
	struct fixture f;
	struct error err;
	char **const fields[] = { &f.order.account, &f.order.partition, &f.order.qos,
		&f.order.gpu_type, &f.order.submit_host, &f.order.nodelist };

	(void)state;
	for (size_t i = 0; i < LEN(fields); i++) {
		init(&f, nothing);
		*fields[i] = "x\nLD_PRELOAD=/evil.so";
		assert_null(jobenv_make(&f.in, &err));
		assert_int_equal(err.code, ERR_JOB_SPEC);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_ours),
		cmocka_unit_test(without_gpus_and_limit),
		cmocka_unit_test(found_gpus),
		cmocka_unit_test(mps),
		cmocka_unit_test(arrays_name_their_task),
		cmocka_unit_test(slurms_names),
		cmocka_unit_test(components),
		cmocka_unit_test(slurms_names_on_one_node),
		cmocka_unit_test(a_replica_knows_its_ports),
		cmocka_unit_test(the_owner_is_heard_but_not_about_us),
		cmocka_unit_test(malformed_entries_are_refused),
		cmocka_unit_test(control_characters_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
