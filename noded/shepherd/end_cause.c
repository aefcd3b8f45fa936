/* end_cause.c - why a run ended, and the text on it; see shepherd_impl.h
 *
 * What ended the run first counts: an order, the time limit, a failed launch. A run that ended by
 * itself has failed for lack of memory (OUT_OF_MEMORY) if the kernel killed some of it, and has the
 * exit code or signal of its first process in any case.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "common/base/units.h"
#include "noded/contain/cgroup_limits.h"
#include "noded/contain/private_mounts.h"
#include "noded/record/record.h"
#include "noded/shepherd/shepherd_impl.h"

Gpusched__EndCause shepherd_ended_by(const struct shepherd *s)
{
	return (Gpusched__EndCause)(s->ending.cause ? s->ending.cause : END_EXIT);
}

/* If the run failed by itself and the kernel has killed some of it, lack of memory is the cause. */
static void blame_memory(struct shepherd *s, Gpusched__RunReport *r)
{
	uint64_t booked = s->launch->report->mem_mb;
	enum cgroup_limits_oom oom;
	char *leaf;

	if (r->cause != GPUSCHED__END_CAUSE__CAUSE_EXIT || (!r->exit_code && !r->exit_signal))
		return;
	leaf = record_string(&s->launch->cgroup);
	oom = cgroup_limits_oom(s->launch->limits, s->launch->n_limits, leaf);
	free(leaf);
	if (oom == OOM_NONE)
		return;
	r->cause = GPUSCHED__END_CAUSE__CAUSE_OUT_OF_MEMORY;
	if (oom == OOM_OF_RUN)
		snprintf(s->detail, sizeof(s->detail),
		        "it used more than the %" PRIu64 " MiB of memory that were booked for it",
		        booked);
	else if (booked)
		snprintf(s->detail, sizeof(s->detail),
		        "the node had no memory left and its kernel killed it; %" PRIu64
		        " MiB were booked for it",
		        booked);
	else
		snprintf(s->detail, sizeof(s->detail),
		        "the node had no memory left and its kernel killed it; none was booked "
		        "for it (--mem)");
}

/* gprobe says why it has ended the script of a replica. */
static void explain_replica(struct shepherd *s, const Gpusched__RunReport *r)
{
	if (!replica_is(&s->replica) || !r->replica || !*s->replica.end || *s->detail)
		return;
	snprintf(s->detail, sizeof(s->detail), "%s", s->replica.end);
	s->tell_detail = s->launch->summary;
}

static void explain_full_tmp(struct shepherd *s)
{
	char size[UNITS_TEXT];

	if (*s->detail || !private_is_full())
		return;
	size_format_mb(size, s->launch->private_tmp_mb);
	snprintf(s->detail, sizeof(s->detail), "its private /tmp of %s is full", size);
	s->tell_detail = s->launch->summary;
}

void shepherd_end_cause(struct shepherd *s, Gpusched__RunReport *r)
{
	/* After a failed launch we have ended the child ourselves: its exit code is not
	 * reported. */
	if (s->main_gone && !end_is_launch((enum end_cause)r->cause)) {
		r->exit_code = WIFEXITED(s->status) ? (uint32_t)WEXITSTATUS(s->status) : 0;
		r->exit_signal = WIFSIGNALED(s->status) ? (uint32_t)WTERMSIG(s->status) : 0;
	}
	if (s->executed) {
		explain_replica(s, r);
		blame_memory(s, r);
		explain_full_tmp(s);
	}
	r->detail = s->detail;
}
