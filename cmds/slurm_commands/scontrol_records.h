/* scontrol_records.h - KEY=VALUE records: what `scontrol show` prints of jobs, nodes and partitions
 *
 * A record is a table of fields: the name is the key, the flags say whether it begins a line and
 * from which --details on it is shown. A field that says NULL is left out.
 */
#ifndef CMDS_SCONTROL_RECORDS_H
#define CMDS_SCONTROL_RECORDS_H

#include "cmds/slurm_commands/field_format.h"
#include "cmds/slurm_commands/nodefields.h"

enum {
	RECORD_LINE = 1 << 8,   /* begins a line; without it a blank stands before it */
	RECORD_DETAIL = 1 << 9, /* -d */
	RECORD_MORE = 1 << 10,  /* -dd */
	RECORD_BLANK = 1 << 11, /* a blank follows, as in Slurm */
};

struct record_style {
	bool one_line;
	int details;
};

void record_print(const struct record_style *s, const struct slurm_cmd_field *table, size_t n,
        const void *object);

const struct slurm_cmd_field *record_job(size_t *n);       /* of a Gpusched__Job */
const struct slurm_cmd_field *record_node(size_t *n);      /* of a struct node_group of one node */
const struct slurm_cmd_field *record_partition(size_t *n); /* of a struct record_partition_of */

struct record_partition_of {
	struct node_group group; /* of the partition alone */
	uint64_t cpus, mem_mb;
	uint32_t gpus;
};

#endif
