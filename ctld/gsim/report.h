/* report.h - what a simulation found, as a table and as JSON
 *
 * Both show the same figures; a new one is a row in report.c. Nothing here depends on the clock of
 * this machine: the same input gives the same bytes.
 */
#ifndef GSIM_REPORT_H
#define GSIM_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "common/conf/conf.h"
#include "ctld/gsim/measures.h"
#include "ctld/gsim/replay_history.h"

/* What was replayed, and what was assumed. All borrowed. */
struct report_input {
	const struct conf *conf;
	const char *const *files;
	size_t n_files;
	uint64_t bad_rows;                                /* that were passed over */
	const char *time_limits, *policy, *shared, *ends; /* for people */
	double scale_load;
	uint64_t seed;
};

/* `m` is only sorted. */
void report_print(const struct report_input *in, struct measures *m, FILE *out);
void report_json(const struct report_input *in, struct measures *m, FILE *out);

/* Of the packing experiment. */
void report_inflation_print(const struct report_input *in, const struct measures *m,
        const struct inflation *r, FILE *out);
void report_inflation_json(const struct report_input *in, const struct measures *m,
        const struct inflation *r, FILE *out);

#endif
