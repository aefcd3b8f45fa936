/* changes.h - what an update changes, in words: for the audit trail
 *
 * A row for each field that a JOB_UPDATE may change, in the order in which they are told.
 */
#ifndef CTLD_CORE_CHANGES_H
#define CTLD_CORE_CHANGES_H

#include <stddef.h>
#include <stdint.h>

#include "ctld/core/rows/event.h"

#define CHANGES_TEXT  400
#define CHANGES_MAX   40
#define CHANGES_VALUE 96

/* As the option is called: "gpu-mem" of UPDATE_GPU_MEM; NULL: no such field is known. */
const char *change_name(uint64_t field);

/* How values of a job read at some moment; "" is none. */
struct changes {
	char v[CHANGES_MAX][CHANGES_VALUE];
};

/* Those of these fields. Times of day are what is left until then, from `now`. */
void changes_show(struct changes *to, const struct submit_job *job, uint64_t fields, usec_t now);

/* "gpus h100:4 -> h100:2, time 1:00:00 -> 30:00" of these fields; ends in "..." where there is
 * more. */
void changes_tell(char text[CHANGES_TEXT], const struct changes *was, const struct changes *is,
        uint64_t fields);

#endif
