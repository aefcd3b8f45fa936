/* nvml_discovery.c - see nvml_discovery.h */
#include "noded/gpu/nvml_discovery.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noded/gpu/nvml.h"
#include "noded/gpu/pcie.h"

#define NVIDIA_VENDOR 0x10de
#define CAPABILITIES  "/proc/driver/nvidia/capabilities"
#define PCI_DISPLAY   0x03 /* the class's upper byte: VGA and 3D controllers */

struct looker {
	const char *root;
	struct nvml nvml;
	struct gpus *out;
	struct discover_at *at;
	uint32_t gpu;                       /* the present one */
	nvml_device devices[GPUS_HOST_MAX]; /* NULL: not to be queried */
};

/* --- sysfs and procfs ------------------------------------------------------------------------ */

/* The first line of a small file, "" if it cannot be read. */
static void read_line(char *line, size_t size, const char *path)
{
	FILE *f = fopen(path, "re");

	line[0] = '\0';
	if (!f)
		return;
	if (!fgets(line, (int)size, f))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	fclose(f);
}

/* The number of NVIDIA GPUs on the PCI bus. */
static unsigned count_pci(const char *root)
{
	char path[512], line[32];
	struct dirent *e;
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices", root);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		snprintf(
		        path, sizeof(path), "%s/sys/bus/pci/devices/%.40s/vendor", root, e->d_name);
		read_line(line, sizeof(line), path);
		if (strtoul(line, NULL, 16) != NVIDIA_VENDOR)
			continue;
		snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%.40s/class", root, e->d_name);
		read_line(line, sizeof(line), path);
		n += strtoul(line, NULL, 16) >> 16 == PCI_DISPLAY;
	}
	if (dir)
		closedir(dir);
	return n;
}

static void find_place(const struct looker *l, struct gpu *gpu)
{
	char path[512], line[GPUS_TEXT];

	gpu->numa = -1;
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/numa_node", l->root, gpu->pci);
	read_line(line, sizeof(line), path);
	if (*line)
		gpu->numa = (int32_t)strtol(line, NULL, 10);
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/local_cpulist", l->root, gpu->pci);
	read_line(gpu->cpus, sizeof(gpu->cpus), path);
}

/* The minor in /dev/nvidia-caps that opens what `what` names ("DeviceFileMinor: N"). Without it
 * neither CUDA nor we know which file to open, so no process can use the instance. */
static void find_cap(const struct looker *l, struct gpu *gpu, const char *what)
{
	char path[512], line[64];
	int minor;

	snprintf(path, sizeof(path), "%s" CAPABILITIES "/gpu%u/mig/%s/access", l->root, gpu->minor,
	        what);
	read_line(line, sizeof(line), path);
	if (sscanf(line, "DeviceFileMinor: %d", &minor) == 1 && minor >= 0)
		gpu->caps[gpu->n_caps++] = (uint32_t)minor;
	else if (!*gpu->trouble)
		snprintf(gpu->trouble, sizeof(gpu->trouble),
		        "no program can open it: %s/gpu%u/mig/%s/access names no device minor",
		        CAPABILITIES, gpu->minor, what);
}

/* If a driver has no such files at all, its instances are open to all processes. */
static void find_caps(const struct looker *l, struct gpu *gpu)
{
	char what[512];

	snprintf(what, sizeof(what), "%s" CAPABILITIES, l->root);
	if (access(what, F_OK) < 0 && errno == ENOENT)
		return;

	snprintf(what, sizeof(what), "gi%u", gpu->instance);
	find_cap(l, gpu, what);
	snprintf(what, sizeof(what), "gi%u/ci%u", gpu->instance, gpu->compute);
	find_cap(l, gpu, what);
}

/* --- queries --------------------------------------------------------------------------------- */

static void asking(struct looker *l, const char *call)
{
	snprintf(l->at->call, sizeof(l->at->call), "%s", call);
	l->at->gpu = l->gpu;
}

#define ASK(l, call, ...)  \
	(asking(l, #call), \
	        (l)->nvml.call ? (l)->nvml.call(__VA_ARGS__) : (int)NVML_FUNCTION_NOT_FOUND)

/* The same for a required value: on failure false, and `gpu` gets `trouble`. */
#define NEED(l, gpu, call, ...) needed(l, gpu, ASK(l, call, __VA_ARGS__))

static bool needed(const struct looker *l, struct gpu *gpu, int result)
{
	if (result != NVML_SUCCESS && !*gpu->trouble)
		snprintf(gpu->trouble, sizeof(gpu->trouble), "%s: %s", l->at->call,
		        nvml_error(&l->nvml, result));
	if (result == NVML_RESET_REQUIRED)
		gpu->health.recovery = GPU_RECOVERY_RESET;
	return result == NVML_SUCCESS;
}

static void write_pci(char *text, size_t size, const struct nvml_pci *pci)
{
	snprintf(text, size, "%04x:%02x:%02x.0", pci->domain, pci->bus, pci->device);
}

static void ask_link(struct looker *l, nvml_device device, unsigned link, struct gpu *gpu)
{
	char *to = gpu->links[gpu->n_links];
	struct nvml_pci pci = { .domain = 0 };
	int active = 0, type = NVML_LINK_GPU;

	if (ASK(l, nvmlDeviceGetNvLinkState, device, link, &active) != NVML_SUCCESS || !active)
		return;
	if (ASK(l, nvmlDeviceGetNvLinkRemoteDeviceType, device, link, &type) != NVML_SUCCESS)
		type = NVML_LINK_GPU; /* drivers before 460 do not say */
	if (type == NVML_LINK_SWITCH)
		snprintf(to, sizeof(gpu->links[0]), "%s", GPUS_LINK_SWITCH);
	else if (ASK(l, nvmlDeviceGetNvLinkRemotePciInfo, device, link, &pci) == NVML_SUCCESS)
		write_pci(to, sizeof(gpu->links[0]), &pci);
	gpu->n_links++;
}

/* By NVML's action. Others are none, or programs must end: no reset is needed. */
static const enum gpu_recovery recoveries[] = {
	[NVML_RECOVERY_RESET] = GPU_RECOVERY_RESET,
	[NVML_RECOVERY_DRAIN_AND_RESET] = GPU_RECOVERY_RESET,
	[NVML_RECOVERY_BUS_RESET] = GPU_RECOVERY_RESET,
	[NVML_RECOVERY_REBOOT] = GPU_RECOVERY_BOOT,
	[NVML_RECOVERY_SYSTEM_REBOOT] = GPU_RECOVERY_BOOT,
};
#define N_RECOVERIES (sizeof(recoveries) / sizeof(recoveries[0]))

/* What recovers the GPU, as far as this driver says: drivers before 560 only refuse calls. */
static enum gpu_recovery ask_recovery(struct looker *l, nvml_device device)
{
	struct nvml_field_value v[] = { { .field = NVML_FIELD_RECOVERY },
		{ .field = NVML_FIELD_RESET }, { .field = NVML_FIELD_DRAIN_AND_RESET } };
	const unsigned n = sizeof(v) / sizeof(*v);

	if (ASK(l, nvmlDeviceGetFieldValues, device, (int)n, v) != NVML_SUCCESS)
		return GPU_RECOVERY_NONE;
	if (v[0].result == NVML_SUCCESS)
		return v[0].value.u < N_RECOVERIES ? recoveries[v[0].value.u] : GPU_RECOVERY_NONE;
	for (unsigned i = 1; i < n; i++) {
		if (v[i].result == NVML_SUCCESS && v[i].value.u)
			return GPU_RECOVERY_RESET;
	}
	return GPU_RECOVERY_NONE;
}

/* Health values. */
static void ask_health(struct looker *l, nvml_device device, struct gpu_health *h)
{
	unsigned long long n = 0;
	unsigned c = 0, corrected, uncorrected, pending = 0, failed = 0;

	if (ASK(l, nvmlDeviceGetTotalEccErrors, device, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE,
	            &n) == NVML_SUCCESS)
		h->ecc = n;
	if (ASK(l, nvmlDeviceGetTotalEccErrors, device, NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE,
	            &n) == NVML_SUCCESS)
		h->ecc_total = n;
	if (ASK(l, nvmlDeviceGetRemappedRows, device, &corrected, &uncorrected, &pending,
	            &failed) == NVML_SUCCESS) {
		h->remap_pending = pending;
		h->remap_failed = failed;
	}
	if (ASK(l, nvmlDeviceGetTemperature, device, NVML_TEMPERATURE_GPU, &c) == NVML_SUCCESS)
		h->temp_c = c;
	if (ASK(l, nvmlDeviceGetTemperatureThreshold, device, NVML_THRESHOLD_SLOWDOWN, &c) ==
	        NVML_SUCCESS)
		h->slowdown_c = c;
	if (h->recovery == GPU_RECOVERY_NONE)
		h->recovery = ask_recovery(l, device);
}

/* Optional values. */
static void ask_more(struct looker *l, nvml_device device, struct gpu *gpu)
{
	int ecc = 0, pending;
	unsigned mw = 0;

	if (ASK(l, nvmlDeviceGetEccMode, device, &ecc, &pending) == NVML_SUCCESS)
		gpu->ecc = ecc ? GPU_ECC_ON : GPU_ECC_OFF;
	if (ASK(l, nvmlDeviceGetEnforcedPowerLimit, device, &mw) == NVML_SUCCESS)
		gpu->power_w = mw / 1000;
	for (unsigned link = 0; link < GPUS_LINKS; link++)
		ask_link(l, device, link, gpu);
	ask_health(l, device, &gpu->health);
	find_place(l, gpu);
}

/* Is it in MIG mode? A GPU without MIG is not. */
static void ask_mode(struct looker *l, nvml_device device, struct gpu *gpu)
{
	unsigned now = 0, pending;
	int r = ASK(l, nvmlDeviceGetMigMode, device, &now, &pending);

	if (r != NVML_NOT_SUPPORTED && r != NVML_FUNCTION_NOT_FOUND)
		needed(l, gpu, r);
	gpu->kind = now ? GPU_MIG_PARENT : GPU_WHOLE;
}

static void ask_gpu(struct looker *l, nvml_device device, struct gpu *gpu)
{
	struct nvml_memory memory = { .total = 0 };
	struct nvml_pci pci = { .domain = 0 };

	if (NEED(l, gpu, nvmlDeviceGetName, device, gpu->name, sizeof(gpu->name)))
		gpu_type_of(gpu->name, gpu->type);
	NEED(l, gpu, nvmlDeviceGetUUID, device, gpu->uuid, sizeof(gpu->uuid));
	if (NEED(l, gpu, nvmlDeviceGetPciInfo, device, &pci))
		write_pci(gpu->pci, sizeof(gpu->pci), &pci);
	NEED(l, gpu, nvmlDeviceGetMinorNumber, device, &gpu->minor);
	if (NEED(l, gpu, nvmlDeviceGetMemoryInfo, device, &memory))
		gpu->mem_mb = memory.total / (1024 * 1024);
	ask_mode(l, device, gpu);
	if (!*gpu->trouble && (!*gpu->type || !*gpu->uuid))
		snprintf(gpu->trouble, sizeof(gpu->trouble), "it has no name or no UUID");
	ask_more(l, device, gpu);
}

/* --- MIG ------------------------------------------------------------------------------------- */

static void ask_instance(
        struct looker *l, nvml_device mig, const struct gpu *parent, struct gpu *gpu)
{
	struct nvml_attributes a = { .slices = 0 };
	struct nvml_memory memory = { .total = 0 };

	*gpu = *parent;
	gpu->kind = GPU_MIG;
	gpu->uuid[0] = gpu->type[0] = '\0';
	gpu->mem_mb = 0;
	gpu->n_links = 0;
	NEED(l, gpu, nvmlDeviceGetUUID, mig, gpu->uuid, sizeof(gpu->uuid));
	NEED(l, gpu, nvmlDeviceGetGpuInstanceId, mig, &gpu->instance);
	NEED(l, gpu, nvmlDeviceGetComputeInstanceId, mig, &gpu->compute);
	ASK(l, nvmlDeviceGetName, mig, gpu->name, sizeof(gpu->name));
	ASK(l, nvmlDeviceGetAttributes, mig, &a);
	if (ASK(l, nvmlDeviceGetMemoryInfo, mig, &memory) == NVML_SUCCESS)
		gpu->mem_mb = memory.total / (1024 * 1024);
	if (!gpu->mem_mb)
		gpu->mem_mb = a.mem_mb;
	gpu_type_of_mig(gpu->name, a.slices, a.compute_slices, gpu->mem_mb, gpu->type);
	if (!*gpu->trouble && (!*gpu->type || !*gpu->uuid || !gpu->mem_mb))
		snprintf(gpu->trouble, sizeof(gpu->trouble),
		        "it says neither its profile nor its share of the GPU");
	if (!*gpu->trouble) /* it is known which it is */
		find_caps(l, gpu);
}

static void ask_instances(struct looker *l, nvml_device device, const struct gpu *parent)
{
	unsigned n = 0;

	if (ASK(l, nvmlDeviceGetMaxMigDeviceCount, device, &n) != NVML_SUCCESS)
		n = 0;
	for (unsigned i = 0; i < n && l->out->n < GPUS_MAX; i++) {
		struct gpu *gpu = &l->out->v[l->out->n];
		nvml_device mig = NULL;
		int r = ASK(l, nvmlDeviceGetMigDeviceHandleByIndex, device, i, &mig);

		if (r == NVML_NOT_FOUND) /* numbers have holes */
			continue;
		if (r == NVML_SUCCESS) {
			ask_instance(l, mig, parent, gpu);
		} else {
			*gpu = *parent;
			gpu->kind = GPU_MIG;
			gpu->uuid[0] = gpu->type[0] = '\0';
			needed(l, gpu, r);
		}
		l->out->n++;
	}
}

/* --- connections between GPUs ---------------------------------------------------------------- */

/* From the PCI bus. */
static void find_between(struct looker *l)
{
	static char ways[GPUS_HOST_MAX][PCIE_WAY];
	int32_t numa[GPUS_HOST_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->out->n; i++) {
		const struct gpu *gpu = &l->out->v[i];

		if (gpu->kind == GPU_MIG)
			continue;
		n = gpu->nvml + 1; /* they come in that order, and none is left out */
		pcie_way(l->root, gpu->pci, ways[gpu->nvml]);
		numa[gpu->nvml] = gpu->numa;
	}
	for (uint32_t a = 0; a < n; a++) {
		for (uint32_t b = a + 1; b < n; b++)
			l->out->between[a][b] =
			        (uint8_t)pcie_between(ways[a], numa[a], ways[b], numa[b]);
	}
}

/* By NVML's level. NEAR_UNKNOWN, 0: it is none of them. */
static const uint8_t levels[] = {
	[NVML_TOPOLOGY_INTERNAL] = NEAR_PIX,
	[NVML_TOPOLOGY_SINGLE] = NEAR_PIX,
	[NVML_TOPOLOGY_MULTIPLE] = NEAR_PXB,
	[NVML_TOPOLOGY_HOSTBRIDGE] = NEAR_PHB,
	[NVML_TOPOLOGY_NODE] = NEAR_NODE,
	[NVML_TOPOLOGY_SYSTEM] = NEAR_SYS,
};

/* From the driver, for the GPUs that it knows. Each pair is queried once, so answers cannot
 * contradict each other. */
static void ask_between(struct looker *l)
{
	for (uint32_t a = 0; a < GPUS_HOST_MAX; a++) {
		for (uint32_t b = a + 1; b < GPUS_HOST_MAX; b++) {
			int ancestor = -1;

			if (!l->devices[a] || !l->devices[b] ||
			        ASK(l, nvmlDeviceGetTopologyCommonAncestor, l->devices[a],
			                l->devices[b], &ancestor) != NVML_SUCCESS)
				continue;
			if (ancestor >= 0 && (size_t)ancestor < sizeof(levels) && levels[ancestor])
				l->out->between[a][b] = levels[ancestor];
		}
	}
}

/* --- all ------------------------------------------------------------------------------------- */

static void ask_index(struct looker *l, const struct discover_skip *skips, uint32_t n_skips)
{
	struct gpu *gpu = &l->out->v[l->out->n];
	nvml_device device = NULL;

	*gpu = (struct gpu){ .nvml = l->gpu, .numa = -1 };
	for (uint32_t i = 0; i < n_skips; i++) {
		if (skips[i].gpu != l->gpu)
			continue;
		memcpy(gpu->trouble, skips[i].why, sizeof(gpu->trouble));
		gpu->health.hung = true;
	}
	if (!*gpu->trouble && NEED(l, gpu, nvmlDeviceGetHandleByIndex, l->gpu, &device))
		ask_gpu(l, device, gpu);
	l->out->n++;
	l->devices[l->gpu] = *gpu->trouble ? NULL : device;
	if (gpu->kind == GPU_MIG_PARENT && !*gpu->trouble)
		ask_instances(l, device, gpu);
}

static void ask_all(
        struct looker *l, const struct discover_skip *skips, uint32_t n_skips, bool pairs)
{
	unsigned count = 0;
	int cuda = 0, r;

	ASK(l, nvmlSystemGetDriverVersion, l->out->driver, sizeof(l->out->driver));
	if (ASK(l, nvmlSystemGetCudaDriverVersion, &cuda) == NVML_SUCCESS)
		l->out->cuda = (uint32_t)cuda;
	r = ASK(l, nvmlDeviceGetCount, &count);
	if (r != NVML_SUCCESS) {
		l->out->state = GPUS_TROUBLE;
		snprintf(l->out->trouble, sizeof(l->out->trouble), "nvmlDeviceGetCount: %s",
		        nvml_error(&l->nvml, r));
		return;
	}
	for (l->gpu = 0; l->gpu < count && l->gpu < GPUS_HOST_MAX && l->out->n < GPUS_MAX; l->gpu++)
		ask_index(l, skips, n_skips);
	l->gpu = DISCOVER_NO_GPU;
	l->out->state = count ? GPUS_FOUND : GPUS_NONE;
	if (!count)
		snprintf(l->out->trouble, sizeof(l->out->trouble), "NVML knows no GPU");
	else if (count > GPUS_HOST_MAX)
		snprintf(l->out->trouble, sizeof(l->out->trouble),
		        "left out: %u of %u GPUs, from NVML's number %d on: a node has at most %d",
		        count - GPUS_HOST_MAX, count, GPUS_HOST_MAX, GPUS_HOST_MAX);
	find_between(l);
	l->at->enough = 1;
	if (pairs)
		ask_between(l);
}

void discover_gpus(const char *root, const struct discover_skip *skips, uint32_t n_skips,
        bool pairs, struct gpus *out, struct discover_at *at)
{
	struct looker l = { .root = root, .out = out, .at = at, .gpu = DISCOVER_NO_GPU };
	unsigned pci = count_pci(root);
	struct error err;
	int r;

	out->n = 0;
	if (nvml_open(&l.nvml, &err) < 0) {
		out->state = GPUS_NONE;
		snprintf(out->trouble, sizeof(out->trouble), "%.200s%s", err.text,
		        pci ? ", and the PCI bus has GPUs of NVIDIA's" : "");
		return;
	}
	r = ASK(&l, nvmlInit);
	if (r == NVML_SUCCESS) {
		ask_all(&l, skips, n_skips, pairs);
		ASK(&l, nvmlShutdown);
	} else {
		/* A library without a GPU is no fault: many system images have it. */
		out->state = r == NVML_DRIVER_NOT_LOADED && !pci ? GPUS_NONE : GPUS_TROUBLE;
		snprintf(
		        out->trouble, sizeof(out->trouble), "nvmlInit: %s", nvml_error(&l.nvml, r));
	}
	nvml_close(&l.nvml);
}
