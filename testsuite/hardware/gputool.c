/* gputool.c - a CUDA program that needs no CUDA to be built: what `make check-gpu` runs as jobs
 *
 *   gputool count                      the GPUs that CUDA sees
 *   gputool hold MIB [SECONDS]         has so much memory of the first one ("all": what can be had)
 *   gputool fill MIB BYTE [SECONDS]    the same, and each byte of it is BYTE
 *   gputool scan BYTE                  takes all memory that can be had and says what is in it
 *   gputool spin PERCENT SECONDS       keeps the first GPU busy for that part of the time
 *   gputool work ROUNDS TIMES [FLAG]   a computation whose checksums are the same wherever it is done;
 *                                      all of it again until the file FLAG exists
 *   gputool fault                      writes where nothing is: an Xid 31
 *   gputool open FILE...               whether each of these can be opened
 *   gputool make FILE MAJOR MINOR      whether it can make that device file
 *
 * The driver's API by dlopen(3). Each line of output is a JSON object. SECONDS: it keeps the memory
 * so long. Exit status 0; 1 when a call has failed, which is told as {"error": NAME, "call": CALL};
 * 2 for a command line that is wrong.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "testsuite/hardware/kernels.h"

#define MIB           ((size_t)1024 * 1024)
#define LARGEST       1024 /* MiB asked for at once */
#define PARTS_MAX     4096
#define ALL           SIZE_MAX /* MiB: what can be had */
#define SUCCESS       0
#define OUT_OF_MEMORY 2
#define SM_COUNT      16 /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */
#define PERIOD_MS     50 /* of spin */
#define BLOCKS        64
#define THREADS       128

typedef uint64_t address; /* of the device */
typedef struct context *context;
typedef struct module *module;
typedef struct kernel *kernel;

/* As in cuda.h; of each the name that the library exports. */
#define CALLS(X)                                                                               \
	X(cuInit, "cuInit", (unsigned))                                                        \
	X(cuDeviceGetCount, "cuDeviceGetCount", (int *))                                       \
	X(cuDeviceGet, "cuDeviceGet", (int *, int))                                            \
	X(cuDeviceGetUuid, "cuDeviceGetUuid", (unsigned char *, int))                          \
	X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char *, int, int))                      \
	X(cuDeviceGetName, "cuDeviceGetName", (char *, int, int))                              \
	X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, int))                            \
	X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))                     \
	X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (context *, int))              \
	X(cuCtxSetCurrent, "cuCtxSetCurrent", (context))                                       \
	X(cuCtxSynchronize, "cuCtxSynchronize", (void))                                        \
	X(cuMemGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                               \
	X(cuMemAlloc, "cuMemAlloc_v2", (address *, size_t))                                    \
	X(cuMemFree, "cuMemFree_v2", (address))                                                \
	X(cuMemsetD8, "cuMemsetD8_v2", (address, unsigned char, size_t))                       \
	X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *, address, size_t))                          \
	X(cuModuleLoadData, "cuModuleLoadData", (module *, const void *))                      \
	X(cuModuleGetFunction, "cuModuleGetFunction", (kernel *, module, const char *))        \
	X(cuLaunchKernel, "cuLaunchKernel",                                                    \
	        (kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
	                void *, void **, void **))                                             \
	X(cuGetErrorName, "cuGetErrorName", (int, const char **))

static struct {
#define X(name, symbol, args) int(*name) args;
	CALLS(X)
#undef X
	int (*cuDeviceGetUuid_v2)(unsigned char *, int); /* since 11.4: of a MIG instance its own */
} cu;

/* --- words ------------------------------------------------------------------------------------ */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

static _Noreturn void failed(const char *call, const char *why)
{
	say("{\"error\": \"%s\", \"call\": \"%s\"}", why, call);
	exit(1);
}

static const char *name_of(int r)
{
	static char number[16];
	const char *name = NULL;

	snprintf(number, sizeof(number), "%d", r);
	cu.cuGetErrorName(r, &name);
	return name ? name : number;
}

static void check(const char *call, int r)
{
	if (r != SUCCESS)
		failed(call, name_of(r));
}

#define DO(call, ...) check(#call, cu.call(__VA_ARGS__))

static void open_library(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found;

	if (!library)
		failed("dlopen", "libcuda.so.1 cannot be loaded");
		/* A pointer to data becomes one to a function: dlsym(3), NOTES. */
#define X(name, symbol, args)                  \
	found = dlsym(library, symbol);        \
	if (!found)                            \
		failed("dlsym", "no " symbol); \
	memcpy(&cu.name, &found, sizeof(found));
	CALLS(X)
#undef X
	found = dlsym(library, "cuDeviceGetUuid_v2");
	if (!found)
		found = dlsym(library, "cuDeviceGetUuid");
	memcpy(&cu.cuDeviceGetUuid_v2, &found, sizeof(found));
}

/* On the first GPU from now on. */
static void use_first(void)
{
	context c = NULL;
	int device = 0;

	DO(cuInit, 0);
	DO(cuDeviceGet, &device, 0);
	DO(cuDevicePrimaryCtxRetain, &c, device);
	DO(cuCtxSetCurrent, c);
}

static void launch(kernel k, unsigned blocks, unsigned threads, void **args)
{
	DO(cuLaunchKernel, k, blocks, 1, 1, threads, 1, 1, 0, NULL, args, NULL);
	DO(cuCtxSynchronize);
}

static kernel get_kernel(const char *name)
{
	static module all;
	kernel k = NULL;

	if (!all)
		DO(cuModuleLoadData, &all, kernels);
	DO(cuModuleGetFunction, &k, all, name);
	return k;
}

/* --- memory ----------------------------------------------------------------------------------- */

static struct {
	address at;
	size_t mb;
} parts[PARTS_MAX];
static size_t n_parts;

static bool take(size_t mb)
{
	int r;

	if (n_parts == PARTS_MAX)
		return false;
	r = cu.cuMemAlloc(&parts[n_parts].at, mb * MIB);
	if (r == OUT_OF_MEMORY)
		return false;
	check("cuMemAlloc", r);
	parts[n_parts++].mb = mb;
	return true;
}

/* `want` MiB, as large parts as can be had; returns how many there were. Of all a thousandth is
 * left to the driver, which loads what it needs when it is called. */
static size_t take_memory(size_t want)
{
	size_t got = 0, free_bytes = 0, total = 0;
	address spare = 0;

	if (want == ALL) {
		DO(cuMemGetInfo, &free_bytes, &total);
		DO(cuMemAlloc, &spare, total / 1024 + 1);
	}
	for (size_t mb = LARGEST; mb > 0; mb /= 2)
		while (mb <= want - got && take(mb))
			got += mb;
	if (spare)
		DO(cuMemFree, spare);
	return got;
}

static void fill(unsigned char byte)
{
	for (size_t i = 0; i < n_parts; i++)
		DO(cuMemsetD8, parts[i].at, byte, parts[i].mb * MIB);
	DO(cuCtxSynchronize);
}

static size_t amount(const char *text)
{
	return strcmp(text, "all") == 0 ? ALL : strtoul(text, NULL, 10);
}

static void keep(const char *seconds)
{
	if (seconds)
		sleep((unsigned)strtoul(seconds, NULL, 10));
}

/* What is there before: it is said first, and once more when the memory is had. */
static void say_memory(const char *what, size_t want)
{
	size_t got;

	say("{\"begin\": %.3f, \"pid\": %d}", now(), getpid());
	got = take_memory(want);
	say("{\"%s_mb\": %zu, \"at\": %.3f, \"full\": %s}", what, got, now(),
	        want != ALL && got < want ? "true" : "false");
}

static void do_hold(char **v)
{
	use_first();
	say_memory("held", amount(v[0]));
	keep(v[1]);
}

static void do_fill(char **v)
{
	use_first();
	say_memory("held", amount(v[0]));
	fill((unsigned char)strtoul(v[1], NULL, 0));
	say("{\"filled\": true, \"at\": %.3f}", now());
	keep(v[2]);
}

static void do_scan(char **v)
{
	uint64_t pattern = strtoul(v[0], NULL, 0) * 0x0101010101010101u, found[2] = { 0, 0 };
	address sums = 0;
	kernel k;

	use_first();
	k = get_kernel("scan");
	DO(cuMemAlloc, &sums, sizeof(found));
	DO(cuMemsetD8, sums, 0, sizeof(found));
	say_memory("scanned", ALL);
	for (size_t i = 0; i < n_parts; i++) {
		uint64_t n = parts[i].mb * MIB / 8;
		void *args[] = { &parts[i].at, &n, &pattern, &sums };

		launch(k, 1024, 256, args);
	}
	DO(cuMemcpyDtoH, found, sums, sizeof(found));
	say("{\"words\": \"of 8 bytes\", \"pattern\": %" PRIu64 ", \"not_zero\": %" PRIu64 "}",
	        found[0], found[1]);
}

/* --- compute ---------------------------------------------------------------------------------- */

static void do_spin(char **v)
{
	double percent = strtod(v[0], NULL), seconds = strtod(v[1], NULL), begin, busy = 0;
	uint64_t ns = (uint64_t)(percent / 100 * PERIOD_MS * 1e6);
	void *args[] = { &ns };
	kernel k;

	use_first();
	k = get_kernel("spin");
	begin = now();
	say("{\"spinning\": %.3f}", begin);
	for (int i = 0; now() - begin < seconds; i++) {
		double next = begin + (i + 1) * PERIOD_MS / 1e3, rest;

		launch(k, 1, 1, args);
		busy += (double)ns / 1e9;
		rest = next - now();
		if (rest > 0)
			usleep((useconds_t)(rest * 1e6));
	}
	say("{\"busy\": %.3f, \"of\": %.3f}", busy, now() - begin);
}

static void work_once(kernel k, address at, uint32_t rounds)
{
	static uint32_t out[BLOCKS * THREADS];
	void *args[] = { &at, &rounds };
	uint64_t sum = 0;

	DO(cuMemsetD8, at, 0, sizeof(out));
	launch(k, BLOCKS, THREADS, args);
	DO(cuMemcpyDtoH, out, at, sizeof(out));
	for (size_t i = 0; i < BLOCKS * THREADS; i++)
		sum = sum * 6364136223846793005u + out[i];
	say("{\"sum\": \"%016" PRIx64 "\"}", sum);
}

static void do_work(char **v)
{
	uint32_t rounds = (uint32_t)strtoul(v[0], NULL, 10);
	uint32_t times = (uint32_t)strtoul(v[1], NULL, 10);
	address at = 0;
	kernel k;

	use_first();
	k = get_kernel("work");
	DO(cuMemAlloc, &at, sizeof(uint32_t) * BLOCKS * THREADS);
	do {
		for (uint32_t t = 0; t < times; t++)
			work_once(k, at, rounds + t);
	} while (v[2] && access(v[2], F_OK) < 0);
}

static void do_fault(char **v)
{
	address at = 0x10; /* nobody's */
	void *args[] = { &at };

	(void)v;
	use_first();
	launch(get_kernel("fault"), 1, 1, args);
}

/* --- what there is ---------------------------------------------------------------------------- */

static void do_count(char **v)
{
	int n = 0, r = cu.cuInit(0);

	(void)v;
	if (r == SUCCESS)
		DO(cuDeviceGetCount, &n);
	else /* with what error who may open nothing is told so is the driver's business */
		say("{\"error\": \"%s\"}", name_of(r));
	for (int i = 0; i < n; i++) {
		unsigned char u[16] = { 0 };
		char pci[32] = "", name[128] = "", hex[33] = "";
		int device = 0, sms = 0;
		size_t bytes = 0;

		DO(cuDeviceGet, &device, i);
		DO(cuDeviceGetUuid_v2, u, device);
		DO(cuDeviceGetPCIBusId, pci, sizeof(pci), device);
		DO(cuDeviceGetName, name, sizeof(name), device);
		DO(cuDeviceTotalMem, &bytes, device);
		DO(cuDeviceGetAttribute, &sms, SM_COUNT, device);
		for (size_t b = 0; b < sizeof(u); b++)
			snprintf(hex + 2 * b, 3, "%02x", u[b]);
		say("{\"ordinal\": %d, \"uuid\": \"%.8s-%.4s-%.4s-%.4s-%s\", \"pci\": \"%s\", "
		    "\"name\": \"%s\", "
		    "\"mem_mb\": %zu, \"sms\": %d}",
		        i, hex, hex + 8, hex + 12, hex + 16, hex + 20, pci, name, bytes / MIB, sms);
	}
	say("{\"devices\": %d}", n);
}

/* --- device files ----------------------------------------------------------------------------- */

static const char *error_name(int number)
{
	return number == 0        ? "none"
	       : number == EPERM  ? "EPERM"
	       : number == EACCES ? "EACCES"
	       : number == ENXIO  ? "ENXIO"
	       : number == ENOENT ? "ENOENT"
	                          : strerror(number);
}

static void do_open(char **v)
{
	for (; *v; v++) {
		int fd = open(*v, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

		say("{\"file\": \"%s\", \"error\": \"%s\"}", *v, error_name(fd < 0 ? errno : 0));
		if (fd >= 0)
			close(fd);
	}
}

static void do_make(char **v)
{
	dev_t device =
	        makedev((unsigned)strtoul(v[1], NULL, 10), (unsigned)strtoul(v[2], NULL, 10));
	int r = mknod(v[0], S_IFCHR | 0600, device);

	say("{\"made\": \"%s\", \"error\": \"%s\"}", v[0], error_name(r < 0 ? errno : 0));
	if (r == 0)
		unlink(v[0]);
}

static const struct {
	const char *name;
	int least, most; /* arguments */
	bool cuda;
	void (*run)(char **);
} modes[] = {
	{ "count", 0, 0, true, do_count },
	{ "hold", 1, 2, true, do_hold },
	{ "fill", 2, 3, true, do_fill },
	{ "scan", 1, 1, true, do_scan },
	{ "spin", 2, 2, true, do_spin },
	{ "work", 2, 3, true, do_work },
	{ "fault", 0, 0, true, do_fault },
	{ "open", 1, INT_MAX, false, do_open },
	{ "make", 3, 3, false, do_make },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		if (argc - 2 < modes[i].least || argc - 2 > modes[i].most)
			break;
		if (modes[i].cuda)
			open_library();
		modes[i].run(argv + 2);
		return 0;
	}
	fprintf(stderr, "usage: gputool count | hold MIB [SECONDS] | fill MIB BYTE [SECONDS] | "
	                "scan BYTE |\n"
	                "       spin PERCENT SECONDS | work ROUNDS TIMES [FLAG] | fault |\n"
	                "       open FILE... | make FILE MAJOR MINOR\n");
	return 2;
}
