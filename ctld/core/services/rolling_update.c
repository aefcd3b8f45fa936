/* rolling_update.c - see rolling_update.h */
#include "ctld/core/services/rolling_update.h"

static uint32_t least(uint32_t x, uint32_t y)
{
	return x < y ? x : y;
}

struct rolling_update_out rolling_update_targets(const struct rolling_update_in *in)
{
	uint32_t settled = least(in->settled, in->wanted);
	struct rolling_update_out out = { 0 };

	if (in->settled >= in->wanted) {
		out.done = true;
		out.next = in->wanted;
		return out;
	}
	if (in->failed_loads >= ROLLING_UPDATE_FAILURES) {
		/* What is READY of it serves until the present one has enough again. */
		out.given_up = true;
		out.present = in->wanted;
		out.next = in->wanted - least(in->present_ready, in->wanted);
		out.next = least(out.next, in->ready);
		return out;
	}
	out.next = settled + (in->surge ? in->surge : 1);
	/* After a restart none has settled yet, and those that are READY serve all the same. */
	out.next = least(in->wanted, out.next < in->ready ? in->ready : out.next);
	out.present = in->wanted - (in->surge ? settled : out.next);
	return out;
}
