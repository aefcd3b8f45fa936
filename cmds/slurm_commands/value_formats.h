/* value_formats.h - times, durations, memory and groups as Slurm's listings print them */
#ifndef CMDS_VALUE_FORMATS_H
#define CMDS_VALUE_FORMATS_H

#include <stddef.h>
#include <stdint.h>

#include "cmds/cli/view.h"
#include "common/base/error.h"

/* Times as SLURM_TIME_FORMAT says; `none` for 0. */
void slurm_time(struct view_cell *cell, int64_t us, const char *none);
void slurm_clock(struct view_cell *cell, uint64_t s);                /* "01:02:03", "1-00:00:00" */
/* The same of a limit; `none` where there is none: 0, UINT32_MAX. */
void slurm_limit(struct view_cell *cell, uint64_t s, const char *none);
void slurm_memory(struct view_cell *cell, uint64_t mb);              /* "100M", "1G": exact */
void slurm_moment(const char *text, int64_t *us, struct error *err); /* err->code: it is none */

void slurm_texts(struct view_cell *cell, char *const *v, size_t n, const char *none); /* "a,b" */

/* The primary group of a user: its name, or its number where there is no name; where the user is
 * unknown, the uid. */
const char *slurm_group(uint32_t uid);
unsigned slurm_gid(uint32_t uid);

#endif
