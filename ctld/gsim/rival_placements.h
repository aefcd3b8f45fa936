/* rival_placements.h - placements that others published, to compare with in the packing experiment
 *
 *	FGD      Weng et al., "Beware of Fragmentation", USENIX ATC'23, section 4: where the
 *	         expected fragmentation over the typical tasks of the workload grows least. The typical
 *	         tasks are the most frequent ones that make up 95 % of the jobs, those without GPUs
 *	         included. As in the authors' experiments growth becomes a score from 0 to 100,
 *	         rounded down, and of nodes with equal scores the best fit is taken (theirs takes the
 *	         first name, which depends on how the nodes are called).
 *	BestFit  as there: where the least is left of CPUs and GPUs, as a part of what the largest node
 *	         has, each counting half; of the GPUs the fullest that does.
 *
 * They keep their own account of the nodes: CPUs, memory, GPUs and thousandths of them. A job goes
 * to one node or is dropped; partitions, limits and the memory of GPUs are not looked at.
 */
#ifndef GSIM_RIVAL_PLACEMENTS_H
#define GSIM_RIVAL_PLACEMENTS_H

#include <stddef.h>

#include "common/conf/conf.h"
#include "ctld/gsim/history/history.h"

enum rival_kind { RIVAL_NONE, RIVAL_FGD, RIVAL_BESTFIT };

struct rival;

/* `workload`: what the typical tasks are taken from. All are borrowed for the call only. */
struct rival *rival_new(const struct conf *conf, enum rival_kind kind,
        const struct history_job *workload, size_t n);
void rival_free(struct rival *r); /* NULL is fine */

/* The node that it was put on, by its index in the configuration, and the GPUs there; -1: it fits
 * nowhere. `gpus` may be NULL. */
long rival_place(struct rival *r, const struct history_job *job, uint64_t *gpus);

#endif
