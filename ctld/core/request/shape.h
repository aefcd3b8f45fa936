/* shape.h - the shape of a job, checked and in one spelling
 *
 * From a submit and from a row alike: the request as numbers, and as two texts that are equal for
 * equal shapes. The text of the GPUs: "h100:2|l40s:4", "any:2", "". The text of the place is words
 * in a fixed order, without those that have the default:
 *	nodes=2-4 per_node exclusive mem_min=81920 link=nvlink gpu_mem=20480 gpu_burst=30720
 *	gpu_share=250 constraint=nvlink&(ib|fast) prefer=new nodelist=n[1-2] exclude=n7
 *	tmp=1048576 service=chat ports=1 licences=other:1,trtllm:2
 * Hostlists are sorted and compressed, and licences are sorted. The code here knows no
 * configuration.
 */
#ifndef CTLD_CORE_SHAPE_H
#define CTLD_CORE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/gpu/gpu_topology.h"
#include "ctld/core/request/gpu_share.h"
#include "ctld/core/rows/event.h"

struct error;

#define SHAPE_MAX_NAME 64   /* of a GPU type, a licence */
#define SHAPE_MAX_TEXT 4096 /* of one hostlist or constraint */

#define MAX_LICENCE_NEEDS 16 /* licences of one job */

struct shape {
	size_t n;
	struct {
		char type[SHAPE_MAX_NAME + 1]; /* "": any */
		uint32_t count;
	} v[MAX_GPU_ALTERNATIVES];
	uint32_t nodes_min, nodes_max; /* 1 or more */
	bool per_node, exclusive;
	uint64_t gpu_mem_min_mb, gpu_mem_burst_mb, tmp_mb;
	uint32_t ports;
	enum near_link link;
	struct share_wish share;
	char *constraint, *prefer, *nodelist, *exclude, *service; /* owned; never NULL */
	size_t n_licences;
	struct {
		char name[SHAPE_MAX_NAME + 1];
		uint32_t count;
	} licences[MAX_LICENCE_NEEDS];
	char *text, *place; /* owned */
};

/* Long hostlists that were read lately: the same one again costs only a comparison. All zeros is
 * an empty memo. */
#define SHAPE_MEMO       8
#define SHAPE_MEMO_NAMES 64 /* shorter lists are not stored */
struct shape_memo {
	struct {
		char *text, *list; /* as it was given, and in canonical spelling; owned */
		uint32_t n;        /* names */
	} v[SHAPE_MEMO];
	unsigned next; /* the entry to overwrite next */
};
void shape_memo_clear(struct shape_memo *memo);

/* ERR_JOB_SPEC, ERR_NO_GPU_TYPE: names the option, its value and what would be right. Texts of the
 * submit that are NULL count as "". shape_clear() after success only. `memo` may be NULL. */
int shape_read(
        struct shape *s, const struct submit_job *job, struct shape_memo *memo, struct error *err);
int shape_parse(struct shape *s, const char *gpus, const char *place, struct error *err);
void shape_clear(struct shape *s);

#endif
