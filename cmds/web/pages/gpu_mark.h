/* gpu_mark.h - how a GPU stands on a map, of what the controller says of it and of its node
 *
 *	free      a job may get it now
 *	held      one job has it, and computes on it, or its use is not known
 *	idle      one job has it and uses under GPU_IDLE_PCT of its compute
 *	shared    several jobs have parts of it, or one has a part
 *	drained   no job gets it, by an operator's word or a fault's; what runs there may still end
 *	trouble   missing, in trouble, or on a node that is down or not reached
 */
#ifndef CMDS_WEB_GPU_MARK_H
#define CMDS_WEB_GPU_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/gpusched.pb-c.h"

#define GPU_IDLE_PCT 5

enum gpu_mark {
	GPU_MARK_FREE,
	GPU_MARK_HELD,
	GPU_MARK_IDLE,
	GPU_MARK_SHARED,
	GPU_MARK_DRAINED,
	GPU_MARK_TROUBLE,
	GPU_MARKS
};

enum gpu_mark gpu_mark(const Gpusched__Node *node, const Gpusched__NodeGpu *gpu);
const char *gpu_mark_word(enum gpu_mark mark); /* "free", "held", "held, idle", ... */

/* Its compute use now; false: not known. */
bool gpu_use(const Gpusched__NodeGpu *gpu, uint32_t *percent);

/* The class of its cell: a constant, as "g held" or "g u2", by how much it computes. */
const char *gpu_mark_class(enum gpu_mark mark, const Gpusched__NodeGpu *gpu);

/* Does a node start jobs? */
bool node_takes_jobs(const Gpusched__Node *node);
/* Is it there? */
bool node_answers(const Gpusched__Node *node);

#endif
