/* mig_layout.h - which of a node's GPUs the numbers of `mig` are, and whether their MIG layout
 * matches
 *
 * The numbers are the host's, and the host numbers the GPUs that are present: a GPU that falls off
 * the bus changes the numbers of those after it. So a number of `mig` stands for the GPU with an
 * instance that is bound to one of the number's indices (devices.h). Without such an instance it
 * is the GPU with that number on the host, unless another number already stands for it. No number
 * stands for two GPUs, and no GPU has two numbers.
 *
 * A GPU with other instances than demanded, one more or less, is out as a whole: an operator is
 * changing its layout, and none of its present instances may stay.
 */
#ifndef CTLD_CORE_MIG_LAYOUT_H
#define CTLD_CORE_MIG_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf/conf.h"

#define LAYOUT_HOSTS   256 /* number of GPU numbers that agents can report */
#define LAYOUT_NOWHERE UINT32_MAX

struct node_gpu;

/* What the layout needs to know of an index of the node. */
struct layout_slot {
	const char *uuid; /* of the GPU that it is bound to; "": none */
	uint32_t mig;     /* as in struct conf_gpu_count */
};

struct layouts {
	uint32_t host[CONF_MAX_GPUS_PER_NODE]; /* by number: the host's GPU; LAYOUT_NOWHERE: none */
	uint64_t hosts[LAYOUT_HOSTS / 64];     /* the same GPUs as bits */
};

/* Finds the GPUs for which `conf` demands a layout, among the GPUs found. */
void layouts_find(struct layouts *l, const struct conf_node *conf, const struct layout_slot *slots,
        size_t n_slots, const struct node_gpu *gpus, size_t n_gpus);

/* Is a layout demanded of that GPU of the host? */
bool layouts_have(const struct layouts *l, uint32_t host);

/* May an index for `mig` be bound to something on that GPU? */
bool layouts_allow(const struct layouts *l, uint32_t mig, uint32_t host);

/* The layout demanded of a number; NULL: none. */
const struct conf_mig *layout_demanded(const struct conf_node *conf, uint32_t number);

/* Is the layout of that GPU not the demanded one? `text` is then "1g.10gb:7 wanted, 3g.40gb:2
 * found". */
bool layout_differs(const struct layouts *l, const struct conf *conf, const struct conf_mig *mig,
        uint32_t number, const struct node_gpu *gpus, size_t n_gpus, char *text, size_t size);

#endif
