/* runused.h - struct run_used (run.h) and the message RunUsed
 *
 * In the header alone, because the shepherd links no more than it needs.
 */
#ifndef COMMON_RUNUSED_H
#define COMMON_RUNUSED_H

#include "common/gpusched.pb-c.h"
#include "common/job/run.h"

/* X(field): both have the same names */
#define RUN_USED_FIELDS(X) \
	X(cpu_time_us)     \
	X(cpu_wait_us)     \
	X(mem_now_mb)      \
	X(mem_peak_mb)     \
	X(read_bytes)      \
	X(written_bytes)   \
	X(gpu_seen_us)     \
	X(gpu_busy_us)     \
	X(gpu_idle_us)     \
	X(gpu_now_pct)     \
	X(gpu_mem_now_mb)  \
	X(gpu_mem_peak_mb) \
	X(energy_mj)       \
	X(burst_job)       \
	X(burst_time)

/* Without `run`. */
static inline void run_used_to_message(const struct run_used *used, Gpusched__RunUsed *m)
{
	gpusched__run_used__init(m);
#define X(field) m->field = used->field;
	RUN_USED_FIELDS(X)
#undef X
}

/* NULL: all 0. */
static inline void run_used_from_message(const Gpusched__RunUsed *m, struct run_used *used)
{
	*used = (struct run_used){ 0 };
	if (!m)
		return;
#define X(field) used->field = m->field;
	RUN_USED_FIELDS(X)
#undef X
}

#endif
