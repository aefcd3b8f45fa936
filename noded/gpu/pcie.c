/* pcie.c - see pcie.h */
#include "noded/gpu/pcie.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pcie_way(const char *root, const char *address, char way[PCIE_WAY])
{
	char path[512], *real, *at;

	way[0] = '\0';
	if (!*address || strchr(address, '/'))
		return;
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s", root, address);
	real = realpath(path, NULL);
	at = real;
	while (at && (at = strstr(at, "/pci")) && !isxdigit((unsigned char)at[4]))
		at++;
	if (at && strlen(at + 1) < PCIE_WAY)
		snprintf(way, PCIE_WAY, "%s", at + 1);
	free(real);
}

/* The number of devices on the rest of a path. */
static unsigned parts(const char *way)
{
	unsigned n = *way != '\0';

	for (; *way; way++)
		n += *way == '/';
	return n;
}

static bool at_end(const char *way)
{
	return !*way || *way == '/';
}

enum near_level pcie_between(const char *a, int32_t numa_a, const char *b, int32_t numa_b)
{
	const char *left_a = a, *left_b = b; /* behind the common part */
	unsigned shared = 0;
	size_t i;

	for (i = 0; *a && *b; i++) {
		if (at_end(a + i) && at_end(b + i)) {
			shared++;
			left_a = a[i] ? a + i + 1 : a + i;
			left_b = b[i] ? b + i + 1 : b + i;
		}
		if (a[i] != b[i] || !a[i])
			break;
	}
	/* A host bridge, then one or more bridges; from the last of them a port and the device. */
	if (shared >= 2)
		return parts(left_a) <= 2 && parts(left_b) <= 2 ? NEAR_PIX : NEAR_PXB;
	if (shared)
		return NEAR_PHB;
	if ((!*a || !*b) && (numa_a < 0 || numa_b < 0))
		return NEAR_UNKNOWN;
	return numa_a == numa_b ? NEAR_NODE : NEAR_SYS;
}
