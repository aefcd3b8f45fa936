/* scrape_interval.c - see scrape_interval.h */
#include "cmds/services/scrape_interval.h"

int64_t scrape_interval_next_ms(
        struct scrape_interval *p, bool changed, int64_t took_ms, int64_t used_us)
{
	int64_t ms = took_ms * SCRAPE_INTERVAL_SERVER, own = used_us * SCRAPE_INTERVAL_OWN / 1000;

	if (changed)
		p->still = 0;
	else if (p->still < SCRAPE_INTERVAL_STILL)
		p->still++;
	if (p->still < SCRAPE_INTERVAL_STILL)
		return SCRAPE_INTERVAL_MIN_MS;
	ms = ms > own ? ms : own;
	return ms < SCRAPE_INTERVAL_MIN_MS   ? SCRAPE_INTERVAL_MIN_MS
	       : ms > SCRAPE_INTERVAL_MAX_MS ? SCRAPE_INTERVAL_MAX_MS
	                                     : ms;
}
