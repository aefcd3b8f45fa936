/* start_ghold.h - starts ghold, which has the other end of an interactive run's input and output */
#ifndef NODED_START_GHOLD_H
#define NODED_START_GHOLD_H

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

struct launcher;

/* Start ghold for a run that is about to start. Returns the socket that the run's shepherd
 * inherits, the caller's to close; -1 with `err`. */
int ghold_start(struct launcher *l, const char *name, const Gpusched__LaunchRecord *r,
        const Gpusched__Interactive *what, struct error *err);

#endif
