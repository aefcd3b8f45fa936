/* memory_bursts.c - see memory_bursts.h */
#include "ctld/gsim/memory_bursts.h"

static uint64_t borrowed(const struct memory_burst_gpu *c)
{
	uint64_t room = c->size_mb > c->parts_mb ? c->size_mb - c->parts_mb : 0;

	return c->more_mb < room ? c->more_mb : room;
}

bool memory_bursts_change(struct memory_burst_gpu *c, struct memory_bursts *sum, usec_t now,
        uint64_t part_mb, uint64_t burst_mb, bool take)
{
	uint64_t more = burst_mb > part_mb ? burst_mb - part_mb : 0, before = borrowed(c);
	bool lent;

	if (!c->size_mb)
		return false;
	sum->wanted += (double)c->more_mb * (double)(now - c->since);
	sum->there += (double)before * (double)(now - c->since);
	c->since = now;
	c->parts_mb += take ? part_mb : -part_mb;
	lent = take && borrowed(c) < before;
	c->more_mb += take ? more : -more;
	return lent;
}

bool memory_bursts_is_over(const struct memory_burst_gpu *c)
{
	return c->size_mb && c->parts_mb > c->size_mb;
}
