/* services_impl.h - what the files of this folder share */
#ifndef CTLD_CORE_SERVICES_IMPL_H
#define CTLD_CORE_SERVICES_IMPL_H

#include <stdbool.h>

#include "common/job/run.h"
#include "ctld/core/records/service.h"

struct core;
struct service;

/* The generation ends: its replicas drain, as LEAVING if no other one does, and its other slots are
 * cancelled. */
void service_drop_generation(
        struct core *core, struct service *s, enum generation_role role, enum end_cause cause);
/* The generation gets another role; the one that had it ends. */
void service_pass_on(
        struct core *core, struct service *s, enum generation_role from, enum generation_role to);
/* All slots that wait get the QOS that the next replica to start should have: one that is to be
 * kept the job's, any other the burst QOS. */
void service_set_slots_qos(
        struct core *core, struct service *s, enum generation_role role, bool kept);

#endif
