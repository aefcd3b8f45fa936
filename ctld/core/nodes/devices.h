/* devices.h - which GPU each index of a node is
 *
 * The configuration gives a node indices by type ("h100:8": 0 to 7), and the core books everything
 * by index. If an agent reports what it has found, each index is bound to a GPU by its UUID, and
 * stays bound, also over restarts (node_info.gpus). So a GPU that vanishes does not change the
 * numbers of its neighbours under running jobs:
 *
 *	1. an index keeps its GPU as long as that is found and of the index's type;
 *	2. GPUs that are bound to no index go to indices of their type that have no GPU, the
 *	   lowest first, then to indices whose GPU is missing, unless a run is booked there. So a
 *	   replacement card gets the index of the old one.
 *	   An index for an instance that `mig` demands of a GPU is bound to one on that GPU
 *	   (mig_layout.h), and all others to what is not on such a GPU;
 *	3. an index without a usable GPU is *out*: nothing starts there, and what runs continues.
 *	   The other GPUs of the node can be given to jobs. The same holds for all indices on a GPU
 *	   whose MIG layout is not the demanded one, and for a GPU that is farther from others than
 *	   demanded (gpu_link_faults.h).
 *
 * While a run is booked on an index, its GPU is given to no other index, whatever type the
 * configuration now has for that GPU. An agent that has found nothing, because no driver is there,
 * leaves GPUs as configured, unless indices are bound: then they are missing.
 */
#ifndef CTLD_CORE_DEVICES_H
#define CTLD_CORE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct node;

/* Bind the indices after a registration or another configuration. Sets gpus_out and gpu_note, and
 * the memory of each GPU in the ledger. */
void devices_bind(struct core *core, struct node *node);

/* Is the index out because the MIG layout of its GPU, or its closeness to another GPU, is not as
 * demanded? `text` ("" if not) names the GPU and the difference. */
bool devices_differ(
        const struct core *core, const struct node *node, uint32_t index, char *text, size_t size);

#endif
