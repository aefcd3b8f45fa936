/* steps_signal.c - see steps_signal.h */
#include "cmds/steps/steps_signal.h"

#include <inttypes.h>

int steps_signal(struct client *c, const struct steps_target *to, uint32_t signal,
        struct error *err)
{
	(void)c;
	(void)signal;
	error_set(err, ERR_USAGE,
	        "step %" PRIu64 ".%" PRIu32 ": steps cannot be signalled from here", to->job,
	        to->step);
	return error_hint(err, "gcancel --signal=USR1 %" PRIu64 " reaches all of its steps",
	        to->job);
}
