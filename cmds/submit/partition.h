/* partition.h - one partition of several: --partition=a,b
 *
 * A job is in one partition. Of a list the controller is asked for each what would become of the
 * job there (as --test-only does), and it goes where it would start first: where it would start
 * now, else where its start is planned soonest, else to the first of the list that takes it.
 */
#ifndef CMDS_PARTITION_H
#define CMDS_PARTITION_H

#include "cmds/api/gpusched.h"
#include "cmds/options/options.h"
#include "common/base/error.h"

/* Put the one that is chosen in the place of the list, in both. -1 with the error of the first. */
int partition_choose(struct submit_options *o, struct gpusched_spec *spec,
        const struct spec_service *service, struct error *err);

#endif
