/* snapshot_intern.h - requests and statuses of jobs, each once: for snapshot_job.c */
#ifndef CMDS_WEB_SNAPSHOT_INTERN_H
#define CMDS_WEB_SNAPSHOT_INTERN_H

#include "cmds/web/snapshot_make.h"

enum part_kind { PART_REQUEST, PART_STATUS, PART_KINDS };

/* The part that has these fields, with a reference; `size` is that of the struct that begins with
 * it. *made: it is new, and the rest of the struct is zeros. */
struct snapshot_part *snapshot_part_get(struct snapshot_texts *t, enum part_kind kind,
        const Gpusched__Job *m, size_t size, bool *made);
void snapshot_part_put(const struct snapshot_part *p, enum part_kind kind);

#endif
