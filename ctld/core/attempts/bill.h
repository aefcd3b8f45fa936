/* bill.h - what runs have used is billed to the accounts of their users */
#ifndef CTLD_CORE_BILL_H
#define CTLD_CORE_BILL_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct core;
struct job_info;
struct places;
struct run;

/* Bill the run's present record, less what has been billed. Idempotent. */
void bill_run(struct core *core, struct run *run);
/* The run is booked, or no longer is: until its bill it counts by its meter. */
void bill_starts(struct core *core, struct run *run);
void bill_stops(struct core *core, struct run *run);
void bill_reconfigured(struct core *core); /* the same again for all booked runs */
/* Move it to history, with its bill, unlinked from its job. */
void run_retire(struct core *core, struct run *run);
/* Process all runs at a start; at a check. */
int bill_start(struct core *core, struct run *const *v, size_t n, struct error *err);
int bill_check(const struct core *core, struct run *const *v, size_t n, struct error *err);

/* The cost by the prices, if the job runs to its limit on the most expensive GPUs that its first
 * alternative allows; < 0: it has no limit. */
double job_cost_max(const struct core *core, const struct job_info *info);
/* The same at these places. */
double job_cost_at(
        const struct core *core, const struct job_info *info, const struct places *places);

#endif
