/* standin.c - libnvidia-ml.so.1 over a machine that a file describes: see README
 *
 * Only what gpusched calls. Handles are small numbers made pointers, so one that outlives its GPU
 * is answered with "lost", as by the real one.
 */
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "testsuite/nvml/standin.h"

static bool started;

/* On a file system that is frozen nobody comes back from it, whatever signal he gets. */
static void write_byte(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0 && write(fd, "x", 1) == 1)
		fsync(fd);
	if (fd >= 0)
		close(fd);
}

typedef struct nvmlDevice_st *device_t;

/* --- each call ------------------------------------------------------------------------------- */

static int fault(const char *call, int gpu)
{
	for (unsigned i = 0; i < facts.n_faults; i++) {
		const struct fault *t = &facts.faults[i];

		if ((strcmp(t->call, "*") != 0 && strcmp(t->call, call) != 0) ||
		        (t->gpu >= 0 && t->gpu != gpu))
			continue;
		if (t->kind == SLOW) {
			nanosleep(&(struct timespec){ .tv_nsec = t->result * 1000000L }, NULL);
			continue;
		}
		if (t->kind == WRITE) {
			write_byte(t->path);
			continue;
		}
		if (t->kind == FAIL)
			return t->result;
		if (t->kind == CRASH) {
			signal(SIGSEGV, SIG_DFL); /* a sanitizer would take it for a fault of the program */
			raise(SIGSEGV);
		}
		for (;;)
			pause();
	}
	return OK;
}

/* Of a GPU 1 + its number, of an instance 1 + its number in the second byte too. */
static device_t handle(unsigned gpu, unsigned mig)
{
	return (device_t)((uintptr_t)(gpu + 1) | (uintptr_t)mig << 8);
}

static struct gpu *gpu_of(device_t d)
{
	unsigned i = (unsigned)((uintptr_t)d & 0xff);

	return i && i <= facts.n_gpus ? &facts.gpus[i - 1] : NULL;
}

static struct mig *mig_of(device_t d)
{
	unsigned i = (unsigned)((uintptr_t)d >> 8);
	struct gpu *g = gpu_of(d);

	return g && i && i <= g->n_mig ? &g->migs[i - 1] : NULL;
}

static bool is_mig(device_t d)
{
	return (uintptr_t)d >> 8;
}

/* Begin a call about a device: `r` is what it has to return at once, if not OK. */
static int begin(const char *call, device_t d)
{
	int r;

	read_facts();
	if (!started)
		return UNINITIALIZED;
	r = fault(call, (int)((uintptr_t)d & 0xff) - 1);
	if (r != OK || !d)
		return r;
	if (!gpu_of(d) || gpu_of(d)->lost || (is_mig(d) && !mig_of(d)))
		return LOST;
	return OK;
}

#define API __attribute__((visibility("default")))
#define BEGIN(call, device)                   \
	do {                                  \
		int r_ = begin(call, device); \
		if (r_ != OK)                 \
			return r_;            \
	} while (0)

static int give(char *to, unsigned size, const char *text)
{
	if (strlen(text) >= size)
		return TOO_SMALL;
	memcpy(to, text, strlen(text) + 1);
	return OK;
}

/* The newest name of a call, and its first. */
#ifdef STANDIN_OLD
#define BOTH(name, n, params, args) API int name params;
#define DEFINE(name, n, params)     API int name params
#else
#define BOTH(name, n, params, args)      \
	API int name params;             \
	API int name##_v##n params;      \
	API int name params              \
	{                                \
		return name##_v##n args; \
	}
#define DEFINE(name, n, params) API int name##_v##n params
#endif

BOTH(nvmlInit, 2, (void), ())
DEFINE(nvmlInit, 2, (void))
{
	int r;

	read_facts();
	r = fault("nvmlInit", -1);
	if (r == OK)
		r = facts.init;
	started = r == OK;
	return r;
}

API int nvmlShutdown(void);
API int nvmlShutdown(void)
{
	BEGIN("nvmlShutdown", NULL);
	started = false;
	return OK;
}

API const char *nvmlErrorString(int r);
API const char *nvmlErrorString(int r)
{
	return r == OK              ? "Success"
	       : r == UNINITIALIZED ? "Uninitialized"
	       : r == NOT_SUPPORTED ? "Not Supported"
	       : r == NOT_FOUND     ? "Not Found"
	       : r == 9             ? "Driver Not Loaded"
	       : r == LOST          ? "GPU is lost"
	       : r == 16            ? "GPU requires reset"
	                            : "Unknown Error";
}

API int nvmlSystemGetDriverVersion(char *text, unsigned size);
API int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	BEGIN("nvmlSystemGetDriverVersion", NULL);
	return give(text, size, facts.driver);
}

BOTH(nvmlSystemGetCudaDriverVersion, 2, (int *version), (version))
DEFINE(nvmlSystemGetCudaDriverVersion, 2, (int *version))
{
	BEGIN("nvmlSystemGetCudaDriverVersion", NULL);
	*version = facts.cuda;
	return OK;
}

BOTH(nvmlDeviceGetCount, 2, (unsigned *count), (count))
DEFINE(nvmlDeviceGetCount, 2, (unsigned *count))
{
	BEGIN("nvmlDeviceGetCount", NULL);
	*count = facts.n_gpus;
	return OK;
}

BOTH(nvmlDeviceGetHandleByIndex, 2, (unsigned index, device_t *d), (index, d))
DEFINE(nvmlDeviceGetHandleByIndex, 2, (unsigned index, device_t *d))
{
	BEGIN("nvmlDeviceGetHandleByIndex", handle(index, 0));
	*d = handle(index, 0);
	return OK;
}

API int nvmlDeviceGetName(device_t d, char *text, unsigned size);
API int nvmlDeviceGetName(device_t d, char *text, unsigned size)
{
	char name[3 * TEXT];

	BEGIN("nvmlDeviceGetName", d);
	snprintf(name, sizeof(name), "%s", gpu_of(d)->name);
	if (is_mig(d) && *mig_of(d)->profile)
		snprintf(name, sizeof(name), "%s MIG %s", gpu_of(d)->name, mig_of(d)->profile);
	return give(text, size, name);
}

API int nvmlDeviceGetUUID(device_t d, char *text, unsigned size);
API int nvmlDeviceGetUUID(device_t d, char *text, unsigned size)
{
	BEGIN("nvmlDeviceGetUUID", d);
	return give(text, size, is_mig(d) ? mig_of(d)->uuid : gpu_of(d)->uuid);
}

struct pci {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char bus_id[32];
};

static void fill_pci(struct pci *p, const struct gpu *g)
{
	memset(p, 0, sizeof(*p));
	snprintf(p->legacy, sizeof(p->legacy), "%04x:%02x:%02x.0", g->domain & 0xffff,
	        g->bus & 0xff, g->device & 0xff);
	snprintf(p->bus_id, sizeof(p->bus_id), "%08x:%02x:%02x.0", g->domain, g->bus & 0xff,
	        g->device & 0xff);
	p->domain = g->domain;
	p->bus = g->bus;
	p->device = g->device;
}

BOTH(nvmlDeviceGetPciInfo, 3, (device_t d, struct pci *p), (d, p))
DEFINE(nvmlDeviceGetPciInfo, 3, (device_t d, struct pci *p))
{
	BEGIN("nvmlDeviceGetPciInfo", d);
	fill_pci(p, gpu_of(d));
	return OK;
}

API int nvmlDeviceGetMinorNumber(device_t d, unsigned *minor);
API int nvmlDeviceGetMinorNumber(device_t d, unsigned *minor)
{
	BEGIN("nvmlDeviceGetMinorNumber", d);
	*minor = gpu_of(d)->minor;
	return OK;
}

struct memory {
	unsigned long long total, free, used;
};

API int nvmlDeviceGetMemoryInfo(device_t d, struct memory *m);
API int nvmlDeviceGetMemoryInfo(device_t d, struct memory *m)
{
	BEGIN("nvmlDeviceGetMemoryInfo", d);
	m->total = (is_mig(d) ? mig_of(d)->mem : gpu_of(d)->mem) * MIB;
	m->used = (is_mig(d) ? mig_of(d)->used : gpu_of(d)->used + gpu_of(d)->reserved) * MIB;
	m->free = m->total - m->used;
	return OK;
}

#ifndef STANDIN_OLD
struct memory_parts {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

API int nvmlDeviceGetMemoryInfo_v2(device_t d, struct memory_parts *m);
API int nvmlDeviceGetMemoryInfo_v2(device_t d, struct memory_parts *m)
{
	BEGIN("nvmlDeviceGetMemoryInfo", d);
	if (m->version != (sizeof(*m) | 2 << 24))
		return INVALID;
	m->total = (is_mig(d) ? mig_of(d)->mem : gpu_of(d)->mem) * MIB;
	m->reserved = (is_mig(d) ? 0 : gpu_of(d)->reserved) * MIB;
	m->used = (is_mig(d) ? mig_of(d)->used : gpu_of(d)->used) * MIB;
	m->free = m->total - m->reserved - m->used;
	return OK;
}
#endif

API int nvmlDeviceGetEccMode(device_t d, int *now, int *pending);
API int nvmlDeviceGetEccMode(device_t d, int *now, int *pending)
{
	BEGIN("nvmlDeviceGetEccMode", d);
	if (gpu_of(d)->ecc < 0)
		return NOT_SUPPORTED;
	*now = *pending = gpu_of(d)->ecc;
	return OK;
}

API int nvmlDeviceGetEnforcedPowerLimit(device_t d, unsigned *mw);
API int nvmlDeviceGetEnforcedPowerLimit(device_t d, unsigned *mw)
{
	BEGIN("nvmlDeviceGetEnforcedPowerLimit", d);
	*mw = gpu_of(d)->power * 1000;
	return OK;
}

API int nvmlDeviceGetNvLinkState(device_t d, unsigned link, int *active);
API int nvmlDeviceGetNvLinkState(device_t d, unsigned link, int *active)
{
	BEGIN("nvmlDeviceGetNvLinkState", d);
	if (!gpu_of(d)->n_links)
		return NOT_SUPPORTED;
	*active = link < gpu_of(d)->n_links;
	return OK;
}

API int nvmlDeviceGetNvLinkRemoteDeviceType(device_t d, unsigned link, int *type);
API int nvmlDeviceGetNvLinkRemoteDeviceType(device_t d, unsigned link, int *type)
{
	BEGIN("nvmlDeviceGetNvLinkRemoteDeviceType", d);
	if (link >= gpu_of(d)->n_links)
		return INVALID;
	*type = gpu_of(d)->links[link] == TO_SWITCH ? 2 : 0;
	return OK;
}

BOTH(nvmlDeviceGetNvLinkRemotePciInfo, 2, (device_t d, unsigned link, struct pci *p), (d, link, p))
DEFINE(nvmlDeviceGetNvLinkRemotePciInfo, 2, (device_t d, unsigned link, struct pci *p))
{
	BEGIN("nvmlDeviceGetNvLinkRemotePciInfo", d);
	if (link >= gpu_of(d)->n_links || gpu_of(d)->links[link] >= facts.n_gpus)
		return INVALID;
	fill_pci(p, &facts.gpus[gpu_of(d)->links[link]]);
	return OK;
}

/* What two have in common, as far as both say where they are: a NUMA node (40), a host bridge of it
 * (30), a tree of switches there (20), a switch of that (10). */
API int nvmlDeviceGetTopologyCommonAncestor(device_t d, device_t other, int *level);
API int nvmlDeviceGetTopologyCommonAncestor(device_t d, device_t other, int *level)
{
	const struct gpu *a, *b;

	BEGIN("nvmlDeviceGetTopologyCommonAncestor", d);
	a = gpu_of(d);
	b = gpu_of(other);
	if (!a || !b)
		return INVALID;
	for (unsigned i = 0; i < facts.n_ancestors; i++) {
		const struct ancestor *said = &facts.ancestors[i];

		if (&facts.gpus[said->gpu % MAX_GPUS] == a &&
		        &facts.gpus[said->with % MAX_GPUS] == b) {
			*level = said->level;
			return OK;
		}
	}
	if (a->path[0] < 0 || b->path[0] < 0)
		return NOT_SUPPORTED;
	*level = 50;
	for (unsigned i = 0; i < 4 && a->path[i] >= 0 && a->path[i] == b->path[i]; i++)
		*level -= 10;
	return OK;
}

/* --- what is in use -------------------------------------------------------------------------- */

struct used {
	unsigned gpu, memory;
};

static unsigned long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000 + (unsigned long long)t.tv_nsec / 1000;
}

struct sample {
	unsigned long long time;
	union {
		double d;
		unsigned u;
		unsigned long long ull;
	} value;
};

/* Two, the newer one of this moment. */
API int nvmlDeviceGetSamples(device_t d, int kind, unsigned long long since, int *type,
        unsigned *count, struct sample *v);
API int nvmlDeviceGetSamples(device_t d, int kind, unsigned long long since, int *type,
        unsigned *count, struct sample *v)
{
	(void)since;
	BEGIN("nvmlDeviceGetSamples", d);
	if (kind != 1 || *count < 2)
		return INVALID;
	*type = 1;
	*count = 2;
	v[0] = (struct sample){ now_us() - 1, { .ull = gpu_of(d)->compute } };
	v[1] = (struct sample){ now_us(), { .ull = gpu_of(d)->compute } };
	if (gpu_of(d)->nan) {
		*type = 0;
		v[0].value.d = NAN;
		v[1].value.d = 1e300;
	}
	return OK;
}

struct process_use {
	unsigned pid;
	unsigned long long time;
	unsigned sm, memory, encoder, decoder;
};

API int nvmlDeviceGetProcessUtilization(
        device_t d, struct process_use *v, unsigned *count, unsigned long long since);
API int nvmlDeviceGetProcessUtilization(
        device_t d, struct process_use *v, unsigned *count, unsigned long long since)
{
	unsigned n = 0, room = *count;

	(void)since;
	BEGIN("nvmlDeviceGetProcessUtilization", d);
	for (unsigned i = 0; i < facts.n_processes && n < room; i++) {
		if (&facts.gpus[facts.processes[i].gpu] == gpu_of(d))
			v[n++] = (struct process_use){ .pid = facts.processes[i].pid,
				.time = now_us(),
				.sm = facts.processes[i].sm };
	}
	*count = n;
	return n ? OK : NOT_FOUND;
}

API int nvmlDeviceGetUtilizationRates(device_t d, struct used *u);
API int nvmlDeviceGetUtilizationRates(device_t d, struct used *u)
{
	BEGIN("nvmlDeviceGetUtilizationRates", d);
	u->gpu = gpu_of(d)->compute;
	u->memory = gpu_of(d)->memory;
	return OK;
}

API int nvmlDeviceGetTotalEnergyConsumption(device_t d, unsigned long long *mj);
API int nvmlDeviceGetTotalEnergyConsumption(device_t d, unsigned long long *mj)
{
	BEGIN("nvmlDeviceGetTotalEnergyConsumption", d);
	*mj = gpu_of(d)->energy + now_us() / 1000 * gpu_of(d)->watts;
	return OK;
}

API int nvmlDeviceGetPowerUsage(device_t d, unsigned *mw);
API int nvmlDeviceGetPowerUsage(device_t d, unsigned *mw)
{
	BEGIN("nvmlDeviceGetPowerUsage", d);
	*mw = gpu_of(d)->draw * 1000;
	return OK;
}

API int nvmlDeviceGetClockInfo(device_t d, int clock, unsigned *mhz);
API int nvmlDeviceGetClockInfo(device_t d, int clock, unsigned *mhz)
{
	BEGIN("nvmlDeviceGetClockInfo", d);
	if (clock != 1 && clock != 2)
		return INVALID;
	*mhz = clock == 1 ? gpu_of(d)->sm_clock : gpu_of(d)->mem_clock;
	return OK;
}

API int nvmlDeviceGetTemperature(device_t d, int sensor, unsigned *c);
API int nvmlDeviceGetTemperature(device_t d, int sensor, unsigned *c)
{
	(void)sensor;
	BEGIN("nvmlDeviceGetTemperature", d);
	*c = gpu_of(d)->temp;
	return OK;
}

API int nvmlDeviceGetTemperatureThreshold(device_t d, int kind, unsigned *c);
API int nvmlDeviceGetTemperatureThreshold(device_t d, int kind, unsigned *c)
{
	BEGIN("nvmlDeviceGetTemperatureThreshold", d);
	if (kind != 1)
		return NOT_SUPPORTED;
	*c = gpu_of(d)->slowdown;
	return OK;
}

API int nvmlDeviceGetTotalEccErrors(device_t d, int error, int counter, unsigned long long *n);
API int nvmlDeviceGetTotalEccErrors(device_t d, int error, int counter, unsigned long long *n)
{
	BEGIN("nvmlDeviceGetTotalEccErrors", d);
	if (gpu_of(d)->ecc < 0 || error != 1)
		return NOT_SUPPORTED;
	*n = counter ? gpu_of(d)->ecc_total : gpu_of(d)->ecc_errors;
	return OK;
}

API int nvmlDeviceGetRemappedRows(device_t d, unsigned *corrected, unsigned *uncorrected,
        unsigned *pending, unsigned *failed);
API int nvmlDeviceGetRemappedRows(
        device_t d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed)
{
	BEGIN("nvmlDeviceGetRemappedRows", d);
	*corrected = *uncorrected = 0;
	*pending = gpu_of(d)->remap_pending;
	*failed = gpu_of(d)->remap_failed;
	return OK;
}

struct field_value {
	unsigned field, scope;
	long long time, latency;
	int type, result;
	union {
		unsigned u;
		unsigned long long ull;
	} value;
};

#ifndef STANDIN_OLD
API int nvmlDeviceGetFieldValues(device_t d, int n, struct field_value *v);
API int nvmlDeviceGetFieldValues(device_t d, int n, struct field_value *v)
{
	BEGIN("nvmlDeviceGetFieldValues", d);
	for (int i = 0; i < n; i++) {
		int value = v[i].field == 230   ? gpu_of(d)->recovery
		            : v[i].field == 226 ? gpu_of(d)->reset
		            : v[i].field == 227 ? gpu_of(d)->drain_reset
		                                : -1;

		v[i].result = value >= 0 ? OK : NOT_SUPPORTED;
		v[i].type = 1;
		v[i].value.u = value >= 0 ? (unsigned)value : 0;
	}
	return OK;
}
#endif

struct process_info {
	unsigned pid;
	unsigned long long used;
	unsigned gi, ci;
};

#ifndef STANDIN_OLD
API int nvmlDeviceGetComputeRunningProcesses_v3(
        device_t d, unsigned *count, struct process_info *v);
API int nvmlDeviceGetComputeRunningProcesses_v3(device_t d, unsigned *count, struct process_info *v)
{
	unsigned n = 0, room = *count;

	BEGIN("nvmlDeviceGetComputeRunningProcesses", d);
	for (unsigned i = 0; i < facts.n_processes; i++) {
		if (&facts.gpus[facts.processes[i].gpu] != gpu_of(d) ||
		        (is_mig(d) && facts.processes[i].mig != (int)((uintptr_t)d >> 8) - 1))
			continue;
		if (n < room)
			v[n] = (struct process_info){ facts.processes[i].pid,
				facts.processes[i].mem * MIB, UINT32_MAX, UINT32_MAX };
		n++;
	}
	*count = n;
	return n > room ? TOO_SMALL : OK;
}

/* --- MIG ------------------------------------------------------------------------------------- */

API int nvmlDeviceGetMigMode(device_t d, unsigned *now, unsigned *pending);
API int nvmlDeviceGetMigMode(device_t d, unsigned *now, unsigned *pending)
{
	BEGIN("nvmlDeviceGetMigMode", d);
	*now = *pending = gpu_of(d)->mig;
	return OK;
}

API int nvmlDeviceGetMaxMigDeviceCount(device_t d, unsigned *count);
API int nvmlDeviceGetMaxMigDeviceCount(device_t d, unsigned *count)
{
	BEGIN("nvmlDeviceGetMaxMigDeviceCount", d);
	*count = 7;
	return OK;
}

API int nvmlDeviceGetMigDeviceHandleByIndex(device_t d, unsigned index, device_t *mig);
API int nvmlDeviceGetMigDeviceHandleByIndex(device_t d, unsigned index, device_t *mig)
{
	BEGIN("nvmlDeviceGetMigDeviceHandleByIndex", d);
	if (index >= gpu_of(d)->n_mig || !gpu_of(d)->mig)
		return NOT_FOUND;
	*mig = handle((unsigned)((uintptr_t)d & 0xff) - 1, index + 1);
	return OK;
}

API int nvmlDeviceGetGpuInstanceId(device_t d, unsigned *id);
API int nvmlDeviceGetGpuInstanceId(device_t d, unsigned *id)
{
	BEGIN("nvmlDeviceGetGpuInstanceId", d);
	if (!is_mig(d))
		return NOT_SUPPORTED;
	*id = mig_of(d)->gi;
	return OK;
}

API int nvmlDeviceGetComputeInstanceId(device_t d, unsigned *id);
API int nvmlDeviceGetComputeInstanceId(device_t d, unsigned *id)
{
	BEGIN("nvmlDeviceGetComputeInstanceId", d);
	if (!is_mig(d))
		return NOT_SUPPORTED;
	*id = mig_of(d)->ci;
	return OK;
}

struct attributes {
	unsigned multiprocessors, copy, decoders, encoders, jpeg, ofa, slices, compute_slices;
	unsigned long long mem_mb;
};

API int nvmlDeviceGetAttributes_v2(device_t d, struct attributes *a);
API int nvmlDeviceGetAttributes_v2(device_t d, struct attributes *a)
{
	BEGIN("nvmlDeviceGetAttributes", d);
	if (!is_mig(d))
		return NOT_SUPPORTED;
	memset(a, 0, sizeof(*a));
	a->slices = mig_of(d)->slices;
	a->compute_slices = mig_of(d)->compute_slices;
	a->mem_mb = mig_of(d)->mem;
	return OK;
}

/* --- events ---------------------------------------------------------------------------------- */

struct event_set {
	unsigned seq; /* the last that was told */
	uint64_t gpus;
};

struct event {
	device_t device;
	unsigned long long type, data;
	unsigned gi, ci;
};

#define XID_EVENT 8ull /* nvmlEventTypeXidCriticalError */

API int nvmlEventSetCreate(struct event_set **set);
API int nvmlEventSetCreate(struct event_set **out)
{
	BEGIN("nvmlEventSetCreate", NULL);
	*out = calloc(1, sizeof(**out));
	return *out ? OK : 20;
}

API int nvmlEventSetFree(struct event_set *set);
API int nvmlEventSetFree(struct event_set *events)
{
	free(events);
	return OK;
}

API int nvmlDeviceRegisterEvents(device_t d, unsigned long long types, struct event_set *set);
API int nvmlDeviceRegisterEvents(device_t d, unsigned long long types, struct event_set *events)
{
	BEGIN("nvmlDeviceRegisterEvents", d);
	if (types & ~XID_EVENT)
		return NOT_SUPPORTED;
	events->gpus |= 1ull << (((uintptr_t)d & 0xff) - 1);
	return OK;
}

static bool next_xid(struct event_set *events, struct event *e)
{
	for (unsigned i = 0; i < facts.n_xids; i++) {
		const struct xid *x = &facts.xids[i];

		if (x->seq <= events->seq || x->gpu >= MAX_GPUS || !(events->gpus >> x->gpu & 1))
			continue;
		events->seq = x->seq;
		*e = (struct event){ handle(x->gpu, 0), XID_EVENT, x->code, x->gi, x->ci };
		return true;
	}
	return false;
}

/* A descriptor that is readable once the file may have changed; -1: that cannot be known. */
static int file_watch(void)
{
	const char *path = getenv("NVML_STANDIN"), *slash = path ? strrchr(path, '/') : NULL;
	char folder[PATH_MAX] = ".";
	int fd = path ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;

	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1, path);
	if (fd >= 0 && (inotify_add_watch(fd, path, IN_CLOSE_WRITE) < 0 ||
	                       inotify_add_watch(fd, folder, IN_MOVED_TO) < 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Sleeps until the file changes, as the driver does until there is an event: an agent that only
 * waits must cost nothing here either. It may say TIMED_OUT early. */
API int nvmlEventSetWait_v2(struct event_set *set, struct event *e, unsigned ms);
API int nvmlEventSetWait_v2(struct event_set *events, struct event *e, unsigned ms)
{
	struct pollfd changed = { .fd = file_watch(), .events = POLLIN };
	int r = TIMED_OUT;

	for (bool last = false; r == TIMED_OUT; last = true) {
		int failed = begin("nvmlEventSetWait", NULL);

		if (failed != OK)
			r = failed;
		else if (next_xid(events, e))
			r = OK;
		if (r != TIMED_OUT || last || poll(&changed, 1, changed.fd < 0 ? 10 : (int)ms) < 0)
			break;
	}
	if (changed.fd >= 0)
		close(changed.fd);
	return r;
}
#endif /* STANDIN_OLD */
