/* gpu_samples.c - see gpu_samples.h */
#include "config.h"

#include "noded/watch/gpu_samples.h"

#include <stdint.h>
#include <stdlib.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "noded/runs/launcher_state.h"
#include "noded/watch/gpu_faults.h"

static void fill(const struct launcher *l, const struct gpu_use *use, Gpusched__GpuSample *m)
{
	gpusched__gpu_sample__init(m);
	m->uuid = (char *)(uintptr_t)use->uuid;
	if (use->known & USE_COMPUTE) {
		m->sm_known = true;
		m->sm_pct = (use->compute * 100 + USE_FULL / 2) / USE_FULL;
	}
	if (use->known & USE_MEMORY) {
		m->fb_used_mb = use->used_mb;
		m->fb_free_mb = use->free_mb;
	}
	if (use->known & USE_ENERGY)
		m->energy_mj = use->energy_mj;
	COPY_FIELDS(m, use, temp_c, power_mw, sm_clock_mhz, mem_clock_mhz);
	m->last_xid = gpu_faults_last_xid(l, use->uuid, &m->last_xid_time);
}

Gpusched__GpuSample **gpu_samples_messages(
        const struct launcher *l, const struct gpu_uses *uses, size_t *n)
{
	size_t count = uses->n < GPUS_SLOTS_MAX ? uses->n : GPUS_SLOTS_MAX;
	Gpusched__GpuSample **list = xcalloc(count + 1, sizeof(*list));
	Gpusched__GpuSample *v = xcalloc(count + 1, sizeof(*v));

	for (size_t i = 0; i < count; i++) {
		fill(l, &uses->v[i], &v[i]);
		list[i] = &v[i];
	}
	list[count] = v; /* for gpu_samples_free() */
	*n = count;
	return list;
}

void gpu_samples_free(Gpusched__GpuSample **v)
{
	free(v[0]);
	free(v);
}
