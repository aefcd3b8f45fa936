/* run_report.h - reports of runs, as messages of the launcher's own */
#ifndef NODED_RUN_REPORT_H
#define NODED_RUN_REPORT_H

#include "common/gpusched.pb-c.h"
#include "common/job/run.h"

struct run_id run_id_of(const Gpusched__RunId *id);
Gpusched__RunReport *run_report_copy(const Gpusched__RunReport *r);
Gpusched__RunReport *run_report_new(struct run_id id); /* all else empty */
void run_report_free(Gpusched__RunReport *r);          /* NULL is fine */
void run_report_set(char **field, const char *value);  /* of a report of our own */

#endif
