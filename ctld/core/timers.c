/* timers.c - EV_CLOCK: what is due, part by part
 *
 * All timers use the monotonic clock, except for times that people gave (jobs/job_timers.h).
 *
 * Each part says when it is next due, and most do at most TIMER_SLICE things at a time: what is
 * left is due at once, and the world comes again. While the core is suspended only the silence of
 * nodes is noted.
 */
#include "ctld/core/core_impl.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/job_due.h"
#include "ctld/core/jobs/job_timers.h"
#include "ctld/core/jobs/retire.h"
#include "ctld/core/nodes/gpu_checks.h"
#include "ctld/core/nodes/node_silence.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/nonce.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/services/services.h"

void timers_apply(struct core *core)
{
	struct job *job;

	node_silence_apply(core);
	if (core->suspended)
		return;
	if (core->hardware_due <= core->now.mono)
		core_rehardware(core);
	unknown_nodes_apply(core);
	gpu_checks_timer(core);
	for (unsigned n = 0; n < TIMER_SLICE && (job = job_timers_first(core)); n++)
		job_timer_due(core, job);
	if (core->expired_wall && core->now.wall < core->expired_wall)
		jobs_unexpire(core);
	jobs_retire_old(core);
	nonces_expire(core->nonces, core->now, TIMER_SLICE);
}

/* When the oldest of the list leaves memory; with more than are kept, at once. */
static usec_t ended_until(const struct core *core, const struct ended *list, size_t kept)
{
	if (!list->first)
		return INT64_MAX;
	if (list->n > kept)
		return core->now.mono;
	return job_link(list->first)->ended +
	       (usec_t)core->conf->controller.keep_ended_s * USEC_PER_S;
}

usec_t timers_next(const struct core *core)
{
	usec_t next = node_silence_next(core);
	const usec_t due[] = {
		core->hardware_due,
		unknown_nodes_next(core),
		gpu_checks_next(core),
		job_timers_next(core),
		ended_until(core, &core->tasks_ended, ARRAY_ENDED_KEPT),
		ended_until(core, &core->jobs_ended, SIZE_MAX),
		nonces_next(core->nonces),
		services_due(core),
	};

	for (size_t i = 0; !core->suspended && i < sizeof(due) / sizeof(*due); i++)
		next = due[i] < next ? due[i] : next;
	return next;
}
