/* ghold_ends.h - how the shepherd receives the program's ends of the pipes or terminal from ghold
 * (ghold.h) */
#ifndef NODED_GHOLD_ENDS_H
#define NODED_GHOLD_ENDS_H

#include "noded/exec/job_process.h"

/* Wait for the descriptors and take them, close-on-exec. -1: none came, and none will. */
int ghold_ends_receive(int fd, struct child_ends *ends);

#endif
