/* disk_space.h - free space on the disk of the state directory, for what is about to be taken in
 *
 * What is on its way to the disk is counted with what is there: a job's bytes are written twice, to
 * the log and to the database, and what waits for a commit, is in one, or is in the log alone has
 * yet to be. The core refuses submits by that (EV_DISK_FREE), so that they leave `min_free`.
 *
 * Where others have filled the disk, the reserve (store/home.h) holds the ends of runs, and submits
 * are refused until there is space for a reserve again. Where that is used up too, a commit waits
 * for space: nothing that was asked since can be answered, and what is asked is refused at once.
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
