/* pcie.h - what the PCI bus has between two devices, as sysfs shows it
 *
 * /sys/bus/pci/devices/ADDRESS leads to where the device hangs: its host bridge, each port of each
 * switch on the way, itself. Two devices are as close as the part of that way that they share.
 * What drivers say of their GPUs goes before this; it is for those that say nothing, and for
 * devices of any maker.
 */
#ifndef NODED_GPU_PCIE_H
#define NODED_GPU_PCIE_H

#include <stdint.h>

#include "common/near.h"

#define PCIE_WAY 256 /* a dozen bridges */

/* From its host bridge on: "pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:00.0/0000:1a:00.0"; "" if
 * it is not known. `root` is put before /sys. */
void pcie_way(const char *root, const char *address, char way[PCIE_WAY]);

/* By their ways and NUMA nodes (-1: none). A kernel without NUMA says -1 of all. */
enum near_level pcie_between(const char *a, int32_t numa_a, const char *b, int32_t numa_b);

#endif
