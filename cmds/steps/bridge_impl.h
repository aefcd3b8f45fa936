/* bridge_impl.h - from the program to its bridge process: datagrams
 *
 *	'L' u32 rank, node's name    with the descriptor of the socket pair
 *	'R' a packed StepReport
 */
#ifndef CMDS_STEPS_BRIDGE_IMPL_H
#define CMDS_STEPS_BRIDGE_IMPL_H

#include "cmds/steps/bridge.h"

#define BRIDGE_DATAGRAM_MAX 65536

/* The process: until `fd` ends. Never returns. */
_Noreturn void bridge_process(const struct step_bridge_of *of, int fd);

#endif
