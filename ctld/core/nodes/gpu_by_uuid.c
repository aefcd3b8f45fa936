/* gpu_by_uuid.c - see gpu_by_uuid.h */
#include "ctld/core/nodes/gpu_by_uuid.h"

#include <stdlib.h>
#include <string.h>

#include "ctld/core/nodes/devices_list.h"
#include "ctld/core/records/node.h"
#include "ctld/core/rows/state.h"

/* How many indices the node has. */
static uint32_t indices(const struct core *core, const struct node *node)
{
	const struct conf_node *conf = &core->conf->nodes[node_link_of(node)->index];
	uint32_t n = 0;

	for (size_t i = 0; i < conf->n_gpus; i++)
		n += conf->gpus[i].count;
	return n < CONF_MAX_GPUS_PER_NODE ? n : CONF_MAX_GPUS_PER_NODE;
}

/* `n` GPUs are there, `alike` of them begin so. */
static int gpu_unknown(
        const char *node, uint32_t n, const char *text, uint32_t alike, struct error *err)
{
	error_set(err, ERR_NO_NODE, "node %s: %s '%.100s'", node,
	        alike ? "several GPUs are" : "no GPU is", text);
	if (!n)
		return error_hint(err, "it has no GPUs that are known");
	return error_hint(err, "it has %u, %s%u; or the beginning of one's UUID: ginfo --gpus %s",
	        n, n > 1 ? "0 to " : "", n - 1, node);
}

int gpu_index(const struct core *core, const struct node *node, const char *text, uint32_t *index,
        struct error *err)
{
	uint32_t n = indices(core, node), i, alike = 0;
	size_t len = strlen(text);
	char *end;

	*index = (uint32_t)strtoul(text, &end, 10);
	if (len && len < 4 && !*end && *text >= '0' && *text <= '9' && *index < n)
		return 0;
	for (i = 0; i < n && len; i++) {
		char uuid[DEVICE_UUID_MAX];

		device_uuid(node_info(node)->gpus, i, uuid);
		if (strncmp(uuid, text, len))
			continue;
		*index = i;
		if (!uuid[len])
			return 0;
		alike++;
	}
	if (alike == 1)
		return 0;
	return gpu_unknown(node_info(node)->name, n, text, alike, err);
}
