/* partition.h - the state of each partition
 *
 * The state is what the configuration says, unless an operator has set another one (gctl
 * partition). That overrides the configuration, is durable (a row of meta, "partition.NAME"), and
 * lasts until an operator sets the configured state again.
 */
#ifndef CTLD_CORE_PARTITION_H
#define CTLD_CORE_PARTITION_H

#include "common/conf/conf.h"
#include "ctld/core/rows/epoch_and_ids.h"

struct partitions;

struct partitions *partitions_new(struct meta *meta); /* borrowed */
void partitions_free(struct partitions *ps);          /* NULL is fine */

/* Use another configuration (also the first), after the rows are in. Borrowed until the next. */
void partitions_configure(struct partitions *ps, const struct conf *conf);

enum conf_partition_state partition_state(const struct partitions *ps, uint32_t partition);
bool partition_takes(const struct partitions *ps, uint32_t partition);  /* new jobs */
bool partition_starts(const struct partitions *ps, uint32_t partition); /* waiting jobs */
void partition_set_state(
        struct partitions *ps, uint32_t partition, enum conf_partition_state state);

const char *partition_state_name(enum conf_partition_state state); /* "up" */

#endif
