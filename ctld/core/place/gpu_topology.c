/* gpu_topology.c - see gpu_topology.h
 *
 * Closeness is asked for by index; the configuration and nvidia-smi write it by the host's numbers.
 * nearness_written() gives the number of each index, nearness_new() takes the reported closeness of
 * each pair, else the configured one, and notes the pairs that are farther apart than configured.
 * find_lacks() then removes the GPU that is in the most such pairs, again and again until no pair
 * is left: it is the most likely one to be at fault.
 */
#include "ctld/core/place/gpu_topology.h"

#include <stdio.h>
#include <string.h>

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

/* Two GPUs that are farther from each other than demanded. */
struct pair {
	uint32_t a, b;
	near_t wanted, found;
};

struct pairs {
	struct pair v[CONF_MAX_GPUS_PER_NODE * (CONF_MAX_GPUS_PER_NODE - 1) / 2];
	size_t n;
};

/* The reported closeness; what was not reported is taken from the configuration. */
static near_t near_of_both(near_t told, near_t written)
{
	if (!told)
		return written;
	return near_level(told) == NEAR_UNKNOWN
	               ? near_of(near_nvlinks(told), near_level(written))
	               : told;
}

/* Each round marks the GPUs that are in the most pairs, with the other GPU of their first pair. */
static void find_lacks(const struct pairs *pairs, const struct nearness_gpu *gpus, size_t n,
        struct nearness_lack *lacks)
{
	uint32_t count[CONF_MAX_GPUS_PER_NODE], most;

	for (;;) {
		memset(count, 0, sizeof(count));
		most = 0;
		for (size_t i = 0; i < pairs->n; i++) {
			const struct pair *p = &pairs->v[i];

			if (lacks[p->a].is || lacks[p->b].is)
				continue;
			most = ++count[p->a] > most ? count[p->a] : most;
			most = ++count[p->b] > most ? count[p->b] : most;
		}
		if (!most)
			return;
		for (size_t i = 0; i < n; i++)
			lacks[i].is |= count[i] == most;
		for (size_t i = pairs->n; i--;) {
			const struct pair *p = &pairs->v[i];

			if (count[p->a] == most)
				lacks[p->a] = (struct nearness_lack){ true,
					gpus[p->b].number, p->wanted, p->found };
			if (count[p->b] == most)
				lacks[p->b] = (struct nearness_lack){ true,
					gpus[p->a].number, p->wanted, p->found };
		}
	}
}

struct closeness *nearness_new(const struct conf_node *node, const struct nearness_gpu *gpus,
        size_t n, struct nearness_lack *lacks)
{
	struct near_place written[NEAR_HOSTS], told[CONF_MAX_GPUS_PER_NODE];
	struct closeness *c = NULL;
	struct pairs pairs = { .n = 0 };
	bool known = node->gpu_near.n > 0;

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
			if (near_is_less(found, wanted))
				pairs.v[pairs.n++] = (struct pair){ a, b, wanted, found };
		}
	}
	if (lacks && pairs.n)
		find_lacks(&pairs, gpus, n, lacks);
	return c;
}

const char *nearness_words(const struct nearness_lack *lack, char text[NEARNESS_WORDS])
{
	char wanted[NEAR_WORD], found[NEAR_WORD];
	bool links = near_nvlinks(lack->found) < near_nvlinks(lack->wanted);

	/* What it has less of: with as many NVLinks it is what PCIe has. */
	near_word(links ? lack->wanted : near_of(0, near_level(lack->wanted)), wanted);
	near_word(links ? lack->found : near_of(0, near_level(lack->found)), found);
	snprintf(text, NEARNESS_WORDS, "%s to GPU %u wanted, %s found", wanted,
	        (unsigned)lack->number, found);
	return text;
}
