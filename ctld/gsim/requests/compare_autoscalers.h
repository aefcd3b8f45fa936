/* compare_autoscalers.h - gsim --format=requests: requests through a service, with one autoscaler after another
 *
 * Nothing depends on the clock of this machine: the same input gives the same bytes.
 */
#ifndef GSIM_COMPARE_AUTOSCALERS_H
#define GSIM_COMPARE_AUTOSCALERS_H

#include <stdbool.h>

#include "ctld/gsim/requests/service.h"

struct scaling_options {
	struct requests_options requests;
	struct service_options service;
	const char *make;    /* "bursts:SEED", "day:SEED"; NULL: files */
	const char *scalers; /* "ours,ray", "all"; borrowed */
	bool hold_noise;     /* ours: request_wait holds noise back */
	bool json;
};

/* What is not given. */
struct scaling_options scaling_defaults(void);

/* `series`: a file to write, NULL for none. Prints the report on stdout. */
int scaling_run(const struct scaling_options *o, const char *const *files, size_t n,
        const char *series, struct error *err);

#endif
