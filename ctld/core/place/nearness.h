/* nearness.h - how close a node's GPUs are to each other, as it is written and as it is told
 *
 * The configuration may say it (`gpu_near`), and an agent tells what it has found (common/near.h).
 * What is told counts, and what is written where nothing is told: of nodes without hardware, or
 * without an agent yet, and where a driver does not say.
 *
 * What is written is demanded: two GPUs that are told to be farther from each other make one or
 * both of them *lack* something, and who lacks is given to nobody (devices.h). One whose links are
 * down is far from all others, and these are not at fault: so it is who lacks the most, of as many
 * all, until the others are as close as demanded.
 *
 * Only whole GPUs are close or far; MIG instances have no number here.
 */
#ifndef CTLD_CORE_NEARNESS_H
#define CTLD_CORE_NEARNESS_H

#include "common/conf.h"
#include "ctld/core/place/closest.h"

#define NEARNESS_NOWHERE UINT32_MAX

/* What an index of the node is. */
struct nearness_gpu {
	uint32_t number;  /* of the host's GPU; NEARNESS_NOWHERE: none that is known */
	const char *told; /* near_place_write(); "": nothing */
};

struct nearness_lack {
	bool is;
	uint32_t number; /* of the other GPU, of the first where they are several */
	near_t wanted, found;
};

/* All as nobody has told anything: whole GPUs are counted in the order of their indices, without
 * those that `mig` cuts. */
void nearness_written(const struct conf *conf, const struct conf_node *node,
        struct nearness_gpu gpus[CONF_MAX_GPUS_PER_NODE]);

/* How close the first `n` are; NULL: nothing is known. free(3). `lacks`: n of them; NULL: nobody
 * asks. */
struct closeness *nearness_new(const struct conf_node *node, const struct nearness_gpu *gpus,
        size_t n, struct nearness_lack *lacks);

/* "NV18 to GPU 3 wanted, PIX found". Returns `text`. */
#define NEARNESS_WORDS 64
const char *nearness_words(const struct nearness_lack *lack, char text[NEARNESS_WORDS]);

#endif
