/* gpu_link_faults.c - see gpu_link_faults.h */
#include "ctld/core/nodes/gpu_link_faults.h"

#include <stdio.h>
#include <string.h>

/* Each round marks the GPUs that are in the most pairs, with the other GPU of their first pair. */
void gpu_link_faults(const struct nearness_pairs *pairs, const struct nearness_gpu *gpus, size_t n,
        struct gpu_link_fault *faults)
{
	uint32_t count[CONF_MAX_GPUS_PER_NODE], most;

	for (;;) {
		memset(count, 0, sizeof(count));
		most = 0;
		for (size_t i = 0; i < pairs->n; i++) {
			const struct nearness_pair *p = &pairs->v[i];

			if (faults[p->a].is || faults[p->b].is)
				continue;
			most = ++count[p->a] > most ? count[p->a] : most;
			most = ++count[p->b] > most ? count[p->b] : most;
		}
		if (!most)
			return;
		for (size_t i = 0; i < n; i++)
			faults[i].is |= count[i] == most;
		for (size_t i = pairs->n; i--;) {
			const struct nearness_pair *p = &pairs->v[i];

			if (count[p->a] == most)
				faults[p->a] = (struct gpu_link_fault){ true,
					gpus[p->b].number, p->wanted, p->found };
			if (count[p->b] == most)
				faults[p->b] = (struct gpu_link_fault){ true,
					gpus[p->a].number, p->wanted, p->found };
		}
	}
}

const char *gpu_link_fault_words(const struct gpu_link_fault *fault, char text[GPU_LINK_FAULT_WORDS])
{
	char wanted[NEAR_WORD], found[NEAR_WORD];
	bool links = near_nvlinks(fault->found) < near_nvlinks(fault->wanted);

	/* What it has less of: with as many NVLinks it is what PCIe has. */
	near_word(links ? fault->wanted : near_of(0, near_level(fault->wanted)), wanted);
	near_word(links ? fault->found : near_of(0, near_level(fault->found)), found);
	snprintf(text, GPU_LINK_FAULT_WORDS, "%s to GPU %u wanted, %s found", wanted,
	        (unsigned)fault->number, found);
	return text;
}
