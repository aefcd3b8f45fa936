/* het.h - jobs of several components: `#SBATCH hetjob`
 *
 * Slurm starts the components of such a job together, each on nodes of its own with what it asks
 * for. Here they are one gang: a job on as many nodes as all of them ask for, in their order, so
 * that the first nodes are the first component's. All nodes of a job get the same, which is the
 * largest amount that a component asks of a node.
 *
 * Values that are not amounts must be the same in all components, or be given for the first alone
 * (GPU types, partition, account, QOS, features). Name, files and what else concerns the script are
 * the first component's: the script runs once, on the first node. Lists of nodes and licences are
 * joined, and the longest time limit counts.
 *
 * The nodes of each component are signed with the job as HET_NODES_VARIABLE ("2,1"); the node that
 * runs the script makes SLURM_HET_SIZE and SLURM_JOB_NODELIST_HET_GROUP_0 and so on of it
 * (noded/job/hetenv.h).
 *
 * Pure.
 */
#ifndef CMDS_HET_H
#define CMDS_HET_H

#include "cmds/options/options.h"
#include "common/base/error.h"

#define HET_COMPONENTS_MAX 128 /* as in Slurm */
#define HET_NODES_VARIABLE "GPUSCHED_HET_NODES"
#define HET_NODES_TEXT     (HET_COMPONENTS_MAX * 11)

/* Make one request of `o` and the components behind it, which tasks_settle() has settled, in `o`.
 * ERR_USAGE: what no gang can be. */
int het_join(struct submit_options *o, struct error *err);

/* "2,1": the nodes of each component, in `text`; NULL: it is one. Before tasks_settle(). */
const char *het_nodes(const struct submit_options *o, char text[HET_NODES_TEXT]);

#endif
