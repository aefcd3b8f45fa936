/* unkillable_processes.c - a killed process that does not end; see shepherd_impl.h */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "noded/shepherd/shepherd_impl.h"

/* A process that waits for a disk or a device in the kernel ends only when that answers. */
bool shepherd_is_stuck(struct shepherd *s, usec_t now)
{
	char one[64], what[100];
	usec_t wait = (usec_t)s->launch->kill_wait_ms * 1000;
	size_t n;

	if (!wait || *s->stuck || !s->killed || now - s->killed < wait)
		return false;
	n = contain_name_one(s->leaf, one, sizeof(one));
	if (!n)
		n = contain_name_one(s->outside_leaf, one, sizeof(one));
	if (!n)
		return false;
	text_escape(what, sizeof(what), one, strlen(one));
	snprintf(s->stuck, sizeof(s->stuck),
	        "%zu process%s of job %" PRIu64 " cannot be killed: %s%s", n, n == 1 ? "" : "es",
	        s->launch->report->run->job, n == 1 ? "" : "one is ", what);
	return true;
}
