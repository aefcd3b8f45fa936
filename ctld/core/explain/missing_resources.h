/* missing_resources.h - what the nodes of a partition lack for a request */
#ifndef CTLD_CORE_MISSING_RESOURCES_H
#define CTLD_CORE_MISSING_RESOURCES_H

#include <stddef.h>
#include <stdint.h>

struct ask;
struct core;

/* Why that request does not start in a partition now: a reason, and its text. */
const char *missing_resources(const struct core *core, uint32_t partition, const struct ask *ask,
        char *text, size_t size);

#endif
