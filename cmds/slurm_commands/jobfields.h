/* jobfields.h - the fields of a job, as squeue and `scontrol show job` have them
 *
 * The object is a Gpusched__Job.
 */
#ifndef CMDS_JOBFIELDS_H
#define CMDS_JOBFIELDS_H

#include "cmds/slurm_commands/field_format.h"
#include "common/gpusched.pb-c.h"

const struct slurm_cmd_field *job_fields(size_t *n);

/* The value of a field by its name; for records and for JSON. The name exists. */
const char *job_field(const char *name, const Gpusched__Job *job, struct view_cell *cell);

bool job_is_pending(const Gpusched__Job *job);
bool job_has_ended(const Gpusched__Job *job);
uint32_t job_node_count(const Gpusched__Job *job);
/* Are its GPUs asked for on each node? Of one node that is the same as of the whole job. */
bool job_gpus_per_node(const Gpusched__Job *job);
int64_t job_end_time(
        const Gpusched__Job *job); /* when it ended or will at the latest; 0: not known */

/* "gpu:h100:2|..." with `prefix` before each; "" for none. */
void gpu_counts(char *buf, size_t size, const char *prefix, Gpusched__GpuCount *const *v, size_t n);

/* "4_[3-5%2]", "4_7", "4": the tasks as long as SLURM_BITSTR_LEN says (64). */
void job_id_text(
        char *buf, size_t size, uint64_t id, const char *tasks, bool several, uint32_t at_once);

#endif
