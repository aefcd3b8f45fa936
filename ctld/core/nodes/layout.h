/* layout.h - which of a node's GPUs the numbers of `mig` are, and whether they are cut as it says
 *
 * The numbers are the host's, and the host counts what it has: a GPU that falls off the bus makes
 * those behind it change theirs. So a number is the GPU on which an instance is found that is bound
 * to one of its indices (devices.h); without any it is what the host gives that number, unless
 * another one is that GPU. No number is two GPUs, no GPU two numbers.
 *
 * A GPU whose instances are other than demanded, one more or less, is out as a whole: whoever makes
 * another layout is at it, and nothing that is there now can be counted on.
 */
#ifndef CTLD_CORE_LAYOUT_H
#define CTLD_CORE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf.h"

#define LAYOUT_HOSTS   256 /* numbers of GPUs that agents can say */
#define LAYOUT_NOWHERE UINT32_MAX

struct core;
struct node;
struct node_gpu;

/* An index of the node, as far as it matters here. */
struct layout_slot {
	const char *uuid; /* of what it is bound to; "": nothing */
	uint32_t mig;     /* as in struct conf_gpu_count */
};

struct layouts {
	uint32_t host[CONF_MAX_GPUS_PER_NODE]; /* of each number; LAYOUT_NOWHERE */
	uint64_t hosts[LAYOUT_HOSTS / 64];     /* those, as bits */
};

/* The numbers that `conf` demands a layout of, among the GPUs found. */
void layouts_find(struct layouts *l, const struct conf_node *conf, const struct layout_slot *slots,
        size_t n_slots, const struct node_gpu *gpus, size_t n_gpus);

/* Is a layout demanded of that GPU of the host? */
bool layouts_have(const struct layouts *l, uint32_t host);

/* May an index for `mig` be bound to what is found on that GPU? */
bool layouts_allow(const struct layouts *l, uint32_t mig, uint32_t host);

/* What is demanded of a number, NULL: nothing. */
const struct conf_mig *layout_demanded(const struct conf_node *conf, uint32_t number);

/* Is that GPU cut otherwise than demanded? `text` is then "1g.10gb:7 wanted, 3g.40gb:2 found". */
bool layout_differs(const struct layouts *l, const struct conf *conf, const struct conf_mig *mig,
        uint32_t number, const struct node_gpu *gpus, size_t n_gpus, char *text, size_t size);

#endif
