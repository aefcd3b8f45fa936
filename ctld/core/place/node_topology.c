/* node_topology.c - see node_topology.h
 *
 * Closeness is asked for by index; the configuration and nvidia-smi write it by the host's numbers.
 * nearness_written() gives the number of each index, nearness_new() takes the reported closeness of
 * each pair, else the configured one, and notes the pairs that are farther apart than configured.
 */
#include "ctld/core/place/node_topology.h"

/* Whole GPUs get the host's numbers in order, past those that are cut into MIG instances; an
 * instance has no number. */
void nearness_written(const struct conf *conf, const struct conf_node *node,
        struct nearness_gpu gpus[CONF_MAX_GPUS_PER_NODE])
{
	uint32_t number = 0, at = 0, k;
	uint64_t cut = 0;

	for (size_t i = 0; i < CONF_MAX_GPUS_PER_NODE; i++)
		gpus[i] = (struct nearness_gpu){ NEARNESS_NOWHERE, "" };
	for (size_t i = 0; i < node->n_mig; i++)
		cut |= node->mig[i].set;
	for (size_t g = 0; g < node->n_gpus; g++) {
		bool whole = !node->gpus[g].mig && !*conf->gpu_types[node->gpus[g].type].mig_of;

		for (k = 0; k < node->gpus[g].count && at < CONF_MAX_GPUS_PER_NODE; k++, at++) {
			while (number < NEAR_HOSTS && cut >> number & 1)
				number++;
			if (whole && number < NEAR_HOSTS)
				gpus[at].number = number++;
		}
	}
}

/* The reported closeness; what was not reported is taken from the configuration. */
static near_t near_of_both(near_t told, near_t written)
{
	if (!told)
		return written;
	return near_level(told) == NEAR_UNKNOWN
	               ? near_of(near_nvlinks(told), near_level(written))
	               : told;
}

struct closeness *nearness_new(const struct conf_node *node, const struct nearness_gpu *gpus,
        size_t n, struct nearness_pairs *farther)
{
	struct near_place written[NEAR_HOSTS], told[CONF_MAX_GPUS_PER_NODE];
	struct closeness *c = NULL;
	bool known = node->gpu_near.n > 0;

	if (farther)
		farther->n = 0;
	for (uint32_t a = 0; a < n; a++)
		known |= *gpus[a].told != '\0';
	if (!known)
		return NULL;
	near_places_read(written, (const char *const *)node->gpu_near.v, node->gpu_near.n);
	for (uint32_t a = 0; a < n; a++)
		near_place_read(&told[a], gpus[a].told);
	c = closeness_new((uint32_t)n);
	for (uint32_t a = 0; a < n; a++) {
		for (uint32_t b = a + 1; b < n; b++) {
			uint32_t x = gpus[a].number, y = gpus[b].number;
			near_t found, wanted;

			if (x == NEARNESS_NOWHERE || y == NEARNESS_NOWHERE)
				continue;
			found = near_between(&told[a], &told[b], y);
			wanted = x < NEAR_HOSTS && y < NEAR_HOSTS
			                 ? near_between(&written[x], &written[y], y)
			                 : 0;
			closeness_set(c, a, b, near_of_both(found, wanted));
			if (farther && near_is_less(found, wanted))
				farther->v[farther->n++] =
				        (struct nearness_pair){ a, b, wanted, found };
		}
	}
	return c;
}
