/* slurmrest.h - what programs read of Slurm's REST daemon, for those that are not written for us
 *
 *	/slurm/v0.0.38/...   plain numbers and texts: Telegraf's slurm input
 *	/slurm/v0.0.40/...   numbers as {"set","infinite","number"}, states as lists
 *
 * ping, diag, jobs, job/ID, nodes, node/NAME, partitions, partition/NAME, reservations (none): GET
 * alone. Fields that gpusched has nothing for are left out; gweb-http(7) lists those that are
 * there.
 */
#ifndef CMDS_SLURMREST_H
#define CMDS_SLURMREST_H

#include "cmds/web/http.h"

#define SLURMREST_JOBS_MAX 10000 /* jobs of one answer; with more it has a warning */

extern const struct http_route slurmrest_routes[];

#endif
