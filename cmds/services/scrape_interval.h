/* scrape_interval.h - how often a server is asked for its load
 *
 * Once a second while the load changes. While it does not, so seldom that the questions cost the
 * server at most SCRAPE_INTERVAL_SERVER of its time and this process SCRAPE_INTERVAL_OWN of a
 * processor, but every SCRAPE_INTERVAL_MAX_MS all the same. Pure.
 */
#ifndef CMDS_SERVICES_SCRAPE_INTERVAL_H
#define CMDS_SERVICES_SCRAPE_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#define SCRAPE_INTERVAL_MIN_MS 1000
#define SCRAPE_INTERVAL_MAX_MS 5000
#define SCRAPE_INTERVAL_SERVER 20   /* one part of so many */
#define SCRAPE_INTERVAL_OWN    2000 /* 0.05 % */
#define SCRAPE_INTERVAL_STILL  5    /* answers without a change: the load is taken to be at rest */

struct scrape_interval {
	unsigned still; /* answers without a change */
};

/* An answer has come; `took_ms` from the question, and `used_us` of this process's time. Returns
 * the time from that question to the next. */
int64_t scrape_interval_next_ms(
        struct scrape_interval *p, bool changed, int64_t took_ms, int64_t used_us);

#endif
