/* bulk.h - many jobs, all accepted or none: the client's side (gpusched_submit_bulk)
 *
 * The jobs go as parts of GROUP_MAX, signed group by group and with many under way, and are
 * accepted by one last request. A break before its answer is no harm: all is sent again, with the
 * same nonces.
 */
#ifndef CMDS_BULK_H
#define CMDS_BULK_H

#include "cmds/api/client.h"
#include "cmds/api/gpusched.h"
#include "cmds/api/submit.h"

/* As gpusched_submit_bulk(). Of a job that is refused *bad, if not NULL, is its index; else `n`. */
int bulk_submit(struct client *c, struct submit_queue *q, const struct gpusched_spec *specs,
        size_t n, const char *token, uint64_t *ids, size_t *bad, struct error *err);

#endif
