/* exit_stat.h - how a job ended, as one number that a program keeps: the `stat` of drmaa_wait()
 *
 * Aborted is a job that never ran. One that ran to its own end has exited, or was ended by a
 * signal; one that the system ended (a limit, a cancel, its node) counts as ended by a signal,
 * whatever it made of the warning, since it did not do what it was to do. Pure.
 */
#ifndef CMDS_DRMAA_EXIT_STAT_H
#define CMDS_DRMAA_EXIT_STAT_H

#include "cmds/drmaa/job_queries.h"

int exit_stat(const struct query_job *job);

#endif
