/* cpubind.h - the CPUs that a task keeps to: as well as the node allows
 *
 *	none, no            any of the run's
 *	map_cpu:0,2,...     CPU of each task of the node in turn
 *	mask_cpu:0x3,...    CPUs likewise
 *	rank, threads, cores, sockets, ldoms   its own share of the step's CPUs
 *	(not said)          the step's CPUs where it has not all of the node's
 *
 * A run that is not confined to as many CPUs as it was given has no positions that mean CPUs: then
 * only map_cpu and mask_cpu say anything.
 */
#ifndef CMDS_STEPS_CPUBIND_H
#define CMDS_STEPS_CPUBIND_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/gpusched.pb-c.h"

/* Is it a value of --cpu-bind? */
bool cpubind_is_known(const char *text);

/* True: *cpus for that task. */
bool cpubind_find(const Gpusched__StepTasks *part, size_t local, const cpu_set_t *allowed,
        uint32_t run_cpus, cpu_set_t *cpus);

#endif
