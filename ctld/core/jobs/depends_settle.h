/* depends_settle.h - terms of jobs are decided, once the jobs that they name have started or ended */
#ifndef CTLD_CORE_DEPENDS_SETTLE_H
#define CTLD_CORE_DEPENDS_SETTLE_H

#include <stdbool.h>

struct core;

/* Settle at most `budget` edges of what is queued; true if there are more. */
bool depends_settle(struct core *core, unsigned budget);

#endif
