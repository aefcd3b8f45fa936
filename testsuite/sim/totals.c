/* totals.c - see totals.h */
#include "testsuite/sim/totals.h"

#include <inttypes.h>
#include <stdio.h>

void totals_print(const struct totals *t, uint64_t first, uint64_t n, long seconds)
{
	printf("%" PRIu64 " seeds from %" PRIu64 ": %" PRIu64 " jobs, %" PRIu64
	       " of them in %" PRIu64 " bulks, %" PRIu64 " tasks, %" PRIu64 " faults, %" PRIu64
	       " restarts, %" PRIu64 " commits, %" PRIu64 " facts, %" PRIu64 " looks, %" PRIu64
	       " runs judged after a restore, ",
	        n, first, t->clients.jobs, t->clients.in_bulks, t->clients.bulks, t->clients.tasks,
	        t->faults, t->restarts, t->commits, t->facts, t->looks, t->owed);
	printf("%" PRIu64 " gangs and %" PRIu64 " that never were whole, %" PRIu64
	       " suspended runs, %" PRIu64 " with parts of GPUs, %" PRIu64
	       " that were asked for what they had borrowed, %" PRIu64 " ended for it, %" PRIu64
	       " GPUs that failed, ",
	        t->whole, t->in_part, t->stops, t->parts, t->asked, t->reclaimed, t->gpus);
	printf("%" PRIu64 " steps, %" PRIu64 " repeated reports of them, %" PRIu64
	       " hostile ones refused, %zu times seen in lists, %zu whose end was answered, %zu "
	       "that ended with their attempt, %zu of which more was heard then, ",
	        t->steps.steps, t->steps.repeats, t->steps.refused, t->judged.listed,
	        t->judged.done, t->judged.cut, t->judged.late);
	printf("%" PRIu64 " services, %" PRIu64 " updates, %" PRIu64 " of them bad, %" PRIu64
	       " undone, %" PRIu64 " services that were stopped, %" PRIu64
	       " repeated requests, %" PRIu64 " times an endpoint, ",
	        t->owners.submits, t->owners.updates, t->owners.bad_updates, t->owners.undone,
	        t->owners.stops, t->owners.repeats, t->endpoints);
	printf("%" PRIu64 " looks at signatures too old, %" PRIu64
	       " parts of answers that fit, %" PRIu64 " simulated hours in %ld s\n",
	        t->clients.resigned, t->answers, t->simulated_s / 3600, seconds);
}

bool totals_tell(const struct totals *t)
{
	return t->whole && t->in_part && t->stops && t->clients.bulks && t->clients.tasks &&
	       t->parts && t->gpus && t->looks && t->reclaimed && t->asked != t->reclaimed &&
	       t->clients.resigned && t->steps.repeats && t->steps.refused && t->judged.listed &&
	       t->owners.updates && t->owners.undone && t->owners.repeats && t->endpoints &&
	       t->judged.done && t->judged.cut && t->judged.late;
}
