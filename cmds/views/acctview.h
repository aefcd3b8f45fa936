/* acctview.h - jobs and runs as gacct shows them */
#ifndef CMDS_ACCTVIEW_H
#define CMDS_ACCTVIEW_H

#include "cmds/cli/view.h"
#include "common/gpusched.pb-c.h"

extern const struct view_kind acct_kind;     /* of Gpusched__Acct; id 0: totals */
extern const struct view_kind acct_run_kind; /* of struct acct_run_line */

struct acct_run_line {
	const Gpusched__Acct *job;
	const Gpusched__AcctRun *run;
};

/* One more job in a line of totals, which begins as GPUSCHED__ACCT__INIT. */
void acct_total_add(Gpusched__Acct *total, const Gpusched__Acct *job);

#endif
