/* once.h - gtop --once: the map as text */
#ifndef CMDS_TOP_SCREENS_ONCE_H
#define CMDS_TOP_SCREENS_ONCE_H

#include "cmds/cli/cmd.h"
#include "cmds/top/screens/state.h"

/* Ask for nodes, print the map and end. 0, or -1 with `err`. */
int once_print(const struct cmd *cmd, struct state *s, struct client *c, struct error *err);

#endif
