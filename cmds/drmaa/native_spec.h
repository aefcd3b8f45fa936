/* native_spec.h - drmaa_native_specification and job categories: options of gsubmit and sbatch
 *
 * The words are those of a command line of gsubmit(1), by its table of options and sbatch's. What
 * only a command line can have (--wrap), and what asks gsubmit to wait or to print, is refused.
 *
 * A category is a line "NAME: OPTIONS" of the file that the variable GPUSCHED_DRMAA_CATEGORIES
 * names, or of SYSCONFDIR/gpusched/drmaa-categories.
 */
#ifndef CMDS_DRMAA_NATIVE_SPEC_H
#define CMDS_DRMAA_NATIVE_SPEC_H

#include "cmds/options/options.h"
#include "common/base/error.h"

#define NATIVE_CATEGORIES "GPUSCHED_DRMAA_CATEGORIES"

int native_apply(struct submit_options *o, const char *text, struct error *err);
int native_apply_category(struct submit_options *o, const char *name, struct error *err);

#endif
