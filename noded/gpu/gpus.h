/* gpus.h - what is known of a node's GPUs, as plain data
 *
 * A process fills it that may hang or crash in the driver's library (probe_watchdog.h), so
 * everything here has a fixed size and no pointers, and gpus_settle() validates it before it is
 * used.
 *
 * An entry is one physical GPU, or one MIG instance, listed after its GPU. A *slot* can be given to
 * a run: a whole GPU that is not in MIG mode, or a MIG instance, which has a type of its own. An
 * entry with `trouble` exists and cannot be used; the text says why.
 */
#ifndef NODED_GPU_GPUS_H
#define NODED_GPU_GPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/gpu/gpu_topology.h"
#include "common/gpu/gpus_by_type.h"
#include "common/gpusched.pb-c.h"

#define GPUS_MAX         256 /* entries */
#define GPUS_SLOTS_MAX   64  /* of a node: a set of them is one 64-bit word */
#define GPUS_HOST_MAX    NEAR_HOSTS /* physical GPUs */
#define GPUS_TEXT        96
#define GPUS_TYPE        (GPUS_BY_TYPE_NAME_MAX + 1)
#define GPUS_LINKS       18 /* NVLinks of one GPU (NVML_NVLINK_MAX_LINKS) */
#define GPUS_LINK_SWITCH "switch"

enum gpu_kind { GPU_WHOLE, GPU_MIG_PARENT, GPU_MIG };
enum gpu_recovery { GPU_RECOVERY_NONE, GPU_RECOVERY_RESET, GPU_RECOVERY_BOOT };
enum gpu_ecc { GPU_ECC_NONE, GPU_ECC_OFF, GPU_ECC_ON };

/* Health values of a GPU: numbers that change all the time and are not compared by gpus_equal(). */
struct gpu_health {
	uint64_t ecc, ecc_total;     /* uncorrectable: since the driver was loaded; ever */
	uint32_t temp_c, slowdown_c; /* now; where it starts to slow down; 0: not known */
	bool remap_pending, remap_failed;
	/* what the driver says it needs; NONE if the driver cannot say */
	enum gpu_recovery recovery;
	bool hung; /* `trouble` is a call that did not return, or crashed */
};

struct gpu {
	enum gpu_kind kind;
	uint32_t nvml; /* NVML's index of the physical GPU, as found */
	uint32_t host; /* its number in the order of PCI addresses, as CUDA counts with
	                  CUDA_DEVICE_ORDER=PCI_BUS_ID; by gpus_settle() */
	char type[GPUS_TYPE];
	char name[GPUS_TEXT]; /* the maker's */
	char uuid[GPUS_TEXT];
	char pci[GPUS_TEXT]; /* "0000:1b:00.0", as in /sys/bus/pci/devices */
	uint64_t mem_mb;
	uint32_t minor;             /* /dev/nvidiaMINOR */
	uint32_t instance, compute; /* GPU_MIG: ids of GPU instance and compute instance */
	uint32_t caps[2], n_caps;   /* GPU_MIG: /dev/nvidia-caps/nvidia-capN it needs */
	int32_t numa;               /* NUMA node; -1: not known */
	char cpus[GPUS_TEXT];       /* the CPUs near it, as a list; "": not known */
	enum gpu_ecc ecc;
	uint32_t power_w;           /* its limit; 0: not known */
	uint32_t n_links;           /* active NVLinks */
	char links[GPUS_LINKS][24]; /* where each goes: a PCI address or GPUS_LINK_SWITCH */
	uint64_t peers;             /* set of hosts it reaches by NVLink; by gpus_settle() */
	struct near_place place;    /* by gpus_settle() */
	char trouble[160];          /* why it cannot be used; "": it can */
	struct gpu_health health;   /* of a MIG instance: its GPU's; last member */
};

enum gpus_state {
	GPUS_NONE,    /* no GPU of a maker whose library is supported */
	GPUS_FOUND,   /* every GPU was queried; some may be in trouble */
	GPUS_TROUBLE, /* there are GPUs and they could not be queried: nothing is known */
};

struct gpus {
	enum gpus_state state;
	/* GPUS_TROUBLE: what is wrong; GPUS_NONE: why there are none; GPUS_FOUND: which GPUs are
	 * missing in the list */
	char trouble[300];
	char driver[GPUS_TEXT];
	uint32_t cuda; /* 12040 is 12.4; 0: not known */
	/* The PCIe connection of two physical GPUs, by NVML's indices, the lower first: enum
	 * near_level, as found. */
	uint8_t between[GPUS_HOST_MAX][GPUS_HOST_MAX];
	uint32_t n;
	struct gpu v[GPUS_MAX];
};

/* Number the entries, find their NVLink peers and PCIe groups, put MIG instances with their GPU,
 * and make sure that nothing is out of bounds. Marks entries that have no name or that contradict
 * each other (two with one UUID, PCI address or device minor). */
void gpus_settle(struct gpus *g);

/* Can it be given to a run? */
bool gpu_is_slot(const struct gpu *gpu);

/* The slot of that UUID, NULL if there is none. */
const struct gpu *gpus_find(const struct gpus *g, const char *uuid);

/* How close two different entries are. */
near_t gpus_near(const struct gpu *a, const struct gpu *b);

/* Are both equal, except for health values? */
bool gpus_equal(const struct gpus *a, const struct gpus *b);

/* The type that gpusched uses for a product name: from a table, or, for an unknown one, its name
 * without the maker's, in lower case and with "-" for characters that a type may not contain. "":
 * no name. */
void gpu_type_of(const char *product, char type[GPUS_TYPE]);
/* The same for a MIG instance: "1g.10gb" from "NVIDIA H100 80GB HBM3 MIG 1g.10gb", else from its
 * share of the GPU's slices and memory. */
void gpu_type_of_mig(const char *product, uint32_t slices, uint32_t compute_slices, uint64_t mem_mb,
        char type[GPUS_TYPE]);

/* For messages and --json. gpus_messages_free() frees what gpus_messages() made. */
Gpusched__GpuDevice **gpus_messages(const struct gpus *g, size_t *n);
void gpus_messages_free(Gpusched__GpuDevice **v, size_t n);

#endif
