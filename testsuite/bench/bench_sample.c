/* bench_sample.c - what it costs to look at what runs use
 *
 * usage: bench_sample GPUS RUNS   prints "GPUS_MS RUNS_MS QUICK_MS PULSE_MS": processor time of one
 * round, for the GPUs of a stand-in machine (the sampler's process, and ours) and for the counters
 * of so many runs, each with a cgroup (files that stand for one) and a process; of a quick round:
 * the memory of all GPUs and the processes of all runs; and of a pulse: a sampler that is started,
 * asked once for 8 idle GPUs and ended
 *
 * To be started with LD_LIBRARY_PATH at testsuite/nvml. The stand-in reads the machine's file again
 * before each call, which costs more than a driver's answer does.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "noded/gpu/driver_process.h"
#include "noded/gpu/sampler_watchdog.h"
#include "noded/usage/cpu_memory_io.h"
#include "noded/usage/usage_per_run.h"

#define ROUNDS     10
#define PULSE_GPUS 8

static char root[] = "/tmp/bench_sample.XXXXXX";

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f)
		exit(1);
	fputs(text, f);
	fclose(f);
}

static int ask(struct gpu_sampler *s, int n, bool quick, struct error *err)
{
	char uuids[SAMPLER_MEMORY_MAX][GPUS_TEXT] = { "" };

	if (!quick)
		return gpu_sampler_ask(s, err);
	n = n < SAMPLER_MEMORY_MAX ? n : SAMPLER_MEMORY_MAX;
	for (int i = 0; i < n; i++)
		snprintf(uuids[i], GPUS_TEXT, "GPU-%d", i);
	return gpu_sampler_ask_memory(s, (const char(*)[GPUS_TEXT])uuids, (uint32_t)n, err);
}

static void make_machine(int n)
{
	char machine[32768] = "", path[128];
	size_t used = 0;

	for (int i = 0; i < n; i++)
		used += (size_t)snprintf(machine + used, sizeof(machine) - used,
		        "gpu uuid=GPU-%d name=\"NVIDIA H100\" mem=81559 compute=50\n"
		        "process gpu=%d pid=%d mem=1000\n",
		        i, i, 1000 + i);
	put(root, "machine", machine);
	snprintf(path, sizeof(path), "%s/machine", root);
	setenv("NVML_STANDIN", path, 1);
}

/* Processor time of one answer, ours and the sampler's process's. */
static double of_answer(struct gpu_sampler *s, int n, bool quick)
{
	struct pollfd p = { .events = POLLIN };
	double before = cpu_ms();
	char trouble[160];
	struct error err;

	if (ask(s, n, quick, &err) < 0)
		exit(1);
	p.fd = gpu_sampler_fd(s);
	poll(&p, 1, 20000);
	if (!gpu_sampler_take(s, trouble, sizeof(trouble)))
		exit(1);
	return cpu_ms() - before + (double)gpu_sampler_cost_us(s) / 1e3;
}

static double of_gpus(int n, bool quick)
{
	struct gpu_sampler *s = gpu_sampler_new();
	double ms = 0;

	make_machine(n);
	of_answer(s, n, quick); /* the first opens the library */
	for (int i = 0; i < ROUNDS; i++)
		ms += of_answer(s, n, quick);
	gpu_sampler_free(s);
	return ms / ROUNDS;
}

static double of_pulses(int n)
{
	struct gpu_sampler *s = gpu_sampler_new();
	double ms = 0;

	make_machine(n);
	for (int i = 0; i < ROUNDS; i++) {
		double before;

		ms += of_answer(s, n, false);
		before = cpu_ms();
		gpu_sampler_pause(s);
		ms += cpu_ms() - before;
	}
	gpu_sampler_free(s);
	return ms / ROUNDS;
}

static double of_runs(int n)
{
	struct run_used used = { 0 };
	char dir[128], pid[32];
	double before;

	snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	for (int i = 0; i < n; i++) {
		snprintf(dir, sizeof(dir), "%s/%d", root, i);
		mkdir(dir, 0700);
		put(dir, "cpu.stat", "usage_usec 123456\nuser_usec 1\nsystem_usec 2\n");
		put(dir, "memory.current", "1048576\n");
		put(dir, "memory.peak", "2097152\n");
		put(dir, "cgroup.procs", pid);
	}
	before = cpu_ms();
	for (int i = 0; i < ROUNDS * n; i++) {
		struct process_usage m = { 0 };
		uint32_t *pids;

		snprintf(dir, sizeof(dir), "%s/%d", root, i % n);
		process_usage_cgroups(dir, NULL, &m);
		free((process_usage_pids(dir, &pids), pids));
		process_usage_io(getpid(), &m); /* its process, and its shepherd */
		process_usage_io(getpid(), &m);
		used_add_processes(&used, &m);
	}
	return (cpu_ms() - before) / ROUNDS;
}

/* After of_runs(). */
static double of_processes(int n)
{
	double before = cpu_ms();
	uint32_t *pids;
	char dir[128];

	for (int i = 0; i < ROUNDS * n; i++) {
		snprintf(dir, sizeof(dir), "%s/%d", root, i % n);
		free((process_usage_pids(dir, &pids), pids));
	}
	return (cpu_ms() - before) / ROUNDS;
}

int main(int argc, char **argv)
{
	char command[64];
	double gpus, runs, quick;
	int status;

	driver_process_main(argc, argv);
	if (argc != 3 || !mkdtemp(root))
		return 2;
	gpus = of_gpus(atoi(argv[1]), false);
	runs = of_runs(atoi(argv[2]));
	quick = of_gpus(atoi(argv[1]), true) + of_processes(atoi(argv[2]));
	printf("%.3f %.3f %.3f %.3f\n", gpus, runs, quick, of_pulses(PULSE_GPUS));
	snprintf(command, sizeof(command), "rm -rf %s", root);
	status = system(command);
	return status != 0;
}
