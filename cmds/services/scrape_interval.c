/* scrape_interval.c - see scrape_interval.h */
#include "cmds/services/scrape_interval.h"

int64_t pace_next_ms(struct pace *p, bool changed, int64_t took_ms, int64_t used_us)
{
	int64_t ms = took_ms * PACE_SERVER, own = used_us * PACE_OWN / 1000;

	if (changed)
		p->still = 0;
	else if (p->still < PACE_STILL)
		p->still++;
	if (p->still < PACE_STILL)
		return PACE_MIN_MS;
	ms = ms > own ? ms : own;
	return ms < PACE_MIN_MS ? PACE_MIN_MS : ms > PACE_MAX_MS ? PACE_MAX_MS : ms;
}
