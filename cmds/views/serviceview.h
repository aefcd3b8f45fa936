/* serviceview.h - the columns of services and of their replicas: gserve */
#ifndef CMDS_SERVICEVIEW_H
#define CMDS_SERVICEVIEW_H

#include "cmds/cli/view.h"
#include "common/gpusched.pb-c.h"

extern const struct view_kind service_kind; /* of Gpusched__Service */
extern const struct view_kind replica_kind; /* of Gpusched__ServiceReplica */

/* "10.0.0.7:8001", "[fd00::7]:8001": its address and its first port; "": it has none. */
#define REPLICA_ENDPOINT_TEXT 280
const char *replica_endpoint(const Gpusched__ServiceReplica *r, char buf[REPLICA_ENDPOINT_TEXT]);

#endif
