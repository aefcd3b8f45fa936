/* acct_per_day.c - see acct_per_day.h */
#include "ctld/rpc/acct/acct_per_day.h"

#include <time.h>

#define SECOND 1000000

/* So much of `whole` was until `t`. */
static uint64_t until(uint64_t whole, int64_t start, int64_t end, int64_t t)
{
	if (t >= end)
		return whole;
	if (t <= start)
		return 0;
	return (uint64_t)((unsigned __int128)whole * (uint64_t)(t - start) /
	                  (uint64_t)(end - start));
}

uint64_t use_between(uint64_t whole, int64_t start, int64_t end, int64_t from, int64_t to)
{
	return until(whole, start, end, to) - until(whole, start, end, from);
}

int64_t day_after(int64_t t)
{
	time_t s = (time_t)(t / SECOND);
	struct tm tm;

	if (!localtime_r(&s, &tm))
		return INT64_MAX;
	tm.tm_mday++;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return (int64_t)mktime(&tm) * SECOND;
}
