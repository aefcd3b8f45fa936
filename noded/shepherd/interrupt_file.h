/* interrupt_file.h - the interruption file: why a run must end, at whose request and by when
 *
 * NAME=value lines that a shell may source: values hold only letters, digits and _.@:+- (anything
 * else becomes '_'). The order is reason, by_job, by_user, by_account, by_qos, gpu_mem_mb,
 * deadline, then; lines that do not apply are left out. Pure.
 */
#ifndef NODED_INTERRUPT_FILE_H
#define NODED_INTERRUPT_FILE_H

#include <stddef.h>

#include "common/job/run.h"

#define INTERRUPT_MAX 2048

struct interrupt {
	enum end_cause cause;
	uint64_t by_job; /* 0: none */
	const char *by_user, *by_account, *by_qos;
	usec_t deadline; /* wall; INT64_MAX: none */
	bool requeue;
	/* the run may continue if it uses no more than this of each GPU; 0: no such offer */
	uint64_t gpu_mem_mb;
};

/* Returns the length written, always less than INTERRUPT_MAX. */
size_t interrupt_text(const struct interrupt *in, char out[INTERRUPT_MAX]);

#endif
