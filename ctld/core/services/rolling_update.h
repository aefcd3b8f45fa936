/* rolling_update.h - how many replicas each generation should have while a service is updated
 *
 * Pure. A new replica starts, is READY for the settling time, and then one of the present
 * generation is drained: so as many as are wanted are READY all the time, where there is room for
 * `surge` more. Without a surge one of the present generation is drained first.
 */
#ifndef CTLD_CORE_SERVICES_ROLLING_UPDATE_H
#define CTLD_CORE_SERVICES_ROLLING_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

#define ROLLING_UPDATE_FAILURES \
	3 /* replicas of the next generation that ended before READY, in a row */

struct rolling_update_in {
	uint32_t wanted, surge;
	uint32_t ready;        /* replicas of the next generation */
	uint32_t settled;      /* replicas of the next generation that were READY for long enough */
	uint32_t failed_loads; /* of the next generation, in a row */
	uint32_t present_ready; /* replicas of the present generation that are READY */
};

struct rolling_update_out {
	uint32_t present, next; /* replicas that each should have */
	bool done;              /* the next generation is the present one from now on */
	bool given_up;          /* it could not be started: the present one stays */
};

struct rolling_update_out rolling_update_targets(const struct rolling_update_in *in);

#endif
