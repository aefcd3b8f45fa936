/* pcie.h - how two devices are connected by the PCI bus, from sysfs
 *
 * /sys/bus/pci/devices/ADDRESS is a link whose target is the device's path: its host bridge, each
 * port of each switch on the way, the device. Two devices are as close as the common part of their
 * paths is long. What drivers report of their GPUs takes precedence; this is for drivers that
 * report nothing, and for devices of any maker.
 */
#ifndef NODED_GPU_PCIE_H
#define NODED_GPU_PCIE_H

#include <stdint.h>

#include "common/gpu/gpu_topology.h"

#define PCIE_WAY 256 /* a dozen bridges */

/* The path from the host bridge on:
 * "pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:00.0/0000:1a:00.0"; "" if it is not known. `root`
 * is a prefix of /sys. */
void pcie_way(const char *root, const char *address, char way[PCIE_WAY]);

/* From both paths and NUMA nodes (-1: none). A kernel without NUMA reports -1 for all. */
enum near_level pcie_between(const char *a, int32_t numa_a, const char *b, int32_t numa_b);

#endif
