/* scrape_interval.h - how often a server is asked for its load
 *
 * Once a second while the load changes. While it does not, so seldom that the questions cost the
 * server at most PACE_SERVER of its time and this process PACE_OWN of a processor, but every
 * PACE_MAX_MS all the same. Pure.
 */
#ifndef CMDS_SERVICES_SCRAPE_INTERVAL_H
#define CMDS_SERVICES_SCRAPE_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_MIN_MS 1000
#define PACE_MAX_MS 5000
#define PACE_SERVER 20   /* one part of so many */
#define PACE_OWN    2000 /* 0.05 % */
#define PACE_STILL  5    /* answers without a change, then the load is taken to be at rest */

struct pace {
	unsigned still; /* answers without a change */
};

/* An answer has come; `took_ms` from the question, and `used_us` of this process's time. Returns
 * the time from that question to the next. */
int64_t pace_next_ms(struct pace *p, bool changed, int64_t took_ms, int64_t used_us);

#endif
