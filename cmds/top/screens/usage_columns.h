/* usage_columns.h - the columns that say what a running job uses */
#ifndef CMDS_TOP_SCREENS_USAGE_COLUMNS_H
#define CMDS_TOP_SCREENS_USAGE_COLUMNS_H

#include "cmds/cli/view.h"
#include "cmds/top/model/job.h"

/* A job, and the same with its runs where they were asked for (else NULL). */
struct used_line {
	const struct top_job *job;
	const Gpusched__Job *runs;
};

extern const struct view_kind used_kind; /* of struct used_line */

#endif
