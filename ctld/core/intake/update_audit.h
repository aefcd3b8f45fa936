/* update_audit.h - what an update changes, as text for the audit trail
 *
 * A row for each field that a JOB_UPDATE may change, in the order of the text.
 */
#ifndef CTLD_CORE_UPDATE_AUDIT_H
#define CTLD_CORE_UPDATE_AUDIT_H

#include <stddef.h>
#include <stdint.h>

#include "ctld/core/rows/event.h"

#define CHANGES_TEXT  400
#define CHANGES_MAX   40
#define CHANGES_VALUE 96

/* The name of the field's option: "gpu-mem" for UPDATE_GPU_MEM; NULL: the field is not known. */
const char *change_name(uint64_t field);

/* The fields of a job as text, at some moment; "": none. */
struct changes {
	char v[CHANGES_MAX][CHANGES_VALUE];
};

/* Fills in these fields. Times of day are given as the time left until then, from `now`. */
void changes_show(struct changes *to, const struct submit_job *job, uint64_t fields, usec_t now);

/* "gpus h100:4 -> h100:2, time 1:00:00 -> 30:00" for these fields; ends in "..." if it is cut. */
void changes_tell(char text[CHANGES_TEXT], const struct changes *was, const struct changes *is,
        uint64_t fields);

#endif
