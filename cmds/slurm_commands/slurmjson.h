/* slurmjson.h - jobs as the --json of Slurm's squeue and sacct has them: the fields that clients
 *read
 *
 *	{"meta":{...},"errors":[],"jobs":[
 *	{"job_id":4812,"job_state":["RUNNING"],...}
 *	]}
 */
#ifndef CMDS_SLURMJSON_H
#define CMDS_SLURMJSON_H

#include <stddef.h>

#include "common/gpusched.pb-c.h"

/* Begins as { cluster, 0 }. */
struct slurmjson {
	const char *cluster;
	size_t n;
};

void slurmjson_job(struct slurmjson *out, const Gpusched__Job *job);
void slurmjson_acct(struct slurmjson *out, const Gpusched__Acct *job);
void slurmjson_end(struct slurmjson *out);

#endif
