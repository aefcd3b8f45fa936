/* never_fits.h - requests that the nodes of a partition can never satisfy */
#ifndef CTLD_CORE_NEVER_FITS_H
#define CTLD_CORE_NEVER_FITS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct ask;
struct core;

/* The error of a request that the nodes of a partition could never satisfy; 0: they could. */
int never_fits(
        const struct core *core, uint32_t partition, const struct ask *ask, struct error *err);
/* Could they satisfy one alternative, with that GPU type? */
bool alternative_could(const struct core *core, uint32_t partition, const struct ask *ask,
        uint32_t alternative, uint16_t type);

#endif
