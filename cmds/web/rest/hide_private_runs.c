/* hide_private_runs.c - see hide_private_runs.h; compare ctld/rpc/nodes/list_nodes.c */
#include "cmds/web/rest/hide_private_runs.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

static bool sees(const struct viewer *v, const struct snapshot *snap, const Gpusched__RunId *run)
{
	const struct snapshot_job *job;

	if (viewer_sees_all(v))
		return true;
	job = snapshot_job(snap, run->job);
	return job && viewer_sees(v, job->request->uid, job->request->account);
}

/* A list of its own, of the runs that are seen. Returns how many are not. */
static uint32_t narrow_runs(
        const struct viewer *v, const struct snapshot *snap, Gpusched__RunId ***runs, size_t *n)
{
	Gpusched__RunId **kept = xcalloc(*n + 1, sizeof(*kept));
	size_t all = *n, k = 0;

	for (size_t i = 0; i < all; i++)
		if (sees(v, snap, (*runs)[i]))
			kept[k++] = (*runs)[i];
	*runs = kept;
	*n = k;
	return (uint32_t)(all - k);
}

static Gpusched__NodeGpu *narrow_gpu(
        const Gpusched__NodeGpu *gpu, const struct viewer *v, const struct snapshot *snap)
{
	Gpusched__NodeGpu *m = xmemdup(gpu, sizeof(*gpu));
	size_t k = 0;

	m->others_runs = narrow_runs(v, snap, &m->runs, &m->n_runs);
	m->parts = xcalloc(gpu->n_parts + 1, sizeof(Gpusched__GpuPart *));
	for (size_t i = 0; i < gpu->n_parts; i++)
		if (sees(v, snap, gpu->parts[i]->run))
			m->parts[k++] = gpu->parts[i];
	m->n_parts = k;
	return m;
}

Gpusched__Node *hide_private_runs(
        const Gpusched__Node *node, const struct viewer *v, const struct snapshot *snap)
{
	Gpusched__Node *m = xmemdup(node, sizeof(*node));

	m->others_runs = narrow_runs(v, snap, &m->runs, &m->n_runs);
	m->devices = xcalloc(node->n_devices + 1, sizeof(Gpusched__NodeGpu *));
	for (size_t i = 0; i < node->n_devices; i++)
		m->devices[i] = narrow_gpu(node->devices[i], v, snap);
	return m;
}

void hide_private_runs_free(Gpusched__Node *m)
{
	for (size_t i = 0; i < m->n_devices; i++) {
		free(m->devices[i]->runs);
		free(m->devices[i]->parts);
		free(m->devices[i]);
	}
	free(m->devices);
	free(m->runs);
	free(m);
}
