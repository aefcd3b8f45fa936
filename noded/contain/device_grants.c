/* device_grants.c - see device_grants.h */
#include "noded/contain/device_grants.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/xalloc.h"

#define NVIDIA       "/dev/nvidia"
#define NVIDIA_MAJOR 195 /* the driver's own, registered with the kernel */
#define DRM_MAJOR    226 /* /dev/dri: of every maker */

static const char *const nvidia_shared[] = {
	"/dev/nvidiactl",
	"/dev/nvidia-uvm",
	"/dev/nvidia-uvm-tools",
	"/dev/nvidia-modeset",
};

struct device_grants {
	char **gpus; /* paths, by index; one block */
	size_t n_gpus;
	bool gpus_told;
	char **all, **told;
	size_t n_all, n_told;
};

static void list_free(char **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
}

struct device_grants *device_grants_new(const struct device_grants_wish *wish, struct error *err)
{
	struct device_grants *g = xcalloc(1, sizeof(*g));

	if (wish->gpus && *wish->gpus &&
	        hostlist_expand_paths(
	                wish->gpus, DEVICE_GRANTS_GPUS_MAX, &g->gpus, &g->n_gpus, err) < 0) {
		device_grants_free(g);
		return NULL;
	}
	g->gpus_told = wish->gpus_told;
	g->all = xcalloc(wish->n_all + 1, sizeof(*g->all));
	for (g->n_all = 0; g->n_all < wish->n_all; g->n_all++)
		g->all[g->n_all] = xstrdup(wish->all[g->n_all]);
	g->told = xcalloc(wish->n_told + 1, sizeof(*g->told));
	for (g->n_told = 0; g->n_told < wish->n_told; g->n_told++)
		g->told[g->n_told] = xstrdup(wish->told[g->n_told]);
	return g;
}

void device_grants_free(struct device_grants *g)
{
	if (!g)
		return;
	free(g->gpus);
	list_free(g->all, g->n_all);
	list_free(g->told, g->n_told);
	free(g);
}

const char *device_grants_file(const struct device_grants *g, size_t index)
{
	return index < g->n_gpus ? g->gpus[index] : NULL;
}

bool device_grants_know_gpus(const struct device_grants *g)
{
	return g->n_gpus > 0;
}

bool device_grants_told_gpus(const struct device_grants *g)
{
	return g->n_gpus > 0 && g->gpus_told;
}

static bool same_device(const struct device *a, const struct device *b)
{
	return a->type == b->type && a->major == b->major && a->minor == b->minor;
}

/* Is it the file of one of our GPUs, other than `but` (n_gpus: no exception)? */
static bool is_ours(const struct device_grants *g, const struct device *d, size_t but)
{
	struct device other;

	for (size_t i = 0; i < g->n_gpus; i++) {
		if (i != but && device_at(g->gpus[i], &other, NULL) == 0 && same_device(d, &other))
			return true;
	}
	return false;
}

static bool is_gpu(const struct device_grants *g, const struct device *d)
{
	return d->major == NVIDIA_MAJOR || d->major == DRM_MAJOR ||
	       (int64_t)d->major == device_major("nvidia-caps") || is_ours(g, d, g->n_gpus);
}

/* What the controller grants to all runs must be no disk and no GPU. */
static void grant_told(const struct device_grants *g, const char *path,
        struct device out[DEVFILTER_MAX], size_t *n)
{
	struct device d;

	if (*n < DEVFILTER_MAX && device_at(path, &d, NULL) == 0 && d.type == 'c' && !is_gpu(g, &d))
		out[(*n)++] = d;
}

static void grant_if_there(const char *path, struct device *out, size_t *n)
{
	if (*n < DEVFILTER_MAX && device_at(path, &out[*n], NULL) == 0)
		(*n)++;
}

static int add_device(
        struct device out[DEVFILTER_MAX], size_t *n, struct device d, struct error *err)
{
	if (*n == DEVFILTER_MAX)
		return error_set(
		        err, ERR_LAUNCH, "more than %d device files of GPUs", DEVFILTER_MAX);
	out[(*n)++] = d;
	return 0;
}

static void add_shared(
        const struct device_grants *g, bool nvidia, struct device out[DEVFILTER_MAX], size_t *n)
{
	for (size_t i = 0; nvidia && i < sizeof(nvidia_shared) / sizeof(*nvidia_shared); i++)
		grant_if_there(nvidia_shared[i], out, n);
	for (size_t i = 0; i < g->n_all; i++)
		grant_if_there(g->all[i], out, n);
	for (size_t i = 0; i < g->n_told; i++)
		grant_told(g, g->told[i], out, n);
}

int device_grants_of(const struct device_grants *g, const uint32_t *gpus, size_t n_gpus,
        struct device out[DEVFILTER_MAX], size_t *n, struct error *err)
{
	bool nvidia = false;
	struct device d;
	struct error why;

	*n = 0;
	for (size_t i = 0; i < n_gpus; i++) {
		const char *path = gpus[i] < g->n_gpus ? g->gpus[gpus[i]] : NULL;

		if (!path || device_at(path, &d, &why) < 0)
			return error_set(err, ERR_LAUNCH, "GPU %u: %s", gpus[i],
			        path ? why.text : "its device file is not known");
		if (g->gpus_told && (d.type != 'c' || is_ours(g, &d, gpus[i])))
			return error_set(err, ERR_LAUNCH,
			        "GPU %u: the controller names %s, which cannot be", gpus[i], path);
		if (add_device(out, n, d, err) < 0)
			return -1;
		nvidia |= strncmp(path, NVIDIA, strlen(NVIDIA)) == 0;
	}
	add_shared(g, nvidia, out, n);
	return 0;
}

int device_grants_of_nvidia(const struct device_grants *g, const struct device_grants_nvidia *found,
        struct device out[DEVFILTER_MAX], size_t *n, struct error *err)
{
	int caps = found->n_caps || found->closed ? device_major("nvidia-caps") : -1;

	*n = 0;
	if (caps >= 0 && found->closed)
		return error_set(err, ERR_LAUNCH,
		        "MIG instance %s: what opens it is not known (capabilities in "
		        "/proc/driver/nvidia)",
		        found->closed);
	if (caps < 0 && found->n_caps)
		return error_set(err, ERR_LAUNCH,
		        "MIG instances: nvidia-caps, which opens them, is not in /proc/devices");
	for (size_t i = 0; i < found->n_minors; i++)
		if (add_device(out, n, (struct device){ 'c', NVIDIA_MAJOR, found->minors[i] },
		            err) < 0)
			return -1;
	for (size_t i = 0; caps >= 0 && i < found->n_caps; i++)
		if (add_device(out, n, (struct device){ 'c', (uint32_t)caps, found->caps[i] },
		            err) < 0)
			return -1;
	add_shared(g, found->n_minors > 0, out, n);
	return 0;
}
