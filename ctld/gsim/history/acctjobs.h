/* acctjobs.h - jobs out of tables like those of a controller's history.db
 *
 * What history_accounting (acctjobs.c) and history_record (recordjobs.c) share: tables `job` and
 * `run` with the columns that acctjobs.c names, one row for each job or task and each run.
 */
#ifndef GSIM_ACCTJOBS_H
#define GSIM_ACCTJOBS_H

#include <sqlite3.h>

#include "ctld/gsim/history/history.h"

/* A reader of its jobs; takes `db` over, also on failure. `path` is borrowed. A run without
 * elapsed_us leaves the duration of its job unknown. */
void *acct_begin(sqlite3 *db, const char *path, const struct history_options *o, struct error *err);
enum history_result acct_next(void *reader, struct history_job *job, struct error *err);
void acct_close(void *reader);

#endif
