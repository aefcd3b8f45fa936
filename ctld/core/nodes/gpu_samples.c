/* gpu_samples.c - see gpu_samples.h */
#include "ctld/core/nodes/gpu_samples.h"

#include <string.h>

#include "common/base/xalloc.h"
#include "common/conf/conf.h"
#include "ctld/core/nodes/devices_list.h"
#include "ctld/core/records/node.h"
#include "ctld/core/rows/event.h"

/* CONF_MAX_GPUS_PER_NODE: none. */
static uint32_t index_of(const char *uuids, const struct gpu_sample *s)
{
	if (*s->uuid)
		return device_index(uuids, s->uuid);
	/* Its agent was told which GPUs there are, and found none. */
	return *uuids ? CONF_MAX_GPUS_PER_NODE : s->index;
}

static struct node_sample *at(struct node_link *l, uint32_t index)
{
	if (index >= l->n_samples) {
		l->samples = xrealloc(l->samples, index + 1, sizeof(*l->samples));
		memset(l->samples + l->n_samples, 0,
		        (index + 1 - l->n_samples) * sizeof(*l->samples));
		l->n_samples = index + 1;
	}
	return &l->samples[index];
}

void gpu_samples_apply(
        struct node *node, const struct gpu_sample *samples, size_t n, struct clocks now)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t index = index_of(node_info(node)->gpus, &samples[i]);
		struct node_sample *s;

		if (index >= CONF_MAX_GPUS_PER_NODE)
			continue;
		s = at(node_link(node), index);
		s->known = true;
		s->mono = now.mono;
		s->sample = samples[i];
		s->sample.uuid = ""; /* it is the event's */
	}
}

const struct gpu_sample *gpu_samples_at(const struct node_link *l, uint32_t index, usec_t *mono)
{
	const struct node_sample *s = index < l->n_samples ? &l->samples[index] : NULL;

	if (!s || !s->known)
		return NULL;
	*mono = s->mono;
	return &s->sample;
}
