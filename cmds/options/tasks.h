/* tasks.h - what tasks, and amounts for each task, CPU or GPU, come to on a node
 *
 * gpusched starts a script once on each of a job's nodes and asks a node for CPUs, memory and GPUs.
 * sbatch's words say the same in other units: --ntasks times --cpus-per-task, --mem-per-cpu,
 * --mem-per-gpu, --cpus-per-gpu, --gpus-per-task. Here they become amounts of a node, once, when
 * all sources of options have been applied.
 *
 * Several tasks are the script's own affair (mpirun, a loop); they are counted for their CPUs and
 * told as SLURM_NTASKS. On several nodes the script itself is the task: there is one on each.
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

#endif
