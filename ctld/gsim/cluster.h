/* cluster.h - the configuration that a simulation runs on
 *
 * Either a gpusched.conf, or a list of nodes (CSV: node,count,cpus,mem_mb,gpus,gpu_type,gpu_mem_mb)
 * of which one is made: all nodes in partition `all`, everything else at its default. What is not
 * known of a node (CPUs, memory) does not limit.
 *
 * The simulation owns its conf until the core has it, and changes in it what would be in its way:
 * agents are never silent, signatures never too old, ended jobs leave memory at once.
 */
#ifndef GSIM_CLUSTER_H
#define GSIM_CLUSTER_H

#include <stdbool.h>

#include "common/conf/conf.h"

#define CLUSTER_CPUS   1024               /* of a node whose CPUs are not known */
#define CLUSTER_MEM_MB (16 * 1024 * 1024) /* of a node whose memory is not known */

/* All mistakes of the file are printed. NULL with `err`. */
struct conf *cluster_read(const char *path, struct error *err);

/* From a list of nodes. `partitions`: beside `all`, each row's nodes are a partition of its name.
 */
struct conf *cluster_make(const char *path, bool partitions, struct error *err);

/* "N:NODE": N more like that one, in its partitions. "N:TYPE:COUNT": N with COUNT GPUs of that
 * type, and CPUs and memory as the largest node has them, in the default partition and those that
 * hold all nodes. None is on a switch. */
int cluster_add(struct conf *conf, const char *text, struct error *err);

/* What the simulation needs; once, last. */
void cluster_prepare(struct conf *conf);

uint64_t cluster_gpus(const struct conf *conf);

/* The most GPUs of a type (CONF_NONE: of any) that one node of a partition has. */
uint32_t cluster_largest(const struct conf *conf, uint32_t partition, uint32_t type);

#endif
