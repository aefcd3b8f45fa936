/* registration.h - the session of a node's agent: its registration and its end */
#ifndef CTLD_CORE_REGISTRATION_H
#define CTLD_CORE_REGISTRATION_H

#include <stdint.h>

struct core;
struct core_event;

void agent_up_apply(struct core *core, const struct core_event *event);
void agent_gone_apply(struct core *core, uint32_t node, uint64_t session);

#endif
