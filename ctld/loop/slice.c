/* slice.c - see slice.h */
#include "config.h"

#include "ctld/loop/slice.h"

#include "common/base/clock.h"

usec_t thread_cpu_time(void)
{
	return clock_us(CLOCK_THREAD_CPUTIME_ID);
}

struct slice slice_begin(usec_t budget_us)
{
	return (struct slice){ .end = thread_cpu_time() + budget_us, .items = SLICE_ITEMS };
}

bool slice_over_now(struct slice *s)
{
	if (!s->over && thread_cpu_time() >= s->end)
		s->over = true;
	return s->over;
}

bool slice_over(struct slice *s)
{
	if (s->over || s->items-- > 0)
		return s->over;
	s->items = SLICE_ITEMS - 1;
	return slice_over_now(s);
}
