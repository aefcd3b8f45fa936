/* gpu_map.h - what each GPU of the cluster is, in one letter, and what there is of each type
 *
 * Pure. The letters, of which colours only repeat what they say:
 *
 *	.  free                       s  shared by jobs
 *	B  held, and busy             d  drained, or no more jobs from now on
 *	i  held, and idle             !  missing, or in trouble
 *	h  held; its use is not known ?  its node is not heard of
 */
#ifndef CMDS_TOP_MODEL_GPU_MAP_H
#define CMDS_TOP_MODEL_GPU_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/top/grid.h"
#include "common/gpusched.pb-c.h"

#define MAP_IDLE_PCT 5 /* compute use below this is idle, as in gacct */

enum gpu_mark {
	MARK_FREE,
	MARK_BUSY,
	MARK_IDLE,
	MARK_HELD,
	MARK_SHARED,
	MARK_DRAINED,
	MARK_LOST,
	MARK_SILENT,
	MARKS
};

struct gpu_mark_row {
	char letter;
	enum look look;
	const char *word; /* "idle" */
};
extern const struct gpu_mark_row gpu_marks[MARKS];

/* Does the node take jobs; is it heard of? */
bool map_node_works(const Gpusched__Node *node);
bool map_node_silent(const Gpusched__Node *node);

enum gpu_mark map_gpu(const Gpusched__Node *node, const Gpusched__NodeGpu *gpu);

/* A whole node in one letter: how many of its GPUs are free ("+": more than 9), or what most of
 * them are. The letter of a node without GPUs is "-". */
char map_node_letter(const Gpusched__Node *node, enum look *look);

/* GPUs of one type. */
struct map_type {
	const char *name; /* borrowed of a node */
	uint32_t total, count[MARKS];
	uint32_t free;    /* on nodes that take jobs */
	uint32_t largest; /* the most that are free on one of them */
	const char *largest_node;
};

/* All types, in the order in which nodes have them; the caller frees. `n` nodes. */
struct map_type *map_types(ProtobufCMessage *const *nodes, size_t n, size_t *n_types);

#endif
