/* disk_space.h - the free space on the disk of the state directory, less what is on its way there
 *
 * A job's bytes are written twice, to SQLite's log and to the database. So bytes that wait for a
 * commit, are being committed, or are in the log alone are subtracted from the free space. The core
 * refuses submits that would leave less than `min_free` of the rest (EV_DISK_FREE).
 *
 * If other programs have filled the disk, the ends of runs are written to the space of a reserve
 * file (store/state_dir.h), and submits are refused until there is space for a reserve again. If
 * that is used up too, a commit waits for space. Meanwhile no change can be answered, and new
 * requests are refused at once.
 */
#ifndef CTLD_DISK_SPACE_H
#define CTLD_DISK_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/job/run.h"

struct ctld;

/* Report to the core what will be left once `bytes` more are written. */
void disk_space_report(struct ctld *c, uint64_t bytes, struct clocks now);

/* A commit waits for space: -1, with what to do. */
int disk_space_check(const struct ctld *c, struct error *err);

#endif
