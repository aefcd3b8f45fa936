/* backfill.c - see backfill.h; what it says of limits is in backfill_limits.c */
#include "ctld/core/sched/backfill.h"

bool backfill_test(void *arg, struct place *place, uint64_t gpu_set)
{
	struct backfill_look *look = arg;
	const struct candidate *who = look->who;
	usec_t now = look->view->now.mono;
	usec_t end = who->length >= PLAN_FAR ? PLAN_FAR * 2 : now + who->length - who->late;

	if (plan_allows(look->view->plan, place, gpu_set, end, who->key, look->displace_none))
		return true;
	look->refused = true;
	return false;
}
