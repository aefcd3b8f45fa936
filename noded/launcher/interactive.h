/* interactive.h - interactive runs: ghold, which has the other end of their input and output */
#ifndef NODED_LAUNCHER_INTERACTIVE_H
#define NODED_LAUNCHER_INTERACTIVE_H

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

struct launcher;

/* Start ghold for a run that is about to start. Returns the socket that the run's shepherd
 * inherits, the caller's to close; -1 with `err`. */
int interactive_start(struct launcher *l, const char *name, const Gpusched__LaunchRecord *r,
        const Gpusched__Interactive *what, struct error *err);

#endif
