/* run_snapshot.h - what the scheduler knows of the runs on a node, kept until one of them changes */
#ifndef CTLD_CORE_RUN_SNAPSHOT_H
#define CTLD_CORE_RUN_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct run_snapshot;
struct node;
struct place;
struct run;

/* Fills in what the scheduler needs to know of a run. */
void run_snapshot_of(const struct core *core, const struct run *run, struct run_snapshot *snapshot);
/* The runs of a node, kept until one of them changes (struct plan_runs). */
const struct run_snapshot *snapshots_on_node(void *core, uint32_t node, size_t *n);
/* For a what-if (whatif.h): one more run, at that place, with all else from `held`. The next
 * node_runs_changed() removes it. */
void snapshot_imagine(
        struct core *core, const struct place *place, const struct run_snapshot *snapshot);
/* For checks: is what is kept of a node up to date? */
bool snapshots_check(const struct core *core, const struct node *node);

#endif
