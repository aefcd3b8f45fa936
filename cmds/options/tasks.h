/* tasks.h - what tasks, and amounts for each task, CPU or GPU, come to on a node
 *
 * A job asks each of its nodes for CPUs, memory and GPUs.
 * sbatch's words say the same in other units: --ntasks times --cpus-per-task, --mem-per-cpu,
 * --mem-per-gpu, --cpus-per-gpu, --gpus-per-task. Here they become amounts of a node, once, when
 * all sources of options have been applied.
 *
 * Tasks are started by srun inside the job (cmds/steps/README.md), or are the script's own affair
 * (mpirun, a loop); they are counted for their CPUs and told as SLURM_NTASKS. The script of a job
 * with steps runs once, on the first node: that is so where tasks are asked for,
 * and for scripts written for Slurm. `gsubmit --nodes` without tasks starts the script on each
 * node.
 *
 * Pure.
 */
#ifndef CMDS_TASKS_H
#define CMDS_TASKS_H

#include "cmds/options/options.h"
#include "common/base/error.h"

/* Fill in cpus, mem_mb, gpus and nodes. ERR_USAGE names the option that does not come out. To be
 * called once. */
int tasks_settle(struct submit_options *o, struct error *err);

/* Is more than one process asked for, of the command or script? */
bool tasks_several(const struct submit_options *o);

/* All tasks on the least number of nodes; 0: nothing was said of tasks. */
uint32_t tasks_count(const struct submit_options *o);

/* The nodes that it asks for, at least; before tasks_settle() too. */
uint32_t tasks_nodes(const struct submit_options *o);

#endif
