/* effects.h - carry out what the core wants done
 *
 * One row a kind of effect. What leaves the process goes through the gate; here it is only made.
 */
#ifndef CTLD_EFFECTS_H
#define CTLD_EFFECTS_H

#include "common/job/run.h"

struct ctld;

/* All effects since the last time, oldest first. */
void effects_carry_out(struct ctld *c, struct clocks now);

#endif
