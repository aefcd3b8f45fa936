/* nvml.h - NVIDIA's management library, as far as we use it
 *
 * The library comes with the driver and is opened at run time; the build needs no header of NVIDIA.
 * Declarations follow the NVML API reference (docs.nvidia.com/deploy/nvml-api). Functions have
 * versions: the newest known one is used, else an older one that fills the same part of its
 * argument; a function that the library lacks is NULL.
 */
#ifndef NODED_GPU_NVML_H
#define NODED_GPU_NVML_H

#include "common/base/error.h"

/* nvmlReturn_t */
enum nvml_return {
	NVML_SUCCESS = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_TIMEOUT = 10,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
};

typedef struct nvmlDevice_st *nvml_device;

/* nvmlPciInfo_t. Up to `device` all versions agree; later ones are longer. */
struct nvml_pci {
	char bus_id_legacy[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};

struct nvml_memory { /* nvmlMemory_t, in bytes */
	unsigned long long total, free, used;
};

struct nvml_memory_parts { /* nvmlMemory_v2_t, in bytes */
	unsigned version;   /* NVML_MEMORY_PARTS_VERSION */
	unsigned long long total, reserved, free, used; /* `used` is without `reserved` */
};
#define NVML_MEMORY_PARTS_VERSION ((unsigned)sizeof(struct nvml_memory_parts) | 2u << 24)

struct nvml_attributes { /* nvmlDeviceAttributes_t */
	unsigned multiprocessors, copy_engines, decoders, encoders, jpeg, ofa;
	unsigned slices, compute_slices;
	unsigned long long mem_mb;
};

struct nvml_utilization { /* nvmlUtilization_t, in percent */
	unsigned gpu, memory;
};

/* nvmlProcessInfo_t of the calls' version 2 and 3 */
struct nvml_process {
	unsigned pid;
	unsigned long long used; /* bytes; NVML_NO_VALUE */
	unsigned gpu_instance, compute_instance;
};
#define NVML_NO_VALUE (~0ull)

struct nvml_process_use { /* nvmlProcessUtilizationSample_t, in percent */
	unsigned pid;
	unsigned long long time;
	unsigned sm, memory, encoder, decoder;
};

enum { NVML_GPU_UTILIZATION_SAMPLES = 1 };                   /* nvmlSamplingType_t */
enum { NVML_DOUBLE, NVML_UINT, NVML_ULONG, NVML_ULONGLONG }; /* nvmlValueType_t */
struct nvml_sample {                                         /* nvmlSample_t */
	unsigned long long time;
	union {
		double d;
		unsigned u;
		unsigned long ul;
		unsigned long long ull;
	} value;
};

enum { NVML_TEMPERATURE_GPU = 0 };                   /* nvmlTemperatureSensors_t */
enum { NVML_THRESHOLD_SLOWDOWN = 1 };                /* nvmlTemperatureThresholds_t */
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };      /* nvmlClockType_t */
enum { NVML_ECC_UNCORRECTED = 1 };                   /* nvmlMemoryErrorType_t */
enum { NVML_ECC_VOLATILE = 0, NVML_ECC_AGGREGATE = 1 }; /* nvmlEccCounterType_t */

struct nvml_field_value { /* nvmlFieldValue_t */
	unsigned field, scope;
	long long time, latency_us;
	int type;   /* NVML_UINT and the like */
	int result; /* of this field */
	union {
		unsigned u;
		unsigned long long ull;
	} value;
};
enum {
	/* 0 or 1; drivers of 560 and 565, and no later ones */
	NVML_FIELD_RESET = 226,           /* NVML_FI_DEV_RESET_STATUS */
	NVML_FIELD_DRAIN_AND_RESET = 227, /* NVML_FI_DEV_DRAIN_AND_RESET_STATUS */
	/* drivers from 565 on */
	NVML_FIELD_RECOVERY = 230, /* NVML_FI_DEV_GET_GPU_RECOVERY_ACTION */
};
enum { /* nvmlDeviceGpuRecoveryAction_t */
	NVML_RECOVERY_NONE = 0,
	NVML_RECOVERY_RESET = 1,
	NVML_RECOVERY_REBOOT = 2,
	NVML_RECOVERY_DRAIN_P2P = 3, /* programs that reach it from other GPUs must end */
	NVML_RECOVERY_DRAIN_AND_RESET = 4,
	NVML_RECOVERY_IMEX_DOMAIN = 5, /* of all that share memory over NVLink, and not of it */
	NVML_RECOVERY_BUS_RESET = 6,
	NVML_RECOVERY_SYSTEM_REBOOT = 7,
};

typedef struct nvmlEventSet_st *nvml_event_set;
#define NVML_EVENT_XID 8ull /* nvmlEventTypeXidCriticalError */
struct nvml_event {         /* nvmlEventData_t; version 1 ends before `gpu_instance` */
	nvml_device device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance; /* NVML_NO_INSTANCE: of the whole GPU */
};
#define NVML_NO_INSTANCE (~0u)

enum { NVML_LINK_GPU = 0, NVML_LINK_SWITCH = 2 }; /* nvmlIntNvLinkDeviceType_t */

enum { /* nvmlGpuTopologyLevel_t: what two GPUs have between them */
	NVML_TOPOLOGY_INTERNAL = 0, /* one board */
	NVML_TOPOLOGY_SINGLE = 10,
	NVML_TOPOLOGY_MULTIPLE = 20,
	NVML_TOPOLOGY_HOSTBRIDGE = 30,
	NVML_TOPOLOGY_NODE = 40,
	NVML_TOPOLOGY_SYSTEM = 50,
};

/* X(name, newest version, oldest version, arguments). The symbol is the name, and from version 2 on
 * "_vN" behind it. */
#define NVML_CALLS(X)                                                                             \
	X(nvmlInit, 2, 1, (void))                                                                 \
	X(nvmlShutdown, 1, 1, (void))                                                             \
	X(nvmlSystemGetDriverVersion, 1, 1, (char *text, unsigned size))                          \
	X(nvmlSystemGetCudaDriverVersion, 2, 1, (int *version))                                   \
	X(nvmlDeviceGetCount, 2, 1, (unsigned *count))                                            \
	X(nvmlDeviceGetHandleByIndex, 2, 1, (unsigned index, nvml_device *device))                \
	X(nvmlDeviceGetName, 1, 1, (nvml_device device, char *text, unsigned size))               \
	X(nvmlDeviceGetUUID, 1, 1, (nvml_device device, char *text, unsigned size))               \
	X(nvmlDeviceGetPciInfo, 3, 1, (nvml_device device, struct nvml_pci * pci))                \
	X(nvmlDeviceGetMinorNumber, 1, 1, (nvml_device device, unsigned *minor))                  \
	X(nvmlDeviceGetMemoryInfo, 1, 1, (nvml_device device, struct nvml_memory * memory))       \
	X(nvmlDeviceGetMemoryInfo_v2, 1, 1,                                                       \
	        (nvml_device device, struct nvml_memory_parts * memory))                          \
	X(nvmlDeviceGetEccMode, 1, 1, (nvml_device device, int *now, int *pending))               \
	X(nvmlDeviceGetEnforcedPowerLimit, 1, 1, (nvml_device device, unsigned *mw))              \
	X(nvmlDeviceGetNvLinkState, 1, 1, (nvml_device device, unsigned link, int *active))       \
	X(nvmlDeviceGetNvLinkRemoteDeviceType, 1, 1,                                              \
	        (nvml_device device, unsigned link, int *type))                                   \
	X(nvmlDeviceGetNvLinkRemotePciInfo, 2, 1,                                                 \
	        (nvml_device device, unsigned link, struct nvml_pci *pci))                        \
	X(nvmlDeviceGetTopologyCommonAncestor, 1, 1, (nvml_device a, nvml_device b, int *level))  \
	X(nvmlDeviceGetMigMode, 1, 1, (nvml_device device, unsigned *now, unsigned *pending))     \
	X(nvmlDeviceGetMaxMigDeviceCount, 1, 1, (nvml_device device, unsigned *count))            \
	X(nvmlDeviceGetMigDeviceHandleByIndex, 1, 1,                                              \
	        (nvml_device device, unsigned index, nvml_device *mig))                           \
	X(nvmlDeviceGetGpuInstanceId, 1, 1, (nvml_device mig, unsigned *id))                      \
	X(nvmlDeviceGetComputeInstanceId, 1, 1, (nvml_device mig, unsigned *id))                  \
	X(nvmlDeviceGetAttributes, 2, 2, (nvml_device mig, struct nvml_attributes * a))           \
	X(nvmlDeviceGetUtilizationRates, 1, 1, (nvml_device device, struct nvml_utilization * u)) \
	X(nvmlDeviceGetSamples, 1, 1,                                                             \
	        (nvml_device device, int kind, unsigned long long since, int *type, unsigned *n,  \
	                struct nvml_sample *v))                                                   \
	X(nvmlDeviceGetComputeRunningProcesses, 3, 2,                                             \
	        (nvml_device device, unsigned *n, struct nvml_process *v))                        \
	X(nvmlDeviceGetProcessUtilization, 1, 1,                                                  \
	        (nvml_device device, struct nvml_process_use * v, unsigned *n,                    \
	                unsigned long long since))                                                \
	X(nvmlDeviceGetTotalEnergyConsumption, 1, 1,                                              \
	        (nvml_device device, unsigned long long *mj))                                     \
	X(nvmlDeviceGetPowerUsage, 1, 1, (nvml_device device, unsigned *mw))                      \
	X(nvmlDeviceGetClockInfo, 1, 1, (nvml_device device, int clock, unsigned *mhz))           \
	X(nvmlDeviceGetTemperature, 1, 1, (nvml_device device, int sensor, unsigned *c))          \
	X(nvmlDeviceGetTemperatureThreshold, 1, 1, (nvml_device device, int kind, unsigned *c))   \
	X(nvmlDeviceGetTotalEccErrors, 1, 1,                                                      \
	        (nvml_device device, int error, int counter, unsigned long long *n))              \
	X(nvmlDeviceGetRemappedRows, 1, 1,                                                        \
	        (nvml_device device, unsigned *corrected, unsigned *uncorrected,                  \
	                unsigned *pending, unsigned *failed))                                     \
	X(nvmlDeviceGetFieldValues, 1, 1,                                                         \
	        (nvml_device device, int n, struct nvml_field_value *v))                          \
	X(nvmlEventSetCreate, 1, 1, (nvml_event_set * set))                                       \
	X(nvmlDeviceRegisterEvents, 1, 1,                                                         \
	        (nvml_device device, unsigned long long types, nvml_event_set set))               \
	X(nvmlEventSetWait, 2, 1, (nvml_event_set set, struct nvml_event * event, unsigned ms))

struct nvml {
	void *library;
	const char *(*nvmlErrorString)(int result); /* NULL: the library lacks it */
#define X(name, newest, oldest, args) int(*name) args;
	NVML_CALLS(X)
#undef X
};

/* Open libnvidia-ml.so.1 where the dynamic linker finds it, else in /usr/local/nvidia/lib64. -1
 * with ERR_SYSTEM: it does not exist, or is no such library. No function of it has been called
 * yet. */
int nvml_open(struct nvml *nvml, struct error *err);
void nvml_close(struct nvml *nvml);

/* The text of a result; never NULL. */
const char *nvml_error(const struct nvml *nvml, int result);

#endif
