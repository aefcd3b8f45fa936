/* ends.h - how the shepherd receives the program's ends of the pipes or terminal from ghold
 * (hold.h) */
#ifndef NODED_ENDS_H
#define NODED_ENDS_H

#include "noded/exec/child.h"

/* Wait for the descriptors and take them, close-on-exec. -1: none came, and none will. */
int ends_take(int fd, struct child_ends *ends);

#endif
