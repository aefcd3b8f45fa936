/* cuda.c - a stand-in for libcuda.so.1: what gputool calls of it, over the machine that
 * NVML_STANDIN describes
 *
 * CUDA_STANDIN is a folder. There a GPU's memory is a file, N.mem, and who has which MiB of it and
 * for how long it was busy another, N.state: standin.py reads those and has NVML's stand-in say the
 * same. dev/nvidiaN stand for the device files: a GPU whose file cannot be opened is none of
 * CUDA's. The kernels are known by name and done here.
 *
 * What is planted is a word in the file `faults` there:
 *   residue      memory comes with what was in it
 *   all-visible  CUDA_VISIBLE_DEVICES and device files count for nothing
 *   disturbed    what `work` computes depends on who else has memory there
 *   full         no memory can be had
 *   kept         what a process that has ended had is not given back
 *   no-limit     MPS's memory limit counts for nothing
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define API       __attribute__((visibility("default")))
#define MIB       ((size_t)1024 * 1024)
#define GPUS_MAX  16
#define PAGES_MAX 1024
#define TEXT      96

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, NOT_FOUND = 500 };

struct state { /* of a GPU, for all processes */
	uint64_t busy_us;
	int32_t owners[PAGES_MAX]; /* pid, 0: free; one that has ended: free */
};

static struct gpu {
	char uuid[TEXT], name[TEXT];
	unsigned bus, minor, pages;
	bool mig; /* an instance: seen by its UUID only */
} gpus[GPUS_MAX];
static unsigned n_gpus, seen[GPUS_MAX], n_seen;

/* The one in use. */
static struct state *state;
static char *memory;
static unsigned pages;
static int lock = -1;

/* --- the machine ------------------------------------------------------------------------------ */

static bool word(char *out, const char *line, const char *key)
{
	const char *at = strstr(line, key);
	size_t n = strlen(key);

	if (!at)
		return false;
	at += n;
	n = *at == '"' ? strcspn(++at, "\"") : strcspn(at, " \n");
	snprintf(out, TEXT, "%.*s", (int)(n < TEXT ? n : TEXT - 1), at);
	return true;
}

static void read_machine(void)
{
	const char *path = getenv("NVML_STANDIN");
	FILE *f = path ? fopen(path, "re") : NULL;
	char line[1024], v[TEXT];

	for (n_gpus = 0; f && n_gpus < GPUS_MAX && fgets(line, sizeof(line), f);) {
		struct gpu *g = &gpus[n_gpus];

		*g = (struct gpu){ 0 };
		if (strncmp(line, "mig ", 4) == 0 && word(v, line, " gpu=")) {
			*g = gpus[strtoul(v, NULL, 10) % GPUS_MAX]; /* what it has of its card's */
			g->mig = true;
		} else if (strncmp(line, "gpu ", 4) != 0) {
			continue;
		}
		word(g->uuid, line, " uuid=");
		word(g->name, line, " name=");
		if (word(v, line, " pci=0:"))
			g->bus = (unsigned)strtoul(v, NULL, 16);
		if (word(v, line, " minor="))
			g->minor = (unsigned)strtoul(v, NULL, 10);
		if (word(v, line, " mem="))
			g->pages = (unsigned)strtoul(v, NULL, 10);
		n_gpus++;
	}
	if (f)
		fclose(f);
}

static FILE *file_of(const char *name, char path[TEXT * 4])
{
	const char *folder = getenv("CUDA_STANDIN");

	snprintf(path, TEXT * 4, "%s/%s", folder ? folder : "/nowhere", name);
	return fopen(path, "re");
}

static bool planted(const char *fault)
{
	char path[TEXT * 4], line[TEXT];
	FILE *f = file_of("faults", path);
	bool is = false;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		is |= strcmp(line, fault) == 0;
	}
	if (f)
		fclose(f);
	return is;
}

/* As the kernel lets us: where there are no device files all is open. */
static bool openable(const struct gpu *g)
{
	char path[TEXT * 4], name[TEXT];
	FILE *f;

	snprintf(name, sizeof(name), "dev/nvidia%u", g->minor);
	f = file_of(name, path);
	if (f)
		fclose(f);
	return f || errno != EPERM;
}

/* A number is one of those that are open, in their order. */
static void see(const unsigned open_ones[], unsigned n, const char *token)
{
	char *end;
	unsigned long number = strtoul(token, &end, 10);

	if (*token && !*end && number < n) {
		seen[n_seen++] = open_ones[number];
		return;
	}
	for (unsigned i = 0; i < n_gpus; i++)
		if (strcmp(gpus[i].uuid, token) == 0 && openable(&gpus[i]))
			seen[n_seen++] = i;
}

static void find_seen(void)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	unsigned open_ones[GPUS_MAX], n = 0;
	bool all = planted("all-visible");
	char text[1024], *at = text, *token;

	for (unsigned i = 0; i < n_gpus; i++)
		if (!gpus[i].mig && (all || openable(&gpus[i])))
			open_ones[n++] = i;
	n_seen = 0;
	if (!list || all) {
		memcpy(seen, open_ones, sizeof(seen));
		n_seen = n;
		return;
	}
	snprintf(text, sizeof(text), "%s", list);
	while ((token = strsep(&at, ",")) && n_seen < GPUS_MAX)
		see(open_ones, n, token);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void *map(const char *suffix, unsigned gpu, size_t size)
{
	char path[TEXT * 4];
	int fd;
	void *at;

	snprintf(path, sizeof(path), "%s/%u.%s", getenv("CUDA_STANDIN"), gpu, suffix);
	fd = open(path, O_RDWR | O_CLOEXEC | O_CREAT, 0666);
	if (fd < 0)
		return NULL;
	fchmod(fd, 0666);
	if (ftruncate(fd, (off_t)size) < 0)
		return NULL;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (lock < 0)
		lock = fd;
	else
		close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static bool is_free(int32_t pid)
{
	return pid == 0 || (kill(pid, 0) < 0 && errno == ESRCH && !planted("kept"));
}

/* What MPS lets a client have, in MiB: "0=20480M". */
static unsigned limit(void)
{
	const char *text = getenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
	const char *at = text && !planted("no-limit") ? strchr(text, '=') : NULL;

	return at ? (unsigned)strtoul(at + 1, NULL, 10) : UINT32_MAX;
}

static int take(unsigned want, unsigned *first)
{
	unsigned run = 0, mine = 0;
	int r = OUT_OF_MEMORY;

	if (planted("full"))
		return r;
	flock(lock, LOCK_EX);
	for (unsigned i = 0; i < pages; i++)
		mine += state->owners[i] == getpid();
	for (unsigned i = 0; i < pages && r != OK && mine + want <= limit(); i++) {
		run = is_free(state->owners[i]) ? run + 1 : 0;
		if (run < want)
			continue;
		*first = i + 1 - want;
		for (unsigned k = *first; k <= i; k++)
			state->owners[k] = getpid();
		r = OK;
	}
	flock(lock, LOCK_UN);
	return r;
}

/* --- the driver's API ------------------------------------------------------------------------- */

API int cuInit(unsigned flags);
API int cuInit(unsigned flags)
{
	if (!getenv("CUDA_STANDIN"))
		return NO_DEVICE;
	read_machine();
	find_seen();
	return flags ? INVALID_VALUE : n_seen ? OK : NO_DEVICE;
}

API int cuDeviceGetCount(int *n);
API int cuDeviceGetCount(int *n)
{
	*n = (int)n_seen;
	return OK;
}

API int cuDeviceGet(int *device, int ordinal);
API int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return (unsigned)ordinal < n_seen ? OK : INVALID_VALUE;
}

API int cuDeviceGetUuid(unsigned char *u, int device);
API int cuDeviceGetUuid(unsigned char *u, int device)
{
	const char *at = gpus[seen[device]].uuid + strlen("GPU-") /* or MIG- */;

	for (unsigned i = 0; i < 16; i++, at += 2) {
		unsigned byte = 0;

		at += *at == '-';
		sscanf(at, "%2x", &byte);
		u[i] = (unsigned char)byte;
	}
	return OK;
}

API int cuDeviceGetPCIBusId(char *text, int size, int device);
API int cuDeviceGetPCIBusId(char *text, int size, int device)
{
	snprintf(text, (size_t)size, "0000:%02X:00.0", gpus[seen[device]].bus);
	return OK;
}

API int cuDeviceGetName(char *text, int size, int device);
API int cuDeviceGetName(char *text, int size, int device)
{
	snprintf(text, (size_t)size, "%s", gpus[seen[device]].name);
	return OK;
}

API int cuDeviceTotalMem_v2(size_t *bytes, int device);
API int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	*bytes = gpus[seen[device]].pages * MIB;
	return OK;
}

/* The multiprocessors: as MPS leaves them. */
API int cuDeviceGetAttribute(int *value, int attribute, int device);
API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	const char *percent = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");

	(void)device;
	*value = percent ? (int)(strtoul(percent, NULL, 10) * 132 / 100) : 132;
	return attribute == 16 ? OK : INVALID_VALUE;
}

/* A context has a page of its own, as those of drivers have some hundred MiB. */
API int cuDevicePrimaryCtxRetain(void **context, int device);
API int cuDevicePrimaryCtxRetain(void **context, int device)
{
	unsigned gpu = seen[device], own;

	pages = gpus[gpu].pages < PAGES_MAX ? gpus[gpu].pages : PAGES_MAX;
	state = map("state", gpu, sizeof(*state));
	memory = state ? map("mem", gpu, pages * MIB) : NULL;
	*context = state;
	return memory ? take(1, &own) : OUT_OF_MEMORY;
}

API int cuCtxSetCurrent(void *context);
API int cuCtxSetCurrent(void *context)
{
	return context ? OK : INVALID_VALUE;
}

API int cuCtxSynchronize(void);
API int cuCtxSynchronize(void)
{
	return OK;
}

API int cuMemGetInfo_v2(size_t *unused, size_t *total);
API int cuMemGetInfo_v2(size_t *unused, size_t *total)
{
	*unused = 0;
	for (unsigned i = 0; i < pages; i++)
		*unused += is_free(state->owners[i]) * MIB;
	*total = pages * MIB;
	return OK;
}

API int cuMemAlloc_v2(uint64_t *at, size_t size);
API int cuMemAlloc_v2(uint64_t *at, size_t size)
{
	unsigned want = (unsigned)((size + MIB - 1) / MIB), first = 0;
	int r = take(want, &first);

	if (r != OK)
		return r;
	*at = (uint64_t)(uintptr_t)(memory + first * MIB);
	if (!planted("residue"))
		memset(memory + first * MIB, 0, want * MIB);
	return OK;
}

/* Only ever the spare part, of one page. */
API int cuMemFree_v2(uint64_t at);
API int cuMemFree_v2(uint64_t at)
{
	state->owners[((uintptr_t)at - (uintptr_t)memory) / MIB] = 0;
	return OK;
}

API int cuMemsetD8_v2(uint64_t at, unsigned char byte, size_t n);
API int cuMemsetD8_v2(uint64_t at, unsigned char byte, size_t n)
{
	memset((void *)(uintptr_t)at, byte, n);
	return OK;
}

API int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n);
API int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n)
{
	memcpy(to, (void *)(uintptr_t)from, n);
	return OK;
}

API int cuGetErrorName(int r, const char **name);
API int cuGetErrorName(int r, const char **name)
{
	*name = r == OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
	        : r == INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
	        : r == NO_DEVICE     ? "CUDA_ERROR_NO_DEVICE"
	                             : "CUDA_ERROR_NOT_FOUND";
	return OK;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static int do_spin(void **args)
{
	uint64_t ns = *(uint64_t *)args[0];

	nanosleep(&(struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) }, NULL);
	__atomic_add_fetch(&state->busy_us, ns / 1000, __ATOMIC_RELAXED);
	return OK;
}

static int do_scan(void **args)
{
	const uint64_t *at = *(uint64_t **)args[0], n = *(uint64_t *)args[1];
	uint64_t pattern = *(uint64_t *)args[2], *found = *(uint64_t **)args[3];

	for (uint64_t i = 0; i < n; i++) {
		found[0] += at[i] == pattern;
		found[1] += at[i] != 0;
	}
	return OK;
}

static int do_work(void **args)
{
	uint32_t *out = *(uint32_t **)args[0], rounds = *(uint32_t *)args[1], others = 0;

	for (unsigned i = 0; i < pages && planted("disturbed"); i++)
		others += !is_free(state->owners[i]) && state->owners[i] != getpid();
	for (uint32_t i = 0; i < 64; i++)
		out[i] = i * 2654435761u + rounds + others;
	nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
	return OK;
}

static const struct {
	const char *name;
	int (*run)(void **args);
} known[] = { { "spin", do_spin }, { "scan", do_scan }, { "work", do_work } };

API int cuModuleLoadData(void **module, const void *text);
API int cuModuleLoadData(void **module, const void *text)
{
	*module = (void *)(uintptr_t)text;
	return strncmp(text, ".version", 8) == 0 ? OK : INVALID_VALUE;
}

API int cuModuleGetFunction(uintptr_t *kernel, void *module, const char *name);
API int cuModuleGetFunction(uintptr_t *kernel, void *module, const char *name)
{
	char entry[TEXT];

	snprintf(entry, sizeof(entry), ".visible .entry %s(", name);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && strstr(module, entry); i++)
		if (strcmp(known[i].name, name) == 0) {
			*kernel = i + 1;
			return OK;
		}
	return NOT_FOUND;
}

API int cuLaunchKernel(uintptr_t kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
        unsigned by, unsigned bz, unsigned shared, void *stream, void **args, void **extra);
API int cuLaunchKernel(uintptr_t kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
        unsigned by, unsigned bz, unsigned shared, void *stream, void **args, void **extra)
{
	if (!gx || !bx || gy != 1 || gz != 1 || by != 1 || bz != 1 || shared || stream || extra)
		return INVALID_VALUE;
	return known[kernel - 1].run(args);
}
