/* lost_work.c - see lost_work.h
 *
 * It changes all the time, so it is computed only for runs that could be stopped.
 */
#include "ctld/core/attempts/lost_work.h"

#include "common/job/run.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/plan/plan.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/service.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/scale/scaler.h"

/* How long the attempt has worked since its start or since its latest checkpoint: the work that a
 * stop would lose. */
static double unsafe_s(const struct core *core, const struct run *run)
{
	usec_t safe = attempt_checkpoint_time(run_link_of(run)->job);
	usec_t work = (usec_t)run_worked_us(run, core->now);
	const struct service *s = job_service(run_link_of(run)->job);

	/* What the end of a replica loses is the time until another one is READY. */
	if (s)
		return (double)scaler_load_time(service_link_of(s)->scaler) / USEC_PER_S;
	if (safe && core->now.wall - safe < work)
		work = core->now.wall - safe;
	return work < 0 ? 0 : (double)work / USEC_PER_S;
}

double snapshot_work(void *arg, const struct run_snapshot *h)
{
	return h->need ? unsafe_s(arg, h->run) * (h->need->gpus ? h->need->gpus : 1) : 0;
}
