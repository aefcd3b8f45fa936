/* stepview.h - the columns of steps: gqueue --steps and gacct --steps */
#ifndef CMDS_STEPVIEW_H
#define CMDS_STEPVIEW_H

#include "cmds/cli/view.h"
#include "common/gpusched.pb-c.h"

extern const struct view_kind step_kind; /* of Gpusched__Step */

/* A job, or one of its steps below it. */
struct acct_step_line {
	const Gpusched__Acct *job;
	const Gpusched__Step *step; /* NULL: the job itself */
};
extern const struct view_kind acct_step_kind;

#endif
