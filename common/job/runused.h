/* runused.h - struct run_used (run.h) and the message RunUsed
 *
 * In the header alone, because the shepherd links no more than it needs.
 */
#ifndef COMMON_RUNUSED_H
#define COMMON_RUNUSED_H

#include "common/base/each.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"

#define RUN_USED_COPY(to, from)                                                                    \
	COPY_FIELDS(to, from, cpu_time_us, cpu_wait_us, mem_now_mb, mem_peak_mb, read_bytes,       \
	        written_bytes, gpu_seen_us, gpu_busy_us, gpu_idle_us, gpu_now_pct, gpu_mem_now_mb, \
	        gpu_mem_peak_mb, gpu_mem_mbs, energy_mj, burst_job, burst_time)

/* Without `run`. */
static inline void run_used_to_message(const struct run_used *used, Gpusched__RunUsed *m)
{
	gpusched__run_used__init(m);
	RUN_USED_COPY(m, used);
}

/* NULL: all 0. */
static inline void run_used_from_message(const Gpusched__RunUsed *m, struct run_used *used)
{
	*used = (struct run_used){ 0 };
	if (m)
		RUN_USED_COPY(used, m);
}

#endif
