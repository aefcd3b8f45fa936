/* fuzz_gpus.c - what a look at the GPUs has left in shared memory, from any bytes
 *
 * The process that looked may have crashed in the driver's library with anything half written. The
 * bytes are laid over and over the whole of it. Once settled every text ends, every number is
 * within its bounds, what may be given to a run has a type and a UUID of its own, and it can be
 * told.
 */
#include <string.h>

#include "noded/gpu/gpus.h"
#include "testsuite/fuzz/fuzz.h"

#define ENDS(text) FUZZ_CHECK(memchr(text, '\0', sizeof(text)))

static void check_gpu(const struct gpus *g, const struct gpu *gpu)
{
	ENDS(gpu->type);
	ENDS(gpu->name);
	ENDS(gpu->uuid);
	ENDS(gpu->pci);
	ENDS(gpu->cpus);
	ENDS(gpu->trouble);
	FUZZ_CHECK(gpu->n_caps <= 2 && gpu->n_links <= GPUS_LINKS && gpu->host < GPUS_MAX);
	for (uint32_t i = 0; i < gpu->n_links; i++)
		ENDS(gpu->links[i]);
	for (int i = 0; i < NEAR_GROUPS; i++) /* a group is called by the lowest in it */
		FUZZ_CHECK(gpu->place.groups[i] <= gpu->host);
	for (uint32_t i = 0; i < g->n; i++)
		FUZZ_CHECK(near_level(gpus_near(gpu, &g->v[i])) ==
		           near_level(gpus_near(&g->v[i], gpu)));
	if (!gpu_is_slot(gpu))
		return;
	FUZZ_CHECK(*gpu->type && *gpu->uuid);
	FUZZ_CHECK(gpus_find(g, gpu->uuid) == gpu);
}

static void check(const struct gpus *g)
{
	Gpusched__GpuDevice **told;
	size_t n;

	ENDS(g->trouble);
	ENDS(g->driver);
	FUZZ_CHECK(g->n <= GPUS_MAX && g->state <= GPUS_TROUBLE);
	for (uint32_t i = 0; i < g->n; i++)
		check_gpu(g, &g->v[i]);
	FUZZ_CHECK(gpus_equal(g, g));
	told = gpus_messages(g, &n);
	FUZZ_CHECK(n <= g->n);
	gpus_messages_free(told, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct gpus g;
	uint8_t *to = (uint8_t *)&g;
	uint32_t count;

	memset(&g, 0, sizeof(g));
	for (size_t at = 0; n && at < sizeof(g); at += n)
		memcpy(to + at, data, sizeof(g) - at < n ? sizeof(g) - at : n);
	/* A few entries are as good as many, and a hundred times as fast; once there are too many.
	 */
	count = g.n;
	if (n != 1)
		g.n = count % 6;
	gpus_settle(&g);
	check(&g);
	return 0;
}
