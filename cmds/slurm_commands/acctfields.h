/* acctfields.h - the fields of sacct
 *
 * The object is a line: a job, or a step of it. Its script counts as the step "batch", as in Slurm.
 */
#ifndef CMDS_ACCTFIELDS_H
#define CMDS_ACCTFIELDS_H

#include "cmds/slurm_commands/field_format.h"
#include "common/gpusched.pb-c.h"

struct acct_line {
	const Gpusched__Acct *job; /* of a step of tasks: what is known of that */
	bool batch;                /* a step */
	const Gpusched__StepReport *step; /* one of tasks; NULL: none */
};

void acct_fields_units(char unit); /* of memory: 'K' 'M' 'G' 'T' 'P'; 0: whatever fits exactly */

#endif
