/* ends.h - the shepherd's part in what ghold (hold.h) makes: the program's ends of it */
#ifndef NODED_ENDS_H
#define NODED_ENDS_H

#include "noded/exec/child.h"

/* Wait for them and take them, close-on-exec. -1: none came, and none will. */
int ends_take(int fd, struct child_ends *ends);

#endif
