/* run_snapshot.h - what the scheduler knows of the runs on a node, kept until one of them changes */
#ifndef CTLD_CORE_RUN_SNAPSHOT_H
#define CTLD_CORE_RUN_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct held;
struct node;
struct place;
struct run;

/* Fills in what the scheduler needs to know of a run. */
void run_held(const struct core *core, const struct run *run, struct held *held);
/* The runs of a node, kept until one of them changes; the work that the end of one would lose
 * (struct plan_runs). */
const struct held *held_on_node(void *core, uint32_t node, size_t *n);
double held_work(void *core, const struct held *held);
/* For a what-if (whatif.h): one more run, at that place, with all else from `held`. The next
 * node_runs_changed() removes it. */
void held_imagine(struct core *core, const struct place *place, const struct held *held);
/* For checks: is what is kept of a node up to date? */
bool held_check(const struct core *core, const struct node *node);

#endif
