/* views.h - what there is to list: jobs, nodes, partitions, priorities, shares
 *
 * The columns of each (jobview.c, clusterview.c, shareview.c) and the names of job states.
 */
#ifndef CMDS_VIEWS_H
#define CMDS_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cmds/cli/view.h"
#include "common/gpusched.pb-c.h"

extern const struct view_kind job_kind;       /* of Gpusched__Job */
extern const struct view_kind node_kind;      /* of Gpusched__Node */
extern const struct view_kind partition_kind; /* of struct partition_line */
extern const struct view_kind gpu_kind;       /* of struct gpu_line */

extern const struct view_kind prio_kind;   /* of Gpusched__Prio, with its parts */
extern const struct view_kind weight_kind; /* of struct weight_line */
extern const struct view_kind share_kind;  /* of Gpusched__Share */

/* What a factor of the priority counts. */
struct weight_line {
	const char *name;
	uint32_t weight;
	const char *help;
};

/* A partition has a line for each type of GPU (at least one), and one more for those of a type that
 * jobs share: the first says all, the others only what the type is about. */
struct partition_line {
	const Gpusched__Partition *partition;
	size_t line;
};
size_t partition_lines(const Gpusched__Partition *partition);

/* One GPU of a node. */
struct gpu_line {
	const Gpusched__Node *node;
	const Gpusched__NodeGpu *gpu;
};

/* Job states as users know them. */
struct job_state {
	const char *name, *code; /* "PENDING", "PD" */
	enum table_colour colour;
	bool ended;
};
const struct job_state *job_state(const char *name_or_code); /* in either case; NULL: none */

void view_job_state(struct view_cell *cell, const char *name);
/* "h100:2", alternatives with "|" between; "-" for none. */
void view_gpus(struct view_cell *cell, Gpusched__GpuCount *const *v, size_t n);

/* For view_list() of Gpusched__KeyValue: "key=value". */
int view_print_label(char *buf, size_t size, size_t i, const void *labels);

/* Is it slots that a service holds in reserve, which wait for nothing? Listings of what waits leave
 * them out unless states or ids ask for them. */
bool job_is_reserve(const Gpusched__Job *job);

/* A line for each of a job's runs, where it has several. */
void job_print_runs(const Gpusched__Job *job, FILE *out);

#endif
