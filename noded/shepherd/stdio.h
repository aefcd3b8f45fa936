/* stdio.h - how the shepherd receives the program's ends of the pipes or terminal from ghold
 * (ghold.h) */
#ifndef NODED_STDIO_H
#define NODED_STDIO_H

#include "noded/exec/child.h"

/* Wait for the descriptors and take them, close-on-exec. -1: none came, and none will. */
int stdio_receive(int fd, struct child_ends *ends);

#endif
