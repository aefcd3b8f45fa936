/* test_probe_watchdog.c - a look at the GPUs of simulated machines: every call of NVML that fails,
 * hangs or crashes, at every GPU
 *
 * The library is the stand-in of testsuite/nvml, found as the real one is: the test starts itself
 * again with LD_LIBRARY_PATH.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "noded/gpu/driver_process.h"
#include "noded/gpu/nvml.h"
#include "noded/gpu/probe_watchdog.h"
#include "testsuite/unit/lib/place.h"

#define LONG_MS  20000 /* never waited for */
#define SHORT_MS 1000  /* for what hangs; a child of a busy machine must have begun by then */

static char root[] = "/tmp/test_probe_watchdog.XXXXXX";
static struct gpus *found;

#define MACHINE                                                                               \
	"driver version=550.54.15 cuda=12040\n"                                               \
	"gpu uuid=GPU-a name=\"NVIDIA H100 80GB HBM3\" pci=0:1b:0 minor=0 mem=81559\n"        \
	"gpu uuid=GPU-b name=\"NVIDIA H100 80GB HBM3\" pci=0:43:0 minor=1 mig=1\n"            \
	"gpu uuid=GPU-c name=\"NVIDIA L40S\" pci=0:a1:0 minor=2 mem=46068 ecc=-1 power=350\n" \
	"mig gpu=1 gi=7 ci=0 uuid=MIG-1 profile=1g.10gb mem=9856\n"                           \
	"mig gpu=1 gi=8 ci=0 uuid=MIG-2 mem=20096 slices=2\n"                                 \
	"link gpu=0 to=2\n"                                                                   \
	"link gpu=2 to=0\n"

static void put(const char *path, const char *text)
{
	place_put(root, path, text);
}

static void machine(const char *text, const char *more)
{
	char all[8192];

	snprintf(all, sizeof(all), "%s%s", text, more);
	put("/machine", all);
}

static void probe(unsigned ms)
{
	struct error err;

	assert_int_equal(gpu_probe_run(root, ms, found, &err), 0);
}

static void others_are_well(uint32_t nvml)
{
	for (uint32_t i = 0; i < found->n; i++) {
		if (found->v[i].nvml != nvml)
			assert_string_equal(found->v[i].trouble, "");
	}
}

/* --- what is found --------------------------------------------------------------------------- */

static void test_machine(void **state)
{
	const struct gpu *v = found->v;

	(void)state;
	machine(MACHINE, "");
	put("/sys/bus/pci/devices/0000:1b:00.0/numa_node", "1\n");
	put("/sys/bus/pci/devices/0000:1b:00.0/local_cpulist", "32-63,96-127\n");
	put("/proc/driver/nvidia/capabilities/gpu1/mig/gi7/access",
	        "DeviceFileMinor: 66\nDeviceFileMode: 292\n");
	put("/proc/driver/nvidia/capabilities/gpu1/mig/gi7/ci0/access", "DeviceFileMinor: 67\n");
	put("/proc/driver/nvidia/capabilities/gpu1/mig/gi8/access", "DeviceFileMinor: 75\n");
	put("/proc/driver/nvidia/capabilities/gpu1/mig/gi8/ci0/access", "DeviceFileMinor: 76\n");
	probe(LONG_MS);
	assert_int_equal(found->state, GPUS_FOUND);
	assert_string_equal(found->driver, "550.54.15");
	assert_int_equal(found->cuda, 12040);
	assert_int_equal(found->n, 5);
	assert_string_equal(v[0].type, "h100");
	assert_string_equal(v[0].uuid, "GPU-a");
	assert_string_equal(v[0].pci, "0000:1b:00.0");
	assert_int_equal(v[0].mem_mb, 81559);
	assert_int_equal(v[0].numa, 1);
	assert_string_equal(v[0].cpus, "32-63,96-127");
	assert_int_equal(v[0].ecc, GPU_ECC_ON);
	assert_int_equal(v[0].power_w, 700);
	assert_int_equal(v[0].n_links, 1);
	assert_int_equal(v[0].peers, 1 << 2);
	assert_int_equal(v[1].kind, GPU_MIG_PARENT);
	assert_string_equal(v[2].type, "1g.10gb");
	assert_string_equal(v[2].uuid, "MIG-1");
	assert_int_equal(v[2].host, 1);
	assert_int_equal(v[2].instance, 7);
	assert_int_equal(v[2].n_caps, 2);
	assert_int_equal(v[2].caps[0], 66);
	assert_int_equal(v[2].caps[1], 67);
	assert_string_equal(v[3].type, "2g.20gb");
	assert_int_equal(v[3].n_caps, 2);
	assert_string_equal(v[4].type, "l40s");
	assert_int_equal(v[4].host, 2);
	assert_int_equal(v[4].ecc, GPU_ECC_NONE);
	assert_int_equal(v[4].numa, -1);
	for (uint32_t i = 0; i < found->n; i++)
		assert_string_equal(v[i].trouble, "");
}

/* A MIG instance that no program can open is no slot, and says why; where there are no capabilities
 * at all, all are open. */
static void test_closed_instances(void **state)
{
	static const char *const gi = "/proc/driver/nvidia/capabilities/gpu1/mig/gi8/access";
	static const char *const ci = "/proc/driver/nvidia/capabilities/gpu1/mig/gi8/ci0/access";
	static const char *const bad[] = { "", "DeviceFileMode: 292\n", "DeviceFileMinor: -1\n",
		"DeviceFileMinor: x\n" };
	char path[400];

	(void)state;
	machine(MACHINE, "");
	put("/proc/driver/nvidia/capabilities/gpu1/mig/gi7/access", "DeviceFileMinor: 66\n");
	put("/proc/driver/nvidia/capabilities/gpu1/mig/gi7/ci0/access", "DeviceFileMinor: 67\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		put(gi, "DeviceFileMinor: 75\n");
		put(ci, bad[i]);
		probe(LONG_MS);
		assert_true(gpu_is_slot(&found->v[2]));
		assert_false(gpu_is_slot(&found->v[3]));
		assert_string_equal(found->v[3].trouble,
		        "no program can open it: "
		        "/proc/driver/nvidia/capabilities/gpu1/mig/gi8/ci0/access names no device "
		        "minor");
	}
	snprintf(path, sizeof(path), "%s%s", root, gi);
	unlink(path);
	probe(LONG_MS);
	assert_non_null(strstr(found->v[3].trouble, "gi8/access names no"));
	snprintf(path, sizeof(path), "rm -r %s/proc/driver/nvidia", root);
	assert_int_equal(system(path), 0);
	probe(LONG_MS);
	assert_true(gpu_is_slot(&found->v[3]));
	assert_int_equal(found->v[3].n_caps, 0);
}

/* Eight behind switches, as NVML does not promise to order them. */
static void test_switch(void **state)
{
	char text[2048] = "", line[256];

	(void)state;
	for (int i = 0; i < 8; i++) {
		snprintf(line, sizeof(line),
		        "gpu uuid=GPU-%d name=\"NVIDIA H200\" pci=0:%x:0 minor=%d\nlink gpu=%d "
		        "to=switch\n",
		        i, 0x80 - i, i, i);
		strcat(text, line);
	}
	machine(text, "");
	probe(LONG_MS);
	assert_int_equal(found->n, 8);
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(found->v[i].host, i);
		assert_int_equal(found->v[i].minor, 7 - i);
		assert_int_equal(found->v[i].peers, 0xff & ~(1u << i));
	}
}

/* --- how close they are ---------------------------------------------------------------------- */

/* The words of all pairs, row by row, above the diagonal. */
static void near_is(const char *wanted)
{
	char text[1024] = "", word[NEAR_WORD];

	for (uint32_t i = 0; i < found->n; i++) {
		for (uint32_t k = i + 1; k < found->n; k++) {
			near_t near = gpus_near(&found->v[i], &found->v[k]);

			assert_int_equal(near, gpus_near(&found->v[k], &found->v[i]));
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			        k > i + 1 ? " " : i ? " / " : "", near_word(near, word));
		}
	}
	assert_string_equal(text, wanted);
}

/* Two sockets; on the first two trees of switches of which one has two switches. */
#define PLACED(i, path) "gpu uuid=GPU-" i " name=\"NVIDIA A100\" pci=0:1" i ":0 path=" path "\n"
#define SIX                                                              \
	PLACED("0", "0/0/0/0") PLACED("1", "0/0/0/0") PLACED("2", "0/0/0/1") \
	        PLACED("3", "0/0/1/0") PLACED("4", "0/1/0/0") PLACED("5", "1/0/0/0")
#define SIX_ARE                                                                    \
	"PIX PXB PHB NODE SYS / PXB PHB NODE SYS / PHB NODE SYS / NODE SYS / SYS"

static void test_near(void **state)
{
	(void)state;
	machine(SIX, "");
	probe(LONG_MS);
	near_is(SIX_ARE);
	machine(SIX, "link gpu=0 to=5\nlink gpu=0 to=5\nlink gpu=5 to=0\nlink gpu=5 to=0\n");
	probe(LONG_MS);
	near_is("PIX PXB PHB NODE NV2 / PXB PHB NODE SYS / PHB NODE SYS / NODE SYS / SYS");
}

/* The library does not know, or what it says cannot be: the bus is asked, and here is none. */
static void test_near_wrong(void **state)
{
	static const struct {
		const char *more, *is;
	} cases[] = {
		{ "ancestor gpu=0 with=1 level=60\nancestor gpu=0 with=2 level=-7\n",
		        "PHB PHB PHB NODE SYS / PXB PHB NODE SYS / PHB NODE SYS / NODE SYS / SYS" },
		/* The other direction is not asked. */
		{ "ancestor gpu=1 with=0 level=50\n", SIX_ARE },
		/* 0 and 4 are on one switch, so what is near them is near the other too. */
		{ "ancestor gpu=0 with=4 level=0\n",
		        "PIX PXB PHB PIX SYS / PXB PHB PIX SYS / PHB PXB SYS / PHB SYS / SYS" },
		{ "fail call=nvmlDeviceGetTopologyCommonAncestor result=3\n",
		        "- - - - - / - - - - / - - - / - - / -" },
		{ "fail call=nvmlDeviceGetTopologyCommonAncestor result=3 gpu=0\n",
		        "- - - - - / PXB PHB NODE SYS / PHB NODE SYS / NODE SYS / SYS" },
		/* A word of the driver on two GPUs is not worth one of them; what was said until
		 * then says the rest. */
		{ "crash call=nvmlDeviceGetTopologyCommonAncestor gpu=3\n", SIX_ARE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		machine(SIX, cases[i].more);
		probe(LONG_MS);
		assert_int_equal(found->state, GPUS_FOUND);
		others_are_well(UINT32_MAX);
		near_is(cases[i].is);
	}
}

/* One that does not come back is waited for once. */
static void test_near_hangs(void **state)
{
	struct gpu_probe *p = gpu_probe_new(root, SHORT_MS);
	struct error err;

	(void)state;
	machine(SIX, "hang call=nvmlDeviceGetTopologyCommonAncestor gpu=1\n");
	for (int look = 0; look < 2; look++) {
		struct pollfd ended = { .events = POLLIN };

		assert_int_equal(gpu_probe_start(p, &err), 0);
		ended.fd = gpu_probe_fd(p);
		/* The second look comes back by itself. */
		assert_int_equal(poll(&ended, 1, look ? LONG_MS : SHORT_MS), look);
		assert_true(gpu_probe_take(p, found));
		assert_int_equal(found->state, GPUS_FOUND);
		assert_int_equal(found->n, 6);
		others_are_well(UINT32_MAX);
		machine(SIX, ""); /* it would answer now, and is not asked */
	}
	assert_int_equal(near_level(gpus_near(&found->v[0], &found->v[1])), NEAR_UNKNOWN);
	gpu_probe_free(p);
	assert_int_equal(gpu_probe_run(root, LONG_MS, found, &err), 0);
	assert_int_not_equal(near_level(gpus_near(&found->v[0], &found->v[1])), NEAR_UNKNOWN);
}

/* Where each of them hangs on a made bus: its NUMA node, and what is between. */
#define PORT "pci0000:10/0000:10:01.0/0000:11:00.0"
static const struct {
	int numa;
	const char *way; /* NULL: it is not there */
} bus[] = {
	{ 0, PORT "/0000:12:00.0" },
	{ 0, PORT "/0000:12:01.0" },
	{ 0, PORT "/0000:12:08.0/0000:20:00.0/0000:21:00.0" }, /* a switch behind that switch */
	{ 0, "pci0000:10/0000:10:02.0" },
	{ 0, "pci0000:60/0000:60:01.0" },
	{ 1, "pci0000:80/0000:80:01.0" },
	{ 0, NULL },
};

static void test_near_bus(void **state)
{
	char text[2048] = "", line[256], name[256], to[256];

	(void)state;
	place_put(root, "/sys/bus/pci/devices/none", "");
	for (unsigned i = 0; i < sizeof(bus) / sizeof(*bus); i++) {
		snprintf(line, sizeof(line), "gpu uuid=GPU-%u name=\"NVIDIA A100\" pci=0:c%u:0\n",
		        i, i);
		strcat(text, line);
		if (!bus[i].way)
			continue;
		snprintf(to, sizeof(to), "/sys/devices/%s/0000:c%u:00.0/numa_node", bus[i].way, i);
		snprintf(line, sizeof(line), "%d\n", bus[i].numa);
		put(to, line);
		snprintf(to, sizeof(to), "../../../devices/%s/0000:c%u:00.0", bus[i].way, i);
		snprintf(name, sizeof(name), "%s/sys/bus/pci/devices/0000:c%u:00.0", root, i);
		assert_int_equal(symlink(to, name), 0);
	}
	machine(text, "");
	probe(LONG_MS);
	near_is("PIX PXB PHB NODE SYS - / PXB PHB NODE SYS - / PHB NODE SYS - / NODE SYS - / SYS - / -");
	/* The driver knows better, where it says something. */
	machine(text, "ancestor gpu=0 with=4 level=20\nancestor gpu=3 with=6 level=30\n");
	probe(LONG_MS);
	near_is("PIX PXB PHB PXB SYS PHB / PXB PHB PXB SYS PHB / PHB PXB SYS PHB / PHB SYS PHB / SYS PHB / SYS");
}

/* --- what goes wrong ------------------------------------------------------------------------- */

/* What becomes of GPU 0 when a call about it does not work. */
enum effect { HARMLESS, UNUSABLE, INSTANCE };
static const struct {
	const char *call;
	enum effect effect;
} calls[] = {
	{ "nvmlDeviceGetHandleByIndex", UNUSABLE },
	{ "nvmlDeviceGetName", UNUSABLE },
	{ "nvmlDeviceGetUUID", UNUSABLE },
	{ "nvmlDeviceGetPciInfo", UNUSABLE },
	{ "nvmlDeviceGetMinorNumber", UNUSABLE },
	{ "nvmlDeviceGetMemoryInfo", UNUSABLE },
	{ "nvmlDeviceGetMigMode", UNUSABLE },
	{ "nvmlDeviceGetEccMode", HARMLESS },
	{ "nvmlDeviceGetEnforcedPowerLimit", HARMLESS },
	{ "nvmlDeviceGetNvLinkState", HARMLESS },
	{ "nvmlDeviceGetNvLinkRemoteDeviceType", HARMLESS },
	{ "nvmlDeviceGetNvLinkRemotePciInfo", HARMLESS },
	{ "nvmlDeviceGetMaxMigDeviceCount", INSTANCE },
	{ "nvmlDeviceGetMigDeviceHandleByIndex", INSTANCE },
	{ "nvmlDeviceGetGpuInstanceId", INSTANCE },
	{ "nvmlDeviceGetComputeInstanceId", INSTANCE },
	{ "nvmlDeviceGetAttributes", HARMLESS },
};
#define N_CALLS (sizeof(calls) / sizeof(*calls))

static const struct gpu *of_nvml(uint32_t nvml)
{
	for (uint32_t i = 0; i < found->n; i++) {
		if (found->v[i].nvml == nvml)
			return &found->v[i];
	}
	fail_msg("no GPU %u", nvml);
	return NULL;
}

static void test_failing(void **state)
{
	char fault[128];

	(void)state;
	for (size_t i = 0; i < N_CALLS; i++) {
		uint32_t gpu = calls[i].effect == INSTANCE ? 1 : 0;

		snprintf(fault, sizeof(fault), "fail call=%s result=15 gpu=%u\n", calls[i].call,
		        gpu);
		machine(MACHINE, fault);
		probe(LONG_MS);
		assert_int_equal(found->state, GPUS_FOUND);
		others_are_well(gpu);
		if (calls[i].effect == UNUSABLE) {
			assert_non_null(strstr(of_nvml(0)->trouble, calls[i].call));
			assert_non_null(strstr(of_nvml(0)->trouble, ": GPU is lost"));
			assert_null(gpus_find(found, "GPU-a"));
		} else if (calls[i].effect == INSTANCE) {
			assert_null(gpus_find(found, "MIG-1"));
			assert_string_equal(of_nvml(1)->trouble, "");
		} else {
			assert_non_null(gpus_find(found, "GPU-a"));
		}
	}
}

/* One GPU does not come back, or takes the library with it: the others are known. */
static void test_hanging(void **state)
{
	static const char *const kinds[][2] = { { "hang", " does not come back" },
		{ "crash", " crashes" } };
	char line[128], says[128];

	(void)state;
	for (size_t i = 0; i < N_CALLS; i++) {
		for (int k = 0; k < 2; k++) {
			uint32_t gpu = calls[i].effect == INSTANCE ? 1 : 0;

			if (strcmp(calls[i].call, "nvmlDeviceGetAttributes") == 0)
				gpu = 1;
			if (k == 0 && i % 4 != 0) /* one wait for each is enough */
				continue;
			snprintf(line, sizeof(line), "%s call=%s gpu=%u\n", kinds[k][0],
			        calls[i].call, gpu);
			snprintf(says, sizeof(says), "%s%s", calls[i].call, kinds[k][1]);
			machine(MACHINE, line);
			probe(k ? LONG_MS : SHORT_MS);
			assert_int_equal(found->state, GPUS_FOUND);
			assert_string_equal(of_nvml(gpu)->trouble, says);
			others_are_well(gpu);
		}
	}
}

static void test_two_hang(void **state)
{
	(void)state;
	machine(MACHINE, "hang call=nvmlDeviceGetUUID gpu=0\nhang call=nvmlDeviceGetName gpu=2\n");
	probe(SHORT_MS);
	assert_int_equal(found->state, GPUS_FOUND);
	assert_string_equal(of_nvml(0)->trouble, "nvmlDeviceGetUUID does not come back");
	assert_string_equal(of_nvml(2)->trouble, "nvmlDeviceGetName does not come back");
	assert_non_null(gpus_find(found, "MIG-1"));
}

/* Calls that are about no GPU. */
static const struct {
	const char *facts;
	enum gpus_state state;
	const char *trouble;
} whole[] = {
	{ MACHINE "fail call=nvmlDeviceGetCount result=999\n", GPUS_TROUBLE,
	        "nvmlDeviceGetCount: Unknown Error" },
	{ MACHINE "fail call=nvmlInit result=999\n", GPUS_TROUBLE, "nvmlInit: Unknown Error" },
	{ MACHINE "fail call=nvmlSystemGetDriverVersion result=999\n", GPUS_FOUND, "" },
	{ MACHINE "fail call=nvmlSystemGetCudaDriverVersion result=999\n", GPUS_FOUND, "" },
	{ MACHINE "fail call=nvmlShutdown result=999\n", GPUS_FOUND, "" },
	{ MACHINE "crash call=nvmlInit\n", GPUS_TROUBLE, "nvmlInit crashes" },
	{ MACHINE "hang call=nvmlInit\n", GPUS_TROUBLE, "nvmlInit does not come back" },
	{ MACHINE "hang call=nvmlDeviceGetCount\n", GPUS_TROUBLE,
	        "nvmlDeviceGetCount does not come back" },
	{ "init result=9\n", GPUS_NONE, "nvmlInit: Driver Not Loaded" },
	{ "\n", GPUS_NONE, "NVML knows no GPU" },
};

static void test_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
		machine(whole[i].facts, "");
		probe(strstr(whole[i].facts, "hang") ? SHORT_MS : LONG_MS);
		assert_int_equal(found->state, whole[i].state);
		assert_string_equal(found->trouble, whole[i].trouble);
	}
}

/* The library without its driver is a fault where the bus has a GPU. */
static void test_driver(void **state)
{
	(void)state;
	put("/sys/bus/pci/devices/0000:1b:00.0/vendor", "0x10de\n");
	put("/sys/bus/pci/devices/0000:1b:00.0/class", "0x030200\n");
	machine("init result=9\n", "");
	probe(LONG_MS);
	assert_int_equal(found->state, GPUS_TROUBLE);
	put("/sys/bus/pci/devices/0000:1b:00.0/class", "0x040300\n"); /* its sound */
	probe(LONG_MS);
	assert_int_equal(found->state, GPUS_NONE);
}

static void test_doubles(void **state)
{
	(void)state;
	machine(MACHINE,
	        "gpu uuid=GPU-d name=\"NVIDIA H100 80GB HBM3\" pci=0:c1:0 minor=0 mem=81559\n");
	probe(LONG_MS);
	assert_int_equal(found->n, 6);
	assert_string_equal(of_nvml(0)->trouble, "it has the same device minor as NVML's GPU 3");
	assert_string_equal(of_nvml(3)->trouble, "it has the same device minor as NVML's GPU 0");
	assert_non_null(gpus_find(found, "GPU-c"));
}

static void test_vanishing(void **state)
{
	(void)state;
	machine(MACHINE, "");
	probe(LONG_MS);
	assert_non_null(gpus_find(found, "GPU-c"));
	machine("gpu uuid=GPU-a name=\"NVIDIA H100 80GB HBM3\" pci=0:1b:0\n"
	        "gpu uuid=GPU-c name=\"NVIDIA L40S\" lost=1\n",
	        "");
	probe(LONG_MS);
	assert_int_equal(found->n, 2);
	assert_non_null(gpus_find(found, "GPU-a"));
	assert_string_equal(found->v[1].trouble, "nvmlDeviceGetHandleByIndex: GPU is lost");
}

/* A GPU that hung and answers again is known again; one probe object, many looks. */
static void test_again(void **state)
{
	struct gpu_probe *p = gpu_probe_new(root, SHORT_MS);
	struct pollfd ended = { .events = POLLIN };
	struct error err;

	(void)state;
	for (int round = 0; round < 4; round++) {
		machine(MACHINE, round % 2 ? "" : "hang call=nvmlDeviceGetUUID gpu=0\n");
		assert_int_equal(gpu_probe_start(p, &err), 0);
		do {
			ended.fd = gpu_probe_fd(p);
			poll(&ended, 1, round % 2 ? LONG_MS : (int)gpu_probe_timeout_ms(p));
		} while (!gpu_probe_take(p, found));
		assert_int_equal(gpus_find(found, "GPU-a") != NULL, round % 2);
		assert_non_null(gpus_find(found, "MIG-2"));
	}
	/* Given up while it looks. */
	machine(MACHINE, "hang call=nvmlInit\n");
	assert_int_equal(gpu_probe_start(p, &err), 0);
	gpu_probe_free(p);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* --- other libraries ------------------------------------------------------------------------- */

/* This test again, with another library. */
static void test_with(const char *path, const char *mode)
{
	char self[512];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int status;
	pid_t pid;

	assert_true(n > 0);
	self[n] = '\0';
	machine(MACHINE, "");
	pid = fork();
	if (pid == 0) {
		setenv("LD_LIBRARY_PATH", path, 1);
		execl(self, self, mode, root, NULL);
		_exit(126);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Functions of before 2020: whole GPUs. */
static int check_old(void)
{
	return found->state != GPUS_FOUND || found->n != 3 || found->v[1].kind != GPU_WHOLE ||
	       strcmp(found->v[0].type, "h100") != 0 || *found->v[0].trouble ||
	       strcmp(found->v[2].pci, "0000:a1:00.0") != 0;
}

static int check_bare(void)
{
	return found->state != GPUS_NONE || !strstr(found->trouble, "none of NVML's functions");
}

static int check_broken(void)
{
	return found->state != GPUS_NONE || !strstr(found->trouble, "libnvidia-ml.so.1");
}

static const struct {
	const char *name;
	int (*check)(void);
} modes[] = { { "old", check_old }, { "bare", check_bare }, { "broken", check_broken } };

static void test_libraries(void **state)
{
	char path[600];

	(void)state;
	put("/broken/libnvidia-ml.so.1", "no library at all\n");
	test_with(STANDINS "/old", "old");
	test_with(STANDINS "/bare", "bare");
	snprintf(path, sizeof(path), "%s/broken", root);
	test_with(path, "broken");
}

/* What the stand-in tells of use and events, for what will watch it. */
static void test_standin(void **state)
{
	struct {
		unsigned gpu, memory;
	} used;
	struct {
		unsigned pid;
		unsigned long long used;
		unsigned gi, ci;
	} processes[4];
	struct {
		nvml_device device;
		unsigned long long type, data;
		unsigned gi, ci;
	} event;
	struct nvml nvml;
	struct error err;
	unsigned n = 4;
	void *set = NULL;
	nvml_device gpu;
	union {
		void *p;
		int (*used)(nvml_device, void *);
		int (*processes)(nvml_device, unsigned *, void *);
		int (*create)(void **);
		int (*listen)(nvml_device, unsigned long long, void *);
		int (*wait)(void *, void *, unsigned);
		int (*drop)(void *);
	} f;

	(void)state;
	machine("gpu uuid=GPU-a name=H100 compute=81 memory=40 used=500\n",
	        "process gpu=0 pid=77 mem=500\nxid gpu=0 code=79 seq=1\n");
	assert_int_equal(nvml_open(&nvml, &err), 0);
	assert_int_equal(nvml.nvmlInit(), 0);
	assert_int_equal(nvml.nvmlDeviceGetHandleByIndex(0, &gpu), 0);
	f.p = dlsym(nvml.library, "nvmlDeviceGetUtilizationRates");
	assert_int_equal(f.used(gpu, &used), 0);
	assert_int_equal(used.gpu, 81);
	f.p = dlsym(nvml.library, "nvmlDeviceGetComputeRunningProcesses_v3");
	assert_int_equal(f.processes(gpu, &n, processes), 0);
	assert_int_equal(n, 1);
	assert_int_equal(processes[0].pid, 77);
	f.p = dlsym(nvml.library, "nvmlEventSetCreate");
	assert_int_equal(f.create(&set), 0);
	f.p = dlsym(nvml.library, "nvmlDeviceRegisterEvents");
	assert_int_equal(f.listen(gpu, 8, set), 0);
	f.p = dlsym(nvml.library, "nvmlEventSetWait_v2");
	assert_int_equal(f.wait(set, &event, LONG_MS), 0);
	assert_int_equal(event.data, 79);
	assert_int_equal(f.wait(set, &event, 0), 10);
	f.p = dlsym(nvml.library, "nvmlEventSetFree");
	assert_int_equal(f.drop(set), 0);
	nvml.nvmlShutdown();
	nvml_close(&nvml);
}

/* --- the whole ------------------------------------------------------------------------------- */

static int make_root(void **state)
{
	char path[512];

	(void)state;
	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof(path), "%s/machine", root);
	return setenv("NVML_STANDIN", path, 1);
}

static int remove_root(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machine),
		cmocka_unit_test(test_closed_instances),
		cmocka_unit_test(test_switch),
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_near_wrong),
		cmocka_unit_test(test_near_hangs),
		cmocka_unit_test(test_near_bus),
		cmocka_unit_test(test_failing),
		cmocka_unit_test(test_hanging),
		cmocka_unit_test(test_two_hang),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_driver),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_vanishing),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_standin),
	};
	const char *path = getenv("LD_LIBRARY_PATH");
	int status = 1;

	driver_process_main(argc, argv);
	found = calloc(1, sizeof(*found));
	if (!found)
		return 1;
	for (size_t i = 0; argc == 3 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name) == 0 &&
		        gpu_probe_run(argv[2], LONG_MS, found, NULL) == 0)
			status = modes[i].check();
	}
	if (argc == 1 && (!path || strcmp(path, STANDINS) != 0)) {
		setenv("LD_LIBRARY_PATH", STANDINS, 1);
		execv("/proc/self/exe", argv);
	}
	if (argc == 1)
		status = cmocka_run_group_tests(tests, make_root, remove_root);
	free(found);
	return status;
}
