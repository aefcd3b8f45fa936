/* gpus.c - see gpus.h */
#include "noded/gpu/gpus.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

bool gpu_is_slot(const struct gpu *gpu)
{
	return gpu->kind != GPU_MIG_PARENT && !*gpu->trouble;
}

const struct gpu *gpus_find(const struct gpus *g, const char *uuid)
{
	for (uint32_t i = 0; i < g->n; i++) {
		if (gpu_is_slot(&g->v[i]) && strcmp(g->v[i].uuid, uuid) == 0)
			return &g->v[i];
	}
	return NULL;
}

bool gpus_equal(const struct gpus *a, const struct gpus *b)
{
	if (a->state != b->state || a->n != b->n || strcmp(a->trouble, b->trouble) != 0 ||
	        strcmp(a->driver, b->driver) != 0)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		if (memcmp(&a->v[i], &b->v[i], offsetof(struct gpu, health)) != 0)
			return false;
	}
	return true;
}

/* --- validating ------------------------------------------------------------------------------ */

/* A text of a process that may have crashed while writing: it is terminated, made printable, and
 * cleared behind its end. */
static void clean(char *text, size_t size)
{
	size_t n;

	text[size - 1] = '\0';
	n = strlen(text);
	memset(text + n, 0, size - n);
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~')
			text[i] = '?';
	}
}

#define CLEAN(text) clean(text, sizeof(text))

static void clean_gpu(struct gpu *gpu)
{
	CLEAN(gpu->type);
	CLEAN(gpu->name);
	CLEAN(gpu->uuid);
	CLEAN(gpu->pci);
	CLEAN(gpu->cpus);
	CLEAN(gpu->trouble);
	if ((unsigned)gpu->kind > GPU_MIG)
		gpu->kind = GPU_WHOLE;
	if (gpu_is_slot(gpu) && (!*gpu->uuid || !*gpu->type))
		snprintf(gpu->trouble, sizeof(gpu->trouble), "it has no %s",
		        *gpu->uuid ? "type" : "UUID");
	if (gpu->n_caps > 2)
		gpu->n_caps = 2;
	if (gpu->n_links > GPUS_LINKS)
		gpu->n_links = GPUS_LINKS;
	for (uint32_t i = 0; i < gpu->n_links; i++)
		CLEAN(gpu->links[i]);
}

static void add_trouble(struct gpu *gpu, const char *what, const struct gpu *other)
{
	if (!*gpu->trouble)
		snprintf(gpu->trouble, sizeof(gpu->trouble), "it has the same %s as NVML's GPU %u",
		        what, other->nvml);
}

static bool same(const char *a, const char *b)
{
	return *a && strcmp(a, b) == 0;
}

/* If two entries claim the same identity, neither can be trusted. */
static void find_doubles(struct gpus *g)
{
	for (uint32_t i = 0; i < g->n; i++) {
		for (uint32_t k = 0; k < i; k++) {
			struct gpu *a = &g->v[i], *b = &g->v[k];
			bool gpus = a->kind != GPU_MIG && b->kind != GPU_MIG;
			const char *what =
			        same(a->uuid, b->uuid)         ? "UUID"
			        : gpus && same(a->pci, b->pci) ? "PCI address"
			        : gpus && !*a->trouble && !*b->trouble && a->minor == b->minor
			                ? "device minor"
			                : NULL;

			if (what) {
				add_trouble(a, what, b);
				add_trouble(b, what, a);
			}
		}
	}
}

/* A fault of a GPU is a fault of all its MIG instances. */
static void spread_trouble(struct gpus *g)
{
	for (uint32_t i = 0; i < g->n; i++) {
		for (uint32_t k = 0; k < g->n; k++) {
			struct gpu *gpu = &g->v[i], *on = &g->v[k];

			if (gpu->kind == GPU_MIG && on->kind == GPU_MIG_PARENT &&
			        gpu->host == on->host && !*gpu->trouble)
				memcpy(gpu->trouble, on->trouble, sizeof(gpu->trouble));
		}
	}
}

/* Slots beyond a node's maximum are not dropped but reported: the last ones get `trouble`. */
static void bound_slots(struct gpus *g)
{
	uint32_t slots = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		struct gpu *gpu = &g->v[i];

		if (gpu_is_slot(gpu) && slots++ >= GPUS_SLOTS_MAX)
			snprintf(gpu->trouble, sizeof(gpu->trouble),
			        "left out: a node has at most %d GPUs and MIG instances",
			        GPUS_SLOTS_MAX);
	}
}

static int by_pci(const void *x, const void *y)
{
	const struct gpu *a = x, *b = y;
	int order = strcmp(a->pci, b->pci);

	if (order == 0)
		order = (a->nvml > b->nvml) - (a->nvml < b->nvml);
	if (order == 0)
		order = (a->kind == GPU_MIG) - (b->kind == GPU_MIG);
	if (order == 0)
		order = (a->instance > b->instance) - (a->instance < b->instance);
	return order ? order : (a->compute > b->compute) - (a->compute < b->compute);
}

/* Number the GPUs by address, if all have one; NVML's own order is usually the same, but NVML does
 * not guarantee it. */
static void number(struct gpus *g)
{
	bool all = true;
	uint32_t host = 0;

	for (uint32_t i = 0; i < g->n; i++)
		all = all && *g->v[i].pci;
	if (all)
		qsort(g->v, g->n, sizeof(*g->v), by_pci);
	for (uint32_t i = 0; i < g->n; i++) {
		if (i && g->v[i].nvml != g->v[i - 1].nvml)
			host++;
		g->v[i].host = host;
	}
}

static uint32_t links_with(const struct gpu *gpu, const char *to)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < gpu->n_links; i++)
		n += strcmp(gpu->links[i], to) == 0;
	return n;
}

/* The number of NVLinks from one to the other: direct ones, or the smaller of both numbers of links
 * to switches. */
static uint32_t links_between(const struct gpu *a, const struct gpu *b)
{
	uint32_t out = links_with(a, GPUS_LINK_SWITCH), in = links_with(b, GPUS_LINK_SWITCH);

	return (*b->pci ? links_with(a, b->pci) : 0) + (out < in ? out : in);
}

static void find_peers(struct gpus *g)
{
	for (uint32_t i = 0; i < g->n; i++) {
		struct gpu *gpu = &g->v[i];

		gpu->peers = 0;
		memset(&gpu->place, 0, sizeof(gpu->place));
		for (uint32_t k = 0; k < g->n; k++) {
			const struct gpu *to = &g->v[k];
			uint32_t n = to->host != gpu->host && to->host < GPUS_HOST_MAX &&
			                             to->kind != GPU_MIG
			                     ? links_between(gpu, to)
			                     : 0;

			if (!n)
				continue;
			gpu->peers |= 1ULL << to->host;
			gpu->place.links[to->host] = (uint8_t)n;
		}
	}
}

/* --- how close they are ---------------------------------------------------------------------- */

/* The connection found between two physical GPUs. */
static enum near_level between(const struct gpus *g, const struct gpu *a, const struct gpu *b)
{
	uint32_t x = a->nvml < b->nvml ? a->nvml : b->nvml;
	uint32_t y = a->nvml < b->nvml ? b->nvml : a->nvml;
	uint8_t level = y < GPUS_HOST_MAX ? g->between[x][y] : NEAR_UNKNOWN;

	return level < NEAR_LEVEL_COUNT ? (enum near_level)level : NEAR_UNKNOWN;
}

/* A GPU that is as close as `level` or closer to one of a group belongs to it. So incomplete data
 * makes groups too, each of them within one group of the previous level. */
static void find_groups(const struct gpus *g, enum near_level level, uint8_t of[GPUS_HOST_MAX])
{
	bool again = true;

	for (uint32_t h = 0; h < GPUS_HOST_MAX; h++)
		of[h] = (uint8_t)h;
	while (again) {
		again = false;
		for (uint32_t i = 0; i < g->n; i++) {
			for (uint32_t k = 0; k < g->n; k++) {
				const struct gpu *a = &g->v[i], *b = &g->v[k];

				if (a->host >= GPUS_HOST_MAX || b->host >= GPUS_HOST_MAX ||
				        of[a->host] >= of[b->host] || between(g, a, b) < level)
					continue;
				of[b->host] = of[a->host];
				again = true;
			}
		}
	}
}

static bool is_known(const struct gpus *g, const struct gpu *gpu)
{
	bool known = false;

	for (uint32_t k = 0; k < g->n && gpu->host < GPUS_HOST_MAX; k++)
		known |= g->v[k].host != gpu->host && between(g, gpu, &g->v[k]) != NEAR_UNKNOWN;
	return known;
}

static void find_near(struct gpus *g)
{
	uint8_t of[NEAR_GROUPS][GPUS_HOST_MAX];

	for (int level = 0; level < NEAR_GROUPS; level++)
		find_groups(g, (enum near_level)(NEAR_NODE + level), of[level]);
	for (uint32_t i = 0; i < g->n; i++) {
		struct gpu *gpu = &g->v[i];

		gpu->place.grouped = is_known(g, gpu);
		for (int level = 0; gpu->place.grouped && level < NEAR_GROUPS; level++)
			gpu->place.groups[level] = of[level][gpu->host];
	}
}

near_t gpus_near(const struct gpu *a, const struct gpu *b)
{
	return near_between(&a->place, &b->place, b->host);
}

void gpus_settle(struct gpus *g)
{
	if (g->n > GPUS_MAX)
		g->n = GPUS_MAX;
	CLEAN(g->trouble);
	CLEAN(g->driver);
	if ((unsigned)g->state > GPUS_TROUBLE) {
		g->state = GPUS_TROUBLE;
		snprintf(g->trouble, sizeof(g->trouble), "what was found is not to be read");
	}
	for (uint32_t i = 0; i < g->n; i++)
		clean_gpu(&g->v[i]);
	number(g);
	find_doubles(g);
	spread_trouble(g);
	bound_slots(g);
	find_peers(g);
	find_near(g);
}

/* --- messages -------------------------------------------------------------------------------- */

static const char *const ecc_words[] = { "none", "off", "on" };

static void fill_device(Gpusched__GpuDevice *d, const struct gpu *gpu)
{
	gpusched__gpu_device__init(d);
	d->type = (char *)gpu->type;
	d->uuid = (char *)gpu->uuid;
	d->mem_mb = gpu->mem_mb;
	d->name = (char *)gpu->name;
	d->pci = (char *)gpu->pci;
	d->host = gpu->host;
	d->mig = gpu->kind == GPU_MIG;
	d->mig_mode = gpu->kind != GPU_WHOLE;
	d->minor = gpu->minor;
	d->gpu_instance = gpu->instance;
	d->compute_instance = gpu->compute;
	d->numa = gpu->numa;
	d->cpus = (char *)gpu->cpus;
	d->ecc = (char *)ecc_words[gpu->ecc <= GPU_ECC_ON ? gpu->ecc : GPU_ECC_NONE];
	d->power_w = gpu->power_w;
	d->nvlinks = gpu->n_links;
	d->trouble = (char *)gpu->trouble;
	if (gpu->n_caps) {
		d->caps = xmemdup(gpu->caps, gpu->n_caps * sizeof(*d->caps));
		d->n_caps = gpu->n_caps;
	}
	d->nvlink_peers = xcalloc(GPUS_HOST_MAX, sizeof(*d->nvlink_peers));
	d->peer_nvlinks = xcalloc(GPUS_HOST_MAX, sizeof(*d->peer_nvlinks));
	for (uint32_t i = 0; i < GPUS_HOST_MAX; i++) {
		if (!(gpu->peers >> i & 1))
			continue;
		d->nvlink_peers[d->n_nvlink_peers++] = i;
		d->peer_nvlinks[d->n_peer_nvlinks++] = gpu->place.links[i];
	}
	if (!gpu->place.grouped)
		return;
	d->pcie_groups = xcalloc(NEAR_GROUPS, sizeof(*d->pcie_groups));
	for (; d->n_pcie_groups < NEAR_GROUPS; d->n_pcie_groups++)
		d->pcie_groups[d->n_pcie_groups] = gpu->place.groups[d->n_pcie_groups];
}

Gpusched__GpuDevice **gpus_messages(const struct gpus *g, size_t *n)
{
	Gpusched__GpuDevice **v = xcalloc(g->n + 1, sizeof(*v));
	uint32_t slot = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		v[i] = xcalloc(1, sizeof(*v[i]));
		fill_device(v[i], &g->v[i]);
		if (g->v[i].kind != GPU_MIG_PARENT)
			v[i]->index = slot++;
	}
	*n = g->n;
	return v;
}

void gpus_messages_free(Gpusched__GpuDevice **v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(v[i]->caps);
		free(v[i]->nvlink_peers);
		free(v[i]->peer_nvlinks);
		free(v[i]->pcie_groups);
		free(v[i]);
	}
	free(v);
}
