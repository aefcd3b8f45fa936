/* drain.h - when a replica that is drained may end
 *
 * A drained replica runs for DRAIN_LEAST_MS more, in which load balancers remove it, and then until
 * its server has reported twice in a row that no request is in flight; without metrics there is no
 * such wait. It ends at the latest when its drain time is over, and DRAIN_SPARE_MS before the
 * deadline of the interruption file, whatever is in flight. A replica that was never READY has
 * nothing in flight and ends at once. Pure.
 */
#ifndef CMDS_SERVICES_DRAIN_H
#define CMDS_SERVICES_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DRAIN_LEAST_MS 2000
#define DRAIN_SPARE_MS 2000
#define DRAIN_IDLE     2 /* scrapes in a row that find nothing in flight */

struct drain {
	int64_t quiet_ms; /* the least wait is over; scrapes that began earlier do not count */
	int64_t until_ms; /* the end of the drain time */
	int64_t deadline_ms;
	bool metrics;
	unsigned idle;
};

void drain_begin(struct drain *d, int64_t now_ms, uint32_t drain_s, bool was_ready, bool metrics);

/* The text of the interruption file. Its deadline is by the wall clock, whose time is `wall_s`. A
 * text without one leaves the deadline as it was. */
void drain_interrupted(
        struct drain *d, int64_t now_ms, int64_t wall_s, const char *text, size_t len);

/* A scrape that began then has ended. */
void drain_scraped(struct drain *d, int64_t began_ms, bool idle);

/* When it is over if nothing else happens; `now_ms` or earlier: it is. */
int64_t drain_over_ms(const struct drain *d);

#endif
