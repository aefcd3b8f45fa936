/* devfilter.h - which device files the processes of a cgroup may open
 *
 * A BPF program (BPF_PROG_TYPE_CGROUP_DEVICE [bpf(2), kernel: admin-guide/cgroup-v2, "Device
 * controller"]) is attached to a run's leaf; the kernel runs it at each open(2) and mknod(2) of a
 * device by a process in the leaf. It denies opening any device that is not granted, and mknod(2)
 * of every device. It is attached with BPF_F_ALLOW_MULTI: filters of cgroups above it still count,
 * and a filter below it can only take more away.
 *
 * Granted to every run: null, zero, full, random, urandom, tty, ptmx and the pseudo terminals. The
 * filter acts at open(2): a descriptor that is passed from one run to another of the same user
 * keeps working.
 */
#ifndef NODED_DEVFILTER_H
#define NODED_DEVFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

#define DEVFILTER_MAX   512        /* devices granted to one run */
#define DEVFILTER_MINOR UINT32_MAX /* as a minor: all minors */

struct device {
	char type; /* 'c' or 'b' */
	uint32_t major, minor;
};

/* The device file at `path`. -1 with ERR_SYSTEM: it does not exist; ERR_USAGE: it is no device. */
int device_at(const char *path, struct device *out, struct error *err);

/* The number that the kernel has given to a driver of character devices (proc_devices(5)); -1: it
 * is not loaded. */
int device_major(const char *driver);

/* From now on processes in the cgroup, whose directory is open as `cgroup`, can open no other
 * device. -1 with ERR_SYSTEM: no filter is active then. */
int devfilter_attach(int cgroup, const struct device *granted, size_t n, struct error *err);

#endif
