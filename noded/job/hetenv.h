/* hetenv.h - Slurm's variables for a job of several components
 *
 * The owner signs how many nodes each component has, in order: GPUSCHED_HET_NODES=2,1
 * (cmds/options/het.h). The job's nodes go to the components in this order. Each component has its
 * own set of these variables, with its number at the end:
 *
 *	SLURM_JOB_ID_HET_GROUP_0  SLURM_JOB_NODELIST_HET_GROUP_0  SLURM_NODELIST_HET_GROUP_0
 *	SLURM_JOB_NUM_NODES_HET_GROUP_0  SLURM_NNODES_HET_GROUP_0
 *
 * beside SLURM_HET_SIZE, SLURM_HET_JOB_ID and SLURM_HET_JOB_OFFSET. If the signed numbers do
 * not add up to the job's number of nodes, none of these is set.
 *
 * Pure; the value comes from the user and is not trusted.
 */
#ifndef NODED_HETENV_H
#define NODED_HETENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HETENV_NODES          "GPUSCHED_HET_NODES"
#define HETENV_COMPONENTS_MAX 128
#define HETENV_ENTRIES_MAX    (HETENV_COMPONENTS_MAX * 5 + 4)

/* Write "NAME=value" for each to `env`, which has room for HETENV_ENTRIES_MAX and a NULL; malloc'd.
 * Returns how many: 0 where `value` (of `len` bytes) is not right for `nodelist` and `nnodes`. */
size_t hetenv_make(const char *value, size_t len, const char *nodelist, uint32_t nnodes,
        uint64_t job, char **env);

/* Is the entry (NAME=value) one of these variables? Those of an outer job do not belong to the
 * job. */
bool hetenv_is_name(const char *entry);

#endif
