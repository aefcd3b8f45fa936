/* standin.h - the machine that a file describes (README), for standin.c */
#ifndef TESTSUITE_NVML_STANDIN_H
#define TESTSUITE_NVML_STANDIN_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_GPUS  64
#define MAX_MIG   16
#define MAX_FACTS 256
#define TEXT      96
#define MIB       (1024ull * 1024)

enum {
	OK = 0,
	UNINITIALIZED = 1,
	INVALID = 2,
	NOT_SUPPORTED = 3,
	NOT_FOUND = 6,
	TOO_SMALL = 7,
	TIMED_OUT = 10,
	LOST = 15
};

struct facts {
	char driver[TEXT];
	int cuda, init;
	unsigned n_gpus;
	struct gpu {
		char uuid[TEXT], name[TEXT];
		unsigned domain, bus, device, minor, mem, used, reserved, power, compute, memory, temp;
		unsigned long long energy;
		unsigned watts, slowdown, ecc_errors, ecc_total, remap_pending, remap_failed;
		int ecc, recovery, reset, drain_reset;
		unsigned draw, sm_clock, mem_clock;
		bool mig, lost, nan;
		unsigned n_links, links[18];
		int path[4]; /* -1: from there on it is not said */
		unsigned n_mig;
		struct mig {
			char uuid[TEXT], profile[TEXT];
			unsigned gi, ci, mem, used, slices, compute_slices;
		} migs[MAX_MIG];
	} gpus[MAX_GPUS];
	unsigned n_processes;
	struct process {
		unsigned gpu, pid, mem, sm;
		int mig; /* -1: not in one */
	} processes[MAX_FACTS];
	unsigned n_xids;
	struct xid {
		unsigned gpu, code, seq, gi, ci; /* UINT32_MAX: of the whole GPU */
	} xids[MAX_FACTS];
	unsigned n_ancestors;
	struct ancestor {
		unsigned gpu, with;
		int level;
	} ancestors[MAX_FACTS];
	unsigned n_faults;
	struct fault {
		enum { FAIL, HANG, CRASH, SLOW, WRITE } kind;
		char call[TEXT], path[TEXT];
		int gpu;    /* -1: any */
		int result; /* of SLOW: milliseconds */
	} faults[MAX_FACTS];
};

#define TO_SWITCH UINT32_MAX

extern struct facts facts;

/* The file as it is now, into `facts`: each call looks again. */
void read_facts(void);

#endif
